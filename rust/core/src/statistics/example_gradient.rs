//! The sum of clipped per-example gradients of the squared error.

use xxhash_rust::xxh3::Xxh3;

use super::blob::{Reader, Writer, add};
use crate::error::{Error, Result, parameter};
use crate::kernel::cut;
use crate::panel::batch::WAVE_VALUES;
use crate::panel::layout::MOST_FEATURES;
use crate::rowmap::{Input, Missing};
use crate::source::{Rows, STRIP, Source};
use crate::threads::{Execution, Stop, waves};

/// Entries are multiples of bound · 2^−24.
pub const EXAMPLE_BITS: u32 = 24;
/// Σq² of a row is at most this.
const SQUARES: f64 = (1u64 << (2 * EXAMPLE_BITS)) as f64;
/// 1 − 2^−38.
const SHORTER: f64 = 1.0 - 1.0 / (1u64 << 38) as f64;
/// Numbers are cut here, so that their products stay in the range of doubles.
const LARGEST: f64 = 1e150;
/// Rows that a thread takes at a time.
const BLOCK_ROWS: usize = 1024;

/// Σ clip(r·x, bound) with r = y − x·θ, in units of bound · 2^−24; a last entry for a constant one if there is one.
///
/// # Privacy
/// A row contributes integers q with Σq² ≤ 2^48 for every input whatsoever: the vector r·x is scaled down to norm one
/// (in units of the bound) and truncated toward zero. The ℓ2 sensitivity is 2^24 when a row is added or removed, 2^25
/// when one is replaced. As in [`crate::rowmap::quantise`], the computed norm has a relative error of at most
/// (d + 5)·2^−53 < 2^−39; norms are cut at 1 − 2^−38, so that the true one is below one. The sum of squares is checked
/// all the same, exactly, and a row above the bound would be left out.
#[derive(Clone, PartialEq, Eq)]
pub struct ExampleGradient {
    key: u64,
    sums: Vec<i128>,
}

impl std::fmt::Debug for ExampleGradient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExampleGradient").field("features", &self.sums.len()).finish_non_exhaustive()
    }
}

/// The room of a thread.
struct Room {
    input: Input,
    vectors: Vec<Rows>,
    sums: Vec<i64>,
}

impl ExampleGradient {
    /// The sum over a batch at `theta`, which has an entry more than the batch has columns if there is a constant.
    ///
    /// # Errors
    /// [`Error::Parameter`] and [`Error::Shape`] for what does not fit, [`Error::NotFinite`], [`Error::Interrupted`].
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
            return Err(parameter("features", format!("from 1 to {MOST_FEATURES}"), theta.len()));
        }
        if theta.iter().any(|value| !value.is_finite()) {
            return Err(parameter("theta", "finite", "NaN or infinity"));
        }
        if !(1e-100..=1e100).contains(&bound) {
            return Err(parameter("bound", "between 1e-100 and 1e100", bound));
        }
        let mut total = Self { key: key(theta, bound), sums: vec![0; theta.len()] };
        let path = execution.path();
        waves(source.rows(), WAVE_VALUES / source.columns(), stop, |rows| {
            let room = || Room {
                input: Input::new(),
                vectors: vec![Rows::ZERO; theta.len()],
                sums: vec![0; theta.len()],
            };
            let work = |room: &mut Room, start: usize| {
                let end = rows.end.min(start + BLOCK_ROWS);
                for start in (start..end).step_by(STRIP) {
                    room.input.read(path, source, start, STRIP.min(end - start), missing)?;
                    path.run(
                        #[inline(always)]
                        || add_strip(&room.input, theta, bound, &mut room.vectors, &mut room.sums),
                    );
                }
                Ok(())
            };
            let merge = |a: &mut Room, b: Room| {
                a.sums.iter_mut().zip(b.sums).for_each(|(a, b)| *a += b);
                Ok(())
            };
            let cost = rows.len() * source.columns();
            let room = execution.fold(cost, rows.clone().step_by(BLOCK_ROWS), room, work, merge)?;
            add(&mut total.sums, room.sums.into_iter().map(i128::from))
        })?;
        Ok(total)
    }

    /// The sums: exact, private.
    pub fn exact(&self) -> &[i128] {
        &self.sums
    }

    /// Add another part of the same sum.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if θ or the bound differ; nothing is changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if (self.key, self.sums.len()) != (other.key, other.sums.len()) {
            return Err(Error::Mismatch("theta or the bound"));
        }
        add(&mut self.sums, other.sums.iter().copied())
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("example gradient", self.key);
        writer.bytes(&(self.sums.len() as u64).to_le_bytes());
        writer.integers(&self.sums);
        writer.finish()
    }

    /// What [`ExampleGradient::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Blob`] if it did not write this.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (key, mut reader) = Reader::new("example gradient", bytes)?;
        let features = reader.number()? as usize;
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(Error::Blob { kind: "example gradient", reason: "wrong shape" });
        }
        Ok(Self { key, sums: reader.integers(features)? })
    }
}

fn key(theta: &[f64], bound: f64) -> u64 {
    let mut hash = Xxh3::new();
    for value in theta.iter().chain([&bound]) {
        hash.update(&value.to_le_bytes());
    }
    hash.digest()
}

/// Add the rows of a strip. The order of operations within a row is that of the columns.
#[inline(always)]
fn add_strip(input: &Input, theta: &[f64], bound: f64, vectors: &mut [Rows], sums: &mut [i64]) {
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
        *residual = cut(*residual, LARGEST);
    }
    let mut squares = [0.0; STRIP];
    for (index, vector) in vectors.iter_mut().enumerate() {
        for row in 0..STRIP {
            let x = columns.get(index).map_or(1.0, |column| cut(column[row], LARGEST));
            vector[row] = cut(x * residual[row], LARGEST);
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
    use super::*;
    use crate::kernel::Path;
    use crate::source::Dense;
    use proptest::prelude::*;

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
    fn is_the_plain_sum_where_nothing_is_clipped() {
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
