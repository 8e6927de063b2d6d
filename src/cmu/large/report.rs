//! What is told about rounds while they run.

use super::Rounds;
use crate::cmu::state::Outside;
use crate::observer::{Monitor, Progress};

impl Rounds<'_> {
    /// The certificate at the end needs all columns of the support vectors; the time limit must leave room for it.
    pub(super) fn reserve_time(&self, monitor: &mut Monitor<'_>) {
        let n_support = self.beta.iter().filter(|b| **b != 0.0).count();
        monitor.reserve(self.source.seconds_for(n_support));
    }

    pub(super) fn outside(&self, set: &[usize], violation: f64) -> Outside {
        let n_bounded = |v: &usize| self.problem.is_bounded(*v, self.beta[*v]);
        let all = (0..self.beta.len()).filter(n_bounded).count();
        Outside {
            n_bounded: all - set.iter().filter(|v| n_bounded(v)).count(),
            dual_objective: self.progress(violation).dual_objective,
            violation,
        }
    }

    pub(super) fn progress(&self, kkt_violation: f64) -> Progress {
        let offsets = self.problem.offsets();
        let constant: f64 = offsets.iter().zip(self.problem.totals()).map(|(o, t)| o * t).sum();
        let n_bounded =
            (0..self.beta.len()).filter(|&v| self.problem.is_bounded(v, self.beta[v])).count();
        Progress {
            solver: "cmu",
            n_iter: self.info.n_cycles,
            dual_objective: constant - self.objective,
            kkt_violation,
            n_free: self.beta.iter().filter(|b| **b != 0.0).count() - n_bounded,
            n_bounded,
            n_kernel_columns: self.source.counts().0,
            elapsed: 0.0,
        }
    }
}
