//! One fit from data to certificate: kernel matrix, solver, certificate, with the clock running.

use crate::certificate::{Certificate, certify};
use crate::cmu::{self, CmuSettings};
use crate::error::{Error, Result};
use crate::info::Info;
use crate::kernel::{GramMatrix, Kernel, Points};
use crate::observer::{Monitor, Observer, Progress};
use crate::problem::DualProblem;
use crate::solution::Solution;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// What bounds a fit, apart from the solver's own settings.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Seconds; `None` for no limit.
    pub max_time: Option<f64>,
    /// Bytes that the kernel matrix may take; `None` for no limit.
    pub cache_bytes: Option<f64>,
}

/// A solved problem.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The user's variables x.
    pub x: Vec<f64>,
    /// How good they are.
    pub certificate: Certificate,
    /// Counters, seconds and outcome.
    pub info: Info,
}

/// Solves a problem on data points.
///
/// # Errors
/// If the input is not valid, the kernel overflows, or its matrix does not fit `limits.cache_bytes`.
pub fn fit_points(
    points: &Points<'_>,
    kernel: &Kernel,
    problem: &DualProblem,
    settings: &CmuSettings,
    limits: &Limits,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    settings.validate()?;
    let n = points.len();
    let bytes = 8.0 * n as f64 * n as f64;
    if let Some(allowed) = limits.cache_bytes
        && bytes > allowed
    {
        return Err(Error::Memory { rows: n, needed_mb: bytes / 1e6, allowed_mb: allowed / 1e6 });
    }
    let mut monitor = Monitor::new(observer, limits.max_time);
    let gram = GramMatrix::compute(points, kernel, threads, || {
        monitor.poll(|| Progress::starting("cmu", 0)).is_none()
    })?;
    let kernel_seconds = monitor.elapsed();
    let Some(gram) = gram else {
        let status = monitor.poll(|| Progress::starting("cmu", 0)).unwrap_or(SolverStatus::Stopped);
        return Ok(untouched(problem, status, &monitor));
    };
    let mut solution = cmu::solve(
        &gram,
        problem,
        settings,
        kernel.is_positive_semidefinite(),
        threads,
        &mut monitor,
    )?;
    solution.info.seconds.kernel = kernel_seconds;
    let linear = matches!(kernel, Kernel::Linear).then_some(points);
    Ok(finish(&gram, linear, problem, settings, solution, threads, &monitor))
}

/// Solves a problem on a matrix that the caller holds.
///
/// # Errors
/// If the input is not valid.
pub fn fit_matrix(
    gram: &GramMatrix<'_>,
    problem: &DualProblem,
    settings: &CmuSettings,
    limits: &Limits,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    let mut monitor = Monitor::new(observer, limits.max_time);
    let solution = cmu::solve(gram, problem, settings, false, threads, &mut monitor)?;
    Ok(finish(gram, None, problem, settings, solution, threads, &monitor))
}

/// Certifies a solution. What the solver called optimal is only reported as such if the certificate agrees.
fn finish(
    gram: &GramMatrix<'_>,
    linear: Option<&Points<'_>>,
    problem: &DualProblem,
    settings: &CmuSettings,
    solution: Solution,
    threads: &Threads,
    monitor: &Monitor<'_>,
) -> Fit {
    let Solution { beta, mut info } = solution;
    let clock = monitor.elapsed();
    let certificate = certify(gram, linear, problem, &beta, None, threads);
    if info.status.is_optimal() {
        info.status = certificate.judge(settings.tol).unwrap_or(SolverStatus::Stalled);
    }
    info.seconds.certificate = monitor.elapsed() - clock;
    info.seconds.total = monitor.elapsed();
    Fit { x: problem.unsigned(&beta), certificate, info }
}

/// Stopped before there was a kernel matrix: the starting point, about which nothing is known but its feasibility.
fn untouched(problem: &DualProblem, status: SolverStatus, monitor: &Monitor<'_>) -> Fit {
    let mut info = Info { status, ..Info::default() };
    info.seconds.kernel = monitor.elapsed();
    info.seconds.total = info.seconds.kernel;
    Fit { x: problem.unsigned(problem.start()), certificate: Certificate::unknown(problem), info }
}
