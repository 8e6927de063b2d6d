//! Buffers of the sweeps of one solve, and the record of what moved since the last commit.

use super::bent_step::Reach;
use super::state::State;
use crate::cholesky::Pending;
use crate::problem::MAX_GROUPS;

#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) pending: Pending,
    /// Gradient over the free set.
    pub(super) local: Vec<f64>,
    /// L^-1 (-g).
    pub(super) y: Vec<f64>,
    /// B = L^-1 A', a column a group; unused columns stay empty.
    pub(super) b: [Vec<f64>; MAX_GROUPS],
    /// Multipliers of the groups' equalities in the last step.
    pub(super) mu: [f64; MAX_GROUPS],
    /// B mu.
    pub(super) along: Vec<f64>,
    pub(super) step: Vec<f64>,
    /// A bent step, and its products with the factor.
    pub(super) bent: Vec<f64>,
    pub(super) product: Vec<f64>,
    /// Lengths at which the step meets its bounds.
    pub(super) bounds: Vec<f64>,
    pub(super) reach: Reach,
    /// Solved row of the variable that is being appended.
    pub(super) solved: Vec<f64>,
    /// Places of the variables that block a step.
    pub(super) blocking: Vec<usize>,
    /// The variables that were free at the start of the sweep, and where they stood at the last commit.
    pub(super) start: Vec<usize>,
    start_beta: Vec<f64>,
    moved: Vec<usize>,
    change: Vec<f64>,
}

impl Workspace {
    pub(super) fn begin(&mut self, state: &State<'_>) {
        self.start.clear();
        self.start.extend((0..state.n()).filter(|&i| state.is_free(i)));
        self.start_beta.clear();
        self.start_beta.extend(self.start.iter().map(|&i| state.beta[i]));
    }

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
    pub(super) fn commit(&mut self, state: &mut State<'_>) {
        self.collect_moved(state);
        let clock = std::time::Instant::now();
        state.add_to_gradient(&self.moved, &self.change);
        state.info.seconds.gradient += clock.elapsed().as_secs_f64();
        for (before, &i) in self.start_beta.iter_mut().zip(&self.start) {
            *before = state.beta[i];
        }
    }

    /// The gradient of some variables as it is now, `stale` if variables moved since the last commit.
    pub(super) fn current_gradient(
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
                *g += self.moved.iter().zip(&self.change).map(|(&j, c)| row[j] * c).sum::<f64>();
            }
        }
        gradient
    }
}
