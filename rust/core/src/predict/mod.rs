//! Predictions of additive models, and the variances of their errors.
//!
//! A model is public, and so is what it says about a row. The rows belong to the caller, and nothing is summed over them.

mod errors;

use crate::error::{Error, Result};
use crate::execution::{Execution, Stop, waves};
use crate::source::{Missing, STRIP, Source, Strip, StripColumn, WAVE_VALUES, check_columns};

pub use errors::{Errors, Forms, Term};

/// The number of rows that a thread takes at a time.
const BLOCK_ROWS: usize = 1024;

/// What a column adds to a prediction.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing.
    None,
    /// A line through the origin, constant outside a range.
    Line {
        /// The range of the line.
        low: f64,
        /// The range of the line.
        high: f64,
        /// Its slope.
        slope: f64,
    },
    /// A piecewise-linear curve, constant outside its points.
    Curve(Curve),
    /// The effect of each level, given by its position; zero for any other value.
    Levels(Vec<f64>),
}

/// A piecewise-linear curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    points: Vec<f64>,
    /// For the values from each point on: the point, the height there, and the slope up to the next point.
    pieces: Vec<[f64; 3]>,
}

impl Curve {
    /// Create a curve through these heights at increasing points.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a height for each of one or more points.
    pub fn new(points: Vec<f64>, heights: &[f64]) -> Result<Self> {
        if points.is_empty() || points.len() != heights.len() {
            return Err(Error::Shape {
                what: "heights of a curve",
                expected: points.len().max(1),
                got: heights.len(),
            });
        }
        let slope = |i: usize| match (points.get(i + 1), heights.get(i + 1)) {
            (Some(point), Some(height)) => (height - heights[i]) / (point - points[i]),
            _ => 0.0,
        };
        let pieces = (0..points.len()).map(|i| [points[i], heights[i], slope(i)]).collect();
        Ok(Self { points, pieces })
    }

    /// Return the heights of the curve. The formula is that of `numpy.interp`, so that the bits are the same.
    #[inline(always)]
    fn add(&self, values: &StripColumn, totals: &mut StripColumn) {
        let (low, high) = (self.points[0], self.points[self.points.len() - 1]);
        let mut inside = [0.0; STRIP];
        let mut places = [0u64; STRIP];
        for (inside, value) in inside.iter_mut().zip(values.iter()) {
            let value = if *value > low { *value } else { low };
            *inside = if value < high { value } else { high };
        }
        for point in &self.points[1..] {
            for (place, inside) in places.iter_mut().zip(&inside) {
                *place += u64::from(inside >= point);
            }
        }
        for ((total, place), inside) in totals.iter_mut().zip(places).zip(inside) {
            let [point, height, slope] = self.pieces[place as usize];
            *total += slope * (inside - point) + height;
        }
    }
}

/// An additive model.
#[derive(Debug, Clone, PartialEq)]
pub struct Additive {
    intercept: f64,
    effects: Vec<Effect>,
    /// What predictions are clipped to.
    range: (f64, f64),
}

impl Additive {
    /// Create a model with an effect for each column, whose predictions are clipped to a range.
    pub fn new(intercept: f64, effects: Vec<Effect>, range: (f64, f64)) -> Self {
        Self { intercept, effects, range }
    }

    /// Return a prediction for each row of a source without target. Rows with NaN have the prediction NaN.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::NotFinite`] for NaN and infinities, unless rows with missing
    /// values are dropped; [`Error::Interrupted`].
    pub fn predict(
        &self,
        source: &dyn Source,
        missing: Missing,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Vec<f64>> {
        check_columns(source, self.effects.len())?;
        let mut found = vec![0.0; source.rows()];
        let path = execution.path();
        by_strips(source, &mut found, execution, stop, |strip, out| {
            let (totals, finite) = path.run(
                #[inline(always)]
                || self.totals(strip),
            );
            if !finite && missing == Missing::Error {
                return Err(Error::NotFinite);
            }
            out.copy_from_slice(&totals[..out.len()]);
            Ok(())
        })?;
        Ok(found)
    }

    /// Return the predictions of a strip, and whether all of its values are finite.
    #[inline(always)]
    fn totals(&self, strip: &Strip) -> (StripColumn, bool) {
        let mut totals = StripColumn([self.intercept; STRIP]);
        // Zero times a finite number is zero; times NaN or an infinity it is NaN.
        let (mut checks, mut missing) = (StripColumn::ZERO, [false; STRIP]);
        for (values, effect) in strip.whole().iter().zip(&self.effects) {
            for ((check, missing), value) in checks.iter_mut().zip(&mut missing).zip(values.iter()) {
                *check += value * 0.0;
                *missing |= value.is_nan();
            }
            match effect {
                Effect::None => {}
                &Effect::Line { low, high, slope } => {
                    for (total, &value) in totals.iter_mut().zip(values.iter()) {
                        let value = if value > low { value } else { low };
                        *total += if value < high { value } else { high } * slope;
                    }
                }
                Effect::Curve(curve) => curve.add(values, &mut totals),
                Effect::Levels(effects) => {
                    for (total, &value) in totals.iter_mut().zip(values.iter()) {
                        // A cast of a negative number or of NaN is zero.
                        let effect = if value >= 0.0 { effects.get(value as usize) } else { None };
                        *total += effect.copied().unwrap_or(0.0);
                    }
                }
            }
        }
        let (least, most) = self.range;
        for (total, missing) in totals.iter_mut().zip(missing) {
            let value = if *total > least { *total } else { least };
            let value = if value < most { value } else { most };
            *total = if missing { f64::NAN } else { value };
        }
        (totals, checks.iter().all(|&check| check == 0.0))
    }
}

/// Call `each` for every strip of a source, on all threads, with the place for its results.
fn by_strips<T: Send>(
    source: &dyn Source,
    results: &mut [T],
    execution: &Execution,
    stop: Stop<'_>,
    each: impl Fn(&Strip, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let wave = (WAVE_VALUES / source.columns().max(1)).next_multiple_of(BLOCK_ROWS);
    waves(source.rows(), wave, stop, |rows| {
        let blocks = results[rows.clone()].chunks_mut(BLOCK_ROWS).zip(rows.clone().step_by(BLOCK_ROWS));
        let strip = || Strip::new(source.columns(), STRIP);
        let work = |strip: &mut Strip, (block, start): (&mut [T], usize)| {
            for (out, start) in block.chunks_mut(STRIP).zip((start..).step_by(STRIP)) {
                strip.copy(source, start, out.len());
                each(strip, out)?;
            }
            Ok(())
        };
        execution.fold(rows.len() * source.columns(), blocks, strip, work, |_, _| Ok(())).map(drop)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Path;
    use crate::source::Dense;

    /// The last column of [`Dense`] is one of the columns here.
    fn predict(model: &Additive, x: &[f64], last: &[f64], missing: Missing) -> Result<Vec<f64>> {
        let source = Dense::new(x, last).unwrap();
        let mut found: Option<Result<Vec<f64>>> = None;
        for path in Path::available() {
            for execution in [Execution::on(path), Execution::new(Some(3), path).unwrap()] {
                let next = model.predict(&source, missing, &execution, &mut || false);
                let bits = |found: &Result<Vec<f64>>| {
                    found.as_ref().map(|found| found.iter().map(|x| x.to_bits()).collect::<Vec<_>>()).ok()
                };
                assert!(found.as_ref().is_none_or(|found| bits(found) == bits(&next)));
                found = Some(next);
            }
        }
        found.unwrap()
    }

    fn model() -> Additive {
        let curve = Curve::new(vec![-1.0, 0.0, 2.0], &[3.0, 1.0, 2.0]).unwrap();
        let line = Effect::Line { low: -1.0, high: 2.0, slope: 10.0 };
        let effects = vec![line, Effect::Curve(curve), Effect::None, Effect::Levels(vec![0.25, 0.5])];
        Additive::new(100.0, effects, (-1e9, 121.0))
    }

    #[test]
    fn effects_add_up() {
        let x = [0.5, -0.5, 7.0, -9.0, 1.0, 7.0, 9.0, 9.0, 7.0, 0.0, -9.0, 7.0];
        let found = predict(&model(), &x, &[0.0, 1.0, 2.0, -1.0], Missing::Error).unwrap();
        assert_eq!(found, [105.0 + 2.0 + 0.25, 90.0 + 1.5 + 0.5, 121.0, 103.0]);
    }

    #[test]
    fn missing_values_are_errors_or_have_no_prediction() {
        for strange in [f64::NAN, f64::INFINITY, -f64::INFINITY] {
            for place in 0..4 {
                let mut row = [0.0; 4];
                row[place] = strange;
                let found = predict(&model(), &row[..3], &row[3..], Missing::Error);
                assert!(matches!(found, Err(Error::NotFinite)));
                let found = predict(&model(), &row[..3], &row[3..], Missing::Drop).unwrap();
                assert_eq!(found[0].is_nan(), strange.is_nan(), "{place}");
            }
        }
    }

    #[test]
    fn all_rows_are_predicted_on_every_path() {
        for rows in [1, 63, 64, 65, 5000, 70_000] {
            let x: Vec<f64> = (0..3 * rows).map(|i| (i as f64 * 0.7).sin() * 3.0).collect();
            let last: Vec<f64> = (0..rows).map(|i| (i % 4) as f64 - 1.0).collect();
            let found = predict(&model(), &x, &last, Missing::Error).unwrap();
            assert_eq!(found.len(), rows);
            for row in (0..rows).step_by(1000).chain(rows.checked_sub(1)) {
                let alone = predict(&model(), &x[3 * row..][..3], &last[row..=row], Missing::Error).unwrap();
                assert_eq!(alone[0].to_bits(), found[row].to_bits());
            }
        }
    }

    #[test]
    fn shapes_are_checked() {
        assert!(Curve::new(vec![], &[]).is_err());
        assert!(Curve::new(vec![1.0], &[1.0, 2.0]).is_err());
        let source = Dense::new(&[1.0], &[1.0]).unwrap();
        let found = model().predict(&source, Missing::Drop, &Execution::on(Path::portable()), &mut || false);
        assert!(matches!(found, Err(Error::Shape { .. })));
    }
}
