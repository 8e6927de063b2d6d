//! The variables at work, and all that is indexed by their place among them.
//!
//! A variable that sits at a bound and whose gradient pushes it against that bound by more than the worst violator is unlikely to
//! move again: it is left out, and steps get cheaper. Nothing is concluded from the rest alone. Before a point is judged, all
//! variables come back, with a gradient made from the columns of those that moved meanwhile (see `state.rs`).

use crate::pair;
use crate::problem::{BoundState, DualProblem};

/// Leaving out fewer than this share is not worth it: entries of columns must then be gathered.
const LEAST_SHARE: f64 = 0.25;

/// The active variables. Every vector here has one entry a place.
#[derive(Clone, Debug)]
pub(super) struct Active {
    /// The variable at each place, ascending.
    variables: Vec<usize>,
    /// Its entry in a column.
    points: Vec<usize>,
    /// Whether places and entries of columns are the same thing.
    direct: bool,
    n_variables: usize,
    pub(super) gradient: Vec<f64>,
    pub(super) diagonal: Vec<f64>,
    /// Per group: 0 where a variable may grow, minus infinity elsewhere.
    pub(super) grow: Vec<Vec<f64>>,
    /// Per group: 0 where a variable may shrink, infinity elsewhere.
    pub(super) shrink: Vec<Vec<f64>>,
}

impl Active {
    /// All variables.
    pub(super) fn all(
        problem: &DualProblem,
        beta: &[f64],
        gradient: Vec<f64>,
        diagonal: &[f64],
    ) -> Self {
        let (n, n_points) = (problem.len(), diagonal.len());
        let n_lists = problem.n_groups().max(1);
        let mut active = Self {
            variables: (0..n).collect(),
            points: (0..n).map(|v| v % n_points).collect(),
            direct: n == n_points,
            n_variables: n,
            gradient,
            diagonal: (0..n).map(|v| diagonal[v % n_points]).collect(),
            grow: vec![vec![f64::NEG_INFINITY; n]; n_lists],
            shrink: vec![vec![f64::INFINITY; n]; n_lists],
        };
        for place in 0..n {
            active.open(place, problem, beta);
        }
        active
    }

    pub(super) fn len(&self) -> usize {
        self.variables.len()
    }

    pub(super) fn variable(&self, place: usize) -> usize {
        self.variables[place]
    }

    pub(super) fn point(&self, place: usize) -> usize {
        self.points[place]
    }

    /// Whether some variables are left out.
    pub(super) fn is_shrunk(&self) -> bool {
        self.variables.len() < self.n_variables
    }

    /// Writes down which way the variable at a place may move.
    pub(super) fn open(&mut self, place: usize, problem: &DualProblem, beta: &[f64]) {
        let v = self.variables[place];
        let (k, state) = (problem.group(v), problem.bound_state(v, beta[v]));
        self.grow[k][place] = if state == BoundState::AtUpper { f64::NEG_INFINITY } else { 0.0 };
        self.shrink[k][place] = if state == BoundState::AtLower { f64::INFINITY } else { 0.0 };
    }

    /// The entries of a column that belong to the places, gathered into `buffer` if need be.
    pub(super) fn pick<'c>(&self, column: &'c [f64], buffer: &'c mut Vec<f64>) -> &'c [f64] {
        if self.direct {
            return column;
        }
        buffer.clear();
        buffer.extend(self.points.iter().map(|&p| column[p]));
        buffer
    }

    /// Leaves out what looks settled, if that is enough to be worth it. Says whether it did.
    pub(super) fn shrink(&mut self, problem: &DualProblem) -> bool {
        let keep = self.unsettled(problem);
        let n_kept = keep.iter().filter(|k| **k).count();
        if n_kept as f64 > (1.0 - LEAST_SHARE) * self.len() as f64 {
            return false;
        }
        compress(&mut self.variables, &keep);
        compress(&mut self.points, &keep);
        compress(&mut self.gradient, &keep);
        compress(&mut self.diagonal, &keep);
        for barrier in self.grow.iter_mut().chain(&mut self.shrink) {
            compress(barrier, &keep);
        }
        self.direct = false;
        true
    }

    /// Places whose variable may move again: free, or pushed off its bound, or pushed on to it by less than the worst violator.
    fn unsettled(&self, problem: &DualProblem) -> Vec<bool> {
        let ends: Vec<(f64, f64)> = self
            .grow
            .iter()
            .zip(&self.shrink)
            .map(|(grow, shrink)| {
                let found = pair::ends(&self.gradient, grow, shrink);
                if problem.n_groups() == 0 {
                    // Each variable stands against the multiplier 0, with the worst violation as the margin.
                    let worst = found.grow.max(-found.shrink).max(0.0);
                    (worst, -worst)
                } else {
                    (found.grow, found.shrink)
                }
            })
            .collect();
        let unsettled = |place: usize| {
            let k = problem.group(self.variables[place]);
            let (value, (most, least)) = (-self.gradient[place], ends[k]);
            let may_grow = self.grow[k][place] == 0.0;
            let may_shrink = self.shrink[k][place] == 0.0;
            match (may_grow, may_shrink) {
                (true, false) => value >= least,
                (false, true) => value <= most,
                _ => true,
            }
        };
        (0..self.len()).map(unsettled).collect()
    }
}

/// Keeps the entries that are marked.
fn compress<T: Copy>(values: &mut Vec<T>, keep: &[bool]) {
    let mut marks = keep.iter();
    values.retain(|_| marks.next().is_some_and(|k| *k));
}
