//! Products of rows with a matrix, with 256-bit vectors.

use std::arch::x86_64::{
    __m256d, __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_add_epi32, _mm256_add_pd, _mm256_castsi256_si128,
    _mm256_cvtepi32_pd, _mm256_extracti128_si256, _mm256_madd_epi16, _mm256_mul_pd, _mm256_set1_epi32,
    _mm256_set1_pd, _mm256_setzero_pd, _mm256_setzero_si256, _mm256_srai_epi32, _mm256_store_si256,
    _mm256_storeu_pd, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
};

use super::{Factors, Matrix};
use crate::layout::avx2::halves;
use crate::layout::{LANES, Line};
use crate::source::Lanes;
use crate::store::theta::LOW_BITS;

/// How far ahead lines are prefetched: 8 KiB, as in the pass over residuals.
const LINES_AHEAD: usize = 128;

pub(super) fn multiply(matrix: &Matrix, tile: &[Line], lines: &mut [Line], products: &mut [Lanes]) -> Lanes {
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { multiply_avx2(matrix, tile, lines, products) }
}

#[target_feature(enable = "avx2")]
fn multiply_avx2(matrix: &Matrix, tile: &[Line], lines: &mut [Line], products: &mut [Lanes]) -> Lanes {
    for (line, pairs) in tile.iter().zip(lines.iter_mut()) {
        // A prefetch is a hint and never faults.
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).wrapping_add(LINES_AHEAD).cast());
        let [a, b] = halves(line);
        let place: *mut __m256i = std::ptr::from_mut(pairs).cast();
        // SAFETY: a line is 64 writable bytes, aligned to 64.
        unsafe {
            _mm256_store_si256(place, _mm256_unpacklo_epi16(a, b));
            _mm256_store_si256(place.add(1), _mm256_unpackhi_epi16(a, b));
        }
    }
    let mut squares = [_mm256_setzero_pd(); 4];
    let outputs = products.chunks_mut(2).zip(matrix.scales.chunks(2));
    for ((products, scales), factors) in outputs.zip(matrix.factors.chunks_exact(lines.len())) {
        let sums = sums_avx2(lines, factors);
        for ((products, &scale), sums) in products.iter_mut().zip(scales).zip(sums) {
            let scale = _mm256_set1_pd(scale);
            for (i, sums) in doubles(sums).into_iter().enumerate() {
                let product = _mm256_mul_pd(sums, scale);
                squares[i] = _mm256_add_pd(squares[i], _mm256_mul_pd(product, product));
                put(&mut products.0, i, product);
            }
        }
    }
    let mut out = Lanes([0.0; LANES]);
    for (i, squares) in squares.into_iter().enumerate() {
        put(&mut out.0, i, squares);
    }
    out
}

/// Return the sums of products with two columns, divided by 2^10 and rounded down. Rows are in the order of unpacking.
#[target_feature(enable = "avx2")]
fn sums_avx2(lines: &[Line], factors: &[Factors]) -> [[__m256i; 2]; 2] {
    let mut sums = [[_mm256_setzero_si256(); 2]; 4];
    for (line, factors) in lines.iter().zip(factors) {
        let rows = halves(line);
        for (sums, &pair) in sums.iter_mut().zip(factors) {
            let pair = _mm256_set1_epi32(bytemuck::cast(pair));
            for i in 0..2 {
                sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(rows[i], pair));
            }
        }
    }
    let whole = |high, low| _mm256_add_epi32(high, _mm256_srai_epi32::<{ LOW_BITS as i32 }>(low));
    let [a, b, c, d] = sums;
    [[whole(a[0], b[0]), whole(a[1], b[1])], [whole(c[0], d[0]), whole(c[1], d[1])]]
}

/// Convert unpacked rows to doubles, in the order of rows.
#[target_feature(enable = "avx2")]
fn doubles(rows: [__m256i; 2]) -> [__m256d; 4] {
    let [low, high] = rows.map(|rows| {
        let halves = [_mm256_castsi256_si128(rows), _mm256_extracti128_si256::<1>(rows)];
        halves.map(|half| _mm256_cvtepi32_pd(half))
    });
    [low[0], high[0], low[1], high[1]]
}

/// Write the values of four rows.
#[target_feature(enable = "avx2")]
fn put(values: &mut [f64; LANES], quarter: usize, four: __m256d) {
    let place = values[4 * quarter..][..4].as_mut_ptr();
    // SAFETY: `place` is four doubles.
    unsafe { _mm256_storeu_pd(place, four) };
}
