//! The slacks and multipliers of a block of terms in the interior-point method, and their Newton directions.

use std::ops::Range;

use super::problem::{LinearProblem, Loss};
use crate::linalg::simd::{Routine, dispatch};

/// Lanes of the reductions.
const LANES: usize = 8;

/// What can be done with every term.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Compute theta.
    Linearise,
    /// Aim at products of zero.
    AimAtZero,
    /// Aim at products of mu, second-order terms of the direction included.
    AimAt(f64),
    /// Aim at drawing outlying products back towards mu, after a step of the second number.
    AimAtCentrality(f64, f64),
    /// Make the right-hand side, with the residuals or without.
    Reduce(bool),
    /// Make the direction, with the residuals or without.
    Expand(bool),
    /// Take a step.
    Advance(f64),
}

/// What can be asked of all terms.
#[derive(Clone, Copy)]
enum Look {
    Products(f64),
    Longest,
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
            Work::Linearise => terms.linearise_loop(problem),
            Work::AimAtZero => terms.aim_at_zero_loop(problem),
            Work::AimAt(mu) => terms.aim_at_loop(problem, mu),
            Work::AimAtCentrality(mu, t) => terms.aim_at_centrality_loop(problem, mu, t),
            Work::Reduce(whole) => terms.reduce_loop(problem, whole),
            Work::Expand(whole) => terms.expand_loop(problem, whole),
            Work::Advance(t) => terms.advance_loop(problem, t),
        }
    }
}

/// Raises the lanes to SIGN times -step / value where that is larger.
#[inline(always)]
fn blockage<const SIGN: i32>(step: &[f64], value: &[f64], lanes: &mut [f64; LANES]) {
    let (steps, step_rest) = step.as_chunks::<LANES>();
    let (values, value_rest) = value.as_chunks::<LANES>();
    let sign = -f64::from(SIGN);
    for (step, value) in steps.iter().zip(values) {
        for l in 0..LANES {
            let ratio = sign * step[l] / value[l];
            lanes[l] = if ratio > lanes[l] { ratio } else { lanes[l] };
        }
    }
    for (step, value) in step_rest.iter().zip(value_rest) {
        lanes[0] = lanes[0].max(sign * step / value);
    }
}

/// A change of all that a term has.
#[derive(Clone, Default)]
pub(super) struct Step {
    pub(super) margin: Vec<f64>,
    pub(super) alpha: Vec<f64>,
    pub(super) slack: Vec<f64>,
    pub(super) excess: Vec<f64>,
}

impl Step {
    fn new(n: usize) -> Self {
        let zeros = vec![0.0; n];
        Self { margin: zeros.clone(), alpha: zeros.clone(), slack: zeros.clone(), excess: zeros }
    }
}

/// One block.
pub(super) struct Terms {
    pub(super) range: Range<usize>,
    /// z f(x).
    pub(super) margin: Vec<f64>,
    /// a.
    pub(super) alpha: Vec<f64>,
    /// v = u - a, kept apart so that it has its own digits.
    room: Vec<f64>,
    /// s.
    slack: Vec<f64>,
    /// xi.
    excess: Vec<f64>,
    /// theta.
    pub(super) theta: Vec<f64>,
    /// Targets of the two products, less what they are.
    want: Vec<f64>,
    want_excess: Vec<f64>,
    /// theta g: what the term adds to the right-hand side.
    pub(super) pull: Vec<f64>,
    /// The direction being made, and the one it is to be added to.
    pub(super) step: Step,
    base: Step,
    /// Sum over the block's rows.
    pub(super) sum: Vec<f64>,
}

impl Terms {
    pub(super) fn new(range: Range<usize>, order: usize) -> Self {
        let n = range.len();
        let zeros = vec![0.0; n];
        Self {
            range,
            margin: zeros.clone(),
            alpha: zeros.clone(),
            room: zeros.clone(),
            slack: zeros.clone(),
            excess: zeros.clone(),
            theta: zeros.clone(),
            want: zeros.clone(),
            want_excess: zeros.clone(),
            pull: zeros,
            step: Step::new(n),
            base: Step::new(n),
            sum: vec![0.0; order],
        }
    }

    fn len(&self) -> usize {
        self.margin.len()
    }

    /// The point of the central path's equations for the margins that are there: only w = sum a z x may be violated.
    pub(super) fn centre(&mut self, problem: &LinearProblem, mu: f64) {
        for j in 0..self.len() {
            let k = self.range.start + j;
            let v = problem.offset[k] - self.margin[j];
            let u = problem.weight[k];
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
        let n = self.len();
        let (slack, alpha) = (&self.slack[..n], &self.alpha[..n]);
        let (d_slack, d_alpha) = (&step.slack[..n], &step.alpha[..n]);
        let mut sums = [0.0; LANES];
        for j in 0..n {
            sums[j % LANES] += (slack[j] + t * d_slack[j]) * (alpha[j] + t * d_alpha[j]);
        }
        if problem.loss == Loss::Linear {
            let (excess, room, d_excess) = (&self.excess[..n], &self.room[..n], &step.excess[..n]);
            for j in 0..n {
                sums[j % LANES] += (excess[j] + t * d_excess[j]) * (room[j] - t * d_alpha[j]);
            }
        }
        sums.iter().sum()
    }

    /// Longest step up to 1 that keeps the block positive.
    pub(super) fn longest(&self, problem: &LinearProblem) -> f64 {
        dispatch(Pass { terms: self, problem, work: Look::Longest })
    }

    /// Does one piece of work on every term.
    pub(super) fn work(&mut self, problem: &LinearProblem, work: Work) {
        dispatch(Change { terms: self, problem, work });
    }

    /// theta of every term.
    #[inline(always)]
    fn linearise_loop(&mut self, problem: &LinearProblem) {
        for j in 0..self.len() {
            let second = match problem.loss {
                Loss::Linear => self.excess[j] / self.room[j],
                Loss::Squared => problem.diagonal(self.range.start + j),
            };
            self.theta[j] = 1.0 / (self.slack[j] / self.alpha[j] + second);
        }
    }

    /// Targets of the predictor: products of zero.
    #[inline(always)]
    fn aim_at_zero_loop(&mut self, problem: &LinearProblem) {
        for j in 0..self.len() {
            self.want[j] = -self.slack[j] * self.alpha[j];
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.len() {
                self.want_excess[j] = -self.excess[j] * self.room[j];
            }
        }
    }

    /// Targets of the corrector: products of mu, second-order terms of the predictor included.
    #[inline(always)]
    fn aim_at_loop(&mut self, problem: &LinearProblem, mu: f64) {
        let step = &self.step;
        for j in 0..self.len() {
            self.want[j] = mu - self.slack[j] * self.alpha[j] - step.slack[j] * step.alpha[j];
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.len() {
                self.want_excess[j] =
                    mu - self.excess[j] * self.room[j] + step.excess[j] * step.alpha[j];
            }
        }
    }

    /// Targets of a centrality corrector: products that a step of `t` would leave far from mu are drawn back to [mu/10, 10 mu]. The
    /// direction so far is set aside.
    #[inline(always)]
    fn aim_at_centrality_loop(&mut self, problem: &LinearProblem, mu: f64, t: f64) {
        std::mem::swap(&mut self.step, &mut self.base);
        let base = &self.base;
        let correction = |product: f64| {
            let inside = product.max(0.1 * mu).min(10.0 * mu);
            (inside - product).max(-10.0 * mu)
        };
        for j in 0..self.len() {
            let slack = self.slack[j] + t * base.slack[j];
            self.want[j] = correction(slack * (self.alpha[j] + t * base.alpha[j]));
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.len() {
                let excess = self.excess[j] + t * base.excess[j];
                self.want_excess[j] = correction(excess * (self.room[j] - t * base.alpha[j]));
            }
        }
    }

    /// s z f + xi - c - s, the residual of a term's own equation.
    #[inline(always)]
    fn own_residual(&self, problem: &LinearProblem, j: usize) -> f64 {
        let k = self.range.start + j;
        let excess = match problem.loss {
            Loss::Linear => self.excess[j],
            Loss::Squared => problem.diagonal(k) * self.alpha[j],
        };
        (self.margin[j] - problem.offset[k]) + excess - self.slack[j]
    }

    /// What every term adds to the right-hand side.
    #[inline(always)]
    fn reduce_loop(&mut self, problem: &LinearProblem, whole: bool) {
        for j in 0..self.len() {
            let mut g = self.want[j] / self.alpha[j];
            if problem.loss == Loss::Linear {
                g -= self.want_excess[j] / self.room[j];
            }
            if whole {
                g -= self.own_residual(problem, j);
            }
            self.pull[j] = self.theta[j] * g;
        }
    }

    /// The directions of every term, from the change of its margin.
    #[inline(always)]
    fn expand_loop(&mut self, problem: &LinearProblem, whole: bool) {
        for j in 0..self.len() {
            let change = self.step.margin[j];
            let alpha = self.pull[j] - self.theta[j] * change;
            let excess = match problem.loss {
                Loss::Linear => (self.want_excess[j] + self.excess[j] * alpha) / self.room[j],
                Loss::Squared => problem.diagonal(self.range.start + j) * alpha,
            };
            let residual = if whole { self.own_residual(problem, j) } else { 0.0 };
            self.step.alpha[j] = alpha;
            self.step.excess[j] = excess;
            self.step.slack[j] = change + excess + residual;
        }
    }

    /// Adds the direction that was set aside to the new one.
    pub(super) fn join(&mut self) {
        let (step, base) = (&mut self.step, &self.base);
        for (a, b) in [
            (&mut step.margin, &base.margin),
            (&mut step.alpha, &base.alpha),
            (&mut step.slack, &base.slack),
            (&mut step.excess, &base.excess),
        ] {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
    }

    /// Returns to the direction that was set aside.
    pub(super) fn part(&mut self) {
        std::mem::swap(&mut self.step, &mut self.base);
    }

    /// The reciprocal of the largest blockage, at least 1.
    #[inline(always)]
    fn longest_loop(&self, problem: &LinearProblem) -> f64 {
        let step = &self.step;
        let mut lanes = [1.0; LANES];
        blockage::<1>(&step.slack, &self.slack, &mut lanes);
        blockage::<1>(&step.alpha, &self.alpha, &mut lanes);
        if problem.loss == Loss::Linear {
            blockage::<1>(&step.excess, &self.excess, &mut lanes);
            blockage::<-1>(&step.alpha, &self.room, &mut lanes);
        }
        1.0 / lanes.iter().fold(1.0, |a, b| f64::max(a, *b))
    }

    /// Takes the step.
    #[inline(always)]
    fn advance_loop(&mut self, problem: &LinearProblem, t: f64) {
        // Rounding may spend what the step length left: never less than a trace of what was there.
        let go = |x: &mut f64, dx: f64| *x = (*x + t * dx).max(1e-6 * *x).max(f64::MIN_POSITIVE);
        let step = &self.step;
        for j in 0..self.margin.len() {
            self.margin[j] += t * step.margin[j];
            go(&mut self.slack[j], step.slack[j]);
            go(&mut self.alpha[j], step.alpha[j]);
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.margin.len() {
                go(&mut self.excess[j], step.excess[j]);
                go(&mut self.room[j], -step.alpha[j]);
            }
        }
    }
}
