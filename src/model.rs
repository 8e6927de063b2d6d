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
            columns.fill(x, (g * per_group + k) * BLOCK, 0, columns.len(), &mut values);
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

/// The decision values of all pairs of classes, or what they amount to.
#[derive(Clone, Copy, Debug)]
pub struct PairModel<'a> {
    /// (n_classes - 1) x m, as [`crate::PairFits::coefficients`] for support vectors sorted by class.
    pub coefficients: &'a [f64],
    /// One a pair.
    pub biases: &'a [f64],
    /// Support vectors of each class.
    pub n_support: &'a [usize],
}

/// What is wanted of the pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The value of every pair.
    Values,
    /// For each class the votes, then for each class its values summed with the sign that speaks for it.
    Votes,
}

impl PairModel<'_> {
    fn n_classes(&self) -> usize {
        self.n_support.len()
    }

    /// Numbers that a row gets.
    pub fn width(&self, wanted: Wanted) -> usize {
        match wanted {
            Wanted::Values => self.biases.len(),
            Wanted::Votes => 2 * self.n_classes(),
        }
    }

    fn check(&self, n_columns: usize) -> Result<()> {
        let k = self.n_classes();
        if k < 2 {
            return Err(Error::Shape {
                argument: "n_support",
                expected: "at least two classes".into(),
                got: k.to_string(),
            });
        }
        check_len("n_support", n_columns, self.n_support.iter().sum())?;
        check_len("intercept", k * k.saturating_sub(1) / 2, self.biases.len())?;
        check_len("dual_coef", k.saturating_sub(1) * n_columns, self.coefficients.len())
    }

    /// The coefficients of one support vector after another.
    fn by_vector(&self, m: usize) -> Vec<f64> {
        let rows = self.n_classes() - 1;
        let mut turned = vec![0.0; m * rows];
        for (r, row) in self.coefficients.chunks_exact(m.max(1)).enumerate() {
            row.iter().enumerate().for_each(|(s, c)| turned[s * rows + r] = *c);
        }
        turned
    }

    /// From one row of kernel values with the support vectors and their coefficients. `sums` is room for n_classes (n_classes - 1)
    /// numbers.
    fn decide(
        &self,
        kernel: &[f64],
        by_vector: &[f64],
        wanted: Wanted,
        sums: &mut [f64],
        out: &mut [f64],
    ) {
        let k = self.n_classes();
        sums.fill(0.0);
        let mut vectors = kernel.iter().zip(by_vector.chunks_exact(k - 1));
        for (c, &count) in self.n_support.iter().enumerate() {
            let sums = &mut sums[c * (k - 1)..(c + 1) * (k - 1)];
            for (value, coefficients) in vectors.by_ref().take(count) {
                sums.iter_mut().zip(coefficients).for_each(|(sum, c)| *sum += value * c);
            }
        }
        out.fill(0.0);
        let mut pair = 0;
        for a in 0..k {
            for b in a + 1..k {
                let value = (sums[a * (k - 1) + b - 1] + sums[b * (k - 1) + a]) + self.biases[pair];
                match wanted {
                    Wanted::Values => out[pair] = value,
                    Wanted::Votes => {
                        out[if value > 0.0 { a } else { b }] += 1.0;
                        out[k + a] += value;
                        out[k + b] -= value;
                    }
                }
                pair += 1;
            }
        }
    }
}

/// Decides all pairs for every row of `x`; each kernel value is computed once.
///
/// # Errors
/// If sizes do not fit, or a value overflows.
pub fn pair_decisions(
    x: &Points<'_>,
    support: &Points<'_>,
    model: &PairModel<'_>,
    wanted: Wanted,
    kernel: &Kernel,
    threads: &Threads,
    proceed: impl FnMut() -> bool,
) -> Result<Option<Vec<f64>>> {
    if x.n_features() != support.n_features() {
        return Err(Error::Shape {
            argument: "X",
            expected: format!("{} features", support.n_features()),
            got: x.n_features().to_string(),
        });
    }
    let columns = Columns::new(support, kernel);
    let fill = |start: usize, values: &mut [f64]| columns.fill(x, start, 0, columns.len(), values);
    let out = decide_rows(x.len(), support.len(), model, wanted, fill, threads, proceed)?;
    match out.as_ref().and_then(|out| out.iter().find(|f| !f.is_finite())) {
        None => Ok(out),
        Some(f) => Err(Error::KernelOverflow { kernel: kernel.name(), largest: f.abs() }),
    }
}

/// As [`pair_decisions`], from rows of kernel values with the support vectors.
///
/// # Errors
/// If sizes do not fit.
pub fn pair_decisions_of(
    kernel_rows: &[f64],
    n_columns: usize,
    model: &PairModel<'_>,
    wanted: Wanted,
    threads: &Threads,
    proceed: impl FnMut() -> bool,
) -> Result<Option<Vec<f64>>> {
    let n = kernel_rows.len() / n_columns.max(1);
    let fill = |start: usize, values: &mut [f64]| {
        let first = start * n_columns;
        values.copy_from_slice(&kernel_rows[first..first + values.len()]);
    };
    decide_rows(n, n_columns, model, wanted, fill, threads, proceed)
}

fn decide_rows(
    n: usize,
    m: usize,
    model: &PairModel<'_>,
    wanted: Wanted,
    fill: impl Fn(usize, &mut [f64]) + Sync,
    threads: &Threads,
    mut proceed: impl FnMut() -> bool,
) -> Result<Option<Vec<f64>>> {
    model.check(m)?;
    let (k, width) = (model.n_classes(), model.width(wanted));
    let mut out = vec![0.0; n * width];
    if out.is_empty() {
        return Ok(Some(out));
    }
    let work = m * (k + 30) + k * k;
    let per_group = (1_000_000_000 / (BLOCK * work).max(1)).max(4);
    let parallel = n * work > 1_000_000;
    let by_vector = model.by_vector(m);
    for (g, group) in out.chunks_mut(per_group * BLOCK * width).enumerate() {
        threads.for_each_chunk(group, BLOCK * width, parallel, |b, out| {
            let mut values = vec![0.0; out.len() / width * m];
            let mut sums = vec![0.0; k * (k - 1)];
            if m > 0 {
                fill((g * per_group + b) * BLOCK, &mut values);
            }
            for (i, out) in out.chunks_exact_mut(width).enumerate() {
                model.decide(&values[i * m..(i + 1) * m], &by_vector, wanted, &mut sums, out);
            }
        });
        if !proceed() {
            return Ok(None);
        }
    }
    Ok(Some(out))
}
