//! Fitting: one function for data points, one for a matrix.

use std::borrow::Cow;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arrays::{Matrix, Vector};
use super::progress::PyObserver;
use super::record::record;
use crate::cmu::CmuSettings;
use crate::error::{Error, Result, check_len};
use crate::fit::{Fit, Limits, Settings, fit_matrix, fit_points};
use crate::kernel::{GramMatrix, Kernel, Points};
use crate::problem::{DualProblem, DualProblemParts};
use crate::smo::{Selection, SmoSettings};
use crate::threads::Threads;

type Vectors<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyDict>,
);

/// Megabytes, as users count them.
pub(super) const MEGABYTE: f64 = 1e6;
/// What every fit may use for kernel entries, however little it is allowed: less would refuse problems of a few rows.
pub(super) const LEAST_BYTES: f64 = 16.0 * MEGABYTE;

/// The settings of the solver that was asked for.
pub(super) fn settings(
    solver: &str,
    tol: f64,
    max_iter: i64,
    selection: &str,
    shrinking: bool,
    seed: u64,
) -> Result<Settings> {
    let max_iter = match max_iter {
        -1 => None,
        1.. => Some(usize::try_from(max_iter).unwrap_or(usize::MAX)),
        _ => {
            return Err(Error::Value {
                argument: "max_iter",
                expected: "-1 or at least 1",
                got: max_iter.to_string(),
            });
        }
    };
    let selection = Selection::parse(selection)?;
    let settings = match solver {
        "cmu" => Settings::Cmu(CmuSettings { tol, max_iter, seed, ..CmuSettings::default() }),
        "smo" => {
            let defaults = SmoSettings::default();
            Settings::Smo(SmoSettings { tol, max_iter, selection, shrinking, seed, ..defaults })
        }
        _ => {
            let (argument, expected) = ("solver", "'cmu' or 'smo'");
            return Err(Error::Value { argument, expected, got: solver.into() });
        }
    };
    settings.method().validate()?;
    Ok(settings)
}

fn pack<'py>(py: Python<'py>, fit: Fit, solver: &str) -> PyResult<Vectors<'py>> {
    let record = record(py, &fit.certificate, &fit.info, fit.info.status, solver)?;
    Ok((
        fit.x.into_pyarray(py),
        fit.certificate.gradient.into_pyarray(py),
        fit.certificate.multipliers.into_pyarray(py),
        record,
    ))
}

/// C-SVC on data points: alpha, gradient, multipliers, certificate.
#[pyfunction]
#[pyo3(
    name = "fit_kernel",
    signature = (X, signs, upper, *, kernel, gamma, degree, coef0, tol, max_iter, max_time, cache_size, n_threads, start=None, observer=None, solver="cmu", selection="greedy", shrinking=true, seed=0)
)]
#[allow(clippy::too_many_arguments, non_snake_case)] // the keyword arguments of one call from Python
pub(super) fn fit_kernel_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    signs: &Bound<'py, PyAny>,
    upper: &Bound<'py, PyAny>,
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
) -> PyResult<Vectors<'py>> {
    let (x, signs, upper) =
        (Matrix::new("X", X)?, Vector::new("signs", signs)?, Vector::new("upper", upper)?);
    let start = Vector::optional("start", start)?;
    let kernel = Kernel::parse(kernel, gamma, degree, coef0)?;
    let settings = settings(solver, tol, max_iter, selection, shrinking, seed)?;
    let limits = Limits { max_time, cache_bytes: Some((cache_size * MEGABYTE).max(LEAST_BYTES)) };
    let (n, d) = x.shape();
    let (values, signs, upper) = (x.values()?, signs.values()?, upper.values()?);
    let start = start.as_ref().map(Vector::values).transpose()?;
    let mut observer = PyObserver::new(observer);
    let fit = py.detach(|| -> Result<Fit> {
        let points = Points::centred(values, n, d, &kernel)?;
        check_len("signs", n, signs.len())?;
        let problem = DualProblem::classification(signs, upper, start)?;
        fit_points(
            &points,
            &kernel,
            &problem,
            settings.method(),
            &limits,
            &Threads::new(n_threads),
            &mut observer,
        )
    })?;
    observer.finish()?;
    pack(py, fit, solver)
}

/// The general dual on a matrix: x, gradient, multipliers, certificate.
#[pyfunction]
#[pyo3(
    name = "solve_dual",
    signature = (matrix, signs, linear, upper, groups, start, *, signed, tol, max_iter, max_time, n_threads, observer=None, solver="cmu", selection="greedy", shrinking=true, seed=0)
)]
#[allow(clippy::too_many_arguments)] // the keyword arguments of one call from Python
pub(super) fn solve_dual_py<'py>(
    py: Python<'py>,
    matrix: &Bound<'py, PyAny>,
    signs: &Bound<'py, PyAny>,
    linear: &Bound<'py, PyAny>,
    upper: &Bound<'py, PyAny>,
    groups: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    signed: bool,
    tol: f64,
    max_iter: i64,
    max_time: Option<f64>,
    n_threads: usize,
    observer: Option<Py<PyAny>>,
    solver: &str,
    selection: &str,
    shrinking: bool,
    seed: u64,
) -> PyResult<Vectors<'py>> {
    let matrix = Matrix::new("matrix", matrix)?;
    let (signs, linear, upper) = (
        Vector::new("signs", signs)?,
        Vector::new("linear", linear)?,
        Vector::new("upper", upper)?,
    );
    let (groups, start) = (Vector::optional("groups", groups)?, Vector::optional("start", start)?);
    let settings = settings(solver, tol, max_iter, selection, shrinking, seed)?;
    let (shape, values, signs) = (matrix.shape(), matrix.values()?, signs.values()?);
    let parts = DualProblemParts {
        signs,
        linear: Some(linear.values()?),
        upper: upper.values()?,
        groups: groups.as_ref().map(Vector::values).transpose()?,
        start: start.as_ref().map(Vector::values).transpose()?,
        without_equality: false,
    };
    let limits = Limits { max_time, cache_bytes: None };
    let mut observer = PyObserver::new(observer);
    let fit = py.detach(|| -> Result<Fit> {
        let problem = DualProblem::new(&parts)?;
        let gram = held_matrix(values, shape, signed.then_some(signs))?;
        let threads = Threads::new(n_threads);
        fit_matrix(&gram, &problem, settings.method(), &limits, &threads, &mut observer)
    })?;
    observer.finish()?;
    pack(py, fit, solver)
}

/// A caller's matrix, borrowed where it is symmetric to the last bit and unsigned; else a symmetrised, unsigned copy.
pub(super) fn held_matrix<'a>(
    values: &'a [f64],
    (rows, columns): (usize, usize),
    signs: Option<&[f64]>,
) -> Result<GramMatrix<'a>> {
    if rows != columns {
        return Err(Error::Shape {
            argument: "matrix",
            expected: "a square matrix".into(),
            got: format!("{rows} x {columns}"),
        });
    }
    let exact = GramMatrix::check_symmetric(values, rows)?;
    if exact && signs.is_none() {
        return GramMatrix::new(Cow::Borrowed(values), rows);
    }
    let n = rows;
    let mut copy = values.to_vec();
    for i in 0..n {
        for j in 0..n {
            let sign = signs.map_or(1.0, |z| z[i] * z[j]);
            copy[i * n + j] = sign * (0.5 * values[i * n + j] + 0.5 * values[j * n + i]);
        }
    }
    GramMatrix::new(Cow::Owned(copy), n)
}
