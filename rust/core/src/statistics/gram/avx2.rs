//! X'X with 256-bit vectors.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi32, _mm256_add_epi32, _mm256_add_epi64, _mm256_castsi256_si128,
    _mm256_cvtepi32_epi64, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_slli_epi64, _mm256_srai_epi32,
    _mm256_srli_epi32, _mm256_storeu_si256, _mm256_sub_epi32,
};

use super::kernel::{CACHED_LINES, GRAM_TILES, PACKED_LINES, Packed, first_pair, gather, gram_pairs};
use crate::layout::avx2::halves;
use crate::layout::{Layout, Line};

pub(super) fn gram(group: &[Line], layout: Layout, packed: &mut Packed, sums: &mut [[i64; 4]]) {
    assert!(group.len() <= GRAM_TILES * layout.lines() && sums.len() == gram_pairs(layout));
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { gram_avx2(group, layout, packed, sums) }
}

#[target_feature(enable = "avx2")]
fn gram_avx2(group: &[Line], layout: Layout, packed: &mut Packed, sums: &mut [[i64; 4]]) {
    let lines = layout.feature_lines();
    let starts = || (0..lines).step_by(PACKED_LINES).map(|start| start..lines.min(start + PACKED_LINES));
    for left in starts() {
        let tiles = gather(group, layout, left.clone(), &mut packed.left);
        for right in starts().skip(left.start / PACKED_LINES) {
            let right_lines = if right == left {
                &packed.left
            } else {
                gather(group, layout, right.clone(), &mut packed.right);
                &packed.right
            };
            // A few lines of the right factor stay in the first-level cache for all lines of the left one.
            for few in right.clone().step_by(CACHED_LINES) {
                let end = right.end.min(few + CACHED_LINES);
                for i in left.start..left.end.min(end) {
                    let line = &packed.left[(i - left.start) * tiles..][..tiles];
                    let sums = &mut sums[first_pair(layout, i)..][..lines - i];
                    if i >= few {
                        add_sums(&mut sums[0], squares_avx2(line));
                    }
                    for j in few.max(i + 1)..end {
                        let other = &right_lines[(j - right.start) * tiles..][..tiles];
                        add_sums(&mut sums[j - i], pairs_avx2(line, other));
                    }
                }
            }
        }
    }
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
    let place: *mut __m256i = totals.as_mut_ptr().cast();
    // SAFETY: `place` is 32 readable and writable bytes.
    unsafe { _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), sums)) };
}

/// The sum of the lanes of each of four vectors.
#[target_feature(enable = "avx2")]
fn lanes(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m128i {
    let sums = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums))
}
