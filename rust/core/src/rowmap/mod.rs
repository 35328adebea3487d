//! One row in, one quantised row out. No row sees another.
//!
//! A row's result depends on the row and on public parameters alone: not on its place, its block, the thread or
//! the vector width. All of it is written as loops over the rows of a block, one operation at a time, in an
//! order of columns that is always the same.
//!
//! # Privacy
//! [`RowMap`] promises for every input whatsoever that the integers q of a row satisfy Σq² ≤ 2^30. That
//! is the bound from which every sensitivity of the statistics follows; [`quantise`] has the argument.

pub mod columns;
mod input;
mod mapper;
pub mod quantise;

pub use columns::{Column, Target};
pub(crate) use input::Input;
pub(crate) use mapper::Mapper;

use crate::error::{Error, Result, parameter};
use crate::panel::layout::MOST_FEATURES;
use xxhash_rust::xxh3::Xxh3;

/// What to do with a row that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// Scale x down to the bound and leave y, as the paper does.
    Clip,
    /// Scale x, the intercept and y together: a weighted row, of which a linear model stays linear.
    Weight,
}

/// What to do with a row that holds NaN or an infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Fail, saying only that there is such a row.
    Error,
    /// Leave the row out.
    Drop,
}

/// The public description of the map from a row of floats to a row of integers.
#[derive(Debug, Clone, PartialEq)]
pub struct RowMap {
    columns: Vec<Column>,
    target: Target,
    norm: Norm,
    intercept: Option<f64>,
    features: usize,
}

impl RowMap {
    /// A map of rows with these columns and this target; `intercept` is the share of the squared norm that a
    /// constant feature gets.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a share outside (0, 1), and for no features or too many.
    pub fn new(columns: Vec<Column>, target: Target, norm: Norm, intercept: Option<f64>) -> Result<Self> {
        if let Some(share) = intercept.filter(|share| !(*share > 0.0 && *share < 1.0)) {
            return Err(parameter("intercept", "a share between 0 and 1", share));
        }
        let features = columns.iter().map(Column::features).sum::<usize>() + usize::from(intercept.is_some());
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(parameter("features", format!("from 1 to {MOST_FEATURES}"), features));
        }
        Ok(Self { columns, target, norm, intercept, features })
    }

    /// Columns of x that the map reads.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Features that it writes: those of every column's ramps, then the intercept.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The constant feature, and the bound on the norm of the others when x alone is clipped.
    pub(crate) fn parts(&self) -> (f64, f64) {
        let share = self.intercept.unwrap_or(0.0);
        (share.sqrt(), if self.norm == Norm::Clip { (1.0 - share).sqrt() } else { 1.0 })
    }

    pub(crate) fn norm(&self) -> Norm {
        self.norm
    }

    /// Whether a source has the columns that the map reads.
    pub(crate) fn check_columns(&self, columns: usize) -> Result<()> {
        let expected = self.columns.len() + 1;
        if columns == expected {
            Ok(())
        } else {
            Err(Error::Shape { what: "columns, with the target", expected, got: columns })
        }
    }

    /// A number that two different maps do not share: statistics of different maps must not be added.
    pub fn key(&self) -> u64 {
        let mut hash = Xxh3::new();
        for column in &self.columns {
            column.hash_into(&mut hash);
        }
        self.target.hash_into(&mut hash);
        hash.update(&[u8::from(self.norm == Norm::Weight)]);
        hash.update(&self.intercept.unwrap_or(0.0).to_le_bytes());
        hash.digest()
    }
}
