//! The same in plain Rust. The vector code must give the same bits.

use super::{FAR_ABOVE, Weights};
use crate::layout::{LANES, Line, target_lane};
use crate::number::truncate;
use crate::rowmap::quantise::{self, ONE, weight};
use crate::rowmap::{Column, Target};
use crate::source::{Lanes, Strip};

pub(super) fn weigh(
    columns: &[Column],
    strip: &Strip,
    first: usize,
    (inside, bound): (f64, f64),
    features: &mut [Lanes],
    weights: &mut Weights,
) -> bool {
    let mut squares = [inside; LANES];
    let mut finite = [true; LANES];
    for values in strip.tile(first) {
        for lane in 0..LANES {
            finite[lane] &= values[lane].is_finite();
        }
    }
    let mut rest = features;
    for (column, values) in columns.iter().zip(strip.tile(first)) {
        let (features, tail) = rest.split_at_mut(column.features());
        column.apply(values, features, &mut squares);
        rest = tail;
    }
    for lane in 0..LANES {
        let keep = if finite[lane] { 1.0 } else { 0.0 };
        weights.keep.0[lane] = keep;
        weights.weight.0[lane] = keep * weight(squares[lane], bound);
    }
    finite == [true; LANES]
}

pub(super) fn target(target: &Target, y: &[f64; LANES], weight: &Lanes, out: &mut [i32; LANES]) {
    for lane in 0..LANES {
        out[target_lane(lane)] =
            quantise::target(target.apply(y[lane]) * weight.0[lane], target.inverse_step);
    }
}

pub(super) fn quantise(features: &[Lanes], weight: &Lanes, tile: &mut [Line]) -> [u32; LANES] {
    let weight = weight.0.map(|weight| weight * ONE);
    let mut squares = [0; LANES];
    for (line, pair) in tile.iter_mut().zip(features.chunks(2)) {
        line.0 = [0; 2 * LANES];
        for (integers, values) in line.0.chunks_exact_mut(LANES).zip(pair) {
            for lane in 0..LANES {
                let value = truncate(values.0[lane] * weight[lane]);
                squares[lane] = FAR_ABOVE.min(squares[lane] + (value * value) as u32);
                integers[lane] = value as i16;
            }
        }
    }
    squares
}
