//! The slacks and multipliers of a block of terms in the interior-point method, and their Newton directions.

use std::ops::Range;

use super::centrality::Centrality;
use super::problem::{LinearProblem, Loss};
use crate::linalg::simd::{Routine, dispatch};

/// Lanes of the reductions.
const LANES: usize = 8;

/// What can be done with every term.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Aim at products of zero.
    AimAtZero,
    /// Aim at products of mu, second-order terms of the direction included.
    AimAt(f64),
    /// Make the direction.
    Expand,
    /// Add the centrality corrector to it.
    Join(Centrality),
    /// Take a step.
    Advance(f64),
}

/// What can be asked of all terms.
#[derive(Clone, Copy)]
enum Look {
    Products(f64),
    Longest,
    LongestWith(Centrality),
}

struct Pass<'a> {
    terms: &'a Terms,
    problem: &'a LinearProblem,
    work: Look,
}

impl Routine for Pass<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        match self.work {
            Look::Products(t) => self.terms.products_at_loop(self.problem, t),
            Look::Longest => self.terms.longest_loop(self.problem),
            Look::LongestWith(centrality) => self.terms.longest_with_loop(self.problem, centrality),
        }
    }
}

struct Change<'a> {
    terms: &'a mut Terms,
    problem: &'a LinearProblem,
    work: Work,
}

impl Routine for Change<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { terms, problem, work } = self;
        match work {
            Work::AimAtZero => terms.aim_at_zero_loop(problem),
            Work::AimAt(mu) => terms.aim_at_loop(problem, mu),
            Work::Expand => terms.expand_loop(problem),
            Work::Join(centrality) => terms.join_loop(problem, centrality),
            Work::Advance(t) => terms.advance_loop(problem, t),
        }
    }
}

/// Raises the lanes to -step / value where that is larger.
#[inline(always)]
fn blockage(n: usize, lanes: &mut [f64; LANES], step_and_value: impl Fn(usize) -> (f64, f64)) {
    for j in 0..n {
        let (step, value) = step_and_value(j);
        let ratio = -step / value;
        let lane = &mut lanes[j % LANES];
        *lane = if ratio > *lane { ratio } else { *lane };
    }
}

/// A change of all that a term has; that of the slack follows from the others. Before the system is solved it holds what the targets
/// ask for: theta g, which the term adds to the right-hand side, as `alpha`, and the target of the second product as `excess`.
#[derive(Clone, Default)]
pub(super) struct Step {
    pub(super) margin: Vec<f64>,
    pub(super) alpha: Vec<f64>,
    /// Empty for squared losses, where it follows too.
    pub(super) excess: Vec<f64>,
}

impl Step {
    fn new(n: usize, pairs: usize) -> Self {
        Self { margin: vec![0.0; n], alpha: vec![0.0; n], excess: vec![0.0; pairs] }
    }
}

/// One block. There may be as many terms as numbers in memory allow, so that nothing is kept that is cheap to compute again.
pub(super) struct Terms {
    pub(super) range: Range<usize>,
    /// z f(x).
    pub(super) margin: Vec<f64>,
    /// a.
    pub(super) alpha: Vec<f64>,
    /// v = u - a, kept apart so that it has its own digits; empty for squared losses.
    pub(super) room: Vec<f64>,
    /// s.
    pub(super) slack: Vec<f64>,
    /// xi; empty for squared losses.
    pub(super) excess: Vec<f64>,
    /// The direction being made.
    pub(super) step: Step,
    /// Change of the margin along a centrality corrector of it; the rest of that is computed where it is needed.
    pub(super) extra: Vec<f64>,
    /// Sum over the block's rows.
    pub(super) sum: Vec<f64>,
}

impl Terms {
    pub(super) fn new(range: Range<usize>, order: usize, problem: &LinearProblem) -> Self {
        let n = range.len();
        let pairs = if problem.loss == Loss::Linear { n } else { 0 };
        Self {
            range,
            margin: vec![0.0; n],
            alpha: vec![0.0; n],
            room: vec![0.0; pairs],
            slack: vec![0.0; n],
            excess: vec![0.0; pairs],
            step: Step::new(n, pairs),
            extra: vec![0.0; n],
            sum: vec![0.0; order],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.margin.len()
    }

    /// The point of the central path's equations for the margins that are there: only w = sum a z x may be violated.
    pub(super) fn centre(&mut self, problem: &LinearProblem, mu: f64) {
        for j in 0..self.len() {
            let k = self.range.start + j;
            let v = problem.offset(k) - self.margin[j];
            let u = problem.weight(k);
            match problem.loss {
                Loss::Linear => {
                    // s = xi - v, mu/s + mu/xi = u, written so that nothing cancels.
                    let t = 2.0 * mu / u;
                    let root = v.hypot(t);
                    let near = 0.5 * (t + t * t / (root + v.abs()));
                    let far = 0.5 * (v.abs() + t + root);
                    (self.excess[j], self.slack[j]) =
                        if v >= 0.0 { (far, near) } else { (near, far) };
                    self.alpha[j] = mu / self.slack[j];
                    self.room[j] = mu / self.excess[j];
                }
                Loss::Squared => {
                    // s = delta a - v, a s = mu.
                    let delta = problem.diagonal(k);
                    let root = v.hypot(2.0 * (mu * delta).sqrt());
                    let larger = 0.5 * (v.abs() + root);
                    let smaller = mu * delta / larger;
                    let xi = if v >= 0.0 { larger } else { smaller };
                    self.alpha[j] = xi / delta;
                    self.slack[j] = mu / self.alpha[j];
                }
            }
        }
    }

    /// Sum of the products of the pairs.
    pub(super) fn products(&self, problem: &LinearProblem) -> f64 {
        dispatch(Pass { terms: self, problem, work: Look::Products(0.0) })
    }

    /// The same after a step along the direction.
    pub(super) fn products_after(&self, problem: &LinearProblem, t: f64) -> f64 {
        dispatch(Pass { terms: self, problem, work: Look::Products(t) })
    }

    #[inline(always)]
    fn products_at_loop(&self, problem: &LinearProblem, t: f64) -> f64 {
        let step = &self.step;
        let mut sums = [0.0; LANES];
        for j in 0..self.len() {
            let slack = self.slack[j] + t * self.slack_step(problem, step, j);
            sums[j % LANES] += slack * (self.alpha[j] + t * step.alpha[j]);
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.len() {
                let excess = self.excess[j] + t * step.excess[j];
                sums[j % LANES] += excess * (self.room[j] - t * step.alpha[j]);
            }
        }
        sums.iter().sum()
    }

    /// Longest step up to 1 that keeps the block positive.
    pub(super) fn longest(&self, problem: &LinearProblem) -> f64 {
        dispatch(Pass { terms: self, problem, work: Look::Longest })
    }

    /// Longest step up to 1 along the direction with its corrector.
    pub(super) fn longest_with(&self, problem: &LinearProblem, centrality: Centrality) -> f64 {
        dispatch(Pass { terms: self, problem, work: Look::LongestWith(centrality) })
    }

    /// Does one piece of work on every term.
    pub(super) fn work(&mut self, problem: &LinearProblem, work: Work) {
        dispatch(Change { terms: self, problem, work });
    }

    /// theta of a term; computed where it is needed, always from the same numbers until the step is taken.
    #[inline(always)]
    pub(super) fn theta(&self, problem: &LinearProblem, j: usize) -> f64 {
        let second = match problem.loss {
            Loss::Linear => self.excess[j] / self.room[j],
            Loss::Squared => problem.diagonal(self.range.start + j),
        };
        1.0 / (self.slack[j] / self.alpha[j] + second)
    }

    pub(super) fn sum_of_theta(&self, problem: &LinearProblem) -> f64 {
        (0..self.len()).map(|j| self.theta(problem, j)).sum()
    }

    /// Targets of both products, less what they are, in units of the margin.
    #[inline(always)]
    pub(super) fn quotient(&self, problem: &LinearProblem, j: usize, want: (f64, f64)) -> f64 {
        match problem.loss {
            Loss::Linear => want.0 / self.alpha[j] - want.1 / self.room[j],
            Loss::Squared => want.0 / self.alpha[j],
        }
    }

    /// Sets the targets as the beginning of a direction, which takes the residual away too.
    #[inline(always)]
    fn aim(&mut self, problem: &LinearProblem, j: usize, want: (f64, f64)) {
        let g = self.quotient(problem, j, want) - self.own_residual(problem, j);
        self.step.alpha[j] = self.theta(problem, j) * g;
        if problem.loss == Loss::Linear {
            self.step.excess[j] = want.1;
        }
    }

    /// Targets of the predictor: products of zero.
    #[inline(always)]
    fn aim_at_zero_loop(&mut self, problem: &LinearProblem) {
        for j in 0..self.len() {
            let second = match problem.loss {
                Loss::Linear => -self.excess[j] * self.room[j],
                Loss::Squared => 0.0,
            };
            self.aim(problem, j, (-self.slack[j] * self.alpha[j], second));
        }
    }

    /// Targets of the corrector: products of mu, second-order terms of the predictor included.
    #[inline(always)]
    fn aim_at_loop(&mut self, problem: &LinearProblem, mu: f64) {
        for j in 0..self.len() {
            let (step, d_alpha) = (&self.step, self.step.alpha[j]);
            let first =
                mu - self.slack[j] * self.alpha[j] - self.slack_step(problem, step, j) * d_alpha;
            let second = match problem.loss {
                Loss::Linear => mu - self.excess[j] * self.room[j] + step.excess[j] * d_alpha,
                Loss::Squared => 0.0,
            };
            self.aim(problem, j, (first, second));
        }
    }

    /// z f + xi - c - s, the residual of a term's own equation.
    #[inline(always)]
    fn own_residual(&self, problem: &LinearProblem, j: usize) -> f64 {
        let k = self.range.start + j;
        let excess = match problem.loss {
            Loss::Linear => self.excess[j],
            Loss::Squared => problem.diagonal(k) * self.alpha[j],
        };
        (self.margin[j] - problem.offset(k)) + excess - self.slack[j]
    }

    /// Change of the slack along a direction that includes the residual.
    #[inline(always)]
    pub(super) fn slack_step(&self, problem: &LinearProblem, step: &Step, j: usize) -> f64 {
        let excess = match problem.loss {
            Loss::Linear => step.excess[j],
            Loss::Squared => problem.diagonal(self.range.start + j) * step.alpha[j],
        };
        step.margin[j] + excess + self.own_residual(problem, j)
    }

    /// The directions of every term, from its targets and the change of its margin.
    #[inline(always)]
    fn expand_loop(&mut self, problem: &LinearProblem) {
        for j in 0..self.margin.len() {
            self.step.alpha[j] -= self.theta(problem, j) * self.step.margin[j];
        }
        let step = &mut self.step;
        if problem.loss == Loss::Linear {
            for j in 0..self.margin.len() {
                step.excess[j] = (step.excess[j] + self.excess[j] * step.alpha[j]) / self.room[j];
            }
        }
    }

    /// The reciprocal of the largest blockage, at least 1.
    #[inline(always)]
    fn longest_loop(&self, problem: &LinearProblem) -> f64 {
        let (step, n) = (&self.step, self.len());
        let mut lanes = [1.0; LANES];
        blockage(n, &mut lanes, |j| (self.slack_step(problem, step, j), self.slack[j]));
        blockage(n, &mut lanes, |j| (step.alpha[j], self.alpha[j]));
        if problem.loss == Loss::Linear {
            blockage(n, &mut lanes, |j| (step.excess[j], self.excess[j]));
            blockage(n, &mut lanes, |j| (-step.alpha[j], self.room[j]));
        }
        1.0 / lanes.iter().fold(1.0, |a, b| f64::max(a, *b))
    }

    /// Takes the step.
    #[inline(always)]
    fn advance_loop(&mut self, problem: &LinearProblem, t: f64) {
        // Rounding may spend what the step length left: never less than a trace of what was there.
        let go = |x: &mut f64, dx: f64| *x = (*x + t * dx).max(1e-6 * *x).max(f64::MIN_POSITIVE);
        for j in 0..self.margin.len() {
            let d_slack = self.slack_step(problem, &self.step, j);
            self.margin[j] += t * self.step.margin[j];
            go(&mut self.slack[j], d_slack);
            go(&mut self.alpha[j], self.step.alpha[j]);
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.margin.len() {
                go(&mut self.excess[j], self.step.excess[j]);
                go(&mut self.room[j], -self.step.alpha[j]);
            }
        }
    }
}
