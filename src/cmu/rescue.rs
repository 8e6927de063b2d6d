//! What to do when nothing moves any more: a ladder, each rung taken once per standstill and counted.
//!
//! 1. Dependent variables never get here: a small pivot leads to a null-curvature step (extend.rs). A negative one where the curvature
//!    is positive costs a refactorisation, then a larger shift.
//! 2. *Refine*: the gradient was just recomputed, so one more sweep is iterative refinement from exact data.
//! 3. *Refactor*: the factor went through many updates; build it anew.
//! 4. *Pair steps alone*, a good many of them: they need no factor at all.
//! 5. *Give up* with status `stalled`: honest, and the certificate says how good the point is.

use super::phase::Phase;
use super::state::State;
use super::up_cycle::{Ended, Limits, up_cycle};
use crate::observer::Monitor;
use crate::status::SolverStatus;

/// Watches for a standstill.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    best_violation: f64,
    best_objective: f64,
    idle: usize,
    rung: usize,
    /// Violation at the last check on a fresh gradient.
    verified: f64,
    /// Violation before the last polishing sweep.
    polished: f64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            best_violation: f64::INFINITY,
            best_objective: f64::INFINITY,
            idle: 0,
            rung: 0,
            verified: f64::INFINITY,
            polished: f64::INFINITY,
        }
    }
}

impl Watch {
    /// Takes note of a cycle: progress is a clearly smaller violation, or an objective that fell by more than its rounding error.
    pub(super) fn note(&mut self, state: &State<'_>, violation: f64) {
        let objective = state.objective();
        let noise: f64 = state
            .beta
            .iter()
            .zip(&state.gradient)
            .zip(state.problem.linear())
            .map(|((b, g), p)| (b * (g - p)).abs())
            .sum::<f64>()
            * f64::EPSILON;
        let first = self.best_objective.is_infinite();
        if first || violation < 0.7 * self.best_violation || objective < self.best_objective - noise
        {
            self.idle = 0;
            self.rung = 0;
        } else {
            self.idle += 1;
        }
        self.best_violation = self.best_violation.min(violation);
        self.best_objective = self.best_objective.min(objective);
    }

    /// Whether a check on a fresh gradient is due: nothing has improved for long, or the violation has come near what rounding
    /// may explain (`floor_bound`) for the first time at this size.
    pub(super) fn check_due(&self, violation: f64, floor_bound: f64, patience: usize) -> bool {
        self.idle >= patience || violation <= floor_bound.min(0.5 * self.verified)
    }

    pub(super) fn checked(&mut self, violation: f64) {
        self.verified = self.verified.min(violation);
    }

    /// Whether one more sweep from the fresh gradient is worth it: the last one halved the violation (or there was none).
    pub(super) fn polish(&mut self, violation: f64) -> bool {
        let worth = violation < 0.5 * self.polished;
        self.polished = self.polished.min(violation);
        worth
    }

    pub(super) fn stands_still(&self, patience: usize) -> bool {
        self.idle >= patience
    }
}

/// Forgets the factor; the next sweep builds it anew.
pub(super) fn refactor(state: &mut State<'_>) {
    state.free_set.clear();
    state.info.n_refactorizations += 1;
}

/// A negative pivot where the curvature is positive: a factor that went through updates is built anew; one that was just built says
/// that the shift is too small for this matrix.
pub(super) fn wrong_pivot(state: &mut State<'_>, from_scratch: bool) -> Phase {
    refactor(state);
    if from_scratch && !state.free_set.strengthen() {
        return Phase::Stationary;
    }
    Phase::Sweep
}

/// The phase: the next rung.
pub(super) fn run(
    state: &mut State<'_>,
    watch: &mut Watch,
    target: f64,
    monitor: &mut Monitor<'_>,
) -> Phase {
    watch.idle = 0;
    watch.rung += 1;
    match watch.rung {
        1 => Phase::Sweep,
        2 => {
            refactor(state);
            Phase::Sweep
        }
        3 => {
            let limits = Limits { n_free: usize::MAX, steps: 20 * state.n() + 1000 };
            match up_cycle(state, target, limits, monitor).0 {
                Ended::NoPair => Phase::Verify,
                Ended::Grown => Phase::Sweep,
                Ended::Unbounded => Phase::Done(SolverStatus::Unbounded),
                Ended::Told(status) => Phase::Done(status),
            }
        }
        _ => Phase::Done(SolverStatus::Stalled),
    }
}
