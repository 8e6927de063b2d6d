//! What can be wrong with the input. An outcome of a solver is a [`crate::SolverStatus`], not an error.

use thiserror::Error;

/// Why nothing was computed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Two arguments do not fit together.
    #[error("{argument}: expected {expected}, got {got}")]
    Shape {
        /// Which argument.
        argument: &'static str,
        /// What would fit.
        expected: String,
        /// What came.
        got: String,
    },
    /// A value is outside its range.
    #[error("{argument}: expected {expected}, got {got}")]
    Value {
        /// Which argument.
        argument: &'static str,
        /// The range.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// The starting point violates a bound.
    #[error(
        "start: variable {index} is {value}, outside its bounds [0, {upper}], or too large to compute with"
    )]
    InfeasibleStart {
        /// Which variable.
        index: usize,
        /// Its value.
        value: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// The kernel is not finite, or too large to compute with.
    #[error(
        "the {kernel} kernel overflows on these data (largest entry {largest:e}): scale the features, or choose a smaller \
         gamma, coef0 or degree"
    )]
    KernelOverflow {
        /// Which kernel.
        kernel: &'static str,
        /// The largest entry met.
        largest: f64,
    },
    /// A matrix that must be symmetric is not.
    #[error(
        "{argument}: the matrix is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ by {difference:e}"
    )]
    Asymmetric {
        /// Which argument.
        argument: &'static str,
        /// Row of the largest difference.
        row: usize,
        /// Its column.
        column: usize,
        /// The difference.
        difference: f64,
    },
    /// The free variables outgrow the memory that may be used.
    #[error(
        "cache_size: {n_free} support vectors are strictly between their bounds; their block of the kernel matrix and its factor take \
         {needed_mb:.1} MB, {allowed_mb:.1} MB are allowed (cache_size, but 16 at least); raise cache_size, lower C or train on fewer rows"
    )]
    Memory {
        /// How many there are.
        n_free: usize,
        /// What they take.
        needed_mb: f64,
        /// What is allowed.
        allowed_mb: f64,
    },
}

/// A value or the reason why there is none.
pub type Result<T> = std::result::Result<T, Error>;

/// Checks a length.
pub(crate) fn check_len(argument: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    Err(Error::Shape { argument, expected: format!("{expected} entries"), got: format!("{got}") })
}

/// Checks that all entries are finite.
pub(crate) fn check_finite(argument: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().find(|v| !v.is_finite()) {
        None => Ok(()),
        Some(v) => Err(Error::Value { argument, expected: "finite numbers", got: v.to_string() }),
    }
}
