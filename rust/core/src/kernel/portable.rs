//! The loops in plain Rust: what the vector code must equal, bit for bit.

use std::ops::Range;

use super::{FAR_ABOVE, RESIDUAL_LOW_BITS, Residuals, Weights, first_pair, truncate};
use crate::panel::layout::{LANES, Layout, Line, feature, target_lane, targets};
use crate::panel::theta::{LOW_BITS, Theta};
use crate::rowmap::quantise::{self, ONE, weight};
use crate::rowmap::{Column, Target};
use crate::source::{Lanes, Strip};

/// Copy these rows one value at a time.
///
/// # Safety
/// The rows can be read.
#[allow(unsafe_code)]
pub(super) unsafe fn transpose(
    first: *const u8,
    stride: isize,
    rows: Range<usize>,
    width: usize,
    strip: &mut [f64],
    height: usize,
) {
    for row in rows {
        let values: *const f64 = first.wrapping_offset(row as isize * stride).cast();
        for (column, out) in strip.chunks_exact_mut(height).enumerate().take(width) {
            // SAFETY: a value of a row that can be read; it need not be aligned.
            out[row] = unsafe { values.wrapping_add(column).read_unaligned() };
        }
    }
}

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
            quantise::target(target.apply(y[lane]) * weight.0[lane], target.inverse_unit);
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

pub(super) fn residuals(group: &[Line], layout: Layout, theta: &Theta, tau: i32, out: &mut Residuals) {
    for (tile, out) in group.chunks_exact(layout.lines()).zip(&mut out.tiles) {
        let mut high = [theta.half(); LANES];
        let mut low = [0i32; LANES];
        let (highs, lows) = (theta.high().as_flattened(), theta.low().as_flattened());
        for (j, (&h, &l)) in highs.iter().zip(lows).enumerate().take(theta.len()) {
            let column = feature(tile, j);
            for lane in 0..LANES {
                high[lane] = high[lane].wrapping_add(i32::from(column[lane]) * i32::from(h));
                low[lane] = low[lane].wrapping_add(i32::from(column[lane]) * i32::from(l));
            }
        }
        let targets = targets(tile, layout);
        for lane in 0..LANES {
            let prediction = (high[lane] + (low[lane] >> LOW_BITS)) >> theta.shift();
            let residual = (targets[target_lane(lane)] - prediction).clamp(-tau, tau);
            out[0][lane] = (residual >> RESIDUAL_LOW_BITS) as i16;
            out[1][lane] = (residual & ((1 << RESIDUAL_LOW_BITS) - 1)) as i16;
        }
    }
}

pub(super) fn products(group: &[Line], layout: Layout, residuals: &Residuals, sums: &mut [[i64; 4]]) {
    for (tile, residual) in group.chunks_exact(layout.lines()).zip(&residuals.tiles) {
        for (j, sums) in sums.iter_mut().enumerate().take(layout.features()) {
            let column = feature(tile, j);
            let (mut high, mut low) = (0i32, 0i32);
            for lane in 0..LANES {
                high += i32::from(column[lane]) * i32::from(residual[0][lane]);
                low += i32::from(column[lane]) * i32::from(residual[1][lane]);
            }
            sums[0] += (i64::from(high) << RESIDUAL_LOW_BITS) + i64::from(low);
        }
    }
}

pub(super) fn gram(group: &[Line], layout: Layout, sums: &mut [[i64; 4]]) {
    let features = layout.features();
    for tile in group.chunks_exact(layout.lines()) {
        for i in 0..features {
            let a = feature(tile, i);
            let row = &mut sums[first_pair(layout, i / 2)..];
            for j in i..features {
                let b = feature(tile, j);
                let products = (0..LANES).map(|lane| i64::from(i32::from(a[lane]) * i32::from(b[lane])));
                row[j / 2 - i / 2][2 * (i % 2) + j % 2] += products.sum::<i64>();
            }
        }
    }
}
