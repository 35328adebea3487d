//! X'g for clipped residuals g.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;

use wide::i32x4;

use super::sums::{Sums, statistic};
use crate::error::Result;
use crate::execution::{Execution, Kind, Path, Stop};
use crate::layout::portable::load;
use crate::layout::{Layout, Line, MOST_FEATURES, feature};
use crate::store::{Clip, PassSums, RESIDUAL_LOW_BITS, Residuals, Store, Theta};

/// Σ q·g, one entry per feature, in multiples of 2^−15 times the step of the target.
///
/// # Privacy
/// A row contributes q·g with ‖q‖ ≤ 2^15 and |g| ≤ τ. The ℓ2 sensitivity is at most 2^15·τ when a row is added or removed
/// and 2^16·τ when one is replaced, exactly, for every θ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gradient {
    sums: Sums,
}

statistic!(Gradient, "gradient", "row maps, theta or tau");

impl Gradient {
    /// Compute X'g with g = clip(y − Xθ, ±`tau`), where `tau` is in steps of the target.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] or [`crate::Error::Shape`] for an invalid θ or τ; [`crate::Error::Interrupted`].
    pub fn of(store: &Store, theta: &Theta, tau: i32, execution: &Execution, stop: Stop<'_>) -> Result<Self> {
        Self::within(store, theta, tau, None, execution, stop)
    }

    /// Return X'g with a joint bound: g = clip(y − Xθ, ±min(`tau`, ⌊`reach`/‖q‖⌋)) for every row q, so that ‖q‖·|g| ≤
    /// `reach`, in steps of the sum. Without a reach it is [`Gradient::of`].
    ///
    /// # Privacy
    /// The ℓ2 sensitivity is at most `reach` when a row is added or removed, twice that when one is replaced.
    ///
    /// # Errors
    /// Those of [`Gradient::of`].
    pub fn within(
        store: &Store,
        theta: &Theta,
        tau: i32,
        reach: Option<u64>,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let clip = Clip::new(tau, reach)?;
        let mut sums = Sums::zero(store.residual_key(theta, clip), store.features());
        let zero = || Products(vec![[0; 4]; store.features().next_multiple_of(2)]);
        store.pass(theta, clip, zero, execution, stop, |products: &Products| {
            sums.add(products.0.iter().map(|parts| parts.iter().map(|&part| i128::from(part)).sum()))
        })?;
        Ok(Self { sums })
    }

    /// Read what [`super::Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let valid = |sums: &[i128]| (1..=MOST_FEATURES).contains(&sums.len());
        Ok(Self { sums: Sums::from_bytes("gradient", bytes, valid)? })
    }
}

/// The sums of a thread: four partial sums per feature, with the number of features rounded up to an even number.
struct Products(Vec<[i64; 4]>);

impl PassSums for Products {
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        match path.kind() {
            Kind::Portable => portable(group, layout, residuals, &mut self.0),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => avx2::products(group, layout, residuals, &mut self.0),
        }
    }

    fn merge(&mut self, other: Self) {
        for (a, b) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *a += b;
        }
    }
}

fn portable(group: &[Line], layout: Layout, residuals: &Residuals, sums: &mut [[i64; 4]]) {
    for (index, sums) in sums.iter_mut().enumerate().take(layout.features()) {
        let mut parts = [[i32x4::ZERO; 2]; 2];
        for (tile, residual) in group.chunks_exact(layout.lines()).zip(residuals.tiles()) {
            let column = load(feature(tile, index));
            for (parts, residual) in parts.iter_mut().zip(residual) {
                for ((part, values), residuals) in parts.iter_mut().zip(column).zip(load(residual)) {
                    *part += values.dot(residuals);
                }
            }
        }
        let [high, low] =
            parts.map(|part| part.iter().flat_map(|part| part.to_array()).map(i64::from).sum::<i64>());
        sums[0] += (high << RESIDUAL_LOW_BITS) + low;
    }
}
