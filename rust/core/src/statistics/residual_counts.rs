//! Counts of residuals between public edges.

use xxhash_rust::xxh3::Xxh3;

use super::sums::{Statistic, Sums, statistic};
use crate::error::{Result, parameter};
use crate::execution::{Execution, Path, Stop};
use crate::layout::{LANES, Layout, Line, feature, target_lane, targets};
use crate::store::{
    Clip, MOST_REACH, MOST_TAU, PassSums, RESIDUAL_LOW_BITS, Residuals, Store, Theta, squares,
};

/// The most edges.
pub const MOST_EDGES: usize = 64;

/// Counts of rows by their residual r = y − xθ, in steps of the target.
///
/// Edges a < b < … < z give `2 · edges + 1` counts, in this order: r < −z, …, −b ≤ r < −a, |r| ≤ a, a < r ≤ b, …, r > z.
///
/// [`ResidualCounts::of_scores`] counts rows by r·‖q‖ in the same way, in steps of X'g: how much a row adds to X'g. For
/// these, a residual above [`MOST_TAU`] counts as [`MOST_TAU`] + 1.
///
/// A row whose features and target are all zero is not counted. Dropped rows are stored like that; a row that became zero
/// because it is shorter than the grid adds nothing to other sums, either.
///
/// # Privacy
/// A row adds one to one count, or nothing: the ℓ2 sensitivity is 1 when a row is added or removed, at most √2 when one is
/// replaced, for any θ. The rounding of ‖q‖ decides at most which count it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidualCounts {
    sums: Sums,
}

statistic!(ResidualCounts, "residual counts", "row maps, theta or edges");

impl ResidualCounts {
    /// Count the residuals of stored rows.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless there are from 1 to [`MOST_EDGES`] edges, from 1 to [`MOST_TAU`] and in increasing
    /// order; [`crate::Error::Shape`] for a θ that does not fit; [`crate::Error::Interrupted`].
    pub fn of(
        store: &Store,
        theta: &Theta,
        edges: &[i32],
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let edges = checked(edges.iter().copied().map(i64::from).collect(), MOST_TAU.into())?;
        Self::count(store, theta, &edges, false, execution, stop)
    }

    /// Count stored rows by r·‖q‖.
    ///
    /// # Errors
    /// Those of [`ResidualCounts::of`], with edges up to [`MOST_REACH`].
    pub fn of_scores(
        store: &Store,
        theta: &Theta,
        edges: &[u64],
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        // A number that does not fit is above all that are allowed.
        let edges = edges.iter().map(|&edge| i64::try_from(edge).unwrap_or(i64::MAX));
        let edges = checked(edges.collect(), MOST_REACH as i64)?;
        Self::count(store, theta, &edges, true, execution, stop)
    }

    fn count(
        store: &Store,
        theta: &Theta,
        edges: &[i64],
        by_score: bool,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let mut hash = Xxh3::new();
        hash.update(&store.residual_key(theta, Clip::WIDEST).to_le_bytes());
        hash.update(&[u8::from(by_score)]);
        for edge in edges {
            hash.update(&edge.to_le_bytes());
        }
        let mut sums = Sums::zero(hash.digest(), 2 * edges.len() + 1);
        let doubles: Vec<f64> = edges.iter().map(|&edge| edge as f64).collect();
        let integers: Vec<i32> = edges.iter().map(|&edge| i32::try_from(edge).unwrap_or(i32::MAX)).collect();
        let edges = if by_score { Edges::OfScores(&doubles) } else { Edges::OfResiduals(&integers) };
        let zero = || Counts { edges, counts: [0; 2 * MOST_EDGES + 1] };
        store.pass(theta, Clip::WIDEST, zero, execution, stop, |counts: &Counts<'_>| {
            sums.add(counts.counts.iter().map(|&count| i128::from(count)))
        })?;
        Ok(Self { sums })
    }

    /// Read what [`Statistic::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Blob`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let valid = |sums: &[i128]| {
            sums.len() % 2 == 1
                && (3..=2 * MOST_EDGES + 1).contains(&sums.len())
                && sums.iter().all(|&count| count >= 0)
        };
        Ok(Self { sums: Sums::from_bytes(Self::KIND, bytes, valid)? })
    }
}

/// Return public edges if they are valid.
fn checked(edges: Vec<i64>, most: i64) -> Result<Vec<i64>> {
    if !(1..=MOST_EDGES).contains(&edges.len()) {
        return Err(parameter("edges", format!("1 to {MOST_EDGES} numbers"), edges.len()));
    }
    if edges.iter().any(|edge| !(1..=most).contains(edge)) || !edges.is_sorted_by(|a, b| a < b) {
        let allowed = format!("strictly increasing and between 1 and {most}");
        return Err(parameter("edges", allowed, format!("{edges:?}")));
    }
    Ok(edges)
}

/// What rows are counted by.
#[derive(Clone, Copy)]
enum Edges<'a> {
    OfResiduals(&'a [i32]),
    OfScores(&'a [f64]),
}

impl Edges<'_> {
    fn len(&self) -> usize {
        match self {
            Self::OfResiduals(edges) => edges.len(),
            Self::OfScores(edges) => edges.len(),
        }
    }
}

/// The counts of a thread.
struct Counts<'a> {
    edges: Edges<'a>,
    counts: [u64; 2 * MOST_EDGES + 1],
}

impl PassSums for Counts<'_> {
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        for (tile, parts) in group.chunks_exact(layout.lines()).zip(residuals.tiles()) {
            let (places, zeros) = path.run(
                #[inline(always)]
                || {
                    let places = match self.edges {
                        Edges::OfResiduals(edges) => places(parts, edges),
                        Edges::OfScores(edges) => places_of_scores(parts, &squares(tile, layout), edges),
                    };
                    (places, zeros(tile, layout))
                },
            );
            for place in places {
                self.counts[place as usize] += 1;
            }
            // A row of zeros has a residual of zero for every θ.
            self.counts[self.edges.len()] -= zeros;
        }
    }

    fn merge(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, other)| *count += other);
    }
}

/// Return the index of the count of every row of a tile.
#[inline(always)]
fn places([high, low]: &[[i16; LANES]; 2], edges: &[i32]) -> [u32; LANES] {
    let residuals = joined(high, low);
    let mut places = [edges.len() as i32; LANES];
    for &edge in edges {
        for lane in 0..LANES {
            places[lane] += i32::from(residuals[lane] > edge) - i32::from(residuals[lane] < -edge);
        }
    }
    places.map(|place| place as u32)
}

/// The same for the residual of every row times its norm, given the square of the norm.
///
/// Integers below 2^53, a correctly rounded root and one product: the same bits on every machine.
#[inline(always)]
fn places_of_scores([high, low]: &[[i16; LANES]; 2], squares: &[u32; LANES], edges: &[f64]) -> [u32; LANES] {
    let residuals = joined(high, low);
    let mut scores = [0.0; LANES];
    for lane in 0..LANES {
        scores[lane] = f64::from(residuals[lane]) * f64::from(squares[lane] as i32).sqrt();
    }
    let mut places = [edges.len() as i32; LANES];
    for &edge in edges {
        for lane in 0..LANES {
            places[lane] += i32::from(scores[lane] > edge) - i32::from(scores[lane] < -edge);
        }
    }
    places.map(|place| place as u32)
}

#[inline(always)]
fn joined(high: &[i16; LANES], low: &[i16; LANES]) -> [i32; LANES] {
    let mut residuals = [0; LANES];
    for lane in 0..LANES {
        residuals[lane] = (i32::from(high[lane]) << RESIDUAL_LOW_BITS) + i32::from(low[lane]);
    }
    residuals
}

/// Return the number of rows of a tile that are all zero.
#[inline(always)]
fn zeros(tile: &[Line], layout: Layout) -> u64 {
    let mut any = [0; LANES];
    for index in 0..layout.features() {
        let values = feature(tile, index);
        for lane in 0..LANES {
            any[lane] |= values[lane];
        }
    }
    let targets = targets(tile, layout);
    (0..LANES).map(|lane| u64::from(any[lane] == 0 && targets[target_lane(lane)] == 0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_residual_has_one_place() {
        let edges = [1, 5, 1024, MOST_TAU];
        let expected = [
            (0, 4),
            (1, 4),
            (-1, 4),
            (2, 5),
            (-2, 3),
            (5, 5),
            (-5, 3),
            (6, 6),
            (1024, 6),
            (1025, 7),
            (-1025, 1),
            (MOST_TAU, 7),
            (-MOST_TAU, 1),
            (MOST_TAU + 1, 8),
            (-MOST_TAU - 1, 0),
        ];
        for (residual, place) in expected {
            let (high, low) = (residual >> RESIDUAL_LOW_BITS, residual & ((1 << RESIDUAL_LOW_BITS) - 1));
            let parts = [[high as i16; LANES], [low as i16; LANES]];
            assert_eq!(places(&parts, &edges), [place; LANES], "{residual}");
        }
    }

    #[test]
    fn a_score_is_the_residual_times_the_norm() {
        let edges = [6.0, 15.0, 1e9];
        // Residual, squared norm, place.
        for (residual, square, place) in [
            (0, 9, 3),
            (2, 9, 3),
            (-2, 9, 3),
            (3, 9, 4),
            (5, 9, 4),
            (6, 9, 5),
            (-6, 9, 1),
            (-3, 9, 2),
            (7, 0, 3),
        ] {
            let (high, low) = (residual >> RESIDUAL_LOW_BITS, residual & ((1 << RESIDUAL_LOW_BITS) - 1));
            let parts = [[high as i16; LANES], [low as i16; LANES]];
            assert_eq!(places_of_scores(&parts, &[square; LANES], &edges), [place; LANES], "{residual}");
        }
    }

    #[test]
    fn bytes_that_are_not_counts_are_refused() {
        let read = |sums: &[i128]| {
            let mut counts = ResidualCounts { sums: Sums::zero(7, sums.len()) };
            counts.sums.add(sums.iter().copied()).unwrap();
            ResidualCounts::from_bytes(&counts.to_bytes())
        };
        assert!(read(&[1, 0, 3]).is_ok());
        assert!(read(&[1, -1, 3]).is_err());
        assert!(read(&[1, 3]).is_err());
        assert!(read(&[1]).is_err());
        assert!(read(&[0; 2 * MOST_EDGES + 3]).is_err());
    }
}
