//! The iterate and everything that must agree with it.

use super::free_set::{FreeSet, KeptFactor};
use crate::gradient;
use crate::gradient::FloorBound;
use crate::info::Info;
use crate::kernel::{ColumnSums, GramMatrix};
use crate::observer::Progress;
use crate::problem::{BoundState, DualProblem};
use crate::threads::Threads;

/// The rest of a problem of which the state is a part.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    /// Variables at their non-zero bound.
    pub(super) n_bounded: usize,
    /// Dual objective of the whole, when the part began.
    pub(super) dual_objective: f64,
    /// KKT violation of the whole.
    pub(super) violation: f64,
}

/// The point, its gradient, the free set and its factor. Only the methods here change the point.
///
/// Invariants: lower <= beta <= upper; the sums of the groups stay; `gradient` is K beta - p up to rounding; `grow` and
/// `shrink` say which variables may move which way; the members of the free set are free.
pub(super) struct State<'a> {
    pub(super) gram: &'a GramMatrix<'a>,
    pub(super) problem: &'a DualProblem,
    pub(super) threads: &'a Threads,
    pub(super) beta: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    /// Per group: 0 where a variable may grow, minus infinity elsewhere. Added to -gradient before a maximum is taken.
    pub(super) grow: Vec<Vec<f64>>,
    /// Per group: 0 where a variable may shrink, infinity elsewhere.
    pub(super) shrink: Vec<Vec<f64>>,
    pub(super) free_set: FreeSet<'a>,
    pub(super) n_free: usize,
    /// Rounding error of the gradient, as last computed with it.
    pub(super) floor: f64,
    pub(super) floor_bound: FloorBound,
    /// The products behind the gradient, as long as the point has not moved since they were computed.
    pub(super) sums: Option<ColumnSums>,
    /// KKT violation when it was last looked at.
    pub(super) violation: f64,
    /// What surrounds a sub-problem, for progress reports.
    pub(super) outside: Option<Outside>,
    pub(super) info: Info,
}

impl<'a> State<'a> {
    pub(super) fn new(
        gram: &'a GramMatrix<'a>,
        problem: &'a DualProblem,
        threads: &'a Threads,
    ) -> Self {
        let gradient = problem.linear().iter().map(|p| -p).collect();
        let mut state = Self::at(gram, problem, gradient, threads);
        if state.beta.iter().any(|b| *b != 0.0) {
            state.refresh_gradient();
        }
        state
    }

    /// With the gradient at the start of the problem, where it is known.
    pub(super) fn at(
        gram: &'a GramMatrix<'a>,
        problem: &'a DualProblem,
        gradient: Vec<f64>,
        threads: &'a Threads,
    ) -> Self {
        let n = problem.len();
        let n_lists = problem.n_groups().max(1);
        let floor_bound = FloorBound::new(gram.diagonal(), problem);
        let mut state = Self {
            gram,
            problem,
            threads,
            beta: problem.start().to_vec(),
            gradient,
            grow: vec![vec![f64::NEG_INFINITY; n]; n_lists],
            shrink: vec![vec![f64::INFINITY; n]; n_lists],
            free_set: FreeSet::new(gram, problem, threads),
            n_free: 0,
            floor: 0.0,
            floor_bound,
            sums: None,
            violation: f64::INFINITY,
            outside: None,
            info: Info { n_kernel_columns: gram.n_computed(), ..Info::default() },
        };
        for i in 0..n {
            state.open(i);
            state.n_free += usize::from(state.is_free(i));
        }
        state
    }

    pub(super) fn n(&self) -> usize {
        self.beta.len()
    }

    #[inline]
    pub(super) fn bound_state(&self, i: usize) -> BoundState {
        self.problem.bound_state(i, self.beta[i])
    }

    #[inline]
    pub(super) fn is_free(&self, i: usize) -> bool {
        self.bound_state(i) == BoundState::Free
    }

    /// How far variable i can move in the direction of `sign` before it meets a bound.
    #[inline]
    pub(super) fn room(&self, i: usize, sign: f64) -> f64 {
        if sign > 0.0 {
            self.problem.upper()[i] - self.beta[i]
        } else {
            self.beta[i] - self.problem.lower()[i]
        }
    }

    /// Moves variable i by `step`, on to its bound exactly if `to_bound`. The gradient is the caller's business.
    pub(super) fn shift(&mut self, i: usize, step: f64, to_bound: bool) {
        self.sums = None;
        let was_free = self.is_free(i);
        let (lower, upper) = (self.problem.lower()[i], self.problem.upper()[i]);
        self.beta[i] = match to_bound {
            true if step > 0.0 => upper,
            true => lower,
            false => (self.beta[i] + step).clamp(lower, upper),
        };
        self.open(i);
        match (was_free, self.is_free(i)) {
            (false, true) => self.n_free += 1,
            (true, false) => self.n_free -= 1,
            _ => {}
        }
    }

    /// Writes down which way variable i may move.
    fn open(&mut self, i: usize) {
        let k = self.problem.group(i);
        let state = self.bound_state(i);
        self.grow[k][i] = if state == BoundState::AtUpper { f64::NEG_INFINITY } else { 0.0 };
        self.shrink[k][i] = if state == BoundState::AtLower { f64::INFINITY } else { 0.0 };
    }

    /// gradient += K (change of beta).
    pub(super) fn add_to_gradient(&mut self, moved: &[usize], change: &[f64]) {
        self.gram.add_columns(moved, change, &mut self.gradient, self.threads);
        self.info.n_cache_hits += moved.len();
    }

    /// Computes gradient and floor from nothing but the point, in sums that carry their rounding errors along.
    pub(super) fn refresh_gradient(&mut self) {
        let support: Vec<usize> = (0..self.n()).filter(|&j| self.beta[j] != 0.0).collect();
        let weights: Vec<f64> = support.iter().map(|&j| self.beta[j]).collect();
        let sums = self.gram.column_sums(&support, &weights, self.threads);
        let mut largest = 0.0_f64;
        for (i, g) in self.gradient.iter_mut().enumerate() {
            let p = self.problem.linear()[i];
            let (high, low, magnitude) = sums.at(i);
            *g = (high - p) + low;
            largest = largest.max(magnitude + p.abs());
        }
        self.info.n_cache_hits += support.len();
        self.floor = 4.0 * f64::EPSILON * largest;
        self.sums = Some(sums);
    }

    /// Goes back to an earlier point.
    pub(super) fn return_to(&mut self, beta: &[f64]) {
        self.beta.copy_from_slice(beta);
        for i in 0..self.n() {
            self.open(i);
        }
        self.n_free = (0..self.n()).filter(|&i| self.is_free(i)).count();
        self.refresh_gradient();
    }

    /// Puts what rounding took from the sums of the groups back, into the free variable with the most room.
    pub(super) fn restore_sums(&mut self) {
        for (g, residual) in self.problem.residuals(&self.beta).into_iter().enumerate() {
            if residual == 0.0 {
                continue;
            }
            let room = |s: &Self, i: usize| s.room(i, 1.0).min(s.room(i, -1.0));
            let widest = (0..self.n())
                .filter(|&i| self.problem.group(i) == g && self.is_free(i))
                .max_by(|&a, &b| room(self, a).total_cmp(&room(self, b)));
            if let Some(i) = widest
                && room(self, i) > residual.abs()
            {
                self.shift(i, -residual, false);
            }
        }
    }

    /// The factor for the next sub-problem, without the variables that are not free any more.
    pub(super) fn keep_factor(&mut self, set: &[usize]) -> KeptFactor {
        let members = self.free_set.members();
        let gone: Vec<usize> = (0..members.len()).filter(|&k| !self.is_free(members[k])).collect();
        self.free_set.delete(&gone, &mut [], None);
        self.info.n_deletes += gone.len();
        self.free_set.keep(set)
    }

    pub(super) fn progress(&self) -> Progress {
        let n_bounded = (0..self.n()).filter(|&i| self.problem.is_bounded(i, self.beta[i])).count();
        let offsets = self.problem.offsets();
        let constant: f64 = offsets.iter().zip(self.problem.totals()).map(|(o, t)| o * t).sum();
        let (n_outside, dual_objective, kkt_violation) = match &self.outside {
            Some(outside) => (outside.n_bounded, outside.dual_objective, outside.violation),
            None => (
                0,
                constant - gradient::objective(self.problem, &self.beta, &self.gradient).0,
                self.violation,
            ),
        };
        Progress {
            solver: "cmu",
            n_iter: self.info.n_cycles,
            dual_objective,
            kkt_violation,
            n_free: self.n_free,
            n_bounded: n_bounded + n_outside,
            n_kernel_columns: self.info.n_kernel_columns,
            elapsed: 0.0,
        }
    }

    /// Checks the invariants; debug builds do so after every transition.
    #[cfg(debug_assertions)]
    pub(super) fn check(&self) {
        let problem = self.problem;
        for (i, &b) in self.beta.iter().enumerate() {
            assert!(
                problem.lower()[i] <= b && b <= problem.upper()[i],
                "variable {i} left its box"
            );
            let k = problem.group(i);
            assert_eq!(self.grow[k][i] == 0.0, b < problem.upper()[i]);
            assert_eq!(self.shrink[k][i] == 0.0, b > problem.lower()[i]);
        }
        assert_eq!(self.n_free, (0..self.n()).filter(|&i| self.is_free(i)).count());
        let size: f64 = self.beta.iter().chain(problem.start()).map(|b| b.abs()).sum();
        for residual in problem.residuals(&self.beta) {
            assert!(residual.abs() <= 1e-9 * size, "a group's sum drifted by {residual:e}");
        }
        // One recomputed row stands for the gradient.
        let i = self.info.n_cycles % self.n();
        let (mut value, mut scale) = (-problem.linear()[i], problem.linear()[i].abs());
        for (k, b) in self.gram.row(i).iter().zip(&self.beta) {
            value += k * b;
            scale += (k * b).abs();
        }
        assert!((value - self.gradient[i]).abs() <= 1e-8 * scale, "the gradient drifted at {i}");
    }
}
