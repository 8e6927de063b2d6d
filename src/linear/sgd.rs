//! Gradients of single samples (Bottou, *Stochastic gradient descent tricks*, 2012; Shalev-Shwartz, Singer, Srebro and Cotter,
//! *Pegasos*, Math. Program. 127, 2011), for exactly P: at term k of m the gradient is that of 1/2 |w|^2 + m u_k loss.
//!
//! With steps 1/(t + t0) the weights are an average of the gradients met, so the share of the visits at which a term was in error,
//! times u, makes a dual point; averaged over the epochs it gives the certificate. Weights are kept as a scale times a vector, so that
//! shrinking costs nothing. Iterates are averaged with weights that grow like a power of time.

use super::data::Rows;
use super::interior::Outcome;
use super::norms::squared_norms;
use super::objective::primal;
use super::order::Order;
use super::problem::{Intercept, LinearProblem, Loss};
use super::settings::{LinearSettings, Schedule};
use super::track::{Pace, Track, feasible_dual};
use crate::linalg::simd::{Routine, dispatch};
use crate::observer::Monitor;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// Parts of an epoch; the iterate after each enters the average, and a request to stop is heard.
const PARTS: usize = 16;
/// Power of time in the weights of the averages.
const POWER: f64 = 4.0;
/// Share by which the epochs between two looks at the gap grow.
const BETWEEN_LOOKS: f64 = 0.2;
/// Epochs without progress that are granted.
const GRANTED: usize = 200;
/// Divergent starts that are begun again with shorter steps.
const RESTARTS: i32 = 8;
/// Smallest scale before it is multiplied into the vector.
const SMALLEST_SCALE: f64 = 1e-100;

/// Minimises P from the weights `start`, that of the added feature last.
pub(super) fn solve<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: &[f64],
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Outcome {
    let mut track = Track::new(rows, problem, start.to_vec(), threads);
    let mut run = Run::new(rows, problem, settings, start, threads);
    let mut asked = settings.tol;
    let (mut n_iter, mut next_look, mut restarts) = (0, 1, 0);
    let mut pace = Pace::new(settings.early_stopping);
    let status = 'epochs: loop {
        if settings.max_iter.is_some_and(|most| n_iter >= most) {
            break SolverStatus::MaxIter;
        }
        if let Some(stop) = monitor.poll(|| track.report("sgd", n_iter)) {
            break stop;
        }
        for part in 0..PARTS {
            run.part(part);
            if let Some(stop) = monitor.poll(|| track.report("sgd", n_iter)) {
                break 'epochs stop;
            }
        }
        run.end_epoch();
        n_iter += 1;
        if n_iter < next_look && settings.max_iter != Some(n_iter) {
            continue;
        }
        next_look = n_iter + 1 + (BETWEEN_LOOKS * n_iter as f64) as usize;
        let w = run.weights();
        let value = primal(rows, problem, &w, threads);
        if !(value.is_finite() && track.offer_weights(&w, value)) {
            if settings.schedule == Schedule::Optimal && restarts < RESTARTS {
                restarts += 1;
                run = Run::new(rows, problem, settings, start, threads);
                run.t0 *= 10_f64.powi(restarts);
                continue;
            }
            break SolverStatus::Diverged;
        }
        if settings.average && settings.seen.is_none() {
            let value = primal(rows, problem, &run.mean, threads);
            track.offer_weights(&run.mean, value);
        }
        let (alpha, mut implied, dual) = feasible_dual(rows, problem, run.alpha.clone(), threads);
        track.offer_dual(&alpha, dual);
        if settings.seen.is_none() {
            if problem.intercept == Intercept::Free
                && let (Some(b), Some(own)) = (implied.last_mut(), run.mean.last())
            {
                *b = *own;
            }
            let value = primal(rows, problem, &implied, threads);
            track.offer_weights(&implied, value);
        }
        if track.gap() <= asked {
            if track.certify(rows, problem, threads).relative_gap <= settings.tol {
                break SolverStatus::Optimal;
            }
            asked *= 0.5;
        }
        if pace.is_too_slow(n_iter, track.gap()) {
            break SolverStatus::EarlyStopped;
        }
        if !track.still_moving(n_iter, GRANTED) {
            break SolverStatus::Stalled;
        }
    };
    if settings.seen.is_some() && status != SolverStatus::Diverged {
        track.best.w = run.weights();
    }
    track.end(rows, problem, threads, status, n_iter)
}

struct Run<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    settings: &'a LinearSettings,
    order: Order,
    visits: Vec<u32>,
    /// w = scale * v; the last entry is the added weight, inside the scale only if it is regularised.
    v: Vec<f64>,
    scale: f64,
    t: f64,
    t0: f64,
    mean: Vec<f64>,
    n_snapshots: f64,
    /// Gradients of the losses at the visits of this epoch, over m, and their average over epochs.
    met: Vec<f64>,
    alpha: Vec<f64>,
    epochs: f64,
}

impl<'a, R: Rows> Run<'a, R> {
    fn new(
        rows: &'a R,
        problem: &'a LinearProblem,
        settings: &'a LinearSettings,
        start: &[f64],
        threads: &Threads,
    ) -> Self {
        let m = problem.len();
        let squared = squared_norms(rows, threads, |q| q);
        let feature = problem.intercept.feature();
        // The first step moves no term, on average, by more than its scale.
        let mut stiffness = 0.0;
        for k in 0..m {
            let i = problem.row(k);
            let curved = if problem.loss == Loss::Squared { 2.0 } else { 1.0 };
            stiffness += curved * problem.weight(k) * (squared[i] + feature * feature);
        }
        Self {
            rows,
            problem,
            settings,
            order: Order::new(settings.seed),
            visits: (0..m as u32).collect(),
            v: start.to_vec(),
            scale: 1.0,
            t: settings.seen.unwrap_or(0) as f64,
            t0: stiffness.max(1.0),
            mean: start.to_vec(),
            n_snapshots: 0.0,
            met: vec![0.0; m],
            alpha: vec![0.0; m],
            epochs: 0.0,
        }
    }

    fn weights(&self) -> Vec<f64> {
        let mut w: Vec<f64> = self.v.iter().map(|v| v * self.scale).collect();
        if self.problem.intercept.regulariser() == 0.0 {
            let last = w.len() - 1;
            w[last] = self.v[last];
        }
        w
    }

    /// Visits one part of the terms, in a new order from the first part on.
    fn part(&mut self, part: usize) {
        if part == 0 {
            self.order.shuffle(&mut self.visits);
        }
        let m = self.visits.len();
        let range = m * part / PARTS..m * (part + 1) / PARTS;
        if range.is_empty() {
            return;
        }
        dispatch(Visits { run: self, range });
        if self.settings.average {
            self.n_snapshots += 1.0;
            let share = (POWER + 1.0) / (self.n_snapshots + POWER);
            let w = self.weights();
            self.mean.iter_mut().zip(w).for_each(|(a, w)| *a += share * (w - *a));
        }
    }

    fn end_epoch(&mut self) {
        self.epochs += 1.0;
        let share = (POWER + 1.0) / (self.epochs + POWER);
        self.alpha.iter_mut().zip(&self.met).for_each(|(a, g)| *a += share * (g - *a));
    }
}

struct Visits<'b, 'a, R> {
    run: &'b mut Run<'a, R>,
    range: std::ops::Range<usize>,
}

impl<R: Rows> Routine for Visits<'_, '_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { run, range } = self;
        let Run { rows, problem, settings, visits, v, scale, t, t0, met, .. } = run;
        let (d, m) = (rows.n_features(), visits.len() as f64);
        let feature = problem.intercept.feature();
        let free = problem.intercept.regulariser() == 0.0;
        for &k in &visits[range] {
            let k = k as usize;
            let (i, z, u) = (problem.row(k), problem.sign(k), problem.weight(k));
            *t += 1.0;
            let eta = match settings.schedule {
                Schedule::Optimal => 1.0 / (*t + *t0),
                Schedule::Constant => settings.eta0,
                Schedule::InverseScaling => settings.eta0 / t.powf(settings.power_t),
            };
            let own = if free { v[d] } else { *scale * v[d] };
            let f = *scale * rows.dot::<FMA>(i, &v[..d]) + own * feature;
            let lack = problem.offset(k) - z * f;
            let slope = match problem.loss {
                Loss::Linear if lack > 0.0 => u,
                Loss::Linear => 0.0,
                Loss::Squared => 2.0 * u * lack.max(0.0),
            };
            met[k] = slope;
            *scale *= 1.0 - eta;
            if !(scale.abs() > SMALLEST_SCALE) {
                let inside = if free { d } else { d + 1 };
                v[..inside].iter_mut().for_each(|v| *v *= *scale);
                *scale = 1.0;
            }
            if slope != 0.0 {
                let step = eta * m * slope * z;
                rows.axpy::<FMA>(i, step / *scale, &mut v[..d]);
                v[d] += feature * if free { step } else { step / *scale };
            }
        }
    }
}
