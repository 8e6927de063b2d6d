//! Optimality conditions, from a gradient.
//!
//! With gamma = K beta - p and v = -gamma, m the largest v over variables that may grow and M the smallest over those that may
//! shrink, beta is optimal for a group exactly when m <= M (Jarre, Proposition 1, in signed variables). m - M is the violation;
//! every bias between m and M is valid, and where a variable is free they meet.

use crate::problem::{BoundState, DualProblem};

/// The two ends of the bias of one group: `m` over those that may grow, `M` over those that may shrink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Largest -gamma over variables that may grow; minus infinity if none may.
    pub grow: f64,
    /// Smallest -gamma over variables that may shrink; infinity if none may.
    pub shrink: f64,
    /// Mean of gamma over free variables.
    free_mean: Option<f64>,
}

/// The ends of every group. Without an equality the one entry covers all variables.
pub fn ends(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> Vec<Ends> {
    let mut all = vec![
        Ends { grow: f64::NEG_INFINITY, shrink: f64::INFINITY, free_mean: None };
        problem.n_groups().max(1)
    ];
    let mut sums = vec![(0.0, 0_usize); all.len()];
    for (i, (&b, &g)) in beta.iter().zip(gradient).enumerate() {
        let k = problem.group(i);
        let state = problem.bound_state(i, b);
        if state != BoundState::AtUpper {
            all[k].grow = all[k].grow.max(-g);
        }
        if state != BoundState::AtLower {
            all[k].shrink = all[k].shrink.min(-g);
        }
        if state == BoundState::Free {
            sums[k].0 += g;
            sums[k].1 += 1;
        }
    }
    for (ends, (sum, count)) in all.iter_mut().zip(sums) {
        ends.free_mean = (count > 0).then(|| sum / count as f64);
    }
    all
}

/// The KKT violation, at least 0: the largest m - M over the groups, in units of the decision function (LIBSVM's stopping
/// quantity). Without an equality the multiplier is 0 and the violation max(m, -M).
pub fn violation(problem: &DualProblem, ends: &[Ends]) -> f64 {
    let one = |e: &Ends| {
        if problem.n_groups() == 0 { e.grow.max(-e.shrink) } else { e.grow - e.shrink }
    };
    ends.iter().map(one).fold(0.0, f64::max)
}

impl Ends {
    /// The multiplier mu of the group's equality: the mean of gamma over the free variables, else the middle of the interval.
    pub fn multiplier(&self) -> f64 {
        let (low, high) = self.bias_interval();
        self.free_mean.unwrap_or_else(|| match (low.is_finite(), high.is_finite()) {
            (true, true) => -(0.5 * low + 0.5 * high),
            (true, false) => -low,
            (false, true) => -high,
            (false, false) => 0.0,
        })
    }

    /// All biases b = -mu that the group allows: a point where a variable is free.
    pub fn bias_interval(&self) -> (f64, f64) {
        match self.free_mean {
            Some(mean) => (-mean, -mean),
            None => (self.grow.min(self.shrink), self.shrink.max(self.grow)),
        }
    }
}
