//! Predictions of additive models.

use dpfit_core::execution::Stop;
use dpfit_core::predict::{self as core, Curve, Effect, Term};
use dpfit_core::source::Missing;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::convert::Arrays;
use crate::enter::{execution, without_python};
use crate::error::raise;

/// The sum of the effects of columns: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Additive(core::Additive);

/// An effect as Python describes it.
#[derive(Debug, FromPyObject)]
enum Spec {
    Line(f64, f64, f64),
    Curve(Vec<f64>, Vec<f64>),
    Levels(Vec<f64>),
}

impl Spec {
    fn effect(self) -> dpfit_core::Result<Effect> {
        Ok(match self {
            Self::Line(low, high, slope) => Effect::Line { low, high, slope },
            Self::Curve(points, heights) => Effect::Curve(Curve::new(points, &heights)?),
            Self::Levels(effects) => Effect::Levels(effects),
        })
    }
}

#[pymethods]
impl Additive {
    #[new]
    fn new(intercept: f64, effects: Vec<Option<Spec>>, range: (f64, f64)) -> PyResult<Self> {
        let effects = effects.into_iter().map(|effect| effect.map_or(Ok(Effect::None), Spec::effect));
        let effects = effects.collect::<dpfit_core::Result<_>>().map_err(|error| raise(&error))?;
        Ok(Self(core::Additive::new(intercept, effects, range)))
    }

    #[pyo3(signature = (x, *, finite, n_jobs=None, portable=false))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        finite: bool,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (source, execution) = (Arrays::without_target(x)?, execution(n_jobs, portable)?);
        let missing = if finite { Missing::Error } else { Missing::Drop };
        let predict = |stop: Stop<'_>| self.0.predict(&source, missing, &execution, stop);
        without_python(py, predict).map(|found| PyArray1::from_vec(py, found))
    }
}

/// Linear and quadratic forms of what columns are in coordinates: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Forms(core::Forms);

/// A term as Python describes it.
#[derive(Debug, FromPyObject)]
enum TermSpec {
    Line(f64, f64, f64),
    Levels(usize),
    Curve(Vec<f64>),
}

impl TermSpec {
    fn term(self) -> Term {
        match self {
            Self::Line(low, high, centre) => Term::Line { low, high, centre },
            Self::Levels(count) => Term::Levels(count),
            Self::Curve(points) => Term::Curve(points),
        }
    }
}

#[pymethods]
impl Forms {
    #[new]
    fn new(
        terms: Vec<Option<TermSpec>>,
        values: PyReadonlyArray1<'_, f64>,
        unknown: PyReadonlyArray1<'_, bool>,
        matrices: (PyReadonlyArray2<'_, f64>, PyReadonlyArray2<'_, f64>, PyReadonlyArray2<'_, f64>),
    ) -> PyResult<Self> {
        let terms = terms.into_iter().map(|term| term.map_or(Term::None, TermSpec::term)).collect();
        let matrix =
            |matrix: &PyReadonlyArray2<'_, f64>| -> Vec<f64> { matrix.as_array().iter().copied().collect() };
        let [a, b, c] = [matrix(&matrices.0), matrix(&matrices.1), matrix(&matrices.2)];
        let (values, unknown) = (values.as_array().to_vec(), unknown.as_array().to_vec());
        let forms = core::Forms::new(terms, &values, &unknown, [&a, &b, &c]);
        forms.map(Self).map_err(|error| raise(&error))
    }

    #[pyo3(signature = (x, *, n_jobs=None, portable=false))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (source, execution) = (Arrays::without_target(x)?, execution(n_jobs, portable)?);
        let rows = without_python(py, |stop| {
            let found = self.0.evaluate(&source, &execution, stop)?;
            let numbers = found.iter().flat_map(|row| {
                let [a, b, c] = row.forms;
                [row.estimate, a, b, c, f64::from(u8::from(row.unknown))]
            });
            Ok(numbers.collect::<Vec<f64>>())
        })?;
        let count = rows.len() / 5;
        PyArray1::from_vec(py, rows).reshape([count, 5])
    }
}
