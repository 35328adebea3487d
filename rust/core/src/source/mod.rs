//! Batches of rows: anything that can copy a block of them.

mod input;
mod scan;
mod transpose;

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result, parameter};
use crate::layout::LANES;

pub(crate) use input::Input;
pub use input::Missing;
pub(crate) use scan::{Scan, WAVE_VALUES};
pub use transpose::{prefetch, transpose};

/// The most rows that are copied at once.
pub const STRIP: usize = 64;

/// One number for each of [`STRIP`] rows, aligned to cache lines.
#[derive(Debug, Clone, Copy, PartialEq, Zeroable, Pod)]
#[repr(C, align(64))]
pub struct StripColumn(pub [f64; STRIP]);

impl StripColumn {
    /// All zero.
    pub const ZERO: Self = Self([0.0; STRIP]);
}

impl Deref for StripColumn {
    type Target = [f64; STRIP];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for StripColumn {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// One number for each row of a tile, aligned to cache lines.
#[derive(Debug, Clone, Copy, PartialEq, Zeroable, Pod)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [f64; LANES]);

/// Copied rows, column by column.
#[derive(Debug, Clone)]
pub struct Strip {
    tiles: usize,
    values: Vec<Lanes>,
}

impl Strip {
    /// Allocate `columns` columns of `rows` rows, which fill whole tiles and are at most [`STRIP`].
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        assert!(rows > 0 && rows <= STRIP && rows.is_multiple_of(LANES));
        Self { tiles: rows / LANES, values: bytemuck::zeroed_vec(columns * rows / LANES) }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.values.len() / self.tiles
    }

    /// The number of rows that fit.
    pub fn rows(&self) -> usize {
        self.tiles * LANES
    }

    /// All values, column by column.
    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.values)
    }

    /// A column, mutable.
    pub fn column_mut(&mut self, column: usize) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.values[column * self.tiles..][..self.tiles])
    }

    /// The columns of the tile that starts at row `first`.
    #[inline(always)]
    pub(crate) fn tile(&self, first: usize) -> impl Iterator<Item = &[f64; LANES]> {
        self.values.chunks_exact(self.tiles).map(move |column| &column[first / LANES].0)
    }

    /// The columns of a strip of [`STRIP`] rows.
    pub(crate) fn whole(&self) -> &[StripColumn] {
        bytemuck::cast_slice(&self.values)
    }

    /// Copy `rows` rows from `start`, and fill the rest of the strip with zeros.
    pub(crate) fn copy(&mut self, source: &dyn Source, start: usize, rows: usize) {
        source.read(start, rows, self);
        if rows < self.rows() {
            for column in 0..self.columns() {
                self.column_mut(column)[rows..].fill(0.0);
            }
        }
    }
}

/// A batch of rows: the columns of x, then the target as the last column.
///
/// # Privacy
/// [`Source::read`] copies rows, and only the copy is used. Another thread that writes to the original at the same time
/// can change which row is seen, but cannot break a bound that was checked on the copy.
pub trait Source: Sync {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// The number of columns, including the target.
    fn columns(&self) -> usize;

    /// Whether the values of a column, and not of a row, are contiguous. Reading few rows at a time is slow then.
    fn columnar(&self) -> bool {
        false
    }

    /// Prepare to read these rows soon. This is a hint: the source may have fewer rows.
    fn expect(&self, start: usize, rows: usize) {
        let _ = (start, rows);
    }

    /// Copy all columns of `rows` rows from `start` to the first rows of `out`, and leave its other rows unchanged.
    fn read(&self, start: usize, rows: usize, out: &mut Strip);
}

/// Check that a source has this number of columns, including the target.
pub(crate) fn check_columns(source: &dyn Source, expected: usize) -> Result<()> {
    let got = source.columns();
    if got == expected {
        Ok(())
    } else {
        Err(Error::Shape { what: "columns including the target", expected, got })
    }
}

/// Rows in slices: `x` row by row, and `y`.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl<'a> Dense<'a> {
    /// Split `x` into rows of `x.len() / y.len()` values.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the length of `x` is not a multiple of the length of `y`. The lengths are not public.
    pub fn new(x: &'a [f64], y: &'a [f64]) -> Result<Self> {
        if x.len().checked_rem(y.len()).unwrap_or(x.len()) != 0 {
            return Err(parameter("x", "rows of equal length, one for each y", "another length"));
        }
        Ok(Self { x, y })
    }
}

impl Source for Dense<'_> {
    fn rows(&self) -> usize {
        self.y.len()
    }

    fn columns(&self) -> usize {
        self.x.len().checked_div(self.y.len()).unwrap_or(0) + 1
    }

    fn expect(&self, start: usize, rows: usize) {
        let row = 8 * (self.columns() - 1);
        prefetch(self.x.as_ptr().cast::<u8>().wrapping_add(start * row), rows * row);
    }

    fn read(&self, start: usize, rows: usize, out: &mut Strip) {
        let width = self.columns() - 1;
        transpose::transpose_slice(&self.x[start * width..][..rows * width], rows, width, out);
        out.column_mut(width)[..rows].copy_from_slice(&self.y[start..][..rows]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_do_not_match_are_not_shown() {
        let error = Dense::new(&vec![0.0; 4321], &vec![0.0; 1234]).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("4321") && !shown.contains("1234"), "{shown}");
    }
}
