//! Sums of clipped residuals by the value of each feature.

use xxhash_rust::xxh3::Xxh3;

use super::residual_counts::MOST_EDGES;
use super::sums::{Statistic, Sums, statistic};
use crate::error::{Error, Result, parameter};
use crate::execution::{Execution, Path, Stop};
use crate::layout::{LANES, Layout, Line, MOST_FEATURES, feature};
use crate::store::{Clip, PassSums, RESIDUAL_LOW_BITS, Residuals, Store, Theta};

/// For every feature with edges, the sum of clipped residuals g of the rows between two edges, in steps of the target.
///
/// Edges a < b < … < z of a feature q give `edges + 1` sums, in this order: q < a, a ≤ q < b, …, q ≥ z. Features without
/// edges have no sums.
///
/// # Privacy
/// A row adds its residual, |g| ≤ τ, to one sum of each of the k features with edges. The ℓ2 sensitivity is at most √k·τ
/// when a row is added or removed and 2·√k·τ when one is replaced, for every θ. A dropped row is zero, and so is its
/// residual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidualSums {
    sums: Sums,
}

statistic!(ResidualSums, "residual sums", "row maps, theta, tau or edges");

impl ResidualSums {
    /// Add up the residuals g = clip(y − Xθ, ±`tau`) of stored rows, by the edges of every feature.
    ///
    /// # Errors
    /// [`Error::Parameter`] if no feature has edges, if one has more than [`MOST_EDGES`], if edges do not increase, or for an
    /// invalid τ; [`Error::Shape`] for a θ or edges that do not fit the rows; [`Error::Interrupted`].
    pub fn of(
        store: &Store,
        theta: &Theta,
        tau: i32,
        edges: &[Vec<i16>],
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let clip = Clip::new(tau, None)?;
        if edges.len() != store.features() {
            return Err(Error::Shape { what: "edges", expected: store.features(), got: edges.len() });
        }
        let increasing = |edges: &Vec<i16>| edges.len() <= MOST_EDGES && edges.is_sorted_by(|a, b| a < b);
        if edges.iter().all(Vec::is_empty) || !edges.iter().all(increasing) {
            let allowed =
                format!("up to {MOST_EDGES} strictly increasing numbers for each feature, and not all empty");
            return Err(parameter("edges", allowed, "others"));
        }
        let mut hash = Xxh3::new();
        hash.update(&store.residual_key(theta, clip).to_le_bytes());
        let mut features = Vec::new();
        let mut total = 0;
        for (place, edges) in edges.iter().enumerate() {
            hash.update(&(edges.len() as u64).to_le_bytes());
            for edge in edges {
                hash.update(&edge.to_le_bytes());
            }
            if !edges.is_empty() {
                features.push(Feature { place, edges, first: total });
                total += edges.len() + 1;
            }
        }
        let mut sums = Sums::zero(hash.digest(), total);
        let zero = || Parts { features: &features, sums: vec![0; total] };
        store.pass(theta, clip, zero, execution, stop, |parts: &Parts<'_>| {
            sums.add(parts.sums.iter().map(|&sum| i128::from(sum)))
        })?;
        Ok(Self { sums })
    }

    /// Read what [`Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let valid = |sums: &[i128]| (2..=MOST_FEATURES * (MOST_EDGES + 1)).contains(&sums.len());
        Ok(Self { sums: Sums::from_bytes(Self::KIND, bytes, valid)? })
    }
}

/// A feature that has edges, and where its sums begin.
struct Feature<'a> {
    place: usize,
    edges: &'a [i16],
    first: usize,
}

/// The sums of a thread. A wave may have 2^25 rows with residuals of up to 2^20.
struct Parts<'a> {
    features: &'a [Feature<'a>],
    sums: Vec<i64>,
}

impl PassSums for Parts<'_> {
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        for (tile, [high, low]) in group.chunks_exact(layout.lines()).zip(residuals.tiles()) {
            let mut clipped = [0; LANES];
            for lane in 0..LANES {
                clipped[lane] = (i32::from(high[lane]) << RESIDUAL_LOW_BITS) + i32::from(low[lane]);
            }
            for Feature { place, edges, first } in self.features {
                let places = path.run(
                    #[inline(always)]
                    || places(feature(tile, *place), edges),
                );
                for lane in 0..LANES {
                    self.sums[first + places[lane] as usize] += i64::from(clipped[lane]);
                }
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, other)| *sum += other);
    }
}

/// Return the number of edges that are at most the value, for every row of a tile.
#[inline(always)]
fn places(values: &[i16; LANES], edges: &[i16]) -> [i16; LANES] {
    let mut places = [0; LANES];
    for &edge in edges {
        for lane in 0..LANES {
            places[lane] += i16::from(values[lane] >= edge);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_an_edge_is_above_it() {
        let mut values = [0; LANES];
        values[..7].copy_from_slice(&[i16::MIN, -6, -5, -4, 0, 7, i16::MAX]);
        assert_eq!(places(&values, &[-5, 0, 7])[..7], [0, 0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn bytes_of_one_sum_are_refused() {
        let read = |sums: &[i128]| {
            let mut found = ResidualSums { sums: Sums::zero(7, sums.len()) };
            found.sums.add(sums.iter().copied()).unwrap();
            ResidualSums::from_bytes(&found.to_bytes())
        };
        assert!(read(&[1, -3]).is_ok());
        assert!(read(&[1]).is_err());
    }
}
