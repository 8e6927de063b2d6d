//! Primal-dual interior-point method (Mehrotra's predictor and corrector, with Gondzio's centrality correctors), reduced to the
//! weights: every iteration solves one system in as many unknowns as there are features (Ferris and Munson, *Interior-point methods for
//! massive support vector machines*, SIAM J. Optim. 13, 2002).
//!
//! With slacks s_k = z_k f(x_k) + xi_k - c_k >= 0 against a_k, and xi_k >= 0 against v_k = u_k - a_k (xi_k = delta_k a_k for squared
//! losses, which have no second pair), the central path is s a = mu, xi v = mu, w = sum a z x. Eliminating term by term leaves
//!
//! ```text
//! (R + sum theta x x') dw = sum a z x - R w + sum theta z g x,   theta = 1 / (s/a + xi/v)   (1 / (s/a + delta)),
//! ```
//!
//! R the regulariser. Rows whose theta is too small to matter are left out of the matrix, not of the right-hand side: what
//! that leaves is corrected in the next iteration.

use std::borrow::Cow;

use super::blocks::{Blocks, add_rows, margins};
use super::centrality::Centrality;
use super::certificate::{LinearCertificate, certify};
use super::data::Rows;
use super::dense::Factor;
use super::fit::Point;
use super::normal::{Normal, Parameters};
use super::norms::squared_norms;
use super::objective::{best_multiple, loss, regulariser};
use super::problem::{LinearProblem, Loss};
use super::settings::LinearSettings;
use super::terms::{Terms, Work};
use crate::linalg::compensated::Sum;
use crate::linalg::memory::zeros;
use crate::observer::{Monitor, Progress};
use crate::status::SolverStatus;
use crate::threads::Threads;

/// theta |x|^2 below which a row is left out of the matrix, whose diagonal is at least 1.
const NEGLIGIBLE: f64 = 1e-3;
/// Share of the longest step that is taken.
const TO_THE_WALL: f64 = 0.995;
/// Iterations without any progress before giving up.
const PATIENCE: usize = 12;
/// Most iterations where none are asked for: the method needs some tens.
const MOST_ITERATIONS: usize = 500;

/// What the method ends with.
pub(super) struct Outcome {
    pub(super) point: Point,
    pub(super) certificate: LinearCertificate,
    pub(super) status: SolverStatus,
    pub(super) n_iter: usize,
}

/// Minimises P from the weights `w`, that of the added feature last.
pub(super) fn solve<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: Vec<f64>,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Outcome {
    let mut method = Method::new(rows, problem, start, threads);
    let status;
    let mut asked = settings.tol;
    let mut certified: Option<LinearCertificate> = None;
    let (mut smallest, mut since) = (f64::INFINITY, 0);
    let mut n_iter = 0;
    let most = settings.max_iter.unwrap_or(MOST_ITERATIONS);
    loop {
        let value = method.evaluate();
        let Some(gap) = value else {
            status = SolverStatus::Stalled;
            break;
        };
        if gap <= 0.9 * asked {
            let best = &mut method.best;
            let certificate = certify(rows, problem, &best.w, &mut best.alpha, threads);
            if certificate.relative_gap <= settings.tol {
                certified = Some(certificate);
                status = SolverStatus::Optimal;
                break;
            }
            // The dual point is a feasible one now, of the value that was found.
            method.best_dual = certificate.dual_objective;
            asked *= 0.1;
        }
        // Not the relative gap, which rises while D comes up to zero.
        let distance = method.best_primal - method.best_dual;
        if distance < 0.99 * smallest || method.centrality() < 0.9 * method.last_mu {
            since = 0;
        } else {
            since += 1;
        }
        smallest = smallest.min(distance);
        if since > PATIENCE {
            status = SolverStatus::Stalled;
            break;
        }
        if n_iter >= most {
            status = if settings.max_iter.is_some() {
                SolverStatus::MaxIter
            } else {
                SolverStatus::Stalled
            };
            break;
        }
        let progress = method.progress(n_iter, gap);
        if let Some(stop) = monitor.poll(|| progress.clone()) {
            status = stop;
            break;
        }
        // An iteration over large samples takes seconds: it is left as soon as a request to stop comes.
        if let Some(end) = method.advance(&mut || monitor.poll(|| progress.clone())) {
            status = end;
            break;
        }
        n_iter += 1;
    }
    // The rest of what the method holds makes room for the certificate.
    let mut point = {
        let Method { best, .. } = method;
        best
    };
    let certificate =
        certified.unwrap_or_else(|| certify(rows, problem, &point.w, &mut point.alpha, threads));
    Outcome { point, certificate, status, n_iter }
}

struct Method<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    threads: &'a Threads,
    blocks: Blocks,
    terms: Vec<Terms>,
    normal: Normal,
    /// Squared norms of the rows, which are compared and nothing more.
    norms: Vec<f32>,
    w: Vec<f64>,
    /// sum a z x - R w.
    residual: Vec<f64>,
    best: Point,
    best_primal: f64,
    best_dual: f64,
    last_mu: f64,
    matrix: Vec<f64>,
    correctors: usize,
    n_pairs: f64,
}

impl<'a, R: Rows> Method<'a, R> {
    fn new(rows: &'a R, problem: &'a LinearProblem, w: Vec<f64>, threads: &'a Threads) -> Self {
        let blocks = Blocks::new(rows, problem);
        let order = w.len();
        let mut terms: Vec<Terms> =
            blocks.ranges.iter().map(|range| Terms::new(range.clone(), order, problem)).collect();
        blocks.each(threads, &mut terms, |range, t| {
            margins(rows, problem, range, &w, &mut t.margin);
        });
        // mu where the terms are, on average, at their own scale.
        let mut sum = Sum::default();
        for t in &terms {
            for (k, m) in t.range.clone().zip(&t.margin) {
                let v = (problem.offset(k) - m).abs();
                sum.add(match problem.loss {
                    Loss::Linear => problem.weight(k) * v,
                    Loss::Squared => 2.0 * problem.weight(k) * v * v,
                });
            }
        }
        let mu = (sum.value() / problem.len() as f64).max(f64::MIN_POSITIVE.sqrt());
        blocks.each(threads, &mut terms, |_, t| t.centre(problem, mu));
        let feature = problem.intercept.feature();
        let norms = squared_norms(rows, threads, |q| (q + feature * feature) as f32);
        let passes =
            order as f64 / 2.0 + order.pow(3) as f64 / (3.0 * problem.len() as f64 * order as f64);
        let correctors = if passes > 30.0 {
            3
        } else if passes > 8.0 {
            2
        } else {
            1
        };
        let pairs = if problem.loss == Loss::Linear { 2.0 } else { 1.0 };
        Self {
            rows,
            problem,
            threads,
            normal: Normal::new::<R>(order, &blocks),
            blocks,
            terms,
            norms,
            residual: vec![0.0; order],
            best: Point { w: w.clone(), alpha: vec![0.0; problem.len()] },
            w,
            best_primal: f64::INFINITY,
            best_dual: f64::NEG_INFINITY,
            last_mu: f64::INFINITY,
            matrix: Vec::new(),
            correctors,
            n_pairs: pairs * problem.len() as f64,
        }
    }

    /// Average product of the pairs.
    fn centrality(&self) -> f64 {
        self.terms.iter().map(|t| t.products(self.problem)).sum::<f64>() / self.n_pairs
    }

    /// Sum over all terms of `coefficient` z x, with the coefficients that `choose` points at.
    fn sum_rows(&mut self, choose: impl Fn(&Terms) -> Cow<'_, [f64]> + Sync) -> Vec<f64> {
        let (rows, problem) = (self.rows, self.problem);
        self.blocks.each(self.threads, &mut self.terms, |range, t| {
            let mut sum = std::mem::take(&mut t.sum);
            sum.fill(0.0);
            add_rows(rows, problem, range, &choose(t), &mut sum);
            t.sum = sum;
        });
        let mut total = vec![0.0; self.w.len()];
        for t in &self.terms {
            total.iter_mut().zip(&t.sum).for_each(|(a, b)| *a += b);
        }
        total
    }

    /// Estimates P and D where the method stands, keeps the best of each, and gives the relative gap; `None` if numbers broke down.
    fn evaluate(&mut self) -> Option<f64> {
        let problem = self.problem;
        let implied = self.sum_rows(|t| Cow::Borrowed(&t.alpha));
        let (mut losses, mut linear) = (regulariser(problem, &self.w), 0.0);
        let (mut diagonal, mut steepest) = (0.0, 0.0_f64);
        for t in &self.terms {
            for (j, k) in t.range.clone().enumerate() {
                let v = problem.offset(k) - t.margin[j];
                losses += loss(problem.loss, problem.weight(k), v);
                steepest = steepest.max(v.abs());
                linear += problem.offset(k) * t.alpha[j];
                diagonal += problem.diagonal(k) * t.alpha[j] * t.alpha[j];
            }
        }
        let last = self.w.len() - 1;
        let added = problem.intercept.regulariser();
        for (j, r) in self.residual.iter_mut().enumerate() {
            let weight = if j == last { added } else { 1.0 };
            *r = implied[j] - weight * self.w[j];
        }
        // Off the equality the value is no bound: balancing costs at most about the residual times the steepest slope.
        let steepest = steepest + self.w[last].abs();
        let lack = if added == 0.0 { steepest * implied[last].abs() } else { 0.0 };
        let quadratic = regulariser(problem, &implied) + 0.5 * diagonal;
        let dual = best_multiple(linear, quadratic).1 - lack;
        if !(losses.is_finite() && dual.is_finite()) {
            return None;
        }
        if losses < self.best_primal {
            self.best_primal = losses;
            self.best.w.copy_from_slice(&self.w);
        }
        if dual > self.best_dual {
            self.best_dual = dual;
            for t in &self.terms {
                self.best.alpha[t.range.clone()].copy_from_slice(&t.alpha);
            }
        }
        Some((self.best_primal - self.best_dual).max(0.0) / self.best_dual.abs().max(1.0))
    }

    fn progress(&self, n_iter: usize, gap: f64) -> Progress {
        Progress {
            n_iter,
            dual_objective: self.best_dual,
            kkt_violation: gap,
            ..Progress::starting("ipm", 0)
        }
    }

    /// One iteration. What ends the run is returned: that `poll` gives a status, or that no step is possible.
    fn advance(&mut self, poll: &mut dyn FnMut() -> Option<SolverStatus>) -> Option<SolverStatus> {
        let problem = self.problem;
        let mu = self.centrality();
        self.last_mu = mu;
        let mut stop = None;
        let factor = self.factorise(&mut || {
            stop = poll();
            stop.is_none()
        });
        let Some(factor) = factor else { return stop };
        // Predictor: straight to the optimum.
        self.blocks.each(self.threads, &mut self.terms, |_, t| t.work(problem, Work::AimAtZero));
        self.direction(&factor);
        let affine = self.longest();
        let after: f64 = self.terms.iter().map(|t| t.products_after(problem, affine)).sum::<f64>()
            / self.n_pairs;
        let target = mu * (after / mu).powi(3).clamp(1e-12, 1.0);
        // Corrector: to the central path, with the second-order terms of the predictor.
        self.blocks
            .each(self.threads, &mut self.terms, |_, t| t.work(problem, Work::AimAt(target)));
        let mut step_w = self.direction(&factor);
        let mut step = self.longest();
        for _ in 0..self.correctors {
            let hoped = (step + 0.3).min(1.0);
            let centrality = Centrality { mu: target, step: hoped };
            let extra_w = self.corrector(&factor, centrality);
            let longest = self.terms.iter().map(|t| t.longest_with(problem, centrality));
            let longer = longest.fold(1.0, f64::min);
            if longer < step + 0.03 {
                break;
            }
            let join = Work::Join(centrality);
            self.blocks.each(self.threads, &mut self.terms, |_, t| t.work(problem, join));
            step = longer;
            step_w.iter_mut().zip(&extra_w).for_each(|(a, b)| *a += b);
        }
        self.matrix = factor.into_values();
        let step = (TO_THE_WALL * step).min(1.0);
        if !(step > 1e-10 && step_w.iter().all(|x| x.is_finite())) {
            return Some(SolverStatus::Stalled);
        }
        self.blocks
            .each(self.threads, &mut self.terms, |_, t| t.work(problem, Work::Advance(step)));
        self.w.iter_mut().zip(&step_w).for_each(|(w, d)| *w += step * d);
        None
    }

    /// The factor of the present matrix; `None` if `proceed` said no.
    fn factorise(&mut self, proceed: &mut dyn FnMut() -> bool) -> Option<Factor> {
        let order = self.w.len();
        let mut matrix = std::mem::take(&mut self.matrix);
        if matrix.is_empty() {
            matrix = zeros(order * order);
        } else {
            matrix.fill(0.0);
        }
        for j in 0..order {
            matrix[j * order + j] =
                if j + 1 == order { self.problem.intercept.regulariser() } else { 1.0 };
        }
        // A free intercept has no regulariser of its own to compare with.
        let mut least = NEGLIGIBLE;
        if self.problem.intercept.regulariser() == 0.0 {
            let sum: f64 = self.terms.iter().map(|t| t.sum_of_theta(self.problem)).sum();
            least *= (sum / self.problem.len() as f64).min(1.0);
        }
        let terms = &self.terms;
        let summed = self.normal.sum(
            self.rows,
            self.problem,
            &self.blocks,
            Parameters { terms, norms: &self.norms, least },
            self.threads,
            proceed,
            &mut matrix,
        );
        if summed { Factor::new(matrix, order, proceed) } else { None }
    }

    /// Solves for the direction whose targets have been set and spreads it over the terms.
    fn direction(&mut self, factor: &Factor) -> Vec<f64> {
        let (rows, problem) = (self.rows, self.problem);
        let mut step_w = self.sum_rows(|t| Cow::Borrowed(&t.step.alpha));
        step_w.iter_mut().zip(&self.residual).for_each(|(r, q)| *r += q);
        factor.solve(&mut step_w);
        self.blocks.each(self.threads, &mut self.terms, |range, t| {
            margins(rows, problem, range, &step_w, &mut t.step.margin);
            t.work(problem, Work::Expand);
        });
        step_w
    }

    /// Solves for a centrality corrector of the direction.
    fn corrector(&mut self, factor: &Factor, centrality: Centrality) -> Vec<f64> {
        let (rows, problem) = (self.rows, self.problem);
        let mut extra_w = self.sum_rows(|t| Cow::Owned(t.pull(problem, centrality)));
        factor.solve(&mut extra_w);
        self.blocks.each(self.threads, &mut self.terms, |range, t| {
            margins(rows, problem, range, &extra_w, &mut t.extra);
        });
        extra_w
    }

    /// Longest step up to 1 that keeps everything positive.
    fn longest(&self) -> f64 {
        self.terms.iter().map(|t| t.longest(self.problem)).fold(1.0, f64::min)
    }
}
