//! From the core's errors to Python's exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyValueError};

use crate::error::Error;

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Memory { .. } => PyMemoryError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        }
    }
}
