//! Where rows come from: anything that can copy a block of them.

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

use crate::kernel::Path;
use crate::panel::layout::LANES;

/// Rows that are copied together, at most.
pub const STRIP: usize = 64;

/// A number for each of [`STRIP`] rows, in whole cache lines.
#[derive(Debug, Clone, Copy, PartialEq, Zeroable, Pod)]
#[repr(C, align(64))]
pub struct Rows(pub [f64; STRIP]);

impl Rows {
    /// All zero.
    pub const ZERO: Self = Self([0.0; STRIP]);
}

impl Deref for Rows {
    type Target = [f64; STRIP];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Rows {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// A number for each row of a tile, in whole cache lines.
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
    /// Room for `columns` columns of `rows` rows, a number of whole tiles, at most [`STRIP`].
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        assert!(rows > 0 && rows <= STRIP && rows.is_multiple_of(LANES));
        Self { tiles: rows / LANES, values: bytemuck::zeroed_vec(columns * rows / LANES) }
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.values.len() / self.tiles
    }

    /// Rows that there is room for.
    pub fn rows(&self) -> usize {
        self.tiles * LANES
    }

    /// All values, column by column.
    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.values)
    }

    /// A column, to write.
    pub fn column_mut(&mut self, column: usize) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.values[column * self.tiles..][..self.tiles])
    }

    /// The columns of the tile that begins with row `first`.
    #[inline(always)]
    pub(crate) fn tile(&self, first: usize) -> impl Iterator<Item = &[f64; LANES]> {
        self.values.chunks_exact(self.tiles).map(move |column| &column[first / LANES].0)
    }

    /// The columns of a strip with room for [`STRIP`] rows.
    pub(crate) fn whole(&self) -> &[Rows] {
        bytemuck::cast_slice(&self.values)
    }

    /// Copy `rows` rows from `start`; those that there is more room for become zero.
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
/// [`Source::read`] copies, and what it copied is all that is looked at: whoever changes the original
/// meanwhile can change which row is seen, but not break a bound that was checked on the copy.
pub trait Source: Sync {
    /// Rows.
    fn rows(&self) -> usize;

    /// Columns, the target included.
    fn columns(&self) -> usize;

    /// Whether columns lie side by side and not rows: then few rows at a time are a poor use of memory.
    fn columnar(&self) -> bool {
        false
    }

    /// Hear that these rows will be read soon. A hint: there need not be as many.
    fn expect(&self, start: usize, rows: usize) {
        let _ = (start, rows);
    }

    /// Copy `rows` rows from `start`, as many columns as there are. Places of other rows are left as they are.
    fn read(&self, start: usize, rows: usize, out: &mut Strip);
}

/// Rows in slices: `x` row by row, and `y`.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl<'a> Dense<'a> {
    /// Rows of `x.len() / y.len()` values each.
    ///
    /// # Errors
    /// [`crate::error::Error::Shape`] if `x` does not hold a whole number of values per row.
    pub fn new(x: &'a [f64], y: &'a [f64]) -> crate::error::Result<Self> {
        if x.len().checked_rem(y.len()).unwrap_or(x.len()) != 0 {
            return Err(crate::error::Error::Shape { what: "rows", expected: y.len(), got: x.len() });
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

    #[allow(unsafe_code)]
    fn read(&self, start: usize, rows: usize, out: &mut Strip) {
        let width = self.columns() - 1;
        let block = &self.x[start * width..][..rows * width];
        // SAFETY: the block is that many rows, side by side.
        unsafe { transpose(block.as_ptr().cast(), 8 * width as isize, rows, width, out) };
        out.column_mut(width)[..rows].copy_from_slice(&self.y[start..][..rows]);
    }
}

/// Copy rows of `width` doubles into the first columns of a strip. A row's doubles lie side by side, wherever in memory;
/// the next row begins `stride` bytes further.
///
/// Memory is only copied: no value is looked at on its way, so whoever writes to it meanwhile can change what is copied
/// and nothing else.
///
/// # Panics
/// If the strip has less room.
///
/// # Safety
/// The rows can be read.
#[allow(unsafe_code)]
pub unsafe fn transpose(first: *const u8, stride: isize, rows: usize, width: usize, out: &mut Strip) {
    assert!(rows <= out.rows() && width <= out.columns());
    let height = out.rows();
    // SAFETY: as this function asks.
    unsafe { Path::detect().transpose(first, stride, rows, width, out.values_mut(), height) };
}

/// Tell the processor that these bytes will be read soon. A hint: they need not exist.
#[inline]
pub fn prefetch(first: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    crate::kernel::prefetch(first, bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, bytes);
}
