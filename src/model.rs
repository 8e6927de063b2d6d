//! Decision values of a fitted model.

use crate::error::{Error, Result, check_len};
use crate::kernel::{Columns, Kernel, Points};
use crate::linalg::compensated::Sum;
use crate::linalg::vector::dot;
use crate::threads::Threads;

/// Rows that are predicted together.
const BLOCK: usize = 64;

/// f(x) = sum over support vectors of `coefficients_j k(x_j, x)` + bias, for every row of `x`. `proceed` is asked between blocks; a
/// `false` stops the work and gives `None`.
///
/// # Errors
/// If sizes do not fit, or a value overflows.
pub fn decision_function(
    x: &Points<'_>,
    support: &Points<'_>,
    coefficients: &[f64],
    bias: f64,
    kernel: &Kernel,
    threads: &Threads,
    mut proceed: impl FnMut() -> bool,
) -> Result<Option<Vec<f64>>> {
    check_len("dual_coef", support.len(), coefficients.len())?;
    if x.n_features() != support.n_features() {
        return Err(Error::Shape {
            argument: "X",
            expected: format!("{} features", support.n_features()),
            got: x.n_features().to_string(),
        });
    }
    if matches!(kernel, Kernel::Linear) {
        return linear_decision(x, support, coefficients, bias, threads).map(Some);
    }
    let mut out = vec![bias; x.len()];
    if support.is_empty() {
        return Ok(Some(out));
    }
    let m = support.len();
    let columns = Columns::new(support, kernel);
    let work = m * (x.n_features() + 30);
    let per_group = (1_000_000_000 / (BLOCK * work).max(1)).max(4);
    let parallel = x.len() * work > 1_000_000;
    for (g, group) in out.chunks_mut(per_group * BLOCK).enumerate() {
        threads.for_each_chunk(group, BLOCK, parallel, |k, out| {
            let mut values = vec![0.0; out.len() * m];
            columns.fill(x, (g * per_group + k) * BLOCK, 0, &mut values);
            for (f, row) in out.iter_mut().zip(values.chunks_exact(m)) {
                *f += dot(row, coefficients);
            }
        });
        if !proceed() {
            return Ok(None);
        }
    }
    finite(out, kernel).map(Some)
}

fn finite(out: Vec<f64>, kernel: &Kernel) -> Result<Vec<f64>> {
    match out.iter().find(|f| !f.is_finite()) {
        None => Ok(out),
        Some(f) => Err(Error::KernelOverflow { kernel: kernel.name(), largest: f.abs() }),
    }
}

/// x'w + bias through w, with every sum in twice the working precision: far from the origin the products with single support
/// vectors cancel, and nothing would be left of the solution.
fn linear_decision(
    x: &Points<'_>,
    support: &Points<'_>,
    coefficients: &[f64],
    bias: f64,
    threads: &Threads,
) -> Result<Vec<f64>> {
    let d = x.n_features();
    let mut w = vec![Sum::default(); d];
    for (j, a) in coefficients.iter().enumerate() {
        w.iter_mut().zip(support.given_row(j)).for_each(|(sum, v)| sum.add_product(*a, *v));
    }
    let w: Vec<(f64, f64)> = w.into_iter().map(Sum::parts).collect();
    let mut out = vec![0.0; x.len()];
    threads.for_each_chunk(&mut out, 4 * BLOCK, x.len() * d > 200_000, |k, out| {
        for (i, f) in out.iter_mut().enumerate() {
            let mut sum = Sum::default();
            for (v, (high, low)) in x.given_row(4 * BLOCK * k + i).iter().zip(&w) {
                sum.add_product(*v, *high);
                sum.add(v * low);
            }
            sum.add(bias);
            *f = sum.value();
        }
    });
    finite(out, &Kernel::Linear)
}
