//! Stored rows, mapped to rows by a public matrix.

use super::batch::{BLOCK_TILES, Sink, clear};
use super::matrix::{Buffers, Sparse, TILES};
use super::{Backing, FILE_LINES, Matrix, Store};
use crate::error::{Error, Result};
use crate::execution::{Execution, Path, Stop, waves};
use crate::layout::{LANES, Layout, Line, target_lane, targets, targets_mut};
use crate::rowmap::quantise_bounded;
use crate::source::{Lanes, WAVE_VALUES};

impl Store {
    /// Map every row to a row by a public matrix. With z = (q·2^−15)·M ([`Matrix`]) and w = min(1, 1/‖z‖), the new row is
    /// 2^15·w·z and its target w times the old one, both rounded toward zero. The result cannot be extended.
    ///
    /// # Privacy
    /// A new row depends on one row and on the matrix only, and satisfies Σq² ≤ 2^30.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix does not fit the rows, [`Error::Io`], [`Error::Interrupted`].
    pub fn mapped(
        &self,
        matrix: &Matrix,
        backing: Backing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let mut mapped = self.before_mapping(matrix, backing)?;
        let (from, to) = (self.layout.lines(), mapped.layout.lines());
        for (segment, lines) in self.used() {
            let tiles = match mapped.backing {
                Backing::Memory => lines.len() / from,
                Backing::Directory(_) => FILE_LINES / to,
            };
            for part in lines.chunks(tiles.max(1) * from) {
                let tiles = part.len() / from;
                let mut old = None;
                if let (Backing::Directory(directory), Some(last)) =
                    (&mapped.backing, mapped.segments.last_mut())
                {
                    old = last.spill(directory)?;
                }
                let lines = tiles.checked_mul(to).ok_or(Error::TooManyRows)?;
                mapped.memory.put(old.into_iter());
                let mut new = mapped.memory.take(lines)?;
                self.map_tiles(matrix, part, Some(new.lines_mut()), &mut (), execution, stop)?;
                mapped.segments.push(new);
                mapped.filled = tiles * LANES;
            }
            segment.forget();
        }
        Ok(mapped)
    }

    /// Map every row and add the new rows to `sink`, without storing them.
    pub(crate) fn scan_mapped<S: Sink>(
        &self,
        matrix: &Matrix,
        mut sink: S,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        for (segment, lines) in self.used() {
            self.map_tiles(matrix, lines, None, &mut sink, execution, stop)?;
            segment.forget();
        }
        sink.finish()
    }

    /// Create an empty store for mapped rows.
    pub(super) fn before_mapping(&self, matrix: &Matrix, backing: Backing) -> Result<Self> {
        let key = self.key_mapped(matrix)?;
        let layout = Layout::new(matrix.outputs());
        let (map, memory) = (self.map.clone(), self.memory.clone());
        Ok(Self { map, key, layout, backing, memory, segments: Vec::new(), filled: 0 })
    }

    /// Return the key of mapped rows.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix does not fit the rows.
    pub(crate) fn key_mapped(&self, matrix: &Matrix) -> Result<u64> {
        matrix.check_inputs(self.layout.features())?;
        Ok(matrix.key_after(self.key))
    }

    /// Map tiles to tiles on all threads, and add them to `sink`. The tiles are written to `place` if it is given.
    fn map_tiles<S: Sink>(
        &self,
        matrix: &Matrix,
        tiles: &[Line],
        mut place: Option<&mut [Line]>,
        sink: &mut S,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        let (from, to) = (self.layout.lines(), Layout::new(matrix.outputs()).lines());
        let total = tiles.len() / from;
        // Rows that were not mapped before consist of runs.
        let sparse = if self.key == self.map.key() { Sparse::new(matrix, &self.map.runs()) } else { None };
        waves(total, wave_tiles::<S>(matrix, execution), stop, |wave| {
            // All threads get the same number of blocks, which fit the caches.
            let blocks = wave.len().div_ceil(BLOCK_TILES).next_multiple_of(execution.threads());
            let block = wave.len().div_ceil(blocks);
            let places = place.as_deref_mut().map(|place| &mut place[wave.start * to..wave.end * to]);
            let lines = if places.is_some() { 0 } else { block * to };
            let places = places.into_iter().flat_map(|place| place.chunks_mut(block * to)).map(Some);
            let items = tiles[wave.start * from..wave.end * from]
                .chunks(block * from)
                .zip(places.chain(std::iter::repeat_with(|| None)));
            let shared = &*sink;
            let last = execution.fold(
                wave.len() * LANES * cost(matrix),
                items,
                || {
                    (
                        Mapping::new(matrix, sparse.as_ref()),
                        bytemuck::zeroed_vec::<Line>(lines),
                        shared.take(),
                    )
                },
                |(mapping, buffer, part), (block, place)| {
                    let mapped = match place {
                        Some(mapped) => {
                            clear(mapped);
                            mapped
                        }
                        None => &mut buffer[..block.len() / from * to],
                    };
                    for (tiles, out) in block.chunks(TILES * from).zip(mapped.chunks_mut(TILES * to)) {
                        mapping.apply(execution.path(), tiles, self.layout, out);
                    }
                    S::add(part, execution.path(), mapped, mapping.layout);
                    Ok(())
                },
                |_, (_, _, part)| {
                    shared.put(part);
                    Ok(())
                },
            )?;
            shared.put(last.2);
            sink.added(wave.len() * LANES)
        })
    }
}

/// The time to map a row, in the number of values that a row map computes in that time.
fn cost(matrix: &Matrix) -> usize {
    matrix.outputs() * (1 + matrix.inputs() / 16)
}

/// The number of tiles between two checks whether to stop.
fn wave_tiles<S: Sink>(matrix: &Matrix, execution: &Execution) -> usize {
    let values = WAVE_VALUES.saturating_mul(execution.threads());
    (values / (cost(matrix) + S::cost(matrix.outputs())) / LANES).max(BLOCK_TILES)
}

/// The map of a tile, with buffers that are reused for the next tile.
struct Mapping<'a> {
    matrix: &'a Matrix,
    sparse: Option<(&'a Sparse, Buffers)>,
    layout: Layout,
    lines: Vec<Line>,
    products: Vec<Lanes>,
}

impl<'a> Mapping<'a> {
    fn new(matrix: &'a Matrix, sparse: Option<&'a Sparse>) -> Self {
        let layout = Layout::new(matrix.outputs());
        let products = vec![Lanes([0.0; LANES]); matrix.outputs()];
        let sparse = sparse.map(|sparse| (sparse, sparse.buffers()));
        Self { matrix, sparse, layout, lines: bytemuck::zeroed_vec(matrix.lines()), products }
    }

    /// Map at most [`TILES`] tiles to tiles.
    fn apply(&mut self, path: Path, tiles: &[Line], layout: Layout, out: &mut [Line]) {
        if let Some((sparse, buffers)) = &mut self.sparse {
            sparse.multiply(path, tiles, layout, buffers);
        }
        let places = out.chunks_exact_mut(self.layout.lines());
        for (index, (tile, out)) in tiles.chunks_exact(layout.lines()).zip(places).enumerate() {
            let squares = self.products(path, index, tile);
            let weights = quantise_bounded(path, &self.products, &squares, self.layout, out);
            let (from, to) = (targets(tile, layout), targets_mut(out, self.layout));
            for lane in 0..LANES {
                let place = target_lane(lane);
                // A cast rounds toward zero. A weight of one changes nothing: 31 bits are exact in a double.
                to[place] = (f64::from(from[place]) * weights.0[lane]) as i32;
            }
        }
    }

    /// Write the products of a tile's rows with the matrix; return the sum of their squares for every row.
    fn products(&mut self, path: Path, index: usize, tile: &[Line]) -> Lanes {
        let known = self
            .sparse
            .as_ref()
            .and_then(|(_, buffers)| Sparse::products(self.matrix, path, index, buffers, &mut self.products));
        known.unwrap_or_else(|| self.matrix.multiply(path, tile, &mut self.lines, &mut self.products))
    }
}
