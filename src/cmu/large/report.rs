//! What is told about rounds while they run.

use super::Rounds;
use crate::cmu::state::Outside;
use crate::gradient;
use crate::observer::{Monitor, Progress};
use crate::problem::{BoundState, DualProblem};

/// How many variables stand where.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Census {
    pub(super) support: usize,
    /// Columns that the products of the point take.
    pub(super) columns: usize,
    pub(super) free: usize,
    /// At the bound that is not zero.
    pub(super) bounded: usize,
}

impl Census {
    pub(super) fn of(problem: &DualProblem, beta: &[f64], n_points: usize) -> Self {
        let mut census = Self { columns: gradient::columns_of(beta, n_points), ..Self::default() };
        for (v, &b) in beta.iter().enumerate() {
            census.support += usize::from(b != 0.0);
            census.free += usize::from(problem.bound_state(v, b) == BoundState::Free);
            census.bounded += usize::from(problem.is_bounded(v, b));
        }
        census
    }
}

impl Rounds<'_> {
    /// The certificate at the end needs all columns of the support vectors; the time limit must leave room for it.
    pub(super) fn reserve_time(&self, monitor: &mut Monitor<'_>) {
        monitor.reserve(self.source.seconds_for(self.census.columns));
    }

    pub(super) fn outside(&self, set: &[usize], violation: f64) -> Outside {
        let n_bounded = |v: &usize| self.problem.is_bounded(*v, self.beta[*v]);
        Outside {
            n_bounded: self.census.bounded - set.iter().filter(|v| n_bounded(v)).count(),
            dual_objective: self.progress(violation).dual_objective,
            violation,
        }
    }

    pub(super) fn progress(&self, kkt_violation: f64) -> Progress {
        let offsets = self.problem.offsets();
        let constant: f64 = offsets.iter().zip(self.problem.totals()).map(|(o, t)| o * t).sum();
        let Census { support, bounded: n_bounded, .. } = self.census;
        Progress {
            solver: "cmu",
            n_iter: self.info.n_cycles,
            dual_objective: constant - self.objective,
            kkt_violation,
            n_free: support - n_bounded,
            n_bounded,
            n_kernel_columns: self.source.counts().0,
            elapsed: 0.0,
        }
    }
}
