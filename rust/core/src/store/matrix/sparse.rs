//! Products with rows in which few features of a column vary: one of its ramps or levels.
//!
//! The ramps between the middle of a column and x are full and have the same size as the constant, c, one is partly full, and
//! the others are zero. So a row's product with column k of the matrix is Σ (c·s + q·m), one term for each column of x: m is
//! the entry of the ramp that varies and s the sum of the entries of the full ones. Both are looked up. All sums are exact, so
//! this is what products with every feature add up to; rows that are different (by rounding) are found and multiplied feature
//! by feature.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod simd;

use wide::{i16x8, i32x4};

use super::Matrix;
use crate::execution::{Kind as PathKind, Path};
use crate::layout::{LANES, Layout, Line, feature};
use crate::rowmap::{Run, RunKind};
use crate::source::Lanes;
use crate::store::theta::{LOW_BITS, split};

/// Columns of the matrix that are multiplied together. With fewer, more entries would stay in the first-level cache, but rows
/// would be looked up more often, which takes longer.
const WIDTH: usize = 32;
/// Tiles that are multiplied together.
pub(in crate::store) const TILES: usize = 8;

/// What a feature needs of [`WIDTH`] columns: entries `[m, s]`, split like those of the matrix into high and low parts.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Entries {
    high: [[i16; 2]; WIDTH],
    low: [[i16; 2]; WIDTH],
}

impl Entries {
    const ZERO: Self = Self { high: [[0; 2]; WIDTH], low: [[0; 2]; WIDTH] };
}

/// [`WIDTH`] columns of the matrix.
#[derive(Debug)]
struct Strip {
    /// The runs that are not zero in all of these columns.
    runs: Vec<usize>,
    /// For every feature.
    entries: Vec<Entries>,
}

/// A matrix for rows that consist of runs.
#[derive(Debug)]
pub(in crate::store) struct Sparse {
    runs: Vec<Run>,
    strips: Vec<Strip>,
}

/// The runs of the rows of a tile: for every run and row, which feature varies, and the factors `[q, c]`.
#[derive(Debug, Clone)]
struct Found {
    /// Whether a row does not consist of runs.
    is_wrong: bool,
    places: Vec<[i16; LANES]>,
    factors: Vec<[[i16; 2]; LANES]>,
}

/// Sums of [`WIDTH`] columns for every row of a tile.
type Sums = [[i32; WIDTH]; LANES];

/// What [`Sparse::multiply`] writes.
#[derive(Debug)]
pub(in crate::store) struct Buffers {
    /// For every tile.
    found: Vec<Found>,
    /// For every strip and tile.
    sums: Vec<Sums>,
}

impl Sparse {
    /// Return the matrix for rows of these runs, the constant last; `None` if that saves little or is not possible.
    pub(in crate::store) fn new(matrix: &Matrix, runs: &[Run]) -> Option<Self> {
        let constant = runs.last().is_some_and(|run| run.kind == RunKind::Single);
        if !constant || 2 * runs.len() > matrix.inputs {
            return None;
        }
        let starts = (0..matrix.outputs).step_by(WIDTH);
        let strips = starts.map(|start| Strip::new(matrix, runs, start)).collect::<Option<_>>()?;
        Some(Self { runs: runs.to_vec(), strips })
    }

    /// Allocate what [`Sparse::multiply`] needs.
    pub(in crate::store) fn buffers(&self) -> Buffers {
        let runs = self.runs.len();
        let found =
            Found { is_wrong: false, places: vec![[0; LANES]; runs], factors: vec![[[0; 2]; LANES]; runs] };
        Buffers { found: vec![found; TILES], sums: vec![[[0; WIDTH]; LANES]; TILES * self.strips.len()] }
    }

    /// Multiply the rows of at most [`TILES`] tiles. A few columns of the matrix are used for all of them while they are in
    /// the cache.
    pub(in crate::store) fn multiply(
        &self,
        path: Path,
        tiles: &[Line],
        layout: Layout,
        buffers: &mut Buffers,
    ) {
        let number = tiles.len() / layout.lines();
        for (tile, found) in tiles.chunks_exact(layout.lines()).zip(&mut buffers.found) {
            path.run(
                #[inline(always)]
                || self.find(tile, found),
            );
        }
        let found = &buffers.found[..number];
        for (strip, sums) in self.strips.iter().zip(buffers.sums.chunks_mut(TILES)) {
            for (found, sums) in found.iter().zip(sums) {
                match path.kind() {
                    PathKind::Portable => strip.sums(found, sums),
                    #[cfg(target_arch = "x86_64")]
                    PathKind::Avx2 => simd::sums(strip, found, sums),
                    #[cfg(target_arch = "x86_64")]
                    PathKind::Avx512 => simd::sums_wide(strip, found, sums),
                }
            }
        }
    }

    /// Write the products of the rows of a tile that was multiplied before with every column, and return the sum of their
    /// squares for every row, like [`Matrix::multiply`]; `None` if a row does not consist of runs.
    pub(in crate::store) fn products(
        matrix: &Matrix,
        path: Path,
        tile: usize,
        buffers: &Buffers,
        products: &mut [Lanes],
    ) -> Option<Lanes> {
        if buffers.found[tile].is_wrong {
            return None;
        }
        let mut squares = Lanes([0.0; LANES]);
        let columns = products.chunks_mut(WIDTH).zip(matrix.scales.chunks(WIDTH));
        for (sums, (products, scales)) in buffers.sums.chunks(TILES).zip(columns) {
            match path.kind() {
                PathKind::Portable => doubles(&sums[tile], scales, products, &mut squares),
                #[cfg(target_arch = "x86_64")]
                PathKind::Avx2 => simd::doubles(&sums[tile], scales, products, &mut squares),
                #[cfg(target_arch = "x86_64")]
                PathKind::Avx512 => simd::doubles_wide(&sums[tile], scales, products, &mut squares),
            }
        }
        Some(squares)
    }

    /// Find the feature of every run that varies, for every row of a tile, and whether all rows consist of runs.
    #[inline(always)]
    fn find(&self, tile: &[Line], found: &mut Found) {
        let Some(last) = self.runs.last() else { return };
        let constant = *feature(tile, last.first);
        let mut wrong = [0; LANES];
        let places = found.places.iter_mut().zip(&mut found.factors);
        for (run, (places, factors)) in self.runs.iter().zip(places) {
            let mut varies = [0; LANES];
            match run.kind {
                RunKind::Single => {
                    varies = *feature(tile, run.first);
                    *places = [run.first as i16; LANES];
                }
                RunKind::Levels => {
                    *places = [run.first as i16; LANES];
                    for index in run.first..run.first + run.len {
                        let values = feature(tile, index);
                        for lane in 0..LANES {
                            let here = mask(values[lane] != 0);
                            wrong[lane] |= here & varies[lane];
                            varies[lane] |= values[lane];
                            places[lane] = select(here, index as i16, places[lane]);
                        }
                    }
                }
                RunKind::Ramps { middle } => {
                    let negative = constant.map(|value| -value);
                    let fall = (run.first..run.first + middle).rev();
                    let (left, falls) = side(tile, fall, &negative, &mut wrong);
                    let rise = run.first + middle..run.first + run.len;
                    let (right, rises) = side(tile, rise, &constant, &mut wrong);
                    for lane in 0..LANES {
                        // A row is on one side of the middle.
                        let is_left = mask(falls.any[lane] != 0);
                        wrong[lane] |= is_left & rises.any[lane];
                        varies[lane] = select(is_left, left[lane], right[lane]);
                        places[lane] = select(is_left, falls.place[lane], rises.place[lane]);
                    }
                }
            }
            for lane in 0..LANES {
                factors[lane] = [varies[lane], constant[lane]];
            }
        }
        found.is_wrong = wrong != [0; LANES];
    }
}

/// Where the rows of a tile are on one side of a column's middle.
struct Side {
    /// The ramp that varies.
    place: [i16; LANES],
    /// Not zero for rows on this side.
    any: [i16; LANES],
}

/// Go over ramps from the middle outwards: full ones, one that varies, and zeros. Return the value that varies, and where.
#[inline(always)]
fn side(
    tile: &[Line],
    ramps: impl Iterator<Item = usize>,
    full: &[i16; LANES],
    wrong: &mut [i16; LANES],
) -> ([i16; LANES], Side) {
    let mut found = Side { place: [0; LANES], any: [0; LANES] };
    let mut varies = [0; LANES];
    let mut open = [-1; LANES];
    for index in ramps {
        let values = feature(tile, index);
        for lane in 0..LANES {
            let value = values[lane];
            wrong[lane] |= !open[lane] & value;
            varies[lane] = select(open[lane], value, varies[lane]);
            found.place[lane] = select(open[lane], index as i16, found.place[lane]);
            found.any[lane] |= value;
            open[lane] &= mask(value == full[lane]);
        }
    }
    (varies, found)
}

/// All bits, or none.
#[inline(always)]
fn mask(condition: bool) -> i16 {
    -i16::from(condition)
}

#[inline(always)]
fn select(mask: i16, one: i16, other: i16) -> i16 {
    (mask & one) | (!mask & other)
}

impl Strip {
    /// Return the entries of some columns, or `None` if a sum of them does not fit 16 bits.
    fn new(matrix: &Matrix, runs: &[Run], start: usize) -> Option<Self> {
        let outputs = start..matrix.outputs.min(start + WIDTH);
        let mut strip = Self { runs: Vec::new(), entries: vec![Entries::ZERO; matrix.inputs] };
        for (place, run) in runs.iter().enumerate() {
            let mut any = false;
            for (column, output) in outputs.clone().enumerate() {
                for index in run.first..run.first + run.len {
                    let varies = matrix.integer(index, output);
                    let full: i64 = match run.kind {
                        RunKind::Single | RunKind::Levels => 0,
                        RunKind::Ramps { middle } if index < run.first + middle => -(index + 1
                            ..run.first + middle)
                            .map(|full| matrix.integer(full, output))
                            .sum::<i64>(),
                        RunKind::Ramps { middle } => {
                            (run.first + middle..index).map(|full| matrix.integer(full, output)).sum()
                        }
                    };
                    any |= varies != 0 || full != 0;
                    let entries = &mut strip.entries[index];
                    for (part, entry) in [varies, full].into_iter().enumerate() {
                        // The low part is at most 512, and the rest must fit 16 bits.
                        if entry.abs() >= i64::from(i16::MAX) << LOW_BITS {
                            return None;
                        }
                        let (high, low) = split(entry as f64);
                        (entries.high[column][part], entries.low[column][part]) = (high, low);
                    }
                }
            }
            if any {
                strip.runs.push(place);
            }
        }
        Some(strip)
    }

    /// Compute the sums of products divided by 2^10 and rounded down.
    ///
    /// Neither part can overflow 32 bits. The factors `[q, c]` of all runs are values of features, each of them once, and all
    /// low parts are at most 512: the bounds are those of [`Matrix`].
    fn sums(&self, found: &Found, sums: &mut Sums) {
        for (lane, sums) in sums.iter_mut().enumerate() {
            let mut totals = [[i32x4::ZERO; WIDTH / 4]; 2];
            for &run in &self.runs {
                let [q, c] = found.factors[run][lane];
                let factors = i16x8::new([q, c, q, c, q, c, q, c]);
                let entries = &self.entries[found.places[run][lane] as usize];
                for (totals, entries) in totals.iter_mut().zip([&entries.high, &entries.low]) {
                    let (entries, _) = entries.as_flattened().as_chunks::<8>();
                    for (total, &entries) in totals.iter_mut().zip(entries) {
                        *total += i16x8::new(entries).dot(factors);
                    }
                }
            }
            let [high, low] = totals.map(|totals| totals.map(i32x4::to_array));
            for (sum, (high, low)) in sums.iter_mut().zip(high.as_flattened().iter().zip(low.as_flattened()))
            {
                *sum = high.wrapping_add(low >> LOW_BITS);
            }
        }
    }
}

/// Scale sums, and add their squares in the order of the columns.
fn doubles(sums: &Sums, scales: &[f64], products: &mut [Lanes], squares: &mut Lanes) {
    for (column, (Lanes(products), &scale)) in products.iter_mut().zip(scales).enumerate() {
        for lane in 0..LANES {
            let product = f64::from(sums[lane][column]) * scale;
            products[lane] = product;
            squares.0[lane] += product * product;
        }
    }
}
