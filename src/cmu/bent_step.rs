//! Newton steps that meet many bounds at once.
//!
//! A step that stops at the first bound fixes one variable and costs two passes over the factor; with a thousand free variables and
//! large bounds that is what the time goes into. So where a step would leave the box in many places, it is projected onto the box and
//! the equalities instead, and taken if the objective falls at least as much as up to the first bound. All variables that
//! this fixes leave the factor together. Otherwise the plain step is taken, and with it its arguments for descent and termination.

use super::state::State;
use super::workspace::Workspace;
use crate::linalg::vector::dot;

/// How many bounds a bent step may reach: the step is as long as the path to the last of them, whole at the end of the list.
const REACHES: [usize; 7] = [4, 8, 16, 32, 64, 128, usize::MAX];
/// Variables that a bent step must fix.
const LEAST_FIXED: usize = 2;
/// Halvings of the interval in which the multiplier of a projection is sought.
const HALVINGS: usize = 60;

/// How far the next bent step may reach, by what became of the last ones: further after a success, less far after a failure. Where
/// even short ones fail, twice as many plain steps are taken each time before the next trial, so that a problem on which bending
/// never helps loses next to nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    level: usize,
    wait: usize,
    left: usize,
}

impl Default for Reach {
    fn default() -> Self {
        Self { level: REACHES.len() - 1, wait: 0, left: 0 }
    }
}

impl Reach {
    const LONGEST_WAIT: usize = 256;

    fn waits(&mut self) -> bool {
        let waits = self.left > 0;
        self.left = self.left.saturating_sub(1);
        waits
    }

    fn succeeded(&mut self) {
        self.level = (self.level + 1).min(REACHES.len() - 1);
        self.wait = 0;
    }

    fn failed(&mut self) {
        if self.level > 0 {
            self.level -= 1;
        } else {
            self.wait = (2 * self.wait).clamp(1, Self::LONGEST_WAIT);
            self.left = self.wait;
        }
    }
}

/// Tries a bent step along `work.step`, whose first bound is at `first`. If it is good enough it is taken: the point has moved,
/// `work.local` is its gradient, and `work.blocking` lists the places that are at a bound.
pub(super) fn bend(state: &mut State<'_>, work: &mut Workspace, first: f64) -> bool {
    if work.reach.waits() {
        return false;
    }
    work.bounds.clear();
    let bounds = state.free_set.members().iter().zip(&work.step);
    work.bounds.extend(bounds.map(|(&i, &s)| state.room(i, s) / s.abs()).filter(|t| *t <= 1.0));
    let reach = REACHES[work.reach.level];
    if work.bounds.len() < REACHES[0] {
        return false;
    }
    let length = if work.bounds.len() > reach {
        *work.bounds.select_nth_unstable_by(reach, f64::total_cmp).1
    } else {
        1.0
    };
    if good_enough(state, work, first, length) {
        take(state, work);
        work.reach.succeeded();
        true
    } else {
        work.reach.failed();
        false
    }
}

/// Whether the projected step of that length, left in `work.bent`, lowers the objective more than the plain step to the first bound.
fn good_enough(state: &mut State<'_>, work: &mut Workspace, first: f64, length: f64) -> bool {
    if !project(state, work, length) {
        return false;
    }
    // Along the Newton direction the curvature is minus the slope.
    let plain = (first - 0.5 * first * first) * dot(&work.local, &work.step);
    state.free_set.factor().transpose_times_into(&work.bent, &mut work.product);
    dot(&work.local, &work.bent) + 0.5 * dot(&work.product, &work.product) < plain
}

/// The step from the point to the projection of point + length * step onto the box and the sums of the groups, into `work.bent`.
/// False if rounding leaves no such step.
fn project(state: &State<'_>, work: &mut Workspace, length: f64) -> bool {
    let members = state.free_set.members();
    let (lower, upper) = (state.problem.lower(), state.problem.upper());
    let clipped = |i: usize, s: f64, shift: f64| {
        let beta = state.beta[i];
        (beta + length * s - shift).clamp(lower[i], upper[i]) - beta
    };
    work.bent.clear();
    work.bent.resize(members.len(), 0.0);
    for g in 0..state.problem.n_groups().max(1) {
        let in_group = |i: usize| state.problem.n_groups() == 0 || state.problem.group(i) == g;
        let sum = |shift: f64| -> f64 {
            members
                .iter()
                .zip(&work.step)
                .filter(|(i, _)| in_group(**i))
                .map(|(&i, &s)| clipped(i, s, shift))
                .sum()
        };
        let mut shift = 0.0;
        if state.problem.n_groups() > 0 {
            // The sum falls with the shift; at the largest and least step entry it has either sign.
            let widest = members.iter().zip(&work.step).filter(|(i, _)| in_group(**i));
            let widest = widest.fold(0.0_f64, |m, (_, s)| m.max(s.abs())) * length;
            let (mut low, mut high) = (-widest, widest);
            for _ in 0..HALVINGS {
                shift = 0.5 * (low + high);
                if sum(shift) > 0.0 { low = shift } else { high = shift }
            }
        }
        for ((&i, &s), bent) in members.iter().zip(&work.step).zip(&mut work.bent) {
            if in_group(i) {
                *bent = clipped(i, s, shift);
            }
        }
    }
    let at_bound = |(&i, bent): (&usize, &f64)| *bent != 0.0 && state.room(i, *bent) <= bent.abs();
    // Without variables that leave there is no end to the sweep.
    members.iter().zip(&work.bent).filter(|pair| at_bound(*pair)).count() >= LEAST_FIXED
        && balance(state, &mut work.bent)
}

/// Gives what the sums are still off to one variable a group that stays inside its box.
fn balance(state: &State<'_>, bent: &mut [f64]) -> bool {
    for g in 0..state.problem.n_groups() {
        let members = || {
            state
                .free_set
                .members()
                .iter()
                .enumerate()
                .filter(|(_, i)| state.problem.group(**i) == g)
        };
        let rest: f64 = members().map(|(k, _)| bent[k]).sum();
        if rest == 0.0 {
            continue;
        }
        let room = |k: usize, i: usize| {
            let value = state.beta[i] + bent[k];
            (state.problem.upper()[i] - value).min(value - state.problem.lower()[i])
        };
        let widest = members().max_by(|a, b| room(a.0, *a.1).total_cmp(&room(b.0, *b.1)));
        match widest {
            Some((k, &i)) if room(k, i) > rest.abs() => bent[k] -= rest,
            _ => return false,
        }
    }
    true
}

/// Moves the point along `work.bent`; its gradient over the free set follows through the factor, H = LL'.
fn take(state: &mut State<'_>, work: &mut Workspace) {
    state.info.n_bent_steps += 1;
    let product = std::mem::take(&mut work.product);
    state.free_set.factor().times_into(&product, &mut work.along);
    work.product = product;
    work.local.iter_mut().zip(&work.along).for_each(|(g, h)| *g += h);
    work.blocking.clear();
    for place in 0..work.bent.len() {
        let (i, s) = (state.free_set.members()[place], work.bent[place]);
        if s != 0.0 {
            state.shift(i, s, state.room(i, s) <= s.abs());
        }
        if !state.is_free(i) {
            work.blocking.push(place);
        }
    }
}
