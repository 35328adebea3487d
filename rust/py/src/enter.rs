//! The only place where the lock of the Python interpreter is released and taken again.

use std::time::{Duration, Instant};

use dpfit_core::Result;
use dpfit_core::execution::{Execution, Path, Stop};
use pyo3::prelude::*;

use crate::error::{integer, raise};

/// The time between two checks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// Run `body` without the interpreter's lock. The `Stop` that it receives checks for signals; the exception of a signal is
/// raised instead of the error with which the core then stops.
pub(crate) fn without_python<T: Send>(
    py: Python<'_>,
    body: impl FnOnce(Stop<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut signal = None;
    let result = py.detach(|| {
        let mut asked = Instant::now();
        body(&mut || {
            if asked.elapsed() >= SIGNAL_INTERVAL {
                #[allow(clippy::redundant_closure_for_method_calls)] // the lifetime of `py` is the closure's
                let answer = Python::attach(|py| py.check_signals());
                signal = answer.err();
                asked = Instant::now();
            }
            signal.is_some()
        })
    });
    match signal {
        Some(exception) => Err(exception),
        None => result.map_err(|error| raise(&error)),
    }
}

/// Return the execution for `n_jobs` threads, on portable code if asked for.
pub(crate) fn execution(n_jobs: Option<i128>, portable: bool) -> PyResult<Execution> {
    let n_jobs = n_jobs.map(|n_jobs| integer("n_jobs", n_jobs, "between 1 and 1024")).transpose()?;
    let path = if portable { Path::portable() } else { Path::detect() };
    Execution::new(n_jobs, path).map_err(|error| raise(&error))
}
