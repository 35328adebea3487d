//! X'g for clipped residuals g.

use super::blob::{Reader, Writer, add};
use crate::error::{Error, Result};
use crate::panel::Theta;
use crate::panel::layout::MOST_FEATURES;
use crate::rowmap::RowMap;
use xxhash_rust::xxh3::Xxh3;

/// Σ q·g, one entry per feature, in units of 2^−15 times the target's unit.
///
/// # Privacy
/// A row contributes q·g with ‖q‖ ≤ 2^15 and |g| ≤ τ in units: the ℓ2 sensitivity is at most 2^15·τ when a row is
/// added or removed, 2^16·τ when one is replaced.
#[derive(Clone, PartialEq, Eq)]
pub struct Gradient {
    key: u64,
    sums: Vec<i128>,
}

impl std::fmt::Debug for Gradient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gradient").field("features", &self.sums.len()).finish_non_exhaustive()
    }
}

impl Gradient {
    /// All zero, for this map, θ and τ.
    pub(crate) fn new(map: &RowMap, theta: &Theta, tau: i32) -> Self {
        Self { key: key(map, theta, tau), sums: vec![0; map.features()] }
    }

    /// The sums: exact, private.
    pub fn exact(&self) -> &[i128] {
        &self.sums
    }

    /// Add the kernel's sums.
    pub(crate) fn add(&mut self, sums: &[[i64; 4]]) -> Result<()> {
        add(&mut self.sums, sums.iter().map(|parts| parts.iter().map(|&part| i128::from(part)).sum()))
    }

    /// Add another part of the same sum.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the row maps, θ or τ differ, [`Error::TooManyRows`] on overflow; nothing is
    /// changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if (self.key, self.sums.len()) != (other.key, other.sums.len()) {
            return Err(Error::Mismatch("row maps, theta or tau"));
        }
        add(&mut self.sums, other.sums.iter().copied())
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("gradient", self.key);
        writer.bytes(&(self.sums.len() as u64).to_le_bytes());
        writer.integers(&self.sums);
        writer.finish()
    }

    /// What [`Gradient::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Blob`] if it did not write this.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (key, mut reader) = Reader::new("gradient", bytes)?;
        let features = reader.number()? as usize;
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(Error::Blob { kind: "gradient", reason: "wrong shape" });
        }
        Ok(Self { key, sums: reader.integers(features)? })
    }
}

/// A number that sums over residuals of different maps, θ or τ do not share.
pub(super) fn key(map: &RowMap, theta: &Theta, tau: i32) -> u64 {
    let mut hash = Xxh3::new();
    let (integers, exponent) = theta.integers();
    hash.update(&map.key().to_le_bytes());
    for integer in integers.iter().chain([&exponent, &tau]) {
        hash.update(&integer.to_le_bytes());
    }
    hash.digest()
}
