//! Training a problem type, or one for each pair of classes.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{Matrix, Vector};
use super::fit::{LEAST_BYTES, MEGABYTE, held_matrix, settings};
use super::progress::PyObserver;
use super::record::{record, records};
use crate::encoding::Encoding;
use crate::error::{Result, check_len};
use crate::fit::Limits;
use crate::kernel::{GramMatrix, Kernel};
use crate::pairs::{Classes, PairFits, train_pairs};
use crate::threads::Threads;
use crate::train::{Source, Trained, Training, train};

type Model<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>, Bound<'py, PyDict>);
type Models<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>);

/// Rows with a kernel, or a kernel matrix.
enum Data<'a> {
    Rows(&'a [f64], usize, Kernel),
    Held(GramMatrix<'a>),
}

impl<'a> Data<'a> {
    fn new(values: &'a [f64], shape: (usize, usize), kernel: Option<Kernel>) -> Result<Self> {
        match kernel {
            Some(kernel) => {
                crate::error::check_finite("X", values)?;
                Ok(Self::Rows(values, shape.1, kernel))
            }
            None => Ok(Self::Held(held_matrix(values, shape, None)?)),
        }
    }

    fn source(&self) -> Source<'_> {
        match self {
            Self::Rows(values, n_features, kernel) => {
                Source::Rows { values, n_features: *n_features, kernel }
            }
            Self::Held(gram) => Source::Matrix(gram),
        }
    }
}

/// A kernel by name; none for a matrix.
pub(super) fn parse_kernel(
    name: &str,
    gamma: f64,
    degree: i64,
    coef0: f64,
) -> Result<Option<Kernel>> {
    if name == "precomputed" {
        return Ok(None);
    }
    Kernel::parse(name, gamma, degree, coef0).map(Some)
}

/// One model: coefficients, numbers of the model, certificate.
#[pyfunction]
#[pyo3(
    name = "fit_problem",
    signature = (X, problem, targets, upper, parameter, *, kernel, gamma, degree, coef0, tol, max_iter, max_time, cache_size, n_threads, start=None, observer=None, solver="cmu", selection="greedy", shrinking=true, seed=0)
)]
#[allow(clippy::too_many_arguments, non_snake_case)] // the keyword arguments of one call from Python
pub(super) fn fit_problem_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    problem: &str,
    targets: &Bound<'py, PyAny>,
    upper: &Bound<'py, PyAny>,
    parameter: f64,
    kernel: &str,
    gamma: f64,
    degree: i64,
    coef0: f64,
    tol: f64,
    max_iter: i64,
    max_time: Option<f64>,
    cache_size: f64,
    n_threads: usize,
    start: Option<&Bound<'py, PyAny>>,
    observer: Option<Py<PyAny>>,
    solver: &str,
    selection: &str,
    shrinking: bool,
    seed: u64,
) -> PyResult<Model<'py>> {
    let x = Matrix::new("X", X)?;
    let (targets, upper) = (Vector::new("targets", targets)?, Vector::new("upper", upper)?);
    let start = Vector::optional("start", start)?;
    let encoding = Encoding::parse(problem, parameter)?;
    let kernel = parse_kernel(kernel, gamma, degree, coef0)?;
    let settings = settings(solver, tol, max_iter, selection, shrinking, seed)?;
    let limits = Limits { max_time, cache_bytes: Some((cache_size * MEGABYTE).max(LEAST_BYTES)) };
    let training = Training { encoding, settings: &settings, limits };
    let (shape, values) = (x.shape(), x.values()?);
    let (targets, upper) = (targets.values()?, upper.values()?);
    let start = start.as_ref().map(Vector::values).transpose()?;
    let mut observer = PyObserver::new(observer);
    let trained = py.detach(|| -> Result<Trained> {
        check_len("targets", shape.0, targets.len())?;
        let data = Data::new(values, shape, kernel)?;
        let threads = Threads::new(n_threads);
        train(data.source(), targets, upper, start, &training, &threads, &mut observer)
    })?;
    observer.finish()?;
    let record = record(py, &trained.certificate, &trained.info, trained.info.status, solver)?;
    let model = PyDict::new(py);
    model.set_item("bias", trained.model.bias)?;
    model.set_item("scale", trained.model.scale)?;
    model.set_item("epsilon", trained.model.epsilon)?;
    model.set_item("x", trained.x.into_pyarray(py))?;
    Ok((trained.model.coefficients.into_pyarray(py), model, record))
}

/// One model for each pair of classes: coefficients, biases, certificates.
#[pyfunction]
#[pyo3(
    name = "fit_pairs",
    signature = (X, problem, codes, n_classes, upper, parameter, *, kernel, gamma, degree, coef0, tol, max_iter, max_time, cache_size, n_threads, start=None, observer=None, solver="cmu", selection="greedy", shrinking=true, seed=0)
)]
#[allow(clippy::too_many_arguments, non_snake_case)] // the keyword arguments of one call from Python
pub(super) fn fit_pairs_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    problem: &str,
    codes: &Bound<'py, PyAny>,
    n_classes: usize,
    upper: &Bound<'py, PyAny>,
    parameter: f64,
    kernel: &str,
    gamma: f64,
    degree: i64,
    coef0: f64,
    tol: f64,
    max_iter: i64,
    max_time: Option<f64>,
    cache_size: f64,
    n_threads: usize,
    start: Option<&Bound<'py, PyAny>>,
    observer: Option<Py<PyAny>>,
    solver: &str,
    selection: &str,
    shrinking: bool,
    seed: u64,
) -> PyResult<Models<'py>> {
    let x = Matrix::new("X", X)?;
    let (codes, upper) = (Vector::new("codes", codes)?, Vector::new("upper", upper)?);
    let start = start.map(|start| Matrix::new("start", start)).transpose()?;
    let encoding = Encoding::parse(problem, parameter)?;
    let kernel = parse_kernel(kernel, gamma, degree, coef0)?;
    let settings = settings(solver, tol, max_iter, selection, shrinking, seed)?;
    let limits = Limits { max_time, cache_bytes: Some((cache_size * MEGABYTE).max(LEAST_BYTES)) };
    let training = Training { encoding, settings: &settings, limits };
    let (shape, values) = (x.shape(), x.values()?);
    let hint = start.as_ref().map(Matrix::values).transpose()?;
    let classes = Classes { codes: codes.values()?, n_classes, upper: upper.values()?, hint };
    let mut observer = PyObserver::new(observer);
    let trained = py.detach(|| -> Result<PairFits> {
        let data = Data::new(values, shape, kernel)?;
        let threads = Threads::new(n_threads);
        train_pairs(data.source(), &classes, &training, &threads, &mut observer)
    })?;
    observer.finish()?;
    let biases: Vec<f64> = trained.fits.iter().map(|fit| fit.model.bias).collect();
    let records = records(py, &trained.fits, solver)?;
    let coefficients = trained.coefficients.into_pyarray(py);
    Ok((coefficients.reshape([n_classes - 1, shape.0])?, biases.into_pyarray(py), records))
}
