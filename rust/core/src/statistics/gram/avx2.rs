//! X'X with 256-bit vectors.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi32, _mm256_add_epi32, _mm256_add_epi64, _mm256_castsi256_si128,
    _mm256_cvtepi16_epi32, _mm256_cvtepi32_epi64, _mm256_cvtepi32_pd, _mm256_cvttpd_epi32,
    _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_loadu_pd, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_max_epi32, _mm256_max_epu32, _mm256_mul_pd, _mm256_packs_epi32, _mm256_permute2x128_si256,
    _mm256_set_m128i, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_slli_epi64,
    _mm256_srai_epi32, _mm256_srli_epi32, _mm256_store_si256, _mm256_storeu_si256, _mm256_sub_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};

use super::kernel::{Kernel, SIZE_SHIFT, size_bound};
use crate::layout::Line;
use crate::layout::avx2::halves;
use crate::source::Lanes;

/// 256-bit vectors.
pub(super) struct Avx2;

// SAFETY of all calls: `Path` selects this kernel, and the one for AVX-512, only if the processor has AVX2.
impl Kernel for Avx2 {
    fn size(line: &[Line]) -> u64 {
        // SAFETY: see above.
        unsafe { size_avx2(line) }
    }

    fn squares(line: &[Line], sums: &mut [i64; 4]) {
        // SAFETY: see above.
        unsafe { add_sums(sums, squares_avx2(line)) }
    }

    fn products(left: &[Line], right: &[&[Line]], narrow: bool, sums: &mut [[i64; 4]]) {
        for (right, sums) in right.iter().zip(sums) {
            // SAFETY: see above.
            unsafe {
                if narrow {
                    narrow_pairs_avx2(left, right, sums);
                } else {
                    add_sums(sums, pairs_avx2(left, right));
                }
            }
        }
    }
}

/// Write the values of a tile's rows times a factor for each, rounded toward zero. Products are at most 32767 in size.
pub(super) fn times(tile: &[Line], factors: &Lanes, out: &mut [Line]) {
    // SAFETY: see above.
    unsafe { times_avx2(tile, factors, out) }
}

#[target_feature(enable = "avx2")]
fn times_avx2(tile: &[Line], Lanes(factors): &Lanes, out: &mut [Line]) {
    // SAFETY: the slices are four doubles.
    let factors = [0, 4, 8, 12].map(|first| unsafe { _mm256_loadu_pd(factors[first..][..4].as_ptr()) });
    let product = |values, factor| _mm256_cvttpd_epi32(_mm256_mul_pd(_mm256_cvtepi32_pd(values), factor));
    let least = _mm256_set1_epi32(-i32::from(i16::MAX));
    for (from, to) in tile.iter().zip(out) {
        let place: *mut __m256i = std::ptr::from_mut(to).cast();
        for (i, values) in halves(from).into_iter().enumerate() {
            let [low, high] = [_mm256_castsi256_si128(values), _mm256_extracti128_si256::<1>(values)]
                .map(|half| _mm256_cvtepi16_epi32(half));
            let [a, b] = [_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low)];
            let [c, d] = [_mm256_castsi256_si128(high), _mm256_extracti128_si256::<1>(high)];
            // Packing takes the lower halves of both, then the upper halves.
            let first = _mm256_set_m128i(product(c, factors[2]), product(a, factors[0]));
            let second = _mm256_set_m128i(product(d, factors[3]), product(b, factors[1]));
            let whole = _mm256_packs_epi32(_mm256_max_epi32(first, least), _mm256_max_epi32(second, least));
            // SAFETY: a line is 64 writable bytes, aligned to 64.
            unsafe { _mm256_store_si256(place.add(i), whole) };
        }
    }
}

#[target_feature(enable = "avx2")]
fn size_avx2(line: &[Line]) -> u64 {
    let mut sums = [_mm256_setzero_si256(); 2];
    for line in line {
        for (sum, half) in sums.iter_mut().zip(halves(line)) {
            // Below 2^31, so that a shift of unsigned numbers does.
            let squares = _mm256_madd_epi16(half, half);
            *sum = _mm256_add_epi32(*sum, _mm256_srli_epi32::<{ SIZE_SHIFT as i32 }>(squares));
        }
    }
    let mut lanes = [0u32; 8];
    // SAFETY: the array is 32 writable bytes.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_max_epu32(sums[0], sums[1])) };
    size_bound(lanes.into_iter().max().unwrap_or(0), line.len())
}

/// Add the four products of two features with two others, whose sums fit 32 bits in every lane.
#[target_feature(enable = "avx2")]
fn narrow_pairs_avx2(left: &[Line], right: &[Line], totals: &mut [i64; 4]) {
    let mut sums = [_mm256_setzero_si256(); 4];
    for (left, right) in left.iter().zip(right) {
        let (a, b) = (halves(left), halves(right));
        for (p, sum) in sums.iter_mut().enumerate() {
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(a[p / 2], b[p % 2]));
        }
    }
    // Eight lanes of 32 bits become four of 64 bits.
    let [a, b, c, d] = sums.map(|sum| {
        let even = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
        _mm256_add_epi64(even, _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum)))
    });
    let both = |a, b| _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (ab, cd) = (both(a, b), both(c, d));
    let sums = _mm256_add_epi64(
        _mm256_permute2x128_si256::<0x20>(ab, cd),
        _mm256_permute2x128_si256::<0x31>(ab, cd),
    );
    add(totals, sums);
}

/// Add four 64-bit numbers to totals.
#[target_feature(enable = "avx2")]
fn add(totals: &mut [i64; 4], sums: __m256i) {
    let place: *mut __m256i = totals.as_mut_ptr().cast();
    // SAFETY: `place` is 32 readable and writable bytes.
    unsafe { _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), sums)) };
}

/// Sums of products modulo 2^32, and the same sums with every term divided by 2^16 and rounded down. Together they
/// determine the true sums.
#[derive(Clone, Copy)]
struct Sums {
    wrapped: __m256i,
    high: __m256i,
}

impl Sums {
    #[target_feature(enable = "avx2")]
    fn new() -> Self {
        Self { wrapped: _mm256_setzero_si256(), high: _mm256_setzero_si256() }
    }

    /// Add terms, given with their sixteen high bits.
    #[target_feature(enable = "avx2")]
    fn add(&mut self, terms: __m256i, high: __m256i) {
        self.wrapped = _mm256_add_epi32(self.wrapped, terms);
        self.high = _mm256_add_epi32(self.high, high);
    }

    /// The sum of the low sixteen bits of all terms: at most 32 · 65535, so it did not wrap.
    #[target_feature(enable = "avx2")]
    fn low(self) -> __m256i {
        _mm256_sub_epi32(self.wrapped, _mm256_slli_epi32::<16>(self.high))
    }
}

/// The four products of two features with two others.
///
/// A term sums over four rows. A row has Σq² ≤ 2^30, so the product of two of its values is at most 2^29 − 1 (2^29 itself
/// would need q² = 2^29), and a term is below 2^31.
#[target_feature(enable = "avx2")]
fn pairs_avx2(left: &[Line], right: &[Line]) -> [Sums; 4] {
    let mut sums = [Sums::new(); 4];
    let (left, _) = left.as_chunks::<2>();
    let (right, _) = right.as_chunks::<2>();
    for (left, right) in left.iter().zip(right) {
        let (a, b) = ([halves(&left[0]), halves(&left[1])], [halves(&right[0]), halves(&right[1])]);
        for (p, sums) in sums.iter_mut().enumerate() {
            let terms = _mm256_add_epi32(
                _mm256_madd_epi16(a[0][p / 2], b[0][p % 2]),
                _mm256_madd_epi16(a[1][p / 2], b[1][p % 2]),
            );
            sums.add(terms, _mm256_srai_epi32::<16>(terms));
        }
    }
    sums
}

/// The squares of two features and, between them, their product. A square may be 32767², and four of them are below 2^32,
/// so terms of squares are unsigned.
#[target_feature(enable = "avx2")]
fn squares_avx2(line: &[Line]) -> [Sums; 4] {
    let mut sums = [Sums::new(); 4];
    let (line, _) = line.as_chunks::<2>();
    for tiles in line {
        let [[a, b], [c, d]] = [halves(&tiles[0]), halves(&tiles[1])];
        let first = _mm256_add_epi32(_mm256_madd_epi16(a, a), _mm256_madd_epi16(c, c));
        let product = _mm256_add_epi32(_mm256_madd_epi16(a, b), _mm256_madd_epi16(c, d));
        let second = _mm256_add_epi32(_mm256_madd_epi16(b, b), _mm256_madd_epi16(d, d));
        sums[0].add(first, _mm256_srli_epi32::<16>(first));
        sums[1].add(product, _mm256_srai_epi32::<16>(product));
        sums[3].add(second, _mm256_srli_epi32::<16>(second));
    }
    sums
}

/// Add the eight lanes of each of the four sums to its total.
#[target_feature(enable = "avx2")]
fn add_sums(totals: &mut [i64; 4], sums: [Sums; 4]) {
    let [a, b, c, d] = sums;
    // For both parts, the sum of eight lanes is at most 8 · 32 · 65535 < 2^31.
    let high = lanes(a.high, b.high, c.high, d.high);
    let low = lanes(a.low(), b.low(), c.low(), d.low());
    let sums =
        _mm256_add_epi64(_mm256_slli_epi64::<16>(_mm256_cvtepi32_epi64(high)), _mm256_cvtepi32_epi64(low));
    add(totals, sums);
}

/// The sum of the lanes of each of four vectors.
#[target_feature(enable = "avx2")]
fn lanes(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m128i {
    let sums = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums))
}
