//! A batch of rows, mapped to tiles.

use std::ops::Range;

use bytemuck::Zeroable;

use crate::error::Result;
use crate::execution::{Execution, Path, Stop, waves};
use crate::layout::{LANES, Layout, Line};
use crate::rowmap::{Mapper, RowMap};
use crate::source::{Missing, STRIP, Source, Strip, StripColumn, WAVE_VALUES, check_columns};

/// The most tiles that a thread maps at a time.
pub(crate) const BLOCK_TILES: usize = 64;
const BLOCK_ROWS: usize = BLOCK_TILES * LANES;
/// Rows of a source that is not columnar are copied a strip at a time if the strip is at most this large, so that it fits
/// the first-level cache together with its features; otherwise a tile at a time.
const STRIP_BYTES: usize = 8 << 10;
/// Rows are prefetched if a strip of them fits the second-level cache.
const BYTES_AHEAD: usize = 128 << 10;

/// A sum over rows that is computed while they are mapped. Every thread takes a part, adds tiles to it and puts it back.
pub(crate) trait Sink: Sync {
    /// The partial sum of a thread.
    type Part: Send;

    /// The time to add a row of this many features, in the number of values that are mapped in that time.
    fn cost(features: usize) -> usize;

    /// Return a part that no other thread uses.
    fn take(&self) -> Self::Part;

    /// Add at most [`BLOCK_TILES`] tiles.
    fn add(part: &mut Self::Part, path: Path, tiles: &[Line], layout: Layout);

    /// Give a part back.
    fn put(&self, part: Self::Part);

    /// Record that rows were added, and prepare for more.
    fn added(&mut self, rows: usize) -> Result<()>;

    /// Add all parts to the statistic. On error the statistic is unchanged.
    fn finish(self) -> Result<()>;
}

/// No sum.
impl Sink for () {
    type Part = ();

    fn cost(_: usize) -> usize {
        0
    }

    fn take(&self) {}

    fn add((): &mut (), _: Path, _: &[Line], _: Layout) {}

    fn put(&self, (): ()) {}

    fn added(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn finish(self) -> Result<()> {
        Ok(())
    }
}

/// A batch of rows, and how to map it.
pub(crate) struct Batch<'a> {
    pub(crate) map: &'a RowMap,
    pub(crate) source: &'a dyn Source,
    pub(crate) missing: Missing,
    pub(crate) execution: &'a Execution,
}

/// The buffers of a thread.
struct Buffers<'a, P> {
    strip: Strip,
    mapper: Mapper<'a>,
    tiles: Vec<Line>,
    part: P,
}

impl Batch<'_> {
    /// Add all rows to `sink` without keeping them.
    pub(crate) fn scan<S: Sink>(&self, mut sink: S, stop: Stop<'_>) -> Result<()> {
        check_columns(self.source, self.map.columns().len() + 1)?;
        let wave = wave_rows::<S>(self.map, self.execution);
        waves(self.source.rows(), wave, stop, |rows| self.fill(rows, None, &mut sink))?;
        sink.finish()
    }

    /// Map rows to tiles, block by block, on all threads, and add them to `sink`. The tiles are written to `place` if it is
    /// given.
    pub(crate) fn fill<S: Sink>(
        &self,
        rows: Range<usize>,
        place: Option<&mut [Line]>,
        sink: &mut S,
    ) -> Result<()> {
        let layout = Layout::new(self.map.features());
        let path = self.execution.path();
        let block = block_rows(rows.len(), self.execution.threads());
        let block_lines = block / LANES * layout.lines();
        // Without a place, every thread reuses the same few tiles.
        let lines = if place.is_some() { 0 } else { block_lines };
        let places = place.into_iter().flat_map(|place| place.chunks_mut(block_lines));
        let places = places.map(Some).chain(std::iter::repeat_with(|| None));
        let columns = self.source.columns();
        let near = columns * size_of::<StripColumn>() <= BYTES_AHEAD;
        let many = self.source.columnar() || columns * size_of::<StripColumn>() <= STRIP_BYTES;
        let height = if many { STRIP } else { LANES };
        let shared = &*sink;
        let buffers = || Buffers {
            strip: Strip::new(columns, height),
            mapper: Mapper::new(self.map),
            tiles: bytemuck::zeroed_vec(lines),
            part: shared.take(),
        };
        let last = self.execution.fold(
            rows.len() * self.map.features(),
            rows.clone().step_by(block).zip(places),
            buffers,
            |buffers, (first, place)| {
                let count = block.min(rows.end - first);
                let tiles = match place {
                    Some(tiles) => {
                        clear(tiles);
                        tiles
                    }
                    None => &mut buffers.tiles[..Layout::tiles(count) * layout.lines()],
                };
                for (tile, start) in tiles.chunks_exact_mut(layout.lines()).zip((first..).step_by(LANES)) {
                    let row = (start - first) % height;
                    if row == 0 {
                        buffers.strip.copy(self.source, start, height.min(first + count - start));
                        if self.missing == Missing::Indicator {
                            self.map.replace_missing(&mut buffers.strip);
                        }
                    }
                    // Fetch a later tile from memory while this one is mapped.
                    if near {
                        self.source.expect(start + height, LANES);
                    }
                    let rows = row + first + count - start;
                    buffers.mapper.apply(path, &buffers.strip, row, rows, self.missing, tile)?;
                }
                S::add(&mut buffers.part, path, tiles, layout);
                Ok(())
            },
            |_, buffers| {
                shared.put(buffers.part);
                Ok(())
            },
        )?;
        shared.put(last.part);
        sink.added(rows.len())
    }
}

/// Clear tiles of a store, whose memory may have been used before, just before they are written: they are then still in the
/// cache. Mapping a tile leaves lines between tiles, and a feature that would make their number even, as they are.
pub(super) fn clear(tiles: &mut [Line]) {
    tiles.fill(Line::zeroed());
}

/// The number of rows between two checks whether to stop.
pub(super) fn wave_rows<S: Sink>(map: &RowMap, execution: &Execution) -> usize {
    // Threads wait for each other between two waves; vector code does more in the same time.
    let values = if execution.path() == Path::portable() { WAVE_VALUES } else { 2 * WAVE_VALUES };
    let values = values.saturating_mul(execution.threads());
    (values / (map.columns().len() + map.features() + S::cost(map.features()))).max(BLOCK_ROWS)
}

/// The number of rows in a block, a multiple of a tile: large, but such that all threads get the same number of blocks.
fn block_rows(rows: usize, threads: usize) -> usize {
    let blocks = rows.div_ceil(BLOCK_ROWS).next_multiple_of(threads).max(1);
    rows.div_ceil(blocks).next_multiple_of(LANES).max(LANES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_tiles_and_not_too_many() {
        for threads in [1, 2, 7] {
            for rows in [0, 1, 16, 17, 511, 512, 513, 1024, 7797, 1_000_003] {
                let block = block_rows(rows, threads);
                assert!(block.is_multiple_of(LANES) && (LANES..=BLOCK_ROWS).contains(&block));
                assert!(rows.div_ceil(block) <= rows.div_ceil(BLOCK_ROWS).next_multiple_of(threads));
            }
        }
    }
}
