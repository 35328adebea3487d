//! X'X of quantised rows.

use super::blob::{Reader, Writer, add};
use crate::error::{Error, Result};
use crate::kernel::first_pair;
use crate::panel::batch::{Batch, wave_rows};
use crate::panel::layout::{Layout, MOST_FEATURES};
use crate::rowmap::{Missing, RowMap};
use crate::source::Source;
use crate::threads::{Execution, Stop, waves};

/// The upper triangle of X'X, row by row, in units of 2^−30.
///
/// # Privacy
/// A row contributes qq' with ‖q‖² ≤ 2^30, so the Frobenius sensitivity is at most 2^30 when a row is added or
/// removed; √2·2^30 when one is replaced (two rank-one matrices: ‖aa' − bb'‖² = ‖a‖⁴ + ‖b‖⁴ − 2(a'b)²).
#[derive(Clone, PartialEq, Eq)]
pub struct Gram {
    key: u64,
    features: usize,
    upper: Vec<i128>,
}

impl std::fmt::Debug for Gram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gram").field("features", &self.features).finish_non_exhaustive()
    }
}

fn triangle(features: usize) -> usize {
    features * (features + 1) / 2
}

impl Gram {
    /// All zero, for rows of this map.
    pub fn new(map: &RowMap) -> Self {
        let features = map.features();
        Self { key: map.key(), features, upper: vec![0; triangle(features)] }
    }

    /// Rows and columns of the matrix.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The upper triangle, row by row: exact, private.
    pub fn exact(&self) -> &[i128] {
        &self.upper
    }

    /// The entries of the diagonal.
    pub(super) fn diagonal(&self) -> impl Iterator<Item = i128> {
        let starts = (0..self.features).scan(0, |at, row| {
            let start = *at;
            *at += self.features - row;
            Some(start)
        });
        starts.map(|start| self.upper[start])
    }

    /// Add the kernel's sums.
    pub(crate) fn add(&mut self, sums: &[[i64; 4]]) -> Result<()> {
        let (d, layout) = (self.features, Layout::new(self.features));
        let row = |i: usize| {
            let pairs = &sums[first_pair(layout, i / 2)..first_pair(layout, i / 2 + 1)];
            let entries = pairs.iter().flat_map(move |pair| [pair[i % 2 * 2], pair[i % 2 * 2 + 1]]);
            entries.skip(i % 2).take(d - i)
        };
        add(&mut self.upper, (0..d).flat_map(row).map(i128::from))
    }

    /// Add the products of a batch's rows without keeping the rows.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if `map` is not the one that this was made for, [`Error::Shape`], [`Error::NotFinite`],
    /// [`Error::Interrupted`]; nothing is changed then.
    pub fn extend(
        &mut self,
        map: &RowMap,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        map.check_columns(source.columns())?;
        let mut added = Self::new(map);
        let batch = Batch { map, source, missing, execution };
        waves(source.rows(), wave_rows(map, true), stop, |rows| batch.fill(rows, None, Some(&mut added)))?;
        self.merge(&added)
    }

    /// Add another part of the same sum.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the row maps differ, [`Error::TooManyRows`] on overflow; nothing is changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if (self.key, self.features) != (other.key, other.features) {
            return Err(Error::Mismatch("row maps"));
        }
        add(&mut self.upper, other.upper.iter().copied())
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("gram", self.key);
        writer.bytes(&(self.features as u64).to_le_bytes());
        writer.integers(&self.upper);
        writer.finish()
    }

    /// What [`Gram::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Blob`] if it did not write this.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (key, mut reader) = Reader::new("gram", bytes)?;
        let features = reader.number()? as usize;
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(Error::Blob { kind: "gram", reason: "wrong shape" });
        }
        Ok(Self { key, features, upper: reader.integers(triangle(features))? })
    }
}
