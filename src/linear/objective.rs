//! The primal objective, with sums that carry their rounding errors.

use super::blocks::{Blocks, margins};
use super::data::Rows;
use super::problem::{LinearProblem, Loss};
use crate::linalg::compensated::Sum;
use crate::threads::Threads;

/// Loss of a term of weight u at v = c - z f.
#[inline]
pub fn loss(kind: Loss, u: f64, v: f64) -> f64 {
    let v = v.max(0.0);
    match kind {
        Loss::Linear => u * v,
        Loss::Squared => u * v * v,
    }
}

/// 1/2 |w|^2 with the added coordinate (the last one) counted as its role says.
pub fn regulariser(problem: &LinearProblem, w: &[f64]) -> f64 {
    let (added, features) = w.split_last().unwrap_or((&0.0, &[]));
    let mut sum = Sum::default();
    for w in features {
        sum.add_product(*w, *w);
    }
    sum.add(problem.intercept.regulariser() * added * added);
    0.5 * sum.value()
}

/// The t in [0, 1] at which D(t alpha) = t linear - t^2 quadratic is largest, and that value. Numbers too large to compute with leave
/// alpha = 0, whose value is 0.
pub fn best_multiple(linear: f64, quadratic: f64) -> (f64, f64) {
    if !(linear.is_finite() && quadratic.is_finite()) {
        return (0.0, 0.0);
    }
    let t = if 2.0 * quadratic > linear { (0.5 * linear / quadratic).max(0.0) } else { 1.0 };
    (t, t * (linear - t * quadratic))
}

/// P(w, b); the last entry of `w` is the weight of the added feature.
pub fn primal<R: Rows>(rows: &R, problem: &LinearProblem, w: &[f64], threads: &Threads) -> f64 {
    let blocks = Blocks::new(rows, problem);
    let mut parts = vec![Sum::default(); blocks.len()];
    blocks.each(threads, &mut parts, |range, sum| {
        let mut values = vec![0.0; range.len()];
        margins(rows, problem, range.clone(), w, &mut values);
        for (k, m) in range.zip(values) {
            sum.add(loss(problem.loss, problem.weight(k), problem.offset(k) - m));
        }
    });
    let mut total = Sum::default();
    total.add(regulariser(problem, w));
    for part in parts {
        let (high, low) = part.parts();
        total.add(high);
        total.add(low);
    }
    total.value()
}
