//! Where rows come from: anything that can copy a block of them.

use crate::kernel::Path;

/// Rows that are copied and mapped together: enough for loops over them to become vector code, few enough for all
/// that is known of them to stay in the first-level cache.
pub const STRIP: usize = 64;

/// A number for each row of a strip.
pub type Rows = [f64; STRIP];

/// A batch of rows: the columns of x, then the target as the last column.
///
/// [`Source::read`] copies, and what it copied is all that is looked at: whoever changes the original
/// meanwhile can change which row is seen, but not break a bound that was checked on the copy.
pub trait Source: Sync {
    /// Rows.
    fn rows(&self) -> usize;

    /// Columns, the target included.
    fn columns(&self) -> usize;

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

    fn read(&self, start: usize, rows: usize, out: &mut [Rows]) {
        let width = self.columns() - 1;
        let block = &self.x[start * width..][..rows * width];
        transpose(block, width, out);
        out[width][..rows].copy_from_slice(&self.y[start..][..rows]);
    }
}

/// Write up to [`STRIP`] rows of `width` values each into a strip, column by column.
pub fn transpose(rows: &[f64], width: usize, strip: &mut [Rows]) {
    let path = if rows.len() == width * STRIP { Path::detect() } else { Path::portable() };
    path.transpose(rows, width, strip);
}
