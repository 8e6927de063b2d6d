//! The first half of a sweep: the factor loses the variables that went to a bound and gains those that became free.
//!
//! A variable that depends on those already in has a direction without curvature. It is followed downhill to the box, which
//! fixes the variable or one of the factor, and the append is tried again. Linear kernels of few features, repeated rows and smooth
//! kernels make this the rule and not the exception.

use super::curvature::{Curvature, along_dependence};
use super::free_set::{indicator, solve_multipliers};
use super::settings::CmuSettings;
use super::state::State;
use super::sweep::{Stop, TIE, delete_blocking, step_to_bound, take_step};
use super::verify::floor_bound;
use super::workspace::Workspace;
use crate::cholesky::Pivot;
use crate::linalg::vector::{axpy, dot};
use crate::observer::Monitor;

/// Rows that are appended together.
const CHUNK: usize = 64;

/// Deletes the members that the up-cycle took to a bound. Returns how many are left.
pub(super) fn drop_bounded(state: &mut State<'_>) -> usize {
    let members = state.free_set.members();
    let gone: Vec<usize> = (0..members.len()).filter(|&k| !state.is_free(members[k])).collect();
    state.free_set.delete(&gone, &mut [], None);
    state.info.n_deletes += gone.len();
    state.free_set.len()
}

/// Appends the variables that became free, oldest members staying first, and leaves the gradient over the free set in
/// `work.local`.
pub(super) fn extend(
    state: &mut State<'_>,
    work: &mut Workspace,
    settings: &CmuSettings,
    monitor: &mut Monitor<'_>,
) -> Result<(), Stop> {
    let mut member = vec![false; state.n()];
    state.free_set.members().iter().for_each(|&i| member[i] = true);
    let newcomers: Vec<usize> = work.start.iter().copied().filter(|&i| !member[i]).collect();
    work.local.clear();
    work.local.extend(state.free_set.members().iter().map(|&i| state.gradient[i]));
    let mut stepped = false;
    for chunk in newcomers.chunks(CHUNK) {
        if let Some(status) = monitor.poll(|| state.progress()) {
            return Err(Stop::Told(status));
        }
        // Null-curvature steps may have fixed some of them meanwhile.
        let chunk: Vec<usize> = chunk.iter().copied().filter(|&i| state.is_free(i)).collect();
        let mut gradient = work.current_gradient(state, &chunk, stepped);
        state.free_set.prepare(&chunk, &mut work.pending);
        for at in 0..chunk.len() {
            stepped |= append_one(state, work, &chunk, at, &mut gradient, settings.rank_tol)?;
        }
    }
    if stepped {
        let members = state.free_set.members().to_vec();
        work.local = work.current_gradient(state, &members, true);
    }
    Ok(())
}

/// Appends `chunk[at]`, after as many null-curvature steps as it takes. Says whether there were any.
fn append_one(
    state: &mut State<'_>,
    work: &mut Workspace,
    chunk: &[usize],
    at: usize,
    gradient: &mut [f64],
    rank_tol: f64,
) -> Result<bool, Stop> {
    let i = chunk[at];
    let mut stepped = false;
    while state.is_free(i) {
        work.solved.clear();
        work.solved.extend(work.pending.row(at));
        match state.free_set.append(&mut work.pending, at, i, rank_tol) {
            Pivot::Appended => {
                let last = state.free_set.len() - 1;
                let pivot = state.free_set.factor().entry(last, last);
                for (g, b) in work.b[..state.problem.n_groups()].iter_mut().enumerate() {
                    b.push((indicator(state.problem.group(i) == g) - dot(b, &work.solved)) / pivot);
                }
                work.local.push(gradient[at]);
                state.info.n_appends += 1;
                break;
            }
            Pivot::Indefinite(_) => match along_dependence(state, &work.solved, i) {
                Curvature::Negative(value) => {
                    let worst = &mut state.info.most_negative_curvature;
                    *worst = worst.min(value);
                    return Err(Stop::Indefinite);
                }
                Curvature::Positive => return Err(Stop::WrongPivot),
                Curvature::None => {}
            },
            Pivot::Dependent(_) => {}
        }
        state.info.n_dependent += 1;
        stepped = true;
        if !null_step(state, work, at, i, gradient)? {
            break;
        }
    }
    Ok(stepped)
}

/// Moves variable i, row `at` of the block, with the free set following so that the gradient changes by multiples of the
/// equalities alone: s = L^-T (B mu - l), (B'B) mu = B'l - a. False if nothing is in the way and nothing to gain: the variable stays
/// free, outside the factor.
fn null_step(
    state: &mut State<'_>,
    work: &mut Workspace,
    at: usize,
    i: usize,
    gradient: &mut [f64],
) -> Result<bool, Stop> {
    let b = &work.b[..state.problem.n_groups()];
    let group = state.problem.group(i);
    let mu = solve_multipliers(b, |g| dot(&b[g], &work.solved) - indicator(g == group));
    work.along.clear();
    work.along.resize(work.solved.len(), 0.0);
    for (b, mu) in b.iter().zip(&mu) {
        axpy(*mu, b, &mut work.along);
    }
    work.step.clear();
    work.step.extend(work.along.iter().zip(&work.solved).map(|(a, l)| a - l));
    state.free_set.factor().backward_in_place(&mut work.step);
    state.free_set.balance(&mut work.step, Some((i, 1.0)));

    let slope = dot(&work.local, &work.step) + gradient[at];
    let own = downhill(state, work, i, slope)?;
    let Some((own, t)) = own else { return Ok(false) };

    // What the step does to the gradient: A'mu on the free set, and for the waiting rows what their solved rows say.
    let change = work.pending.times_vector(&work.along);
    for (r, g) in gradient.iter_mut().enumerate() {
        *g += t * own * (work.pending.schur(r, at) + change[r]);
    }
    for (&k, g) in state.free_set.members().iter().zip(&mut work.local) {
        *g += t * own * mu[state.problem.group(k)];
    }
    let own_blocks = state.room(i, own) <= t * TIE;
    take_step(state, &work.step, t, &mut work.blocking);
    state.shift(i, t * own, own_blocks);
    delete_blocking(state, work, true);
    Ok(true)
}

/// Turns `work.step` downhill. Returns the sign of variable i in it and the length that the box allows; where there is neither
/// slope nor an end, the sign that has an end, or nothing.
fn downhill(
    state: &State<'_>,
    work: &mut Workspace,
    i: usize,
    slope: f64,
) -> Result<Option<(f64, f64)>, Stop> {
    let mut own = 1.0;
    let longest = |step: &[f64], own: f64| step_to_bound(state, step).min(state.room(i, own));
    let reverse = |step: &mut [f64]| step.iter_mut().for_each(|s| *s = -*s);
    if slope > 0.0 {
        own = -own;
        reverse(&mut work.step);
    }
    let t = longest(&work.step, own);
    // Downhill by no more than the gradient's rounding errors, a bound far away would be a step to nowhere.
    let size = 1.0 + work.step.iter().map(|s| s.abs()).sum::<f64>();
    let flat = slope.abs() <= floor_bound(state) * size;
    if t.is_finite() && !(flat && state.room(i, own).is_infinite()) {
        return Ok(Some((own, t)));
    }
    if !flat {
        return Err(Stop::Unbounded);
    }
    own = -own;
    reverse(&mut work.step);
    let t = longest(&work.step, own);
    Ok(t.is_finite().then_some((own, t)))
}
