//! A block of rows, copied once and checked for NaN and infinities.

use super::Missing;
use crate::error::{Error, Result};
use crate::kernel::Path;
use crate::panel::LANES;
use crate::source::Source;

/// A copied block: `stride` rows, of which those past the source's and those dropped are zero.
#[derive(Debug, Clone, Default)]
pub(crate) struct Input {
    values: Vec<f64>,
    keep: Vec<f64>,
    stride: usize,
}

impl Input {
    /// Copy `rows` rows from `start`; the stride is the next whole number of tiles.
    pub(crate) fn read(
        &mut self,
        path: Path,
        source: &dyn Source,
        start: usize,
        rows: usize,
        missing: Missing,
    ) -> Result<()> {
        self.stride = rows.next_multiple_of(LANES);
        self.values.resize(source.columns() * self.stride, 0.0);
        source.read(start, rows, self.stride, &mut self.values);
        self.keep.clear();
        self.keep.resize(self.stride, 0.0);
        // Zero times a finite number is zero; times NaN or an infinity it is NaN.
        path.run(
            #[inline(always)]
            || {
                for column in self.values.chunks_exact(self.stride) {
                    for (keep, value) in self.keep[..rows].iter_mut().zip(column) {
                        *keep += value * 0.0;
                    }
                }
            },
        );
        let bad = self.keep.iter().any(|keep| keep.is_nan());
        if bad && missing == Missing::Error {
            return Err(Error::NotFinite);
        }
        for keep in &mut self.keep[..rows] {
            *keep = if keep.is_nan() { 0.0 } else { 1.0 };
        }
        if bad || rows < self.stride {
            for column in self.values.chunks_exact_mut(self.stride) {
                for (value, keep) in column.iter_mut().zip(&self.keep) {
                    if *keep == 0.0 {
                        *value = 0.0;
                    }
                }
            }
        }
        Ok(())
    }

    /// A column's values.
    pub(crate) fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.stride..][..self.stride]
    }

    /// One for a row that counts, zero for a dropped or padding row.
    pub(crate) fn keep(&self) -> &[f64] {
        &self.keep
    }

    /// Rows, padding included.
    pub(crate) fn rows(&self) -> usize {
        self.stride
    }
}
