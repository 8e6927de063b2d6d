//! One fit from data to certificate: kernel matrix, solver, certificate, with the clock running.

use crate::certificate::{Certificate, certify_sums};
use crate::cmu::{self, CmuSettings, large};
use crate::error::{Error, Result};
use crate::info::Info;
use crate::kernel::{ColumnSource, GramMatrix, HeldColumns, Kernel, KernelColumns, Points};
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
    /// Bytes that kernel entries and the factor may take; `None` for no limit. A matrix that fits is held, of a larger one columns are
    /// kept.
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

/// Solves a problem on data points; with several variables a point, variable v belongs to point v mod the number of points.
///
/// # Errors
/// If the input is not valid, the kernel overflows, or the free variables outgrow `limits.cache_bytes`.
pub fn fit_points(
    points: &Points<'_>,
    kernel: &Kernel,
    problem: &DualProblem,
    settings: &CmuSettings,
    limits: &Limits,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    fit_points_in(&mut Vec::new(), points, kernel, problem, settings, limits, threads, observer)
}

/// As [`fit_points`], with memory for the matrix that is used again from fit to fit.
#[allow(clippy::too_many_arguments)] // those of fit_points and one
pub(crate) fn fit_points_in(
    buffer: &mut Vec<f64>,
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
    if n == 0 || !problem.len().is_multiple_of(n) {
        return Err(Error::Shape {
            argument: "X",
            expected: format!("as many rows as variables ({}), or a share of them", problem.len()),
            got: n.to_string(),
        });
    }
    let allowed = limits.cache_bytes.unwrap_or(f64::INFINITY);
    let budget = allowed.min(usize::MAX as f64) as usize;
    let mut monitor = Monitor::new(observer, limits.max_time);
    let linear = matches!(kernel, Kernel::Linear).then_some(points);
    let convex = kernel.is_positive_semidefinite();
    if !settings.hold || 8.0 * n as f64 * n as f64 > allowed {
        let mut source = KernelColumns::new(points, kernel, threads, 0)?;
        let solution =
            large::solve(&mut source, problem, settings, convex, budget, threads, &mut monitor)?;
        return finish(&mut source, linear, problem, settings, solution, &monitor);
    }
    let starting = || Progress::starting("cmu", 0);
    let memory = std::mem::take(buffer);
    let gram = GramMatrix::compute_in(memory, points, kernel, threads, || {
        monitor.poll(starting).is_none()
    })?;
    let kernel_seconds = monitor.elapsed();
    let Some(gram) = gram else {
        let status = monitor.poll(starting).unwrap_or(SolverStatus::Stopped);
        return Ok(untouched(problem, status, &monitor));
    };
    let mut solution = solve_held(&gram, problem, settings, convex, budget, threads, &mut monitor)?;
    solution.info.n_kernel_columns = n;
    solution.info.seconds.kernel += kernel_seconds;
    let mut source = HeldColumns::new(&gram, threads);
    let fit = finish(&mut source, linear, problem, settings, solution, &monitor);
    *buffer = gram.into_values();
    fit
}

/// Several variables a point share its column.
fn solve_held(
    gram: &GramMatrix<'_>,
    problem: &DualProblem,
    settings: &CmuSettings,
    convex: bool,
    budget: usize,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Result<Solution> {
    if problem.len() == gram.len() {
        return cmu::solve(gram, problem, settings, convex, threads, monitor);
    }
    let mut source = HeldColumns::new(gram, threads);
    large::solve(&mut source, problem, settings, convex, budget, threads, monitor)
}

/// Solves a problem on a matrix that the caller holds; several variables a point as in [`fit_points`].
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
    if gram.is_empty() || !problem.len().is_multiple_of(gram.len()) {
        return Err(Error::Shape {
            argument: "matrix",
            expected: format!("as many rows as variables ({}), or a share of them", problem.len()),
            got: gram.len().to_string(),
        });
    }
    let mut monitor = Monitor::new(observer, limits.max_time);
    let budget = usize::MAX;
    let solution = solve_held(gram, problem, settings, false, budget, threads, &mut monitor)?;
    finish(&mut HeldColumns::new(gram, threads), None, problem, settings, solution, &monitor)
}

/// Certifies a solution: from the solver's products if they are those of this very point, else from new ones. What the solver called
/// optimal is only reported as such if the certificate agrees.
fn finish(
    source: &mut dyn ColumnSource,
    linear: Option<&Points<'_>>,
    problem: &DualProblem,
    settings: &CmuSettings,
    solution: Solution,
    monitor: &Monitor<'_>,
) -> Result<Fit> {
    let Solution { beta, sums, mut info } = solution;
    let clock = monitor.elapsed();
    let sums = match sums {
        Some(sums) => Some(sums),
        None => large::products(source, &beta, &mut || true)?,
    };
    let certificate = match sums {
        Some(sums) => certify_sums(&sums, linear, problem, &beta, None),
        None => Certificate::unknown(problem),
    };
    if info.status.is_optimal() {
        info.status = certificate.judge(settings.tol).unwrap_or(SolverStatus::Stalled);
    }
    info.seconds.certificate = monitor.elapsed() - clock;
    info.seconds.total = monitor.elapsed();
    Ok(Fit { x: problem.unsigned(&beta), certificate, info })
}

/// Stopped before there was a kernel matrix: the starting point, about which nothing is known but its feasibility.
fn untouched(problem: &DualProblem, status: SolverStatus, monitor: &Monitor<'_>) -> Fit {
    let mut info = Info { status, ..Info::default() };
    info.seconds.kernel = monitor.elapsed();
    info.seconds.total = info.seconds.kernel;
    Fit { x: problem.unsigned(problem.start()), certificate: Certificate::unknown(problem), info }
}
