//! The one error type of the core.

/// Why a call failed.
///
/// No variant carries a value, a position or a count taken from the rows: a message may be logged or shown to a
/// person who must not see the data. What it does carry is public: parameters, shapes, formats.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A public parameter is out of its range.
    #[error("{name} must be {allowed}, got {got}")]
    Parameter {
        /// The parameter's name as the caller wrote it.
        name: &'static str,
        /// What is allowed.
        allowed: String,
        /// What was given.
        got: String,
    },
    /// Two public shapes do not fit together.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// The count that was expected.
        expected: usize,
        /// The count that was given.
        got: usize,
    },
    /// A row holds NaN or an infinity and the caller asked for an error.
    #[error("the rows hold NaN or infinite values; drop or replace them")]
    NotFinite,
    /// A sum left the range of its integer type.
    #[error("too many rows for one statistic")]
    TooManyRows,
    /// Two statistics or stores were made under different public parameters.
    #[error("cannot merge: {0} differ")]
    Mismatch(&'static str),
    /// Bytes that are not what `to_bytes` wrote.
    #[error("not a readable {kind}: {reason}")]
    Blob {
        /// What the bytes were read as.
        kind: &'static str,
        /// Why they were refused.
        reason: &'static str,
    },
    /// The operating system gave no randomness; nothing was released.
    #[error("the operating system's random source failed; nothing was released")]
    Entropy,
    /// Memory or a file for the row store could not be had.
    #[error("no room for the rows: {0}")]
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

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

/// An error for a parameter out of range.
pub(crate) fn parameter(
    name: &'static str,
    allowed: impl Into<String>,
    got: impl std::fmt::Display,
) -> Error {
    Error::Parameter { name, allowed: allowed.into(), got: got.to_string() }
}
