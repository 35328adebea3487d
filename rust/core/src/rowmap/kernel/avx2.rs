//! Features, weights, targets and integers of a tile, with 256-bit vectors.

use std::arch::x86_64::{
    __m256d, __m256i, __m512d, _CMP_EQ_OQ, _mm256_add_epi32, _mm256_add_pd, _mm256_and_pd, _mm256_castpd_ps,
    _mm256_castpd_si256, _mm256_castps_si256, _mm256_cmp_pd, _mm256_cvttpd_epi32, _mm256_div_pd,
    _mm256_loadu_pd, _mm256_madd_epi16, _mm256_max_epi32, _mm256_max_pd, _mm256_min_epu32, _mm256_min_pd,
    _mm256_mul_pd, _mm256_or_pd, _mm256_packs_epi32, _mm256_permute2x128_si256, _mm256_permute4x64_epi64,
    _mm256_set_m128i, _mm256_set1_epi32, _mm256_set1_pd, _mm256_setzero_pd, _mm256_setzero_si256,
    _mm256_shuffle_ps, _mm256_sqrt_pd, _mm256_store_si256, _mm256_storeu_pd, _mm256_storeu_si256,
    _mm256_sub_pd, _mm256_testz_si256, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16, _mm512_castsi256_si512,
    _mm512_cvtsepi32_epi16, _mm512_cvttpd_epi32, _mm512_inserti64x4, _mm512_loadu_pd, _mm512_max_epi32,
    _mm512_mul_pd, _mm512_set1_epi32, _mm512_set1_pd,
};

use super::{FAR_ABOVE, Weights};
use crate::layout::{LANES, Line};
use crate::rowmap::columns::Features;
use crate::rowmap::quantise::{LARGEST_TARGET, ONE, SHIFT};
use crate::rowmap::{Column, Target};
use crate::source::{Lanes, Strip};

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
    // All bits are zero while all values are finite. Which row has another value is rarely needed.
    let mut strange = _mm256_setzero_pd();
    for (column, values) in columns.iter().zip(&mut tile) {
        let x = quarters(values);
        // Columns without features are checked, too.
        strange = _mm256_or_pd(strange, differences(x));
        match &column.features {
            Features::Ramps(ramps) => {
                for (ramp, feature) in ramps.iter().zip(&mut rest) {
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
            &Features::Levels { count, height } => {
                let height = _mm256_set1_pd(height);
                for (level, feature) in (0..count).zip(&mut rest) {
                    let level = _mm256_set1_pd(level as f64);
                    for i in 0..4 {
                        // The comparison sets all bits where the two are equal.
                        let value = _mm256_and_pd(_mm256_cmp_pd::<_CMP_EQ_OQ>(x[i], level), height);
                        squares[i] = _mm256_add_pd(squares[i], _mm256_mul_pd(value, value));
                        put(&mut feature.0, i, value);
                    }
                }
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

/// Set the weight of rows with a value that is not finite to zero.
#[cold]
fn leave_out(strip: &Strip, first: usize, weights: &mut Weights) {
    for values in strip.tile(first) {
        for (lane, _) in values.iter().enumerate().filter(|(_, value)| !value.is_finite()) {
            (weights.weight.0[lane], weights.keep.0[lane]) = (0.0, 0.0);
        }
    }
}

/// Return zero bits if all values are finite: a finite value minus itself is zero; NaN and infinities give NaN.
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
    let [centre, inverse, inverse_step, shift] =
        [target.centre, target.inverse, target.inverse_step, SHIFT].map(|value| _mm256_set1_pd(value));
    let clamp = |value, limit| {
        let value = _mm256_min_pd(value, _mm256_set1_pd(limit));
        _mm256_max_pd(value, _mm256_set1_pd(-limit))
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| {
        let scaled = clamp(_mm256_mul_pd(_mm256_sub_pd(quarter(y, i), centre), inverse), f64::MAX);
        let steps = _mm256_mul_pd(_mm256_mul_pd(scaled, quarter(&weight.0, i)), inverse_step);
        _mm256_castpd_ps(_mm256_add_pd(clamp(steps, LARGEST_TARGET), shift))
    });
    let place: *mut __m256i = out.as_mut_ptr().cast();
    for (i, (first, second)) in [(a, c), (b, d)].into_iter().enumerate() {
        // The lower half of every number: two of `first`, two of `second`, and again.
        let low = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(first, second));
        // SAFETY: `out` has room for two vectors.
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
    let mut sums = [_mm256_setzero_si256(); 2];
    for (line, pair) in tile.iter_mut().zip(features.chunks(2)) {
        let a = integers(&pair[0], &weight);
        let b = pair.get(1).map_or(_mm256_setzero_si256(), |values| integers(values, &weight));
        write(line, a, b, &mut sums);
    }
    in_order(sums)
}

/// The same on processors that have AVX-512.
pub(super) fn quantise_wide(features: &[Lanes], weight: &Lanes, tile: &mut [Line]) -> [u32; LANES] {
    // SAFETY: `Path` selects this function only if the processor has AVX2 and AVX-512.
    unsafe { quantise_avx512(features, weight, tile) }
}

#[target_feature(enable = "avx2,avx512f")]
fn quantise_avx512(features: &[Lanes], weight: &Lanes, tile: &mut [Line]) -> [u32; LANES] {
    let weight = eights(&weight.0).map(|weight| _mm512_mul_pd(weight, _mm512_set1_pd(ONE)));
    let mut sums = [_mm256_setzero_si256(); 2];
    for (line, pair) in tile.iter_mut().zip(features.chunks(2)) {
        let a = integers_avx512(&pair[0], &weight);
        let b = pair.get(1).map_or(_mm256_setzero_si256(), |values| integers_avx512(values, &weight));
        write(line, a, b, &mut sums);
    }
    in_order(sums)
}

/// Write a line, and add the squares of its values to the sums of rows 0–3 and 8–11, and of rows 4–7 and 12–15.
#[target_feature(enable = "avx2")]
fn write(line: &mut Line, a: __m256i, b: __m256i, sums: &mut [__m256i; 2]) {
    let place: *mut __m256i = std::ptr::from_mut(line).cast();
    // SAFETY: a line is 64 writable bytes, aligned to 64.
    unsafe {
        _mm256_store_si256(place, a);
        _mm256_store_si256(place.add(1), b);
    }
    let far = _mm256_set1_epi32(FAR_ABOVE as i32);
    // The sum of two squares is below 2^31, so no sum reaches 2^32.
    for (sum, rows) in sums.iter_mut().zip([_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]) {
        *sum = _mm256_min_epu32(_mm256_add_epi32(*sum, _mm256_madd_epi16(rows, rows)), far);
    }
}

/// The sums of [`write`] in the order of rows.
#[target_feature(enable = "avx2")]
fn in_order(sums: [__m256i; 2]) -> [u32; LANES] {
    let mut squares = [0; LANES];
    let place: *mut __m256i = squares.as_mut_ptr().cast();
    // SAFETY: `squares` has room for two vectors.
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

/// The values of a tile's rows, eight by eight.
#[target_feature(enable = "avx512f")]
fn eights(values: &[f64; LANES]) -> [__m512d; 2] {
    // SAFETY: the slices are eight doubles.
    [0, 8].map(|first| unsafe { _mm512_loadu_pd(values[first..][..8].as_ptr()) })
}

/// The same as `integers`, eight rows at a time.
#[target_feature(enable = "avx512f")]
fn integers_avx512(values: &Lanes, weight: &[__m512d; 2]) -> __m256i {
    let values = eights(&values.0);
    let [a, b] = [0, 1].map(|i| _mm512_cvttpd_epi32(_mm512_mul_pd(values[i], weight[i])));
    let whole = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b);
    _mm512_cvtsepi32_epi16(_mm512_max_epi32(whole, _mm512_set1_epi32(-i32::from(i16::MAX))))
}

/// Return the products with the weights, rounded toward zero, as sixteen 16-bit integers from −32767 to 32767.
///
/// A product too large for 32 bits would become −32767, where the portable code gives ±32767. This never happens: weights
/// keep every product within ±2^15.
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
