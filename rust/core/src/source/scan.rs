//! A loop over all rows of a batch, strip by strip, on all threads.

use super::{Input, Missing, STRIP, Source};
use crate::error::Result;
use crate::execution::{Execution, Stop, waves};

/// The number of values of a source between two checks whether to stop.
pub(crate) const WAVE_VALUES: usize = 1 << 24;
/// The number of rows that a thread takes at a time.
const BLOCK_ROWS: usize = 1024;

/// A batch of rows, and how to read it.
pub(crate) struct Scan<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) missing: Missing,
    pub(crate) execution: &'a Execution,
}

impl Scan<'_> {
    /// Add up all strips. Every thread begins with `start` and adds strips with `add`; `merge` adds the sums of two
    /// threads. `total` receives the sum of each wave of at most 2^24 rows.
    ///
    /// Strips go to threads in any order and grouping, so the sums must be of integers. Mark `add` as `#[inline(always)]`
    /// to compile it for the code path of the execution.
    pub(crate) fn fold<T: Send>(
        &self,
        stop: Stop<'_>,
        start: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Input) + Sync,
        merge: impl Fn(&mut T, T),
        mut total: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let &Self { source, missing, execution } = self;
        let path = execution.path();
        waves(source.rows(), WAVE_VALUES / source.columns(), stop, |rows| {
            let work = |(input, sum): &mut (Input, T), start: usize| {
                let end = rows.end.min(start + BLOCK_ROWS);
                for start in (start..end).step_by(STRIP) {
                    input.read(path, source, start, STRIP.min(end - start), missing)?;
                    path.run(
                        #[inline(always)]
                        || add(sum, input),
                    );
                }
                Ok(())
            };
            let merge = |(_, a): &mut (Input, T), (_, b): (Input, T)| {
                merge(a, b);
                Ok(())
            };
            let cost = rows.len() * source.columns();
            let blocks = rows.clone().step_by(BLOCK_ROWS);
            let (_, sum) = execution.fold(cost, blocks, || (Input::new(), start()), work, merge)?;
            total(sum)
        })
    }
}
