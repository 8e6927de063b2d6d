//! Whether the matrix is positive semidefinite on the null space of the equalities: a Cholesky factorisation with the largest pivot
//! first. What it finds negative is proved by the curvature along the direction, computed from the matrix itself.

use super::state::State;
use crate::error::Result;
use crate::kernel::GramMatrix;
use crate::linalg::compensated::Sum;
use crate::linalg::vector::dot;
use crate::problem::DualProblem;

/// Points up to which the whole matrix is looked at; beyond, as many of the support vectors.
const ROWS: usize = 2000;
/// Pivots within this share of the largest diagonal entry are zero.
const RANK: f64 = 1e-10;
/// Curvature within this many units of rounding of its terms is none.
const NOISE: f64 = 4.0 * f64::EPSILON;

/// Whether no negative curvature is found, or was met before.
pub(super) fn is_convex(state: &mut State<'_>) -> Result<bool> {
    if state.info.most_negative_curvature < 0.0 {
        return Ok(false);
    }
    let n_points = state.source.len();
    let mut variables: Vec<usize> = (0..state.beta.len()).collect();
    if n_points > ROWS {
        variables.retain(|&v| state.beta[v] != 0.0);
    }
    // Variables of one point and one group are the same direction, up to their bounds.
    variables.sort_by_key(|&v| (v % n_points, state.problem.group(v), v));
    variables.dedup_by_key(|v| (*v % n_points, state.problem.group(*v)));
    variables.truncate(ROWS);
    let points: Vec<usize> = variables.iter().map(|v| v % n_points).collect();
    let gram = state.source.block(&points, Vec::new())?;
    let found = most_negative(&gram, &groups(state.problem, &variables));
    state.info.most_negative_curvature = found;
    Ok(found == 0.0)
}

/// The members of each group, by their place among the variables; none without an equality.
fn groups(problem: &DualProblem, variables: &[usize]) -> Vec<Vec<usize>> {
    let members = |g: usize| -> Vec<usize> {
        (0..variables.len()).filter(|&k| problem.group(variables[k]) == g).collect()
    };
    (0..problem.n_groups()).map(members).collect()
}

/// A negative curvature, 0 if none is found.
fn most_negative(gram: &GramMatrix<'_>, groups: &[Vec<usize>]) -> f64 {
    let m = gram.len();
    let mut matrix: Vec<f64> = (0..m).flat_map(|i| gram.row(i).iter().copied()).collect();
    // P K P with the projection on zero sums.
    for row in matrix.chunks_exact_mut(m.max(1)) {
        centre(row, groups);
    }
    for members in groups {
        let mut mean = vec![0.0; m];
        for &i in members {
            mean.iter_mut().zip(&matrix[i * m..(i + 1) * m]).for_each(|(s, k)| *s += k);
        }
        for s in &mut mean {
            *s /= members.len() as f64;
        }
        for &i in members {
            matrix[i * m..(i + 1) * m].iter_mut().zip(&mean).for_each(|(k, s)| *k -= s);
        }
    }
    let entry = |i: usize, j: usize| matrix[i * m + j];

    let mut rest: Vec<f64> = (0..m).map(|i| entry(i, i)).collect();
    let least = RANK * rest.iter().fold(0.0_f64, |s, d| s.max(d.abs()));
    let (mut factor, mut pivots) = (vec![Vec::with_capacity(m); m], Vec::new());
    let mut waiting: Vec<usize> = (0..m).collect();
    while let Some(at) =
        (0..waiting.len()).max_by(|&a, &b| rest[waiting[a]].total_cmp(&rest[waiting[b]]))
    {
        let p = waiting[at];
        if rest[p] <= least {
            break;
        }
        waiting.swap_remove(at);
        let root = rest[p].sqrt();
        for &j in &waiting {
            let value = (entry(p, j) - dot(&factor[p], &factor[j])) / root;
            factor[j].push(value);
            rest[j] -= value * value;
        }
        factor[p].push(root);
        pivots.push(p);
    }
    // What is left of the matrix is zero if it is positive semidefinite.
    let mut worst = 0.0_f64;
    let mut try_direction = |ends: &[(usize, f64)]| {
        let value = curvature(gram, groups, &direction(&factor, &pivots, ends, m));
        worst = worst.min(value);
    };
    if let Some(&j) = waiting.iter().min_by(|&&a, &&b| rest[a].total_cmp(&rest[b]))
        && rest[j] < 0.0
    {
        try_direction(&[(j, 1.0)]);
    }
    let mut largest = (least, 0, 0, 0.0);
    for (k, &i) in waiting.iter().enumerate() {
        for &j in &waiting[..k] {
            let value = entry(i, j) - dot(&factor[i], &factor[j]);
            if value.abs() > largest.0 {
                largest = (value.abs(), i, j, value);
            }
        }
    }
    let (_, i, j, value) = largest;
    if value != 0.0 {
        try_direction(&[(i, 1.0), (j, -value.signum())]);
    }
    worst
}

/// Takes the mean of each group from its entries.
fn centre(values: &mut [f64], groups: &[Vec<usize>]) {
    for members in groups {
        let mean = members.iter().map(|&i| values[i]).sum::<f64>() / members.len() as f64;
        for &i in members {
            values[i] -= mean;
        }
    }
}

/// The direction in which `ends` move and the pivots follow, so that only what is left of the matrix counts.
fn direction(factor: &[Vec<f64>], pivots: &[usize], ends: &[(usize, f64)], m: usize) -> Vec<f64> {
    let mut step = vec![0.0; m];
    let mut right: Vec<f64> = (0..pivots.len())
        .map(|k| -ends.iter().map(|&(j, weight)| weight * factor[j][k]).sum::<f64>())
        .collect();
    for k in (0..pivots.len()).rev() {
        let row = &factor[pivots[k]];
        let value = right[k] / row[k];
        step[pivots[k]] = value;
        right[..k].iter_mut().zip(row).for_each(|(r, l)| *r -= value * l);
    }
    for &(j, weight) in ends {
        step[j] += weight;
    }
    step
}

/// s'Ks / s's of the projected step if that is below zero beyond rounding, else 0.
fn curvature(gram: &GramMatrix<'_>, groups: &[Vec<usize>], step: &[f64]) -> f64 {
    let mut step = step.to_vec();
    centre(&mut step, groups);
    let (mut value, mut magnitude, mut norm) = (Sum::default(), 0.0, 0.0);
    for (i, &s) in step.iter().enumerate().filter(|(_, s)| **s != 0.0) {
        let mut product = Sum::default();
        for (k, t) in gram.row(i).iter().zip(&step) {
            product.add_product(*k, *t);
            magnitude += (s * k * t).abs();
        }
        let (high, low) = product.parts();
        value.add_product(s, high);
        value.add_product(s, low);
        norm += s * s;
    }
    let value = value.value();
    if value < -NOISE * magnitude { value / norm } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], m: usize, groups: &[Vec<usize>]) -> f64 {
        most_negative(&GramMatrix::new(values.into(), m).expect("finite"), groups)
    }

    #[test]
    fn what_is_semidefinite_passes() {
        let one = vec![vec![0, 1, 2]];
        assert_eq!(check(&[1.0; 9], 3, &[]), 0.0);
        assert_eq!(check(&[1.0; 9], 3, &one), 0.0);
        assert_eq!(check(&[0.0; 9], 3, &[]), 0.0);
        assert_eq!(check(&[2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0], 3, &one), 0.0);
        // Minus a distance: negative somewhere, but not on zero sums.
        let distances = [0.0, -1.0, -4.0, -1.0, 0.0, -1.0, -4.0, -1.0, 0.0];
        assert_eq!(check(&distances, 3, &one), 0.0);
        assert!(check(&distances, 3, &[]) < 0.0);
        assert!(check(&distances, 3, &[vec![0, 1], vec![2]]) == 0.0);
    }

    #[test]
    fn what_is_not_is_found() {
        assert!((check(&[0.0, 1.0, 1.0, 0.0], 2, &[]) + 1.0).abs() < 1e-15);
        assert!(check(&[1.0, 2.0, 2.0, 1.0], 2, &[]) < -0.3);
        assert!(check(&[1.0, 0.0, 0.0, -1e-3], 2, &[]) < -0.9e-3);
        // The same, seen through the equality: 1 + 1 - 2 * 2 < 0.
        assert!((check(&[1.0, 2.0, 2.0, 1.0], 2, &[vec![0, 1]]) + 1.0).abs() < 1e-15);
        assert_eq!(check(&[1.0, 2.0, 2.0, 1.0], 2, &[vec![0], vec![1]]), 0.0);
    }
}
