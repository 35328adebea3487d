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

/// Tiles that are added at a time: the sum of their residuals, of up to 2^20, fits 32 bits.
const SHORT_TILES: usize = 16;
const SHORT_ROWS: usize = SHORT_TILES * LANES;
/// The number of edges that are compared at a time: their sums fit the registers.
const EDGES: usize = 4;

impl PassSums for Parts<'_> {
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        let groups = group.chunks(SHORT_TILES * layout.lines()).zip(residuals.tiles().chunks(SHORT_TILES));
        for (group, residuals) in groups {
            path.run(
                #[inline(always)]
                || self.add_short(group, layout, residuals),
            );
        }
    }

    fn merge(&mut self, other: Self) {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, other)| *sum += other);
    }
}

impl Parts<'_> {
    /// Add at most [`SHORT_TILES`] tiles.
    #[inline(always)]
    fn add_short(&mut self, group: &[Line], layout: Layout, parts: &[[[i16; LANES]; 2]]) {
        // Rows that do not exist have a residual of zero.
        let (mut residuals, mut values) = ([0i32; SHORT_ROWS], [0i32; SHORT_ROWS]);
        let (tiles, _) = residuals.as_chunks_mut::<LANES>();
        for ((to, [high, low]), _) in tiles.iter_mut().zip(parts).zip(group.chunks_exact(layout.lines())) {
            for lane in 0..LANES {
                to[lane] = (i32::from(high[lane]) << RESIDUAL_LOW_BITS) + i32::from(low[lane]);
            }
        }
        let total = residuals.iter().sum::<i32>();
        for Feature { place, edges, first } in self.features {
            let (tiles, _) = values.as_chunks_mut::<LANES>();
            for (to, tile) in tiles.iter_mut().zip(group.chunks_exact(layout.lines())) {
                let from = feature(tile, *place);
                for lane in 0..LANES {
                    to[lane] = i32::from(from[lane]);
                }
            }
            let sums = &mut self.sums[*first..=first + edges.len()];
            let mut before = 0;
            for (edges, sums) in edges.chunks(EDGES).zip(sums.chunks_mut(EDGES)) {
                // Missing edges are copies of the last one.
                let four = std::array::from_fn(|i| i32::from(edges[i.min(edges.len() - 1)]));
                let below = below(&values, &residuals, &four);
                for (sum, below) in sums.iter_mut().zip(&below[..edges.len()]) {
                    *sum += i64::from(below - before);
                    before = *below;
                }
            }
            sums[edges.len()] += i64::from(total - before);
        }
    }
}

/// Return the sums of the residuals of rows whose value is below an edge.
///
/// The loop over rows is the outer one, so that compilers use vectors of rows.
#[inline(always)]
fn below(values: &[i32; SHORT_ROWS], residuals: &[i32; SHORT_ROWS], edges: &[i32; EDGES]) -> [i32; EDGES] {
    let mut sums = [0i32; EDGES];
    for row in 0..SHORT_ROWS {
        for edge in 0..EDGES {
            let residual = if values[row] < edges[edge] { residuals[row] } else { 0 };
            sums[edge] = sums[edge].wrapping_add(residual);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_by_value_also_of_the_largest_residuals() {
        let layout = Layout::new(3);
        let edges: Vec<i16> = vec![i16::MIN, -5, 0, 7, 900, i16::MAX];
        let (tiles, largest) = (2 * SHORT_TILES - 1, 1 << (2 * RESIDUAL_LOW_BITS));
        let mut group = vec![Line([0; 32]); tiles * layout.lines()];
        let values = [i16::MIN, -6, -5, -4, 0, 6, 7, 899, 900, i16::MAX];
        let mut expected = vec![0i64; edges.len() + 1];
        let mut residuals = Vec::new();
        for (index, tile) in group.chunks_exact_mut(layout.lines()).enumerate() {
            let mut parts = [[0; LANES]; 2];
            for lane in 0..LANES {
                let value = values[(index * LANES + lane) % values.len()];
                crate::layout::feature_mut(tile, 1)[lane] = value;
                let residual = [largest, -largest, largest, 1023, -1][(index + 3 * lane) % 5];
                parts[0][lane] = (residual >> RESIDUAL_LOW_BITS) as i16;
                parts[1][lane] = (residual & ((1 << RESIDUAL_LOW_BITS) - 1)) as i16;
                expected[edges.iter().filter(|&&edge| value >= edge).count()] += i64::from(residual);
            }
            residuals.push(parts);
        }
        for path in Path::available() {
            let features = [Feature { place: 1, edges: &edges, first: 0 }];
            let mut parts = Parts { features: &features, sums: vec![0; edges.len() + 1] };
            let short = group.chunks(SHORT_TILES * layout.lines()).zip(residuals.chunks(SHORT_TILES));
            for (group, residuals) in short {
                path.run(|| parts.add_short(group, layout, residuals));
            }
            assert_eq!(parts.sums, expected);
        }
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
