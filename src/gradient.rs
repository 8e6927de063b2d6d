//! The gradient gamma = K beta - p of all variables, from columns. Several variables may share a point: variable v belongs to point v
//! mod the number of points.

use std::ops::AddAssign;

use crate::error::Result;
use crate::kernel::{ColumnSource, ColumnSums, Precision, Weight};
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
    let sums = products(source, beta, proceed)?;
    Ok(sums.map(|sums| from_sums(problem, sums)))
}

fn from_sums(problem: &DualProblem, sums: ColumnSums) -> Fresh {
    let n_points = sums.len();
    let mut largest = 0.0_f64;
    let entry = |(v, p): (usize, &f64)| {
        let (high, low, magnitude) = sums.at(v % n_points);
        largest = largest.max(magnitude + p.abs());
        (high - p) + low
    };
    let gradient = problem.linear().iter().enumerate().map(entry).collect();
    Fresh { gradient, floor: 4.0 * f64::EPSILON * largest, sums }
}

/// The fresh gradient of a point from the `sums` of another one: `moved` went from `old` to `new`. Every change is added exactly, in the
/// sums' double precision, so the result is as good as a new one. `None` if the source cannot do that, or was stopped.
pub(crate) fn refreshed(
    source: &mut dyn ColumnSource,
    problem: &DualProblem,
    moved: &[Move],
    mut sums: ColumnSums,
    proceed: &mut dyn FnMut() -> bool,
) -> Result<Option<Fresh>> {
    let n_points = source.len();
    let change = |m: &Move| (m.variable % n_points, Weight::change(m.old, m.new));
    let (points, changes) = by_point(moved.iter().map(change));
    let done = source.update_sums(&points, &changes, &mut sums, proceed)?;
    Ok(done.then(|| from_sums(problem, sums)))
}

/// A variable that went from one value to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) variable: usize,
    pub(crate) old: f64,
    pub(crate) new: f64,
}

/// K beta over the points, in sums that carry their rounding errors along; `None` if stopped.
pub(crate) fn products(
    source: &mut dyn ColumnSource,
    beta: &[f64],
    proceed: &mut dyn FnMut() -> bool,
) -> Result<Option<ColumnSums>> {
    let n_points = source.len();
    let support = (0..beta.len()).filter(|&v| beta[v] != 0.0);
    let (mut points, mut weights) = by_point(support.map(|v| (v % n_points, beta[v])));
    // The two variables of a point may cancel; those of nu regression begin so.
    let mut weighs = weights.iter().map(|w| *w != 0.0);
    points.retain(|_| weighs.next() == Some(true));
    weights.retain(|w| *w != 0.0);
    source.column_sums(&points, &weights, proceed)
}

/// How many columns [`products`] needs.
pub(crate) fn columns_of(beta: &[f64], n_points: usize) -> usize {
    let of_point = |k: usize| beta.iter().skip(k).step_by(n_points).sum::<f64>();
    (0..n_points).filter(|&k| of_point(k) != 0.0).count()
}

/// gradient += K change, for the variables that moved; false if stopped.
pub(crate) fn follow(
    source: &mut dyn ColumnSource,
    precision: Precision,
    moved: &[Move],
    gradient: &mut [f64],
    proceed: &mut dyn FnMut() -> bool,
) -> Result<bool> {
    let n_points = source.len();
    let (points, weights) = by_point(moved.iter().map(|m| (m.variable % n_points, m.new - m.old)));
    if n_points == gradient.len() {
        return source.add_columns(&points, &weights, precision, gradient, proceed);
    }
    let mut field = vec![0.0; n_points];
    let done = source.add_columns(&points, &weights, precision, &mut field, proceed)?;
    for part in gradient.chunks_mut(n_points) {
        part.iter_mut().zip(&field).for_each(|(g, f)| *g += f);
    }
    Ok(done)
}

/// What the rounding errors of a gradient are at most, for a positive semidefinite matrix: |K_ij| <= sqrt(K_ii K_jj).
#[derive(Debug)]
pub(crate) struct FloorBound {
    /// Roots of the diagonal.
    roots: Vec<f64>,
    largest_root: f64,
    largest_linear: f64,
}

impl FloorBound {
    pub(crate) fn new(diagonal: &[f64], problem: &DualProblem) -> Self {
        let roots: Vec<f64> = diagonal.iter().map(|d| d.abs().sqrt()).collect();
        let largest_root = roots.iter().copied().fold(0.0, f64::max);
        let largest_linear = problem.linear().iter().fold(0.0_f64, |m, p| m.max(p.abs()));
        Self { roots, largest_root, largest_linear }
    }

    pub(crate) fn at(&self, beta: &[f64]) -> f64 {
        let parts = beta.chunks(self.roots.len().max(1));
        let terms = parts.flat_map(|part| part.iter().zip(&self.roots).map(|(b, r)| r * b.abs()));
        4.0 * f64::EPSILON * (self.largest_linear + self.largest_root * terms.sum::<f64>())
    }
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
fn by_point<W: Copy + AddAssign>(
    weights: impl Iterator<Item = (usize, W)>,
) -> (Vec<usize>, Vec<W>) {
    let mut pairs: Vec<(usize, W)> = weights.collect();
    pairs.sort_by_key(|(point, _)| *point);
    let (mut points, mut sums): (Vec<usize>, Vec<W>) = (Vec::new(), Vec::new());
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
