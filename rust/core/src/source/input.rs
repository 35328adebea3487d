//! A strip of rows, copied once and checked for NaN and infinities.

use super::{STRIP, Source, Strip, StripColumn};
use crate::error::{Error, Result};
use crate::execution::Path;

/// What to do with a row that contains NaN or an infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Return an error, which says only that there is such a row.
    Error,
    /// Leave the row out.
    Drop,
    /// Keep the row if its target is finite. Such a value of x is a missing value: histograms do not count it in a bin of
    /// numbers, and a row map replaces it by the middle of its column.
    Indicator,
}

/// A copied strip. Rows past the end of the source and rows that are dropped are zero. With [`Missing::Indicator`], missing
/// values of the other rows are NaN or infinite.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    strip: Strip,
    keep: StripColumn,
    has_missing: bool,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self { strip: Strip::new(0, STRIP), keep: StripColumn::ZERO, has_missing: false }
    }

    /// Copy `rows` rows from `start` and check them for NaN and infinities.
    pub(crate) fn read(
        &mut self,
        path: Path,
        source: &dyn Source,
        start: usize,
        rows: usize,
        missing: Missing,
    ) -> Result<()> {
        if self.strip.columns() != source.columns() {
            self.strip = Strip::new(source.columns(), STRIP);
        }
        self.strip.copy(source, start, rows);
        let bad = path.run(
            #[inline(always)]
            || self.check(),
        );
        self.has_missing = bad && missing == Missing::Indicator;
        if bad {
            match missing {
                Missing::Error => return Err(Error::NotFinite),
                Missing::Drop => {}
                Missing::Indicator => self.keep_targets(),
            }
        }
        self.keep[rows..].fill(0.0);
        if bad {
            self.drop_rows();
        }
        Ok(())
    }

    /// Keep the rows whose target, the last column, is finite.
    fn keep_targets(&mut self) {
        let Self { strip, keep, .. } = self;
        for (keep, target) in keep.iter_mut().zip(strip.whole().last().into_iter().flat_map(|y| y.iter())) {
            *keep = if target.is_finite() { 1.0 } else { 0.0 };
        }
    }

    /// Find the rows to keep; return whether there are others.
    #[inline(always)]
    fn check(&mut self) -> bool {
        // Zero times a finite number is zero; times NaN or an infinity it is NaN.
        let mut sums = [0.0; STRIP];
        for column in self.strip.whole() {
            for (sum, value) in sums.iter_mut().zip(column.iter()) {
                *sum += value * 0.0;
            }
        }
        let mut kept = 0.0;
        for (keep, sum) in self.keep.iter_mut().zip(sums) {
            *keep = if sum == 0.0 { 1.0 } else { 0.0 };
            kept += *keep;
        }
        kept < STRIP as f64
    }

    fn drop_rows(&mut self) {
        for column in 0..self.strip.columns() {
            for (value, keep) in self.strip.column_mut(column).iter_mut().zip(*self.keep) {
                if keep == 0.0 {
                    *value = 0.0;
                }
            }
        }
    }

    /// The columns, the target last.
    pub(crate) fn columns(&self) -> &[StripColumn] {
        self.strip.whole()
    }

    /// Whether a row that is kept may contain missing values.
    pub(crate) fn has_missing(&self) -> bool {
        self.has_missing
    }

    /// One for each row to keep, zero for dropped rows and padding.
    pub(crate) fn keep(&self) -> &StripColumn {
        &self.keep
    }
}
