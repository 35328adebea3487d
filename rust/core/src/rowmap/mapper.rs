//! The map applied to a strip of rows: features, norms, integers.

use super::quantise::{self, ONE, SQUARES, target};
use super::{Input, Norm, RowMap};
use crate::kernel::{Path, truncate};
use crate::panel::layout::{LANES, Layout, Line, feature_mut, target_lane, targets_mut};
use crate::source::{Rows, STRIP};

/// The room that mapping a strip needs, kept from strip to strip.
#[derive(Debug, Clone)]
pub(crate) struct Mapper<'a> {
    map: &'a RowMap,
    layout: Layout,
    features: Vec<Rows>,
}

impl<'a> Mapper<'a> {
    pub(crate) fn new(map: &'a RowMap) -> Self {
        let features = vec![[0.0; STRIP]; map.features()];
        Self { map, layout: Layout::new(map.features()), features }
    }

    /// Map every row of the strip into `tiles`. Rows that do not count become zero.
    pub(crate) fn apply(&mut self, path: Path, input: &Input, tiles: &mut [Line]) {
        let mut keep = *input.keep();
        let mut weight = path.run(
            #[inline(always)]
            || self.weigh(input.columns(), &keep),
        );
        let squares = self.quantise(path, &weight, &keep, tiles);
        for (row, &squares) in squares.iter().enumerate() {
            if squares > SQUARES {
                (weight[row], keep[row]) = (0.0, 0.0);
                erase(self.layout, row, tiles);
            }
        }
        let together = self.map.norm() == Norm::Weight;
        let targets = &input.columns()[self.map.columns().len()];
        path.run(
            #[inline(always)]
            || self.target(targets, if together { &weight } else { &keep }, tiles),
        );
    }

    /// The features of every row, the constant last, and what the row is multiplied by.
    #[inline(always)]
    fn weigh(&mut self, values: &[Rows], keep: &Rows) -> Rows {
        let (constant, bound) = self.map.parts();
        // A constant that x is not scaled together with has no part in the norm of x.
        let inside = if self.map.norm() == Norm::Weight { constant } else { 0.0 };
        let mut squares = [inside * inside; STRIP];
        let mut rest = &mut self.features[..];
        for (column, values) in self.map.columns().iter().zip(values) {
            let (features, tail) = rest.split_at_mut(column.features());
            column.apply(values, features, &mut squares);
            rest = tail;
        }
        if let [last] = rest {
            *last = [constant; STRIP];
        }
        let mut weights = *keep;
        for (weight, &squares) in weights.iter_mut().zip(&squares) {
            *weight *= quantise::weight(squares, bound);
        }
        weights
    }

    /// Write the integers of every row; their sums of squares are exact.
    fn quantise(&self, path: Path, weight: &Rows, keep: &Rows, tiles: &mut [Line]) -> Rows {
        let (constant, _) = self.map.parts();
        let weight = weight.map(|weight| weight * ONE);
        if constant == 0.0 || self.map.norm() == Norm::Weight {
            return path.quantise(&self.features, &weight, self.layout, tiles);
        }
        // A constant that x is not scaled together with is the same in every row that counts.
        let last = self.features.len() - 1;
        let mut squares = path.quantise(&self.features[..last], &weight, self.layout, tiles);
        let constant = truncate(constant * ONE);
        for (tile, first) in tiles.chunks_exact_mut(self.layout.lines()).zip((0..STRIP).step_by(LANES)) {
            for (lane, place) in feature_mut(tile, last).iter_mut().enumerate() {
                let integer = constant * keep[first + lane] as i32;
                squares[first + lane] += f64::from(integer) * f64::from(integer);
                *place = integer as i16;
            }
        }
        squares
    }

    #[inline(always)]
    fn target(&self, values: &Rows, weight: &Rows, tiles: &mut [Line]) {
        let description = self.map.target();
        let inverse_unit = 1.0 / description.unit();
        let mut integers = [0; STRIP];
        for ((integer, &value), weight) in integers.iter_mut().zip(values).zip(weight) {
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

/// Replace a row of a strip by zeros.
///
/// # Privacy
/// Done to any row whose integers exceed the bound. The argument in [`super::quantise`] says that there is none; the
/// sensitivities rest on the check, not on the argument.
fn erase(layout: Layout, row: usize, tiles: &mut [Line]) {
    if let Some(tile) = tiles.chunks_exact_mut(layout.lines()).nth(row / LANES) {
        for index in 0..layout.features() {
            feature_mut(tile, index)[row % LANES] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_above_the_bound_would_be_erased() {
        let layout = Layout::new(2);
        let mut tiles = vec![Line([7; 32]); 2 * layout.lines()];
        erase(layout, 19, &mut tiles);
        for lane in 0..LANES {
            assert_eq!([tiles[0].0[lane], tiles[0].0[LANES + lane]], [7, 7]);
            let expected = if lane == 3 { [0, 0] } else { [7, 7] };
            assert_eq!([tiles[2].0[lane], tiles[2].0[LANES + lane]], expected);
        }
    }
}
