//! Counts and sums of residuals in which rows have weights.

use xxhash_rust::xxh3::Xxh3;

use super::residual_counts::MOST_EDGES;
use super::sums::{Statistic, Sums, statistic};
use crate::error::{Result, parameter};
use crate::execution::{Execution, Path, Stop};
use crate::layout::{LANES, Layout, Line, feature};
use crate::store::{Clip, MOST_TAU, PassSums, RESIDUAL_LOW_BITS, Residuals, Store, Theta};

/// The weight of a stored row: one of its features, clamped to the interval from 0 to `most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// The position of the feature.
    pub feature: usize,
    /// The largest weight, which is positive.
    pub most: i16,
}

/// What is multiplied by the weight of a row, and added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// One, by the residual r = y − xθ: in the order of [`super::ResidualCounts`].
    Counts {
        /// Strictly increasing and positive.
        edges: &'a [i32],
    },
    /// One, by the value of a feature: below the first edge, from each edge to the next, and from the last edge on.
    CountsByFeature {
        /// The position of the feature.
        feature: usize,
        /// Strictly increasing.
        edges: &'a [i16],
    },
    /// The residual g, clipped to ±τ, by the value of a feature: in the order of [`super::ResidualSums`].
    Sums {
        /// The bound τ.
        tau: i32,
        /// The position of the feature.
        feature: usize,
        /// Strictly increasing.
        edges: &'a [i16],
    },
    /// The square of g, in one sum.
    Squares {
        /// The bound τ.
        tau: i32,
    },
}

/// Sums over stored rows of a weight times one, a clipped residual or its square.
///
/// # Privacy
/// The weight of a row is clamped, so it is between 0 and `most` for every row. A row changes one count by at most `most`,
/// one sum by at most `most`·τ, or the sum of squares by at most `most`·τ². Replacing a row changes counts by at most
/// √2·`most`, sums by at most 2·`most`·τ, and the sum of squares by at most `most`·τ². A dropped row is zero, and so is its
/// weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedResiduals {
    sums: Sums,
}

statistic!(WeightedResiduals, "weighted residuals", "row maps, theta, weights, tau or edges");

impl WeightedResiduals {
    /// Add up a part of the residuals of stored rows.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a feature that does not exist, a weight that is not positive, invalid edges or an
    /// invalid τ; [`crate::Error::Shape`] for a θ that does not fit; [`crate::Error::Interrupted`].
    pub fn of(
        store: &Store,
        theta: &Theta,
        weight: Weight,
        part: Part<'_>,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let exists = |feature: usize| feature < store.features();
        if !exists(weight.feature) || weight.most < 1 {
            return Err(parameter("weight", "a feature, and a positive bound", "others"));
        }
        let mut hash = Xxh3::new();
        hash.update(&(weight.feature as u64).to_le_bytes());
        hash.update(&weight.most.to_le_bytes());
        let (clip, length) = match part {
            Part::Counts { edges } => {
                let valid = edges.iter().all(|edge| (1..=MOST_TAU).contains(edge));
                check(
                    !edges.is_empty()
                        && valid
                        && edges.len() <= MOST_EDGES
                        && edges.is_sorted_by(|a, b| a < b),
                )?;
                hash.update(&[0]);
                for edge in edges {
                    hash.update(&edge.to_le_bytes());
                }
                (Clip::WIDEST, 2 * edges.len() + 1)
            }
            Part::CountsByFeature { feature, edges } => {
                check(exists(feature) && edges.len() <= MOST_EDGES && edges.is_sorted_by(|a, b| a < b))?;
                hash.update(&[3]);
                hash.update(&(feature as u64).to_le_bytes());
                for edge in edges {
                    hash.update(&edge.to_le_bytes());
                }
                (Clip::WIDEST, edges.len() + 1)
            }
            Part::Sums { tau, feature, edges } => {
                check(exists(feature) && edges.len() <= MOST_EDGES && edges.is_sorted_by(|a, b| a < b))?;
                hash.update(&[1]);
                hash.update(&(feature as u64).to_le_bytes());
                for edge in edges {
                    hash.update(&edge.to_le_bytes());
                }
                (Clip::new(tau, None)?, edges.len() + 1)
            }
            Part::Squares { tau } => {
                hash.update(&[2]);
                (Clip::new(tau, None)?, 1)
            }
        };
        hash.update(&store.residual_key(theta, clip).to_le_bytes());
        let mut sums = Sums::zero(hash.digest(), length);
        let zero = || Totals { weight, part, sums: vec![0; length] };
        store.pass(theta, clip, zero, execution, stop, |totals: &Totals<'_>| {
            sums.add(totals.sums.iter().copied())
        })?;
        Ok(Self { sums })
    }

    /// Read what [`Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let valid = |sums: &[i128]| (1..=2 * MOST_EDGES + 1).contains(&sums.len());
        Ok(Self { sums: Sums::from_bytes(Self::KIND, bytes, valid)? })
    }
}

fn check(valid: bool) -> Result<()> {
    if valid {
        Ok(())
    } else {
        Err(parameter("edges", format!("up to {MOST_EDGES} strictly increasing numbers"), "others"))
    }
}

/// The sums of a thread.
struct Totals<'a> {
    weight: Weight,
    part: Part<'a>,
    sums: Vec<i128>,
}

impl PassSums for Totals<'_> {
    fn add(&mut self, _: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        for (tile, [high, low]) in group.chunks_exact(layout.lines()).zip(residuals.tiles()) {
            for lane in 0..LANES {
                let weight = feature(tile, self.weight.feature)[lane].clamp(0, self.weight.most);
                let residual = (i32::from(high[lane]) << RESIDUAL_LOW_BITS) + i32::from(low[lane]);
                let (place, value) = match self.part {
                    Part::Counts { edges } => (place_of(residual, edges), 1),
                    Part::CountsByFeature { feature: by, edges } => {
                        (edges.partition_point(|&edge| edge <= feature(tile, by)[lane]), 1)
                    }
                    Part::Sums { feature: by, edges, .. } => {
                        (edges.partition_point(|&edge| edge <= feature(tile, by)[lane]), i128::from(residual))
                    }
                    Part::Squares { .. } => (0, i128::from(residual).pow(2)),
                };
                self.sums[place] += i128::from(weight) * value;
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, other)| *sum += other);
    }
}

/// Return the index of the count of a residual.
fn place_of(residual: i32, edges: &[i32]) -> usize {
    let beyond = edges.partition_point(|&edge| edge < residual.abs());
    if residual < 0 { edges.len() - beyond } else { edges.len() + beyond }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_residual_has_the_place_that_counts_without_weights_have() {
        let edges = [1, 5, 1024];
        let expected =
            [(0, 3), (1, 3), (-1, 3), (2, 4), (-2, 2), (5, 4), (-5, 2), (6, 5), (1025, 6), (-1025, 0)];
        for (residual, place) in expected {
            assert_eq!(place_of(residual, &edges), place, "{residual}");
        }
    }
}
