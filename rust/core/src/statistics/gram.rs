//! X'X of quantised rows.

use super::blob::{Reader, Writer, add};
use crate::error::{Error, Result};
use crate::kernel::first_pair;
use crate::panel::batch::{Batch, Products, wave_rows};
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

/// Go through an upper triangle of `d` rows and the kernel's sums together.
fn visit(upper: &mut [i128], d: usize, sums: &[[i64; 4]], mut each: impl FnMut(&mut i128, i64)) {
    let layout = Layout::new(d);
    let mut rest = upper;
    for line in 0..layout.feature_lines() {
        let (first, tail) = rest.split_at_mut(d - 2 * line);
        let (second, tail) = tail.split_at_mut((d - 2 * line).saturating_sub(1));
        rest = tail;
        let pairs = &sums[first_pair(layout, line)..first_pair(layout, line + 1)];
        for (entries, pair) in first.chunks_mut(2).zip(pairs) {
            entries.iter_mut().zip(&pair[..2]).for_each(|(entry, &sum)| each(entry, sum));
        }
        // The second row begins one entry later.
        if let ([entry, entries @ ..], [pair, pairs @ ..]) = (second, pairs) {
            each(entry, pair[3]);
            for (entries, pair) in entries.chunks_mut(2).zip(pairs) {
                entries.iter_mut().zip(&pair[2..]).for_each(|(entry, &sum)| each(entry, sum));
            }
        }
    }
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
        // Checked before anything changes.
        let mut fits = true;
        visit(&mut self.upper, self.features, sums, |entry, sum| {
            fits &= entry.checked_add(sum.into()).is_some();
        });
        if !fits {
            return Err(Error::TooManyRows);
        }
        visit(&mut self.upper, self.features, sums, |entry, sum| *entry += i128::from(sum));
        Ok(())
    }

    /// Whether this is for rows of `map`.
    pub(crate) fn check_map(&self, map: &RowMap) -> Result<()> {
        if (self.key, self.features) == (map.key(), map.features()) {
            Ok(())
        } else {
            Err(Error::Mismatch("row maps"))
        }
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
        self.check_map(map)?;
        map.check_columns(source.columns())?;
        let mut products = Products::new(map);
        let batch = Batch { map, source, missing, execution };
        let wave = wave_rows(map, true, execution);
        waves(source.rows(), wave, stop, |rows| batch.fill(rows, None, Some(&mut products)))?;
        products.finish(self)
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
