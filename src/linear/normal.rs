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

/// Partial sums of the matrix, kept between iterations.
pub(super) struct Normal {
    order: usize,
    partial: Vec<Vec<f64>>,
    /// Blocks that each partial sum takes in.
    share: Vec<Range<usize>>,
}

impl Normal {
    pub(super) fn new(order: usize, blocks: &Blocks) -> Self {
        let fitting = (MOST_NUMBERS / (order * order).max(1)).max(2);
        let count = fitting.min(blocks.len());
        let share = |g: usize| blocks.len() * g / count..blocks.len() * (g + 1) / count;
        Self { order, partial: vec![Vec::new(); count], share: (0..count).map(share).collect() }
    }

    /// Adds the sum over all rows with theta times their squared norm at least `least` to `out`'s lower triangle; returns how many
    /// rows that were. `theta(b)` holds the numbers of block b, and equal rows of a term pair are merged.
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
        out: &mut [f64],
    ) {
        let (order, share) = (self.order, &self.share);
        threads.for_each_chunk(&mut self.partial, 1, blocks.parallel, |g, partial| {
            let sum = &mut partial[0];
            if sum.is_empty() {
                *sum = zeros(order * order);
            } else {
                sum.fill(0.0);
            }
            let mut packed = Packed::new(order, if R::SPARSE { 0 } else { PACKED_ROWS });
            let mut entries = Vec::new();
            for b in share[g].clone() {
                let range = blocks.ranges[b].clone();
                let theta = theta(b);
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
                    let feature = problem.intercept.feature();
                    if R::SPARSE {
                        entries.clear();
                        rows.entries(i, |j, x| entries.push((j, x)));
                        entries.push((order - 1, feature));
                        add_outer(&entries, weight, order, sum);
                    } else {
                        if packed.is_full() {
                            packed.flush(sum);
                        }
                        let root = weight.sqrt();
                        let row = packed.open();
                        rows.entries(i, |j, x| packed.set(row, j, root * x));
                        packed.set(row, order - 1, root * feature);
                    }
                }
            }
            if !R::SPARSE {
                packed.flush(sum);
            }
        });
        let partial = &self.partial;
        threads.for_each_chunk(out, order, order > 64, |i, row| {
            for part in partial {
                let part = &part[i * order..=i * order + i];
                row.iter_mut().zip(part).for_each(|(o, p)| *o += p);
            }
        });
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
