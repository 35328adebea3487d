//! How residuals are clipped: at one threshold for all rows, or with a joint bound on row and residual.

use super::residuals::MOST_TAU;
use crate::error::{Result, parameter};
use crate::layout::{BITS, LANES};
use crate::number::non_negative;

/// The largest reach: the norm of a row times the largest τ.
pub const MOST_REACH: u64 = (MOST_TAU as u64) << BITS;

/// A residual is clipped to ±τ or, with a reach C, to ±t, where t is the largest integer with t ≤ τ and t²·Σq² ≤ C².
///
/// # Privacy
/// With a reach, a row q and its clipped residual g satisfy ‖q‖·|g| ≤ C exactly. This is checked in integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clip {
    tau: i32,
    reach: Option<u64>,
}

impl Clip {
    /// The widest clip: a residual above [`MOST_TAU`] stays above it. Products with such residuals may overflow.
    pub(crate) const WIDEST: Self = Self { tau: MOST_TAU + 1, reach: None };

    /// Clip to `tau`, in steps of the target, and to `reach`, in steps of X'g: 2^−15 times a step of the target.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a threshold out of range.
    pub(crate) fn new(tau: i32, reach: Option<u64>) -> Result<Self> {
        if !(1..=MOST_TAU).contains(&tau) {
            return Err(parameter("tau", format!("between 1 and {MOST_TAU}"), tau));
        }
        if let Some(reach) = reach.filter(|reach| !(1..=MOST_REACH).contains(reach)) {
            return Err(parameter("reach", format!("between 1 and {MOST_REACH}"), reach));
        }
        Ok(Self { tau, reach })
    }

    pub(crate) fn tau(self) -> i32 {
        self.tau
    }

    pub(crate) fn reach(self) -> Option<u64> {
        self.reach
    }

    /// Return the limit t of every row of a tile from its Σq².
    #[inline(always)]
    pub(super) fn limits(self, squares: &[u32; LANES]) -> [i32; LANES] {
        let mut limits = [self.tau as u32; LANES];
        let Some(reach) = self.reach else { return limits.map(|limit| limit as i32) };
        for lane in 0..LANES {
            // The factor outweighs three rounding errors, so that the estimate is at least C/‖q‖ and no integer is missed.
            // A row of zeros divides by zero and gets the limit τ; it adds nothing. Signed integers convert faster.
            let estimate = reach as f64 / f64::from(squares[lane] as i32).sqrt() * ABOVE;
            limits[lane] = non_negative(estimate, self.tau as u32);
        }
        let most = u128::from(reach).pow(2);
        let above = |limit: u32, squares: u32| u128::from(limit).pow(2) * u128::from(squares) > most;
        // This is rare, and a loop without branches is faster.
        if (0..LANES).fold(false, |any, lane| any | above(limits[lane], squares[lane])) {
            for (limit, &squares) in limits.iter_mut().zip(squares) {
                while above(*limit, squares) {
                    *limit -= 1;
                }
            }
        }
        limits.map(|limit| limit as i32)
    }
}

/// 1 + 2^−50.
const ABOVE: f64 = 1.0 + 4.0 * f64::EPSILON;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the limit by its definition.
    fn largest(tau: i32, reach: u64, squares: u32) -> i32 {
        let fits = |tau: i32| (tau as u128).pow(2) * u128::from(squares) <= u128::from(reach).pow(2);
        let (mut low, mut high) = (0, tau);
        while low < high {
            let middle = low + (high - low + 1) / 2;
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    proptest! {
        #[test]
        fn limits_are_the_largest_that_fit(
            tau in prop_oneof![1..=MOST_TAU, Just(MOST_TAU), Just(1)],
            reach in prop_oneof![1..=MOST_REACH, 1..1000u64, Just(MOST_REACH)],
            squares in prop::collection::vec(prop_oneof![0..=(1u32 << 30), 0..1000u32, Just(1 << 30)], LANES),
        ) {
            let squares: [u32; LANES] = squares.try_into().unwrap();
            let limits = Clip::new(tau, Some(reach)).unwrap().limits(&squares);
            for (limit, squares) in limits.into_iter().zip(squares) {
                prop_assert_eq!(limit, largest(tau, reach, squares));
            }
        }

        /// If C = t·‖q‖ with an integer ‖q‖, the limit is t and not t − 1.
        #[test]
        fn a_limit_that_fits_exactly_is_found(norm in 1..=(1u32 << 15), tau in 1..=MOST_TAU) {
            let reach = u64::from(norm) * tau as u64;
            let limit = |reach| Clip::new(MOST_TAU, Some(reach)).unwrap().limits(&[norm * norm; LANES])[0];
            prop_assert_eq!(limit(reach), tau);
            if reach > 1 {
                prop_assert_eq!(limit(reach - 1), tau - 1);
            }
        }
    }

    #[test]
    fn thresholds_out_of_range_are_refused() {
        assert!(Clip::new(0, None).is_err());
        assert!(Clip::new(MOST_TAU + 1, None).is_err());
        assert!(Clip::new(1, Some(0)).is_err());
        assert!(Clip::new(1, Some(MOST_REACH + 1)).is_err());
    }
}
