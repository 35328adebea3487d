//! The common part of all statistics: exact integers that can be added, merged and moved as bytes.

use crate::blob::{Reader, Writer};
use crate::error::{Error, Result};

/// Exact integers, and a hash of the public parameters that they depend on.
///
/// # Privacy
/// The integers are private. `Debug` prints only how many there are, which is public.
#[derive(Clone, PartialEq, Eq)]
pub struct Sums {
    key: u64,
    values: Vec<i128>,
}

impl std::fmt::Debug for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sums").field("len", &self.values.len()).finish_non_exhaustive()
    }
}

impl Sums {
    /// Create `len` zeros. `key` is a hash of the public parameters.
    pub(super) fn zero(key: u64, len: usize) -> Self {
        Self { key, values: vec![0; len] }
    }

    /// Read what [`Statistic::to_bytes`] wrote for a statistic of this kind. Integers that are not `valid` are an error.
    pub(super) fn from_bytes(
        kind: &'static str,
        bytes: &[u8],
        valid: impl FnOnce(&[i128]) -> bool,
    ) -> Result<Self> {
        let (key, reader) = Reader::new(kind, bytes)?;
        let values = reader.integers()?;
        if valid(&values) {
            Ok(Self { key, values })
        } else {
            Err(Error::Blob { kind, reason: "wrong shape" })
        }
    }

    /// The hash of the public parameters.
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    /// The integers, mutable.
    pub(super) fn values_mut(&mut self) -> &mut [i128] {
        &mut self.values
    }

    /// Add one integer to each.
    ///
    /// # Errors
    /// [`Error::TooManyRows`] on overflow; the sums are then unchanged.
    pub(super) fn add(&mut self, other: impl Iterator<Item = i128> + Clone) -> Result<()> {
        // Checked before anything changes.
        if self.values.iter().zip(other.clone()).any(|(a, b)| a.checked_add(b).is_none()) {
            return Err(Error::TooManyRows);
        }
        self.values.iter_mut().zip(other).for_each(|(a, b)| *a += b);
        Ok(())
    }
}

/// An exact sum over rows. Sums over parts of the rows can be merged in any order.
///
/// # Privacy
/// Every type documents its sensitivity for both neighbouring relations. [`Statistic::exact`] is private; only
/// [`crate::noise::release`] may publish it.
pub trait Statistic: Sized {
    /// The name of the statistic in error messages and in its bytes.
    const KIND: &'static str;

    /// What must be equal to merge two of them, for the error message "cannot merge: … differ".
    const PARAMETERS: &'static str;

    /// The integers and their key.
    fn sums(&self) -> &Sums;

    /// The integers and their key, mutable.
    fn sums_mut(&mut self) -> &mut Sums;

    /// The integers: exact, private.
    fn exact(&self) -> &[i128] {
        &self.sums().values
    }

    /// Add the sum over other rows.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the public parameters differ, [`Error::TooManyRows`] on overflow; the sum is then unchanged.
    fn merge(&mut self, other: &Self) -> Result<()> {
        let (own, other) = (self.sums_mut(), other.sums());
        if (own.key, own.values.len()) != (other.key, other.values.len()) {
            return Err(Error::Mismatch(Self::PARAMETERS));
        }
        own.add(other.values.iter().copied())
    }

    /// Return the sum as bytes, to move it between trusted processes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(Self::KIND, self.sums().key);
        writer.integers(self.exact());
        writer.finish()
    }
}

/// Implement [`Statistic`] for a type with a field `sums`.
macro_rules! statistic {
    ($name:ident, $kind:literal, $parameters:literal) => {
        impl $crate::statistics::Statistic for $name {
            const KIND: &'static str = $kind;
            const PARAMETERS: &'static str = $parameters;

            fn sums(&self) -> &$crate::statistics::Sums {
                &self.sums
            }

            fn sums_mut(&mut self) -> &mut $crate::statistics::Sums {
                &mut self.sums
            }
        }
    };
}
pub(super) use statistic;
