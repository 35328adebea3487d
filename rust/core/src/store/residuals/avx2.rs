//! Residuals with 256-bit vectors.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_cvtsi32_si128, _mm_prefetch, _mm256_add_epi32, _mm256_and_si256,
    _mm256_loadu_si256, _mm256_madd_epi16, _mm256_max_epi32, _mm256_min_epi32, _mm256_packs_epi32,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_sra_epi32, _mm256_srai_epi32, _mm256_storeu_si256,
    _mm256_sub_epi32, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
};

use super::{MOST_TILES, RESIDUAL_LOW_BITS, Residuals};
use crate::layout::avx2::halves;
use crate::layout::{LANES, Layout, Line};
use crate::store::clip::Clip;
use crate::store::theta::{LOW_BITS, Theta};

/// Lines are prefetched this far ahead: 8 KiB. Distances from 2 to 16 KiB were tried with 31 and 90 columns. On rows that
/// do not fit the cache all were faster than no prefetch, with no measurable difference among them.
const LINES_AHEAD: usize = 128;
const RESIDUAL_SHIFT: i32 = RESIDUAL_LOW_BITS as i32;

pub(super) fn residuals(group: &[Line], layout: Layout, theta: &Theta, clip: Clip, out: &mut Residuals) {
    assert!(group.len() <= MOST_TILES * layout.lines() && theta.pairs() == layout.feature_lines());
    // SAFETY: `Path` selects this module only if the processor has AVX2.
    unsafe { residuals_avx2(group, layout, theta, clip, out) }
}

#[target_feature(enable = "avx2")]
fn residuals_avx2(group: &[Line], layout: Layout, theta: &Theta, clip: Clip, out: &mut Residuals) {
    let most = [_mm256_set1_epi32(clip.tau()); 2];
    let half = _mm256_set1_epi32(theta.half());
    let mask = _mm256_set1_epi32((1 << RESIDUAL_LOW_BITS) - 1);
    let shift = _mm_cvtsi32_si128(theta.shift() as i32);
    for (tile, out) in group.chunks_exact(layout.lines()).zip(&mut out.tiles) {
        let mut high = [half; 2];
        let mut low = [_mm256_setzero_si256(); 2];
        for ((line, &pair), &low_pair) in tile.iter().zip(theta.high()).zip(theta.low()) {
            // A prefetch never faults, wherever it points.
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
        let most = if clip.reach().is_none() { most } else { limits_avx2(tile, layout, clip) };
        let targets = halves(&tile[layout.feature_lines()]);
        let mut residual = [_mm256_setzero_si256(); 2];
        for i in 0..2 {
            let sum = _mm256_add_epi32(high[i], _mm256_srai_epi32::<{ LOW_BITS as i32 }>(low[i]));
            let difference = _mm256_sub_epi32(targets[i], _mm256_sra_epi32(sum, shift));
            let least = _mm256_sub_epi32(_mm256_setzero_si256(), most[i]);
            residual[i] = _mm256_min_epi32(_mm256_max_epi32(difference, least), most[i]);
        }
        // Packing restores the order of the rows.
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

/// Where the residual of every row is clipped, in the order of the targets.
#[target_feature(enable = "avx2")]
fn limits_avx2(tile: &[Line], layout: Layout, clip: Clip) -> [__m256i; 2] {
    let mut sums = [_mm256_setzero_si256(); 2];
    for line in &tile[..layout.feature_lines()] {
        let [a, b] = halves(line);
        for (sum, rows) in sums.iter_mut().zip([_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]) {
            // Σq² ≤ 2^30 for every row.
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(rows, rows));
        }
    }
    let mut squares = [0; LANES];
    let place: *mut __m256i = squares.as_mut_ptr().cast();
    // SAFETY: `squares` is two vectors.
    unsafe {
        _mm256_storeu_si256(place, sums[0]);
        _mm256_storeu_si256(place.add(1), sums[1]);
    }
    let limits = clip.limits(&squares);
    let place: *const __m256i = limits.as_ptr().cast();
    // SAFETY: `limits` is two vectors.
    unsafe { [_mm256_loadu_si256(place), _mm256_loadu_si256(place.add(1))] }
}
