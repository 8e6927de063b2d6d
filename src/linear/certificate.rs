//! The certificate of a linear model: its primal value, a dual value from a feasible dual point, and their gap.
//!
//! ```text
//! D(a) = sum_k c_k a_k - 1/2 | sum_k a_k z_k x_k |^2 - 1/2 sum_k delta_k a_k^2,   0 <= a_k <= upper_k,   sum_k a_k z_k = 0
//! ```
//!
//! (the equality only where the intercept is free; delta = 1/(2u) for squared losses, whose upper bound is infinite). Any feasible a
//! gives D(a) <= P(w, b) for any (w, b). Nothing here is shared with a solver beyond the products with the samples.

use super::blocks::{Blocks, margins};
use super::data::Rows;
use super::norms::squared_norm;
use super::objective::{best_multiple, primal, regulariser};
use super::problem::{Intercept, LinearProblem, Loss};
use crate::linalg::compensated::Sum;
use crate::threads::Threads;

/// The quality of a pair of a primal and a dual point.
#[derive(Clone, Debug)]
pub struct LinearCertificate {
    /// P(w, b), an upper bound of the optimal value.
    pub primal_objective: f64,
    /// D(a), a lower bound of it.
    pub dual_objective: f64,
    /// P - D.
    pub duality_gap: f64,
    /// The gap over max(1, |D|).
    pub relative_gap: f64,
    /// Largest |a_k - clip(a_k - g_k)| in units of the decision function, g_k the slope of the dual at (w, b): zero exactly where all
    /// optimality conditions hold.
    pub kkt_violation: f64,
    /// |sum a_k z_k| where the intercept is free.
    pub equality_residual: f64,
    /// Relative gap that the rounding of float64 leaves.
    pub precision_floor: f64,
    /// Dual variables strictly between their bounds.
    pub n_free: usize,
    /// Dual variables at their upper bound.
    pub n_bounded: usize,
}

/// Share of the upper bound within which a dual variable counts as being at an end.
const AT_AN_END: f64 = 1e-6;

/// Moves `alpha` to a feasible point close by: into its box, no sample pulled both ways, and onto the equality if there is one.
pub fn make_feasible(problem: &LinearProblem, alpha: &mut [f64]) {
    for (k, a) in alpha.iter_mut().enumerate() {
        // A number that is not one becomes zero.
        *a = a.max(0.0).min(problem.upper(k));
    }
    for k in 1..alpha.len() {
        if problem.row(k) == problem.row(k - 1) {
            let both = alpha[k].min(alpha[k - 1]);
            alpha[k] -= both;
            alpha[k - 1] -= both;
        }
    }
    if problem.intercept == Intercept::Free {
        balance(problem, alpha);
    }
}

/// Scales the heavier side down to the weight of the lighter, and takes what rounding leaves from its largest variable.
fn balance(problem: &LinearProblem, alpha: &mut [f64]) {
    let (mut plus, mut minus) = (Sum::default(), Sum::default());
    for (k, a) in alpha.iter().enumerate() {
        if problem.sign(k) > 0.0 { plus.add(*a) } else { minus.add(*a) }
    }
    let (plus, minus) = (plus.value(), minus.value());
    if plus == minus {
        return;
    }
    let heavier = if plus > minus { 1.0 } else { -1.0 };
    let ratio = plus.min(minus) / plus.max(minus);
    let mut largest = None;
    for (k, a) in alpha.iter_mut().enumerate() {
        if problem.sign(k) == heavier {
            *a *= ratio;
            if largest.is_none_or(|(_, value)| *a > value) {
                largest = Some((k, *a));
            }
        }
    }
    if let Some((k, _)) = largest {
        for _ in 0..3 {
            let excess = equality(problem, alpha);
            alpha[k] = (alpha[k] - heavier * excess).clamp(0.0, problem.upper(k));
        }
    }
}

/// sum a_k z_k.
fn equality(problem: &LinearProblem, alpha: &[f64]) -> f64 {
    let mut sum = Sum::default();
    alpha.iter().enumerate().for_each(|(k, a)| sum.add(a * problem.sign(k)));
    sum.value()
}

/// sum a_k z_k x_k, every entry with its rounding error carried along.
fn weights<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    blocks: &Blocks,
    alpha: &[f64],
    threads: &Threads,
) -> Vec<f64> {
    let d = rows.n_features();
    let mut parts = vec![Vec::new(); blocks.len()];
    blocks.each(threads, &mut parts, |range, part| {
        *part = vec![Sum::default(); d + 1];
        for k in range {
            let a = alpha[k] * problem.sign(k);
            if a != 0.0 {
                rows.entries(problem.row(k), |j, x| part[j].add_product(a, x));
                part[d].add_product(a, problem.intercept.feature());
            }
        }
    });
    (0..=d)
        .map(|j| {
            let mut total = Sum::default();
            for part in &parts {
                let (high, low) = part[j].parts();
                total.add(high);
                total.add(low);
            }
            total.value()
        })
        .collect()
}

/// Judges weights `w` (that of the added feature last) and dual variables. `alpha` is made feasible first, and scaled down where that
/// raises the dual value.
pub fn certify<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    w: &[f64],
    alpha: &mut [f64],
    threads: &Threads,
) -> LinearCertificate {
    make_feasible(problem, alpha);
    let blocks = Blocks::new(rows, problem);
    let implied = weights(rows, problem, &blocks, alpha, threads);
    let (mut linear, mut diagonal) = (Sum::default(), Sum::default());
    for (k, a) in alpha.iter().enumerate() {
        linear.add_product(problem.offset(k), *a);
        diagonal.add(0.5 * problem.diagonal(k) * a * a);
    }
    let (linear, quadratic) = (linear.value(), regulariser(problem, &implied) + diagonal.value());
    let (scale, dual_objective) = best_multiple(linear, quadratic);
    if scale < 1.0 {
        for a in alpha.iter_mut() {
            *a *= scale;
        }
    }
    let primal_objective = primal(rows, problem, w, threads);
    let duality_gap = primal_objective - dual_objective;
    let magnitude = dual_objective.abs().max(1.0);
    let (kkt_violation, n_free, n_bounded) = conditions(rows, problem, &blocks, w, alpha, threads);
    LinearCertificate {
        primal_objective,
        dual_objective,
        duality_gap,
        // What is not a number is no gap of 0.
        relative_gap: if duality_gap.is_nan() {
            f64::INFINITY
        } else {
            duality_gap.max(0.0) / magnitude
        },
        kkt_violation,
        equality_residual: if problem.intercept == Intercept::Free {
            equality(problem, alpha).abs()
        } else {
            0.0
        },
        precision_floor: floor(rows, problem, &blocks, w, alpha, primal_objective, threads)
            / magnitude,
        n_free,
        n_bounded,
    }
}

/// Violation, free and bounded variables.
fn conditions<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    blocks: &Blocks,
    w: &[f64],
    alpha: &[f64],
    threads: &Threads,
) -> (f64, usize, usize) {
    let mut parts = vec![(0.0_f64, 0, 0); blocks.len()];
    blocks.each(threads, &mut parts, |range, part| {
        let mut values = vec![0.0; range.len()];
        margins(rows, problem, range.clone(), w, &mut values);
        for (k, m) in range.zip(values) {
            let (a, upper, u) = (alpha[k], problem.upper(k), problem.weight(k));
            let slope = m + problem.diagonal(k) * a - problem.offset(k);
            part.0 = part.0.max((a - (a - slope).max(0.0).min(upper)).abs());
            if problem.loss == Loss::Linear && a >= (1.0 - AT_AN_END) * u {
                part.2 += 1;
            } else if a > AT_AN_END * u {
                part.1 += 1;
            }
        }
    });
    parts.into_iter().fold((0.0, 0, 0), |(v, f, b), p| (f64::max(v, p.0), f + p.1, b + p.2))
}

/// Size of the rounding errors in P: every decision value carries an error of some units in the last place of |x| |w|.
fn floor<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    blocks: &Blocks,
    w: &[f64],
    alpha: &[f64],
    primal_objective: f64,
    threads: &Threads,
) -> f64 {
    let features = &w[..rows.n_features()];
    let norm = features.iter().map(|w| w * w).sum::<f64>().sqrt();
    let feature = problem.intercept.feature() * w[rows.n_features()];
    let mut sums = vec![0.0; blocks.len()];
    blocks.each(threads, &mut sums, |range, sum| {
        let mut scratch = Vec::new();
        for k in range.filter(|&k| alpha[k] != 0.0) {
            let squared = squared_norm(rows, problem.row(k), &mut scratch);
            *sum += alpha[k] * (squared.sqrt() * norm + feature.abs());
        }
    });
    4.0 * f64::EPSILON * (sums.iter().sum::<f64>() + primal_objective.abs())
}
