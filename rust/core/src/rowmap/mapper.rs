//! The row map applied to tiles of rows.

use super::kernel::{self, Weights};
use super::quantise::{ONE, SQUARES, row_weight};
use super::{Norm, RowMap};
use crate::error::{Error, Result};
use crate::execution::Path;
use crate::layout::{LANES, Layout, Line, feature_mut, targets_mut};
use crate::number::truncate;
use crate::source::{Lanes, Missing, Strip};

/// The map of a tile, with buffers that are reused for the next tile.
#[derive(Debug, Clone)]
pub(crate) struct Mapper<'a> {
    map: &'a RowMap,
    layout: Layout,
    /// The constant feature, if it is not scaled together with x.
    fixed_constant: Option<i16>,
    /// The part of the squared norm that every row has, and the bound on the norm.
    norm: (f64, f64),
    features: Vec<Lanes>,
    weights: Weights,
}

impl<'a> Mapper<'a> {
    pub(crate) fn new(map: &'a RowMap) -> Self {
        let (constant, bound) = map.parts();
        let together = map.norm() == Norm::Weight;
        // A constant that is not scaled together with x is not part of the norm of x.
        let norm = (if together { constant * constant } else { 0.0 }, bound);
        let fixed_constant = (constant > 0.0 && !together).then(|| truncate(constant * ONE) as i16);
        // The constant comes last; all other features are overwritten for every tile.
        let features = vec![Lanes([constant; LANES]); map.features()];
        let weights = Weights { weight: Lanes([0.0; LANES]), keep: Lanes([0.0; LANES]) };
        Self { map, layout: Layout::new(map.features()), fixed_constant, norm, features, weights }
    }

    /// Map the rows of a strip from row `first` into a tile. Rows from row `rows` on are padding and become zero, like
    /// dropped rows.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a row with NaN or an infinity, unless such rows are dropped.
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
        let finite =
            kernel::weigh(path, columns, strip, first, self.norm, &mut self.features, &mut self.weights);
        if !finite && missing == Missing::Error {
            return Err(Error::NotFinite);
        }
        if let Some(most) = self.map.most_weight() {
            let values = strip.tile(first).nth(columns.len() - 1).into_iter().flatten();
            for (weight, &value) in self.weights.weight.0.iter_mut().zip(values) {
                *weight *= row_weight(value, most);
            }
        }
        for lane in LANES.min(rows - first)..LANES {
            self.leave_out(lane);
        }
        let squares = self.quantise(path, tile);
        // The sign bit of the difference is set if a row is above the bound.
        let room = squares.iter().fold(0, |all, &squares| all | SQUARES.wrapping_sub(squares));
        if room.leading_zeros() == 0 {
            self.check(&squares, tile);
        }
        if let Some(y) = strip.tile(first).nth(columns.len()) {
            let together = self.map.norm() == Norm::Weight;
            let weight = if together { &self.weights.weight } else { &self.weights.keep };
            kernel::target(path, self.map.target(), y, weight, targets_mut(tile, self.layout));
        }
        Ok(())
    }

    fn leave_out(&mut self, lane: usize) {
        (self.weights.weight.0[lane], self.weights.keep.0[lane]) = (0.0, 0.0);
    }

    /// Write the integers of every row; return their exact sums of squares.
    fn quantise(&self, path: Path, tile: &mut [Line]) -> [u32; LANES] {
        let weight = &self.weights.weight;
        let (Some(constant), [features @ .., _]) = (self.fixed_constant, &self.features[..]) else {
            return kernel::quantise(path, &self.features, weight, tile);
        };
        // The constant is the same for every row that is kept.
        let mut squares = kernel::quantise(path, features, weight, tile);
        for (lane, place) in feature_mut(tile, features.len()).iter_mut().enumerate() {
            *place = constant * self.weights.keep.0[lane] as i16;
            squares[lane] += i32::from(*place).pow(2) as u32;
        }
        squares
    }

    /// Replace rows above the bound by zeros.
    ///
    /// # Privacy
    /// By the argument in [`super::quantise`] there are none. The sensitivities rely on this check, not on the argument.
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
pub(super) fn erase(layout: Layout, lane: usize, tile: &mut [Line]) {
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
