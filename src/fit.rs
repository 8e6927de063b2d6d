//! One fit from data to certificate: kernel matrix, solver, certificate, with the clock running.

use crate::certificate::{Certificate, certify_sums};
use crate::cmu::{self, CmuSettings, large};
use crate::error::{Error, Result};
use crate::gradient;
use crate::info::Info;
use crate::kernel::{
    ColumnSource, ColumnSums, GramMatrix, HeldColumns, Kernel, KernelColumns, Points,
};
use crate::observer::{Monitor, Observer, Progress};
use crate::problem::DualProblem;
use crate::smo::{self, SmoSettings};
use crate::solution::Solution;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// Rows up to which a matrix is held if it fits: beyond, fresh memory for all of it costs more than the columns that are needed.
/// Measured, two threads, columns against held: ring (7,400 x 20) 0.05 and 0.44 s, higgs (10,000 x 28) 0.68 and 1.16 s, banana
/// (5,300 x 2) 0.07 and 0.07 s, mnist (5,000 x 784) 0.48 and 0.53 s.
const HELD_ROWS: usize = 3_000;

/// What bounds a fit, apart from the solver's own settings.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Seconds; `None` for no limit.
    pub max_time: Option<f64>,
    /// Bytes that kernel entries and the factor may take; `None` for no limit. A matrix that fits is held, of a larger one columns are
    /// kept.
    pub cache_bytes: Option<f64>,
}

/// A solver with its settings.
#[derive(Clone, Copy, Debug)]
pub enum Method<'a> {
    /// The cycling method with updates.
    Cmu(&'a CmuSettings),
    /// The alternating-direction method.
    Smo(&'a SmoSettings),
}

impl<'a> From<&'a CmuSettings> for Method<'a> {
    fn from(settings: &'a CmuSettings) -> Self {
        Self::Cmu(settings)
    }
}

impl<'a> From<&'a SmoSettings> for Method<'a> {
    fn from(settings: &'a SmoSettings) -> Self {
        Self::Smo(settings)
    }
}

impl Method<'_> {
    /// The name used in certificates and progress records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cmu(_) => "cmu",
            Self::Smo(_) => "smo",
        }
    }

    /// The largest KKT violation of an optimal point.
    pub fn tol(&self) -> f64 {
        match self {
            Self::Cmu(settings) => settings.tol,
            Self::Smo(settings) => settings.tol,
        }
    }

    /// Checks every setting.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Cmu(settings) => settings.validate(),
            Self::Smo(settings) => settings.validate(),
        }
    }
}

/// The settings of a solver, held.
#[derive(Clone, Debug)]
pub enum Settings {
    /// Of the cycling method.
    Cmu(CmuSettings),
    /// Of the alternating-direction method.
    Smo(SmoSettings),
}

impl Settings {
    /// The solver with these settings.
    pub fn method(&self) -> Method<'_> {
        match self {
            Self::Cmu(settings) => settings.into(),
            Self::Smo(settings) => settings.into(),
        }
    }

    /// The same with another tolerance.
    pub(crate) fn with_tol(&self, tol: f64) -> Self {
        match self {
            Self::Cmu(settings) => Self::Cmu(CmuSettings { tol, ..settings.clone() }),
            Self::Smo(settings) => Self::Smo(SmoSettings { tol, ..settings.clone() }),
        }
    }
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
pub fn fit_points<'s>(
    points: &Points<'_>,
    kernel: &Kernel,
    problem: &DualProblem,
    method: impl Into<Method<'s>>,
    limits: &Limits,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    let (method, mut buffer) = (method.into(), Vec::new());
    fit_points_in(&mut buffer, points, kernel, problem, method, limits, threads, observer)
}

/// As [`fit_points`], with memory for the matrix that is used again from fit to fit.
#[allow(clippy::too_many_arguments)] // those of fit_points and one
pub(crate) fn fit_points_in(
    buffer: &mut Vec<f64>,
    points: &Points<'_>,
    kernel: &Kernel,
    problem: &DualProblem,
    method: Method<'_>,
    limits: &Limits,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    method.validate()?;
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
    let hold = !matches!(method, Method::Cmu(settings) if !settings.hold);
    if !hold || n > HELD_ROWS || 8.0 * n as f64 * n as f64 > allowed {
        let mut source = KernelColumns::new(points, kernel, threads, budget)?;
        let solution = match method {
            Method::Cmu(settings) => {
                large::solve(&mut source, problem, settings, convex, budget, threads, &mut monitor)?
            }
            Method::Smo(settings) => {
                smo::solve(&mut source, problem, settings, convex, &mut monitor)?
            }
        };
        return finish(&mut source, linear, problem, method.tol(), solution, &monitor);
    }
    let starting = || Progress::starting(method.name(), 0);
    let memory = std::mem::take(buffer);
    let gram = GramMatrix::compute_in(memory, points, kernel, threads, || {
        monitor.poll(starting).is_none()
    })?;
    let kernel_seconds = monitor.elapsed();
    let Some(gram) = gram else {
        let status = monitor.poll(starting).unwrap_or(SolverStatus::Stopped);
        return Ok(untouched(problem, status, &monitor));
    };
    let mut solution = solve_held(&gram, problem, method, convex, budget, threads, &mut monitor)?;
    solution.info.n_kernel_columns = n;
    solution.info.seconds.kernel += kernel_seconds;
    let mut source = HeldColumns::new(&gram, threads);
    let fit = finish(&mut source, linear, problem, method.tol(), solution, &monitor);
    *buffer = gram.into_values();
    fit
}

/// Several variables a point share its column.
fn solve_held(
    gram: &GramMatrix<'_>,
    problem: &DualProblem,
    method: Method<'_>,
    convex: bool,
    budget: usize,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Result<Solution> {
    let mut source = HeldColumns::new(gram, threads);
    match method {
        Method::Cmu(settings) if problem.len() == gram.len() => {
            cmu::solve(gram, problem, settings, convex, threads, monitor)
        }
        Method::Cmu(settings) => {
            large::solve(&mut source, problem, settings, convex, budget, threads, monitor)
        }
        Method::Smo(settings) => smo::solve(&mut source, problem, settings, convex, monitor),
    }
}

/// Solves a problem on a matrix that the caller holds; several variables a point as in [`fit_points`].
///
/// # Errors
/// If the input is not valid.
pub fn fit_matrix<'s>(
    gram: &GramMatrix<'_>,
    problem: &DualProblem,
    method: impl Into<Method<'s>>,
    limits: &Limits,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    let method = method.into();
    if gram.is_empty() || !problem.len().is_multiple_of(gram.len()) {
        return Err(Error::Shape {
            argument: "matrix",
            expected: format!("as many rows as variables ({}), or a share of them", problem.len()),
            got: gram.len().to_string(),
        });
    }
    let mut monitor = Monitor::new(observer, limits.max_time);
    let solution = solve_held(gram, problem, method, false, usize::MAX, threads, &mut monitor)?;
    let mut source = HeldColumns::new(gram, threads);
    finish(&mut source, None, problem, method.tol(), solution, &monitor)
}

/// Certifies a solution: from the solver's products if they are those of this very point, else from new ones; where a limit or an
/// interrupt leaves no time for them, nothing is claimed. What the solver called
/// optimal is only reported as such if the certificate agrees.
fn finish(
    source: &mut dyn ColumnSource,
    linear: Option<&Points<'_>>,
    problem: &DualProblem,
    tol: f64,
    solution: Solution,
    monitor: &Monitor<'_>,
) -> Result<Fit> {
    let Solution { beta, sums, began, mut info } = solution;
    let clock = monitor.elapsed();
    let sums = match sums {
        Some(sums) => Some(sums),
        // There was no time for these very products.
        None if !began => None,
        None => gradient::products(source, &beta, &mut || monitor.indulges())?,
    };
    let certificate = match sums {
        Some(sums) => certify_sums(&sums, linear, problem, &beta, None),
        None => Certificate::unknown(problem, &beta),
    };
    if info.status.is_optimal() {
        info.status = certificate.judge(tol).unwrap_or(SolverStatus::Stalled);
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
    // At zero no entry of the matrix matters.
    let certificate = if problem.start().iter().all(|b| *b == 0.0) {
        certify_sums(&ColumnSums::zeros(problem.len()), None, problem, problem.start(), None)
    } else {
        Certificate::unknown(problem, problem.start())
    };
    Fit { x: problem.unsigned(problem.start()), certificate, info }
}
