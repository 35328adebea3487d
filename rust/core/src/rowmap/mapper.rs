//! The map applied to a tile of rows: features, norms, integers.

use super::quantise::{ONE, SQUARES};
use super::{Missing, Norm, RowMap};
use crate::error::{Error, Result};
use crate::kernel::{Path, Weights, truncate};
use crate::panel::layout::{LANES, Layout, Line, feature_mut, targets_mut};
use crate::source::{Lanes, Strip};

/// The room that mapping a tile needs, kept from tile to tile.
#[derive(Debug, Clone)]
pub(crate) struct Mapper<'a> {
    map: &'a RowMap,
    layout: Layout,
    /// The constant feature of a row that counts, if x is not scaled together with it.
    apart: Option<i16>,
    /// What is in the squared norm of every row, and the bound on the norm.
    norm: (f64, f64),
    features: Vec<Lanes>,
    weights: Weights,
}

impl<'a> Mapper<'a> {
    pub(crate) fn new(map: &'a RowMap) -> Self {
        let (constant, bound) = map.parts();
        let together = map.norm() == Norm::Weight;
        // A constant that x is not scaled together with has no part in the norm of x.
        let norm = (if together { constant * constant } else { 0.0 }, bound);
        let apart = (constant > 0.0 && !together).then(|| truncate(constant * ONE) as i16);
        // The constant is last; the other features are written for every tile.
        let features = vec![Lanes([constant; LANES]); map.features()];
        let weights = Weights { weight: Lanes([0.0; LANES]), keep: Lanes([0.0; LANES]) };
        Self { map, layout: Layout::new(map.features()), apart, norm, features, weights }
    }

    /// Map the rows of the strip from `first` into a tile; only the first `rows` of the strip count. Rows that do not
    /// count become zero.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a row with NaN or an infinity, if it is not to be left out.
    pub(crate) fn apply(
        &mut self,
        path: Path,
        strip: &Strip,
        first: usize,
        rows: usize,
        missing: Missing,
        tile: &mut [Line],
    ) -> Result<()> {
        let columns = self.map.columns();
        let finite = path.weigh(columns, strip, first, self.norm, &mut self.features, &mut self.weights);
        if !finite && missing == Missing::Error {
            return Err(Error::NotFinite);
        }
        for lane in LANES.min(rows - first)..LANES {
            self.leave_out(lane);
        }
        let squares = self.quantise(path, tile);
        // The sign bit of a difference is set if a row is above the bound.
        let room = squares.iter().fold(0, |all, &squares| all | SQUARES.wrapping_sub(squares));
        if room.leading_zeros() == 0 {
            self.check(&squares, tile);
        }
        if let Some(y) = strip.tile(first).nth(columns.len()) {
            let together = self.map.norm() == Norm::Weight;
            let weight = if together { &self.weights.weight } else { &self.weights.keep };
            path.target(self.map.target(), y, weight, targets_mut(tile, self.layout));
        }
        Ok(())
    }

    fn leave_out(&mut self, lane: usize) {
        (self.weights.weight.0[lane], self.weights.keep.0[lane]) = (0.0, 0.0);
    }

    /// Write the integers of every row; their sums of squares are exact.
    fn quantise(&self, path: Path, tile: &mut [Line]) -> [u32; LANES] {
        let weight = &self.weights.weight;
        let (Some(constant), [features @ .., _]) = (self.apart, &self.features[..]) else {
            return path.quantise(&self.features, weight, tile);
        };
        // The same in every row that counts.
        let mut squares = path.quantise(features, weight, tile);
        for (lane, place) in feature_mut(tile, features.len()).iter_mut().enumerate() {
            *place = constant * self.weights.keep.0[lane] as i16;
            squares[lane] += i32::from(*place).pow(2) as u32;
        }
        squares
    }

    /// Replace rows of a tile that are above the bound by zeros.
    ///
    /// # Privacy
    /// The argument in [`super::quantise`] says that there are none; the sensitivities rest on the check, not on the
    /// argument.
    #[cold]
    fn check(&mut self, squares: &[u32; LANES], tile: &mut [Line]) {
        for (lane, &squares) in squares.iter().enumerate() {
            if squares > SQUARES {
                self.leave_out(lane);
                erase(self.layout, lane, tile);
            }
        }
    }
}

/// Replace a row of a tile by zeros.
fn erase(layout: Layout, lane: usize, tile: &mut [Line]) {
    for index in 0..layout.features() {
        feature_mut(tile, index)[lane] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_above_the_bound_would_be_erased() {
        let layout = Layout::new(2);
        let mut tile = vec![Line([7; 32]); layout.lines()];
        erase(layout, 3, &mut tile);
        for lane in 0..LANES {
            let expected = if lane == 3 { [0, 0] } else { [7, 7] };
            assert_eq!([tile[0].0[lane], tile[0].0[LANES + lane]], expected);
        }
    }
}
