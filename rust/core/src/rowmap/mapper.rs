//! The map applied to a strip of rows: features, norms, integers.

use super::quantise::{ONE, SQUARES, target};
use super::{Input, Missing, Norm, RowMap};
use crate::error::{Error, Result};
use crate::kernel::{Lanes, Path, Weights, tile, truncate};
use crate::panel::layout::{LANES, Layout, Line, feature_mut, target_lane, targets_mut};
use crate::source::{Rows, STRIP};

/// The room that mapping a strip needs, kept from strip to strip.
#[derive(Debug, Clone)]
pub(crate) struct Mapper<'a> {
    map: &'a RowMap,
    layout: Layout,
    features: Vec<Lanes>,
    weights: Weights,
}

impl<'a> Mapper<'a> {
    pub(crate) fn new(map: &'a RowMap) -> Self {
        let (constant, _) = map.parts();
        // The constant is last; the other features are written for every tile.
        let features = vec![Lanes([constant; LANES]); map.features()];
        let weights = Weights { weight: Rows::ZERO, keep: Rows::ZERO };
        Self { map, layout: Layout::new(map.features()), features, weights }
    }

    /// Map every row of the strip into `tiles`; only the first `rows` count. Rows that do not count become zero. `before`
    /// is called with the first row of every tile.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a row with NaN or an infinity, if it is not to be left out.
    pub(crate) fn apply(
        &mut self,
        path: Path,
        input: &Input,
        rows: usize,
        missing: Missing,
        tiles: &mut [Line],
        mut before: impl FnMut(usize),
    ) -> Result<()> {
        let (constant, bound) = self.map.parts();
        // A constant that x is not scaled together with has no part in the norm of x.
        let inside = if self.map.norm() == Norm::Weight { constant } else { 0.0 };
        let norm = (inside * inside, bound);
        for (lines, first) in tiles.chunks_exact_mut(self.layout.lines()).zip((0..rows).step_by(LANES)) {
            before(first);
            let (columns, weights) = (self.map.columns(), &mut self.weights);
            let finite = path.weigh(columns, input.columns(), first, norm, &mut self.features, weights);
            if !finite && missing == Missing::Error {
                return Err(Error::NotFinite);
            }
            for row in rows..first + LANES {
                (weights.weight[row], weights.keep[row]) = (0.0, 0.0);
            }
            let Lanes(squares) = self.quantise(path, first, lines);
            if squares.iter().fold(false, |any, &squares| any | (squares > SQUARES)) {
                self.check(&squares, first, lines);
            }
        }
        let together = self.map.norm() == Norm::Weight;
        let targets = &input.columns()[self.map.columns().len()];
        path.run(
            #[inline(always)]
            || self.target(targets, if together { &self.weights.weight } else { &self.weights.keep }, tiles),
        );
        Ok(())
    }

    /// Write the integers of every row; their sums of squares are exact.
    fn quantise(&self, path: Path, first: usize, lines: &mut [Line]) -> Lanes {
        let (constant, _) = self.map.parts();
        let weight = tile(&self.weights.weight, first);
        if constant == 0.0 || self.map.norm() == Norm::Weight {
            return path.quantise(&self.features, weight, lines);
        }
        // A constant that x is not scaled together with is the same in every row that counts.
        let last = self.features.len() - 1;
        let mut squares = path.quantise(&self.features[..last], weight, lines);
        let constant = truncate(constant * ONE);
        let keep = tile(&self.weights.keep, first);
        for (lane, place) in feature_mut(lines, last).iter_mut().enumerate() {
            let integer = constant * keep[lane] as i32;
            squares.0[lane] += f64::from(integer) * f64::from(integer);
            *place = integer as i16;
        }
        squares
    }

    /// Replace rows of a tile that are above the bound by zeros.
    ///
    /// # Privacy
    /// The argument in [`super::quantise`] says that there are none; the sensitivities rest on the check, not on the
    /// argument.
    #[cold]
    fn check(&mut self, squares: &[f64; LANES], first: usize, lines: &mut [Line]) {
        for (lane, &squares) in squares.iter().enumerate() {
            if squares > SQUARES {
                (self.weights.weight[first + lane], self.weights.keep[first + lane]) = (0.0, 0.0);
                erase(self.layout, lane, lines);
            }
        }
    }

    #[inline(always)]
    fn target(&self, values: &Rows, weight: &Rows, tiles: &mut [Line]) {
        let description = self.map.target();
        let inverse_unit = 1.0 / description.unit();
        let mut integers = [0; STRIP];
        for ((integer, &value), weight) in integers.iter_mut().zip(values.iter()).zip(weight.iter()) {
            *integer = target(description.apply(value) * weight, inverse_unit);
        }
        let (lanes, _) = integers.as_chunks::<LANES>();
        for (lanes, tile) in lanes.iter().zip(tiles.chunks_exact_mut(self.layout.lines())) {
            let places = targets_mut(tile, self.layout);
            for (lane, &integer) in lanes.iter().enumerate() {
                places[target_lane(lane)] = integer;
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
