//! Where rows come from: anything that can copy a block of them.

/// A batch of rows: the columns of x, then the target as the last column.
///
/// [`Source::read`] copies, and what it copied is all that is looked at: whoever changes the original
/// meanwhile can change which row is seen, but not break a bound that was checked on the copy.
pub trait Source: Sync {
    /// Rows.
    fn rows(&self) -> usize;

    /// Columns, the target included.
    fn columns(&self) -> usize;

    /// Copy `rows` rows from `start` into `out`: value `row` of a column goes to `column · stride + row`.
    fn read(&self, start: usize, rows: usize, stride: usize, out: &mut [f64]);
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

    fn read(&self, start: usize, rows: usize, stride: usize, out: &mut [f64]) {
        let width = self.columns() - 1;
        let block = &self.x[start * width..][..rows * width];
        // A few rows at a time, so that both sides stay in the cache.
        for (few, first) in block.chunks(8 * width.max(1)).zip((0..rows).step_by(8)) {
            for column in 0..width {
                let values = few[column..].iter().step_by(width);
                for (out, &value) in out[column * stride + first..].iter_mut().zip(values) {
                    *out = value;
                }
            }
        }
        out[width * stride..][..rows].copy_from_slice(&self.y[start..][..rows]);
    }
}
