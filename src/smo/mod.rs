//! SMO, the alternating-direction method: descent steps of one pair of variables after another (J. Platt, 1998; the greedy choice of
//! R.-E. Fan, P.-H. Chen and C.-J. Lin, *Working set selection using second order information*, JMLR 6, 2005; or a pair drawn at
//! random).
//!
//! The classical method of this field, here in float64 throughout and honest about its end: a point is called optimal on a gradient
//! of all variables computed afresh, and a standstill is called one. Every iterate is feasible and the objective falls with every
//! step. Columns come one by one, so that nothing of the size of the matrix is needed.

mod convexity;
mod settings;
mod shrinking;
mod state;
mod watch;
mod working_pair;

pub use settings::{Selection, SmoSettings};

use crate::error::{Error, Result};
use crate::gradient;
use crate::kernel::SingleColumns;
use crate::observer::Monitor;
use crate::problem::DualProblem;
use crate::solution::Solution;
use crate::status::SolverStatus;
use state::{State, Step};
use watch::Watch;

/// Steps between two looks at the clock.
const POLL: usize = 32;
/// Steps of a period, fewer where there are fewer variables: after each the active variables are chosen anew, and progress is judged.
const PERIOD: usize = 1000;
/// Variables that were left out come back for good measure when the violation is within this factor of the target.
const NEAR: f64 = 10.0;

/// Solves the dual problem for a matrix that `source` gives by columns. `known_convex` says that it is positive semidefinite by
/// construction; else that is checked before a point is called optimal.
///
/// # Errors
/// If a setting is out of range, the matrix does not fit the problem, or a kernel value overflows. How the solve ended is in the
/// solution's [`SolverStatus`].
pub fn solve(
    source: &mut dyn SingleColumns,
    problem: &DualProblem,
    settings: &SmoSettings,
    known_convex: bool,
    monitor: &mut Monitor<'_>,
) -> Result<Solution> {
    settings.validate()?;
    if source.is_empty() || !problem.len().is_multiple_of(source.len()) {
        return Err(Error::Shape {
            argument: "matrix",
            expected: format!("as many rows as variables ({}), or a share of them", problem.len()),
            got: source.len().to_string(),
        });
    }
    let mut state = State::new(source, problem, settings);
    let told = begin(&mut state, monitor)?;
    let began = told.is_none();
    let status = match told {
        Some(status) => status,
        None => iterate(&mut state, settings, known_convex, monitor)?,
    };
    Ok(finish(state, status, began))
}

/// A start other than zero needs its gradient.
fn begin(state: &mut State<'_>, monitor: &mut Monitor<'_>) -> Result<Option<SolverStatus>> {
    if state.beta.iter().all(|b| *b == 0.0) { Ok(None) } else { state.refresh(monitor) }
}

/// How a period of steps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The steps are used up.
    Over,
    /// Nothing violates by more than the target.
    NoPair,
    /// The step that was due is below the resolution of the variables.
    Lost,
    /// A step without curvature meets no bound.
    Endless,
    /// A limit or the monitor.
    Told(SolverStatus),
}

/// The method: periods of pair steps, until a point is optimal on a fresh gradient or nothing helps any more.
fn iterate(
    state: &mut State<'_>,
    settings: &SmoSettings,
    known_convex: bool,
    monitor: &mut Monitor<'_>,
) -> Result<SolverStatus> {
    let mut watch = Watch::new(settings.patience * state.beta.len().max(PERIOD));
    let mut came_back = false;
    loop {
        let target = target(settings.tol, state.floor);
        let is_fresh = state.sums.is_some();
        let before = state.info.n_pair_steps;
        let clock = monitor.elapsed();
        let ended = period(state, settings, target, monitor)?;
        state.info.seconds.up_cycle += monitor.elapsed() - clock;
        if let Ended::Told(status) = ended {
            return Ok(status);
        }
        let n_steps = state.info.n_pair_steps - before;
        let violation = state.look();
        let bound = state.floor_bound.at(&state.beta);
        watch.note(violation, n_steps);
        reserve_time(state, monitor);
        let blocked = violation > target && n_steps == 0;
        if blocked && is_fresh {
            let unbounded = ended == Ended::Endless && violation > bound;
            return Ok(if unbounded { SolverStatus::Unbounded } else { SolverStatus::Stalled });
        }
        if violation <= target || blocked || watch.check_due(violation, bound) {
            // Nothing is concluded from some of the variables, nor from a gradient that was followed.
            let stopped = if state.active.is_shrunk() {
                state.unshrink(monitor)?
            } else {
                check(state, settings, known_convex, &mut watch, monitor)?
            };
            if stopped.is_some() {
                return Ok(stopped.unwrap_or_default());
            }
        } else if state.active.is_shrunk() && !came_back && violation <= NEAR * target {
            came_back = true;
            if let Some(status) = state.unshrink(monitor)? {
                return Ok(status);
            }
        } else if settings.shrinking {
            state.shrink();
        }
    }
}

/// Pair steps, until something has to be looked at.
fn period(
    state: &mut State<'_>,
    settings: &SmoSettings,
    target: f64,
    monitor: &mut Monitor<'_>,
) -> Result<Ended> {
    let mut n_lost = 0;
    for step in 0..state.beta.len().clamp(POLL, PERIOD) {
        if settings.max_iter.is_some_and(|limit| state.info.n_pair_steps >= limit) {
            return Ok(Ended::Told(SolverStatus::MaxIter));
        }
        if step % POLL == 0
            && let Some(status) = monitor.poll(|| state.progress())
        {
            return Ok(Ended::Told(status));
        }
        match state.step(settings.selection, target)? {
            Step::Taken => {}
            Step::NoPair => return Ok(Ended::NoPair),
            Step::Endless => return Ok(Ended::Endless),
            Step::Lost => {
                // Another draw may do better; the greedy choice would be the same again.
                n_lost += 1;
                if settings.selection == Selection::Greedy || n_lost > state.active.len() {
                    return Ok(Ended::Lost);
                }
            }
        }
    }
    Ok(Ended::Over)
}

/// Judges the point on a gradient computed afresh.
fn check(
    state: &mut State<'_>,
    settings: &SmoSettings,
    known_convex: bool,
    watch: &mut Watch,
    monitor: &mut Monitor<'_>,
) -> Result<Option<SolverStatus>> {
    if let Some(status) = state.refresh(monitor)? {
        return Ok(Some(status));
    }
    let violation = state.look();
    let status = if violation <= settings.tol {
        SolverStatus::Optimal
    } else if violation <= state.floor {
        SolverStatus::OptimalToPrecision
    } else {
        let (objective, noise) = state.exact_objective();
        return Ok(watch
            .stands_still(violation, objective, noise)
            .then_some(SolverStatus::Stalled));
    };
    let convex = known_convex || convexity::is_convex(state)?;
    Ok(Some(if convex { status } else { SolverStatus::Stationary }))
}

/// The violation to work towards: below the tolerance by what rounding may hide, but not below what rounding allows.
fn target(tol: f64, floor: f64) -> f64 {
    (tol - 0.25 * floor).max(0.75 * floor)
}

/// The certificate at the end needs all columns of the support vectors; the time limit must leave room for it.
fn reserve_time(state: &State<'_>, monitor: &mut Monitor<'_>) {
    let n_columns = gradient::columns_of(&state.beta, state.source.len());
    monitor.reserve(state.source.seconds_for(n_columns));
}

fn finish(mut state: State<'_>, status: SolverStatus, began: bool) -> Solution {
    if state.sums.is_none() {
        state.restore_sums();
    }
    let mut info = state.info;
    let (computed, reused) = state.source.counts();
    info.n_kernel_columns = computed;
    info.n_cache_hits = reused;
    info.seconds.kernel = state.source.seconds_for(computed);
    info.status = status;
    Solution { beta: state.beta, sums: state.sums, began, info }
}
