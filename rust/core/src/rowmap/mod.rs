//! The map from a row of floats to a row of integers.
//!
//! The result for a row depends on that row and on public parameters only: not on other rows, its position, its block, the
//! thread or the vector width. The map consists of loops over the rows of a block, one operation at a time, with the
//! columns always in the same order.
//!
//! # Privacy
//! For every input, the integers q of a row satisfy Σq² ≤ 2^30. Every sensitivity of the statistics follows from this
//! bound; [`quantise`] has the argument.

mod bounded;
mod columns;
mod kernel;
mod mapper;
pub mod quantise;
mod runs;
mod target;

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Result, parameter};
use crate::layout::MOST_FEATURES;
use crate::source::Strip;

pub(crate) use bounded::quantise_bounded;
pub use columns::Column;
pub(crate) use mapper::Mapper;
pub(crate) use runs::{Kind as RunKind, Run};
pub use target::Target;

/// What to do with a row whose norm is above one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// Scale x down to the bound and leave y unchanged, as the paper does.
    Clip,
    /// Scale x, the intercept and y together. This gives the row a weight, so a linear model stays linear.
    Weight,
}

/// The public description of the map from a row of floats to a row of integers.
#[derive(Debug, Clone, PartialEq)]
pub struct RowMap {
    columns: Vec<Column>,
    target: Target,
    norm: Norm,
    intercept: Option<f64>,
    features: usize,
    /// The largest weight of a row, if the last column is its weight.
    most_weight: Option<f64>,
}

impl RowMap {
    /// Create a map for rows with these columns and this target. `intercept` is the share of the squared norm that a
    /// constant feature gets.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a share outside (0, 1), and for no features or too many.
    pub fn new(columns: Vec<Column>, target: Target, norm: Norm, intercept: Option<f64>) -> Result<Self> {
        if let Some(share) = intercept.filter(|share| !(*share > 0.0 && *share < 1.0)) {
            return Err(parameter("intercept", "a share between 0 and 1", share));
        }
        let features = columns.iter().map(Column::features).sum::<usize>() + usize::from(intercept.is_some());
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(parameter("features", format!("between 1 and {MOST_FEATURES}"), features));
        }
        Ok(Self { columns, target, norm, intercept, features, most_weight: None })
    }

    /// Let the last column, which must have no features, be the weight of a row: x, the intercept and y are multiplied by
    /// the root of weight / `most`, which is clamped to the interval from 0 to 1. Then X'X and X'y are weighted sums.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless `most` is between 1e−100 and 1e100, for a last column with features, and for
    /// [`Norm::Clip`], with which y is not scaled.
    ///
    /// # Privacy
    /// The factor is at most one and depends on its own row only, so that the bound on Σq² holds.
    pub fn with_weights(mut self, most: f64) -> Result<Self> {
        if !(1e-100..=1e100).contains(&most) {
            return Err(parameter("max_weight", "between 1e-100 and 1e100", most));
        }
        if self.norm == Norm::Clip || self.columns.last().is_none_or(|column| column.features() > 0) {
            return Err(parameter("columns", "weighted, with a last column without features", "others"));
        }
        self.most_weight = Some(most);
        Ok(self)
    }

    /// The largest weight, if the last column is the weight of a row.
    pub(crate) fn most_weight(&self) -> Option<f64> {
        self.most_weight
    }

    /// Replace missing values of x by the middle of their column; see [`Column::middle`].
    pub(crate) fn replace_missing(&self, strip: &mut Strip) {
        for (place, column) in self.columns.iter().enumerate() {
            for value in strip.column_mut(place) {
                *value = if value.is_finite() { *value } else { column.middle() };
            }
        }
    }

    /// The columns of x that the map reads.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The number of features that the map writes: those of every column, then the intercept.
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

    /// A hash of the map. Statistics of different maps must not be added.
    pub fn key(&self) -> u64 {
        let mut hash = Xxh3::new();
        for column in &self.columns {
            column.hash_into(&mut hash);
        }
        self.target.hash_into(&mut hash);
        hash.update(&[u8::from(self.norm == Norm::Weight)]);
        hash.update(&self.intercept.unwrap_or(0.0).to_le_bytes());
        if let Some(most) = self.most_weight {
            hash.update(&most.to_le_bytes());
        }
        hash.digest()
    }
}
