//! Fixed blocks of terms. Sums over terms are made block by block and added in the order of the blocks, so that no bit depends on
//! the number of threads.

use std::ops::Range;

use super::data::Rows;
use super::problem::LinearProblem;
use crate::linalg::simd::{Routine, dispatch};
use crate::threads::Threads;

/// Most blocks.
const MOST: usize = 32;
/// Stored numbers from which a block is worth a thread's attention.
const LEAST_ENTRIES: usize = 20_000;
/// Numbers that the sums of all blocks may take together.
const MOST_NUMBERS: usize = 4 << 20;

/// A partition of the terms; the terms of one row are never parted.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) parallel: bool,
}

impl Blocks {
    pub(super) fn new<R: Rows>(rows: &R, problem: &LinearProblem) -> Self {
        let n = problem.len();
        // A term costs some twenty operations beside its row.
        let entries: usize = (0..n).map(|k| rows.stored(problem.row(k)) + 20).sum();
        let fitting = (MOST_NUMBERS / (rows.n_features() + 1)).max(1);
        let count = (entries / LEAST_ENTRIES).clamp(1, MOST.min(fitting));
        let mut ranges = Vec::with_capacity(count);
        let mut start = 0;
        for b in 1..=count {
            let mut end = (n * b / count).max(start);
            while end > 0 && end < n && problem.row(end) == problem.row(end - 1) {
                end += 1;
            }
            if end > start {
                ranges.push(start..end);
            }
            start = end;
        }
        Self { ranges, parallel: count > 1 }
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The parts of `values`, one number a term, that belong to the blocks.
    pub(super) fn cut<'v>(&self, values: &'v mut [f64]) -> Vec<&'v mut [f64]> {
        let mut parts = Vec::with_capacity(self.len());
        let mut rest = values;
        for range in &self.ranges {
            let (part, behind) = rest.split_at_mut(range.len());
            parts.push(part);
            rest = behind;
        }
        parts
    }

    /// Calls `f` on every element of `parts`, one for each block.
    pub(super) fn each<T: Send>(
        &self,
        threads: &Threads,
        parts: &mut [T],
        f: impl Fn(Range<usize>, &mut T) + Sync,
    ) {
        debug_assert_eq!(parts.len(), self.len());
        threads.for_each_chunk(parts, 1, self.parallel, |b, part| {
            f(self.ranges[b].clone(), &mut part[0]);
        });
    }
}

/// Decision values z_k f(x_k) of a range of terms; `w` holds the weight of the added feature last.
pub(super) fn margins<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    range: Range<usize>,
    w: &[f64],
    out: &mut [f64],
) {
    dispatch(Margins { rows, problem, range, w, out });
}

struct Margins<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    range: Range<usize>,
    w: &'a [f64],
    out: &'a mut [f64],
}

impl<R: Rows> Routine for Margins<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let d = self.rows.n_features();
        let (w, added) = (&self.w[..d], self.w[d] * self.problem.intercept.feature());
        let (mut last, mut value) = (usize::MAX, 0.0);
        for (k, out) in self.range.zip(self.out) {
            let i = self.problem.row(k);
            if i != last {
                (last, value) = (i, self.rows.dot::<FMA>(i, w) + added);
            }
            *out = self.problem.sign(k) * value;
        }
    }
}

/// `sum` += sum over a range of terms of `coefficient_k` z_k x_k; the added feature is the last entry.
pub(super) fn add_rows<R: Rows>(
    rows: &R,
    problem: &LinearProblem,
    range: Range<usize>,
    coefficients: &[f64],
    sum: &mut [f64],
) {
    dispatch(AddRows { rows, problem, range, coefficients, sum });
}

struct AddRows<'a, R> {
    rows: &'a R,
    problem: &'a LinearProblem,
    range: Range<usize>,
    coefficients: &'a [f64],
    sum: &'a mut [f64],
}

impl<R: Rows> Routine for AddRows<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let d = self.rows.n_features();
        let start = self.range.start;
        let mut added = 0.0;
        let mut k = self.range.start;
        while k < self.range.end {
            let i = self.problem.row(k);
            let mut a = 0.0;
            while k < self.range.end && self.problem.row(k) == i {
                a += self.coefficients[k - start] * self.problem.sign(k);
                k += 1;
            }
            if a != 0.0 {
                self.rows.axpy::<FMA>(i, a, &mut self.sum[..d]);
                added += a;
            }
        }
        self.sum[d] += added * self.problem.intercept.feature();
    }
}
