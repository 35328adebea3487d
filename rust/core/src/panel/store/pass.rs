//! A pass over the store: the residuals of every row, and what is added up of them.

use super::Panel;
use crate::error::{Result, parameter};
use crate::kernel::{MOST_TAU, MOST_TILES, Path, Residuals};
use crate::panel::layout::{LANES, Layout, Line};
use crate::panel::theta::Theta;
use crate::statistics::{Energy, Gradient};
use crate::threads::{Execution, Stop, waves};

/// Lines that a thread takes at a time: 512 KiB, many per thread and long enough to stream.
const PIECE_LINES: usize = 1 << 13;
/// Lines between two looks at whether to stop: 256 MiB.
const WAVE_PIECES: usize = 512;
/// Bytes of a group of tiles, read twice by the pass: they should still be in the cache the second time.
const GROUP_BYTES: usize = 20 << 10;

/// What a thread adds up in a pass: integers, so that neither order nor grouping changes them.
trait Sums: Send {
    fn zero(layout: Layout) -> Self;

    /// Add a group of tiles, whose residuals these are.
    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals);

    fn merge(&mut self, other: Self);
}

/// X'g: four partial sums per feature, features rounded up to an even number.
struct Products(Vec<[i64; 4]>);

impl Sums for Products {
    fn zero(layout: Layout) -> Self {
        Self(vec![[0; 4]; 2 * layout.feature_lines()])
    }

    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        path.products(group, layout, residuals, &mut self.0);
    }

    fn merge(&mut self, other: Self) {
        for (a, b) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *a += b;
        }
    }
}

/// Σg². A wave may hold 2^25 rows, whose squares of up to 2^40 would not fit 64 bits.
struct Squares(i128);

impl Sums for Squares {
    fn zero(_: Layout) -> Self {
        Self(0)
    }

    fn add(&mut self, path: Path, group: &[Line], layout: Layout, residuals: &Residuals) {
        self.0 += i128::from(path.squares(residuals, group.len() / layout.lines()));
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Panel {
    /// X'g with g = clip(y − Xθ, ±`tau`), `tau` in units of the target's grid: exact integers in units of
    /// 2^−15 · unit.
    ///
    /// # Privacy
    /// One row contributes q·g with ‖q‖ ≤ 2^15 and |g| ≤ `tau`: the sum's ℓ2 sensitivity is at most
    /// 2^15·`tau` when a row is added or removed, twice that when one is replaced, exactly, for any θ.
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`], [`crate::error::Error::Shape`] for a θ or τ that does not fit;
    /// [`crate::error::Error::Interrupted`].
    pub fn gradient(
        &self,
        theta: &Theta,
        tau: i32,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Gradient> {
        let mut total = Gradient::new(&self.map, theta, tau);
        self.pass(theta, tau, execution, stop, |sums: &Products| total.add(&sums.0))?;
        Ok(total)
    }

    /// Σg² with the g of [`Panel::gradient`], in units of the target's grid, squared.
    ///
    /// # Privacy
    /// One row contributes g² from 0 to `tau`²: the sum's sensitivity is at most `tau`² when a row is added, removed or
    /// replaced, exactly, for any θ. A row that was left out is zero, and so is its residual.
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`], [`crate::error::Error::Shape`] for a θ or τ that does not fit;
    /// [`crate::error::Error::Interrupted`].
    pub fn energy(&self, theta: &Theta, tau: i32, execution: &Execution, stop: Stop<'_>) -> Result<Energy> {
        let mut total = Energy::new(&self.map, theta, tau);
        self.pass(theta, tau, execution, stop, |sums: &Squares| total.add(sums.0))?;
        Ok(total)
    }

    /// Compute the residuals of all rows, clipped to ±`tau`, and give what threads have added up of them to `total`, wave
    /// by wave.
    fn pass<S: Sums>(
        &self,
        theta: &Theta,
        tau: i32,
        execution: &Execution,
        stop: Stop<'_>,
        mut total: impl FnMut(&S) -> Result<()>,
    ) -> Result<()> {
        theta.check_len(self.layout.features())?;
        if !(1..=MOST_TAU).contains(&tau) {
            return Err(parameter("tau", format!("from 1 to {MOST_TAU} units"), tau));
        }
        let (layout, path) = (self.layout, execution.path());
        let group = (GROUP_BYTES / layout.bytes()).clamp(8, MOST_TILES) * layout.lines();
        let piece = (PIECE_LINES / group).max(1) * group;
        for (segment, lines) in self.used() {
            let pieces: Vec<&[Line]> = lines.chunks(piece).collect();
            waves(pieces.len(), WAVE_PIECES, stop, |wave| {
                let work = |sums: &mut S, piece: &[Line]| {
                    let mut residuals = Residuals::new();
                    for group in piece.chunks(group) {
                        path.residuals(group, layout, theta, tau, &mut residuals);
                        sums.add(path, group, layout, &residuals);
                    }
                    Ok(())
                };
                let merge = |a: &mut S, b: S| {
                    a.merge(b);
                    Ok(())
                };
                let cost = wave.len() * piece * LANES;
                let zero = || S::zero(layout);
                total(&execution.fold(cost, pieces[wave].iter().copied(), zero, work, merge)?)
            })?;
            segment.forget();
        }
        Ok(())
    }
}
