//! The matrix of the interior-point method, R + sum_k theta_k x_k x_k', over features and the added one.

use std::ops::Range;

use super::blocks::Blocks;
use super::data::Rows;
use super::dense::Packed;
use super::problem::LinearProblem;
use crate::linalg::memory::zeros;
use crate::threads::Threads;

/// Numbers that the partial sums of the matrix may take together.
const MOST_NUMBERS: usize = 4 << 20;
/// Rows packed at a time.
const PACKED_ROWS: usize = 256;

/// A partial sum of the matrix, and rows on their way into it.
struct Part {
    sum: Vec<f64>,
    packed: Packed,
    entries: Vec<(usize, f64)>,
    /// Blocks that it takes in.
    share: Range<usize>,
}

/// Partial sums of the matrix, kept between iterations.
pub(super) struct Normal {
    order: usize,
    parts: Vec<Part>,
}

impl Normal {
    pub(super) fn new<R: Rows>(order: usize, blocks: &Blocks) -> Self {
        let fitting = (MOST_NUMBERS / (order * order).max(1)).max(2);
        let count = fitting.min(blocks.len());
        let part = |g: usize| Part {
            sum: zeros(order * order),
            packed: Packed::new(order, if R::SPARSE { 0 } else { PACKED_ROWS }),
            entries: Vec::new(),
            share: blocks.len() * g / count..blocks.len() * (g + 1) / count,
        };
        Self { order, parts: (0..count).map(part).collect() }
    }

    /// Adds the sum over all rows with theta times their squared norm at least `least` to `out`'s lower triangle; false as soon as
    /// `proceed`, asked after every few blocks, says no. `theta(b)` holds the numbers of block b; rows of a pair of terms are merged.
    #[allow(clippy::too_many_arguments)] // one call, in the interior-point method
    pub(super) fn sum<'t, R: Rows>(
        &mut self,
        rows: &R,
        problem: &LinearProblem,
        blocks: &Blocks,
        norms: &[f64],
        least: f64,
        theta: impl Fn(usize) -> &'t [f64] + Sync,
        threads: &Threads,
        proceed: &mut dyn FnMut() -> bool,
        out: &mut [f64],
    ) -> bool {
        let order = self.order;
        let rounds = self.parts.iter().map(|part| part.share.len()).max().unwrap_or(0);
        for round in 0..rounds {
            threads.for_each_chunk(&mut self.parts, 1, blocks.parallel, |_, part| {
                let part = &mut part[0];
                if round == 0 {
                    part.sum.fill(0.0);
                }
                let b = part.share.start + round;
                if b < part.share.end {
                    let range = blocks.ranges[b].clone();
                    part.add(rows, problem, range, norms, least, theta(b), order);
                }
            });
            if !proceed() {
                return false;
            }
        }
        let parts = &self.parts;
        threads.for_each_chunk(out, order, order > 64, |i, row| {
            for part in parts {
                let sum = &part.sum[i * order..=i * order + i];
                row.iter_mut().zip(sum).for_each(|(o, p)| *o += p);
            }
        });
        true
    }
}

impl Part {
    /// Adds a range of terms.
    #[allow(clippy::too_many_arguments)] // one call, above
    fn add<R: Rows>(
        &mut self,
        rows: &R,
        problem: &LinearProblem,
        range: Range<usize>,
        norms: &[f64],
        least: f64,
        theta: &[f64],
        order: usize,
    ) {
        let feature = problem.intercept.feature();
        let mut k = range.start;
        while k < range.end {
            let i = problem.row[k] as usize;
            let mut weight = 0.0;
            while k < range.end && problem.row[k] as usize == i {
                weight += theta[k - range.start];
                k += 1;
            }
            if weight * norms[i] < least || weight == 0.0 {
                continue;
            }
            if R::SPARSE {
                let entries = &mut self.entries;
                entries.clear();
                rows.entries(i, |j, x| entries.push((j, x)));
                entries.push((order - 1, feature));
                add_outer(entries, weight, order, &mut self.sum);
            } else {
                if self.packed.is_full() {
                    self.packed.flush(&mut self.sum);
                }
                let root = weight.sqrt();
                let row = self.packed.open();
                rows.entries(i, |j, x| self.packed.set(row, j, root * x));
                self.packed.set(row, order - 1, root * feature);
            }
        }
        if !R::SPARSE {
            self.packed.flush(&mut self.sum);
        }
    }
}

/// Lower triangle of weight * e e' for the sparse vector e, whose columns may come in any order and more than once.
fn add_outer(entries: &[(usize, f64)], weight: f64, order: usize, sum: &mut [f64]) {
    for (a, &(i, x)) in entries.iter().enumerate() {
        let scaled = weight * x;
        sum[i * order + i] += scaled * x;
        for &(j, y) in &entries[..a] {
            let (high, low) = if i > j { (i, j) } else { (j, i) };
            let product = scaled * y;
            sum[high * order + low] += if i == j { 2.0 * product } else { product };
        }
    }
}
