//! The loops in plain Rust: what the vector code must equal, bit for bit.

use super::{RESIDUAL_LOW_BITS, Residuals, first_pair, truncate};
use crate::panel::layout::{LANES, Layout, Line, feature, target_lane, targets};
use crate::panel::theta::{LOW_BITS, Theta};
use crate::source::{Rows, STRIP};

pub(crate) fn transpose(rows: &[f64], width: usize, strip: &mut [Rows]) {
    for (column, out) in strip[..width].iter_mut().enumerate() {
        for (out, row) in out.iter_mut().zip(rows.chunks_exact(width)) {
            *out = row[column];
        }
    }
}

pub(super) fn quantise(features: &[Rows], weight: &Rows, layout: Layout, tiles: &mut [Line]) -> Rows {
    let mut squares = [0.0; STRIP];
    for (line, pair) in features.chunks(2).enumerate() {
        for (tile, first) in tiles.chunks_exact_mut(layout.lines()).zip((0..STRIP).step_by(LANES)) {
            let mut integers = [0; 2 * LANES];
            for (integers, values) in integers.chunks_exact_mut(LANES).zip(pair) {
                for (lane, integer) in integers.iter_mut().enumerate() {
                    let value = truncate(values[first + lane] * weight[first + lane]);
                    squares[first + lane] += f64::from(value) * f64::from(value);
                    *integer = value as i16;
                }
            }
            tile[line].0 = integers;
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
