//! One linear fit from samples to certificate.

use super::certificate::LinearCertificate;
use super::data::{LinearData, Rows, with_rows};
use super::interior::{self, Outcome};
use super::problem::{Intercept, LinearProblem};
use super::settings::{LinearSettings, LinearSolver};
use super::{dual_descent, exact, gd, select, sgd};
use crate::error::{Error, Result, check_finite};
use crate::observer::{Monitor, Observer};
use crate::status::SolverStatus;
use crate::threads::Threads;

/// Weights, that of the added feature last, and dual variables, one a term.
#[derive(Clone, Debug)]
pub struct Point {
    /// w.
    pub w: Vec<f64>,
    /// a.
    pub alpha: Vec<f64>,
}

/// A solved problem.
#[derive(Clone, Debug)]
pub struct LinearFit {
    /// Weights of the features.
    pub coef: Vec<f64>,
    /// Constant of the decision function.
    pub intercept: f64,
    /// Dual variables, one a term.
    pub alpha: Vec<f64>,
    /// How good they are.
    pub certificate: LinearCertificate,
    /// How it ended.
    pub status: SolverStatus,
    /// What ran in the end.
    pub solver: &'static str,
    /// Passes over the samples; iterations for the interior-point method.
    pub n_iter: usize,
    /// Seconds.
    pub seconds: f64,
}

/// Where to start.
#[derive(Clone, Copy, Debug)]
pub struct LinearStart<'a> {
    /// Weights of the features.
    pub coef: &'a [f64],
    /// Constant of the decision function.
    pub intercept: f64,
}

/// Solves a problem on samples.
///
/// # Errors
/// If the input is not valid. How the solve ended is in the status.
pub fn fit_linear(
    data: &LinearData<'_>,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: Option<LinearStart<'_>>,
    max_time: Option<f64>,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<LinearFit> {
    settings.validate()?;
    problem.check_rows(data.len())?;
    let w = starting_weights(problem, data.n_features(), start)?;
    let mut monitor = Monitor::new(observer, max_time);
    with_rows!(data, rows => run(rows, problem, settings, w, threads, &mut monitor))
}

fn starting_weights(
    problem: &LinearProblem,
    d: usize,
    start: Option<LinearStart<'_>>,
) -> Result<Vec<f64>> {
    let mut w = vec![0.0; d + 1];
    if let Some(start) = start {
        if start.coef.len() != d {
            return Err(Error::Shape {
                argument: "start",
                expected: format!("{d} weights"),
                got: start.coef.len().to_string(),
            });
        }
        check_finite("start", start.coef)?;
        check_finite("start", &[start.intercept])?;
        w[..d].copy_from_slice(start.coef);
        if problem.intercept != Intercept::Absent {
            w[d] = start.intercept / problem.intercept.feature();
        }
    }
    Ok(w)
}

fn run<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: Vec<f64>,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Result<LinearFit> {
    let (solver, outcome) = match settings.solver {
        LinearSolver::Exact => ("cmu", exact::solve(rows, problem, settings, threads, monitor)?),
        LinearSolver::Interior => {
            ("ipm", interior::solve(rows, problem, settings, start, threads, monitor))
        }
        LinearSolver::DualDescent => {
            ("dcd", dual_descent::solve(rows, problem, settings, start, None, threads, monitor))
        }
        LinearSolver::Gradient => {
            ("gd", gd::solve(rows, problem, settings, start, threads, monitor))
        }
        LinearSolver::Stochastic => {
            ("sgd", sgd::solve(rows, problem, settings, &start, threads, monitor))
        }
        LinearSolver::Auto => select::solve(rows, problem, settings, start, threads, monitor),
    };
    let Outcome { point, certificate, mut status, n_iter } = outcome;
    // A stall within rounding of the tolerance is all that float64 has to give.
    if certificate.relative_gap <= settings.tol {
        status = SolverStatus::Optimal;
    } else if matches!(
        status,
        SolverStatus::Stalled
            | SolverStatus::EarlyStopped
            | SolverStatus::Optimal
            | SolverStatus::OptimalToPrecision
    ) {
        // What a solver says of its own conditions does not count: the gap decides.
        if certificate.relative_gap <= certificate.precision_floor {
            status = SolverStatus::OptimalToPrecision;
        } else if status != SolverStatus::EarlyStopped {
            status = SolverStatus::Stalled;
        }
    }
    let Point { w: mut coef, alpha } = point;
    let added = coef.pop().unwrap_or(0.0);
    Ok(LinearFit {
        coef,
        intercept: added * problem.intercept.feature(),
        alpha,
        certificate,
        status,
        solver,
        n_iter,
        seconds: monitor.elapsed(),
    })
}
