//! The number of rows.

use super::Histogram;
use super::sums::{Sums, statistic};
use crate::error::Result;
use crate::execution::{Execution, Stop};
use crate::source::{Input, Missing, Scan, Source, check_columns};

/// The number of rows without a missing value.
///
/// # Privacy
/// A row contributes one, or zero if it is dropped. The sensitivity is 1 when a row is added, removed or replaced. With
/// [`Missing::Error`] no row is dropped, so replacing a row does not change the count, and the count is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    sums: Sums,
}

statistic!(Count, "count", "columns");

impl Count {
    /// Create a count of zero, for rows with this number of columns of x.
    pub fn new(columns: u32) -> Self {
        Self { sums: Sums::zero(columns.into(), 1) }
    }

    /// Return the number of rows that a histogram counted, which also checked every value; `None` if it does not tell.
    ///
    /// # Privacy
    /// Every row that is not dropped is in exactly one bin of the target, so this is the count, and its sensitivity.
    pub fn told_by(histogram: &Histogram) -> Option<Self> {
        let counts = histogram.of_target()?;
        let mut count = Self::new(u32::try_from(histogram.bins().len() - 1).ok()?);
        count.sums.add(std::iter::once(counts.iter().sum())).ok()?;
        Some(count)
    }

    /// Count the rows of a batch. Every value is checked, in every column.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::NotFinite`], [`crate::Error::Interrupted`]; the count is then unchanged.
    pub fn extend(
        &mut self,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        check_columns(source, self.sums.key() as usize + 1)?;
        let mut total = 0;
        let add = |rows: &mut u64, input: &Input| {
            *rows += input.keep().iter().map(|&keep| u64::from(keep != 0.0)).sum::<u64>();
        };
        let end_of_wave = |rows| {
            total += i128::from(rows);
            Ok(())
        };
        Scan { source, missing, execution }.fold(stop, || 0, add, |a, b| *a += b, end_of_wave)?;
        self.sums.add(std::iter::once(total))
    }

    /// Read what [`super::Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let valid = |sums: &[i128]| matches!(sums, [rows] if *rows >= 0);
        Ok(Self { sums: Sums::from_bytes("count", bytes, valid)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::execution::Path;
    use crate::source::Dense;
    use crate::statistics::Bins;
    use crate::statistics::Statistic;

    fn count(x: &[f64], y: &[f64], missing: Missing) -> Result<i128> {
        let mut count = Count::new((x.len() / y.len()) as u32);
        let source = Dense::new(x, y).unwrap();
        count.extend(&source, missing, &Execution::on(Path::detect()), &mut || false)?;
        Ok(count.exact()[0])
    }

    #[test]
    fn rows_with_missing_values_are_an_error_or_not_counted() {
        for n in [1, 63, 64, 65, 1024, 2500] {
            let (mut x, mut y) = (vec![0.5; 2 * n], vec![0.0; n]);
            assert_eq!(count(&x, &y, Missing::Error), Ok(n as i128));
            x[2 * (n / 2) + 1] = f64::NAN;
            y[n - 1] = f64::INFINITY;
            let dropped = if n == 1 { 1 } else { 2 };
            assert_eq!(count(&x, &y, Missing::Drop), Ok(n as i128 - dropped));
            assert_eq!(count(&x, &y, Missing::Error), Err(Error::NotFinite));
        }
    }

    #[test]
    fn a_histogram_of_the_target_tells_the_count() {
        let powers = Bins::powers(-4, 4).unwrap();
        for missing in [Missing::Drop, Missing::Indicator] {
            for n in [1, 63, 64, 65, 1024, 2500] {
                let (mut x, mut y): (Vec<f64>, Vec<f64>) =
                    (vec![0.5; 2 * n], (0..n).map(|i| i as f64).collect());
                x[2 * (n / 2) + 1] = f64::NAN;
                y[n - 1] = f64::INFINITY;
                let mut counts = Histogram::new(vec![powers, Bins::Skip, powers]);
                if missing == Missing::Indicator {
                    counts = counts.with_missing();
                }
                let source = Dense::new(&x, &y).unwrap();
                counts.extend(&source, missing, &Execution::on(Path::detect()), &mut || false).unwrap();
                let told = Count::told_by(&counts).unwrap();
                assert_eq!(Ok(told.exact()[0]), count(&x, &y, missing));
                assert_eq!(told.sums.key(), 2);
            }
        }
        assert!(Count::told_by(&Histogram::new(vec![powers, Bins::Skip])).is_none());
        assert!(Count::told_by(&Histogram::new(vec![])).is_none());
    }

    #[test]
    fn the_number_of_columns_is_checked() {
        let execution = Execution::on(Path::detect());
        let source = Dense::new(&[0.0; 4], &[0.0; 2]).unwrap();
        let mut other = Count::new(3);
        assert!(other.extend(&source, Missing::Error, &execution, &mut || false).is_err());
        assert_eq!(other.merge(&Count::new(2)), Err(Error::Mismatch("columns")));
    }
}
