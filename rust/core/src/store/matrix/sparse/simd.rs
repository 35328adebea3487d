//! The same with 256-bit and 512-bit vectors.

use std::arch::x86_64::{
    __m256d, __m256i, _mm256_add_epi32, _mm256_add_pd, _mm256_castsi256_si128, _mm256_cvtepi32_pd,
    _mm256_extracti128_si256, _mm256_load_si256, _mm256_loadu_pd, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_mul_pd, _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_set1_pd, _mm256_setzero_si256,
    _mm256_srai_epi32, _mm256_storeu_pd, _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm512_add_epi32, _mm512_add_pd, _mm512_cvtepi32_pd,
    _mm512_dpwssd_epi32, _mm512_load_pd, _mm512_load_si512, _mm512_mul_pd, _mm512_set1_epi32, _mm512_set1_pd,
    _mm512_setzero_si512, _mm512_srai_epi32, _mm512_store_pd, _mm512_storeu_si512,
};

use super::{Found, Strip, Sums, WIDTH};
use crate::layout::LANES;
use crate::source::Lanes;
use crate::store::theta::LOW_BITS;

const SHIFT: i32 = LOW_BITS as i32;

pub(super) fn sums(strip: &Strip, found: &Found, sums: &mut Sums) {
    // SAFETY: `Path` selects this function only if the processor has AVX2.
    unsafe { sums_avx2(strip, found, sums) }
}

/// The same on processors that have AVX-512.
pub(super) fn sums_wide(strip: &Strip, found: &Found, sums: &mut Sums) {
    // SAFETY: `Path` selects this function only if the processor has AVX-512 with VNNI.
    unsafe { sums_avx512(strip, found, sums) }
}

pub(super) fn doubles(sums: &Sums, scales: &[f64], products: &mut [Lanes], squares: &mut Lanes) {
    // SAFETY: `Path` selects this function only if the processor has AVX2.
    unsafe { doubles_avx2(sums, scales, products, squares) }
}

#[target_feature(enable = "avx2")]
fn sums_avx2(strip: &Strip, found: &Found, sums: &mut Sums) {
    const PARTS: usize = WIDTH / 8;
    for (lane, sums) in sums.iter_mut().enumerate() {
        let mut high = [_mm256_setzero_si256(); PARTS];
        let mut low = [_mm256_setzero_si256(); PARTS];
        for &run in &strip.runs {
            let factors = _mm256_set1_epi32(bytemuck::cast(found.factors[run][lane]));
            let entries = &strip.entries[found.places[run][lane] as usize];
            let places: [*const __m256i; 2] = [entries.high.as_ptr().cast(), entries.low.as_ptr().cast()];
            for part in 0..PARTS {
                // SAFETY: both arrays are `PARTS` vectors, aligned to 64 bytes.
                let [m, m_low] = places.map(|place| unsafe { _mm256_load_si256(place.add(part)) });
                high[part] = _mm256_add_epi32(high[part], _mm256_madd_epi16(m, factors));
                low[part] = _mm256_add_epi32(low[part], _mm256_madd_epi16(m_low, factors));
            }
        }
        for part in 0..PARTS {
            let sum = _mm256_add_epi32(high[part], _mm256_srai_epi32::<SHIFT>(low[part]));
            // SAFETY: eight of `WIDTH` numbers.
            unsafe { _mm256_storeu_si256(sums[8 * part..][..8].as_mut_ptr().cast(), sum) };
        }
    }
}

/// A product takes several cycles, and the next one of the same sum has to wait for it. So four rows are multiplied in turn.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
fn sums_avx512(strip: &Strip, found: &Found, sums: &mut Sums) {
    const PARTS: usize = WIDTH / 16;
    const ROWS: usize = 4;
    for (four, sums) in sums.chunks_exact_mut(ROWS).enumerate() {
        let mut high = [[_mm512_setzero_si512(); PARTS]; ROWS];
        let mut low = [[_mm512_setzero_si512(); PARTS]; ROWS];
        for &run in &strip.runs {
            let (factors, places) = (&found.factors[run], &found.places[run]);
            for row in 0..ROWS {
                let lane = ROWS * four + row;
                let factors = _mm512_set1_epi32(bytemuck::cast(factors[lane]));
                let entries = &strip.entries[places[lane] as usize];
                for part in 0..PARTS {
                    let places = [&entries.high[16 * part], &entries.low[16 * part]];
                    // SAFETY: both arrays are `PARTS` vectors, aligned to 64 bytes.
                    let [m, m_low] =
                        places.map(|place| unsafe { _mm512_load_si512(std::ptr::from_ref(place).cast()) });
                    high[row][part] = _mm512_dpwssd_epi32(high[row][part], m, factors);
                    low[row][part] = _mm512_dpwssd_epi32(low[row][part], m_low, factors);
                }
            }
        }
        for (sums, (high, low)) in sums.iter_mut().zip(high.into_iter().zip(low)) {
            for part in 0..PARTS {
                let sum = _mm512_add_epi32(high[part], _mm512_srai_epi32::<{ LOW_BITS }>(low[part]));
                // SAFETY: sixteen of `WIDTH` numbers.
                unsafe { _mm512_storeu_si512(sums[16 * part..][..16].as_mut_ptr().cast(), sum) };
            }
        }
    }
}

/// The same on processors that have AVX-512.
pub(super) fn doubles_wide(sums: &Sums, scales: &[f64], products: &mut [Lanes], squares: &mut Lanes) {
    // SAFETY: `Path` selects this function only if the processor has AVX2 and AVX-512.
    unsafe { doubles_avx512(sums, scales, products, squares) }
}

/// The same as `doubles_avx2`, with the eight rows of a column in one vector.
#[target_feature(enable = "avx2,avx512f")]
fn doubles_avx512(sums: &Sums, scales: &[f64], products: &mut [Lanes], squares: &mut Lanes) {
    for half in 0..LANES / 8 {
        let place: *mut f64 = squares.0[8 * half..][..8].as_mut_ptr();
        // SAFETY: eight doubles, aligned to 64 bytes like those of the products.
        let mut total = unsafe { _mm512_load_pd(place) };
        for (block, (products, scales)) in products.chunks_mut(8).zip(scales.chunks(8)).enumerate() {
            let columns = transposed(sums, 8 * half, 8 * block);
            for ((products, &scale), rows) in products.iter_mut().zip(scales).zip(columns) {
                let product = _mm512_mul_pd(_mm512_cvtepi32_pd(rows), _mm512_set1_pd(scale));
                total = _mm512_add_pd(total, _mm512_mul_pd(product, product));
                // SAFETY: as above.
                unsafe { _mm512_store_pd(products.0[8 * half..][..8].as_mut_ptr(), product) };
            }
        }
        // SAFETY: as above.
        unsafe { _mm512_store_pd(place, total) };
    }
}

/// Scale sums, and add their squares in the order of the columns.
#[target_feature(enable = "avx2")]
fn doubles_avx2(sums: &Sums, scales: &[f64], products: &mut [Lanes], squares: &mut Lanes) {
    for (block, (products, scales)) in products.chunks_mut(8).zip(scales.chunks(8)).enumerate() {
        for half in 0..LANES / 8 {
            let columns = transposed(sums, 8 * half, 8 * block);
            let mut totals = [0, 1].map(|i| load(&squares.0, 2 * half + i));
            for ((products, &scale), rows) in products.iter_mut().zip(scales).zip(columns) {
                let scale = _mm256_set1_pd(scale);
                let rows = [_mm256_castsi256_si128(rows), _mm256_extracti128_si256::<1>(rows)];
                for (i, rows) in rows.into_iter().enumerate() {
                    let product = _mm256_mul_pd(_mm256_cvtepi32_pd(rows), scale);
                    totals[i] = _mm256_add_pd(totals[i], _mm256_mul_pd(product, product));
                    put(&mut products.0, 2 * half + i, product);
                }
            }
            for (i, total) in totals.into_iter().enumerate() {
                put(&mut squares.0, 2 * half + i, total);
            }
        }
    }
}

/// Eight columns of eight rows.
#[target_feature(enable = "avx2")]
fn transposed(sums: &Sums, row: usize, column: usize) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h]: [__m256i; 8] = std::array::from_fn(|i| {
        let place = sums[row + i][column..][..8].as_ptr();
        // SAFETY: eight numbers.
        unsafe { _mm256_loadu_si256(place.cast()) }
    });
    // Pairs of rows, then fours of rows, of two columns each.
    let fours = |a, b, c, d| {
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        [
            _mm256_unpacklo_epi64(ab, cd),
            _mm256_unpackhi_epi64(ab, cd),
            _mm256_unpacklo_epi64(ab_high, cd_high),
            _mm256_unpackhi_epi64(ab_high, cd_high),
        ]
    };
    let (first, second) = (fours(a, b, c, d), fours(e, f, g, h));
    std::array::from_fn(|i| {
        let (first, second) = (first[i % 4], second[i % 4]);
        if i < 4 {
            _mm256_permute2x128_si256::<0x20>(first, second)
        } else {
            _mm256_permute2x128_si256::<0x31>(first, second)
        }
    })
}

/// The values of four rows.
#[target_feature(enable = "avx2")]
fn load(values: &[f64; LANES], quarter: usize) -> __m256d {
    // SAFETY: the slice is four doubles.
    unsafe { _mm256_loadu_pd(values[4 * quarter..][..4].as_ptr()) }
}

/// Write the values of four rows.
#[target_feature(enable = "avx2")]
fn put(values: &mut [f64; LANES], quarter: usize, four: __m256d) {
    // SAFETY: the slice is four doubles.
    unsafe { _mm256_storeu_pd(values[4 * quarter..][..4].as_mut_ptr(), four) };
}
