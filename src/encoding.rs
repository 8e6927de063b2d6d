//! The problems that users state, as instances of the one dual, and the way back from its solution to a model.
//!
//! | problem | variables | z | c | upper bound | fixed sums |
//! |---|---|---|---|---|---|
//! | C classification | n | y | 1 | C w | z'x = 0 |
//! | nu classification | n | y | 0 | w | each class nu sum(w) / 2 |
//! | epsilon regression | 2n | +1, -1 | y - epsilon, -y - epsilon | C w | z'x = 0 |
//! | nu regression | 2n | +1, -1 | y, -y | C w | each half nu sum(C w) / 2 |
//! | one class | n | +1 | 0 | w | nu sum(w) |
//!
//! (C.-C. Chang, C.-J. Lin, *LIBSVM: a library for support vector machines*, sections 2.1 to 2.5.)

use crate::certificate::Certificate;
use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::compensated::Sum;
use crate::problem::{DualProblem, DualProblemParts};

/// What is to be trained. Which numbers the targets and upper bounds are is said in [`Encoding::problem`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    /// Errors weighed against the margin.
    Classification,
    /// At most a fraction nu of margin errors.
    NuClassification {
        /// Bound of the fraction.
        nu: f64,
    },
    /// A tube of half width epsilon around the targets.
    EpsilonRegression {
        /// Half width.
        epsilon: f64,
    },
    /// A tube that leaves at most a fraction nu of the targets outside.
    NuRegression {
        /// Bound of the fraction.
        nu: f64,
    },
    /// A region that leaves at most a fraction nu of the points outside.
    OneClass {
        /// Bound of the fraction.
        nu: f64,
    },
}

/// Multiples of the rounding in it up to which a margin is none.
const NO_MARGIN: f64 = 100.0;

/// The model of a solution: f(x) = sum of `coefficients_i k(x_i, x)` + bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// One a point.
    pub coefficients: Vec<f64>,
    /// Constant.
    pub bias: f64,
    /// What the dual's function was divided by: the margin of nu classification, else 1.
    pub scale: f64,
    /// Half width of the tube that nu regression found, else what was given or 0.
    pub epsilon: f64,
}

impl Encoding {
    /// The encoding of that name; `parameter` is epsilon or nu, where there is one.
    ///
    /// # Errors
    /// If the name is unknown or the parameter is out of range.
    pub fn parse(name: &str, parameter: f64) -> Result<Self> {
        let encoding = match name {
            "c_svc" => return Ok(Self::Classification),
            "epsilon_svr" => {
                if parameter >= 0.0 && parameter.is_finite() {
                    return Ok(Self::EpsilonRegression { epsilon: parameter });
                }
                return Err(Error::Value {
                    argument: "epsilon",
                    expected: "a finite number, at least 0",
                    got: parameter.to_string(),
                });
            }
            "nu_svc" => Self::NuClassification { nu: parameter },
            "nu_svr" => Self::NuRegression { nu: parameter },
            "one_class" => Self::OneClass { nu: parameter },
            _ => {
                return Err(Error::Value {
                    argument: "problem",
                    expected: "one of 'c_svc', 'nu_svc', 'epsilon_svr', 'nu_svr', 'one_class'",
                    got: format!("'{name}'"),
                });
            }
        };
        if parameter > 0.0 && parameter <= 1.0 {
            return Ok(encoding);
        }
        Err(Error::Value {
            argument: "nu",
            expected: "a number above 0, at most 1",
            got: parameter.to_string(),
        })
    }

    /// Variables a point.
    pub fn variables_per_point(&self) -> usize {
        match self {
            Self::EpsilonRegression { .. } | Self::NuRegression { .. } => 2,
            _ => 1,
        }
    }

    /// The dual problem. `targets` are labels -1 and +1, or numbers for regression, and are ignored for one class; `upper` is C w or w as
    /// in the table above. `hint` are variables to begin near, feasible or not where the sums are those of nu, else feasible.
    ///
    /// # Errors
    /// If lengths differ, a value is out of range, or no point satisfies the equalities.
    pub fn problem(
        &self,
        targets: &[f64],
        upper: &[f64],
        hint: Option<&[f64]>,
    ) -> Result<DualProblem> {
        match *self {
            Self::Classification => DualProblem::classification(targets, upper, hint),
            Self::NuClassification { nu } => nu_classification(targets, upper, nu, hint),
            Self::EpsilonRegression { epsilon } => {
                epsilon_regression(targets, upper, epsilon, hint)
            }
            Self::NuRegression { nu } => nu_regression(targets, upper, nu, hint),
            Self::OneClass { nu } => one_class(upper, nu, hint),
        }
    }

    /// The model of a solution x. `certificate` is that of x, and becomes that of the model: nu classification divides by the margin.
    pub fn model(&self, problem: &DualProblem, x: &[f64], certificate: &mut Certificate) -> Model {
        let n = problem.len() / self.variables_per_point();
        let mut coefficients: Vec<f64> = (0..n).map(|i| problem.signs()[i] * x[i] + 0.0).collect();
        for (i, value) in x.iter().enumerate().skip(n) {
            coefficients[i - n] += problem.signs()[i] * value;
        }
        let mu = |g: usize| certificate.multipliers.get(g).copied().unwrap_or(0.0);
        let mut model = Model { coefficients, bias: -mu(0), scale: 1.0, epsilon: 0.0 };
        match *self {
            Self::Classification | Self::OneClass { .. } => {}
            Self::EpsilonRegression { epsilon } => model.epsilon = epsilon,
            Self::NuRegression { .. } => {
                model.bias = -0.5 * (mu(0) + mu(1));
                model.epsilon = 0.5 * (mu(1) - mu(0));
            }
            Self::NuClassification { .. } => {
                model.bias = -0.5 * (mu(0) + mu(1));
                let margin = 0.5 * (mu(0) - mu(1));
                // Without a margin there is nothing to divide by: w = 0 is optimal.
                if margin > NO_MARGIN * certificate.precision_floor && margin.is_finite() {
                    model.coefficients.iter_mut().for_each(|c| *c /= margin);
                    model.bias /= margin;
                    model.scale = margin;
                    rescale(certificate, margin, 2.0 * problem.totals()[0]);
                }
            }
        }
        model
    }
}

/// From nu classification to C classification with C = 1 / margin, whose optimum is x / margin: with T the sum of all variables,
/// D' = (D + margin T) / margin^2, and the same of P.
fn rescale(certificate: &mut Certificate, margin: f64, total: f64) {
    let square = margin * margin;
    let mut dual = Sum::default();
    dual.add_product(margin, total);
    dual.add(certificate.dual_objective);
    certificate.dual_objective = dual.value() / square;
    certificate.duality_gap /= square;
    certificate.primal_objective = certificate.dual_objective + certificate.duality_gap;
    certificate.relative_gap = certificate.duality_gap / certificate.dual_objective.abs().max(1.0);
    certificate.kkt_violation /= margin;
    certificate.precision_floor /= margin;
    certificate.equality_residual /= margin;
    certificate.box_residual /= margin;
    certificate.multipliers.iter_mut().for_each(|mu| *mu /= margin);
    for (low, high) in &mut certificate.bias_intervals {
        (*low, *high) = (*low / margin, *high / margin);
    }
}

fn nu_classification(
    signs: &[f64],
    upper: &[f64],
    nu: f64,
    hint: Option<&[f64]>,
) -> Result<DualProblem> {
    check_len("upper", signs.len(), upper.len())?;
    check_upper(upper)?;
    let groups: Vec<i64> = signs.iter().map(|z| i64::from(*z < 0.0)).collect();
    let total = 0.5 * nu * sum(upper.iter().copied());
    let mut start = vec![0.0; signs.len()];
    for group in 0..2 {
        let members: Vec<usize> = (0..signs.len()).filter(|&i| groups[i] == group).collect();
        reach(&mut start, upper, hint, &members, total)?;
    }
    DualProblem::new(&DualProblemParts {
        signs,
        linear: Some(&vec![0.0; signs.len()]),
        upper,
        groups: Some(&groups),
        start: Some(&start),
        ..Default::default()
    })
}

fn epsilon_regression(
    targets: &[f64],
    upper: &[f64],
    epsilon: f64,
    start: Option<&[f64]>,
) -> Result<DualProblem> {
    let linear = doubled(targets, |y| y - epsilon, |y| -y - epsilon)?;
    check_len("upper", targets.len(), upper.len())?;
    DualProblem::new(&DualProblemParts {
        signs: &halves(targets.len(), 1.0, -1.0),
        linear: Some(&linear),
        upper: &[upper, upper].concat(),
        start,
        ..Default::default()
    })
}

fn nu_regression(
    targets: &[f64],
    upper: &[f64],
    nu: f64,
    hint: Option<&[f64]>,
) -> Result<DualProblem> {
    let n = targets.len();
    let linear = doubled(targets, |y| y, |y| -y)?;
    check_len("upper", n, upper.len())?;
    check_upper(upper)?;
    let total = 0.5 * nu * sum(upper.iter().copied());
    let upper = [upper, upper].concat();
    let mut start = vec![0.0; 2 * n];
    for first in [0, n] {
        let members: Vec<usize> = (first..first + n).collect();
        reach(&mut start, &upper, hint, &members, total)?;
    }
    DualProblem::new(&DualProblemParts {
        signs: &halves(n, 1.0, -1.0),
        linear: Some(&linear),
        upper: &upper,
        groups: Some(&halves(n, 0, 1)),
        start: Some(&start),
        ..Default::default()
    })
}

fn one_class(upper: &[f64], nu: f64, hint: Option<&[f64]>) -> Result<DualProblem> {
    check_upper(upper)?;
    let n = upper.len();
    let mut start = vec![0.0; n];
    let members: Vec<usize> = (0..n).collect();
    reach(&mut start, upper, hint, &members, nu * sum(upper.iter().copied()))?;
    DualProblem::new(&DualProblemParts {
        signs: &vec![1.0; n],
        linear: Some(&vec![0.0; n]),
        upper,
        start: Some(&start),
        ..Default::default()
    })
}

fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Sum::default();
    values.for_each(|v| sum.add(v));
    sum.value()
}

fn halves<T: Clone>(n: usize, first: T, second: T) -> Vec<T> {
    [vec![first; n], vec![second; n]].concat()
}

fn doubled(
    targets: &[f64],
    first: impl Fn(f64) -> f64,
    second: impl Fn(f64) -> f64,
) -> Result<Vec<f64>> {
    check_finite("y", targets)?;
    let both = targets.iter().map(|y| first(*y)).chain(targets.iter().map(|y| second(*y)));
    Ok(both.collect())
}

fn check_upper(upper: &[f64]) -> Result<()> {
    match upper.iter().find(|u| !(**u > 0.0 && u.is_finite())) {
        None => Ok(()),
        Some(u) => Err(Error::Value {
            argument: "upper",
            expected: "positive finite entries",
            got: u.to_string(),
        }),
    }
}

/// Gives the `members` values within their bounds that sum to `total`: the hint scaled to it, as far as it goes; the rest
/// is put at the bound here and there, evenly over the rows, so that few variables begin free and no stretch of sorted rows is left out.
fn reach(
    start: &mut [f64],
    upper: &[f64],
    hint: Option<&[f64]>,
    members: &[usize],
    total: f64,
) -> Result<()> {
    let available = sum(members.iter().map(|&i| upper[i]));
    // Half the weight of equal classes, both summed with rounding, is allowed to stick out by it.
    if total > available * (1.0 + 1e-12) {
        return Err(Error::Value {
            argument: "nu",
            expected: "a fraction that the classes have room for",
            got: format!("one that puts {total} on variables with bounds of {available} in all"),
        });
    }
    let total = total.min(available);
    if let Some(hint) = hint {
        check_len("start", start.len(), hint.len())?;
        let sum = sum(members.iter().map(|&i| hint[i].max(0.0)));
        if sum > 0.0 && sum.is_finite() {
            let scale = total / sum;
            for &i in members {
                start[i] = (hint[i].max(0.0) * scale).min(upper[i]);
            }
        }
    }
    // Error diffusion: `share` of the free room, handed out in whole bounds.
    let room = |start: &[f64], i: usize| upper[i] - start[i];
    let missing = total - sum(members.iter().map(|&i| start[i]));
    let share = missing / sum(members.iter().map(|&i| room(start, i)));
    if missing > 0.0 && share.is_finite() {
        let mut carry = 0.0;
        for &i in members {
            carry += share * room(start, i);
            if carry >= 0.5 * room(start, i) && room(start, i) > 0.0 {
                carry -= room(start, i);
                start[i] = upper[i];
            }
        }
    }
    // What is left of the sum goes where there is room, or comes from where there is something.
    for _ in 0..2 {
        let mut rest = total - sum(members.iter().map(|&i| start[i]));
        for &i in members {
            if rest == 0.0 {
                return Ok(());
            }
            let before = start[i];
            start[i] = (before + rest).clamp(0.0, upper[i]);
            rest -= start[i] - before;
        }
    }
    Ok(())
}
