//! Σ uu' for the scores u of rows, what they add to X'g.

use xxhash_rust::xxh3::Xxh3;

use super::kernel::{GRAM_TILES, Packed, gram, gram_pairs};
use super::{Gram, Sums, triangle};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::error::Result;
use crate::execution::{Execution, Kind, Path, Stop};
use crate::layout::{LANES, Layout, Line};
use crate::number::truncate;
use crate::source::Lanes;
use crate::store::{Clip, PassSums, RESIDUAL_LOW_BITS, Residuals, Store, Theta};

/// The largest value that is stored.
const MOST: u64 = 32767;

impl Gram {
    /// Return Σ uu' of stored rows q with u = q·g·2^−k, rounded toward zero, where g is the residual of
    /// [`super::super::Gradient::within`] and k = [`Gram::score_shift`] of the reach.
    ///
    /// # Privacy
    /// ‖q‖·|g| ≤ `reach` holds in integers, and rounding toward zero makes no entry larger, so that ‖u‖ ≤ `reach`·2^−k ≤
    /// 32767. Sensitivities are those of [`Gram`].
    ///
    /// # Errors
    /// Those of [`super::super::Gradient::within`].
    pub fn of_scores(
        store: &Store,
        theta: &Theta,
        tau: i32,
        reach: u64,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let clip = Clip::new(tau, Some(reach))?;
        let features = store.features();
        let mut hash = Xxh3::new();
        hash.update(b"scores");
        hash.update(&store.residual_key(theta, clip).to_le_bytes());
        let mut found = Self { features, sums: Sums::zero(hash.digest(), triangle(features)) };
        let (layout, shift) = (Layout::new(features), Self::score_shift(reach));
        let zero = || Part {
            shift,
            sums: vec![[0; 4]; gram_pairs(layout)],
            lines: bytemuck::zeroed_vec(GRAM_TILES * layout.lines()),
            filled: 0,
            packed: Packed::default(),
        };
        store.pass(theta, clip, zero, execution, stop, |part: &Part| found.add(&part.sums))?;
        Ok(found)
    }

    /// Return the smallest k with `reach`·2^−k ≤ 32767.
    pub fn score_shift(reach: u64) -> u32 {
        (0..48).find(|&shift| reach <= MOST << shift).unwrap_or(48)
    }
}

/// The sums of a thread, and scores that are not part of them yet. A wave has fewer than 2^32 rows, so that 64 bits are enough.
struct Part {
    shift: u32,
    sums: Vec<[i64; 4]>,
    lines: Vec<Line>,
    /// The number of lines that are in use.
    filled: usize,
    packed: Packed,
}

impl PassSums for Part {
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        for (tile, residuals) in group.chunks_exact(layout.lines()).zip(residuals.tiles()) {
            if self.filled == self.lines.len() {
                self.finish(path, layout);
            }
            let out = &mut self.lines[self.filled..][..layout.lines()];
            self.filled += layout.lines();
            scores(path, tile, layout, residuals, self.shift, out);
        }
    }

    /// Add the remaining scores. More of them at a time take less time.
    fn finish(&mut self, path: Path, layout: Layout) {
        gram(path, &self.lines[..self.filled], layout, &mut self.packed, &mut self.sums);
        self.filled = 0;
    }

    fn merge(&mut self, other: Self) {
        let (sums, others) = (self.sums.as_flattened_mut(), other.sums.as_flattened());
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
    }
}

/// Write q·g·2^−k of a tile, rounded toward zero.
fn scores(
    path: Path,
    tile: &[Line],
    layout: Layout,
    [high, low]: &[[i16; LANES]; 2],
    shift: u32,
    out: &mut [Line],
) {
    // A product of 16 and 21 bits, times a power of two, is exact in a double.
    let scale = 2f64.powi(-(shift as i32));
    let mut residuals = Lanes([0.0; LANES]);
    for lane in 0..LANES {
        let residual = (i32::from(high[lane]) << RESIDUAL_LOW_BITS) + i32::from(low[lane]);
        residuals.0[lane] = f64::from(residual) * scale;
    }
    let (tile, out) = (&tile[..layout.feature_lines()], &mut out[..layout.feature_lines()]);
    match path.kind() {
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => avx512::times(tile, &residuals, out),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => avx2::times(tile, &residuals, out),
        Kind::Portable => times(tile, &residuals, out),
    }
}

/// Write the values of a tile's rows times a factor for each, rounded toward zero. Products are at most 32767 in size.
fn times(tile: &[Line], factors: &Lanes, out: &mut [Line]) {
    for (from, to) in tile.iter().zip(out) {
        let (from, _) = from.0.as_chunks::<LANES>();
        let (to, _) = to.0.as_chunks_mut::<LANES>();
        for (values, to) in from.iter().zip(to) {
            for lane in 0..LANES {
                to[lane] = truncate(f64::from(values[lane]) * factors.0[lane]) as i16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use proptest::prelude::*;

    use super::*;
    use crate::layout::{feature, feature_mut};

    proptest! {
        #[test]
        fn scores_are_rounded_toward_zero(value in -32767..=32767i16, residual in -(1 << 20)..=(1i32 << 20), shift in 6..30u32) {
            let layout = Layout::new(3);
            let (mut tile, mut out) = (vec![Line::zeroed(); layout.lines()], vec![Line::zeroed(); layout.lines()]);
            *feature_mut(&mut tile, 1) = [value; LANES];
            let product = i64::from(value) * i64::from(residual);
            prop_assume!(product.unsigned_abs() <= MOST << shift);
            let high = [(residual >> RESIDUAL_LOW_BITS) as i16; LANES];
            let low = [(residual & ((1 << RESIDUAL_LOW_BITS) - 1)) as i16; LANES];
            for path in Path::available() {
                scores(path, &tile, layout, &[high, low], shift, &mut out);
                prop_assert_eq!(feature(&out, 1).map(i64::from), [product / (1 << shift); LANES]);
                prop_assert_eq!(*feature(&out, 0), [0; LANES]);
            }
        }
    }

    #[test]
    fn the_shift_makes_room_for_the_reach() {
        for (reach, shift) in [(1, 0), (32767, 0), (32768, 1), (65534, 1), (65535, 2), (1 << 35, 21)] {
            assert_eq!(Gram::score_shift(reach), shift, "{reach}");
        }
    }
}
