//! CMU, the cycling method with updates (F. Jarre, *A Rank-One-Update Method for the Training of Support Vector Machines*, arXiv
//! 2503.10482), for problems whose matrix is held in memory.
//!
//! Every iterate is feasible and the objective falls with every step. See [`Phase`] for the state machine and `docs/mathematics.md`
//! for the mathematics.

mod bent_step;
mod coarse;
mod curvature;
mod extend;
mod free_set;
pub mod large;
mod optimality;
mod phase;
mod rescue;
mod settings;
mod standstill;
mod state;
mod sweep;
mod up_cycle;
mod verify;
mod working_set;
mod workspace;

pub use phase::Phase;
pub use settings::CmuSettings;

use crate::error::{Result, check_len};
use crate::kernel::GramMatrix;
use crate::observer::Monitor;
use crate::problem::DualProblem;
use crate::solution::Solution;
use crate::status::SolverStatus;
use crate::threads::Threads;
use rescue::Watch;
use state::State;

/// Solves the dual problem for the matrix `gram`. `known_convex` says that it is positive semidefinite by construction; else that is
/// checked before a point is called optimal.
///
/// # Errors
/// If a setting is out of range or the matrix does not fit the problem. How the solve ended is in the solution's
/// [`SolverStatus`].
pub fn solve(
    gram: &GramMatrix<'_>,
    problem: &DualProblem,
    settings: &CmuSettings,
    known_convex: bool,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Result<Solution> {
    solve_traced(gram, problem, settings, known_convex, threads, monitor, &mut |_| {})
}

/// As [`solve`]; `trace` is told every phase that is entered.
///
/// # Errors
/// As [`solve`].
pub fn solve_traced(
    gram: &GramMatrix<'_>,
    problem: &DualProblem,
    settings: &CmuSettings,
    known_convex: bool,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
    trace: &mut dyn FnMut(Phase),
) -> Result<Solution> {
    settings.validate()?;
    check_len("matrix", problem.len(), gram.len())?;
    let mut state = State::new(gram, problem, threads);
    state.info.status = iterate(&mut state, settings, known_convex, monitor, trace);
    Ok(Solution { beta: state.beta, sums: state.sums, began: true, info: state.info })
}

/// The method: phase after phase until it is done.
fn iterate(
    state: &mut State<'_>,
    settings: &CmuSettings,
    known_convex: bool,
    monitor: &mut Monitor<'_>,
    trace: &mut dyn FnMut(Phase),
) -> SolverStatus {
    let mut work = workspace::Workspace::default();
    let mut watch = Watch::default();
    let mut phase = Phase::UpCycle;
    loop {
        trace(phase);
        let target = verify::target(settings.tol, state.floor, watch.digs(settings.patience));
        phase = match phase {
            Phase::UpCycle => release(state, &mut watch, settings, target, monitor),
            Phase::Sweep => sweep::run(state, &mut work, settings, target, monitor),
            Phase::Verify => verify::run(state, &mut watch, settings, known_convex, monitor),
            Phase::Rescue => rescue::run(state, &mut watch, target, monitor),
            Phase::Stationary => verify::stationary(state, &mut watch, settings, monitor),
            Phase::Done(status) => return status,
        };
        #[cfg(debug_assertions)]
        state.check();
    }
}

/// The up-cycle, unless a check or the iteration limit comes first.
fn release(
    state: &mut State<'_>,
    watch: &mut Watch,
    settings: &CmuSettings,
    target: f64,
    monitor: &mut Monitor<'_>,
) -> Phase {
    if settings.max_iter.is_some_and(|limit| state.info.n_cycles >= limit) {
        return Phase::Done(SolverStatus::MaxIter);
    }
    let violation = optimality::current_violation(state);
    watch.note(state, violation);
    if watch.check_due(violation, verify::floor_bound(state), settings.patience) {
        return Phase::Verify;
    }
    let clock = monitor.elapsed();
    let next = up_cycle::run(state, target, settings, monitor);
    state.info.seconds.up_cycle += monitor.elapsed() - clock;
    next
}
