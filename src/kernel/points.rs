//! Data points with what the kernels need of them.

use std::borrow::Cow;

use super::columns::Rows;
use super::function::Kernel;
use super::panels::Panels;
use crate::error::{Error, Result, check_finite};

/// Rows of features with their squared norms; borrowed, or a copy with an origin closer to the data.
///
/// Distances do not depend on the origin, and neither does the dual of a linear kernel under its equality (only the bias
/// moves). Their rounding errors do: a column with mean 1000 and deviation 1 costs six digits. Where it pays, each column is
/// therefore shifted by its mean, rounded so coarsely that the subtraction is exact for data on a grid.
#[derive(Clone, Debug)]
pub struct Points<'a> {
    given: Option<&'a [f64]>,
    values: Cow<'a, [f64]>,
    n_rows: usize,
    n_features: usize,
    origin: Option<Vec<f64>>,
    norms: Vec<f64>,
    /// Whether distances are summed from differences.
    spread: bool,
}

impl<'a> Points<'a> {
    /// Takes a row-major matrix of `n_rows` points with `n_features` features, with the origin where it is.
    ///
    /// # Errors
    /// If the length does not fit or a value is not finite.
    pub fn new(
        values: &'a [f64],
        n_rows: usize,
        n_features: usize,
        kernel: &Kernel,
    ) -> Result<Self> {
        Self::with_origin(values, n_rows, n_features, kernel, None)
    }

    /// As [`Points::new`], with the origin close to the data if the kernel allows and it pays.
    ///
    /// # Errors
    /// As [`Points::new`].
    pub fn centred(
        values: &'a [f64],
        n_rows: usize,
        n_features: usize,
        kernel: &Kernel,
    ) -> Result<Self> {
        check_values(values, n_rows, n_features, kernel)?;
        let origin = match kernel {
            Kernel::Linear | Kernel::Rbf { .. } => origin(values, n_features),
            _ => None,
        };
        Ok(Self::build(values, n_rows, n_features, kernel, origin.as_deref()))
    }

    /// As [`Points::new`], with the given origin.
    ///
    /// # Errors
    /// As [`Points::new`].
    pub fn with_origin(
        values: &'a [f64],
        n_rows: usize,
        n_features: usize,
        kernel: &Kernel,
        origin: Option<&[f64]>,
    ) -> Result<Self> {
        check_values(values, n_rows, n_features, kernel)?;
        Ok(Self::build(values, n_rows, n_features, kernel, origin))
    }

    /// As [`Points::with_origin`], of values that were checked.
    fn build(
        given: &'a [f64],
        n_rows: usize,
        n_features: usize,
        kernel: &Kernel,
        origin: Option<&[f64]>,
    ) -> Self {
        let values = match origin {
            None => Cow::Borrowed(given),
            Some(origin) => {
                let mut copy = given.to_vec();
                for row in copy.chunks_exact_mut(n_features) {
                    row.iter_mut().zip(origin).for_each(|(x, o)| *x -= o);
                }
                Cow::Owned(copy)
            }
        };
        let norms = if kernel.needs_norms() {
            Panels::<f64, 8>::norms_of(&values, n_features, n_rows)
        } else {
            Vec::new()
        };
        let origin = origin.map(<[f64]>::to_vec);
        let spread = kernel.loses_digits(norms.iter().copied().fold(0.0, f64::max));
        Self { given: Some(given), values, n_rows, n_features, origin, norms, spread }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// What was subtracted from every point.
    pub fn origin(&self) -> Option<&[f64]> {
        self.origin.as_deref()
    }

    /// The features of point i, from the origin.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.n_features..(i + 1) * self.n_features]
    }

    /// The features of point i as they were given.
    pub fn given_row(&self, i: usize) -> &[f64] {
        &self.given.unwrap_or(&self.values)[i * self.n_features..(i + 1) * self.n_features]
    }

    /// Some of the points, copied, with the same origin and the same norms to the last bit.
    pub fn subset(&self, points: &[usize]) -> Points<'static> {
        let mut values = Vec::with_capacity(points.len() * self.n_features);
        for &i in points {
            values.extend_from_slice(self.row(i));
        }
        let norms = if self.norms.is_empty() {
            Vec::new()
        } else {
            points.iter().map(|&i| self.norms[i]).collect()
        };
        Points {
            given: None,
            values: Cow::Owned(values),
            n_rows: points.len(),
            n_features: self.n_features,
            origin: self.origin.clone(),
            norms,
            spread: self.spread,
        }
    }

    /// Whether the points lie so far apart that squared distances from norms and products would lose what the kernel needs. Decided once
    /// for all points: an entry must have the same bits in every block.
    pub(super) fn are_spread(&self) -> bool {
        self.spread
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// All of them, as they run through columns.
    pub(super) fn rows(&self) -> Rows<'_, f64> {
        Rows { values: &self.values, norms: &self.norms }
    }
}

/// Sums of squares beyond this are refused: products with them overflow.
const LARGEST_SQUARE: f64 = 1e300;

fn check_values(values: &[f64], n_rows: usize, n_features: usize, kernel: &Kernel) -> Result<()> {
    if n_rows * n_features != values.len() {
        return Err(Error::Shape {
            argument: "X",
            expected: format!("{n_rows} x {n_features} values"),
            got: values.len().to_string(),
        });
    }
    check_finite("X", values)?;
    let largest = values.iter().fold(0.0_f64, |m, x| if x.abs() > m { x.abs() } else { m });
    let bound =
        if matches!(kernel, Kernel::Laplacian { .. }) { largest } else { largest * largest };
    if !(bound * n_features as f64 <= LARGEST_SQUARE) {
        return Err(Error::KernelOverflow { kernel: kernel.name(), largest: bound });
    }
    Ok(())
}

/// The mean of each column whose mean exceeds its deviation, rounded to an eighth of its range (to a power of two); 0 for the
/// others. `None` if that takes away less than half of the squared norms.
fn origin(values: &[f64], n_features: usize) -> Option<Vec<f64>> {
    if n_features == 0 || values.is_empty() {
        return None;
    }
    let n = (values.len() / n_features) as f64;
    let first = &values[..n_features];
    let (mut sum, mut square) = (vec![0.0; n_features], vec![0.0; n_features]);
    let (mut low, mut high) = (first.to_vec(), first.to_vec());
    for row in values.chunks_exact(n_features) {
        for (k, x) in row.iter().enumerate() {
            let from_first = x - first[k];
            sum[k] += from_first;
            square[k] += from_first * from_first;
            low[k] = if *x < low[k] { *x } else { low[k] };
            high[k] = if *x > high[k] { *x } else { high[k] };
        }
    }
    let one = |k: usize| {
        let mean = first[k] + sum[k] / n;
        let variance = (square[k] / n - (sum[k] / n).powi(2)).max(0.0);
        let range = high[k] - low[k];
        if range == 0.0 {
            // A constant column makes no distance; from itself it is exactly 0.
            return first[k];
        }
        // Negated so that an overflow leaves the column alone.
        if !(mean * mean > variance) || !range.is_finite() {
            return 0.0;
        }
        let unit = (range.log2().floor() - 3.0).exp2();
        let rounded = (mean / unit).round() * unit;
        if rounded.is_finite() { rounded } else { 0.0 }
    };
    let origin: Vec<f64> = (0..n_features).map(one).collect();
    // A copy of the data must be worth it: rounding errors are those of the squared norms, which fall by what the origin takes away.
    let variance = |k: usize| (square[k] / n - (sum[k] / n).powi(2)).max(0.0);
    let left: f64 = (0..n_features).map(variance).sum();
    let taken: f64 = origin.iter().map(|o| o * o).sum();
    (taken > left).then_some(origin)
}
