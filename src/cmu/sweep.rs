//! The sweep: Newton steps on the free variables. A step that meets the box fixes the variables that block, the factor
//! loses their rows, and Newton starts again from there.
//!
//! With H = LL' the shifted block of the free set F, A the indicators of the groups, y = L^-1 (-g) and B = L^-1 A', the step is
//! s = L^-T (y + B mu), (B'B) mu = -B'y. After a part t of it g becomes (1 - t) g + t A'mu and hence y becomes
//! (1 - t) y - t B mu; deletions carry y and B along. So a blocked step costs one back substitution and one deletion.

use super::free_set::{FreeSet, solve_multipliers};
use super::optimality::current_violation;
use super::phase::Phase;
use super::settings::CmuSettings;
use super::state::State;
use crate::cholesky::{Pending, Pivot};
use crate::linalg::vector::{axpy, dot};
use crate::observer::Monitor;
use crate::status::SolverStatus;

/// Rows that are appended together.
const CHUNK: usize = 64;
/// Variables that block within this share of the shortest step block together.
const TIE: f64 = 1.0 + 4.0 * f64::EPSILON;

/// Buffers of the sweeps of one solve.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pending: Pending,
    /// The variables that were free at the start (or at the last commit), and where they stood.
    start: Vec<usize>,
    start_beta: Vec<f64>,
    /// Gradient over the free set while it is built.
    local: Vec<f64>,
    y: Vec<f64>,
    b: Vec<Vec<f64>>,
    step: Vec<f64>,
    blocking: Vec<usize>,
    moved: Vec<usize>,
    change: Vec<f64>,
}

/// Why a part of the sweep ended early.
enum Stop {
    Unbounded,
    Indefinite,
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
    let fresh = drop_bounded(state) == 0;
    work.b = state.free_set.solved_indicators();
    let clock = monitor.elapsed();
    let built = extend(state, work, settings, monitor);
    let factored = monitor.elapsed();
    let done = built.and_then(|()| newton_until_accurate(state, work, settings, target, monitor));
    work.commit(state);
    state.info.seconds.factor += factored - clock;
    state.info.seconds.newton += monitor.elapsed() - factored;
    match done {
        Ok(()) => Phase::UpCycle,
        Err(Stop::Told(status)) => Phase::Done(status),
        Err(Stop::Unbounded) => Phase::Done(SolverStatus::Unbounded),
        // A factor that went through many updates proves nothing; one built from scratch does.
        Err(Stop::Indefinite) if fresh => Phase::Stationary,
        Err(Stop::Indefinite) => {
            super::rescue::refactor(state);
            Phase::Sweep
        }
    }
}

/// Deletes the members that the up-cycle took to a bound. Returns how many are left.
fn drop_bounded(state: &mut State<'_>) -> usize {
    let members = state.free_set.members();
    let gone: Vec<usize> = (0..members.len())
        .filter(|&k| !state.is_free(members[k]))
        .collect();
    state.free_set.delete(&gone, &mut [], None);
    state.info.n_deletes += gone.len();
    state.free_set.len()
}

/// Appends the variables that became free, oldest members staying first.
fn extend(
    state: &mut State<'_>,
    work: &mut Workspace,
    settings: &CmuSettings,
    monitor: &mut Monitor<'_>,
) -> Result<(), Stop> {
    let mut member = vec![false; state.n()];
    state
        .free_set
        .members()
        .iter()
        .for_each(|&i| member[i] = true);
    let newcomers: Vec<usize> = work.start.iter().copied().filter(|&i| !member[i]).collect();
    work.local.clear();
    work.local
        .extend(state.free_set.members().iter().map(|&i| state.gradient[i]));
    let mut moved = false;
    for chunk in newcomers.chunks(CHUNK) {
        if let Some(status) = monitor.poll(|| state.progress(f64::NAN)) {
            return Err(Stop::Told(status));
        }
        // Null-curvature steps may have fixed some of them meanwhile.
        let chunk: Vec<usize> = chunk
            .iter()
            .copied()
            .filter(|&i| state.is_free(i))
            .collect();
        let mut gradient = work.current_gradient(state, &chunk, moved);
        state.free_set.prepare(&chunk, &mut work.pending);
        for (at, &i) in chunk.iter().enumerate() {
            while state.is_free(i) {
                let solved: Vec<f64> = work.pending.row(at).collect();
                match state
                    .free_set
                    .append(&mut work.pending, at, i, settings.rank_tol)
                {
                    Pivot::Appended => {
                        let m = state.free_set.len() - 1;
                        let pivot = state.free_set.factor().entry(m, m);
                        for (g, b) in work.b.iter_mut().enumerate() {
                            let own = f64::from(u8::from(state.problem.group(i) == g));
                            b.push((own - dot(b, &solved)) / pivot);
                        }
                        work.local.push(gradient[at]);
                        state.info.n_appends += 1;
                        break;
                    }
                    Pivot::Indefinite(square) => {
                        let worst = &mut state.info.most_negative_curvature;
                        *worst = worst.min(square);
                        return Err(Stop::Indefinite);
                    }
                    Pivot::Dependent(_) => {
                        state.info.n_dependent += 1;
                        moved = true;
                        if !null_step(state, work, &solved, at, &chunk, &mut gradient)? {
                            break;
                        }
                    }
                }
            }
        }
    }
    if moved {
        let members = state.free_set.members().to_vec();
        work.local = work.current_gradient(state, &members, true);
    }
    Ok(())
}

/// Variable `chunk[at]` depends on the free set: moving it, with the free set following so that the gradient changes by multiples
/// of the equalities alone, is a direction without curvature. Follow it downhill until the box stops it, which fixes the variable
/// or a member. False if nothing is in the way and nothing to gain: the variable stays free, outside the factor.
fn null_step(
    state: &mut State<'_>,
    work: &mut Workspace,
    solved: &[f64],
    at: usize,
    chunk: &[usize],
    gradient: &mut [f64],
) -> Result<bool, Stop> {
    let i = chunk[at];
    let group = state.problem.group(i);
    let r: Vec<f64> = work
        .b
        .iter()
        .enumerate()
        .map(|(g, b)| dot(b, solved) - f64::from(u8::from(g == group)))
        .collect();
    let mu = solve_multipliers(&work.b, &r);
    let mut along: Vec<f64> = vec![0.0; solved.len()];
    for (b, mu) in work.b.iter().zip(&mu) {
        axpy(*mu, b, &mut along);
    }
    work.step.clear();
    work.step
        .extend(along.iter().zip(solved).map(|(a, l)| a - l));
    state.free_set.factor().backward_in_place(&mut work.step);
    state.free_set.balance(&mut work.step, Some((i, 1.0)));
    let slope = dot(&work.local, &work.step) + gradient[at];
    let scale: f64 = work
        .local
        .iter()
        .zip(&work.step)
        .map(|(g, s)| (g * s).abs())
        .sum::<f64>()
        + gradient[at].abs();
    let longest = |state: &State<'_>, step: &[f64], own: f64| {
        step_to_bound(state, step).min(state.room(i, own))
    };
    let reverse = |step: &mut [f64]| step.iter_mut().for_each(|s| *s = -*s);
    let mut own = 1.0;
    if slope > 0.0 {
        own = -1.0;
        reverse(&mut work.step);
    }
    let mut t = longest(state, &work.step, own);
    if t.is_infinite() {
        if slope.abs() > 16.0 * f64::EPSILON * scale {
            return Err(Stop::Unbounded);
        }
        own = -own;
        reverse(&mut work.step);
        t = longest(state, &work.step, own);
        if t.is_infinite() {
            return Ok(false);
        }
    }
    // What the step does to the gradient: A'mu on the free set, and for the waiting rows what their solved rows say.
    let change = work.pending.times_vector(&along);
    for (r, g) in gradient.iter_mut().enumerate() {
        *g += t * own * (work.pending.schur(r, at) + change[r]);
    }
    for (&k, g) in state.free_set.members().iter().zip(&mut work.local) {
        *g += t * own * mu.get(state.problem.group(k)).copied().unwrap_or(0.0);
    }
    let own_blocks = state.room(i, own) <= t * TIE;
    take_step(state, &work.step, t, &mut work.blocking);
    state.shift(i, t * own, own_blocks);
    if !work.blocking.is_empty() {
        let mut carried: Vec<&mut Vec<f64>> = work.b.iter_mut().collect();
        state
            .free_set
            .delete(&work.blocking, &mut carried, Some(&mut work.pending));
        for &place in work.blocking.iter().rev() {
            work.local.remove(place);
        }
        state.info.n_deletes += work.blocking.len();
    }
    Ok(true)
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
        newton(state, work, monitor)?;
        work.commit(state);
        let spread = spread(state);
        let enough = spread <= 0.25 * target || spread < 0.3 * current_violation(state);
        if enough || spread > 0.5 * last {
            break;
        }
        last = spread;
        work.local.clear();
        work.local
            .extend(state.free_set.members().iter().map(|&i| state.gradient[i]));
    }
    Ok(())
}

/// Newton from `work.local` until a full step is taken or nothing is free.
fn newton(
    state: &mut State<'_>,
    work: &mut Workspace,
    monitor: &mut Monitor<'_>,
) -> Result<(), Stop> {
    work.y.clear();
    work.y.extend(work.local.iter().map(|g| -g));
    state.free_set.factor().forward_in_place(&mut work.y);
    while state.free_set.len() > 0 {
        if let Some(status) = monitor.poll(|| state.progress(f64::NAN)) {
            return Err(Stop::Told(status));
        }
        state.info.n_newton_steps += 1;
        clear_absent_groups(&state.free_set, state, &mut work.b);
        let r: Vec<f64> = work.b.iter().map(|b| -dot(b, &work.y)).collect();
        let mu = solve_multipliers(&work.b, &r);
        work.step.clear();
        work.step.extend_from_slice(&work.y);
        for (b, mu) in work.b.iter().zip(&mu) {
            axpy(*mu, b, &mut work.step);
        }
        state.free_set.factor().backward_in_place(&mut work.step);
        state.free_set.balance(&mut work.step, None);
        let t = step_to_bound(state, &work.step);
        if t > 1.0 {
            take_step(state, &work.step, 1.0, &mut work.blocking);
            return Ok(());
        }
        take_step(state, &work.step, t, &mut work.blocking);
        work.y.iter_mut().for_each(|y| *y *= 1.0 - t);
        for (b, mu) in work.b.iter().zip(&mu) {
            axpy(-t * mu, b, &mut work.y);
        }
        let mut carried: Vec<&mut Vec<f64>> =
            std::iter::once(&mut work.y).chain(&mut work.b).collect();
        state.free_set.delete(&work.blocking, &mut carried, None);
        state.info.n_deletes += work.blocking.len();
    }
    Ok(())
}

/// A group whose last member left keeps only rounding errors in its column of B.
fn clear_absent_groups(free_set: &FreeSet<'_>, state: &State<'_>, b: &mut [Vec<f64>]) {
    if b.len() > 1 {
        for (g, column) in b.iter_mut().enumerate() {
            if !free_set
                .members()
                .iter()
                .any(|&i| state.problem.group(i) == g)
            {
                column.fill(0.0);
            }
        }
    }
}

/// The longest step of the free set along `step` that stays in the box.
fn step_to_bound(state: &State<'_>, step: &[f64]) -> f64 {
    let one = |(&i, &s): (&usize, &f64)| {
        if s == 0.0 {
            f64::INFINITY
        } else {
            state.room(i, s) / s.abs()
        }
    };
    state
        .free_set
        .members()
        .iter()
        .zip(step)
        .map(one)
        .fold(f64::INFINITY, f64::min)
}

/// Moves the free set by t times `step`; `blocking` receives the places of those that reach a bound there.
fn take_step(state: &mut State<'_>, step: &[f64], t: f64, blocking: &mut Vec<usize>) {
    blocking.clear();
    for (place, &s) in step.iter().enumerate() {
        if s != 0.0 {
            let i = state.free_set.members()[place];
            let blocks = state.room(i, s) <= t * s.abs() * TIE;
            state.shift(i, t * s, blocks);
        }
        // Rounding may carry a variable on to its bound that was not meant to block.
        if !state.is_free(state.free_set.members()[place]) {
            blocking.push(place);
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
    let width = |(low, high): &(f64, f64)| {
        if state.problem.n_groups() == 0 {
            high.max(-low)
        } else {
            high - low
        }
    };
    ends.iter().map(width).fold(0.0, f64::max)
}

impl Workspace {
    fn begin(&mut self, state: &State<'_>) {
        self.start.clear();
        self.start
            .extend((0..state.n()).filter(|&i| state.is_free(i)));
        self.start_beta.clear();
        self.start_beta
            .extend(self.start.iter().map(|&i| state.beta[i]));
    }

    /// Lists what moved since the start.
    fn collect_moved(&mut self, state: &State<'_>) {
        self.moved.clear();
        self.change.clear();
        for (&i, &before) in self.start.iter().zip(&self.start_beta) {
            if state.beta[i] != before {
                self.moved.push(i);
                self.change.push(state.beta[i] - before);
            }
        }
    }

    /// Brings the gradient of all variables up to date.
    fn commit(&mut self, state: &mut State<'_>) {
        self.collect_moved(state);
        let clock = std::time::Instant::now();
        state.add_to_gradient(&self.moved, &self.change);
        state.info.seconds.gradient += clock.elapsed().as_secs_f64();
        for (before, &i) in self.start_beta.iter_mut().zip(&self.start) {
            *before = state.beta[i];
        }
    }

    /// The gradient of some variables as it is now, `stale` if variables moved since the start.
    fn current_gradient(
        &mut self,
        state: &State<'_>,
        variables: &[usize],
        stale: bool,
    ) -> Vec<f64> {
        let mut gradient: Vec<f64> = variables.iter().map(|&i| state.gradient[i]).collect();
        if stale {
            self.collect_moved(state);
            for (g, &i) in gradient.iter_mut().zip(variables) {
                let row = state.gram.row(i);
                *g += self
                    .moved
                    .iter()
                    .zip(&self.change)
                    .map(|(&j, c)| row[j] * c)
                    .sum::<f64>();
            }
        }
        gradient
    }
}
