//! A public matrix that maps stored rows to rows, rounded to integers so that every product is exact.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
mod sparse;
#[cfg(test)]
mod tests;

use wide::{i16x8, i32x8};
use xxhash_rust::xxh3::Xxh3;

pub(super) use sparse::{Buffers, Sparse, TILES};

use super::theta::{LOW_BITS, split};
use crate::error::{Error, Result, parameter};
use crate::execution::{Kind, Path};
use crate::layout::portable::load;
use crate::layout::{BITS, LANES, Layout, Line, MOST_FEATURES, feature};
use crate::source::Lanes;

/// The norm of a column on its grid is at most 2^24.
const NORM_BITS: i32 = 24;
/// The finest grid is 2^−40. A column that would need a finer one gives values below 2^−16, which are stored as zero.
const LARGEST_EXPONENT: i32 = 40;
/// Larger entries are clamped, so that no sum of squares overflows.
const LARGEST_ENTRY: f64 = 1.0e140;

/// The entries of two rows and two columns: the high parts and the low parts of the first column, then of the second.
type Factors = [[i16; 2]; 4];

/// A public matrix M, rounded to integers column by column: `M[j, k] ≈ m[j, k] · 2^−e[k]`.
///
/// The product of a row q with column k is `z[k] = ⌊Σ q[j]·m[j, k] · 2^−10⌋ · 2^(10 − 15 − e[k])`. With m = high·2^10 + low,
/// it is the sum Σ q·high plus the sum Σ q·low divided by 2^10 and rounded down. Neither can overflow 32 bits: by
/// Cauchy–Schwarz with ‖q‖ ≤ 2^15 and ‖m‖ ≤ 2^24 + √d/2, |Σ q·high| < 2^30, and |Σ q·low| ≤ 2^15·2^9·√d < 2^31 for
/// d ≤ 8192, as for `Theta`. Partial sums may wrap, which addition modulo 2^32 undoes. The product with a power of two is
/// exact. Exponents are at least −448, so that |z| < 2^474 and a sum of 8192 squares is below 2^961.
///
/// The matrix is public; rounding it is a choice of which public matrix to use ([`Matrix::rounded`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    inputs: usize,
    outputs: usize,
    /// For every two columns, the entries of every two rows. An odd number of either is padded with zeros.
    factors: Vec<Factors>,
    /// 2^(10 − 15 − e) of every column.
    scales: Vec<f64>,
    key: u64,
}

impl Matrix {
    /// Round a matrix with `outputs` columns, given row by row.
    ///
    /// # Errors
    /// [`Error::Parameter`] if an entry is NaN or infinite, or if there are no rows or columns or more than
    /// [`MOST_FEATURES`]; [`Error::Shape`] if the last row is not whole.
    pub fn new(entries: &[f64], outputs: usize) -> Result<Self> {
        let allowed = || format!("between 1 and {MOST_FEATURES}");
        if !(1..=MOST_FEATURES).contains(&outputs) {
            return Err(parameter("columns of the matrix", allowed(), outputs));
        }
        let inputs = entries.len() / outputs;
        if !(1..=MOST_FEATURES).contains(&inputs) {
            return Err(parameter("rows of the matrix", allowed(), inputs));
        }
        if entries.len() != inputs * outputs {
            let expected = inputs * outputs;
            return Err(Error::Shape { what: "entries of the matrix", expected, got: entries.len() });
        }
        if entries.iter().any(|entry| !entry.is_finite()) {
            return Err(parameter("matrix", "finite", "NaN or infinity"));
        }
        let lines = inputs.div_ceil(2);
        let mut factors = vec![Factors::default(); outputs.div_ceil(2) * lines];
        let mut scales = Vec::with_capacity(outputs);
        let mut hash = Xxh3::new();
        for size in [inputs, outputs] {
            hash.update(&(size as u64).to_le_bytes());
        }
        for output in 0..outputs {
            let column = entries[output..].iter().step_by(outputs);
            let column = column.map(|entry| entry.clamp(-LARGEST_ENTRY, LARGEST_ENTRY));
            let norm = column.clone().map(|entry| entry * entry).sum::<f64>().sqrt();
            let mut exponent = LARGEST_EXPONENT;
            while norm * 2f64.powi(exponent) > 2f64.powi(NORM_BITS) {
                exponent -= 1;
            }
            scales.push(2f64.powi(LOW_BITS as i32 - BITS as i32 - exponent));
            hash.update(&exponent.to_le_bytes());
            let place = &mut factors[output / 2 * lines..];
            for (input, entry) in column.enumerate() {
                let rounded = (entry * 2f64.powi(exponent)).round_ties_even();
                hash.update(&(rounded as i32).to_le_bytes());
                let (high, low) = split(rounded);
                let [high_place, low_place] = [0, 1].map(|part| output % 2 * 2 + part);
                place[input / 2][high_place][input % 2] = high;
                place[input / 2][low_place][input % 2] = low;
            }
        }
        Ok(Self { inputs, outputs, factors, scales, key: hash.digest() })
    }

    /// The number of rows of the matrix: the features of rows before the map.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of columns of the matrix: the features of rows after the map.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Return the rounded matrix, which is the one that is used, row by row.
    pub fn rounded(&self) -> Vec<f64> {
        let entry = |input, output| self.integer(input, output) as f64 * self.step(output);
        (0..self.inputs).flat_map(|input| (0..self.outputs).map(move |output| entry(input, output))).collect()
    }

    /// Return the key of mapped rows, if the rows had the key `before`.
    pub(super) fn key_after(&self, before: u64) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&before.to_le_bytes());
        hash.update(&self.key.to_le_bytes());
        hash.digest()
    }

    pub(super) fn check_inputs(&self, features: usize) -> Result<()> {
        if self.inputs == features {
            Ok(())
        } else {
            Err(Error::Shape { what: "rows of the matrix", expected: features, got: self.inputs })
        }
    }

    /// One step of the grid of a column.
    fn step(&self, output: usize) -> f64 {
        self.scales[output] * 2f64.powi(BITS as i32 - LOW_BITS as i32)
    }

    /// Return an entry in steps of its column's grid.
    #[inline(always)]
    fn integer(&self, input: usize, output: usize) -> i64 {
        let factors = &self.factors[output / 2 * self.inputs.div_ceil(2) + input / 2];
        let [high, low] = [0, 1].map(|part| i64::from(factors[output % 2 * 2 + part][input % 2]));
        (high << LOW_BITS) + low
    }

    /// Write the products of a tile's rows with every column. Return the sum of their squares for every row, added in the
    /// order of the columns. `lines` is a buffer of [`Matrix::lines`] lines.
    pub(super) fn multiply(
        &self,
        path: Path,
        tile: &[Line],
        lines: &mut [Line],
        products: &mut [Lanes],
    ) -> Lanes {
        match path.kind() {
            Kind::Portable => self.multiply_portable(tile, products),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::multiply(self, tile, lines, products),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => avx2::multiply_wide(self, tile, lines, products),
        }
    }

    fn multiply_portable(&self, tile: &[Line], products: &mut [Lanes]) -> Lanes {
        let mut squares = [0.0; LANES];
        let inputs = self.inputs.div_ceil(2);
        for (output, (products, &scale)) in products.iter_mut().zip(&self.scales).enumerate() {
            let mut sums = [[i32x8::ZERO; 2]; 2];
            for (line, factors) in self.factors[output / 2 * inputs..][..inputs].iter().enumerate() {
                let parts = &factors[output % 2 * 2..][..2];
                for index in 2 * line..self.inputs.min(2 * line + 2) {
                    let column = load(feature(tile, index));
                    for (sums, part) in sums.iter_mut().zip(parts) {
                        let factor = i16x8::splat(part[index % 2]);
                        sums[0] += column[0].widening_mul(factor);
                        sums[1] += column[1].widening_mul(factor);
                    }
                }
            }
            let [high, low] = sums.map(|sums| sums.map(i32x8::to_array));
            let (high, low) = (high.as_flattened(), low.as_flattened());
            for lane in 0..LANES {
                let product = f64::from(high[lane].wrapping_add(low[lane] >> LOW_BITS)) * scale;
                products.0[lane] = product;
                squares[lane] += product * product;
            }
        }
        Lanes(squares)
    }

    /// The size of the buffer for [`Matrix::multiply`].
    pub(super) fn lines(&self) -> usize {
        Layout::new(self.inputs).feature_lines()
    }
}
