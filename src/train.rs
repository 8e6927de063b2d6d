//! From data and targets to a model: encode, fit, decode.

use crate::certificate::Certificate;
use crate::encoding::{Encoding, Model};
use crate::error::{Result, check_len};
use crate::fit::{Fit, Limits, Settings, fit_matrix, fit_points_in};
use crate::info::Info;
use crate::kernel::{GramMatrix, Kernel, Points};
use crate::observer::Observer;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// Times that a problem is solved again: because the margin of nu classification makes its violation too large, or because with bounds as
/// large as these the tolerance allows a gap beyond the objective.
const MAX_REPEATS: usize = 2;

/// What kernel values come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Rows of features.
    Rows {
        /// Row-major.
        values: &'a [f64],
        /// Features a row.
        n_features: usize,
        /// The kernel.
        kernel: &'a Kernel,
    },
    /// A kernel matrix.
    Matrix(&'a GramMatrix<'a>),
}

/// A trained model and what is known about it.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// The variables of the dual.
    pub x: Vec<f64>,
    /// Of the model: see [`Encoding::model`].
    pub certificate: Certificate,
    /// Counters, seconds and outcome.
    pub info: Info,
}

/// What every training needs beside the data.
#[derive(Clone, Debug)]
pub struct Training<'a> {
    /// The problem.
    pub encoding: Encoding,
    /// Of the solver. The tolerance is in units of the model's function, also where that is scaled.
    pub settings: &'a Settings,
    /// Time and memory.
    pub limits: Limits,
}

impl Source<'_> {
    /// Number of points.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows { values, n_features, .. } => values.len() / (*n_features).max(1),
            Self::Matrix(gram) => gram.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Trains one model; `targets`, `upper` and `hint` as in [`Encoding::problem`].
///
/// # Errors
/// As [`crate::fit::fit_points`] and [`Encoding::problem`].
pub fn train(
    source: Source<'_>,
    targets: &[f64],
    upper: &[f64],
    hint: Option<&[f64]>,
    training: &Training<'_>,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    train_in(&mut Vec::new(), source, targets, upper, hint, training, threads, observer)
}

/// As [`train`], with memory for the kernel matrix that is used again from fit to fit.
#[allow(clippy::too_many_arguments)] // those of train and one
pub(crate) fn train_in(
    buffer: &mut Vec<f64>,
    source: Source<'_>,
    targets: &[f64],
    upper: &[f64],
    hint: Option<&[f64]>,
    training: &Training<'_>,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<Trained> {
    let Training { encoding, settings, limits } = training;
    check_len("upper", source.len(), upper.len())?;
    let mut problem = encoding.problem(targets, upper, hint)?;
    let mut settings = (*settings).clone();
    let tol = settings.method().tol();
    let mut limits = limits.clone();
    let mut last: Option<Trained> = None;
    let mut stationary = false;
    for repeats in 0.. {
        let Fit { x, mut certificate, mut info } = match source {
            Source::Rows { values, n_features, kernel } => {
                let n = source.len();
                // With a sum that is not 0 the dual of a linear kernel does depend on the origin.
                let fixed = matches!(kernel, Kernel::Linear)
                    && matches!(encoding, Encoding::OneClass { .. });
                let points = if fixed {
                    Points::new(values, n, n_features, kernel)?
                } else {
                    Points::centred(values, n, n_features, kernel)?
                };
                fit_points_in(
                    buffer,
                    &points,
                    kernel,
                    &problem,
                    settings.method(),
                    &limits,
                    threads,
                    observer,
                )?
            }
            Source::Matrix(gram) => {
                fit_matrix(gram, &problem, settings.method(), &limits, threads, observer)?
            }
        };
        if certificate.is_unknown()
            && let Some(mut last) = last.take()
        {
            // There was no time to go on from it.
            last.info.status = info.status;
            return Ok(last);
        }
        let violation = certificate.kkt_violation;
        let model = encoding.model(&problem, &x, &mut certificate);
        let solver_tol = settings.method().tol();
        stationary |= info.status == SolverStatus::Stationary;
        // Below its tolerance a point is only refused for its gap, which is another one where the model is scaled.
        let stands_still = info.status == SolverStatus::Stalled && violation > solver_tol;
        let is_final = match info.status {
            SolverStatus::Stalled => stands_still && repeats == 0,
            status => {
                !(status.is_optimal() || status == SolverStatus::Stationary)
                    || (model.scale == 1.0 && repeats == 0)
            }
        };
        if !is_final {
            let judged = if stationary {
                certificate.is_stationary(tol).then_some(SolverStatus::Stationary)
            } else {
                certificate.judge(tol)
            };
            limits.max_time = limits.max_time.map(|t| (t - info.seconds.total).max(1e-3));
            if judged.is_none() && !stands_still && repeats < MAX_REPEATS {
                // The gap falls as the violation does.
                let excess = if certificate.is_hopeless() { certificate.relative_gap } else { 1.0 };
                let wanted = 0.5 * tol * model.scale / excess;
                settings = settings.with_tol(wanted.min(0.5 * solver_tol));
                problem = problem.starting_at(&x);
                last = Some(Trained { model, x, certificate, info });
                continue;
            }
            info.status = judged.unwrap_or(SolverStatus::Stalled);
        }
        return Ok(Trained { model, x, certificate, info });
    }
    unreachable!("the last repeat returns")
}

/// What is known of a model whose training was stopped before it began: the variables that it would have begun with.
///
/// # Errors
/// As [`Encoding::problem`].
pub(crate) fn untouched(
    encoding: &Encoding,
    targets: &[f64],
    upper: &[f64],
    hint: Option<&[f64]>,
    status: SolverStatus,
) -> Result<Trained> {
    let problem = encoding.problem(targets, upper, hint)?;
    let mut certificate = Certificate::unknown(&problem, problem.start());
    let x = problem.unsigned(problem.start());
    let model = encoding.model(&problem, &x, &mut certificate);
    Ok(Trained { model, x, certificate, info: Info { status, ..Info::default() } })
}
