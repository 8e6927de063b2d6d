//! Full gradients.
//!
//! The textbook method is the subgradient step w := w - eta g of constant length. The default minimises the smoothed loss
//!
//! ```text
//! max over 0 <= a <= 1 of ( a v - h a^2 / 2 ),
//! ```
//!
//! which lies within h/2 below max(0, v) (Nesterov, *Smooth minimization of non-smooth functions*, Math. Program. 103, 2005), along
//! quasi-Newton directions of limited memory (Liu and Nocedal, Math. Program. 45, 1989) with exact line searches, and lets h fall as
//! soon as the smoothing costs more than what the minimisation lacks. The maximising a, times u, is the dual point.

use super::blocks::{Blocks, add_rows, margins};
use super::data::Rows;
use super::interior::Outcome;
use super::objective::{loss, regulariser};
use super::problem::{LinearProblem, Loss};
use super::settings::{LinearSettings, Schedule};
use super::track::{Pace, Track};
use crate::linalg::vector::{axpy, dot};
use crate::observer::Monitor;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// Pairs that the quasi-Newton method remembers.
const MEMORY: usize = 10;
/// Factor of h, and the share of the gap that the minimisation may lack when h falls.
const SHRINK: f64 = 0.3;
const INEXACT: f64 = 0.3;
/// Epochs without progress that are granted.
const GRANTED: usize = 1000;

/// Minimises P from the weights `start`, that of the added feature last.
pub(super) fn solve<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: Vec<f64>,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Outcome {
    let mut track = Track::new(rows, problem, start.clone(), threads);
    let mut method = Method::new(rows, problem, start, threads);
    let textbook = settings.schedule != Schedule::Optimal;
    let mut asked = settings.tol;
    let mut n_iter = 0;
    let mut pace = Pace::new(settings.early_stopping);
    let status = loop {
        let width = if textbook { 0.0 } else { method.width };
        let values = method.evaluate(width);
        if !(track.offer_weights(&method.w, values.primal) && values.primal.is_finite()) {
            break SolverStatus::Diverged;
        }
        track.offer_dual(&method.alpha, values.dual);
        if track.gap() <= asked {
            if track.certify(rows, problem, threads).relative_gap <= settings.tol {
                break SolverStatus::Optimal;
            }
            asked *= 0.3;
        }
        if settings.max_iter.is_some_and(|most| n_iter >= most) {
            break SolverStatus::MaxIter;
        }
        if !track.still_moving(n_iter, GRANTED) {
            break SolverStatus::Stalled;
        }
        if pace.is_too_slow(n_iter, track.gap()) {
            break SolverStatus::EarlyStopped;
        }
        if let Some(stop) = monitor.poll(|| track.report("gd", n_iter)) {
            break stop;
        }
        n_iter += 1;
        if textbook {
            let rate = match settings.schedule {
                Schedule::InverseScaling => settings.eta0 / (n_iter as f64).powf(settings.power_t),
                _ => settings.eta0,
            };
            method.step_of(rate);
            continue;
        }
        let finished = values.smooth_gap <= INEXACT * (values.primal - values.dual);
        if problem.loss == Loss::Linear && finished {
            method.width *= SHRINK;
            method.memory.clear();
            method.evaluate(method.width);
        }
        if !method.quasi_newton() {
            // Not even the gradient leads down: at this width the minimum is reached to rounding.
            if problem.loss == Loss::Squared || method.width < f64::EPSILON {
                break SolverStatus::Stalled;
            }
            method.width *= SHRINK;
            method.memory.clear();
        }
    };
    track.end(rows, problem, threads, status, n_iter)
}

/// What the objective and its dual are worth at the present point.
struct Values {
    primal: f64,
    dual: f64,
    /// Gap of the smoothed problem.
    smooth_gap: f64,
}

/// A step, the change of the gradient, and 1 over their product.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    weight: f64,
}

struct Method<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    threads: &'a Threads,
    blocks: Blocks,
    w: Vec<f64>,
    margin: Vec<f64>,
    alpha: Vec<f64>,
    gradient: Vec<f64>,
    width: f64,
    memory: Vec<Pair>,
}

impl<'a, R: Rows> Method<'a, R> {
    fn new(rows: &'a R, problem: &'a LinearProblem, w: Vec<f64>, threads: &'a Threads) -> Self {
        let size =
            (0..problem.len()).map(|k| problem.offset(k).abs()).sum::<f64>() / problem.len() as f64;
        let mut method = Self {
            rows,
            problem,
            threads,
            blocks: Blocks::new(rows, problem),
            gradient: vec![0.0; w.len()],
            margin: vec![0.0; problem.len()],
            alpha: vec![0.0; problem.len()],
            width: size.max(f64::MIN_POSITIVE.sqrt()),
            memory: Vec::new(),
            w,
        };
        method.margin = method.products(&method.w);
        method
    }

    /// z f(x) of all terms for some weights.
    fn products(&self, w: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.problem.len()];
        let mut parts = self.blocks.cut(&mut out);
        self.blocks.each(self.threads, &mut parts, |range, part| {
            margins(self.rows, self.problem, range, w, part);
        });
        out
    }

    /// Dual point, gradient and values for a smoothing of `width`.
    fn evaluate(&mut self, width: f64) -> Values {
        let problem = self.problem;
        let (mut primal, mut smooth, mut linear, mut diagonal) = (0.0, 0.0, 0.0, 0.0);
        let mut steepest = 0.0_f64;
        for k in 0..problem.len() {
            let (u, c) = (problem.weight(k), problem.offset(k));
            let v = c - self.margin[k];
            steepest = steepest.max(v.abs());
            let a = slope(problem.loss, u, v, width);
            self.alpha[k] = a;
            primal += loss(problem.loss, u, v);
            smooth += match problem.loss {
                Loss::Linear => 0.5 * width * a * a / u,
                Loss::Squared => 0.0,
            };
            linear += c * a;
            diagonal += 0.5 * problem.diagonal(k) * a * a;
        }
        let (rows, alpha) = (self.rows, &self.alpha);
        let mut parts = vec![Vec::new(); self.blocks.len()];
        self.blocks.each(self.threads, &mut parts, |range, part| {
            *part = vec![0.0; self.w.len()];
            add_rows(rows, problem, range.clone(), &alpha[range], part);
        });
        let mut implied = vec![0.0; self.w.len()];
        for part in &parts {
            axpy(1.0, part, &mut implied);
        }
        let last = self.w.len() - 1;
        for (j, g) in self.gradient.iter_mut().enumerate() {
            let r = if j == last { problem.intercept.regulariser() } else { 1.0 };
            *g = r * self.w[j] - implied[j];
        }
        // Balancing will cost at most about what the equality lacks times the steepest slope.
        let free = problem.intercept.regulariser() == 0.0;
        let lack = if free { implied[last].abs() * (steepest + self.w[last].abs()) } else { 0.0 };
        let own = regulariser(problem, &self.w);
        let dual = linear - regulariser(problem, &implied) - diagonal - lack;
        // Smoothing lowers the primal sum and the dual value by the same amount where they meet.
        let smooth_primal = own + linear - dot(&self.alpha, &self.margin) - smooth - diagonal;
        Values { primal: own + primal, dual, smooth_gap: smooth_primal - (dual - smooth) }
    }

    /// w := w - eta g.
    fn step_of(&mut self, eta: f64) {
        axpy(-eta, &self.gradient, &mut self.w);
        self.margin = self.products(&self.w);
    }

    /// One quasi-Newton step; false if the objective does not fall along the direction.
    fn quasi_newton(&mut self) -> bool {
        let mut direction = self.direction();
        if dot(&direction, &self.gradient) >= 0.0 {
            self.memory.clear();
            direction = self.direction();
        }
        let change = self.products(&direction);
        let Some(t) = self.line_search(&direction, &change) else {
            let retry = !self.memory.is_empty();
            self.memory.clear();
            return retry;
        };
        let before = self.gradient.clone();
        axpy(t, &direction, &mut self.w);
        axpy(t, &change, &mut self.margin);
        self.evaluate(self.width);
        let step: Vec<f64> = direction.iter().map(|p| t * p).collect();
        let change: Vec<f64> = self.gradient.iter().zip(&before).map(|(a, b)| a - b).collect();
        let product = dot(&step, &change);
        if product > 0.0 {
            if self.memory.len() == MEMORY {
                self.memory.remove(0);
            }
            self.memory.push(Pair { step, change, weight: 1.0 / product });
        }
        true
    }

    /// The two-loop recursion.
    fn direction(&self) -> Vec<f64> {
        let mut p: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.memory.len());
        for pair in self.memory.iter().rev() {
            let share = pair.weight * dot(&pair.step, &p);
            axpy(-share, &pair.change, &mut p);
            shares.push(share);
        }
        if let Some(pair) = self.memory.last() {
            let scale = 1.0 / (pair.weight * dot(&pair.change, &pair.change));
            for p in &mut p {
                *p *= scale;
            }
        }
        for (pair, share) in self.memory.iter().zip(shares.iter().rev()) {
            let other = pair.weight * dot(&pair.change, &p);
            axpy(share - other, &pair.step, &mut p);
        }
        p
    }

    /// Slope of the smoothed objective at t along a direction, and the slope's own slope.
    fn slopes(&self, linear: f64, quadratic: f64, change: &[f64], t: f64) -> (f64, f64) {
        let problem = self.problem;
        let (mut first, mut second) = (linear + t * quadratic, quadratic);
        for k in 0..problem.len() {
            let (u, dm) = (problem.weight(k), change[k]);
            let v = problem.offset(k) - self.margin[k] - t * dm;
            first -= slope(problem.loss, u, v, self.width) * dm;
            second += dm * dm * curvature(problem.loss, u, v, self.width);
        }
        (first, second)
    }

    /// The minimum along a direction: root of a slope that is piecewise linear and rises, by Newton's method kept within a bracket.
    fn line_search(&self, direction: &[f64], change: &[f64]) -> Option<f64> {
        let last = self.w.len() - 1;
        let weight = self.problem.intercept.regulariser();
        let part = |x: &[f64], y: &[f64]| dot(&x[..last], &y[..last]) + weight * x[last] * y[last];
        let (linear, quadratic) = (part(&self.w, direction), part(direction, direction));
        let (start, _) = self.slopes(linear, quadratic, change, 0.0);
        if !(start < 0.0) {
            return None;
        }
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut t = 1.0;
        for _ in 0..60 {
            let (first, second) = self.slopes(linear, quadratic, change, t);
            if first.abs() <= 1e-3 * start.abs() {
                break;
            }
            if first > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let newton = t - first / second;
            let inside = newton > low && newton < high && newton.is_finite();
            t = match (inside, high.is_finite()) {
                (true, _) => newton,
                (false, true) => 0.5 * (low + high),
                (false, false) => 4.0 * t,
            };
        }
        (t > 0.0 && t.is_finite()).then_some(t)
    }
}

/// Slope of the smoothed loss at v: the dual variable.
#[inline(always)]
fn slope(kind: Loss, u: f64, v: f64, width: f64) -> f64 {
    match kind {
        Loss::Squared => 2.0 * u * v.max(0.0),
        Loss::Linear if v <= 0.0 => 0.0,
        Loss::Linear if v >= width => u,
        Loss::Linear => u * v / width,
    }
}

#[inline(always)]
fn curvature(kind: Loss, u: f64, v: f64, width: f64) -> f64 {
    match kind {
        Loss::Squared if v > 0.0 => 2.0 * u,
        Loss::Linear if v > 0.0 && v < width => u / width,
        _ => 0.0,
    }
}
