//! The error type of the core.

/// Why a call failed.
///
/// # Privacy
/// No variant carries a value, a position or a count taken from the rows, because a message may be logged or shown to
/// someone who must not see the data. Variants carry public facts only: parameters, shapes, formats.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A public parameter is out of range.
    #[error("{name} must be {allowed}, got {got}")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// What is allowed.
        allowed: String,
        /// The value that was given.
        got: String,
    },
    /// Two public shapes do not match.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// The count that was expected.
        expected: usize,
        /// The count that was given.
        got: usize,
    },
    /// A row contains NaN or an infinity and the caller asked for an error.
    #[error("X or y contains NaN or infinity")]
    NotFinite,
    /// A sum exceeded the range of its integer type.
    #[error("too many rows for one statistic")]
    TooManyRows,
    /// Two statistics or stores were made under different public parameters.
    #[error("cannot merge: {0} differ")]
    Mismatch(&'static str),
    /// The bytes were not written by `to_bytes`.
    #[error("cannot read bytes as {kind}: {reason}")]
    Blob {
        /// What the bytes were read as.
        kind: &'static str,
        /// Why they were rejected.
        reason: &'static str,
    },
    /// The operating system provided no randomness; nothing was released.
    #[error("the operating system's random source failed; nothing was released")]
    Entropy,
    /// Memory or a file for the row store could not be allocated.
    #[error("cannot store the rows: {0}")]
    Io(std::io::ErrorKind),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.kind())
    }
}

/// The result type of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// Return an error for a parameter that is out of range.
pub(crate) fn parameter(
    name: &'static str,
    allowed: impl Into<String>,
    got: impl std::fmt::Display,
) -> Error {
    Error::Parameter { name, allowed: allowed.into(), got: got.to_string() }
}
