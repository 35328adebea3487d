//! The map applied to a block: features, norms, integers.

use super::quantise::{SQUARES, factor, low_bits, prescale, target, truncate};
use super::{Input, Norm, RowMap};
use crate::kernel::Path;
use crate::panel::layout::{LANES, Layout, Line, feature_mut, target_lane, targets_mut};

/// The room that mapping a block needs, kept from block to block.
#[derive(Debug, Clone)]
pub(crate) struct Mapper<'a> {
    map: &'a RowMap,
    layout: Layout,
    features: Vec<f64>,
    rows: Vec<Row>,
}

/// What is known of the rows of a tile while they are mapped.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Row {
    largest: [f64; LANES],
    prescale: [f64; LANES],
    squares: [f64; LANES],
    weight: [f64; LANES],
    keep: [f64; LANES],
}

impl<'a> Mapper<'a> {
    pub(crate) fn new(map: &'a RowMap) -> Self {
        Self { map, layout: Layout::new(map.features()), features: Vec::new(), rows: Vec::new() }
    }

    /// Rows to map at a time: as many as leave the block's features in the second-level cache.
    pub(crate) fn block_rows(features: usize) -> usize {
        match features {
            ..=64 => 512,
            65..=192 => 256,
            _ => 128,
        }
    }

    /// Map every row of the block into `tiles`, one tile per [`LANES`] rows. Lanes of rows that do not count
    /// become zero.
    pub(crate) fn apply(&mut self, path: Path, input: &Input, tiles: &mut [Line]) {
        self.features.resize(self.map.features() * input.rows(), 0.0);
        self.rows.resize(input.rows() / LANES, Row::default());
        path.run(
            #[inline(always)]
            || {
                self.scale(input);
                self.weigh(input);
                self.quantise(tiles);
                self.enforce(tiles);
                self.target(input, tiles);
            },
        );
    }

    #[inline(always)]
    fn scale(&mut self, input: &Input) {
        let mut rest = &mut self.features[..];
        for (column, index) in self.map.columns().iter().zip(0..) {
            let (features, tail) = rest.split_at_mut(column.features() * input.rows());
            column.apply(input.column(index), features);
            rest = tail;
        }
    }

    /// The features without the intercept, each with its tiles.
    #[inline(always)]
    fn columns(features: &[f64], tiles: usize) -> impl Iterator<Item = &[[f64; LANES]]> {
        features.chunks_exact(tiles * LANES).map(|column| column.as_chunks::<LANES>().0)
    }

    #[inline(always)]
    fn weigh(&mut self, input: &Input) {
        let (constant, bound) = self.map.parts();
        // A constant that x is not scaled together with has no part in the norm.
        let inside = if self.map.norm() == Norm::Weight { constant } else { 0.0 };
        let count = self.rows.len();
        let varying = (self.map.features() - usize::from(constant > 0.0)) * count * LANES;
        let features = &self.features[..varying];
        for row in &mut self.rows {
            row.largest = [inside; LANES];
        }
        for column in Self::columns(features, count) {
            for (row, values) in self.rows.iter_mut().zip(column) {
                for lane in 0..LANES {
                    row.largest[lane] = row.largest[lane].max(values[lane].abs());
                }
            }
        }
        for row in &mut self.rows {
            for lane in 0..LANES {
                row.prescale[lane] = prescale(row.largest[lane]);
                row.squares[lane] = (inside * row.prescale[lane]) * (inside * row.prescale[lane]);
            }
        }
        for column in Self::columns(features, count) {
            for (row, values) in self.rows.iter_mut().zip(column) {
                for lane in 0..LANES {
                    let scaled = values[lane] * row.prescale[lane];
                    row.squares[lane] += scaled * scaled;
                }
            }
        }
        for (row, keep) in self.rows.iter_mut().zip(input.keep().as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                row.weight[lane] = factor(row.squares[lane], row.prescale[lane], bound) * keep[lane];
            }
            row.keep = *keep;
            // From here on: the sum of squares on the grid.
            row.squares = [0.0; LANES];
        }
        if constant > 0.0 {
            self.features[varying..].fill(constant);
        }
    }

    #[inline(always)]
    fn quantise(&mut self, tiles: &mut [Line]) {
        let (lines, count) = (self.layout.lines(), self.rows.len());
        let clipped_apart = self.map.norm() == Norm::Clip && self.map.parts().0 > 0.0;
        for (index, column) in Self::columns(&self.features, count).enumerate() {
            let whole = clipped_apart && index + 1 == self.map.features();
            for ((row, values), tile) in self.rows.iter_mut().zip(column).zip(tiles.chunks_exact_mut(lines)) {
                let weight = if whole { &row.keep } else { &row.weight };
                let out = feature_mut(tile, index);
                for lane in 0..LANES {
                    let value = truncate(values[lane] * weight[lane]);
                    row.squares[lane] += value * value;
                    out[lane] = low_bits(value) as i16;
                }
            }
        }
    }

    /// # Privacy
    /// Replaces by zeros any row whose integers exceed the bound. The argument in [`super::quantise`] says that
    /// there is none; the sensitivities rest on this check, not on the argument.
    #[inline(always)]
    fn enforce(&mut self, tiles: &mut [Line]) {
        for (row, tile) in self.rows.iter_mut().zip(tiles.chunks_exact_mut(self.layout.lines())) {
            let exceeds = row.squares.iter().fold(0.0, |most: f64, &squares| most.max(squares)) > SQUARES;
            if !exceeds {
                continue;
            }
            for lane in (0..LANES).filter(|&lane| row.squares[lane] > SQUARES) {
                (row.weight[lane], row.keep[lane]) = (0.0, 0.0);
                for index in 0..self.map.features() {
                    feature_mut(tile, index)[lane] = 0;
                }
            }
        }
    }

    #[inline(always)]
    fn target(&mut self, input: &Input, tiles: &mut [Line]) {
        let description = self.map.target();
        let inverse_unit = 1.0 / description.unit();
        let values = input.column(self.map.columns().len()).as_chunks::<LANES>().0;
        for ((row, values), tile) in
            self.rows.iter().zip(values).zip(tiles.chunks_exact_mut(self.layout.lines()))
        {
            let weight = if self.map.norm() == Norm::Weight { &row.weight } else { &row.keep };
            let mut out = [0; LANES];
            for lane in 0..LANES {
                out[lane] = target(description.apply(values[lane]) * weight[lane], inverse_unit);
            }
            let places = targets_mut(tile, self.layout);
            for lane in 0..LANES {
                places[target_lane(lane)] = out[lane];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Missing, Target};
    use super::*;
    use crate::source::Dense;
    use bytemuck::Zeroable;

    #[test]
    fn a_row_above_the_bound_would_be_zeroed() {
        let map =
            RowMap::new(vec![Column::plain(); 2], Target::new(0.0, 1.0, 1.0).unwrap(), Norm::Clip, None)
                .unwrap();
        let mut input = Input::default();
        let source = Dense::new(&[0.1, 0.2, 0.3, 0.4], &[5.0, 7.0]).unwrap();
        input.read(Path::detect(), &source, 0, 2, Missing::Error).unwrap();
        let mut mapper = Mapper::new(&map);
        let mut tiles = vec![Line::zeroed(); mapper.layout.lines()];
        mapper.apply(Path::detect(), &input, &mut tiles);
        let before = tiles.clone();
        mapper.enforce(&mut tiles);
        assert_eq!(tiles, before);
        mapper.rows[0].squares[1] = SQUARES + 1.0;
        mapper.enforce(&mut tiles);
        mapper.target(&input, &mut tiles);
        assert_eq!(&tiles[0].0[..3], &[3276, 0, 0]);
        assert_eq!(&targets_mut(&mut tiles, mapper.layout)[..3], &[5, 0, 0]);
    }
}
