//! X'X of quantised rows.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;
mod eigenvalue;
mod kernel;
mod portable;
mod products;
mod scores;

use super::sums::{Statistic, Sums, statistic};
use crate::error::{Error, Result};
use crate::execution::{Execution, Stop};
use crate::layout::{Layout, MOST_FEATURES};
use crate::rowmap::RowMap;
use crate::source::{Missing, Source};
use crate::store::{Batch, Matrix, Store};
use kernel::first_pair;
use products::Products;

/// The upper triangle of X'X, row by row, in multiples of 2^−30.
///
/// # Privacy
/// A row contributes qq' with ‖q‖² ≤ 2^30. The Frobenius sensitivity is at most 2^30 when a row is added or removed and
/// √2·2^30 when one is replaced (two rank-one matrices: ‖aa' − bb'‖² = ‖a‖⁴ + ‖b‖⁴ − 2(a'b)²).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gram {
    features: usize,
    sums: Sums,
}

statistic!(Gram, "gram", "row maps");

impl Gram {
    /// Create a matrix of zeros for rows of this map.
    pub fn new(map: &RowMap) -> Self {
        let features = map.features();
        Self { features, sums: Sums::zero(map.key(), triangle(features)) }
    }

    /// The number of rows and columns of the matrix.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Add the products of the rows of a batch without storing the rows.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another row map, [`Error::Shape`], [`Error::NotFinite`], [`Error::Interrupted`]; the sums are
    /// then unchanged.
    pub fn extend(
        &mut self,
        map: &RowMap,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        self.check_map(map)?;
        Batch { map, source, missing, execution }.scan(Products::new(self), stop)
    }

    /// Add the products of the rows of a batch and put the rows into a store.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the store has another row map, and the errors of [`Store::extend`]; store and sums then
    /// contain no row of the batch.
    pub fn extend_storing(
        &mut self,
        store: &mut Store,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<()> {
        self.check_map(store.map())?;
        store.extend_with(source, missing, Products::new(self), execution, stop)
    }

    /// Return X'X of the rows of [`Store::mapped`], without storing them.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix does not fit the rows, [`Error::TooManyRows`], [`Error::Interrupted`].
    pub fn of_mapped(store: &Store, matrix: &Matrix, execution: &Execution, stop: Stop<'_>) -> Result<Self> {
        let (key, features) = (store.key_mapped(matrix)?, matrix.outputs());
        let mut gram = Self { features, sums: Sums::zero(key, triangle(features)) };
        store.scan_mapped(matrix, Products::new(&mut gram), execution, stop)?;
        Ok(gram)
    }

    /// Read what [`Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        // A triangle has d(d + 1)/2 entries, and d(d + 1) is between d² and (d + 1)².
        let features = |sums: &[i128]| (2 * sums.len()).isqrt();
        let sums = Sums::from_bytes(Self::KIND, bytes, |sums| {
            let features = features(sums);
            (1..=MOST_FEATURES).contains(&features) && triangle(features) == sums.len()
        })?;
        let mut gram = Self { features: 0, sums };
        gram.features = features(gram.exact());
        Ok(gram)
    }

    fn check_map(&self, map: &RowMap) -> Result<()> {
        if (self.sums.key(), self.features) == (map.key(), map.features()) {
            Ok(())
        } else {
            Err(Error::Mismatch(Self::PARAMETERS))
        }
    }

    /// Create a matrix of zeros for the same map.
    fn empty(&self) -> Self {
        Self { features: self.features, sums: Sums::zero(self.sums.key(), triangle(self.features)) }
    }

    /// Add the kernel's sums.
    fn add(&mut self, sums: &[[i64; 4]]) -> Result<()> {
        let (upper, d) = (self.sums.values_mut(), self.features);
        // Checked before anything changes.
        let mut fits = true;
        visit(upper, d, sums, |entry, sum| fits &= entry.checked_add(sum.into()).is_some());
        if !fits {
            return Err(Error::TooManyRows);
        }
        visit(upper, d, sums, |entry, sum| *entry += i128::from(sum));
        Ok(())
    }

    /// The entries of the diagonal.
    pub(super) fn diagonal(&self) -> impl Iterator<Item = i128> {
        let starts = (0..self.features).scan(0, |at, row| {
            let start = *at;
            *at += self.features - row;
            Some(start)
        });
        starts.map(|start| self.exact()[start])
    }
}

/// The number of entries of an upper triangle.
fn triangle(features: usize) -> usize {
    features * (features + 1) / 2
}

/// Call `each` with every entry of an upper triangle of `d` rows and its sum from the kernel.
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
        // The second row starts one entry later.
        if let ([entry, entries @ ..], [pair, pairs @ ..]) = (second, pairs) {
            each(entry, pair[3]);
            for (entries, pair) in entries.chunks_mut(2).zip(pairs) {
                entries.iter_mut().zip(&pair[2..]).for_each(|(entry, &sum)| each(entry, sum));
            }
        }
    }
}
