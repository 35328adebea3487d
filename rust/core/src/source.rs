//! Where rows come from: anything that can copy a block of them.

use std::ops::{Deref, DerefMut};

use crate::kernel::Path;

/// Rows that are copied and mapped together: enough for loops over them to become vector code, few enough for all
/// that is known of them to stay in the first-level cache.
pub const STRIP: usize = 64;

/// A number for each row of a strip, in whole cache lines.
#[derive(Debug, Clone, Copy, PartialEq)]
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

/// A batch of rows: the columns of x, then the target as the last column.
///
/// [`Source::read`] copies, and what it copied is all that is looked at: whoever changes the original
/// meanwhile can change which row is seen, but not break a bound that was checked on the copy.
pub trait Source: Sync {
    /// Rows.
    fn rows(&self) -> usize;

    /// Columns, the target included.
    fn columns(&self) -> usize;

    /// Hear that these rows will be read soon. A hint: there need not be as many.
    fn expect(&self, start: usize, rows: usize) {
        let _ = (start, rows);
    }

    /// Copy `rows` rows from `start`, at most [`STRIP`], column by column: the value of row r in column c goes to
    /// `out[c][r]`. Places of other rows are left as they are.
    fn read(&self, start: usize, rows: usize, out: &mut [Rows]);
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
    fn read(&self, start: usize, rows: usize, out: &mut [Rows]) {
        let width = self.columns() - 1;
        let block = &self.x[start * width..][..rows * width];
        // SAFETY: the block is that many rows, side by side.
        unsafe { transpose(block.as_ptr().cast(), 8 * width as isize, rows, &mut out[..width]) };
        out[width][..rows].copy_from_slice(&self.y[start..][..rows]);
    }
}

/// Copy up to [`STRIP`] rows into a strip, column by column, one value for each of its columns. A row's doubles lie side
/// by side, wherever in memory; the next row begins `stride` bytes further.
///
/// Memory is only copied: no value is looked at on its way, so whoever writes to it meanwhile can change what is copied
/// and nothing else.
///
/// # Safety
/// The rows can be read.
#[allow(unsafe_code)]
pub unsafe fn transpose(first: *const u8, stride: isize, rows: usize, strip: &mut [Rows]) {
    assert!(rows <= STRIP);
    // SAFETY: as this function asks.
    unsafe { Path::detect().transpose(first, stride, rows, strip) };
}

/// Tell the processor that these bytes will be read soon. A hint: they need not exist.
#[inline]
pub fn prefetch(first: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    crate::kernel::prefetch(first, bytes);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, bytes);
}
