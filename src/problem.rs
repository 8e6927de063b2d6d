//! The dual problem, in signed variables.
//!
//! What users state is, with H = ZKZ and Z = diag(z),
//!
//! ```text
//! minimise  q(x) = 1/2 x'Hx - c'x   subject to   sum of z_i x_i over each group fixed,  0 <= x_i <= u_i.
//! ```
//!
//! With beta = z o x the signs leave the matrix, the gradient and the equalities for good:
//!
//! ```text
//! minimise  1/2 beta'K beta - p'beta   subject to   sum of beta_i over each group fixed,  lower <= beta <= upper,
//! ```
//!
//! p = z o c, the box [0, u_i] where z_i = +1 and [-u_i, 0] where z_i = -1. All solvers work on this form.

use crate::error::{Error, Result, check_finite, check_len};
use crate::linalg::compensated::Sum;

/// Most groups that a problem may have: the two of the nu formulations.
pub const MAX_GROUPS: usize = 2;

/// A value beyond this overflows in products.
const LARGEST: f64 = 1e100;

/// Where a variable stands in its box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundState {
    /// At its lower bound.
    AtLower,
    /// Strictly between.
    Free,
    /// At its upper bound.
    AtUpper,
}

/// A dual problem without its matrix.
#[derive(Clone, Debug)]
pub struct DualProblem {
    signs: Vec<f64>,
    linear: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    group: Vec<u8>,
    start: Vec<f64>,
    offsets: Vec<f64>,
    totals: Vec<f64>,
}

/// The parts of a [`DualProblem`], in the user's variables x.
#[derive(Clone, Debug, Default)]
pub struct DualProblemParts<'a> {
    /// z, of -1 and +1.
    pub signs: &'a [f64],
    /// c; ones where `None`.
    pub linear: Option<&'a [f64]>,
    /// u, positive, at most 1e100 or infinite.
    pub upper: &'a [f64],
    /// Group of each variable, 0 or 1; all in one where `None`.
    pub groups: Option<&'a [i64]>,
    /// Drops the equality: a model without intercept.
    pub without_equality: bool,
    /// A feasible x; it fixes the sums of the groups. Zeros where `None`.
    pub start: Option<&'a [f64]>,
}

impl DualProblem {
    /// C-support vector classification: c = 1, one equality, from x = 0.
    ///
    /// # Errors
    /// As [`DualProblem::new`].
    pub fn classification(signs: &[f64], upper: &[f64], start: Option<&[f64]>) -> Result<Self> {
        Self::new(&DualProblemParts { signs, upper, start, ..Default::default() })
    }

    /// Checks the parts and turns them into signed variables.
    ///
    /// # Errors
    /// If lengths differ or a value is out of range.
    pub fn new(parts: &DualProblemParts<'_>) -> Result<Self> {
        let n = parts.signs.len();
        if n == 0 {
            return Err(Error::Shape {
                argument: "z",
                expected: "at least one entry".into(),
                got: "none".into(),
            });
        }
        if let Some(z) = parts.signs.iter().find(|z| z.abs() != 1.0) {
            return Err(Error::Value {
                argument: "z",
                expected: "entries -1 or +1",
                got: z.to_string(),
            });
        }
        check_len("upper", n, parts.upper.len())?;
        let allowed = |u: &f64| *u > 0.0 && (*u <= LARGEST || *u == f64::INFINITY);
        if let Some(u) = parts.upper.iter().find(|u| !allowed(u)) {
            return Err(Error::Value {
                argument: "upper",
                expected: "positive entries, at most 1e100 or infinite",
                got: u.to_string(),
            });
        }
        if let Some(c) = parts.linear {
            check_len("linear", n, c.len())?;
            check_finite("linear", c)?;
        }
        let mut group = vec![0_u8; n];
        if let Some(groups) = parts.groups {
            check_len("groups", n, groups.len())?;
            for (g, &given) in group.iter_mut().zip(groups) {
                *g = match given {
                    0 => 0,
                    1 => 1,
                    _ => {
                        return Err(Error::Value {
                            argument: "groups",
                            expected: "entries 0 or 1",
                            got: given.to_string(),
                        });
                    }
                };
            }
        }
        let n_groups = if parts.without_equality { 0 } else { 1 + usize::from(group.contains(&1)) };
        if n_groups == 0 {
            group.fill(0);
        }
        if let Some(x) = parts.start {
            check_len("start", n, x.len())?;
            for (index, (&value, &upper)) in x.iter().zip(parts.upper).enumerate() {
                if !(0.0..=upper).contains(&value) || value > LARGEST {
                    return Err(Error::InfeasibleStart { index, value, upper });
                }
            }
        }
        let signed =
            |x: &[f64]| -> Vec<f64> { x.iter().zip(parts.signs).map(|(x, z)| x * z).collect() };
        let mut linear = parts.linear.map_or_else(|| parts.signs.to_vec(), signed);
        let start = parts.start.map_or_else(|| vec![0.0; n], signed);
        let offsets = centre(&mut linear, &group, n_groups);
        let totals = group_sums(&start, &group, n_groups);
        let bound = |positive: bool| -> Vec<f64> {
            let one = |(z, u): (&f64, &f64)| if (*z > 0.0) == positive { z * u } else { 0.0 };
            parts.signs.iter().zip(parts.upper).map(one).collect()
        };
        Ok(Self {
            signs: parts.signs.to_vec(),
            linear,
            lower: bound(false),
            upper: bound(true),
            group,
            start,
            offsets,
            totals,
        })
    }

    /// The same problem from another feasible point, in the user's variables; the sums of the groups stay what they were.
    pub(crate) fn starting_at(mut self, x: &[f64]) -> Self {
        self.start = x.iter().zip(&self.signs).map(|(x, z)| x * z).collect();
        self
    }

    /// The same problem in some of its variables: their linear term and start are given, the sums of the groups are those of the
    /// start.
    pub(crate) fn restrict(
        &self,
        variables: &[usize],
        mut linear: Vec<f64>,
        start: Vec<f64>,
    ) -> Self {
        let pick = |values: &[f64]| -> Vec<f64> { variables.iter().map(|&v| values[v]).collect() };
        let group: Vec<u8> = variables.iter().map(|&v| self.group[v]).collect();
        let offsets = centre(&mut linear, &group, self.n_groups());
        let totals = group_sums(&start, &group, self.n_groups());
        Self {
            signs: pick(&self.signs),
            linear,
            lower: pick(&self.lower),
            upper: pick(&self.upper),
            group,
            start,
            offsets,
            totals,
        }
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.signs.len()
    }

    /// Whether there is none; never true of a checked problem.
    pub fn is_empty(&self) -> bool {
        self.signs.is_empty()
    }

    /// Number of equalities: 0, 1 or 2.
    pub fn n_groups(&self) -> usize {
        self.offsets.len()
    }

    /// Group of variable i; 0 also where there is no equality.
    #[inline]
    pub fn group(&self, i: usize) -> usize {
        usize::from(self.group[i])
    }

    /// p, less the offset of its group ([`DualProblem::offsets`]), so that large targets cost no digits.
    pub fn linear(&self) -> &[f64] {
        &self.linear
    }

    /// What was subtracted from p in each group. It moves the group's multiplier and nothing else.
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// What the variables of each group sum to.
    pub fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// Lower bounds of beta.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Upper bounds of beta.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The starting beta.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// z.
    pub fn signs(&self) -> &[f64] {
        &self.signs
    }

    /// x = z o beta.
    pub fn unsigned(&self, beta: &[f64]) -> Vec<f64> {
        // Adding zero turns -0 into 0.
        beta.iter().zip(&self.signs).map(|(b, z)| b * z + 0.0).collect()
    }

    /// Where a value of variable i stands.
    #[inline]
    pub fn bound_state(&self, i: usize, value: f64) -> BoundState {
        if value <= self.lower[i] {
            BoundState::AtLower
        } else if value >= self.upper[i] {
            BoundState::AtUpper
        } else {
            BoundState::Free
        }
    }

    /// Whether variable i is away from zero and at its bound.
    pub fn is_bounded(&self, i: usize, value: f64) -> bool {
        value != 0.0 && self.bound_state(i, value) != BoundState::Free
    }

    /// Sums of beta over the groups, less their fixed totals.
    pub fn residuals(&self, beta: &[f64]) -> Vec<f64> {
        let mut sums = vec![Sum::default(); self.n_groups()];
        if self.n_groups() > 0 {
            for (i, b) in beta.iter().enumerate() {
                sums[self.group(i)].add(*b);
            }
        }
        sums.iter_mut().zip(&self.totals).for_each(|(sum, t)| sum.add(-t));
        sums.into_iter().map(Sum::value).collect()
    }
}

/// Subtracts the middle of each group's range from its entries.
fn centre(linear: &mut [f64], group: &[u8], n_groups: usize) -> Vec<f64> {
    let mut offsets = vec![0.0; n_groups];
    for (g, offset) in offsets.iter_mut().enumerate() {
        let members =
            || linear.iter().zip(group).filter(|(_, k)| usize::from(**k) == g).map(|(p, _)| *p);
        let low = members().fold(f64::INFINITY, f64::min);
        let high = members().fold(f64::NEG_INFINITY, f64::max);
        // A part of a problem may lack a group.
        *offset = if low <= high { 0.5 * low + 0.5 * high } else { 0.0 };
    }
    if n_groups > 0 {
        for (p, g) in linear.iter_mut().zip(group) {
            *p -= offsets[usize::from(*g)];
        }
    }
    offsets
}

fn group_sums(beta: &[f64], group: &[u8], n_groups: usize) -> Vec<f64> {
    let mut sums = vec![Sum::default(); n_groups];
    if n_groups > 0 {
        for (b, g) in beta.iter().zip(group) {
            sums[usize::from(*g)].add(*b);
        }
    }
    sums.into_iter().map(Sum::value).collect()
}
