//! The best points that a method has met, and whether it still gets anywhere.

use super::blocks::{Blocks, add_rows};
use super::certificate::{LinearCertificate, certify, make_feasible};
use super::data::Rows;
use super::fit::Point;
use super::interior::Outcome;
use super::objective::{best_multiple, primal, regulariser};
use super::problem::LinearProblem;
use crate::linalg::vector::axpy;
use crate::observer::Progress;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// A run that is asked to stop early does so as soon as the gap falls, from one look to the next that is `PACE_EPOCHS` later or more,
/// more slowly than by `PACE` in `PACE_EPOCHS` epochs.
const PACE: f64 = 0.1;
const PACE_EPOCHS: usize = 10;

/// Whether the gap falls too slowly to go on.
#[derive(Debug)]
pub(super) struct Pace {
    asked: bool,
    /// Epoch and gap of the last look that counted.
    mark: Option<(usize, f64)>,
}

impl Pace {
    /// Never too slow unless `asked`.
    pub(super) fn new(asked: bool) -> Self {
        Self { asked, mark: None }
    }

    pub(super) fn is_too_slow(&mut self, epoch: usize, gap: f64) -> bool {
        let Some((before, earlier)) = self.mark else {
            self.mark = Some((epoch, gap));
            return false;
        };
        let epochs = epoch - before;
        if !self.asked || epochs < PACE_EPOCHS {
            return false;
        }
        self.mark = Some((epoch, gap));
        gap > earlier * (1.0 - PACE).powf(epochs as f64 / PACE_EPOCHS as f64)
    }
}

/// P beyond this multiple of its first value counts as divergence.
const DIVERGED: f64 = 1e3;

/// Best weights by P and best dual point by D, each with its value.
pub(super) struct Track {
    pub(super) best: Point,
    pub(super) primal: f64,
    pub(super) dual: f64,
    first: f64,
    /// Gap and epoch of the last real progress.
    progress: (f64, usize),
}

impl Track {
    pub(super) fn new<R: Rows>(
        rows: &R,
        problem: &LinearProblem,
        start: Vec<f64>,
        threads: &Threads,
    ) -> Self {
        let value = primal(rows, problem, &start, threads);
        Self {
            best: Point { w: start, alpha: vec![0.0; problem.len()] },
            primal: value,
            dual: 0.0,
            first: value,
            progress: (f64::INFINITY, 0),
        }
    }

    /// Takes weights of value `value`; false if they have gone astray.
    pub(super) fn offer_weights(&mut self, w: &[f64], value: f64) -> bool {
        if value < self.primal {
            self.primal = value;
            self.best.w.copy_from_slice(w);
        }
        value <= DIVERGED * self.first.max(1.0)
    }

    /// Takes a dual point of value about `value`.
    pub(super) fn offer_dual(&mut self, alpha: &[f64], value: f64) {
        if value > self.dual {
            self.dual = value;
            self.best.alpha.copy_from_slice(alpha);
        }
    }

    /// Relative gap.
    pub(super) fn gap(&self) -> f64 {
        (self.primal - self.dual).max(0.0) / self.dual.abs().max(1.0)
    }

    /// Whether the gap has fallen by a hundredth within the last half of the epochs, of which some hundreds are granted.
    pub(super) fn still_moving(&mut self, epoch: usize, granted: usize) -> bool {
        let gap = self.gap();
        if gap < 0.99 * self.progress.0 {
            self.progress = (gap, epoch);
        }
        epoch < 2 * self.progress.1 + granted
    }

    pub(super) fn report(&self, solver: &'static str, n_iter: usize) -> Progress {
        Progress {
            n_iter,
            dual_objective: self.dual,
            kkt_violation: self.gap(),
            ..Progress::starting(solver, 0)
        }
    }

    /// The certificate of the best points; the dual one becomes feasible.
    pub(super) fn certify<R: Rows>(
        &mut self,
        rows: &R,
        problem: &LinearProblem,
        threads: &Threads,
    ) -> LinearCertificate {
        let certificate = certify(rows, problem, &self.best.w, &mut self.best.alpha, threads);
        // The dual point is another one now.
        self.dual = certificate.dual_objective;
        certificate
    }

    pub(super) fn end<R: Rows>(
        mut self,
        rows: &R,
        problem: &LinearProblem,
        threads: &Threads,
        status: SolverStatus,
        n_iter: usize,
    ) -> Outcome {
        let certificate = self.certify(rows, problem, threads);
        Outcome { point: self.best, certificate, status, n_iter }
    }
}

/// A dual point made feasible, its weights sum a z x, and its value at the best multiple.
pub(super) fn feasible_dual<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    mut alpha: Vec<f64>,
    threads: &Threads,
) -> (Vec<f64>, Vec<f64>, f64) {
    make_feasible(problem, &mut alpha);
    let blocks = Blocks::new(rows, problem);
    let d = rows.n_features();
    let mut parts = vec![Vec::new(); blocks.len()];
    blocks.each(threads, &mut parts, |range, part| {
        *part = vec![0.0; d + 1];
        add_rows(rows, problem, range.clone(), &alpha[range], part);
    });
    let mut implied = vec![0.0; d + 1];
    for part in &parts {
        axpy(1.0, part, &mut implied);
    }
    let mut linear = 0.0;
    let mut quadratic = regulariser(problem, &implied);
    for (k, a) in alpha.iter().enumerate() {
        linear += problem.offset(k) * a;
        quadratic += 0.5 * problem.diagonal(k) * a * a;
    }
    (alpha, implied, best_multiple(linear, quadratic).1)
}
