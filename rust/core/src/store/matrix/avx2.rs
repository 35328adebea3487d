//! Products of rows with a matrix, with 256-bit vectors.

use std::arch::x86_64::{
    __m256d, __m256i, __m512d, __m512i, _MM_HINT_T0, _mm_prefetch, _mm256_add_epi32, _mm256_add_pd,
    _mm256_castsi256_si128, _mm256_cvtepi32_pd, _mm256_extracti128_si256, _mm256_madd_epi16, _mm256_mul_pd,
    _mm256_set1_epi32, _mm256_set1_pd, _mm256_setzero_pd, _mm256_setzero_si256, _mm256_srai_epi32,
    _mm256_store_si256, _mm256_storeu_pd, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16, _mm512_add_epi32,
    _mm512_add_pd, _mm512_castsi512_si256, _mm512_cvtepi32_pd, _mm512_dpwssd_epi32,
    _mm512_extracti64x4_epi64, _mm512_load_si512, _mm512_mul_pd, _mm512_set1_epi32, _mm512_set1_pd,
    _mm512_setzero_pd, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_srai_epi32, _mm512_store_pd,
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

/// The same on processors that have AVX-512.
pub(super) fn multiply_wide(
    matrix: &Matrix,
    tile: &[Line],
    lines: &mut [Line],
    products: &mut [Lanes],
) -> Lanes {
    // SAFETY: `Path` selects this function only if the processor has AVX2 and AVX-512 with VNNI.
    unsafe { multiply_avx512(matrix, tile, lines, products) }
}

#[target_feature(enable = "avx2")]
fn multiply_avx2(matrix: &Matrix, tile: &[Line], lines: &mut [Line], products: &mut [Lanes]) -> Lanes {
    unpack(tile, lines);
    let mut squares = [_mm256_setzero_pd(); 4];
    let outputs = products.chunks_mut(2).zip(matrix.scales.chunks(2));
    for ((products, scales), factors) in outputs.zip(matrix.factors.chunks_exact(lines.len())) {
        scale(sums_avx2(lines, factors), scales, products, &mut squares);
    }
    lanes(squares)
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn multiply_avx512(matrix: &Matrix, tile: &[Line], lines: &mut [Line], products: &mut [Lanes]) -> Lanes {
    unpack(tile, lines);
    let mut squares = [_mm512_setzero_pd(); 2];
    let outputs = products.chunks_mut(2).zip(matrix.scales.chunks(2));
    for ((products, scales), factors) in outputs.zip(matrix.factors.chunks_exact(lines.len())) {
        scale_avx512(sums_avx512(lines, factors), scales, products, &mut squares);
    }
    let mut out = Lanes([0.0; LANES]);
    put_avx512(&mut out, squares);
    out
}

/// Write the pairs of values of every row side by side.
#[target_feature(enable = "avx2")]
fn unpack(tile: &[Line], lines: &mut [Line]) {
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
}

/// Scale the sums of two columns, and add their squares in the order of the columns.
#[target_feature(enable = "avx2")]
fn scale(sums: [[__m256i; 2]; 2], scales: &[f64], products: &mut [Lanes], squares: &mut [__m256d; 4]) {
    for ((products, &scale), sums) in products.iter_mut().zip(scales).zip(sums) {
        let scale = _mm256_set1_pd(scale);
        for (i, sums) in doubles(sums).into_iter().enumerate() {
            let product = _mm256_mul_pd(sums, scale);
            squares[i] = _mm256_add_pd(squares[i], _mm256_mul_pd(product, product));
            put(&mut products.0, i, product);
        }
    }
}

/// The same as `scale`, for sums of which each is one vector.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn scale_avx512(sums: [__m512i; 2], scales: &[f64], products: &mut [Lanes], squares: &mut [__m512d; 2]) {
    for ((products, &scale), sums) in products.iter_mut().zip(scales).zip(sums) {
        let scale = _mm512_set1_pd(scale);
        // The order of rows: unpacking has put rows 8 to 11 before rows 4 to 7.
        let rows = _mm512_shuffle_i32x4::<0b11_01_10_00>(sums, sums);
        let halves = [_mm512_castsi512_si256(rows), _mm512_extracti64x4_epi64::<1>(rows)];
        let product = halves.map(|half| _mm512_mul_pd(_mm512_cvtepi32_pd(half), scale));
        for (squares, product) in squares.iter_mut().zip(product) {
            *squares = _mm512_add_pd(*squares, _mm512_mul_pd(product, product));
        }
        put_avx512(products, product);
    }
}

/// Write the values of all rows.
#[target_feature(enable = "avx512f")]
fn put_avx512(values: &mut Lanes, halves: [__m512d; 2]) {
    let place: *mut f64 = values.0.as_mut_ptr();
    // SAFETY: `values` is two vectors, aligned to 64.
    unsafe {
        _mm512_store_pd(place, halves[0]);
        _mm512_store_pd(place.add(8), halves[1]);
    }
}

#[target_feature(enable = "avx2")]
fn lanes(squares: [__m256d; 4]) -> Lanes {
    let mut out = Lanes([0.0; LANES]);
    for (i, squares) in squares.into_iter().enumerate() {
        put(&mut out.0, i, squares);
    }
    out
}

/// The same as `sums_avx2`, with both halves of the rows in one vector.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn sums_avx512(lines: &[Line], factors: &[Factors]) -> [__m512i; 2] {
    let mut sums = [_mm512_setzero_si512(); 4];
    for (line, factors) in lines.iter().zip(factors) {
        // SAFETY: a line is 64 readable bytes, aligned to 64.
        let rows = unsafe { _mm512_load_si512(std::ptr::from_ref(line).cast()) };
        for (sum, &pair) in sums.iter_mut().zip(factors) {
            *sum = _mm512_dpwssd_epi32(*sum, rows, _mm512_set1_epi32(bytemuck::cast(pair)));
        }
    }
    let [a, b, c, d] = sums;
    [(a, b), (c, d)].map(|(high, low)| _mm512_add_epi32(high, _mm512_srai_epi32::<LOW_BITS>(low)))
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
