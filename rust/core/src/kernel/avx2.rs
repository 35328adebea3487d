//! The loops with 256-bit vectors: most of the unsafe code of the crate.
//!
//! A tile's feature is one vector of sixteen 16-bit values, so `vpmaddwd` does sixteen exact products and eight
//! exact additions at once. Against the portable loops on one core, the pass over the rows and the Gram matrix are
//! each more than ten times as fast (`cargo bench --bench core`).
//!
//! All functions here are reached through [`super::Path`], which names this module only after the processor was
//! asked for AVX2.

use std::arch::x86_64::{
    __m128i, __m256d, __m256i, _MM_HINT_T0, _mm_add_epi32, _mm_cvtsi32_si128, _mm_prefetch, _mm256_add_epi32,
    _mm256_add_epi64, _mm256_add_pd, _mm256_and_si256, _mm256_castpd_ps, _mm256_castpd_si256,
    _mm256_castps_si256, _mm256_castsi256_si128, _mm256_cvtepi32_epi64, _mm256_cvttpd_epi32, _mm256_div_pd,
    _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_load_si256, _mm256_loadu_pd, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_max_epi32, _mm256_max_pd, _mm256_min_epi32, _mm256_min_epu32, _mm256_min_pd,
    _mm256_mul_pd, _mm256_or_pd, _mm256_packs_epi32, _mm256_permute2f128_pd, _mm256_permute2x128_si256,
    _mm256_permute4x64_epi64, _mm256_set_m128i, _mm256_set1_epi32, _mm256_set1_pd, _mm256_setr_pd,
    _mm256_setzero_pd, _mm256_setzero_si256, _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_slli_epi64,
    _mm256_sqrt_pd, _mm256_sra_epi32, _mm256_srai_epi32, _mm256_srli_epi32, _mm256_store_si256,
    _mm256_storeu_pd, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_sub_pd, _mm256_testz_si256,
    _mm256_unpackhi_epi16, _mm256_unpackhi_pd, _mm256_unpacklo_epi16, _mm256_unpacklo_pd,
};

use super::{
    FAR_ABOVE, FEW_LINES, GRAM_TILES, LOT_LINES, Lots, MOST_TILES, RESIDUAL_LOW_BITS, Residuals, Weights,
    first_pair, gather, gram_pairs, portable,
};
use crate::panel::layout::{LANES, Layout, Line};
use crate::panel::theta::{LOW_BITS, Theta};
use crate::rowmap::quantise::{LARGEST_TARGET, ONE, SHIFT};
use crate::rowmap::{Column, Target};
use crate::source::{Lanes, Strip};

/// How far ahead of the residuals lines are fetched: 8 KiB. Tried by hand between 2 and 16 KiB at 31 and 90 columns: all
/// were faster than none on rows that do not fit the cache, and the differences among them were within the noise.
const LINES_AHEAD: usize = 128;
const RESIDUAL_SHIFT: i32 = RESIDUAL_LOW_BITS as i32;

pub(super) fn run<R>(body: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx2")]
    fn inner<R>(body: impl FnOnce() -> R) -> R {
        body()
    }
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { inner(body) }
}

pub(super) fn residuals(group: &[Line], layout: Layout, theta: &Theta, tau: i32, out: &mut Residuals) {
    assert!(group.len() <= MOST_TILES * layout.lines() && theta.pairs() == layout.feature_lines());
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { residuals_avx2(group, layout, theta, tau, out) }
}

pub(super) fn products(group: &[Line], layout: Layout, residuals: &Residuals, sums: &mut [[i64; 4]]) {
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

pub(super) fn gram(group: &[Line], layout: Layout, lots: &mut Lots, sums: &mut [[i64; 4]]) {
    assert!(group.len() <= GRAM_TILES * layout.lines() && sums.len() == gram_pairs(layout));
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { gram_avx2(group, layout, lots, sums) }
}

/// Ask for the lines that hold these bytes.
#[inline]
pub(crate) fn prefetch(first: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(size_of::<Line>()) {
        // SAFETY: every processor of this kind has it, and a hint never faults, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset).cast()) };
    }
}

/// # Safety
/// The rows can be read; they are at most `height`, and the strip has at least `width` columns.
pub(super) unsafe fn transpose(
    first: *const u8,
    stride: isize,
    rows: usize,
    width: usize,
    strip: &mut [f64],
    height: usize,
) {
    assert!(rows <= height && width.checked_mul(height).is_some_and(|values| values <= strip.len()));
    let fours = if width < 4 { 0 } else { rows - rows % 4 };
    // SAFETY: `Path` selects this module only if the processor has AVX2; the caller says that the rows can be read.
    unsafe {
        transpose_avx2(first, stride, fours, width, strip.as_mut_ptr(), height);
        portable::transpose(first, stride, fours..rows, width, strip, height);
    }
}

/// Four columns of four rows at a time, the last four columns perhaps once more.
///
/// # Safety
/// The rows can be read, a multiple of four and at most `height` of them; `width` is at least four, and as many columns
/// of `height` values can be written to `strip`.
#[target_feature(enable = "avx2")]
unsafe fn transpose_avx2(
    first: *const u8,
    stride: isize,
    rows: usize,
    width: usize,
    strip: *mut f64,
    height: usize,
) {
    for row in (0..rows).step_by(4) {
        let places: [*const f64; 4] =
            [0, 1, 2, 3].map(|next| first.wrapping_offset((row + next) as isize * stride).cast());
        for column in (0..width - width % 4).step_by(4) {
            // SAFETY: `row + 4 ≤ height` and `column + 4 ≤ width`.
            unsafe { transpose_four(places, column, strip.add(column * height + row), height) };
        }
        // One column left over is gathered; two or three are part of the last four.
        if width % 4 > 1 {
            let column = width - 4;
            // SAFETY: the same.
            unsafe { transpose_four(places, column, strip.add(column * height + row), height) };
        }
        if width % 4 == 1 {
            let column = width - 1;
            // SAFETY: the last value of each of the four rows, and `row + 4 ≤ height`.
            unsafe {
                let [a, b, c, d] = places.map(|place| place.wrapping_add(column).read_unaligned());
                _mm256_storeu_pd(strip.add(column * height + row), _mm256_setr_pd(a, b, c, d));
            }
        }
    }
}

/// Four columns of four rows.
///
/// # Safety
/// Four values of each row from `column` on can be read, and four values of each of four columns can be written to `out`.
#[target_feature(enable = "avx2")]
unsafe fn transpose_four(rows: [*const f64; 4], column: usize, out: *mut f64, height: usize) {
    // SAFETY: as this function asks.
    let [a, b, c, d] = rows.map(|row| unsafe { _mm256_loadu_pd(row.wrapping_add(column)) });
    let (ab_even, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
    let (cd_even, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
    // SAFETY: as this function asks.
    unsafe {
        _mm256_storeu_pd(out, _mm256_permute2f128_pd::<0x20>(ab_even, cd_even));
        _mm256_storeu_pd(out.add(height), _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd));
        _mm256_storeu_pd(out.add(2 * height), _mm256_permute2f128_pd::<0x31>(ab_even, cd_even));
        _mm256_storeu_pd(out.add(3 * height), _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd));
    }
}

pub(super) fn weigh(
    columns: &[Column],
    strip: &Strip,
    first: usize,
    norm: (f64, f64),
    features: &mut [Lanes],
    weights: &mut Weights,
) -> bool {
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { weigh_avx2(columns, strip, first, norm, features, weights) }
}

#[target_feature(enable = "avx2")]
fn weigh_avx2(
    columns: &[Column],
    strip: &Strip,
    first: usize,
    (inside, bound): (f64, f64),
    features: &mut [Lanes],
    weights: &mut Weights,
) -> bool {
    let mut squares = [_mm256_set1_pd(inside); 4];
    let mut rest = features.iter_mut();
    let mut tile = strip.tile(first);
    // All bits zero as long as all values are finite; which row has another is seldom asked.
    let mut strange = _mm256_setzero_pd();
    for (column, values) in columns.iter().zip(&mut tile) {
        let x = quarters(values);
        // Of a column that is not used too.
        strange = _mm256_or_pd(strange, differences(x));
        for (ramp, feature) in column.ramps().iter().zip(&mut rest) {
            let [foot, factor, least, most] =
                [ramp.foot, ramp.factor, ramp.least, ramp.most].map(|value| _mm256_set1_pd(value));
            for i in 0..4 {
                let value = _mm256_mul_pd(_mm256_sub_pd(x[i], foot), factor);
                // The instructions return the second number if the first is NaN, as `Ramp::apply` does.
                let value = _mm256_max_pd(_mm256_min_pd(value, most), least);
                squares[i] = _mm256_add_pd(squares[i], _mm256_mul_pd(value, value));
                put(&mut feature.0, i, value);
            }
        }
    }
    if let Some(target) = tile.next() {
        strange = _mm256_or_pd(strange, differences(quarters(target)));
    }
    let (bound, one) = (_mm256_set1_pd(bound), _mm256_set1_pd(1.0));
    for (i, squares) in squares.into_iter().enumerate() {
        let weight = _mm256_min_pd(_mm256_div_pd(bound, _mm256_sqrt_pd(squares)), one);
        put(&mut weights.keep.0, i, one);
        put(&mut weights.weight.0, i, weight);
    }
    let strange = _mm256_castpd_si256(strange);
    let finite = _mm256_testz_si256(strange, strange) == 1;
    if !finite {
        leave_out(strip, first, weights);
    }
    finite
}

/// Give rows of a tile with a value that is not finite the weight zero.
#[cold]
fn leave_out(strip: &Strip, first: usize, weights: &mut Weights) {
    for values in strip.tile(first) {
        for (lane, _) in values.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
            (weights.weight.0[lane], weights.keep.0[lane]) = (0.0, 0.0);
        }
    }
}

/// Zero, all bits, if all values are finite: one less itself is zero then; NaN and infinities give NaN.
#[target_feature(enable = "avx2")]
fn differences(x: [__m256d; 4]) -> __m256d {
    let [a, b, c, d] = x.map(|x| _mm256_sub_pd(x, x));
    _mm256_or_pd(_mm256_or_pd(a, b), _mm256_or_pd(c, d))
}

/// Write the values of four rows of a tile.
#[target_feature(enable = "avx2")]
fn put(values: &mut [f64; LANES], quarter: usize, four: __m256d) {
    let place = values[4 * quarter..][..4].as_mut_ptr();
    // SAFETY: `place` is four doubles.
    unsafe { _mm256_storeu_pd(place, four) };
}

pub(super) fn target(target: &Target, y: &[f64; LANES], weight: &Lanes, out: &mut [i32; LANES]) {
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { target_avx2(target, y, weight, out) }
}

#[target_feature(enable = "avx2")]
fn target_avx2(target: &Target, y: &[f64; LANES], weight: &Lanes, out: &mut [i32; LANES]) {
    let [centre, inverse, inverse_unit, shift] =
        [target.centre, target.inverse, target.inverse_unit, SHIFT].map(|value| _mm256_set1_pd(value));
    let cut = |value, limit| {
        let value = _mm256_min_pd(value, _mm256_set1_pd(limit));
        _mm256_max_pd(value, _mm256_set1_pd(-limit))
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| {
        let scaled = cut(_mm256_mul_pd(_mm256_sub_pd(quarter(y, i), centre), inverse), f64::MAX);
        let units = _mm256_mul_pd(_mm256_mul_pd(scaled, quarter(&weight.0, i)), inverse_unit);
        _mm256_castpd_ps(_mm256_add_pd(cut(units, LARGEST_TARGET), shift))
    });
    let place: *mut __m256i = out.as_mut_ptr().cast();
    for (i, (first, second)) in [(a, c), (b, d)].into_iter().enumerate() {
        // The lower half of every number: two of the first, two of the second, and the same again.
        let low = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(first, second));
        // SAFETY: `out` is two vectors.
        unsafe { _mm256_storeu_si256(place.add(i), _mm256_permute4x64_epi64::<0b11_01_10_00>(low)) };
    }
}

pub(super) fn quantise(features: &[Lanes], weight: &Lanes, tile: &mut [Line]) -> [u32; LANES] {
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { quantise_avx2(features, weight, tile) }
}

#[target_feature(enable = "avx2")]
fn quantise_avx2(features: &[Lanes], weight: &Lanes, tile: &mut [Line]) -> [u32; LANES] {
    let weight = quarters(&weight.0).map(|weight| _mm256_mul_pd(weight, _mm256_set1_pd(ONE)));
    let far = _mm256_set1_epi32(FAR_ABOVE as i32);
    let mut sums = [_mm256_setzero_si256(); 2];
    for (line, pair) in tile.iter_mut().zip(features.chunks(2)) {
        let a = integers(&pair[0], &weight);
        let b = pair.get(1).map_or(_mm256_setzero_si256(), |values| integers(values, &weight));
        let place: *mut __m256i = std::ptr::from_mut(line).cast();
        // SAFETY: a line is 64 writable bytes, aligned to 64.
        unsafe {
            _mm256_store_si256(place, a);
            _mm256_store_si256(place.add(1), b);
        }
        // Rows 0–3 and 8–11, then 4–7 and 12–15. Two squares are below 2^31, so that no sum reaches 2^32.
        for (sum, rows) in sums.iter_mut().zip([_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]) {
            *sum = _mm256_min_epu32(_mm256_add_epi32(*sum, _mm256_madd_epi16(rows, rows)), far);
        }
    }
    let mut squares = [0; LANES];
    let place: *mut __m256i = squares.as_mut_ptr().cast();
    // SAFETY: `squares` is two vectors.
    unsafe {
        _mm256_storeu_si256(place, _mm256_permute2x128_si256::<0x20>(sums[0], sums[1]));
        _mm256_storeu_si256(place.add(1), _mm256_permute2x128_si256::<0x31>(sums[0], sums[1]));
    }
    squares
}

/// The values of a tile's rows, four by four.
#[target_feature(enable = "avx2")]
fn quarters(values: &[f64; LANES]) -> [__m256d; 4] {
    [0, 1, 2, 3].map(|i| quarter(values, i))
}

/// The values of four rows of a tile.
#[target_feature(enable = "avx2")]
fn quarter(values: &[f64; LANES], i: usize) -> __m256d {
    // SAFETY: the slice is four doubles.
    unsafe { _mm256_loadu_pd(values[4 * i..][..4].as_ptr()) }
}

/// Products with the weights, toward zero, as sixteen 16-bit integers from −32767 to 32767.
///
/// What is too large for 32 bits converts to −2^31 and so becomes −32767; the portable code gives ±32767 then. Weights
/// keep every product within 2^15, so neither is ever seen.
#[target_feature(enable = "avx2")]
fn integers(values: &Lanes, weight: &[__m256d; 4]) -> __m256i {
    let values = quarters(&values.0);
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| _mm256_cvttpd_epi32(_mm256_mul_pd(values[i], weight[i])));
    let least = _mm256_set1_epi32(-i32::from(i16::MAX));
    // Packing takes the lower halves of both, then the upper halves.
    _mm256_packs_epi32(
        _mm256_max_epi32(_mm256_set_m128i(c, a), least),
        _mm256_max_epi32(_mm256_set_m128i(d, b), least),
    )
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
