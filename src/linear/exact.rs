//! The exact solver for linear models: CMU on the dual, without a kernel column.
//!
//! The matrix is K = X X' (plus the square of the added feature, plus delta on the diagonal for squared losses), of rank d + 1 at
//! most for the hinge, so the factor never exceeds d + 1 rows. A product with columns of K goes through w = sum of `weights_k x_k`:
//! one pass over the samples, whatever the number of columns.

use std::borrow::Cow;
use std::ops::Range;

use super::blocks::Blocks;
use super::certificate::{LinearCertificate, certify};
use super::data::Rows;
use super::fit::Point;
use super::interior::Outcome;
use super::norms::squared_norms;
use super::problem::{Intercept, LinearProblem, Loss};
use super::settings::LinearSettings;
use crate::cmu::{CmuSettings, large};
use crate::error::Result;
use crate::kernel::{ColumnSource, ColumnSums, GramMatrix, Kernel, Points, Precision};
use crate::kkt;
use crate::linalg::compensated::Sum;
use crate::linalg::simd::{Routine, dispatch};
use crate::observer::Monitor;
use crate::problem::{DualProblem, DualProblemParts};
use crate::status::SolverStatus;
use crate::threads::Threads;

/// KKT violation that is asked for first, and the factor by which it falls while the gap is above the tolerance.
const FIRST_TOL: f64 = 1e-7;
const TIGHTER: f64 = 1e-2;
/// Below this there is nothing to gain.
const LAST_TOL: f64 = 1e-15;
/// Bytes for blocks of the matrix and the factor.
const BUDGET: usize = 2 << 30;
/// Violators of a round. The products with all samples cost little here, so rounds may be small.
const BLOCK: usize = 256;

/// Solves the problem exactly. `n_iter` of the outcome counts cycles.
pub(super) fn solve<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    settings: &LinearSettings,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Result<Outcome> {
    let mut source = SampleColumns::new(rows, problem, threads);
    let mut start: Option<Vec<f64>> = None;
    let (mut tol, mut cycles) = (FIRST_TOL.min(settings.tol), 0);
    loop {
        let dual = dual_problem(problem, start.as_deref())?;
        let limit = settings.max_iter.map(|most| most.saturating_sub(cycles).max(1));
        let cmu = CmuSettings { tol, max_iter: limit, block: BLOCK, ..CmuSettings::default() };
        let solution = large::solve(&mut source, &dual, &cmu, true, BUDGET, threads, monitor)?;
        cycles += solution.info.n_cycles;
        let alpha = dual.unsigned(&solution.beta);
        let (mut point, certificate) = source.judge(&dual, &solution.beta, alpha);
        // No loss is free of a bound or a diagonal: what looks unbounded is rounding.
        let status = match solution.info.status {
            SolverStatus::Unbounded => SolverStatus::Stalled,
            status => status,
        };
        let done = certificate.relative_gap <= settings.tol
            || status != SolverStatus::Optimal
            || tol <= LAST_TOL;
        if done {
            return Ok(Outcome { point, certificate, status, n_iter: cycles });
        }
        tol *= TIGHTER;
        start = Some(std::mem::take(&mut point.alpha));
    }
}

/// The dual in the form of the exact solver; variables are terms.
fn dual_problem(problem: &LinearProblem, start: Option<&[f64]>) -> Result<DualProblem> {
    let each = |f: fn(&LinearProblem, usize) -> f64| -> Vec<f64> {
        (0..problem.len()).map(|k| f(problem, k)).collect()
    };
    DualProblem::new(&DualProblemParts {
        signs: &each(LinearProblem::sign),
        linear: Some(&each(LinearProblem::offset)),
        upper: &each(LinearProblem::upper),
        groups: None,
        without_equality: problem.intercept != Intercept::Free,
        start,
    })
}

/// Columns of the matrix over terms, none of which is ever formed.
struct SampleColumns<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    blocks: Blocks,
    threads: &'a Threads,
    diagonal: Vec<f64>,
    /// Square of the added feature where its weight is regularised.
    constant: f64,
    n_products: usize,
}

impl<'a, R: Rows> SampleColumns<'a, R> {
    fn new(rows: &'a R, problem: &'a LinearProblem, threads: &'a Threads) -> Self {
        let constant = problem.intercept.regulariser() * problem.intercept.feature().powi(2);
        let squares = squared_norms(rows, threads, |q| q);
        let entry = |k: usize| squares[problem.row(k)] + constant + problem.diagonal(k);
        let diagonal = (0..problem.len()).map(entry).collect();
        let blocks = Blocks::new(rows, problem);
        Self { rows, problem, blocks, threads, diagonal, constant, n_products: 0 }
    }

    fn row_of(&self, term: usize) -> usize {
        self.problem.row(term)
    }

    /// Model, and its certificate. The duals are those of the point, made feasible to the last bit.
    fn judge(
        &mut self,
        dual: &DualProblem,
        beta: &[f64],
        mut alpha: Vec<f64>,
    ) -> (Point, LinearCertificate) {
        let d = self.rows.n_features();
        let terms: Vec<usize> = (0..beta.len()).filter(|&k| beta[k] != 0.0).collect();
        let weights: Vec<f64> = terms.iter().map(|&k| beta[k]).collect();
        let (mut w, total) = self.weights(&terms, &weights);
        w.push(match self.problem.intercept {
            Intercept::Absent => 0.0,
            Intercept::Penalised(scale) => scale * total,
            Intercept::Free => {
                let gradient = self.gradient(dual, beta, &terms, &weights);
                let ends = kkt::ends(dual, beta, &gradient);
                ends.first().map_or(0.0, |e| dual.offsets()[0] - e.multiplier())
            }
        });
        debug_assert_eq!(w.len(), d + 1);
        let certificate = certify(self.rows, self.problem, &w, &mut alpha, self.threads);
        (Point { w, alpha }, certificate)
    }

    fn gradient(
        &mut self,
        dual: &DualProblem,
        beta: &[f64],
        terms: &[usize],
        weights: &[f64],
    ) -> Vec<f64> {
        let mut gradient: Vec<f64> = dual.linear().iter().map(|p| -p).collect();
        let (w, total) = self.weights(terms, weights);
        self.add_products(&w, total, &mut gradient);
        if self.problem.loss == Loss::Squared {
            for (k, b) in beta.iter().enumerate() {
                gradient[k] += self.problem.diagonal(k) * b;
            }
        }
        gradient
    }

    /// sum of `weights_k x_k` with the rounding errors of every entry carried along, and the sum of the weights.
    fn weights(&self, terms: &[usize], weights: &[f64]) -> (Vec<f64>, f64) {
        let mut sums = vec![Sum::default(); self.rows.n_features()];
        let mut total = Sum::default();
        for (&k, &weight) in terms.iter().zip(weights) {
            self.rows.entries(self.row_of(k), |j, x| sums[j].add_product(weight, x));
            total.add(weight);
        }
        (sums.into_iter().map(Sum::value).collect(), total.value())
    }

    /// `out_k` += x_k'w + constant * total, for all terms.
    fn add_products(&mut self, w: &[f64], total: f64, out: &mut [f64]) {
        self.n_products += 1;
        let added = self.constant * total;
        let (rows, problem) = (self.rows, self.problem);
        let mut parts = self.blocks.cut(out);
        self.blocks.each(self.threads, &mut parts, |range, part| {
            dispatch(AddProducts { rows, problem, range, w, added, out: part });
        });
    }

    fn sparse_block(&self, terms: &[usize], values: &mut [f64]) {
        let m = terms.len();
        self.threads.for_each_chunk(values, (8 * m).max(1), m > 200, |b, band| {
            let mut scattered = vec![0.0; self.rows.n_features()];
            for (i, out) in band.chunks_exact_mut(m).enumerate() {
                let row = self.row_of(terms[8 * b + i]);
                self.rows.entries(row, |j, x| scattered[j] += x);
                for (value, &other) in out.iter_mut().zip(terms) {
                    *value = self.rows.dot::<false>(self.row_of(other), &scattered);
                }
                self.rows.entries(row, |j, _| scattered[j] = 0.0);
            }
        });
    }

    fn dense_block(&self, terms: &[usize], buffer: Vec<f64>) -> Result<Vec<f64>> {
        let d = self.rows.n_features();
        let mut gathered = Vec::with_capacity(terms.len() * d);
        for &k in terms {
            self.rows.entries(self.row_of(k), |_, x| gathered.push(x));
        }
        drop(buffer);
        let points = Points::new(&gathered, terms.len(), d, &Kernel::Linear)?;
        let gram = GramMatrix::compute(&points, &Kernel::Linear, self.threads, || true)?;
        Ok(gram.map(GramMatrix::into_values).unwrap_or_default())
    }
}

struct AddProducts<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    range: Range<usize>,
    w: &'a [f64],
    added: f64,
    out: &'a mut [f64],
}

impl<R: Rows> Routine for AddProducts<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mut last, mut value) = (usize::MAX, 0.0);
        for (k, out) in self.range.zip(self.out) {
            let row = self.problem.row(k);
            if row != last {
                (last, value) = (row, self.rows.dot::<FMA>(row, self.w) + self.added);
            }
            *out += value;
        }
    }
}

impl<R: Rows> ColumnSource for SampleColumns<'_, R> {
    fn len(&self) -> usize {
        self.problem.len()
    }

    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    fn block(&mut self, terms: &[usize], buffer: Vec<f64>) -> Result<GramMatrix<'static>> {
        let m = terms.len();
        let mut values = if R::SPARSE {
            let mut values = buffer;
            values.resize(m * m, 0.0);
            self.sparse_block(terms, &mut values);
            values
        } else {
            self.dense_block(terms, buffer)?
        };
        if self.constant != 0.0 {
            for v in &mut values {
                *v += self.constant;
            }
        }
        for (i, &k) in terms.iter().enumerate() {
            values[i * m + i] += self.problem.diagonal(k);
        }
        GramMatrix::new(Cow::Owned(values), m)
    }

    fn add_columns(
        &mut self,
        terms: &[usize],
        weights: &[f64],
        _precision: Precision,
        out: &mut [f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let (w, total) = self.weights(terms, weights);
        self.add_products(&w, total, out);
        if self.problem.loss == Loss::Squared {
            for (&k, weight) in terms.iter().zip(weights) {
                out[k] += self.problem.diagonal(k) * weight;
            }
        }
        Ok(proceed())
    }

    fn column_sums(
        &mut self,
        terms: &[usize],
        weights: &[f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<Option<ColumnSums>> {
        let n = self.problem.len();
        let mut sums = vec![0.0; n];
        if !self.add_columns(terms, weights, Precision::Exact, &mut sums, proceed)? {
            return Ok(None);
        }
        // |K| |b| is not to be had without its columns; sqrt(K_kk K_ll) >= |K_kl| bounds it.
        let root: f64 =
            terms.iter().zip(weights).map(|(&k, b)| self.diagonal[k].sqrt() * b.abs()).sum();
        let magnitude: Vec<f64> = self.diagonal.iter().map(|d| d.sqrt() * root).collect();
        Ok(Some(ColumnSums::from_parts(&sums, &vec![0.0; n], &magnitude)))
    }

    fn counts(&self) -> (usize, usize) {
        (0, self.n_products)
    }
}
