//! The slacks and multipliers of a block of terms in the interior-point method, and their Newton directions.

use std::ops::Range;

use super::problem::{LinearProblem, Loss};

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
        self.products_at(problem, 0.0)
    }

    /// The same after a step along the direction.
    pub(super) fn products_after(&self, problem: &LinearProblem, t: f64) -> f64 {
        self.products_at(problem, t)
    }

    fn products_at(&self, problem: &LinearProblem, t: f64) -> f64 {
        let (step, mut sum) = (&self.step, 0.0);
        for j in 0..self.len() {
            sum += (self.slack[j] + t * step.slack[j]) * (self.alpha[j] + t * step.alpha[j]);
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.len() {
                sum += (self.excess[j] + t * step.excess[j]) * (self.room[j] - t * step.alpha[j]);
            }
        }
        sum
    }

    /// theta of every term.
    pub(super) fn linearise(&mut self, problem: &LinearProblem) {
        for j in 0..self.len() {
            let second = match problem.loss {
                Loss::Linear => self.excess[j] / self.room[j],
                Loss::Squared => problem.diagonal(self.range.start + j),
            };
            self.theta[j] = 1.0 / (self.slack[j] / self.alpha[j] + second);
        }
    }

    /// Targets of the predictor: products of zero.
    pub(super) fn aim_at_zero(&mut self, problem: &LinearProblem) {
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
    pub(super) fn aim_at(&mut self, problem: &LinearProblem, mu: f64) {
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
    pub(super) fn aim_at_centrality(&mut self, problem: &LinearProblem, mu: f64, t: f64) {
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
    pub(super) fn reduce(&mut self, problem: &LinearProblem, whole: bool) {
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
    pub(super) fn expand(&mut self, problem: &LinearProblem, whole: bool) {
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

    /// Longest step up to `most` that keeps the block positive.
    pub(super) fn longest(&self, problem: &LinearProblem, most: f64) -> f64 {
        let step = &self.step;
        let mut ratio = 1.0 / most;
        for j in 0..self.len() {
            ratio = ratio.max(-step.slack[j] / self.slack[j]);
            ratio = ratio.max(-step.alpha[j] / self.alpha[j]);
        }
        if problem.loss == Loss::Linear {
            for j in 0..self.len() {
                ratio = ratio.max(-step.excess[j] / self.excess[j]);
                ratio = ratio.max(step.alpha[j] / self.room[j]);
            }
        }
        1.0 / ratio
    }

    /// Takes the step.
    pub(super) fn advance(&mut self, problem: &LinearProblem, t: f64) {
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
