//! Features, weights and integers of a tile: portable code and AVX2.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
mod portable;

use super::{Column, Target};
use crate::execution::{Kind, Path};
use crate::layout::{LANES, Line};
use crate::source::{Lanes, Strip};

/// Sums of squares saturate here, at twice the bound.
const FAR_ABOVE: u32 = 1 << 31;

/// Factors for the rows of a tile, and one for each row to keep, zero for the others.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    pub(super) weight: Lanes,
    pub(super) keep: Lanes,
}

/// Write the features of a tile, which starts at row `first` of the strip, and the weights that bring the norm of each row
/// down to `bound`; `squares` is added to the squared norm of every row. A row with a value that is not finite, in x or in
/// the target, gets the weight zero. Return whether all values are finite.
pub(super) fn weigh(
    path: Path,
    columns: &[Column],
    strip: &Strip,
    first: usize,
    (squares, bound): (f64, f64),
    features: &mut [Lanes],
    weights: &mut Weights,
) -> bool {
    match path.kind() {
        Kind::Portable => portable::weigh(columns, strip, first, (squares, bound), features, weights),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => avx2::weigh(columns, strip, first, (squares, bound), features, weights),
    }
}

/// Write the targets of a tile times `weight`, in the order of [`crate::layout::target_lane`].
pub(super) fn target(path: Path, target: &Target, y: &[f64; LANES], weight: &Lanes, out: &mut [i32; LANES]) {
    match path.kind() {
        Kind::Portable => portable::target(target, y, weight, out),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => avx2::target(target, y, weight, out),
    }
}

/// Write `features · weight · 2^15`, rounded toward zero, into the lines of a tile. Return the sum of squares of every row,
/// at most [`FAR_ABOVE`]. With an odd number of features, the second half of the last line becomes zero.
pub(super) fn quantise(path: Path, features: &[Lanes], weight: &Lanes, tile: &mut [Line]) -> [u32; LANES] {
    match path.kind() {
        Kind::Portable => portable::quantise(features, weight, tile),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => avx2::quantise(features, weight, tile),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => avx2::quantise_wide(features, weight, tile),
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;
    use crate::layout::Layout;

    /// Values of every kind, in columns with ramps, with levels and with neither.
    #[test]
    fn both_paths_weigh_rows_alike() {
        let ramps = [(-2.5, 2.5, 0.6), (0.25, f64::INFINITY, 0.4), (f64::NEG_INFINITY, -0.5, 0.8)];
        let mut columns: Vec<Column> =
            (0..8).map(|j| Column::new(0.1 * j as f64, 1.5, &ramps[..j % 4]).unwrap()).collect();
        columns.push(Column::levels(5, 0.7).unwrap());
        let features = columns.iter().map(Column::features).sum::<usize>() + 1;
        let strange = [f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX, -f64::MAX, 0.0, -0.0, 5e-324];
        for (place, value) in (0..10).flat_map(|place| strange.map(|value| (place, value))) {
            for (lane, norm) in (0..LANES).flat_map(|lane| [(lane, (0.0, 0.9)), (lane, (0.15, 1.0))]) {
                let mut strip = Strip::new(10, 2 * LANES);
                for (i, x) in strip.values_mut().iter_mut().enumerate() {
                    *x = 4.0 * (i as f64).sin();
                }
                strip.column_mut(8).iter_mut().for_each(|x| *x = x.round());
                strip.column_mut(place)[LANES + lane] = value;
                let weighed = |path: Path| {
                    let mut rows = vec![Lanes([0.25; LANES]); features];
                    let mut weights = Weights { weight: rows[0], keep: rows[0] };
                    let finite = weigh(path, &columns, &strip, LANES, norm, &mut rows, &mut weights);
                    assert_eq!(finite, value.is_finite());
                    for other in 0..LANES {
                        let kept = other != lane || value.is_finite();
                        assert_eq!(weights.keep.0[other].to_bits(), f64::from(u8::from(kept)).to_bits());
                        assert_eq!(weights.weight.0[other] > 0.0, kept);
                    }
                    assert_eq!(rows.pop(), Some(Lanes([0.25; LANES])));
                    let rows: Vec<_> = rows.iter().flat_map(|lanes| lanes.0).collect();
                    assert!(rows.iter().all(|value| value.is_finite()));
                    let bits: Vec<_> = rows.iter().chain(&weights.weight.0).map(|x| x.to_bits()).collect();
                    bits
                };
                assert_eq!(weighed(Path::detect()), weighed(Path::portable()));
            }
        }
    }

    #[test]
    fn squares_saturate_far_above_the_bound() {
        for (features, expected) in
            [(1, 32767 * 32767), (2, 2 * 32767 * 32767), (3, FAR_ABOVE), (999, FAR_ABOVE)]
        {
            for path in Path::available() {
                let values = vec![Lanes([-1.0; LANES]); features];
                let mut tile = vec![Line::zeroed(); Layout::new(features).lines()];
                assert_eq!(quantise(path, &values, &Lanes([1.0; LANES]), &mut tile), [expected; LANES]);
            }
        }
    }
}
