//! One batch on its way from rows to tiles, and to X'X on the way.

use std::ops::Range;

use super::layout::{LANES, Layout, Line};
use crate::error::Result;
use crate::kernel::{Lots, MOST_TILES, gram_pairs};
use crate::rowmap::{Input, Mapper, Missing, RowMap};
use crate::source::{STRIP, Source};
use crate::statistics::Gram;
use crate::threads::Execution;

/// Values of a source between two looks at whether to stop.
pub(crate) const WAVE_VALUES: usize = 1 << 24;

/// Rows between two looks at whether to stop: products are added sixty-four in the time that a value is mapped.
pub(crate) fn wave_rows(map: &RowMap, gram: bool) -> usize {
    let products = if gram { map.features() * map.features() / 64 } else { 0 };
    (WAVE_VALUES / (map.columns().len() + map.features() + products)).max(BLOCK_ROWS)
}

/// Rows that a thread takes at a time: as many as the Gram kernel adds up in 32 bits.
const BLOCK_ROWS: usize = MOST_TILES * LANES;

/// Rows, and what to do with them.
pub(crate) struct Batch<'a> {
    pub(crate) map: &'a RowMap,
    pub(crate) source: &'a dyn Source,
    pub(crate) missing: Missing,
    pub(crate) execution: &'a Execution,
}

/// What a thread needs for its blocks.
struct Room<'a> {
    input: Input,
    mapper: Mapper<'a>,
    tiles: Vec<Line>,
    lots: Lots,
    sums: Vec<[i64; 4]>,
}

impl Batch<'_> {
    /// Map rows into whole tiles, block by block, on all threads: into `place` if there is one, and add their products
    /// to `gram` if there is one.
    pub(crate) fn fill(
        &self,
        rows: Range<usize>,
        place: Option<&mut [Line]>,
        gram: Option<&mut Gram>,
    ) -> Result<()> {
        let layout = Layout::new(self.map.features());
        let path = self.execution.path();
        let block_lines = MOST_TILES * layout.lines();
        let pairs = if gram.is_some() { gram_pairs(layout) } else { 0 };
        // Without a place, every thread maps its blocks into the same few tiles.
        let lines = if place.is_some() { 0 } else { block_lines };
        let places = place.into_iter().flat_map(|place| place.chunks_mut(block_lines));
        let places = places.map(Some).chain(std::iter::repeat_with(|| None));
        let room = || Room {
            input: Input::new(),
            mapper: Mapper::new(self.map),
            tiles: bytemuck::zeroed_vec(lines),
            lots: Lots::default(),
            sums: vec![[0; 4]; pairs],
        };
        let total = self.execution.fold(
            rows.len() * self.map.features(),
            rows.clone().step_by(BLOCK_ROWS).zip(places),
            room,
            |room, (first, place)| {
                let count = BLOCK_ROWS.min(rows.end - first);
                let tiles = match place {
                    Some(tiles) => tiles,
                    None => &mut room.tiles[..Layout::tiles(count) * layout.lines()],
                };
                let strips = tiles.chunks_mut(STRIP / LANES * layout.lines());
                for (tiles, start) in strips.zip((first..first + count).step_by(STRIP)) {
                    let rows = STRIP.min(first + count - start);
                    room.input.copy(self.source, start, rows);
                    room.mapper.apply(path, &room.input, rows, self.missing, tiles)?;
                }
                if pairs > 0 {
                    path.gram(tiles, layout, &mut room.lots, &mut room.sums);
                }
                Ok(())
            },
            |a, b| {
                a.sums.as_flattened_mut().iter_mut().zip(b.sums.as_flattened()).for_each(|(a, b)| *a += b);
                Ok(())
            },
        )?;
        gram.map_or(Ok(()), |gram| gram.add(&total.sums))
    }
}
