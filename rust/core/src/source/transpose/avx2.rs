//! Four rows by four columns at a time, with 256-bit vectors.

use std::arch::x86_64::{
    _MM_HINT_T0, _mm_prefetch, _mm256_loadu_pd, _mm256_permute2f128_pd, _mm256_setr_pd, _mm256_storeu_pd,
    _mm256_unpackhi_pd, _mm256_unpacklo_pd,
};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetch the cache lines that hold these bytes.
#[inline]
pub(super) fn prefetch(first: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        // SAFETY: every x86-64 processor has the instruction, and a prefetch never faults.
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
    // SAFETY: `Path` selects this module only if the processor has AVX2; the caller promises that the rows can be read.
    unsafe {
        transpose_avx2(first, stride, fours, width, strip.as_mut_ptr(), height);
        super::transpose_portable(first, stride, fours..rows, width, strip, height);
    }
}

/// Copy four columns of four rows at a time; some of the last four columns may be copied twice.
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
        // One remaining column is gathered; two or three are copied with the last four.
        if width % 4 > 1 {
            let column = width - 4;
            // SAFETY: as above.
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

/// Copy four columns of four rows.
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
