//! The certificate: how good a point is, computed from the point alone.
//!
//! Nothing here is shared with a solver, and every sum carries its rounding errors along, so that the numbers describe the
//! point and not the way to it. With r = gamma - mu (gamma the gradient in signed variables, mu the multiplier of the group),
//!
//! ```text
//! dual    D = -q(x)
//! gap     P - D = sum_i ( beta_i r_i - min(lower_i r_i, upper_i r_i) ) + sum_G mu_G (sum_G beta - t_G)
//! primal  P = D + gap
//! ```
//!
//! (each term of the first sum is >= 0; the second is what rounding leaves of the equalities, times the multiplier), which for
//! classification is P = 1/2 w'w + sum_i u_i max(0, 1 - y_i f(x_i)) with f's bias -mu. With infinite bounds (hard
//! margin) w is scaled until every point has its margin: P = 1/2 w'w / rho^2, rho = min_i y_i f(x_i), infinite if rho <= 0.

use crate::kernel::{ColumnSums, GramMatrix, Points};
use crate::kkt::{self, ends, violation};
use crate::linalg::compensated::{self, Sum};
use crate::linalg::vector::dot;
use crate::problem::DualProblem;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// The quality of a point of the dual.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// P, an upper bound of the optimal value.
    pub primal_objective: f64,
    /// D, a lower bound of it.
    pub dual_objective: f64,
    /// P - D.
    pub duality_gap: f64,
    /// The gap over max(1, |D|).
    pub relative_gap: f64,
    /// Largest m - M over the groups, at least 0.
    pub kkt_violation: f64,
    /// How far a given bias is outside the interval that the point allows; 0 if none was given.
    pub bias_violation: f64,
    /// Largest deviation of a group's sum from its fixed value.
    pub equality_residual: f64,
    /// Largest excess over a bound.
    pub box_residual: f64,
    /// Size of the rounding errors in a float64 gradient: a smaller violation means nothing.
    pub precision_floor: f64,
    /// Multiplier of each group.
    pub multipliers: Vec<f64>,
    /// All biases that each group allows.
    pub bias_intervals: Vec<(f64, f64)>,
    /// Variables strictly between their bounds.
    pub n_free: usize,
    /// Variables at their bound away from 0.
    pub n_bounded: usize,
    /// The gradient in the user's variables, Hx - c.
    pub gradient: Vec<f64>,
}

impl Certificate {
    /// For a point whose products are not known: no value is claimed.
    pub(crate) fn unknown(problem: &DualProblem, beta: &[f64]) -> Self {
        let n_bounded = (0..beta.len()).filter(|&i| problem.is_bounded(i, beta[i])).count();
        Self {
            primal_objective: f64::NAN,
            dual_objective: f64::NAN,
            duality_gap: f64::NAN,
            relative_gap: f64::NAN,
            kkt_violation: f64::NAN,
            bias_violation: 0.0,
            equality_residual: problem.residuals(beta).iter().fold(0.0, |m, r| r.abs().max(m)),
            box_residual: 0.0,
            precision_floor: f64::NAN,
            multipliers: vec![0.0; problem.n_groups()],
            bias_intervals: vec![(f64::NEG_INFINITY, f64::INFINITY); problem.n_groups()],
            n_free: beta.iter().filter(|b| **b != 0.0).count() - n_bounded,
            n_bounded,
            gradient: vec![f64::NAN; beta.len()],
        }
    }

    /// Whether nothing is known of the point but its feasibility.
    pub(crate) fn is_unknown(&self) -> bool {
        self.kkt_violation.is_nan() && self.dual_objective.is_nan()
    }

    /// Whether the gap exceeds the objective, so that the point says nothing about the optimum. An infinite gap is what any rounding
    /// makes of infinite bounds, and says nothing about the point.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.relative_gap > HOPELESS_GAP && self.relative_gap.is_finite()
    }

    /// Whether the violation is within `tol` or the floor, which is all that can be said where the problem is not convex.
    pub(crate) fn is_stationary(&self, tol: f64) -> bool {
        self.kkt_violation.max(self.bias_violation) <= tol.max(self.precision_floor)
    }

    /// What may be called optimal: the violation (with the given bias, if one was given) is within `tol`, or within the floor that
    /// rounding sets. Nothing that is not finite is, and nothing whose gap exceeds the objective: the gap is as large as the violation
    /// times the bounds, and a small violation of huge bounds means little.
    pub fn judge(&self, tol: f64) -> Option<SolverStatus> {
        let numbers =
            [self.kkt_violation, self.bias_violation, self.dual_objective, self.primal_objective];
        let violation = self.kkt_violation.max(self.bias_violation);
        if numbers.iter().chain(&self.multipliers).any(|v| v.is_nan())
            || self.dual_objective.is_infinite()
            || self.is_hopeless()
        {
            None
        } else if violation <= tol {
            Some(SolverStatus::Optimal)
        } else if violation <= self.precision_floor && self.precision_floor.is_finite() {
            Some(SolverStatus::OptimalToPrecision)
        } else {
            None
        }
    }
}

/// Relative gap beyond which a point is not called optimal any more.
const HOPELESS_GAP: f64 = 1.0;

/// Certifies `beta`. `linear_points` are the points behind a linear kernel: its products are then formed through w = sum of
/// `beta_j x_j` in twice the working precision, and the entries' own rounding drops out. A given `bias` is judged as it is (the
/// primal value is that of the model with this bias), else the best multiplier is taken.
pub fn certify(
    gram: &GramMatrix<'_>,
    linear_points: Option<&Points<'_>>,
    problem: &DualProblem,
    beta: &[f64],
    bias: Option<f64>,
    threads: &Threads,
) -> Certificate {
    let support: Vec<usize> = (0..beta.len()).filter(|&j| beta[j] != 0.0).collect();
    let weights: Vec<f64> = support.iter().map(|&j| beta[j]).collect();
    let sums = gram.column_sums(&support, &weights, threads);
    certify_sums(&sums, linear_points, problem, beta, bias)
}

/// As [`certify`], from the products `sums` = K beta, which must have been computed from `beta` alone. Where the problem has several
/// variables a point (regression has two), the products are over the points.
pub fn certify_sums(
    sums: &ColumnSums,
    linear_points: Option<&Points<'_>>,
    problem: &DualProblem,
    beta: &[f64],
    bias: Option<f64>,
) -> Certificate {
    let n_points = sums.len();
    let product: Vec<(f64, f64)> = match linear_points {
        Some(points) => linear_products(points, beta),
        None => {
            (0..beta.len()).map(|i| (sums.at(i % n_points).0, sums.at(i % n_points).1)).collect()
        }
    };
    let p = problem.linear();
    let gradient: Vec<f64> =
        product.iter().zip(p).map(|((high, low), p)| (high - p) + low).collect();
    let largest =
        p.iter().enumerate().map(|(i, p)| sums.at(i % n_points).2 + p.abs()).fold(0.0, f64::max);
    let residuals = problem.residuals(beta);
    let unbalanced = residuals.iter().fold(0.0_f64, |m, r| r.abs().max(m));
    // What rounding leaves of the equality reaches the gradient times the distance of the data from the origin.
    let far = linear_points.map_or(0.0, farthest_from_origin);
    let floor = (4.0 * f64::EPSILON * largest).max(2.0 * unbalanced * far);
    let ends = ends(problem, beta, &gradient);
    let n_groups = problem.n_groups();
    // Inside, multipliers belong to the centred linear term; outside to the one that was given.
    let outside = |g: usize| problem.offsets().get(g).copied().unwrap_or(0.0);
    let multipliers: Vec<f64> = match bias {
        Some(bias) => (0..n_groups).map(|g| outside(g) - bias).collect(),
        None => ends.iter().take(n_groups).map(kkt::Ends::multiplier).collect(),
    };

    let bias_violation = bias.map_or(0.0, |_| {
        let outside = |(e, mu): (&kkt::Ends, &f64)| (e.grow + mu).max(-mu - e.shrink);
        // A maximum that keeps NaN.
        ends.iter().zip(&multipliers).map(outside).fold(0.0, |m, v| if v <= m { m } else { v })
    });

    let mut dual = Sum::default();
    for (i, &b) in beta.iter().enumerate() {
        dual.add_product(-0.5 * b, product[i].0);
        dual.add_product(-0.5 * b, product[i].1);
        dual.add_product(b, p[i]);
        if n_groups > 0 {
            dual.add_product(b, problem.offsets()[problem.group(i)]);
        }
    }
    let dual = dual.value();

    let excess =
        |i: usize| (problem.lower()[i] - beta[i]).max(beta[i] - problem.upper()[i]).max(0.0);
    let box_residual = (0..beta.len()).map(excess).fold(0.0, f64::max);
    let mu = |i: usize| multipliers.get(problem.group(i)).copied().unwrap_or(0.0);
    let hard_margin =
        (0..beta.len()).all(|i| problem.lower()[i].min(-problem.upper()[i]) == f64::NEG_INFINITY);
    let gap = if hard_margin {
        hard_margin_gap(problem, beta, &product, mu, dual)
    } else {
        let rest = residuals.iter().enumerate().map(|(g, r)| (multipliers[g] - outside(g)) * r);
        let gap = box_gap(problem, beta, |i| gradient[i] - mu(i)) + rest.sum::<f64>();
        // Of a feasible point a gap below zero is rounding; of another it says that the dual value is no bound.
        if box_residual == 0.0 { gap.max(0.0) } else { gap }
    };

    let n_bounded = (0..beta.len()).filter(|&i| problem.is_bounded(i, beta[i])).count();
    Certificate {
        primal_objective: dual + gap,
        dual_objective: dual,
        duality_gap: gap,
        relative_gap: gap / dual.abs().max(1.0),
        kkt_violation: violation(problem, &ends),
        bias_violation,
        equality_residual: unbalanced,
        box_residual,
        precision_floor: floor,
        multipliers: multipliers.iter().enumerate().map(|(g, mu)| mu - outside(g)).collect(),
        bias_intervals: ends
            .iter()
            .take(n_groups)
            .enumerate()
            .map(|(g, e)| (e.bias_interval().0 + outside(g), e.bias_interval().1 + outside(g)))
            .collect(),
        n_free: beta.iter().filter(|b| **b != 0.0).count() - n_bounded,
        n_bounded,
        gradient: (0..beta.len())
            .map(|i| problem.signs()[i] * (gradient[i] - outside(problem.group(i))))
            .collect(),
    }
}

/// sum of beta r - min(lower r, upper r); infinite where an infinite bound is pushed against.
fn box_gap(problem: &DualProblem, beta: &[f64], residual: impl Fn(usize) -> f64) -> f64 {
    let mut gap = Sum::default();
    for (i, &b) in beta.iter().enumerate() {
        let r = residual(i);
        if r != 0.0 {
            let far = if r > 0.0 { problem.lower()[i] } else { problem.upper()[i] };
            if far.is_infinite() {
                return f64::INFINITY;
            }
            gap.add_product(b - far, r);
        }
    }
    gap.value()
}

/// P - D where every bound is infinite: P = 1/2 s^2 w'w for the smallest s with s z_i f(x_i) >= c_i for all i, infinite if there is
/// none.
fn hard_margin_gap(
    problem: &DualProblem,
    beta: &[f64],
    product: &[(f64, f64)],
    multiplier: impl Fn(usize) -> f64,
    dual: f64,
) -> f64 {
    let mut norm = Sum::default();
    let (mut least, mut most) = (0.0_f64, f64::INFINITY);
    for (i, &b) in beta.iter().enumerate() {
        norm.add_product(b, product[i].0);
        norm.add_product(b, product[i].1);
        let offset = problem.offsets().get(problem.group(i)).copied().unwrap_or(0.0);
        let sign = problem.signs()[i];
        let value = sign * ((product[i].0 - (multiplier(i) - offset)) + product[i].1);
        let wanted = sign * (problem.linear()[i] + offset);
        if wanted > 0.0 {
            least = least.max(if value > 0.0 { wanted / value } else { f64::INFINITY });
        } else if value < 0.0 {
            most = most.min(wanted / value);
        }
    }
    if least.is_finite() && least <= most {
        (0.5 * norm.value() * least * least - dual).max(0.0)
    } else {
        f64::INFINITY
    }
}

/// The largest |o'(x_i - o)| for points with an origin o of their own; 0 for others.
fn farthest_from_origin(points: &Points<'_>) -> f64 {
    let Some(origin) = points.origin() else { return 0.0 };
    (0..points.len()).map(|i| dot(points.row(i), origin).abs()).fold(0.0, f64::max)
}

/// X (X' beta) with X as it was given, both products in twice the working precision.
fn linear_products(points: &Points<'_>, beta: &[f64]) -> Vec<(f64, f64)> {
    let d = points.n_features();
    let (mut high, mut low, mut unused) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    for (j, &b) in beta.iter().enumerate().filter(|(_, b)| **b != 0.0) {
        compensated::axpy(b, points.given_row(j % points.len()), &mut high, &mut low, &mut unused);
    }
    (0..beta.len())
        .map(|i| {
            let mut sum = Sum::default();
            for (k, &x) in points.given_row(i % points.len()).iter().enumerate() {
                sum.add_product(x, high[k]);
                sum.add(x * low[k]);
            }
            sum.parts()
        })
        .collect()
}
