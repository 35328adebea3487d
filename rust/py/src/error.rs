//! Errors of the core as the exceptions of `dpfit.exceptions`.

use dpfit_core::Error;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyOverflowError, PyValueError};
use pyo3::prelude::*;

/// An exception of `dpfit.exceptions`, by name.
fn exception(py: Python<'_>, name: &str, message: &str) -> PyErr {
    let make = || py.import("dpfit.exceptions")?.getattr(name)?.call1((message,));
    make().map_or_else(|error| error, PyErr::from_value)
}

/// The exception for an error. Messages of the core hold no data, so they are passed on as they are.
pub(crate) fn raise(error: &Error) -> PyErr {
    let message = error.to_string();
    Python::attach(|py| match error {
        Error::Parameter { .. } | Error::Shape { .. } => exception(py, "ParameterError", &message),
        Error::NotFinite => exception(py, "NotFiniteError", &message),
        Error::Mismatch(_) | Error::Blob { .. } => PyValueError::new_err(message),
        Error::TooManyRows => PyOverflowError::new_err(message),
        Error::Io(std::io::ErrorKind::OutOfMemory) => PyMemoryError::new_err(message),
        Error::Io(_) | Error::Entropy => PyOSError::new_err(message),
        _ => exception(py, "DpfitError", &message),
    })
}

/// A number of Python's as one of Rust's, or the exception that says what is allowed.
pub(crate) fn integer<T: TryFrom<i128>>(name: &'static str, value: i128, allowed: &str) -> PyResult<T> {
    T::try_from(value)
        .map_err(|_| raise(&Error::Parameter { name, allowed: allowed.into(), got: value.to_string() }))
}

/// The exception for a word that is not one of those allowed.
pub(crate) fn choice(name: &'static str, allowed: &str, got: &str) -> PyErr {
    raise(&Error::Parameter { name, allowed: allowed.into(), got: format!("{got:?}") })
}
