//! One batch on its way from rows to tiles, and to X'X on the way.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::layout::{LANES, Layout, Line};
use crate::error::Result;
use crate::kernel::{GRAM_TILES, Lots, Path, gram_pairs};
use crate::rowmap::{Mapper, Missing, RowMap};
use crate::source::{Rows, STRIP, Source, Strip};
use crate::statistics::Gram;
use crate::threads::Execution;

/// Values of a source between two looks at whether to stop.
pub(crate) const WAVE_VALUES: usize = 1 << 24;

/// Rows between two looks at whether to stop: products are added sixty-four in the time that a value is mapped.
pub(crate) fn wave_rows(map: &RowMap, gram: bool, execution: &Execution) -> usize {
    let products = if gram { map.features() * map.features() / 64 } else { 0 };
    // Between two waves threads wait for each other; vector code does more in the same time.
    let values = if execution.path() == Path::portable() { WAVE_VALUES } else { 2 * WAVE_VALUES };
    let values = values.saturating_mul(execution.threads());
    (values / (map.columns().len() + map.features() + products)).max(BLOCK_ROWS)
}

/// Rows that a thread takes at a time, at most.
const BLOCK_ROWS: usize = GRAM_TILES * LANES;
/// Rows whose products can be added in 64 bits, and as many again: 2^32 · 2^30 < 2^63.
const MOST_ROWS: usize = 1 << 31;

/// Rows of a source that is not columnar are copied many at a time if they then still fit the first-level cache with all that is made of them, else a
/// tile at a time.
const STRIP_BYTES: usize = 8 << 10;
/// Rows are fetched ahead if they fit the second-level cache.
const BYTES_AHEAD: usize = 128 << 10;

/// Rows, and what to do with them.
pub(crate) struct Batch<'a> {
    pub(crate) map: &'a RowMap,
    pub(crate) source: &'a dyn Source,
    pub(crate) missing: Missing,
    pub(crate) execution: &'a Execution,
}

/// X'X of a batch, in parts: a thread takes one, adds to it and puts it back.
pub(crate) struct Products {
    pairs: usize,
    parts: Mutex<Vec<Vec<[i64; 4]>>>,
    /// Rows in the parts.
    rows: usize,
    /// What was in the parts before they were full.
    earlier: Option<Gram>,
}

impl Products {
    pub(crate) fn new(map: &RowMap) -> Self {
        let pairs = gram_pairs(Layout::new(map.features()));
        Self { pairs, parts: Mutex::default(), rows: 0, earlier: None }
    }

    fn take(&self) -> Vec<[i64; 4]> {
        let part = self.parts.lock().unwrap_or_else(PoisonError::into_inner).pop();
        part.unwrap_or_else(|| vec![[0; 4]; self.pairs])
    }

    fn put(&self, part: Vec<[i64; 4]>) {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    /// The sum of the parts, which are then gone.
    fn sum(&mut self) -> Vec<[i64; 4]> {
        let mut parts =
            std::mem::take(self.parts.get_mut().unwrap_or_else(PoisonError::into_inner)).into_iter();
        let mut sum = parts.next().unwrap_or_else(|| vec![[0; 4]; self.pairs]);
        for part in parts {
            let (sum, part) = (sum.as_flattened_mut(), part.as_flattened());
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        sum
    }

    /// Say that rows were added; move what is there out of the way of overflow.
    fn added(&mut self, map: &RowMap, rows: usize) -> Result<()> {
        self.rows += rows;
        if self.rows > MOST_ROWS {
            self.rows = 0;
            let sum = self.sum();
            self.earlier.get_or_insert_with(|| Gram::new(map)).add(&sum)?;
        }
        Ok(())
    }

    /// Add all to `gram`, of the same map.
    ///
    /// # Errors
    /// [`crate::error::Error::TooManyRows`]; `gram` is not changed then.
    pub(crate) fn finish(mut self, gram: &mut Gram) -> Result<()> {
        let sum = self.sum();
        match self.earlier {
            None => gram.add(&sum),
            Some(mut earlier) => {
                earlier.add(&sum)?;
                gram.merge(&earlier)
            }
        }
    }
}

/// What a thread needs for its blocks.
struct Room<'a> {
    strip: Strip,
    mapper: Mapper<'a>,
    tiles: Vec<Line>,
    lots: Lots,
    sums: Option<Vec<[i64; 4]>>,
}

impl Batch<'_> {
    /// Map rows into whole tiles, block by block, on all threads: into `place` if there is one, and add their products
    /// to `products` if there are any.
    pub(crate) fn fill(
        &self,
        rows: Range<usize>,
        place: Option<&mut [Line]>,
        products: Option<&mut Products>,
    ) -> Result<()> {
        let layout = Layout::new(self.map.features());
        let path = self.execution.path();
        let block = block_rows(rows.len(), self.execution.threads());
        let block_lines = block / LANES * layout.lines();
        // Without a place, every thread maps its blocks into the same few tiles.
        let lines = if place.is_some() { 0 } else { block_lines };
        let places = place.into_iter().flat_map(|place| place.chunks_mut(block_lines));
        let places = places.map(Some).chain(std::iter::repeat_with(|| None));
        let columns = self.source.columns();
        let near = columns * size_of::<Rows>() <= BYTES_AHEAD;
        let many = self.source.columnar() || columns * size_of::<Rows>() <= STRIP_BYTES;
        let height = if many { STRIP } else { LANES };
        let shared = products.as_deref();
        let room = || Room {
            strip: Strip::new(columns, height),
            mapper: Mapper::new(self.map),
            tiles: bytemuck::zeroed_vec(lines),
            lots: Lots::default(),
            sums: shared.map(Products::take),
        };
        let put = |room: Room| {
            if let (Some(shared), Some(sums)) = (shared, room.sums) {
                shared.put(sums);
            }
        };
        let last = self.execution.fold(
            rows.len() * self.map.features(),
            rows.clone().step_by(block).zip(places),
            room,
            |room, (first, place)| {
                let count = block.min(rows.end - first);
                let tiles = match place {
                    Some(tiles) => tiles,
                    None => &mut room.tiles[..Layout::tiles(count) * layout.lines()],
                };
                for (tile, start) in tiles.chunks_exact_mut(layout.lines()).zip((first..).step_by(LANES)) {
                    let row = (start - first) % height;
                    if row == 0 {
                        room.strip.copy(self.source, start, height.min(first + count - start));
                    }
                    // While a tile is mapped, a later one is on its way from memory.
                    if near {
                        self.source.expect(start + height, LANES);
                    }
                    let rows = row + first + count - start;
                    room.mapper.apply(path, &room.strip, row, rows, self.missing, tile)?;
                }
                if let Some(sums) = &mut room.sums {
                    path.gram(tiles, layout, &mut room.lots, sums);
                }
                Ok(())
            },
            |_, room| {
                put(room);
                Ok(())
            },
        )?;
        put(last);
        products.map_or(Ok(()), |products| products.added(self.map, rows.len()))
    }
}

/// Rows of a block, whole tiles: as many as there may be, but so that no thread waits for another's last block.
fn block_rows(rows: usize, threads: usize) -> usize {
    let blocks = rows.div_ceil(BLOCK_ROWS).next_multiple_of(threads).max(1);
    rows.div_ceil(blocks).next_multiple_of(LANES).max(LANES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rowmap::{Column, Norm, Target};
    use crate::source::Dense;

    #[test]
    fn full_sums_are_put_aside() {
        let target = Target::new(0.0, 1.0, 1.0).unwrap();
        let map = RowMap::new(vec![Column::plain(); 3], target, Norm::Clip, None).unwrap();
        let (x, y): (Vec<f64>, _) = ((0..120).map(|i| f64::from(i % 7) / 9.0).collect(), vec![0.0; 40]);
        let (source, execution) = (Dense::new(&x, &y).unwrap(), Execution::on(Path::detect()));
        let mut expected = Gram::new(&map);
        let mut products = Products::new(&map);
        for turn in 0..4 {
            expected.extend(&map, &source, Missing::Error, &execution, &mut || false).unwrap();
            products.rows += if turn == 1 { MOST_ROWS } else { 0 };
            let batch = Batch { map: &map, source: &source, missing: Missing::Error, execution: &execution };
            batch.fill(0..40, None, Some(&mut products)).unwrap();
            assert_eq!(products.earlier.is_some(), turn > 0);
        }
        let mut found = Gram::new(&map);
        products.finish(&mut found).unwrap();
        assert_eq!(found, expected);
    }

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
