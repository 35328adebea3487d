//! X'g with 256-bit vectors.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_castsi256_si128, _mm256_cvtepi32_epi64,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256, _mm256_slli_epi64,
    _mm256_storeu_si256,
};

use crate::layout::avx2::{halves, load};
use crate::layout::{Layout, Line};
use crate::store::{MOST_TILES, RESIDUAL_LOW_BITS, Residuals};

const RESIDUAL_SHIFT: i32 = RESIDUAL_LOW_BITS as i32;

pub(super) fn products(group: &[Line], layout: Layout, residuals: &Residuals, sums: &mut [[i64; 4]]) {
    let lines = layout.feature_lines();
    assert!(group.len() <= MOST_TILES * layout.lines() && sums.len() == 2 * lines);
    // SAFETY: `Path` selects this module only if the processor has AVX2; the lines are lines of a tile.
    unsafe {
        for line in (0..lines - lines % 2).step_by(2) {
            products_avx2::<2>(group, layout, line, residuals, &mut sums[2 * line..][..4]);
        }
        if lines % 2 == 1 {
            products_avx2::<1>(group, layout, lines - 1, residuals, &mut sums[2 * (lines - 1)..]);
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
    for (tile, residual) in group.chunks_exact(layout.lines()).zip(residuals.tiles()) {
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
