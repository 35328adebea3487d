//! Residuals of tiles as integers: portable code and AVX2.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;

use wide::{i16x8, i32x8};

use super::clip::Clip;
use super::theta::{LOW_BITS, Theta};
use crate::execution::{Kind, Path};
use crate::layout::portable::load;
use crate::layout::{LANES, Layout, Line, feature, target_lane, targets};

/// The most tiles whose products with a residual can be added in 32 bits: 32 · 2 · 32767 · 1024 < 2^31.
pub(crate) const MOST_TILES: usize = 32;
/// The number of low bits of a residual, which the second multiplication handles.
pub(crate) const RESIDUAL_LOW_BITS: u32 = 10;
/// The largest residual threshold, in steps of the target.
pub const MOST_TAU: i32 = 1 << (2 * RESIDUAL_LOW_BITS);

/// The residuals of a group of at most [`MOST_TILES`] tiles, in two parts: `g = high · 2^10 + low`.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct Residuals {
    tiles: [[[i16; LANES]; 2]; MOST_TILES],
}

impl Residuals {
    pub(super) fn new() -> Self {
        Self { tiles: [[[0; LANES]; 2]; MOST_TILES] }
    }

    /// The parts `[high, low]` of every tile.
    #[inline(always)]
    pub(crate) fn tiles(&self) -> &[[[i16; LANES]; 2]; MOST_TILES] {
        &self.tiles
    }

    /// Compute the residuals of every tile of the group, clipped.
    pub(super) fn compute(&mut self, path: Path, group: &[Line], layout: Layout, theta: &Theta, clip: Clip) {
        match path.kind() {
            Kind::Portable => portable(group, layout, theta, clip, self),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => avx2::residuals(group, layout, theta, clip, self),
        }
    }
}

fn portable(group: &[Line], layout: Layout, theta: &Theta, clip: Clip, out: &mut Residuals) {
    for (tile, out) in group.chunks_exact(layout.lines()).zip(&mut out.tiles) {
        let mut highs = [i32x8::splat(theta.half()); 2];
        let mut lows = [i32x8::ZERO; 2];
        let parts = theta.high().as_flattened().iter().zip(theta.low().as_flattened());
        for (index, (&high, &low)) in parts.enumerate().take(theta.len()) {
            let (high, low) = (i16x8::splat(high), i16x8::splat(low));
            for (half, values) in load(feature(tile, index)).into_iter().enumerate() {
                highs[half] += values.widening_mul(high);
                lows[half] += values.widening_mul(low);
            }
        }
        let [high, low] = [highs, lows].map(|sums| sums.map(i32x8::to_array));
        let (high, low) = (high.as_flattened(), low.as_flattened());
        let limits = match clip.reach() {
            None => [clip.tau(); LANES],
            Some(_) => clip.limits(&squares(tile, layout)),
        };
        let targets = targets(tile, layout);
        for lane in 0..LANES {
            let prediction = (high[lane] + (low[lane] >> LOW_BITS)) >> theta.shift();
            let residual = (targets[target_lane(lane)] - prediction).clamp(-limits[lane], limits[lane]);
            out[0][lane] = (residual >> RESIDUAL_LOW_BITS) as i16;
            out[1][lane] = (residual & ((1 << RESIDUAL_LOW_BITS) - 1)) as i16;
        }
    }
}

/// Σq² of every row of a tile.
#[inline(always)]
pub(crate) fn squares(tile: &[Line], layout: Layout) -> [u32; LANES] {
    let mut squares = [0; LANES];
    for index in 0..layout.features() {
        for (square, &value) in squares.iter_mut().zip(feature(tile, index)) {
            *square += i32::from(value).pow(2) as u32;
        }
    }
    squares
}
