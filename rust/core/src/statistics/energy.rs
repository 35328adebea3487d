//! The sum of squared clipped residuals.

use super::sums::{Sums, statistic};
use crate::error::Result;
use crate::execution::{Execution, Path, Stop};
use crate::layout::{LANES, Layout, Line};
use crate::store::{Clip, PassSums, RESIDUAL_LOW_BITS, Residuals, Store, Theta};

/// Σg² for the residuals g of [`super::Gradient`], in squared steps of the target.
///
/// # Privacy
/// A row contributes g² between 0 and τ². The sensitivity is at most τ² when a row is added or removed, and also when one
/// is replaced, for every θ. A dropped row is zero, and so is its residual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Energy {
    /// One number, at most 2^40 per row.
    sums: Sums,
}

statistic!(Energy, "energy", "row maps, theta or tau");

impl Energy {
    /// Compute Σg² with g = clip(y − Xθ, ±`tau`), where `tau` is in steps of the target.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] or [`crate::Error::Shape`] for an invalid θ or τ; [`crate::Error::Interrupted`].
    pub fn of(store: &Store, theta: &Theta, tau: i32, execution: &Execution, stop: Stop<'_>) -> Result<Self> {
        let clip = Clip::new(tau, None)?;
        let mut sums = Sums::zero(store.residual_key(theta, clip), 1);
        let total = |squares: &Squares| sums.add(std::iter::once(squares.0));
        store.pass(theta, clip, || Squares(0), execution, stop, total)?;
        Ok(Self { sums })
    }

    /// Read what [`super::Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let valid = |sums: &[i128]| matches!(sums, [sum] if *sum >= 0);
        Ok(Self { sums: Sums::from_bytes("energy", bytes, valid)? })
    }
}

/// The sum of a thread. A wave may have 2^25 rows with squares of up to 2^40, which would not fit into 64 bits.
struct Squares(i128);

impl PassSums for Squares {
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        let tiles = &residuals.tiles()[..group.len() / layout.lines()];
        self.0 += i128::from(path.run(
            #[inline(always)]
            || squares(tiles),
        ));
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// Σg² of a group of tiles: at most 32 · 16 · 2^40.
#[inline(always)]
fn squares(tiles: &[[[i16; LANES]; 2]]) -> i64 {
    let mut sums = [0; LANES];
    for [high, low] in tiles {
        for lane in 0..LANES {
            let g = (i32::from(high[lane]) << RESIDUAL_LOW_BITS) + i32::from(low[lane]);
            sums[lane] += i64::from(g) * i64::from(g);
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::statistics::Statistic;

    fn energy(key: u64, sum: i128) -> Energy {
        let mut sums = Sums::zero(key, 1);
        sums.add(std::iter::once(sum)).unwrap();
        Energy { sums }
    }

    #[test]
    fn overflow_is_an_error_and_changes_nothing() {
        let mut most = energy(1, i128::MAX - 1);
        most.merge(&energy(1, 1)).unwrap();
        assert_eq!(most.merge(&energy(1, 1)), Err(Error::TooManyRows));
        assert_eq!(most.exact(), [i128::MAX]);
        assert_eq!(most.merge(&energy(2, 0)), Err(Error::Mismatch("row maps, theta or tau")));
    }

    #[test]
    fn bytes_of_a_negative_sum_are_rejected() {
        let read = |sum| Energy::from_bytes(&energy(7, sum).to_bytes());
        assert_eq!(read(1 << 100), Ok(energy(7, 1 << 100)));
        assert!(read(-1).is_err());
    }

    #[test]
    fn the_sum_is_not_printed() {
        assert!(!format!("{:?}", energy(7, 123_456)).contains("123"));
    }
}
