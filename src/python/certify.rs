//! Certificates of points that came from anywhere.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{Matrix, Vector};
use super::fit::held_matrix;
use super::progress::PyObserver;
use super::record::record;
use crate::certificate::{Certificate, certify};
use crate::error::{Error, Result, check_finite, check_len};
use crate::info::Info;
use crate::kernel::{GramMatrix, Kernel, Points};
use crate::problem::{DualProblem, DualProblemParts};
use crate::status::SolverStatus;
use crate::threads::Threads;

/// The violation up to which a point that was not solved here is called optimal.
const TOL: f64 = 1e-8;

fn pack(py: Python<'_>, certificate: &Certificate) -> PyResult<Py<PyDict>> {
    let status = certificate.judge(TOL).unwrap_or(SolverStatus::Unsolved);
    Ok(record(py, certificate, &Info::default(), status, "none")?.unbind())
}

/// Signed variables of a point that need not be feasible: what sticks out of the box is reported, not refused.
fn signed(alpha: &[f64], signs: &[f64]) -> Result<Vec<f64>> {
    check_len("alpha", signs.len(), alpha.len())?;
    check_finite("alpha", alpha)?;
    Ok(alpha.iter().zip(signs).map(|(a, z)| a * z).collect())
}

/// The certificate of alpha for C-SVC on data points.
#[pyfunction]
#[pyo3(
    name = "certify_kernel",
    signature = (X, signs, upper, alpha, intercept, *, kernel, gamma, degree, coef0, n_threads)
)]
#[allow(clippy::too_many_arguments, non_snake_case)] // the keyword arguments of one call from Python
pub(super) fn certify_kernel_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    signs: &Bound<'py, PyAny>,
    upper: &Bound<'py, PyAny>,
    alpha: &Bound<'py, PyAny>,
    intercept: Option<f64>,
    kernel: &str,
    gamma: f64,
    degree: i64,
    coef0: f64,
    n_threads: usize,
) -> PyResult<Py<PyDict>> {
    let (x, signs, upper, alpha) = (
        Matrix::new("X", X)?,
        Vector::new("signs", signs)?,
        Vector::new("upper", upper)?,
        Vector::new("alpha", alpha)?,
    );
    let kernel = Kernel::parse(kernel, gamma, degree, coef0)?;
    let (n, d) = x.shape();
    let (values, signs, upper, alpha) =
        (x.values()?, signs.values()?, upper.values()?, alpha.values()?);
    let mut observer = PyObserver::new(None);
    let certificate = py.detach(|| -> Result<Option<Certificate>> {
        check_len("signs", n, signs.len())?;
        let points = Points::centred(values, n, d, &kernel)?;
        let problem = DualProblem::classification(signs, upper, None)?;
        let beta = signed(alpha, signs)?;
        let threads = Threads::new(n_threads);
        let linear = matches!(kernel, Kernel::Linear).then_some(&points);
        let gram = GramMatrix::compute(&points, &kernel, &threads, || observer.proceed())?;
        Ok(gram.map(|gram| certify(&gram, linear, &problem, &beta, intercept, &threads)))
    })?;
    observer.finish()?;
    match certificate {
        Some(certificate) => pack(py, &certificate),
        None => Err(Error::Value {
            argument: "X",
            expected: "an uninterrupted evaluation",
            got: "none".into(),
        }
        .into()),
    }
}

/// The certificate of x for a dual problem on a matrix.
#[pyfunction]
#[pyo3(name = "certify_matrix", signature = (matrix, signs, linear, upper, alpha, intercept, *, n_threads))]
#[allow(clippy::too_many_arguments)] // the arguments of one call from Python
pub(super) fn certify_matrix_py<'py>(
    py: Python<'py>,
    matrix: &Bound<'py, PyAny>,
    signs: &Bound<'py, PyAny>,
    linear: &Bound<'py, PyAny>,
    upper: &Bound<'py, PyAny>,
    alpha: &Bound<'py, PyAny>,
    intercept: Option<f64>,
    n_threads: usize,
) -> PyResult<Py<PyDict>> {
    let matrix = Matrix::new("matrix", matrix)?;
    let (signs, linear, upper, alpha) = (
        Vector::new("signs", signs)?,
        Vector::new("linear", linear)?,
        Vector::new("upper", upper)?,
        Vector::new("alpha", alpha)?,
    );
    let (shape, values) = (matrix.shape(), matrix.values()?);
    let (signs, linear, upper, alpha) =
        (signs.values()?, linear.values()?, upper.values()?, alpha.values()?);
    let certificate = py.detach(|| -> Result<Certificate> {
        let parts = DualProblemParts { signs, linear: Some(linear), upper, ..Default::default() };
        let problem = DualProblem::new(&parts)?;
        let gram = held_matrix(values, shape, None)?;
        check_len("matrix", signs.len(), gram.len())?;
        let beta = signed(alpha, signs)?;
        Ok(certify(&gram, None, &problem, &beta, intercept, &Threads::new(n_threads)))
    })?;
    pack(py, &certificate)
}
