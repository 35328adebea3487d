//! The sum of squared clipped residuals.

use super::blob::{Reader, Writer, add};
use super::gradient::key;
use crate::error::{Error, Result};
use crate::panel::Theta;
use crate::rowmap::RowMap;

const KIND: &str = "energy";

/// Σ g² for the residuals g of [`super::Gradient`], in units of the target's unit, squared.
///
/// # Privacy
/// A row contributes g² from 0 to τ²: the sensitivity is at most τ² when a row is added or removed, and no more when
/// one is replaced.
#[derive(Clone, PartialEq, Eq)]
pub struct Energy {
    key: u64,
    /// At most 2^40 a row.
    sum: i128,
}

impl std::fmt::Debug for Energy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Energy").finish_non_exhaustive()
    }
}

impl Energy {
    /// Zero, for this map, θ and τ.
    pub(crate) fn new(map: &RowMap, theta: &Theta, tau: i32) -> Self {
        Self { key: key(map, theta, tau), sum: 0 }
    }

    /// The sum: exact, private.
    pub fn exact(&self) -> i128 {
        self.sum
    }

    /// Add the sum of more rows.
    pub(crate) fn add(&mut self, sum: i128) -> Result<()> {
        add(std::slice::from_mut(&mut self.sum), std::iter::once(sum))
    }

    /// Add another part of the same sum.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the row maps, θ or τ differ, [`Error::TooManyRows`] on overflow; nothing is
    /// changed then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.key != other.key {
            return Err(Error::Mismatch("row maps, theta or tau"));
        }
        self.add(other.sum)
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(KIND, self.key);
        writer.integers(&[self.sum]);
        writer.finish()
    }

    /// What [`Energy::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Blob`] if it did not write this.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (key, reader) = Reader::new(KIND, bytes)?;
        match reader.integers(1)?[..] {
            [sum] if sum >= 0 => Ok(Self { key, sum }),
            _ => Err(Error::Blob { kind: KIND, reason: "a sum of squares is not negative" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_overflows_is_refused_and_nothing_is_changed() {
        let mut most = Energy { key: 1, sum: i128::MAX - 1 };
        most.merge(&Energy { key: 1, sum: 1 }).unwrap();
        assert_eq!(most.merge(&Energy { key: 1, sum: 1 }), Err(Error::TooManyRows));
        assert_eq!(most.exact(), i128::MAX);
        assert!(most.merge(&Energy { key: 2, sum: 0 }).is_err());
    }

    #[test]
    fn bytes_of_a_negative_sum_are_refused() {
        let read = |sum| Energy::from_bytes(&Energy { key: 7, sum }.to_bytes());
        assert_eq!(read(1 << 100), Ok(Energy { key: 7, sum: 1 << 100 }));
        assert!(read(-1).is_err());
    }

    #[test]
    fn nothing_of_the_sum_is_printed() {
        assert!(!format!("{:?}", Energy { key: 7, sum: 123_456 }).contains("123"));
    }
}
