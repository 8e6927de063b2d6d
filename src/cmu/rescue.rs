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
use crate::gradient;
use crate::observer::Monitor;
use crate::status::SolverStatus;

/// Cycles that are granted at the floor to get well below it, in units of the patience.
const DIG: usize = 8;

/// Cycles after which an objective that falls is no progress without a clearly smaller violation: where entries differ by many orders of
/// magnitude, steps may gain a little on one side of rounding for ever.
const SLOW: usize = 10_000;

/// Watches for a standstill.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    best_violation: f64,
    best_objective: f64,
    idle: usize,
    /// Cycles since the violation was clearly smaller than ever before.
    slow: usize,
    rung: usize,
    /// Violation at the last check on a fresh gradient.
    verified: f64,
    /// Violation before the last polishing sweep.
    polished: f64,
    /// Cycles since the violation was first found at the floor.
    at_floor: Option<usize>,
    /// The best point found at the floor, with its violation: noise must not lose it.
    kept: Option<(f64, Vec<f64>)>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            best_violation: f64::INFINITY,
            best_objective: f64::INFINITY,
            idle: 0,
            slow: 0,
            rung: 0,
            verified: f64::INFINITY,
            polished: f64::INFINITY,
            at_floor: None,
            kept: None,
        }
    }
}

impl Watch {
    /// Takes note of a cycle: progress is a clearly smaller violation, or an objective that fell by more than its rounding error.
    pub(super) fn note(&mut self, state: &State<'_>, violation: f64) {
        let (objective, noise) = gradient::objective(state.problem, &state.beta, &state.gradient);
        let first = self.best_objective.is_infinite();
        let nearer = violation < 0.7 * self.best_violation;
        self.slow = if nearer { 0 } else { self.slow + 1 };
        let falls = objective < self.best_objective - noise && self.slow < SLOW;
        if first || nearer || falls {
            self.idle = 0;
            self.rung = 0;
        } else {
            self.idle += 1;
        }
        self.at_floor = self.at_floor.map(|cycles| cycles + 1);
        self.best_violation = self.best_violation.min(violation);
        self.best_objective = self.best_objective.min(objective);
    }

    /// Whether a check on a fresh gradient is due: nothing has improved for long, or the violation has come near what rounding
    /// may explain (`floor_bound`) for the first time at this size.
    pub(super) fn check_due(&self, violation: f64, floor_bound: f64, patience: usize) -> bool {
        self.idle >= patience
            || self.at_floor == Some(DIG * patience)
            || violation <= floor_bound.min(0.5 * self.verified)
    }

    pub(super) fn checked(&mut self, violation: f64) {
        self.verified = self.verified.min(violation);
    }

    /// Keeps a point that was found at the floor if it is the best so far.
    pub(super) fn keep(&mut self, violation: f64, beta: &[f64]) {
        if self.kept.as_ref().is_none_or(|(best, _)| violation < *best) {
            self.kept = Some((violation, beta.to_vec()));
        }
    }

    /// The kept point, if it is better than `violation`.
    pub(super) fn take_better(&mut self, violation: f64) -> Option<Vec<f64>> {
        self.kept.take().filter(|(best, _)| *best < violation).map(|(_, beta)| beta)
    }

    /// Whether the violation is at the floor and cycles are granted to get well below it.
    pub(super) fn digs(&self, patience: usize) -> bool {
        self.at_floor.is_some_and(|cycles| cycles < DIG * patience)
    }

    /// At the floor, but above what can usually be reached: whether some more cycles have been tried by now.
    pub(super) fn tried_enough(&mut self, patience: usize) -> bool {
        *self.at_floor.get_or_insert(0) >= DIG * patience || self.stands_still(patience)
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
        _ => match watch.take_better(f64::INFINITY) {
            Some(beta) => {
                state.return_to(&beta);
                Phase::Done(SolverStatus::OptimalToPrecision)
            }
            None => Phase::Done(SolverStatus::Stalled),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective_of(state: &State<'_>) -> f64 {
        gradient::objective(state.problem, &state.beta, &state.gradient).0
    }
    use crate::cmu::sweep;
    use crate::cmu::workspace::Workspace;
    use crate::cmu::{CmuSettings, verify};
    use crate::kernel::GramMatrix;
    use crate::observer::NoObserver;
    use crate::problem::DualProblem;
    use crate::threads::Threads;

    /// Runs `f` on the state of a small problem after one up-cycle and one sweep, so that the factor holds something.
    fn with_state(f: impl FnOnce(&mut State<'_>, &mut Monitor<'_>)) {
        with_problem(1.0, 3.0, f);
    }

    /// As above, with the points closer together and another bound.
    fn with_problem(spread: f64, c: f64, f: impl FnOnce(&mut State<'_>, &mut Monitor<'_>)) {
        let x: [f64; 6] = [-2.0, -1.2, -0.3, 0.4, 1.1, 2.3];
        let signs = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0];
        let kernel = |a: f64, b: f64| (-(spread * (a - b)).powi(2)).exp();
        let values: Vec<f64> =
            x.iter().flat_map(|&a| x.iter().map(move |&b| kernel(a, b))).collect();
        let gram = GramMatrix::new(values.into(), 6).expect("finite");
        let problem = DualProblem::classification(&signs, &[c; 6], None).expect("valid");
        let threads = Threads::new(1);
        let mut observer = NoObserver;
        let mut monitor = Monitor::new(&mut observer, None);
        let mut state = State::new(&gram, &problem, &threads);
        let limits = Limits { n_free: 4, steps: 20 };
        up_cycle(&mut state, 1e-10, limits, &mut monitor);
        let settings = CmuSettings::default();
        let next =
            sweep::run(&mut state, &mut Workspace::default(), &settings, 1e-10, &mut monitor);
        assert_eq!(next, Phase::UpCycle);
        assert!(state.free_set.len() > 1);
        f(&mut state, &mut monitor);
    }

    #[test]
    fn the_ladder_is_climbed_one_rung_at_a_time() {
        with_state(|state, monitor| {
            let mut watch = Watch { idle: 25, ..Watch::default() };
            let members = state.free_set.len();
            assert_eq!(run(state, &mut watch, 1e-10, monitor), Phase::Sweep);
            assert_eq!(
                (state.free_set.len(), state.info.n_refactorizations),
                (members, 0),
                "refine"
            );
            assert_eq!(watch.idle, 0, "each rung has its own patience");
            assert_eq!(run(state, &mut watch, 1e-10, monitor), Phase::Sweep);
            assert_eq!((state.free_set.len(), state.info.n_refactorizations), (0, 1), "refactor");
            let before = objective_of(state);
            let pair_steps = state.info.n_pair_steps;
            assert_eq!(run(state, &mut watch, 1e-10, monitor), Phase::Verify);
            assert!(
                state.info.n_pair_steps > pair_steps && objective_of(state) <= before,
                "pair steps"
            );
            let target = verify::target(1e-10, state.floor, false);
            assert!(crate::cmu::optimality::current_violation(state) <= target);
            assert_eq!(run(state, &mut watch, 1e-10, monitor), Phase::Done(SolverStatus::Stalled));
        });
    }

    #[test]
    fn pair_steps_that_run_out_hand_over_to_a_sweep() {
        // Points so close together that pair steps crawl.
        with_problem(0.05, 1e9, |state, monitor| {
            let mut watch = Watch { rung: 2, ..Watch::default() };
            assert_eq!(run(state, &mut watch, 1e-10, monitor), Phase::Sweep);
            assert!(state.info.n_pair_steps > 1000);
        });
    }

    #[test]
    fn progress_leads_back_to_the_foot_of_the_ladder() {
        with_state(|state, _| {
            let mut watch = Watch::default();
            watch.note(state, 1.0);
            for idle in 1..=3 {
                watch.note(state, 1.0);
                assert_eq!(watch.idle, idle);
            }
            assert!(watch.stands_still(3) && !watch.stands_still(4));
            assert!(watch.check_due(1.0, 0.0, 3) && !watch.check_due(1.0, 0.0, 4));
            watch.rung = 2;
            // A slightly smaller violation is no progress, a clearly smaller one is.
            watch.note(state, 0.9);
            assert_eq!((watch.idle, watch.rung), (4, 2));
            watch.note(state, 0.5);
            assert_eq!((watch.idle, watch.rung), (0, 0));
        });
    }

    #[test]
    fn a_falling_objective_is_progress_whatever_the_violation() {
        with_state(|state, _| {
            let mut watch = Watch::default();
            watch.note(state, 1.0);
            watch.best_objective = objective_of(state) + 1e-3;
            watch.note(state, 2.0);
            assert_eq!(watch.idle, 0);
            // But not if it fell by less than its rounding error.
            watch.best_objective = objective_of(state) * (1.0 - f64::EPSILON / 4.0);
            watch.note(state, 2.0);
            assert_eq!(watch.idle, 1);
        });
    }

    #[test]
    fn a_check_is_due_once_at_each_size_of_the_violation() {
        let mut watch = Watch::default();
        assert!(watch.check_due(1e-12, 1e-11, 25));
        watch.checked(1e-12);
        assert!(!watch.check_due(1e-12, 1e-11, 25), "checked at this size");
        assert!(watch.check_due(4e-13, 1e-11, 25));
        assert!(!watch.check_due(1e-10, 1e-11, 25), "too large for rounding to explain");
    }

    #[test]
    fn polishing_goes_on_while_it_halves_the_violation() {
        let mut watch = Watch::default();
        assert!(watch.polish(1e-9));
        assert!(watch.polish(4e-10));
        assert!(!watch.polish(3e-10));
        assert!(!watch.polish(1e-9));
    }
}
