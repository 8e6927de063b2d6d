//! Which method runs where none is asked for: what it will cost, counted in operations and not in seconds, so that the choice is the
//! same on every machine and for every number of threads.

use super::data::Rows;
use super::dual_descent;
use super::interior::{self, Outcome};
use super::problem::LinearProblem;
use super::settings::LinearSettings;
use crate::observer::Monitor;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// Largest order of the interior-point method's matrix.
const LARGEST_ORDER: usize = 6000;
/// Iterations that the interior-point method is expected to take.
const ITERATIONS: f64 = 20.0;
/// Passes of dual descent that the interior-point method must cost for the first to be tried.
const WORTH_A_TRY: f64 = 13.0;

/// Tolerances below the first number are tight: dual descent, whose last digits are slow where the interior-point method gets twice as many
/// with every iteration, has this share of its cost.
const TIGHT: (f64, f64) = (1e-8, 0.15);

/// A multiply-add of a matrix product, whose operands are in the processor's cache.
const BLOCKED: f64 = 0.125;
/// Bytes of samples and variables that no cache holds, and what a visit to a random one of them costs more, in the units below.
const FAR: f64 = 16e6;
const FAR_VISIT: f64 = 300.0;

/// Cost of an epoch of dual descent and of an iteration of the interior-point method, in units of one dense multiply-add.
fn costs<R: Rows>(rows: &R, problem: &LinearProblem) -> (f64, f64) {
    let order = (rows.n_features() + 1) as f64;
    let (mut entries, mut squares) = (0.0, 0.0);
    for k in 0..problem.len() {
        let stored = (rows.stored(problem.row(k)) + 1) as f64;
        entries += stored;
        squares += stored * stored;
    }
    let terms = problem.len() as f64;
    let (gather, outer) = if R::SPARSE { (20.0, 10.0) } else { (5.0, BLOCKED) };
    let far = if 8.0 * entries + 40.0 * terms > FAR { FAR_VISIT } else { 0.0 };
    let epoch = gather * entries + (150.0 + far) * terms;
    let iteration = 0.5 * outer * squares
        + BLOCKED * order.powi(3) / 2.0
        + gather * 3.0 * entries
        + 800.0 * terms;
    (epoch, iteration)
}

/// Dual descent while that promises to be cheaper, else the interior-point method.
pub(super) fn solve<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    start: Vec<f64>,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> (&'static str, Outcome) {
    if rows.n_features() >= LARGEST_ORDER {
        let outcome = dual_descent::solve(rows, problem, settings, start, None, threads, monitor);
        return ("dcd", outcome);
    }
    let (epoch, iteration) = costs(rows, problem);
    let interior_cost = ITERATIONS * iteration / epoch;
    if interior_cost >= WORTH_A_TRY {
        let share = if settings.tol < TIGHT.0 { TIGHT.1 } else { 1.0 };
        let budget = share * interior_cost;
        let outcome = dual_descent::solve(
            rows,
            problem,
            settings,
            start.clone(),
            Some(budget),
            threads,
            monitor,
        );
        if !matches!(outcome.status, SolverStatus::Unsolved | SolverStatus::Stalled) {
            return ("dcd", outcome);
        }
    }
    ("ipm", interior::solve(rows, problem, settings, start, threads, monitor))
}
