//! A block of rows, copied once and checked for NaN and infinities.

use super::Missing;
use crate::error::{Error, Result};
use crate::kernel::Path;
use crate::source::{STRIP, Source};

/// A copied block of whole strips. Rows past the end of the source and rows that are dropped are zero.
#[derive(Debug, Clone, Default)]
pub(crate) struct Input {
    values: Vec<[f64; STRIP]>,
    keep: Vec<[f64; STRIP]>,
    columns: usize,
}

impl Input {
    /// Copy `rows` rows from `start`.
    pub(crate) fn read(
        &mut self,
        path: Path,
        source: &dyn Source,
        start: usize,
        rows: usize,
        missing: Missing,
    ) -> Result<()> {
        self.columns = source.columns();
        let strips = rows.div_ceil(STRIP);
        self.values.resize(strips * self.columns, [0.0; STRIP]);
        self.keep.resize(strips, [0.0; STRIP]);
        source.read(start, rows, &mut self.values);
        if !rows.is_multiple_of(STRIP) {
            for values in &mut self.values[(strips - 1) * self.columns..] {
                values[rows % STRIP..].fill(0.0);
            }
        }
        let bad = path.run(
            #[inline(always)]
            || self.check(),
        );
        if let Some(last) = self.keep.last_mut().filter(|_| !rows.is_multiple_of(STRIP)) {
            last[rows % STRIP..].fill(0.0);
        }
        match (bad, missing) {
            (true, Missing::Error) => Err(Error::NotFinite),
            (true, Missing::Drop) => {
                self.drop_rows();
                Ok(())
            }
            (false, _) => Ok(()),
        }
    }

    /// Find the rows to keep, and whether there are others.
    #[inline(always)]
    fn check(&mut self) -> bool {
        let mut bad = false;
        for (keep, strip) in self.keep.iter_mut().zip(self.values.chunks_exact(self.columns)) {
            // Zero times a finite number is zero; times NaN or an infinity it is NaN.
            let mut sums = [0.0; STRIP];
            for values in strip {
                for lane in 0..STRIP {
                    sums[lane] += values[lane] * 0.0;
                }
            }
            for lane in 0..STRIP {
                keep[lane] = if sums[lane] == 0.0 { 1.0 } else { 0.0 };
                bad |= sums[lane] != 0.0;
            }
        }
        bad
    }

    fn drop_rows(&mut self) {
        for (keep, strip) in self.keep.iter().zip(self.values.chunks_exact_mut(self.columns)) {
            for values in strip {
                for lane in (0..STRIP).filter(|&lane| keep[lane] == 0.0) {
                    values[lane] = 0.0;
                }
            }
        }
    }

    /// Every strip's columns, and for each of its rows one if it counts, zero if it is dropped or padding.
    pub(crate) fn strips(&self) -> impl Iterator<Item = (&[[f64; STRIP]], &[f64; STRIP])> {
        self.values.chunks_exact(self.columns).zip(&self.keep)
    }
}
