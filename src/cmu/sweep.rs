//! The sweep: Newton steps on the free variables. A step that meets the box fixes the variables that block, the factor
//! loses their rows, and Newton starts again from there.
//!
//! With H = LL' the shifted block of the free set F, A the indicators of the groups, y = L^-1 (-g) and B = L^-1 A', the step is
//! s = L^-T (y + B mu), (B'B) mu = -B'y. After a part t of it g becomes (1 - t) g + t A'mu and hence y becomes
//! (1 - t) y - t B mu; deletions carry y and B along. So a blocked step costs one back substitution and one deletion.

use super::bent_step::bend;
use super::extend::{drop_bounded, extend};
use super::free_set::solve_multipliers;
use super::optimality::current_violation;
use super::phase::Phase;
use super::settings::CmuSettings;
use super::state::State;
use super::workspace::Workspace;
use crate::linalg::vector::{axpy, dot};
use crate::observer::Monitor;
use crate::status::SolverStatus;

/// Variables that block within this share of the shortest step block together.
pub(super) const TIE: f64 = 1.0 + 4.0 * f64::EPSILON;

/// Why a sweep ended early.
pub(super) enum Stop {
    /// A direction without curvature, with slope, and without a bound.
    Unbounded,
    /// A direction of negative curvature.
    Indefinite,
    /// A negative pivot though the curvature is positive: the factor is worn out, or the shift too small.
    WrongPivot,
    /// The monitor said so.
    Told(SolverStatus),
}

/// The phase.
pub(super) fn run(
    state: &mut State<'_>,
    work: &mut Workspace,
    settings: &CmuSettings,
    target: f64,
    monitor: &mut Monitor<'_>,
) -> Phase {
    state.info.n_sweeps += 1;
    work.begin(state);
    let from_scratch = drop_bounded(state) == 0;
    state.free_set.solve_indicators(&mut work.b[..state.problem.n_groups()]);
    let clock = monitor.elapsed();
    let extended = extend(state, work, settings, monitor);
    let factored = monitor.elapsed();
    let done =
        extended.and_then(|()| newton_until_accurate(state, work, settings, target, monitor));
    work.commit(state);
    state.info.seconds.factor += factored - clock;
    state.info.seconds.newton += monitor.elapsed() - factored;
    match done {
        Ok(()) => Phase::UpCycle,
        Err(Stop::Told(status)) => Phase::Done(status),
        Err(Stop::Unbounded) => Phase::Done(SolverStatus::Unbounded),
        Err(Stop::Indefinite) => Phase::Stationary,
        Err(Stop::WrongPivot) => super::rescue::wrong_pivot(state, from_scratch),
    }
}

/// Newton steps, repeated with a recomputed gradient (iterative refinement) while the free variables themselves are what
/// violates most.
fn newton_until_accurate(
    state: &mut State<'_>,
    work: &mut Workspace,
    settings: &CmuSettings,
    target: f64,
    monitor: &mut Monitor<'_>,
) -> Result<(), Stop> {
    let mut last = f64::INFINITY;
    for refinement in 0..=settings.max_refinements {
        if state.free_set.len() == 0 {
            break;
        }
        state.info.n_refinements += usize::from(refinement > 0);
        newton(state, work, settings, monitor)?;
        work.commit(state);
        let spread = spread(state);
        let enough = spread <= 0.25 * target || spread < 0.3 * current_violation(state);
        if enough || spread > 0.5 * last {
            break;
        }
        last = spread;
        work.local.clear();
        work.local.extend(state.free_set.members().iter().map(|&i| state.gradient[i]));
    }
    Ok(())
}

/// Newton from `work.local` until a full step is taken or nothing is free. Where a full step would meet many bounds, the step is bent
/// along them (bent_step.rs).
fn newton(
    state: &mut State<'_>,
    work: &mut Workspace,
    settings: &CmuSettings,
    monitor: &mut Monitor<'_>,
) -> Result<(), Stop> {
    restart(state, work);
    while state.free_set.len() > 0 {
        if let Some(status) = monitor.poll(|| state.progress()) {
            return Err(Stop::Told(status));
        }
        state.info.n_newton_steps += 1;
        newton_direction(state, work);
        let t = step_to_bound(state, &work.step);
        if t > 1.0 {
            take_step(state, &work.step, 1.0, &mut work.blocking);
            return Ok(());
        }
        if settings.bend && bend(state, work, t) {
            delete_blocking(state, work, false);
            restart(state, work);
            continue;
        }
        take_step(state, &work.step, t, &mut work.blocking);
        for (y, along) in work.y.iter_mut().zip(&work.along) {
            *y = (1.0 - t) * *y - t * along;
        }
        for (&i, g) in state.free_set.members().iter().zip(&mut work.local) {
            *g = (1.0 - t) * *g + t * work.mu[state.problem.group(i)];
        }
        delete_blocking(state, work, false);
    }
    Ok(())
}

/// y from the gradient over the free set.
fn restart(state: &mut State<'_>, work: &mut Workspace) {
    work.y.clear();
    work.y.extend(work.local.iter().map(|g| -g));
    state.free_set.factor().forward_in_place(&mut work.y);
}

/// The Newton step into `work.step`, B mu into `work.along`.
fn newton_direction(state: &mut State<'_>, work: &mut Workspace) {
    let b = &work.b[..state.problem.n_groups()];
    let mu = solve_multipliers(b, |g| -dot(&b[g], &work.y));
    work.mu = mu;
    work.along.clear();
    work.along.resize(work.y.len(), 0.0);
    for (b, mu) in b.iter().zip(&mu) {
        axpy(*mu, b, &mut work.along);
    }
    work.step.clear();
    work.step.extend(work.y.iter().zip(&work.along).map(|(y, a)| y + a));
    state.free_set.factor().backward_in_place(&mut work.step);
    state.free_set.balance(&mut work.step, None);
}

/// The longest step of the free set along `step` that stays in the box.
pub(super) fn step_to_bound(state: &State<'_>, step: &[f64]) -> f64 {
    let one = |(&i, &s): (&usize, &f64)| {
        if s == 0.0 { f64::INFINITY } else { state.room(i, s) / s.abs() }
    };
    state.free_set.members().iter().zip(step).map(one).fold(f64::INFINITY, f64::min)
}

/// Moves the free set by t times `step`; `blocking` receives the places of those that reach a bound there.
pub(super) fn take_step(state: &mut State<'_>, step: &[f64], t: f64, blocking: &mut Vec<usize>) {
    blocking.clear();
    for (place, &s) in step.iter().enumerate() {
        let i = state.free_set.members()[place];
        if s != 0.0 {
            let blocks = state.room(i, s) <= t * s.abs() * TIE;
            state.shift(i, t * s, blocks);
        }
        // Rounding may carry a variable on to its bound that was not meant to block.
        if !state.is_free(i) {
            blocking.push(place);
        }
    }
}

/// Takes the blocking variables out of the factor and the local gradient; y (unless the factor is still `growing`: then the waiting rows) and B follow.
pub(super) fn delete_blocking(state: &mut State<'_>, work: &mut Workspace, growing: bool) {
    if work.blocking.is_empty() {
        return;
    }
    for &place in work.blocking.iter().rev() {
        work.local.remove(place);
    }
    let n_groups = state.problem.n_groups();
    let [b0, b1] = &mut work.b;
    if growing {
        let mut carried = [b0, b1];
        state.free_set.delete(&work.blocking, &mut carried[..n_groups], Some(&mut work.pending));
    } else {
        let mut carried = [&mut work.y, b0, b1];
        state.free_set.delete(&work.blocking, &mut carried[..=n_groups], None);
    }
    state.info.n_deletes += work.blocking.len();
    if n_groups > 1 {
        // A group whose last member left keeps only rounding errors in its column.
        for (g, column) in work.b.iter_mut().enumerate() {
            if !state.free_set.members().iter().any(|&i| state.problem.group(i) == g) {
                column.fill(0.0);
            }
        }
    }
}

/// How far the gradient of the free set is from constant, over the groups.
fn spread(state: &State<'_>) -> f64 {
    let mut ends = [(f64::INFINITY, f64::NEG_INFINITY); crate::problem::MAX_GROUPS];
    for &i in state.free_set.members() {
        let (low, high) = &mut ends[state.problem.group(i)];
        *low = low.min(state.gradient[i]);
        *high = high.max(state.gradient[i]);
    }
    let without_equality = state.problem.n_groups() == 0;
    let width =
        |(low, high): &(f64, f64)| if without_equality { high.max(-low) } else { high - low };
    ends.iter().map(width).fold(0.0, f64::max)
}
