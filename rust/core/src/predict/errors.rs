//! Estimates of linear functions of parameters, and several quadratic forms of them, for every row.

use super::by_strips;
use crate::error::{Error, Result};
use crate::execution::{Execution, Stop};
use crate::source::{STRIP, Source, Strip, check_columns};

/// What a column is to a linear function: up to two coordinates with weights.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// Nothing.
    None,
    /// One coordinate with the weight clamp(x, low, high) − centre.
    Line {
        /// The first value of the range.
        low: f64,
        /// The last value of the range.
        high: f64,
        /// The value at which the weight is zero.
        centre: f64,
    },
    /// One coordinate for each of two or more increasing points. A value between two of them has both, with weights that add
    /// up to one.
    Curve(Vec<f64>),
    /// The coordinate of the value, which is a position below this number; one more coordinate for any other value.
    Levels(usize),
}

impl Term {
    /// The number of coordinates.
    pub fn size(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Line { .. } => 1,
            Self::Curve(points) => points.len(),
            Self::Levels(count) => count + 1,
        }
    }

    /// Return the first coordinate and the weights of two.
    #[inline(always)]
    fn weights(&self, x: f64) -> (usize, [f64; 2]) {
        match self {
            Self::None => (0, [0.0, 0.0]),
            &Self::Line { low, high, centre } => {
                let x = if x > low { x } else { low };
                (0, [if x < high { x } else { high } - centre, 0.0])
            }
            Self::Curve(points) => {
                let last = points.len() - 1;
                let x = if x > points[0] { x } else { points[0] };
                let x = if x < points[last] { x } else { points[last] };
                let place = points[1..last].iter().filter(|&&point| x >= point).count();
                let share = (x - points[place]) / (points[place + 1] - points[place]);
                (place, [1.0 - share, share])
            }
            &Self::Levels(count) => {
                let place = if x >= 0.0 { (x as usize).min(count) } else { count };
                (place, [1.0, 0.0])
            }
        }
    }
}

/// The number of quadratic forms.
const FORMS: usize = 3;

/// Estimates and three quadratic forms in coordinates.
#[derive(Debug, Clone)]
pub struct Forms {
    terms: Vec<Term>,
    /// The number of coordinates: those of all terms, and a constant.
    size: usize,
    /// The estimate of every coordinate, and whether nothing is known about it.
    values: Vec<(f64, bool)>,
    /// Symmetric matrices, entry by entry, side by side.
    entries: Vec<[f64; 4]>,
}

/// What is known about a row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Errors {
    /// The linear function.
    pub estimate: f64,
    /// The quadratic forms.
    pub forms: [f64; FORMS],
    /// Whether a coordinate about which nothing is known has a weight.
    pub unknown: bool,
}

impl Forms {
    /// Create forms for rows with these terms. All arrays have the coordinates of the terms in order and last a constant;
    /// `matrices` are symmetric and given row by row.
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays that do not match the terms.
    pub fn new(
        terms: Vec<Term>,
        values: &[f64],
        unknown: &[bool],
        matrices: [&[f64]; FORMS],
    ) -> Result<Self> {
        let size = terms.iter().map(Term::size).sum::<usize>() + 1;
        if let Some(Term::Curve(points)) =
            terms.iter().find(|term| matches!(term, Term::Curve(points) if points.len() < 2))
        {
            return Err(Error::Shape { what: "points of a curve", expected: 2, got: points.len() });
        }
        for (got, expected) in [(values.len(), size), (unknown.len(), size)]
            .into_iter()
            .chain(matrices.map(|m| (m.len(), size * size)))
        {
            if got != expected {
                return Err(Error::Shape { what: "coordinates", expected, got });
            }
        }
        let entries =
            (0..size * size).map(|i| [matrices[0][i], matrices[1][i], matrices[2][i], 0.0]).collect();
        let values = values.iter().copied().zip(unknown.iter().copied()).collect();
        Ok(Self { terms, size, values, entries })
    }

    /// Return estimates and forms for each row of a source without target.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::Interrupted`].
    pub fn evaluate(
        &self,
        source: &dyn Source,
        execution: &Execution,
        stop: Stop<'_>,
    ) -> Result<Vec<Errors>> {
        check_columns(source, self.terms.len())?;
        let mut found = vec![Errors::default(); source.rows()];
        let path = execution.path();
        by_strips(source, &mut found, execution, stop, |strip, out| {
            path.run(
                #[inline(always)]
                || self.evaluate_strip(strip, out),
            );
            Ok(())
        })?;
        Ok(found)
    }

    #[inline(always)]
    fn evaluate_strip(&self, strip: &Strip, out: &mut [Errors]) {
        // The coordinates of a row that have weights.
        let mut used: Vec<(usize, f64)> = Vec::with_capacity(2 * self.terms.len() + 1);
        for (row, out) in out.iter_mut().enumerate().take(STRIP) {
            used.clear();
            let mut first = 0;
            for (term, values) in self.terms.iter().zip(strip.whole()) {
                let (place, weights) = term.weights(values[row]);
                for (next, weight) in weights.into_iter().enumerate() {
                    if weight != 0.0 {
                        used.push((first + place + next, weight));
                    }
                }
                first += term.size();
            }
            used.push((first, 1.0));
            *out = self.errors(&used);
        }
    }

    #[inline(always)]
    fn errors(&self, used: &[(usize, f64)]) -> Errors {
        let (mut estimate, mut unknown, mut forms) = (0.0, false, [0.0; 4]);
        for (index, &(one, weight)) in used.iter().enumerate() {
            let (value, hidden) = self.values[one];
            estimate += weight * value;
            unknown |= hidden;
            let row = &self.entries[one * self.size..][..self.size];
            let mut sums = [0.0; 4];
            for &(other, weight) in &used[..index] {
                for form in 0..4 {
                    sums[form] += weight * row[other][form];
                }
            }
            for form in 0..4 {
                forms[form] += weight * (2.0 * sums[form] + weight * row[one][form]);
            }
        }
        Errors { estimate, forms: [forms[0], forms[1], forms[2]], unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Path;
    use crate::source::Dense;

    #[test]
    fn forms_are_those_of_weights() {
        let terms = vec![
            Term::Line { low: -1.0, high: 2.0, centre: 0.5 },
            Term::Curve(vec![0.0, 1.0, 3.0]),
            Term::None,
            Term::Levels(2),
        ];
        let size = 8;
        let symmetric = |seed: usize| -> Vec<f64> {
            let entry = |i: usize, j: usize| ((i.min(j) * 7 + i.max(j) * 3 + seed) as f64).sin();
            (0..size * size).map(|i| entry(i / size, i % size)).collect()
        };
        let matrices = [symmetric(1), symmetric(2), symmetric(3)];
        let values: Vec<f64> = (0..size).map(|i| i as f64 + 0.5).collect();
        let mut unknown = vec![false; size];
        unknown[5] = true;
        let [a, b, c] = &matrices;
        let forms = Forms::new(terms, &values, &unknown, [a, b, c]).unwrap();
        let rows = [
            ([5.0, 2.0, 1.0], 0.0, [1.5, 0.0, 0.5, 0.5, 1.0, 0.0, 0.0, 1.0]),
            ([0.5, -4.0, 1.0], 1.0, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
            ([-3.0, 1.0, 1.0], -1.0, [-1.5, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
            ([0.0, 9.0, 1.0], 2.0, [-0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
        ];
        let x: Vec<f64> = rows.iter().flat_map(|row| row.0).collect();
        let last: Vec<f64> = rows.iter().map(|row| row.1).collect();
        let source = Dense::new(&x, &last).unwrap();
        for path in Path::available() {
            let found = forms.evaluate(&source, &Execution::on(path), &mut || false).unwrap();
            for (found, (_, _, weights)) in found.iter().zip(&rows) {
                let estimate: f64 = weights.iter().zip(&values).map(|(w, v)| w * v).sum();
                assert!((found.estimate - estimate).abs() < 1e-12);
                assert_eq!(found.unknown, weights[5] != 0.0);
                for (form, matrix) in found.forms.iter().zip(&matrices) {
                    let expected: f64 =
                        (0..size * size).map(|i| weights[i / size] * weights[i % size] * matrix[i]).sum();
                    assert!((form - expected).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn shapes_are_checked() {
        let forms = |points: usize, size: usize| {
            let matrix = vec![0.0; size * size];
            let matrices = [&matrix[..], &matrix, &matrix];
            let points = (0..points).map(|i| i as f64).collect();
            Forms::new(vec![Term::Curve(points)], &vec![0.0; size], &vec![false; size], matrices)
        };
        assert!(forms(2, 3).is_ok());
        assert!(forms(2, 2).is_err());
        assert!(forms(1, 2).is_err());
    }
}
