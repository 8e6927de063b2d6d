//! Declaring optimality, on a gradient computed from the point alone.

use super::curvature::{Curvature, along_dependence};
use super::optimality::current_violation;
use super::phase::Phase;
use super::rescue::Watch;
use super::settings::CmuSettings;
use super::state::State;
use super::up_cycle::{Ended, Limits, up_cycle};
use crate::cholesky::Pivot;
use crate::observer::Monitor;
use crate::status::SolverStatus;

/// Rows up to which a matrix that may be indefinite is factored in full before its KKT point is called optimal.
const CONVEXITY_ROWS: usize = 2000;

/// Curvature of a pair this far below zero, relative to the diagonal, is no rounding error.
const PAIR_NOISE: f64 = 1e-12;
/// What may be left of a row without pivot against another, relative to their diagonals.
const HIDDEN: f64 = 1e-3;
/// A variable that an infinite bound lets grow beyond this, relative to the data, has no end.
const ENDLESS: f64 = 1e15;

/// The floor bounds the worst case of rounding. What can be reached is usually far below it, and worth some cycles.
const REACHABLE: f64 = 1.0 / 32.0;
/// What surely can be reached.
const SAFE: f64 = 0.75;

/// Tolerance over rounding errors from which a gradient that was followed is as good as one computed anew.
const CLEAR_OF_ROUNDING: f64 = 100.0;

/// The violation to work towards: below the tolerance by what rounding may hide, but not below what rounding allows; at the floor,
/// while `digging`, not below what it usually allows.
pub(super) fn target(tol: f64, floor: f64, digging: bool) -> f64 {
    (tol - 0.25 * floor).max(if digging { REACHABLE } else { SAFE } * floor)
}

/// The phase.
pub(super) fn run(
    state: &mut State<'_>,
    watch: &mut Watch,
    settings: &CmuSettings,
    known_convex: bool,
    monitor: &Monitor<'_>,
) -> Phase {
    if state.outside.is_some()
        && is_clear_of_rounding(state, settings.tol)
        && current_violation(state) <= settings.tol
    {
        // A sub-problem, of which only that much is asked: the rounds around it judge.
        return Phase::Done(SolverStatus::Optimal);
    }
    let clock = monitor.elapsed();
    state.restore_sums();
    state.refresh_gradient();
    state.info.seconds.gradient += monitor.elapsed() - clock;
    let violation = current_violation(state);
    watch.checked(violation);
    if violation <= state.floor {
        watch.keep(violation, &state.beta);
    }
    let low_enough = violation <= target(settings.tol, state.floor, true);
    let status = if violation <= settings.tol {
        SolverStatus::Optimal
    } else if violation <= state.floor && (low_enough || watch.tried_enough(settings.patience)) {
        if watch.polish(violation) {
            // A Newton step from the exact gradient costs little and takes the point well below the floor.
            return Phase::Sweep;
        }
        if let Some(beta) = watch.take_better(violation) {
            state.return_to(&beta);
        }
        SolverStatus::OptimalToPrecision
    } else if watch.stands_still(settings.patience) {
        return Phase::Rescue;
    } else {
        return Phase::UpCycle;
    };
    if known_convex || is_convex(state, settings) {
        Phase::Done(status)
    } else {
        Phase::Done(SolverStatus::Stationary)
    }
}

/// Whether a gradient that was followed is good enough for `tol`.
pub(super) fn is_clear_of_rounding(state: &State<'_>, tol: f64) -> bool {
    tol > CLEAR_OF_ROUNDING * floor_bound(state)
}

/// What rounding does to the gradient at most.
pub(super) fn floor_bound(state: &State<'_>) -> f64 {
    state.floor_bound.at(&state.beta)
}

/// The most negative curvature of a feasible direction of two entries (of one where there is no equality), if any is negative.
fn pair_of_negative_curvature(state: &State<'_>) -> Option<f64> {
    let (gram, problem) = (state.gram, state.problem);
    let diagonal = gram.diagonal();
    let mut worst = 0.0_f64;
    for i in 0..state.n() {
        let row = gram.row(i);
        for j in 0..=i {
            // e_i - e_j, or without an equality also e_i + e_j; halved to the scale of s's = 1.
            let along = match problem.n_groups() {
                0 if i == j => diagonal[i],
                0 => 0.5 * (diagonal[i] + diagonal[j]) - row[j].abs(),
                _ if i != j && problem.group(i) == problem.group(j) => {
                    0.5 * (diagonal[i] + diagonal[j]) - row[j]
                }
                _ => continue,
            };
            if along < -PAIR_NOISE * (diagonal[i].abs() + diagonal[j].abs()) {
                worst = worst.min(along);
            }
        }
    }
    (worst < 0.0).then_some(worst)
}

/// Looks for negative curvature in the rest of the matrix (beyond [`CONVEXITY_ROWS`]: in the block of the support vectors) by
/// completing the factor.
pub(super) fn is_convex(state: &mut State<'_>, settings: &CmuSettings) -> bool {
    let mut rest: Vec<usize> =
        (0..state.n()).filter(|i| !state.free_set.members().contains(i)).collect();
    if state.n() > CONVEXITY_ROWS {
        rest.retain(|&i| state.beta[i] != 0.0);
        rest.truncate(CONVEXITY_ROWS);
    }
    if let Some(value) = pair_of_negative_curvature(state) {
        state.info.most_negative_curvature = state.info.most_negative_curvature.min(value);
        return false;
    }
    let gram = state.gram;
    let diagonal = |i: usize| gram.diagonal()[i].abs();
    let mut pending = crate::cholesky::Pending::default();
    for chunk in rest.chunks(64) {
        state.free_set.prepare(chunk, &mut pending);
        for (at, &i) in chunk.iter().enumerate() {
            let solved: Vec<f64> = pending.row(at).collect();
            let found = match state.free_set.append(&mut pending, at, i, settings.rank_tol) {
                Pivot::Appended => Curvature::None,
                Pivot::Indefinite(_) => along_dependence(state, &solved, i),
                // Of a row without pivot nothing may be left against any other.
                Pivot::Dependent(_) => (at + 1..chunk.len())
                    .map(|s| pending.schur(at, s).abs())
                    .zip(&chunk[at + 1..])
                    .find(|(rest, s)| *rest > HIDDEN * diagonal(i).sqrt() * diagonal(**s).sqrt())
                    .map_or(Curvature::None, |(rest, _)| Curvature::Negative(-rest)),
            };
            if let Curvature::Negative(value) = found {
                let worst = &mut state.info.most_negative_curvature;
                *worst = worst.min(value);
                return false;
            }
        }
    }
    true
}

/// The phase for a matrix that is not positive semidefinite: pair steps down to a KKT point.
pub(super) fn stationary(
    state: &mut State<'_>,
    watch: &mut Watch,
    settings: &CmuSettings,
    monitor: &mut Monitor<'_>,
) -> Phase {
    let limits = Limits { n_free: usize::MAX, steps: 10 * state.n() + 1000 };
    let (ended, _) = up_cycle(state, target(settings.tol, state.floor, false), limits, monitor);
    match ended {
        Ended::Unbounded => return Phase::Done(SolverStatus::Unbounded),
        Ended::Told(status) => return Phase::Done(status),
        Ended::Grown | Ended::NoPair => {}
    }
    let scale = state
        .problem
        .linear()
        .iter()
        .chain(state.problem.start())
        .fold(1.0_f64, |m, v| m.max(v.abs()));
    let without_end = |i: usize| {
        let infinite =
            state.problem.lower()[i].is_infinite() || state.problem.upper()[i].is_infinite();
        infinite && state.beta[i].abs() > ENDLESS * scale
    };
    if (0..state.n()).any(without_end) {
        return Phase::Done(SolverStatus::Unbounded);
    }
    state.restore_sums();
    state.refresh_gradient();
    state.info.n_cycles += 1;
    let violation = current_violation(state);
    watch.note(state, violation);
    if violation <= settings.tol.max(state.floor) {
        Phase::Done(SolverStatus::Stationary)
    } else if watch.stands_still(settings.patience) {
        Phase::Done(SolverStatus::Stalled)
    } else {
        Phase::Stationary
    }
}
