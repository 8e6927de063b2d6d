//! Descent in one dual variable at a time, in a new random order every epoch, with shrinking (Hsieh, Chang, Lin, Keerthi and
//! Sundararajan, *A dual coordinate descent method for large-scale linear SVM*, ICML 2008); without a limit on the epochs, and
//! stopped by the duality gap.
//!
//! A free intercept brings the equality sum a z = 0, which single variables cannot keep. It is the multiplier of that equality: the method
//! descends on the augmented Lagrangian D(a) - 1/2 sigma (sum a z)^2 and moves b by sigma sum a z after every epoch.

use super::blocks::{Blocks, margins};
use super::certificate::certify;
use super::data::Rows;
use super::fit::Point;
use super::interior::Outcome;
use super::looks::Looks;
use super::norms::squared_norms;
use super::objective::{loss, primal, regulariser};
use super::order::Order;
use super::problem::{Intercept, LinearProblem};
use super::settings::LinearSettings;
use super::track::{Pace, feasible_dual};
use crate::linalg::compensated::Sum;
use crate::linalg::simd::{Routine, dispatch};
use crate::observer::{Monitor, Progress};
use crate::status::SolverStatus;
use crate::threads::Threads;

/// Spread of the slopes below which an epoch has nothing left to do.
const NOTHING: f64 = 1e-15;
/// Multiply-adds between two looks at the clock.
const BETWEEN_POLLS: usize = 1 << 26;
/// Visits between the announcement of a sample and its own.
const AHEAD: usize = 6;
/// Steps over which the fall of the gap is measured.
const WINDOW: usize = 7;
/// Most passes that may still be needed, by the fall of the gap so far, as a share of the budget.
const STILL_NEEDED: f64 = 0.5;

/// Maximises D from a = 0. `budget` is what another method would cost, in passes over the samples: once so many are spent, or half as many
/// would still be needed, the method gives up with status [`SolverStatus::Unsolved`].
pub(super) fn solve<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: Vec<f64>,
    budget: Option<f64>,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Outcome {
    match rows.without_zeros(threads) {
        Some(copy) => descend(&copy.rows(), problem, settings, start, budget, threads, monitor),
        None => descend(rows, problem, settings, start, budget, threads, monitor),
    }
}

fn descend<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: Vec<f64>,
    budget: Option<f64>,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Outcome {
    let mut descent = Descent::new(rows, problem, settings.seed, &start, threads);
    let mut best = Point { w: start, alpha: vec![0.0; problem.len()] };
    let mut best_primal = primal(rows, problem, &best.w, threads);
    let mut best_dual = 0.0_f64;
    let mut asked = settings.tol;
    let (mut n_iter, mut looks) = (0, Looks::new());
    let mut trace: Vec<(f64, f64)> = Vec::new();
    let (mut gap, mut scale) = (f64::INFINITY, 1.0);
    let mut status = SolverStatus::MaxIter;
    let mut pace = Pace::new(settings.early_stopping && budget.is_none());
    'epochs: while settings.max_iter.is_none_or(|most| n_iter < most) {
        let progress = || Progress {
            n_iter,
            dual_objective: best_dual,
            kkt_violation: gap,
            ..Progress::starting("dcd", 0)
        };
        descent.begin();
        while !descent.pass() {
            if let Some(stop) = monitor.poll(progress) {
                status = stop;
                break 'epochs;
            }
        }
        let settled = descent.end();
        if let Some(stop) = monitor.poll(progress) {
            status = stop;
            break;
        }
        n_iter += 1;
        let is_step = looks.is_step(n_iter);
        if is_step {
            scale = descent.dual().abs().max(1.0);
        }
        looks.note(descent.met / scale);
        if is_step {
            trace.push((descent.passes(), looks.gap()));
        }
        if is_step && budget.is_some_and(|most| hopeless(&trace, asked, most)) {
            status = SolverStatus::Unsolved;
            break;
        }
        let last = settings.max_iter == Some(n_iter);
        let too_slow = is_step && pace.is_too_slow(n_iter, looks.gap());
        if !(looks.is_due(n_iter, asked) || settled || last || too_slow) {
            continue;
        }
        let value = descent.look(threads);
        if value < best_primal {
            best_primal = value;
            best.w.clone_from(&descent.w);
        }
        let (alpha, dual) = if problem.intercept == Intercept::Free {
            let (alpha, _, dual) = feasible_dual(rows, problem, descent.alpha.clone(), threads);
            (Some(alpha), dual)
        } else {
            (None, descent.dual())
        };
        if dual > best_dual {
            best_dual = dual;
            match alpha {
                Some(alpha) => best.alpha = alpha,
                None => best.alpha.clone_from(&descent.alpha),
            }
        }
        gap = (best_primal - best_dual).max(0.0) / best_dual.abs().max(1.0);
        looks.found(n_iter, gap);
        if gap <= asked {
            let certificate = certify(rows, problem, &best.w, &mut best.alpha, threads);
            if certificate.relative_gap <= settings.tol {
                let point = best;
                return Outcome { point, certificate, status: SolverStatus::Optimal, n_iter };
            }
            // The dual point is another one now: the best multiple of it.
            best_dual = certificate.dual_objective;
            asked *= 0.3;
        }
        if settled && !descent.has_violators {
            status = SolverStatus::Stalled;
            break;
        }
        if too_slow {
            status = SolverStatus::EarlyStopped;
            break;
        }
    }
    let certificate = certify(rows, problem, &best.w, &mut best.alpha, threads);
    Outcome { point: best, certificate, status, n_iter }
}

/// Whether the gap, falling as it did over the last steps, takes too many more passes to `tol`.
fn hopeless(trace: &[(f64, f64)], tol: f64, most: f64) -> bool {
    let Some(&(now, gap)) = trace.last() else { return false };
    if now >= most {
        return true;
    }
    if trace.len() < 4 {
        return false;
    }
    let (before, earlier) = trace[trace.len().saturating_sub(WINDOW)];
    let gap = gap.max(tol);
    let rate = (earlier / gap).ln() / (now - before);
    (gap / tol).ln() > STILL_NEEDED * most * rate
}

struct Descent<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    order: Order,
    active: Vec<u32>,
    n_active: usize,
    alpha: Vec<f64>,
    /// Weights, the added one last; for a free intercept that is b itself.
    w: Vec<f64>,
    curvature: Vec<f64>,
    /// What a change of a times z adds to the last weight.
    sigma: f64,
    /// Largest and smallest projected slope of the last epoch.
    bounds: (f64, f64),
    /// How far the epoch is: the next active variable, and the slopes so far.
    place: usize,
    slopes: (f64, f64),
    /// Variables between two looks at the clock.
    stride: usize,
    /// Variables visited so far, those left out by shrinking not counted.
    n_visited: usize,
    /// Blocks of terms, for the looks.
    blocks: Blocks,
    /// Whether the last look found a variable that was set aside wrongly.
    has_violators: bool,
    /// The gap, as far as this pass met it: sum of loss(v) - (a v - delta/2 a^2), v what is missing to the margin. No term is negative, and
    /// those of the variables that are rightly set aside are 0.
    met: f64,
}

impl<'a, R: Rows> Descent<'a, R> {
    fn new(
        rows: &'a R,
        problem: &'a LinearProblem,
        seed: u64,
        start: &[f64],
        threads: &Threads,
    ) -> Self {
        let squared = squared_norms(rows, threads, |q| q);
        let feature = problem.intercept.feature();
        let free = problem.intercept == Intercept::Free;
        let mean = (0..problem.len()).map(|k| squared[problem.row(k)]).sum::<f64>();
        let mean = mean / problem.len().max(1) as f64;
        // Where the samples are tiny, b must still come as far as one unit when all terms pull.
        let all: f64 = (0..problem.len()).map(|k| problem.weight(k)).sum();
        let sigma = if free { mean.max(1.0 / all) } else { feature };
        let added = if free { sigma } else { feature * feature };
        let curvature = (0..problem.len())
            .map(|k| squared[problem.row(k)] + added + problem.diagonal(k))
            .collect();
        let entries: usize = (0..problem.len()).map(|k| rows.stored(problem.row(k)) + 1).sum();
        let stride = BETWEEN_POLLS / (entries / problem.len().max(1)).max(1) + 1;
        let mut w = vec![0.0; start.len()];
        if free && let (Some(b), Some(b0)) = (w.last_mut(), start.last()) {
            *b = *b0;
        }
        Self {
            rows,
            problem,
            order: Order::new(seed),
            active: (0..problem.len() as u32).collect(),
            n_active: problem.len(),
            alpha: vec![0.0; problem.len()],
            w,
            curvature,
            sigma,
            bounds: (f64::INFINITY, f64::NEG_INFINITY),
            place: 0,
            slopes: (f64::NEG_INFINITY, f64::INFINITY),
            stride,
            n_visited: 0,
            blocks: Blocks::new(rows, problem),
            has_violators: false,
            met: 0.0,
        }
    }

    /// Begins a pass over the active variables in a new order.
    fn begin(&mut self) {
        self.order.shuffle(&mut self.active[..self.n_active]);
        self.place = 0;
        self.met = 0.0;
        self.slopes = (f64::NEG_INFINITY, f64::INFINITY);
    }

    /// Goes on with the pass; true at its end.
    fn pass(&mut self) -> bool {
        dispatch(Pass { descent: self });
        self.place >= self.n_active
    }

    /// Ends the pass; true if the active variables are optimal among themselves.
    fn end(&mut self) -> bool {
        let (high, low) = self.slopes;
        let mut moved = 0.0_f64;
        if self.problem.intercept == Intercept::Free {
            let terms = self.alpha.iter().enumerate();
            let imbalance: f64 = terms.map(|(k, a)| a * self.problem.sign(k)).sum();
            moved = self.sigma * imbalance;
            if let Some(b) = self.w.last_mut() {
                *b += moved;
            }
        }
        self.bounds = (
            if high > 0.0 { high } else { f64::INFINITY },
            if low < 0.0 { low } else { f64::NEG_INFINITY },
        );
        // Slopes that are all equal are not zero.
        high.max(0.0) - low.min(0.0) <= NOTHING && moved.abs() <= NOTHING
    }

    /// P where the descent stands. The decision values that this takes tell which variables were set aside wrongly: these are active
    /// again.
    fn look(&mut self, threads: &Threads) -> f64 {
        let (rows, problem) = (self.rows, self.problem);
        let mut values = vec![0.0; problem.len()];
        let mut parts = self.blocks.cut(&mut values);
        self.blocks.each(threads, &mut parts, |range, part| {
            margins(rows, problem, range, &self.w, part);
        });
        let mut sum = Sum::default();
        sum.add(regulariser(problem, &self.w));
        for (k, m) in values.iter().enumerate() {
            sum.add(loss(problem.loss, problem.weight(k), problem.offset(k) - m));
        }
        let mut end = self.n_active;
        for s in self.n_active..self.active.len() {
            let k = self.active[s] as usize;
            let a = self.alpha[k];
            let slope = values[k] - problem.offset(k) + problem.diagonal(k) * a;
            if if a == 0.0 { slope < 0.0 } else { a < problem.upper(k) || slope > 0.0 } {
                self.active.swap(s, end);
                end += 1;
            }
        }
        self.has_violators = end > self.n_active;
        self.n_active = end;
        sum.value()
    }

    /// Visits so far in passes over all variables.
    fn passes(&self) -> f64 {
        self.n_visited as f64 / self.alpha.len().max(1) as f64
    }

    /// D, where no equality has to be kept.
    fn dual(&self) -> f64 {
        let problem = self.problem;
        let mut linear = 0.0;
        for (k, a) in self.alpha.iter().enumerate() {
            linear += problem.offset(k) * a - 0.5 * problem.diagonal(k) * a * a;
        }
        linear - regulariser(problem, &self.w)
    }
}

struct Pass<'b, 'a, R> {
    descent: &'b mut Descent<'a, R>,
}

impl<R: Rows> Routine for Pass<'_, '_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let descent = self.descent;
        let (until, mut s) = (descent.place + descent.stride, descent.place);
        let Descent { rows, problem, active, n_active, alpha, w, curvature, sigma, bounds, .. } =
            descent;
        let mut met = 0.0;
        let d = rows.n_features();
        let feature = problem.intercept.feature();
        let (mut high, mut low) = descent.slopes;
        let mut end = *n_active;
        while s < end.min(until) {
            let k = active[s] as usize;
            if let Some(&soon) = active.get(s + AHEAD) {
                rows.announce(problem.row(soon as usize));
            }
            let (i, z, a, u) = (problem.row(k), problem.sign(k), alpha[k], problem.upper(k));
            let f = rows.dot::<FMA>(i, &w[..d]) + w[d] * feature;
            let slope = z * f - problem.offset(k) + problem.diagonal(k) * a;
            // Variables at a bound that the slope presses against it are set aside.
            let projected = if a == 0.0 {
                if slope > bounds.0 {
                    end -= 1;
                    active.swap(s, end);
                    continue;
                }
                slope.min(0.0)
            } else if a >= u {
                if slope < bounds.1 {
                    end -= 1;
                    active.swap(s, end);
                    continue;
                }
                slope.max(0.0)
            } else {
                slope
            };
            let missing = problem.offset(k) - z * f;
            met += loss(problem.loss, problem.weight(k), missing)
                - a * (missing - 0.5 * problem.diagonal(k) * a);
            high = high.max(projected);
            low = low.min(projected);
            if projected.abs() > 1e-16 && curvature[k] > 0.0 {
                let new = (a - slope / curvature[k]).max(0.0).min(u);
                let change = (new - a) * z;
                alpha[k] = new;
                rows.axpy::<FMA>(i, change, &mut w[..d]);
                w[d] += *sigma * change;
            } else if curvature[k] == 0.0 && slope < 0.0 {
                // A sample without any feature: its bound is its optimum.
                alpha[k] = u;
            }
            s += 1;
        }
        *n_active = end;
        descent.n_visited += s - descent.place;
        descent.place = s;
        descent.met += met;
        descent.slopes = (high, low);
    }
}
