//! The gradient gamma = K beta - p of all variables, from columns. Several variables may share a point: variable v belongs to point v
//! mod the number of points.

use crate::error::Result;
use crate::kernel::{ColumnSource, ColumnSums};
use crate::problem::DualProblem;

/// A gradient computed from nothing but the point.
pub(crate) struct Fresh {
    pub(crate) gradient: Vec<f64>,
    /// Size of its rounding errors in float64.
    pub(crate) floor: f64,
    /// The products K beta.
    pub(crate) sums: ColumnSums,
}

/// Computes the gradient in sums that carry their rounding errors along; `None` if stopped.
pub(crate) fn fresh(
    source: &mut dyn ColumnSource,
    problem: &DualProblem,
    beta: &[f64],
    proceed: &mut dyn FnMut() -> bool,
) -> Result<Option<Fresh>> {
    let n_points = source.len();
    let Some(sums) = products(source, beta, proceed)? else { return Ok(None) };
    let mut largest = 0.0_f64;
    let entry = |(v, p): (usize, &f64)| {
        let (high, low, magnitude) = sums.at(v % n_points);
        largest = largest.max(magnitude + p.abs());
        (high - p) + low
    };
    let gradient = problem.linear().iter().enumerate().map(entry).collect();
    Ok(Some(Fresh { gradient, floor: 4.0 * f64::EPSILON * largest, sums }))
}

/// K beta over the points, in sums that carry their rounding errors along; `None` if stopped.
pub(crate) fn products(
    source: &mut dyn ColumnSource,
    beta: &[f64],
    proceed: &mut dyn FnMut() -> bool,
) -> Result<Option<ColumnSums>> {
    let support: Vec<usize> = (0..beta.len()).filter(|&v| beta[v] != 0.0).collect();
    let weights: Vec<f64> = support.iter().map(|&v| beta[v]).collect();
    let (points, weights) = by_point(&support, &weights, source.len());
    source.column_sums(&points, &weights, proceed)
}

/// gradient += K change, for the variables that moved; false if stopped.
pub(crate) fn follow(
    source: &mut dyn ColumnSource,
    moved: &[usize],
    change: &[f64],
    gradient: &mut [f64],
    proceed: &mut dyn FnMut() -> bool,
) -> Result<bool> {
    let n_points = source.len();
    if n_points == gradient.len() {
        return source.add_columns(moved, change, gradient, proceed);
    }
    let (points, weights) = by_point(moved, change, n_points);
    let mut field = vec![0.0; n_points];
    let done = source.add_columns(&points, &weights, &mut field, proceed)?;
    for part in gradient.chunks_mut(n_points) {
        part.iter_mut().zip(&field).for_each(|(g, f)| *g += f);
    }
    Ok(done)
}

/// What the rounding errors of a gradient are at most, for a positive semidefinite matrix with this diagonal. Cheap: O(n).
pub(crate) fn floor_bound(diagonal: &[f64], problem: &DualProblem, beta: &[f64]) -> f64 {
    let root = |point: usize| diagonal[point].abs().sqrt();
    let largest = (0..diagonal.len()).map(root).fold(0.0, f64::max);
    let sum: f64 = beta.iter().enumerate().map(|(v, b)| root(v % diagonal.len()) * b.abs()).sum();
    let p = problem.linear().iter().fold(0.0_f64, |m, p| m.max(p.abs()));
    4.0 * f64::EPSILON * (p + largest * sum)
}

/// q(beta) without the constant that centring p leaves, and its rounding error.
pub(crate) fn objective(problem: &DualProblem, beta: &[f64], gradient: &[f64]) -> (f64, f64) {
    let (mut value, mut size) = (0.0, 0.0);
    for ((b, g), p) in beta.iter().zip(gradient).zip(problem.linear()) {
        let term = 0.5 * b * (g - p);
        value += term;
        size += term.abs();
    }
    (value, 2.0 * f64::EPSILON * size)
}

/// Sums the weights of the variables that share a point; points ascending.
pub(crate) fn by_point(
    variables: &[usize],
    weights: &[f64],
    n_points: usize,
) -> (Vec<usize>, Vec<f64>) {
    let mut pairs: Vec<(usize, f64)> =
        variables.iter().map(|v| v % n_points).zip(weights.iter().copied()).collect();
    pairs.sort_by_key(|(point, _)| *point);
    let (mut points, mut sums): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    for (point, weight) in pairs {
        match sums.last_mut() {
            Some(last) if points.last() == Some(&point) => *last += weight,
            _ => {
                points.push(point);
                sums.push(weight);
            }
        }
    }
    (points, sums)
}
