//! Negative curvature, proved or refuted.
//!
//! A negative pivot alone proves nothing: it may be rounding in an ill-conditioned factor, or a shift that is too small for the
//! matrix. But it names a direction, and along that the curvature is computed from the matrix itself.

use super::free_set::{indicator, solve_multipliers};
use super::state::State;
use crate::linalg::compensated::Sum;
use crate::linalg::vector::{axpy, dot};

/// Curvature within this many units of rounding of its terms is none: the entries of a kernel matrix are themselves rounded.
const NOISE: f64 = 4.0 * f64::EPSILON;

/// The curvature along a direction that keeps the sums of the groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Curvature {
    /// s'Ks / s's, below zero beyond rounding: the problem is not convex.
    Negative(f64),
    /// Zero, as far as rounding tells.
    None,
    /// Above zero: the negative pivot came from the shift or the factor.
    Positive,
}

/// Curvature of the direction in which variable i moves and the free set follows; `solved` is L^-1 times its cross products.
pub(super) fn along_dependence(state: &mut State<'_>, solved: &[f64], i: usize) -> Curvature {
    let n_groups = state.problem.n_groups();
    let mut b = vec![Vec::new(); n_groups];
    state.free_set.solve_indicators(&mut b);
    let group = state.problem.group(i);
    let mu = solve_multipliers(&b, |g| dot(&b[g], solved) - indicator(g == group));
    let mut step: Vec<f64> = solved.iter().map(|l| -l).collect();
    for (b, mu) in b.iter().zip(&mu) {
        axpy(*mu, b, &mut step);
    }
    state.free_set.factor().backward_in_place(&mut step);
    if !state.free_set.balance(&mut step, Some((i, 1.0))) {
        // Alone in its group the variable cannot move at all.
        return Curvature::Positive;
    }
    let mut members = state.free_set.members().to_vec();
    members.push(i);
    step.push(1.0);
    let (mut value, mut magnitude, mut norm) = (Sum::default(), 0.0, 0.0);
    for (&a, &s) in members.iter().zip(&step) {
        let row = state.gram.row(a);
        let mut product = Sum::default();
        for (&k, &t) in members.iter().zip(&step) {
            product.add_product(row[k], t);
            magnitude += (s * row[k] * t).abs();
        }
        let (high, low) = product.parts();
        value.add_product(s, high);
        value.add_product(s, low);
        norm += s * s;
    }
    let value = value.value();
    if value < -NOISE * magnitude {
        Curvature::Negative(value / norm)
    } else if value > NOISE * magnitude {
        Curvature::Positive
    } else {
        Curvature::None
    }
}
