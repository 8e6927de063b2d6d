//! Centrality correctors of a Newton direction (Gondzio 1996): of the corrector only the change of the margins is kept, and the rest is
//! computed where it is needed, since it would take memory like three more numbers a term.

use super::problem::{LinearProblem, Loss};
use super::terms::Terms;
use crate::linalg::simd::{Routine, dispatch};

/// A centrality corrector: products that a step of `step` along the direction would leave far from mu are drawn back to
/// [mu/10, 10 mu].
#[derive(Clone, Copy)]
pub(super) struct Centrality {
    pub(super) mu: f64,
    pub(super) step: f64,
}

struct Pull<'a> {
    terms: &'a Terms,
    problem: &'a LinearProblem,
    centrality: Centrality,
}

impl Routine for Pull<'_> {
    type Output = Vec<f64>;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<f64> {
        let Self { terms, problem, centrality } = self;
        let one = |j: usize| {
            terms.theta(problem, j)
                * terms.quotient(problem, j, terms.central(problem, j, centrality))
        };
        (0..terms.len()).map(one).collect()
    }
}

impl Terms {
    /// Targets of a centrality corrector.
    #[inline(always)]
    fn central(&self, problem: &LinearProblem, j: usize, centrality: Centrality) -> (f64, f64) {
        let (Centrality { mu, step: t }, step) = (centrality, &self.step);
        let correction = |product: f64| {
            let inside = product.max(0.1 * mu).min(10.0 * mu);
            (inside - product).max(-10.0 * mu)
        };
        let slack = self.slack[j] + t * self.slack_step(problem, step, j);
        let first = correction(slack * (self.alpha[j] + t * step.alpha[j]));
        let second = match problem.loss {
            Loss::Linear => {
                let excess = self.excess[j] + t * step.excess[j];
                correction(excess * (self.room[j] - t * step.alpha[j]))
            }
            Loss::Squared => 0.0,
        };
        (first, second)
    }

    /// What a centrality corrector adds to the right-hand side.
    pub(super) fn pull(&self, problem: &LinearProblem, centrality: Centrality) -> Vec<f64> {
        dispatch(Pull { terms: self, problem, centrality })
    }

    /// Changes of alpha and xi along the corrector.
    #[inline(always)]
    fn extra_at(&self, problem: &LinearProblem, j: usize, centrality: Centrality) -> (f64, f64) {
        let want = self.central(problem, j, centrality);
        let alpha = self.theta(problem, j) * (self.quotient(problem, j, want) - self.extra[j]);
        match problem.loss {
            Loss::Linear => (alpha, (want.1 + self.excess[j] * alpha) / self.room[j]),
            Loss::Squared => (alpha, problem.diagonal(self.range.start + j) * alpha),
        }
    }

    #[inline(always)]
    pub(super) fn longest_with_loop(&self, problem: &LinearProblem, centrality: Centrality) -> f64 {
        let step = &self.step;
        let mut largest = 1.0_f64;
        for j in 0..self.len() {
            let (alpha, excess) = self.extra_at(problem, j, centrality);
            let d_alpha = step.alpha[j] + alpha;
            let d_slack = self.slack_step(problem, step, j) + self.extra[j] + excess;
            largest = largest.max(-d_slack / self.slack[j]).max(-d_alpha / self.alpha[j]);
            if problem.loss == Loss::Linear {
                let d_excess = step.excess[j] + excess;
                largest = largest.max(-d_excess / self.excess[j]).max(d_alpha / self.room[j]);
            }
        }
        1.0 / largest
    }

    #[inline(always)]
    pub(super) fn join_loop(&mut self, problem: &LinearProblem, centrality: Centrality) {
        for j in 0..self.len() {
            let (alpha, excess) = self.extra_at(problem, j, centrality);
            self.step.margin[j] += self.extra[j];
            self.step.alpha[j] += alpha;
            if problem.loss == Loss::Linear {
                self.step.excess[j] += excess;
            }
        }
    }
}
