//! A compact store of quantised rows. Rows are mapped once and read many times, at the speed of memory.
//!
//! A value takes two bytes: the loss of fifteen bits against 64-bit floats is far below the noise of any budget
//! (`docs/explanation/precision.md` has the figures and the script that prints them), and half the bytes means twice the speed.

mod batch;
mod clip;
mod file;
mod mapped;
mod matrix;
mod memory;
mod pass;
mod residuals;
mod segment;
mod theta;

use std::ops::Range;
use std::path::PathBuf;

use bytemuck::Zeroable;

use crate::blob::{Reader, Writer};
use crate::error::{Error, Result};
use crate::execution::{Execution, Stop, waves};
use crate::layout::{
    BITS, LANES, LARGEST, Layout, Line, feature, feature_mut, target_lane, targets, targets_mut,
};
use crate::rowmap::RowMap;
use crate::source::{Missing, Source, check_columns};
use batch::wave_rows;
use segment::Segment;

pub(crate) use batch::{BLOCK_TILES, Batch, Sink};
pub(crate) use clip::Clip;
pub use clip::MOST_REACH;
pub use matrix::Matrix;
pub use memory::Memory;
pub(crate) use pass::PassSums;
pub use residuals::MOST_TAU;
pub(crate) use residuals::{MOST_TILES, RESIDUAL_LOW_BITS, Residuals, squares};
pub use theta::Theta;

/// The number of lines in a segment that goes to a file: 32 MiB.
const FILE_LINES: usize = 1 << 19;

/// Where a store keeps its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Backing {
    /// In memory.
    #[default]
    Memory,
    /// In unnamed files in this directory, which the operating system removes when the process ends.
    Directory(PathBuf),
}

/// Quantised rows in the layout of [`Layout`].
///
/// # Privacy
/// A store holds exact rows, so it is private, and nothing of it is printed. Every row satisfies Σq² ≤ 2^30
/// ([`crate::rowmap`]).
pub struct Store {
    map: RowMap,
    /// The key of the public parameters: the row map and the matrices that mapped rows to rows.
    key: u64,
    layout: Layout,
    backing: Backing,
    memory: Memory,
    segments: Vec<Segment>,
    /// The number of rows in the last segment, including dropped rows.
    filled: usize,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("features", &self.layout.features()).finish_non_exhaustive()
    }
}

impl Store {
    /// Create an empty store for rows of this map.
    pub fn new(map: RowMap, backing: Backing) -> Self {
        let (key, layout) = (map.key(), Layout::new(map.features()));
        Self { map, key, layout, backing, memory: Memory::default(), segments: Vec::new(), filled: 0 }
    }

    /// Let this store, and those that rows are mapped to, use this memory, which must be done before it has rows.
    #[must_use]
    pub fn within(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// The row map.
    pub fn map(&self) -> &RowMap {
        &self.map
    }

    /// The number of features of a row.
    pub fn features(&self) -> usize {
        self.layout.features()
    }

    /// Map the rows of a batch into the store.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::Io`], [`Error::Interrupted`]. The store then contains no row of the
    /// batch.
    pub fn extend(
        &mut self,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        self.extend_with(source, missing, (), execution, stop)
    }

    /// Map the rows of a batch into the store and add them to `sink`: all of them or, on error, none.
    pub(crate) fn extend_with<S: Sink>(
        &mut self,
        source: &dyn Source,
        missing: Missing,
        mut sink: S,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        if self.key != self.map.key() {
            return Err(Error::Mismatch("row maps"));
        }
        check_columns(source, self.map.columns().len() + 1)?;
        let (segments, filled) = (self.segments.len(), self.filled);
        let wave = wave_rows::<S>(&self.map, execution);
        let result = waves(source.rows(), wave, stop, |mut rows| {
            while !rows.is_empty() {
                rows.start += self.take(source, rows.clone(), missing, &mut sink, execution)?;
            }
            Ok(())
        });
        let result = result.and_then(|()| sink.finish());
        if result.is_err() {
            self.truncate(segments, filled)?;
        }
        result
    }

    /// Go back to `segments` segments, the last with `filled` rows.
    fn truncate(&mut self, segments: usize, filled: usize) -> Result<()> {
        self.segments.truncate(segments);
        self.filled = filled;
        if let Some(last) = self.segments.last_mut() {
            // It may have been filled and moved to a file since. If it cannot be read back, the store becomes empty: it
            // may lose rows, but never keeps rows of a batch that failed.
            if let Err(error) = last.recall() {
                self.segments.clear();
                self.filled = 0;
                return Err(error);
            }
            let lines = last.lines_mut();
            let whole = lines.len().min(filled.div_ceil(LANES) * self.layout.lines());
            lines[whole..].fill(Line::zeroed());
            if !filled.is_multiple_of(LANES) && whole > 0 {
                let tile = &mut lines[whole - self.layout.lines()..whole];
                for lane in filled % LANES..LANES {
                    copy_row(self.layout, None, lane, tile);
                }
            }
        }
        Ok(())
    }

    /// Map as many of these rows as fit into the last segment, or into a new one; return how many.
    fn take<S: Sink>(
        &mut self,
        source: &dyn Source,
        rows: Range<usize>,
        missing: Missing,
        sink: &mut S,
        execution: &Execution,
    ) -> Result<usize> {
        let room = |last: &mut Segment| last.lines_mut().len() / self.layout.lines() * LANES;
        let mut capacity = self.segments.last_mut().map_or(0, room);
        if self.segments.is_empty() || self.filled >= capacity {
            let mut old = None;
            if let (Backing::Directory(directory), Some(last)) = (&self.backing, self.segments.last_mut()) {
                old = last.spill(directory)?;
            }
            let tiles = self.new_tiles(source.rows() - rows.start);
            let lines = tiles.checked_mul(self.layout.lines()).ok_or(Error::TooManyRows)?;
            self.memory.put(old.into_iter());
            self.segments.push(self.memory.take(lines)?);
            (self.filled, capacity) = (0, tiles * LANES);
        }
        let lane = self.filled % LANES;
        let Some(last) = self.segments.last_mut() else { return Ok(0) };
        let place = &mut last.lines_mut()[self.filled / LANES * self.layout.lines()..];
        let batch = Batch { map: &self.map, source, missing, execution };
        let mut count = rows.len().min(capacity - self.filled);
        if lane > 0 {
            count = count.min(LANES - lane);
            let mut tile: Vec<Line> = bytemuck::zeroed_vec(self.layout.lines());
            batch.fill(rows.start..rows.start + count, Some(&mut tile), sink)?;
            for row in 0..count {
                copy_row(self.layout, Some((&tile, row)), lane + row, &mut place[..self.layout.lines()]);
            }
        } else {
            let place = Some(&mut place[..Layout::tiles(count) * self.layout.lines()]);
            batch.fill(rows.start..rows.start + count, place, sink)?;
        }
        self.filled += count;
        Ok(count)
    }

    /// The number of tiles of the next segment: at least those needed, and not too few.
    fn new_tiles(&self, rows: usize) -> usize {
        match self.backing {
            Backing::Memory => {
                let held: usize = self.segments.iter().map(|segment| segment.lines().len()).sum();
                Layout::tiles(rows).max((held / 2).clamp(1 << 10, FILE_LINES) / self.layout.lines()).max(1)
            }
            Backing::Directory(_) => (FILE_LINES / self.layout.lines()).max(1),
        }
    }

    /// The segments, and the lines of each that are in use.
    fn used(&self) -> impl Iterator<Item = (&Segment, &[Line])> {
        let last = self.segments.len().saturating_sub(1);
        self.segments.iter().enumerate().map(move |(index, segment)| {
            let lines = segment.lines();
            let used =
                if index == last { Layout::tiles(self.filled) * self.layout.lines() } else { lines.len() };
            (segment, &lines[..used])
        })
    }

    /// Return the rows as bytes, to move them between trusted processes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("rows", self.key);
        for (_, lines) in self.used() {
            writer.bytes(bytemuck::cast_slice(lines));
        }
        writer.finish()
    }

    /// Read a store that [`Store::to_bytes`] wrote for the same map and the same matrices.
    ///
    /// # Errors
    /// [`Error::Blob`] for other bytes, [`Error::Mismatch`] for another map or matrix, [`Error::Shape`] for a matrix that does
    /// not fit the rows.
    pub fn from_bytes(map: RowMap, matrices: &[Matrix], bytes: &[u8]) -> Result<Self> {
        let (key, reader) = Reader::new("rows", bytes)?;
        let mut store = Self::new(map, Backing::Memory);
        for matrix in matrices {
            store = store.before_mapping(matrix, Backing::Memory)?;
        }
        if key != store.key {
            return Err(Error::Mismatch("row maps"));
        }
        let body = reader.rest();
        if body.len() % store.layout.bytes() != 0 {
            return Err(Error::Blob { kind: "rows", reason: "wrong length" });
        }
        if !body.is_empty() {
            let mut segment = Segment::new(body.len() / size_of::<Line>())?;
            bytemuck::cast_slice_mut(segment.lines_mut()).copy_from_slice(body);
            if !segment
                .lines()
                .chunks_exact(store.layout.lines())
                .all(|tile| within_bound(tile, store.layout))
            {
                return Err(Error::Blob { kind: "rows", reason: "a row exceeds its bound" });
            }
            store.segments.push(segment);
            store.filled = body.len() / store.layout.bytes() * LANES;
        }
        Ok(store)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.memory.put(self.segments.drain(..));
    }
}

/// Return whether every row of a tile satisfies Σq² ≤ 2^30 and all targets are in range. Rows from outside are checked.
fn within_bound(tile: &[Line], layout: Layout) -> bool {
    let (mut sums, mut is_small) = ([0_i64; LANES], true);
    for index in 0..layout.features() {
        for (sum, &value) in sums.iter_mut().zip(feature(tile, index)) {
            let value = i32::from(value);
            // -2^15 has no negative that fits.
            is_small &= value >= -i32::from(LARGEST);
            *sum += i64::from(value * value);
        }
    }
    let target = |&target: &i32| target.unsigned_abs() <= 1 << 30;
    is_small && sums.iter().all(|&sum| sum <= 1 << (2 * BITS)) && targets(tile, layout).iter().all(target)
}

/// Copy one row of a tile, or zeros, into a lane of another tile.
fn copy_row(layout: Layout, from: Option<(&[Line], usize)>, lane: usize, to: &mut [Line]) {
    for index in 0..layout.features() {
        feature_mut(to, index)[lane] = from.map_or(0, |(tile, row)| feature(tile, index)[row]);
    }
    let target = from.map_or(0, |(tile, row)| targets(tile, layout)[target_lane(row)]);
    targets_mut(to, layout)[target_lane(lane)] = target;
}
