//! Errors of the core as exceptions of Python.

use dpfit_core::Error;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Create an exception of `dpfit.exceptions` with its fields.
fn exception(py: Python<'_>, class: &str, message: &str, fields: &[(&str, &str)]) -> PyErr {
    let create = || {
        let exceptions = py.import("dpfit.exceptions")?;
        let keywords = PyDict::new(py);
        for &(field, value) in fields {
            match field {
                "code" => keywords.set_item(field, exceptions.getattr("Code")?.call1((value,))?)?,
                _ => keywords.set_item(field, value)?,
            }
        }
        exceptions.getattr(class)?.call((message,), Some(&keywords))
    };
    create().map_or_else(|error| error, PyErr::from_value)
}

/// Return the exception for an error. Messages of the core contain no data, so they are passed on unchanged.
pub(crate) fn raise(error: &Error) -> PyErr {
    let message = error.to_string();
    Python::attach(|py| match error {
        Error::Parameter { name, .. } => exception(py, "ParameterError", &message, &[("subject", name)]),
        Error::Shape { .. } => exception(py, "ParameterError", &message, &[]),
        Error::NotFinite => {
            let fields = [("code", "not-finite"), ("hint", "drop or replace such rows")];
            exception(py, "NotFiniteError", &message, &fields)
        }
        Error::Mismatch(_) | Error::Blob { .. } => PyValueError::new_err(message),
        Error::TooManyRows => PyOverflowError::new_err(message),
        Error::Io(std::io::ErrorKind::OutOfMemory) => PyMemoryError::new_err(message),
        Error::Io(_) | Error::Entropy => PyOSError::new_err(message),
        _ => exception(py, "DpfitError", &message, &[]),
    })
}

/// Convert an integer of Python, or return an exception that says which values are allowed.
pub(crate) fn integer<T: TryFrom<i128>>(name: &'static str, value: i128, allowed: &str) -> PyResult<T> {
    T::try_from(value)
        .map_err(|_| raise(&Error::Parameter { name, allowed: allowed.into(), got: value.to_string() }))
}

/// Return the exception for a string that is not one of those allowed.
pub(crate) fn choice(name: &'static str, allowed: &str, got: &str) -> PyErr {
    raise(&Error::Parameter { name, allowed: allowed.into(), got: format!("{got:?}") })
}
