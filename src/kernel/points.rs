//! Data points with what the kernels need of them.

use ndarray::{ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul};

use super::function::Kernel;
use crate::error::{Error, Result, check_finite};

/// Rows of features, borrowed, with their squared norms.
#[derive(Clone, Debug)]
pub struct Points<'a> {
    pub(super) rows: ArrayView2<'a, f64>,
    pub(super) norms: Vec<f64>,
}

impl<'a> Points<'a> {
    /// Takes a row-major matrix of `n_rows` points with `n_features` features.
    ///
    /// # Errors
    /// If the length does not fit or a value is not finite.
    pub fn new(
        values: &'a [f64],
        n_rows: usize,
        n_features: usize,
        kernel: &Kernel,
    ) -> Result<Self> {
        let rows =
            ArrayView2::from_shape((n_rows, n_features), values).map_err(|_| Error::Shape {
                argument: "X",
                expected: format!("{n_rows} x {n_features} values"),
                got: values.len().to_string(),
            })?;
        check_finite("X", values)?;
        let norms = if kernel.needs_norms() {
            squared_norms(&rows)
        } else {
            vec![0.0; n_rows]
        };
        Ok(Self { rows, norms })
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.rows.nrows()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.rows.ncols()
    }

    /// The features, row by row.
    pub fn row(&self, i: usize) -> &[f64] {
        self.rows.row(i).to_slice().unwrap_or_default()
    }
}

/// Squared norms by the same product that makes the off-diagonal entries, so that two equal rows are at distance exactly 0.
fn squared_norms(rows: &ArrayView2<'_, f64>) -> Vec<f64> {
    const BLOCK: usize = 8;
    let mut product = [0.0; BLOCK * BLOCK];
    let mut norms = Vec::with_capacity(rows.nrows());
    for block in rows.axis_chunks_iter(Axis(0), BLOCK) {
        let n = block.nrows();
        if let Ok(mut out) = ArrayViewMut2::from_shape((n, n), &mut product[..n * n]) {
            general_mat_mul(1.0, &block, &block.t(), 0.0, &mut out);
            norms.extend(out.diag());
        }
    }
    norms
}
