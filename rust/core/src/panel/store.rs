//! The store: rows are mapped into it once and passed over many times.

mod pass;

use std::path::PathBuf;

use bytemuck::Zeroable;

use super::batch::{Batch, Products, wave_rows};
use super::layout::{BITS, LANES, LARGEST, Layout, Line, feature_mut, target_lane, targets_mut};
use super::segment::Segment;
use crate::error::{Error, Result};
use crate::rowmap::{Missing, RowMap};
use crate::source::Source;
use crate::statistics::Gram;
use crate::statistics::blob::{Reader, Writer};
use crate::threads::{Execution, Stop, waves};

/// Lines in a segment that goes to a file: 32 MiB.
const FILE_LINES: usize = 1 << 19;

/// Where the rows are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Backing {
    /// In memory.
    #[default]
    Memory,
    /// In files without a name in this directory, which the system removes with the process.
    Directory(PathBuf),
}

/// Quantised rows in the layout of [`Layout`], two bytes a value.
///
/// # Privacy
/// Holds rows, exactly: it is private, and nothing of it is printed. Every row satisfies Σq² ≤ 2^30
/// ([`crate::rowmap`]).
pub struct Panel {
    map: RowMap,
    layout: Layout,
    backing: Backing,
    segments: Vec<Segment>,
    /// Rows that lie in the last segment, rows left out included.
    filled: usize,
}

impl std::fmt::Debug for Panel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Panel").field("features", &self.layout.features()).finish_non_exhaustive()
    }
}

impl Panel {
    /// An empty store for rows of this map.
    pub fn new(map: RowMap, backing: Backing) -> Self {
        let layout = Layout::new(map.features());
        Self { map, layout, backing, segments: Vec::new(), filled: 0 }
    }

    /// The map that rows go through.
    pub fn map(&self) -> &RowMap {
        &self.map
    }

    /// Map the rows of a batch into the store and add their products to `gram`.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::Io`], [`Error::Interrupted`]; then neither the store nor
    /// `gram` holds anything of the batch.
    pub fn extend(
        &mut self,
        source: &dyn Source,
        missing: Missing,
        gram: Option<&mut Gram>,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        gram.as_ref().map_or(Ok(()), |gram| gram.check_map(&self.map))?;
        self.map.check_columns(source.columns())?;
        let (segments, filled) = (self.segments.len(), self.filled);
        let mut products = gram.as_ref().map(|_| Products::new(&self.map));
        let wave = wave_rows(&self.map, gram.is_some(), execution);
        let result = waves(source.rows(), wave, stop, |rows| {
            let (mut start, end) = (rows.start, rows.end);
            while start < end {
                let taken = self.take(source, start, end, missing, products.as_mut(), execution)?;
                start += taken;
            }
            Ok(())
        });
        let result = result.and_then(|()| match (gram, products) {
            (Some(gram), Some(products)) => products.finish(gram),
            _ => Ok(()),
        });
        if result.is_err() {
            self.truncate(segments, filled)?;
        }
        result
    }

    /// Go back to a state in which the store had `segments` segments, the last with `filled` rows.
    fn truncate(&mut self, segments: usize, filled: usize) -> Result<()> {
        self.segments.truncate(segments);
        self.filled = filled;
        if let Some(last) = self.segments.last_mut() {
            // It may have been filled up and moved to a file since. If it cannot be had back, nothing is left: fewer
            // rows than there were, never rows of a batch that failed.
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

    /// Map as many rows from `start` as the last segment, or a new one, has room for.
    fn take(
        &mut self,
        source: &dyn Source,
        start: usize,
        end: usize,
        missing: Missing,
        products: Option<&mut Products>,
        execution: &Execution,
    ) -> Result<usize> {
        let room = |last: &mut Segment| last.lines_mut().len() / self.layout.lines() * LANES;
        let mut capacity = self.segments.last_mut().map_or(0, room);
        if self.segments.is_empty() || self.filled >= capacity {
            if let (Backing::Directory(directory), Some(last)) = (&self.backing, self.segments.last_mut()) {
                last.spill(directory)?;
            }
            let tiles = self.new_tiles(source.rows() - start);
            let lines = tiles.checked_mul(self.layout.lines()).ok_or(Error::TooManyRows)?;
            self.segments.push(Segment::new(lines)?);
            (self.filled, capacity) = (0, tiles * LANES);
        }
        let lane = self.filled % LANES;
        let Some(last) = self.segments.last_mut() else { return Ok(0) };
        let place = &mut last.lines_mut()[self.filled / LANES * self.layout.lines()..];
        let mut rows = (end - start).min(capacity - self.filled);
        if lane > 0 {
            rows = rows.min(LANES - lane);
            let batch = Batch { map: &self.map, source, missing, execution };
            let mut tile: Vec<Line> = bytemuck::zeroed_vec(self.layout.lines());
            batch.fill(start..start + rows, Some(&mut tile), products)?;
            for row in 0..rows {
                copy_row(self.layout, Some((&tile, row)), lane + row, &mut place[..self.layout.lines()]);
            }
        } else {
            let place = Some(&mut place[..Layout::tiles(rows) * self.layout.lines()]);
            Batch { map: &self.map, source, missing, execution }.fill(
                start..start + rows,
                place,
                products,
            )?;
        }
        self.filled += rows;
        Ok(rows)
    }

    /// Tiles of the next segment: what is asked for, but not little by little.
    fn new_tiles(&self, rows: usize) -> usize {
        match self.backing {
            Backing::Memory => {
                let held: usize = self.segments.iter().map(|segment| segment.lines().len()).sum();
                Layout::tiles(rows).max((held / 2).clamp(1 << 10, FILE_LINES) / self.layout.lines()).max(1)
            }
            Backing::Directory(_) => (FILE_LINES / self.layout.lines()).max(1),
        }
    }

    /// The segments and the lines of each that hold rows.
    fn used(&self) -> impl Iterator<Item = (&Segment, &[Line])> {
        let last = self.segments.len().saturating_sub(1);
        self.segments.iter().enumerate().map(move |(index, segment)| {
            let lines = segment.lines();
            let used =
                if index == last { Layout::tiles(self.filled) * self.layout.lines() } else { lines.len() };
            (segment, &lines[..used])
        })
    }

    /// The rows as bytes, to move between trusted processes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("rows", self.map.key());
        for (_, lines) in self.used() {
            writer.bytes(bytemuck::cast_slice(lines));
        }
        writer.finish()
    }

    /// The store that [`Panel::to_bytes`] wrote, for the same map.
    ///
    /// # Errors
    /// [`Error::Blob`] if the bytes are not such a store, [`Error::Mismatch`] if the map is another one.
    pub fn from_bytes(map: RowMap, bytes: &[u8]) -> Result<Self> {
        let (key, reader) = Reader::new("rows", bytes)?;
        if key != map.key() {
            return Err(Error::Mismatch("row maps"));
        }
        let mut panel = Self::new(map, Backing::Memory);
        let body = reader.rest();
        if body.len() % panel.layout.bytes() != 0 {
            return Err(Error::Blob { kind: "rows", reason: "wrong length" });
        }
        if !body.is_empty() {
            let mut segment = Segment::new(body.len() / size_of::<Line>())?;
            bytemuck::cast_slice_mut(segment.lines_mut()).copy_from_slice(body);
            if !segment
                .lines()
                .chunks_exact(panel.layout.lines())
                .all(|tile| within_bound(tile, panel.layout))
            {
                return Err(Error::Blob { kind: "rows", reason: "a row is longer than its bound" });
            }
            panel.segments.push(segment);
            panel.filled = body.len() / panel.layout.bytes() * LANES;
        }
        Ok(panel)
    }
}

/// Whether every row of a tile satisfies Σq² ≤ 2^30 and has targets in range: what comes from outside is checked.
fn within_bound(tile: &[Line], layout: Layout) -> bool {
    let row = |lane: usize| {
        let mut values =
            (0..layout.features()).map(|index| i64::from(super::layout::feature(tile, index)[lane]));
        values.clone().all(|value| value.abs() <= LARGEST.into())
            && values.by_ref().map(|value| value * value).sum::<i64>() <= 1 << (2 * BITS)
    };
    let target = |&target: &i32| target.unsigned_abs() <= 1 << 30;
    (0..LANES).all(row) && super::layout::targets(tile, layout).iter().all(target)
}

/// Copy one row of a tile into a lane of another, or zeros.
fn copy_row(layout: Layout, from: Option<(&[Line], usize)>, lane: usize, to: &mut [Line]) {
    for index in 0..layout.features() {
        feature_mut(to, index)[lane] = from.map_or(0, |(tile, row)| super::layout::feature(tile, index)[row]);
    }
    let target = from.map_or(0, |(tile, row)| super::layout::targets(tile, layout)[target_lane(row)]);
    targets_mut(to, layout)[target_lane(lane)] = target;
}
