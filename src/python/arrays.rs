//! Borrowed arrays in: C-contiguous, of the right type, or a `TypeError` that names the argument.

use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A borrowed row-major matrix.
pub(super) struct Matrix<'py>(PyReadonlyArray2<'py, f64>);

impl<'py> Matrix<'py> {
    pub(super) fn new(argument: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let wrong = || {
            PyTypeError::new_err(format!(
                "{argument}: expected a C-contiguous two-dimensional float64 array"
            ))
        };
        let array = object.cast::<PyArray2<f64>>().map_err(|_| wrong())?;
        if !array.is_c_contiguous() {
            return Err(wrong());
        }
        Ok(Self(
            array.try_readonly().map_err(|e| PyTypeError::new_err(format!("{argument}: {e}")))?,
        ))
    }

    pub(super) fn shape(&self) -> (usize, usize) {
        let shape = self.0.shape();
        (shape[0], shape[1])
    }

    pub(super) fn values(&self) -> PyResult<&[f64]> {
        Ok(self.0.as_slice()?)
    }
}

/// A borrowed vector.
pub(super) struct Vector<'py, T: Element>(PyReadonlyArray1<'py, T>);

impl<'py, T: Element> Vector<'py, T> {
    pub(super) fn new(argument: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let wrong = || {
            let name = std::any::type_name::<T>().replace("f64", "float64").replace("i64", "int64");
            PyTypeError::new_err(format!(
                "{argument}: expected a contiguous one-dimensional {name} array"
            ))
        };
        let array = object.cast::<PyArray1<T>>().map_err(|_| wrong())?;
        if !array.is_c_contiguous() {
            return Err(wrong());
        }
        Ok(Self(
            array.try_readonly().map_err(|e| PyTypeError::new_err(format!("{argument}: {e}")))?,
        ))
    }

    pub(super) fn optional(
        argument: &str,
        object: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Self>> {
        object.map(|o| Self::new(argument, o)).transpose()
    }

    pub(super) fn values(&self) -> PyResult<&[T]> {
        Ok(self.0.as_slice()?)
    }
}
