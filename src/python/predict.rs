//! Kernel matrices and decision values.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use super::arrays::{Matrix, Vector};
use super::progress::PyObserver;
use super::train::parse_kernel;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Points, pairwise_kernel};
use crate::model::{PairModel, Wanted, decision_function, pair_decisions, pair_decisions_of};
use crate::threads::Threads;

/// Points with an origin of their own where only distances count.
fn around_origin<'a>(values: &'a [f64], n: usize, d: usize, kernel: &Kernel) -> Result<Points<'a>> {
    if kernel.depends_on_distance() {
        Points::centred(values, n, d, kernel)
    } else {
        Points::new(values, n, d, kernel)
    }
}

/// An origin, if it has as many features as the points that are to share it; else the kernel's own check will speak.
fn fitting(origin: Option<&[f64]>, n_features: usize) -> Option<&[f64]> {
    origin.filter(|o| o.len() == n_features)
}

/// The kernel matrix of the rows of X and Y (X and X where Y is None).
#[pyfunction]
#[pyo3(name = "pairwise_kernel", signature = (X, Y, *, kernel, gamma, degree, coef0, n_threads))]
#[allow(clippy::too_many_arguments, non_snake_case)] // the keyword arguments of one call from Python
pub(super) fn pairwise_kernel_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    Y: Option<&Bound<'py, PyAny>>,
    kernel: &str,
    gamma: f64,
    degree: i64,
    coef0: f64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let x = Matrix::new("X", X)?;
    let y = Y.map(|y| Matrix::new("Y", y)).transpose()?;
    let kernel = Kernel::parse(kernel, gamma, degree, coef0)?;
    let (n, d) = x.shape();
    let x_values = x.values()?;
    let y = match &y {
        Some(y) => Some((y.values()?, y.shape())),
        None => None,
    };
    let mut observer = PyObserver::new(None);
    let values = py.detach(|| -> Result<Option<Vec<f64>>> {
        let x = around_origin(x_values, n, d, &kernel)?;
        let y = match y {
            Some((values, (m, d))) => {
                Points::with_origin(values, m, d, &kernel, fitting(x.origin(), d))?
            }
            None => x.clone(),
        };
        pairwise_kernel(&x, &y, &kernel, &Threads::new(n_threads), || observer.proceed())
    })?;
    observer.finish()?;
    let m = y.map_or(n, |(_, (m, _))| m);
    values.unwrap_or_default().into_pyarray(py).reshape([n, m])
}

/// Decision values of the rows of X.
#[pyfunction]
#[pyo3(
    name = "decision_function",
    signature = (X, support_vectors, dual_coef, intercept, *, kernel, gamma, degree, coef0, n_threads)
)]
#[allow(clippy::too_many_arguments, non_snake_case)] // the keyword arguments of one call from Python
pub(super) fn decision_function_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    support_vectors: &Bound<'py, PyAny>,
    dual_coef: &Bound<'py, PyAny>,
    intercept: f64,
    kernel: &str,
    gamma: f64,
    degree: i64,
    coef0: f64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, support) = (Matrix::new("X", X)?, Matrix::new("support_vectors", support_vectors)?);
    let coefficients = Vector::new("dual_coef", dual_coef)?;
    let kernel = Kernel::parse(kernel, gamma, degree, coef0)?;
    let ((n, d), (m, support_d)) = (x.shape(), support.shape());
    let (x, support, coefficients) = (x.values()?, support.values()?, coefficients.values()?);
    let mut observer = PyObserver::new(None);
    let values = py.detach(|| -> Result<Option<Vec<f64>>> {
        let support = around_origin(support, m, support_d, &kernel)?;
        let x = Points::with_origin(x, n, d, &kernel, fitting(support.origin(), d))?;
        decision_function(
            &x,
            &support,
            coefficients,
            intercept,
            &kernel,
            &Threads::new(n_threads),
            || observer.proceed(),
        )
    })?;
    observer.finish()?;
    Ok(values.unwrap_or_default().into_pyarray(py))
}

/// Decision values of all pairs of classes at the rows of X, or votes and sums of each class; for a precomputed kernel X holds the
/// kernel values with the support vectors.
#[pyfunction]
#[pyo3(
    name = "pair_decisions",
    signature = (X, support_vectors, dual_coef, intercept, n_support, *, votes, kernel, gamma, degree, coef0, n_threads)
)]
#[allow(clippy::too_many_arguments, non_snake_case)] // the keyword arguments of one call from Python
pub(super) fn pair_decisions_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    support_vectors: Option<&Bound<'py, PyAny>>,
    dual_coef: &Bound<'py, PyAny>,
    intercept: &Bound<'py, PyAny>,
    n_support: &Bound<'py, PyAny>,
    votes: bool,
    kernel: &str,
    gamma: f64,
    degree: i64,
    coef0: f64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let x = Matrix::new("X", X)?;
    let support = support_vectors.map(|s| Matrix::new("support_vectors", s)).transpose()?;
    let (coefficients, biases) =
        (Matrix::new("dual_coef", dual_coef)?, Vector::new("intercept", intercept)?);
    let n_support: Vec<usize> = n_support.extract()?;
    let kernel = parse_kernel(kernel, gamma, degree, coef0)?;
    let (n, d) = x.shape();
    let x = x.values()?;
    let support = match &support {
        Some(support) => Some((support.values()?, support.shape())),
        None => None,
    };
    let model = PairModel {
        coefficients: coefficients.values()?,
        biases: biases.values()?,
        n_support: &n_support,
    };
    let wanted = if votes { Wanted::Votes } else { Wanted::Values };
    let mut observer = PyObserver::new(None);
    let values = py.detach(|| -> Result<Option<Vec<f64>>> {
        let threads = Threads::new(n_threads);
        let proceed = || observer.proceed();
        match (kernel, support) {
            (Some(kernel), Some((support, (m, support_d)))) => {
                let support = around_origin(support, m, support_d, &kernel)?;
                let x = Points::with_origin(x, n, d, &kernel, fitting(support.origin(), d))?;
                pair_decisions(&x, &support, &model, wanted, &kernel, &threads, proceed)
            }
            (None, None) => pair_decisions_of(x, d, &model, wanted, &threads, proceed),
            _ => Err(Error::Value {
                argument: "support_vectors",
                expected: "points, or none for a precomputed kernel",
                got: "the other".into(),
            }),
        }
    })?;
    observer.finish()?;
    values.unwrap_or_default().into_pyarray(py).reshape([n, model.width(wanted)])
}
