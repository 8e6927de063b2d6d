//! The up-cycle: descent steps of one pair release variables from their bounds.

use super::optimality::{best_partner, worst_violator};
use super::phase::Phase;
use super::settings::CmuSettings;
use super::state::State;
use crate::linalg::vector::axpy;
use crate::observer::Monitor;
use crate::pair::{FLAT, NEGATIVE, Violator, add_pair, pair_curvature};
use crate::status::SolverStatus;

/// Steps between two looks at the clock.
const POLL: usize = 32;

/// How an up-cycle ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The free set has grown enough, or the steps are used up.
    Grown,
    /// No pair violates by more than the target any more.
    NoPair,
    /// A step without curvature meets no bound.
    Unbounded,
    /// The monitor stopped it.
    Told(SolverStatus),
}

/// Steps of one up-cycle, and the size of the free set that ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) n_free: usize,
    pub(super) steps: usize,
}

impl Limits {
    /// The 50 % rule, and no more than half of the `n` variables: of a few points most are free in the end, and Newton steps find
    /// where.
    pub(super) fn grow(n_free: usize, n: usize, settings: &CmuSettings) -> Self {
        let growth = ((settings.growth * n_free as f64) as usize).max(settings.least_growth);
        let growth = growth.min((n / 2).max(1));
        Self { n_free: n_free + growth, steps: (4 * growth + 20).min(2 * n) }
    }
}

/// Makes pair steps down to a violation of `target`. Returns how it ended and the number of steps.
pub(super) fn up_cycle(
    state: &mut State<'_>,
    target: f64,
    limits: Limits,
    monitor: &mut Monitor<'_>,
) -> (Ended, usize) {
    for step in 0..limits.steps {
        let Some(violator) = worst_violator(state).filter(|v| v.violation > target) else {
            return (Ended::NoPair, step);
        };
        state.violation = violator.violation;
        if step % POLL == 0
            && let Some(status) = monitor.poll(|| state.progress())
        {
            return (Ended::Told(status), step);
        }
        let moved = if state.problem.n_groups() == 0 {
            single_step(state, violator.index)
        } else {
            match best_partner(state, violator) {
                Some(j) => pair_step(state, violator, j),
                None => return (Ended::NoPair, step),
            }
        };
        if !moved {
            // Rounding may leave a slope where there is none.
            let noise = super::verify::floor_bound(state);
            let ended = if violator.violation > noise { Ended::Unbounded } else { Ended::NoPair };
            return (ended, step);
        }
        state.info.n_pair_steps += 1;
        state.info.n_cache_hits += 2;
        if state.n_free >= limits.n_free {
            return (Ended::Grown, step + 1);
        }
    }
    (Ended::Grown, limits.steps)
}

/// The phase: one up-cycle, then a sweep; or a check, if there is no pair.
pub(super) fn run(
    state: &mut State<'_>,
    target: f64,
    settings: &CmuSettings,
    monitor: &mut Monitor<'_>,
) -> Phase {
    let limits = Limits::grow(state.n_free, state.n(), settings);
    match up_cycle(state, target, limits, monitor) {
        (Ended::NoPair, 0) => Phase::Verify,
        (Ended::Grown | Ended::NoPair, _) => {
            state.info.n_cycles += 1;
            Phase::Sweep
        }
        (Ended::Unbounded, _) => Phase::Done(SolverStatus::Unbounded),
        (Ended::Told(status), _) => Phase::Done(status),
    }
}

/// Grows i and shrinks j by the exact minimiser along the pair, cut at the box. False if there is no end to it.
fn pair_step(state: &mut State<'_>, violator: Violator, j: usize) -> bool {
    let i = violator.index;
    let diagonal = state.gram.diagonal();
    let (own, other, product) = (diagonal[i], diagonal[j], state.gram.row(i)[j]);
    let scale = own.abs() + other.abs();
    let curvature = (own + other) - 2.0 * product;
    note_curvature(state, curvature, scale);
    let slope = state.gradient[j] - state.gradient[i];
    let (room_i, room_j) = (state.room(i, 1.0), state.room(j, -1.0));
    let minimiser = if curvature <= FLAT * scale {
        f64::INFINITY
    } else {
        slope / pair_curvature(own, other, product)
    };
    let step = minimiser.min(room_i).min(room_j);
    if step.is_infinite() {
        return false;
    }
    state.shift(i, step, step == room_i);
    state.shift(j, -step, step == room_j);
    add_pair(&mut state.gradient, step, state.gram.row(i), state.gram.row(j));
    true
}

/// Without an equality: moves i alone to its minimiser, cut at the box.
fn single_step(state: &mut State<'_>, i: usize) -> bool {
    let curvature = state.gram.diagonal()[i];
    note_curvature(state, curvature, curvature.abs());
    let slope = -state.gradient[i];
    let room = state.room(i, slope);
    let minimiser = if curvature <= 0.0 { f64::INFINITY } else { slope.abs() / curvature };
    let length = minimiser.min(room);
    if length.is_infinite() {
        return false;
    }
    let step = length.copysign(slope);
    state.shift(i, step, length == room);
    axpy(step, state.gram.row(i), &mut state.gradient);
    true
}

fn note_curvature(state: &mut State<'_>, curvature: f64, scale: f64) {
    if curvature < -NEGATIVE * scale {
        state.info.most_negative_curvature = state.info.most_negative_curvature.min(curvature);
    }
}
