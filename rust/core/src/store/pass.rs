//! A pass over the store: the residuals of every row, and sums over them.

use xxhash_rust::xxh3::Xxh3;

use super::{Clip, MOST_TILES, Residuals, Store, Theta};
use crate::error::Result;
use crate::execution::{Execution, Path, Stop, waves};
use crate::layout::{LANES, Layout, Line};

/// The number of lines that a thread takes at a time: 512 KiB, small enough to balance threads, large enough to stream.
const PIECE_LINES: usize = 1 << 13;
/// The number of pieces between two checks whether to stop: 256 MiB.
const WAVE_PIECES: usize = 512;
/// The bytes of a group of tiles. The pass reads a group twice, and it should still be in the cache the second time.
const GROUP_BYTES: usize = 20 << 10;

/// The sums of a thread in a pass: integers, so that neither order nor grouping changes them.
pub(crate) trait PassSums: Send {
    /// Add a group of tiles with these residuals.
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals);

    /// Add what was kept to be added later, before sums are merged or read.
    fn finish(&mut self, path: Path, layout: Layout) {
        let _ = (path, layout);
    }

    fn merge(&mut self, other: Self);
}

impl Store {
    /// A hash of the row map, the matrices, θ and the clip. Sums over residuals with different hashes must not be added.
    pub(crate) fn residual_key(&self, theta: &Theta, clip: Clip) -> u64 {
        let mut hash = Xxh3::new();
        let (integers, exponent) = theta.integers();
        hash.update(&self.key.to_le_bytes());
        for integer in integers.iter().chain([&exponent, &clip.tau()]) {
            hash.update(&integer.to_le_bytes());
        }
        if let Some(reach) = clip.reach() {
            hash.update(&reach.to_le_bytes());
        }
        hash.digest()
    }

    /// Compute the residuals y − Xθ of all rows, clip them, and add them up with `S`. `total` receives the sums of each wave.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] for a θ of the wrong length; [`crate::Error::Interrupted`].
    pub(crate) fn pass<S: PassSums>(
        &self,
        theta: &Theta,
        clip: Clip,
        zero: impl Fn() -> S + Sync,
        execution: &Execution,
        stop: Stop<'_>,
        mut total: impl FnMut(&S) -> Result<()>,
    ) -> Result<()> {
        theta.check_len(self.layout.features())?;
        let (layout, path) = (self.layout, execution.path());
        let group = (GROUP_BYTES / layout.bytes()).clamp(8, MOST_TILES) * layout.lines();
        let piece = (PIECE_LINES / group).max(1) * group;
        for (segment, lines) in self.used() {
            let pieces: Vec<&[Line]> = lines.chunks(piece).collect();
            waves(pieces.len(), WAVE_PIECES, stop, |wave| {
                let work = |sums: &mut S, piece: &[Line]| {
                    let mut residuals = Residuals::new();
                    for group in piece.chunks(group) {
                        residuals.compute(path, group, layout, theta, clip);
                        sums.add(path, group, layout, &residuals);
                    }
                    Ok(())
                };
                let merge = |a: &mut S, mut b: S| {
                    b.finish(path, layout);
                    a.merge(b);
                    Ok(())
                };
                let cost = wave.len() * piece * LANES;
                let mut sums = execution.fold(cost, pieces[wave].iter().copied(), &zero, work, merge)?;
                sums.finish(path, layout);
                total(&sums)
            })?;
            segment.forget();
        }
        Ok(())
    }
}
