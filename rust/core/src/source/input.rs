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
}

/// A copied strip. Rows past the end of the source and rows that are dropped are zero.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    strip: Strip,
    keep: StripColumn,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self { strip: Strip::new(0, STRIP), keep: StripColumn::ZERO }
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
        self.keep[rows..].fill(0.0);
        if bad {
            match missing {
                Missing::Error => return Err(Error::NotFinite),
                Missing::Drop => self.drop_rows(),
            }
        }
        Ok(())
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

    /// One for each row to keep, zero for dropped rows and padding.
    pub(crate) fn keep(&self) -> &StripColumn {
        &self.keep
    }
}
