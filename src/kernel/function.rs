//! The kernel functions, from dot products and squared norms.

use crate::error::{Error, Result};
use crate::linalg::real::Real;
use crate::linalg::simd::{Routine, dispatch};

/// gamma |x|^2 from which distances are summed from differences: two digits of the sixteen. Standardised data with the usual gamma stay below.
pub const SAFE_EXPONENT: f64 = 100.0;

/// A kernel and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// x'y
    Linear,
    /// (gamma x'y + coef0)^degree
    Polynomial {
        /// Factor of the dot product.
        gamma: f64,
        /// Constant term.
        coef0: f64,
        /// Exponent.
        degree: i32,
    },
    /// exp(-gamma |x - y|^2); the diagonal is exactly 1.
    Rbf {
        /// Inverse squared width.
        gamma: f64,
    },
    /// tanh(gamma x'y + coef0); not positive semidefinite in general.
    Sigmoid {
        /// Factor of the dot product.
        gamma: f64,
        /// Constant term.
        coef0: f64,
    },
    /// exp(-gamma |x - y|_1); no matrix product helps here.
    Laplacian {
        /// Inverse width.
        gamma: f64,
    },
}

impl Kernel {
    /// The kernel of that name.
    ///
    /// # Errors
    /// If the name is unknown or a parameter is out of range.
    pub fn parse(name: &str, gamma: f64, degree: i64, coef0: f64) -> Result<Self> {
        let bad = |argument, expected, got: String| Err(Error::Value { argument, expected, got });
        if name != "linear" && !(gamma.is_finite() && gamma >= 0.0) {
            return bad("gamma", "a finite number, at least 0", gamma.to_string());
        }
        if !coef0.is_finite() {
            return bad("coef0", "a finite number", coef0.to_string());
        }
        match name {
            "linear" => Ok(Self::Linear),
            "rbf" => Ok(Self::Rbf { gamma }),
            "laplacian" => Ok(Self::Laplacian { gamma }),
            "sigmoid" => Ok(Self::Sigmoid { gamma, coef0 }),
            "poly" => match i32::try_from(degree) {
                Ok(degree) if degree >= 0 => Ok(Self::Polynomial { gamma, coef0, degree }),
                _ => bad("degree", "an integer from 0 to 2147483647", degree.to_string()),
            },
            _ => bad(
                "kernel",
                "one of 'linear', 'poly', 'rbf', 'sigmoid', 'laplacian'",
                format!("'{name}'"),
            ),
        }
    }

    /// The name used in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Polynomial { .. } => "polynomial",
            Self::Rbf { .. } => "RBF",
            Self::Sigmoid { .. } => "sigmoid",
            Self::Laplacian { .. } => "Laplacian",
        }
    }

    /// Whether every kernel matrix is positive semidefinite.
    pub fn is_positive_semidefinite(&self) -> bool {
        match self {
            Self::Linear | Self::Rbf { .. } | Self::Laplacian { .. } => true,
            Self::Polynomial { gamma, coef0, .. } => *gamma >= 0.0 && *coef0 >= 0.0,
            Self::Sigmoid { .. } => false,
        }
    }

    /// Whether the value depends on the distance of two points alone.
    pub fn depends_on_distance(&self) -> bool {
        matches!(self, Self::Rbf { .. } | Self::Laplacian { .. })
    }

    /// The value that belongs to a dot product, for the kernels that are functions of it.
    pub(super) fn of_product(&self, product: f64) -> f64 {
        let mut value = [product];
        self.finish_row(&mut value, 0.0, &[0.0]);
        value[0]
    }

    /// Whether squared norms are needed.
    pub(super) fn needs_norms(&self) -> bool {
        matches!(self, Self::Rbf { .. })
    }

    /// Whether distances from norms up to `largest_square` and products lose digits that show in the kernel's value: its error is that
    /// of gamma |x - y|^2, about the rounding unit times gamma |x|^2.
    pub(super) fn loses_digits(&self, largest_square: f64) -> bool {
        matches!(self, Self::Rbf { gamma } if gamma * largest_square > SAFE_EXPONENT)
    }

    /// Turns squared distances into values of the RBF kernel, in place.
    pub(super) fn finish_distances<R: Real>(&self, row: &mut [R]) {
        if let Self::Rbf { gamma } = *self {
            dispatch(DecayRow { row, gamma: R::of(gamma) });
        }
    }

    /// Turns dot products x'y_j (for the Laplacian kernel: distances |x - y_j|_1) into kernel values, in place. `norm` and `norms`
    /// are the squared norms of x and y_j (read by the RBF kernel alone).
    pub(super) fn finish_row<R: Real>(&self, row: &mut [R], norm: R, norms: &[R]) {
        match *self {
            Self::Linear => {}
            Self::Polynomial { gamma, coef0, degree } => {
                let (gamma, coef0) = (R::of(gamma), R::of(coef0));
                dispatch(PolynomialRow { row, gamma, coef0, degree });
            }
            Self::Rbf { gamma } => {
                let gamma = R::of(gamma);
                dispatch(RbfRow { row, norm, norms, gamma });
            }
            Self::Sigmoid { gamma, coef0 } => {
                let (gamma, coef0) = (R::of(gamma), R::of(coef0));
                for value in row {
                    *value = (gamma * *value + coef0).tanh();
                }
            }
            Self::Laplacian { gamma } => {
                let gamma = R::of(gamma);
                dispatch(DecayRow { row, gamma });
            }
        }
    }
}

struct RbfRow<'a, R> {
    row: &'a mut [R],
    norm: R,
    norms: &'a [R],
    gamma: R,
}

impl<R: Real> Routine for RbfRow<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let zero = R::default();
        for (value, norm) in self.row.iter_mut().zip(self.norms) {
            let distance = (self.norm + *norm) - (*value + *value);
            // Rounding can make a distance negative, never the product of two equal rows (points.rs).
            let distance = if distance < zero { zero } else { distance };
            *value = (-self.gamma * distance).exp::<FMA>();
        }
    }
}

/// exp(-gamma distance), of distances that are known.
struct DecayRow<'a, R> {
    row: &'a mut [R],
    gamma: R,
}

impl<R: Real> Routine for DecayRow<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for value in self.row.iter_mut() {
            *value = (-self.gamma * *value).exp::<FMA>();
        }
    }
}

struct PolynomialRow<'a, R> {
    row: &'a mut [R],
    gamma: R,
    coef0: R,
    degree: i32,
}

impl<R: Real> Routine for PolynomialRow<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for value in self.row.iter_mut() {
            *value = self.gamma * *value + self.coef0;
        }
        match self.degree {
            0 => self.row.fill(R::of(1.0)),
            1 => {}
            2 => self.row.iter_mut().for_each(|v| *v = *v * *v),
            3 => self.row.iter_mut().for_each(|v| *v = *v * *v * *v),
            _ => {
                let degree = self.degree;
                self.row.iter_mut().for_each(|v| *v = v.powi(degree));
            }
        }
    }
}
