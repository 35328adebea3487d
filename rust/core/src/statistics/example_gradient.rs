//! The sum of clipped per-example gradients of the squared error.

use xxhash_rust::xxh3::Xxh3;

use super::sums::{Sums, statistic};
use crate::error::{Error, Result, parameter};
use crate::execution::{Execution, Stop};
use crate::layout::MOST_FEATURES;
use crate::number::clamp;
use crate::source::{Input, Missing, STRIP, Scan, Source, StripColumn};

/// Entries are multiples of bound · 2^−24.
pub const EXAMPLE_BITS: u32 = 24;
/// Σq² of a row is at most this.
const SQUARES: f64 = (1u64 << (2 * EXAMPLE_BITS)) as f64;
/// 1 − 2^−38.
const SHORTER: f64 = 1.0 - 1.0 / (1u64 << 38) as f64;
/// Numbers are clamped to this size, so that their products stay in the range of doubles.
const LARGEST: f64 = 1e150;

/// Σ clip(r·x, bound) with r = y − x·θ, in multiples of bound · 2^−24. The last entry is for the constant, if there is one.
///
/// # Privacy
/// A row contributes integers q with Σq² ≤ 2^48 for every input: the vector r·x is scaled down to the norm `bound` and
/// truncated toward zero. The ℓ2 sensitivity is 2^24 when a row is added or removed and 2^25 when one is replaced. As in
/// [`crate::rowmap::quantise`], the computed norm has a relative error of at most (d + 5)·2^−53 < 2^−39; norms are limited
/// to 1 − 2^−38 of the bound, so that the true norm is below the bound. The sum of squares is still checked exactly, and a
/// row above the bound would be dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleGradient {
    sums: Sums,
}

statistic!(ExampleGradient, "example gradient", "theta or the bound");

/// The buffers of a thread: the vectors of a strip of rows, and its sums.
struct Buffers {
    vectors: Vec<StripColumn>,
    sums: Vec<i64>,
}

impl ExampleGradient {
    /// Compute the sum over a batch. If `theta` has one entry more than x has columns, the last one is for a constant.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Shape`], [`Error::NotFinite`], [`Error::Interrupted`].
    pub fn of(
        source: &dyn Source,
        theta: &[f64],
        bound: f64,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let width = source.columns() - 1;
        if theta.len() != width && theta.len() != width + 1 {
            return Err(Error::Shape { what: "coefficients", expected: width, got: theta.len() });
        }
        if !(1..=MOST_FEATURES).contains(&theta.len()) {
            return Err(parameter("features", format!("between 1 and {MOST_FEATURES}"), theta.len()));
        }
        if theta.iter().any(|value| !value.is_finite()) {
            return Err(parameter("theta", "finite", "NaN or infinity"));
        }
        if !(1e-100..=1e100).contains(&bound) {
            return Err(parameter("bound", "between 1e-100 and 1e100", bound));
        }
        if missing == Missing::Indicator {
            return Err(parameter("missing", "\"error\" or \"drop\"", "\"indicator\""));
        }
        let mut sums = Sums::zero(key(theta, bound), theta.len());
        let buffers =
            || Buffers { vectors: vec![StripColumn::ZERO; theta.len()], sums: vec![0; theta.len()] };
        Scan { source, missing, execution }.fold(
            stop,
            buffers,
            #[inline(always)]
            |buffers, input| add_strip(input, theta, bound, &mut buffers.vectors, &mut buffers.sums),
            |a, b| a.sums.iter_mut().zip(b.sums).for_each(|(a, b)| *a += b),
            |buffers| sums.add(buffers.sums.into_iter().map(i128::from)),
        )?;
        Ok(Self { sums })
    }

    /// Read what [`super::Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let valid = |sums: &[i128]| (1..=MOST_FEATURES).contains(&sums.len());
        Ok(Self { sums: Sums::from_bytes("example gradient", bytes, valid)? })
    }
}

fn key(theta: &[f64], bound: f64) -> u64 {
    let mut hash = Xxh3::new();
    for value in theta.iter().chain([&bound]) {
        hash.update(&value.to_le_bytes());
    }
    hash.digest()
}

/// Add the rows of a strip. Within a row, the order of operations is the order of the columns.
#[inline(always)]
fn add_strip(input: &Input, theta: &[f64], bound: f64, vectors: &mut [StripColumn], sums: &mut [i64]) {
    let (columns, target) = input.columns().split_at(input.columns().len() - 1);
    let mut residual = target[0];
    for (column, theta) in columns.iter().zip(theta) {
        for (residual, x) in residual.iter_mut().zip(column.iter()) {
            *residual -= x * theta;
        }
    }
    if let Some(constant) = theta.get(columns.len()) {
        for residual in residual.iter_mut() {
            *residual -= constant;
        }
    }
    for residual in residual.iter_mut() {
        *residual = clamp(*residual, LARGEST);
    }
    let mut squares = [0.0; STRIP];
    for (index, vector) in vectors.iter_mut().enumerate() {
        for row in 0..STRIP {
            let x = columns.get(index).map_or(1.0, |column| clamp(column[row], LARGEST));
            vector[row] = clamp(x * residual[row], LARGEST);
            squares[row] += vector[row] * vector[row];
        }
    }
    let mut weight = *input.keep();
    for (weight, squares) in weight.iter_mut().zip(squares) {
        let shrink = bound * SHORTER / squares.sqrt();
        *weight *= if shrink < 1.0 { shrink } else { 1.0 };
        *weight *= f64::from(1u32 << EXAMPLE_BITS) / bound;
    }
    let mut exact = [0.0; STRIP];
    for vector in &mut *vectors {
        for row in 0..STRIP {
            vector[row] = (vector[row] * weight[row]).trunc();
            exact[row] += vector[row] * vector[row];
        }
    }
    for (vector, sum) in vectors.iter().zip(sums) {
        for row in 0..STRIP {
            // At most 2^24 in size, so the sum of a strip is exact.
            *sum += if exact[row] <= SQUARES { vector[row] as i64 } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::execution::Path;
    use crate::source::Dense;
    use crate::statistics::Statistic;

    fn of(x: &[f64], y: &[f64], theta: &[f64], bound: f64, execution: &Execution) -> ExampleGradient {
        let source = Dense::new(x, y).unwrap();
        ExampleGradient::of(&source, theta, bound, Missing::Error, execution, &mut || false).unwrap()
    }

    proptest! {
        #[test]
        fn no_row_adds_more_than_the_bound(
            row in prop::collection::vec(prop_oneof![any::<f64>().prop_filter("finite", |v| v.is_finite()), -3.0..3.0f64], 1..30),
            y in -1e6..1e6f64,
            bound in 1e-5..1e5f64,
        ) {
            let theta = vec![0.7; row.len() + 1];
            let sums = of(&row, &[y], &theta, bound, &Execution::on(Path::detect()));
            let squares: i128 = sums.exact().iter().map(|q| q * q).sum();
            prop_assert!(squares <= 1 << 48);
        }
    }

    #[test]
    fn without_clipping_it_is_the_plain_sum() {
        let x: Vec<f64> = (0..700).map(|i| f64::from(i % 17) / 16.0).collect();
        let y: Vec<f64> = (0..100).map(|i| f64::from(i % 5)).collect();
        let theta = [0.5, -0.25, 0.0, 1.0, 0.125, 0.0, 0.25, 2.0];
        let mut expected = [0.0; 8];
        for (row, y) in x.chunks(7).zip(&y) {
            let r = y - row.iter().zip(&theta).map(|(x, t)| x * t).sum::<f64>() - theta[7];
            for (sum, x) in expected.iter_mut().zip(row.iter().chain([&1.0])) {
                *sum += r * x;
            }
        }
        let bound = 64.0;
        let first = of(&x, &y, &theta, bound, &Execution::on(Path::portable()));
        for (got, expected) in first.exact().iter().zip(expected) {
            assert!((*got as f64 * bound / f64::from(1u32 << 24) - expected).abs() < 1e-3);
        }
        for n_jobs in [1, 2, 4] {
            let execution = Execution::new(Some(n_jobs), Path::detect()).unwrap();
            assert_eq!(of(&x, &y, &theta, bound, &execution), first);
        }
        let mut parts = of(&x[..70], &y[..10], &theta, bound, &Execution::on(Path::detect()));
        parts.merge(&of(&x[70..], &y[10..], &theta, bound, &Execution::on(Path::detect()))).unwrap();
        assert_eq!(parts, first);
        assert_eq!(ExampleGradient::from_bytes(&first.to_bytes()).unwrap(), first);
    }
}
