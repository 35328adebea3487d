//! Over tiles of integers: residuals, X'g and X'X.

use std::arch::x86_64::{
    __m128i, __m256i, _MM_HINT_T0, _mm_add_epi32, _mm_cvtsi32_si128, _mm_prefetch, _mm256_add_epi32,
    _mm256_add_epi64, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cvtepi32_epi64,
    _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_load_si256, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_max_epi32, _mm256_min_epi32, _mm256_packs_epi32, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_slli_epi32, _mm256_slli_epi64, _mm256_sra_epi32, _mm256_srai_epi32, _mm256_srli_epi32,
    _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
};

use super::super::{
    FEW_LINES, GRAM_TILES, LOT_LINES, Lots, MOST_TILES, RESIDUAL_LOW_BITS, Residuals, first_pair, gather,
    gram_pairs,
};
use crate::panel::layout::{LANES, Layout, Line};
use crate::panel::theta::{LOW_BITS, Theta};

/// How far ahead of the residuals lines are fetched: 8 KiB. Tried by hand between 2 and 16 KiB at 31 and 90 columns: all
/// were faster than none on rows that do not fit the cache, and the differences among them were within the noise.
const LINES_AHEAD: usize = 128;
const RESIDUAL_SHIFT: i32 = RESIDUAL_LOW_BITS as i32;

pub(in crate::kernel) fn residuals(
    group: &[Line],
    layout: Layout,
    theta: &Theta,
    tau: i32,
    out: &mut Residuals,
) {
    assert!(group.len() <= MOST_TILES * layout.lines() && theta.pairs() == layout.feature_lines());
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { residuals_avx2(group, layout, theta, tau, out) }
}

pub(in crate::kernel) fn products(
    group: &[Line],
    layout: Layout,
    residuals: &Residuals,
    sums: &mut [[i64; 4]],
) {
    let lines = layout.feature_lines();
    assert!(group.len() <= MOST_TILES * layout.lines() && sums.len() == 2 * lines);
    // SAFETY: `Path` selects this module only if the processor has AVX2; the lines named are lines of a tile.
    unsafe {
        for line in (0..lines - lines % 2).step_by(2) {
            products_avx2::<2>(group, layout, line, residuals, &mut sums[2 * line..][..4]);
        }
        if lines % 2 == 1 {
            products_avx2::<1>(group, layout, lines - 1, residuals, &mut sums[2 * (lines - 1)..]);
        }
    }
}

pub(in crate::kernel) fn gram(group: &[Line], layout: Layout, lots: &mut Lots, sums: &mut [[i64; 4]]) {
    assert!(group.len() <= GRAM_TILES * layout.lines() && sums.len() == gram_pairs(layout));
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { gram_avx2(group, layout, lots, sums) }
}

#[target_feature(enable = "avx2")]
fn load(values: &[i16; LANES]) -> __m256i {
    // SAFETY: the reference is to 32 readable bytes.
    unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn halves(line: &Line) -> [__m256i; 2] {
    let pointer: *const __m256i = std::ptr::from_ref(line).cast();
    // SAFETY: a line is 64 readable bytes, aligned to 64.
    unsafe { [_mm256_load_si256(pointer), _mm256_load_si256(pointer.add(1))] }
}

#[target_feature(enable = "avx2")]
fn residuals_avx2(group: &[Line], layout: Layout, theta: &Theta, tau: i32, out: &mut Residuals) {
    let most = _mm256_set1_epi32(tau);
    let least = _mm256_set1_epi32(-tau);
    let half = _mm256_set1_epi32(theta.half());
    let mask = _mm256_set1_epi32((1 << RESIDUAL_LOW_BITS) - 1);
    let shift = _mm_cvtsi32_si128(theta.shift() as i32);
    for (tile, out) in group.chunks_exact(layout.lines()).zip(&mut out.tiles) {
        let mut high = [half; 2];
        let mut low = [_mm256_setzero_si256(); 2];
        for ((line, &pair), &low_pair) in tile.iter().zip(theta.high()).zip(theta.low()) {
            // A hint, which never faults, wherever it points.
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).wrapping_add(LINES_AHEAD).cast());
            let [a, b] = halves(line);
            let rows = [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)];
            let pair = _mm256_set1_epi32(bytemuck::cast(pair));
            let low_pair = _mm256_set1_epi32(bytemuck::cast(low_pair));
            for i in 0..2 {
                high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(rows[i], pair));
                low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(rows[i], low_pair));
            }
        }
        let targets = halves(&tile[layout.feature_lines()]);
        let mut residual = [_mm256_setzero_si256(); 2];
        for i in 0..2 {
            let sum = _mm256_add_epi32(high[i], _mm256_srai_epi32::<{ LOW_BITS as i32 }>(low[i]));
            let difference = _mm256_sub_epi32(targets[i], _mm256_sra_epi32(sum, shift));
            residual[i] = _mm256_min_epi32(_mm256_max_epi32(difference, least), most);
        }
        // Packing undoes the order in which unpacking left the rows.
        let high = _mm256_packs_epi32(
            _mm256_srai_epi32::<RESIDUAL_SHIFT>(residual[0]),
            _mm256_srai_epi32::<RESIDUAL_SHIFT>(residual[1]),
        );
        let low =
            _mm256_packs_epi32(_mm256_and_si256(residual[0], mask), _mm256_and_si256(residual[1], mask));
        // SAFETY: both arrays are 32 writable bytes.
        unsafe {
            _mm256_storeu_si256(out[0].as_mut_ptr().cast(), high);
            _mm256_storeu_si256(out[1].as_mut_ptr().cast(), low);
        }
    }
}

/// X'g for the features of `N` lines.
#[target_feature(enable = "avx2")]
fn products_avx2<const N: usize>(
    group: &[Line],
    layout: Layout,
    first: usize,
    residuals: &Residuals,
    sums: &mut [[i64; 4]],
) {
    let mut high = [[_mm256_setzero_si256(); 2]; N];
    let mut low = [[_mm256_setzero_si256(); 2]; N];
    for (tile, residual) in group.chunks_exact(layout.lines()).zip(&residuals.tiles) {
        let (g_high, g_low) = (load(&residual[0]), load(&residual[1]));
        for n in 0..N {
            for (i, column) in halves(&tile[first + n]).into_iter().enumerate() {
                high[n][i] = _mm256_add_epi32(high[n][i], _mm256_madd_epi16(column, g_high));
                low[n][i] = _mm256_add_epi32(low[n][i], _mm256_madd_epi16(column, g_low));
            }
        }
    }
    for n in 0..N {
        for i in 0..2 {
            let total =
                _mm256_add_epi64(_mm256_slli_epi64::<RESIDUAL_SHIFT>(widen(high[n][i])), widen(low[n][i]));
            let place: *mut __m256i = sums[2 * n + i].as_mut_ptr().cast();
            // SAFETY: `place` is 32 readable and writable bytes.
            unsafe { _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), total)) };
        }
    }
}

/// Eight 32-bit sums as four 64-bit ones.
#[target_feature(enable = "avx2")]
fn widen(sums: __m256i) -> __m256i {
    _mm256_add_epi64(
        _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sums)),
        _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sums)),
    )
}

#[target_feature(enable = "avx2")]
fn gram_avx2(group: &[Line], layout: Layout, lots: &mut Lots, sums: &mut [[i64; 4]]) {
    let lines = layout.feature_lines();
    let starts = || (0..lines).step_by(LOT_LINES).map(|start| start..lines.min(start + LOT_LINES));
    for left in starts() {
        let tiles = gather(group, layout, left.clone(), &mut lots.left);
        for right in starts().skip(left.start / LOT_LINES) {
            let right_lines = if right == left {
                &lots.left
            } else {
                gather(group, layout, right.clone(), &mut lots.right);
                &lots.right
            };
            // A few lines on the right stay in the first-level cache while those on the left go by.
            for few in right.clone().step_by(FEW_LINES) {
                let end = right.end.min(few + FEW_LINES);
                for i in left.start..left.end.min(end) {
                    let line = &lots.left[(i - left.start) * tiles..][..tiles];
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

/// Sums of products in 32 bits, and what they wrapped: the same sums with every term divided by 2^16, rounded down.
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

    /// The sum of the terms' low sixteen bits: at most 32 · 65535, so that nothing of it was lost.
    #[target_feature(enable = "avx2")]
    fn low(self) -> __m256i {
        _mm256_sub_epi32(self.wrapped, _mm256_slli_epi32::<16>(self.high))
    }
}

/// The four products of two features with two others, of the same rows.
///
/// A term is of four rows. A row has Σq² ≤ 2^30, so two of its values have a product of at most 2^29 − 1 (2^29 itself
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

/// The squares of two features, and their product between them. A square may be 32767², four of which are below 2^32:
/// terms of squares have no sign.
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

/// Add the eight lanes of each to one of the four totals.
#[target_feature(enable = "avx2")]
fn add_sums(totals: &mut [i64; 4], sums: [Sums; 4]) {
    let [a, b, c, d] = sums;
    // Eight lanes are at most 8 · 32 · 65535 < 2^31, of either part.
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
