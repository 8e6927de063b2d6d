//! The matrix of the interior-point method, R + sum_k theta_k x_k x_k', over features and the added one.

use std::ops::Range;

use super::blocks::Blocks;
use super::data::Rows;
use super::dense::{Packed, WIDE};
use super::problem::LinearProblem;
use super::terms::Terms;
use crate::linalg::memory::zeros;
use crate::threads::Threads;

/// Orders up to which there are partial sums for parts of the rows, where the samples are dense. Beyond, all threads work on bands of
/// one matrix: partial sums would take memory like many rows.
const SMALL: usize = 128;
/// Numbers that the partial sums of the matrix may take together.
const MOST_NUMBERS: usize = 4 << 20;
/// Rows packed at a time, and how many such packs are filled before they are added to the bands.
const PACKED_ROWS: usize = 128;
const PACKS: usize = 4;

/// How the matrix is summed.
pub(super) enum Normal {
    /// In parts of the rows.
    Parts(Vec<Part>),
    /// In bands of the matrix, from packs of rows.
    Bands { packs: Vec<Packed>, chosen: Vec<(usize, f64)> },
}

/// A partial sum of the matrix, and rows on their way into it.
pub(super) struct Part {
    sum: Vec<f64>,
    packed: Packed,
    entries: Vec<(usize, f64)>,
    /// Blocks that it takes in.
    share: Range<usize>,
}

/// What the matrix is of: theta and squared norms, and the product of the two below which a row is left out.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a> {
    pub(super) terms: &'a [Terms],
    pub(super) norms: &'a [f32],
    pub(super) least: f64,
}

impl Normal {
    pub(super) fn new<R: Rows>(order: usize, blocks: &Blocks) -> Self {
        let pack = || Packed::new(order, if R::SPARSE { 0 } else { PACKED_ROWS });
        if !R::SPARSE && order > SMALL {
            return Self::Bands { packs: (0..PACKS).map(|_| pack()).collect(), chosen: Vec::new() };
        }
        let fitting = (MOST_NUMBERS / (order * order).max(1)).max(2);
        let count = fitting.min(blocks.len());
        let part = |g: usize| Part {
            sum: zeros(order * order),
            packed: pack(),
            entries: Vec::new(),
            share: blocks.len() * g / count..blocks.len() * (g + 1) / count,
        };
        Self::Parts((0..count).map(part).collect())
    }

    /// Adds the sum over all rows that count to `out`'s lower triangle; false as soon as `proceed`, asked now and then, says no.
    #[allow(clippy::too_many_arguments)] // one call, in the interior-point method
    pub(super) fn sum<R: Rows>(
        &mut self,
        rows: &R,
        problem: &LinearProblem,
        blocks: &Blocks,
        parameters: Parameters<'_>,
        threads: &Threads,
        proceed: &mut dyn FnMut() -> bool,
        out: &mut [f64],
    ) -> bool {
        let order = rows.n_features() + 1;
        match self {
            Self::Parts(parts) => {
                let rounds = parts.iter().map(|part| part.share.len()).max().unwrap_or(0);
                for round in 0..rounds {
                    threads.for_each_chunk(parts, 1, blocks.parallel, |_, part| {
                        part[0].take_in(rows, problem, blocks, parameters, round);
                    });
                    if !proceed() {
                        return false;
                    }
                }
                let parts = &*parts;
                threads.for_each_chunk(out, order, order > 64, |i, row| {
                    for part in parts {
                        let sum = &part.sum[i * order..=i * order + i];
                        row.iter_mut().zip(sum).for_each(|(o, p)| *o += p);
                    }
                });
            }
            Self::Bands { packs, chosen } => {
                let mut add = |chosen: &mut Vec<(usize, f64)>| {
                    let feature = problem.intercept.feature();
                    threads.for_each_chunk(packs, 1, blocks.parallel, |g, pack| {
                        let first = (g * PACKED_ROWS).min(chosen.len());
                        let end = (first + PACKED_ROWS).min(chosen.len());
                        pack[0].clear();
                        for &(i, weight) in &chosen[first..end] {
                            add_row(rows, i, weight, feature, &mut pack[0]);
                        }
                    });
                    let packs = &*packs;
                    threads.for_each_chunk(out, WIDE * order, blocks.parallel, |p, band| {
                        for pack in packs {
                            pack.add_band(p, band);
                        }
                    });
                    chosen.clear();
                    proceed()
                };
                for (b, range) in blocks.ranges.iter().enumerate() {
                    for (i, weight) in Counting::new(problem, range.clone(), parameters, b) {
                        chosen.push((i, weight));
                        if chosen.len() == PACKS * PACKED_ROWS && !add(chosen) {
                            return false;
                        }
                    }
                }
                return add(chosen);
            }
        }
        true
    }
}

/// Row times the root of its weight, with the added feature.
fn add_row<R: Rows>(rows: &R, i: usize, weight: f64, feature: f64, packed: &mut Packed) {
    let root = weight.sqrt();
    let row = packed.open();
    rows.entries(i, |j, x| packed.set(row, j, root * x));
    packed.set(row, rows.n_features(), root * feature);
}

/// The rows of a block that count, with their weights; those of a pair of terms are merged.
struct Counting<'a> {
    problem: &'a LinearProblem,
    range: Range<usize>,
    start: usize,
    terms: &'a Terms,
    norms: &'a [f32],
    least: f64,
}

impl<'a> Counting<'a> {
    fn new(
        problem: &'a LinearProblem,
        range: Range<usize>,
        parameters: Parameters<'a>,
        b: usize,
    ) -> Self {
        let Parameters { terms, norms, least } = parameters;
        Self { problem, start: range.start, range, terms: &terms[b], norms, least }
    }
}

impl Iterator for Counting<'_> {
    type Item = (usize, f64);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(k) = self.range.next() {
            let i = self.problem.row(k);
            let mut weight = self.terms.theta(self.problem, k - self.start);
            while self.range.start < self.range.end && self.problem.row(self.range.start) == i {
                weight += self.terms.theta(self.problem, self.range.start - self.start);
                self.range.start += 1;
            }
            if weight != 0.0 && !(weight * f64::from(self.norms[i]) < self.least) {
                return Some((i, weight));
            }
        }
        None
    }
}

impl Part {
    /// Adds the rows of the block that its share has at a place.
    fn take_in<R: Rows>(
        &mut self,
        rows: &R,
        problem: &LinearProblem,
        blocks: &Blocks,
        parameters: Parameters<'_>,
        place: usize,
    ) {
        if place == 0 {
            self.sum.fill(0.0);
        }
        if place >= self.share.len() {
            return;
        }
        let (b, feature) = (self.share.start + place, problem.intercept.feature());
        let order = rows.n_features() + 1;
        for (i, weight) in Counting::new(problem, blocks.ranges[b].clone(), parameters, b) {
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
                add_row(rows, i, weight, feature, &mut self.packed);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::data::Dense;
    use crate::linear::{Intercept, Loss};

    /// Bands of one matrix and partial sums give what the definition says, and any number of threads the same bits.
    #[test]
    fn the_matrix_is_what_its_definition_says() {
        for d in [5, SMALL + 20] {
            let n = 700;
            let x: Vec<f64> = (0..n * d).map(|i| ((i * i + 7 * i) as f64 * 0.37).sin()).collect();
            let Ok(rows) = Dense::new(&x, n, d) else { panic!("rows") };
            let targets: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
            let problem = LinearProblem::regression(
                &targets,
                0.1,
                &weights,
                Loss::Linear,
                Intercept::Penalised(2.0),
            );
            let Ok(problem) = problem else { panic!("problem") };
            let blocks = Blocks::new(&rows, &problem);
            let order = d + 1;
            let mut terms: Vec<Terms> =
                blocks.ranges.iter().map(|r| Terms::new(r.clone(), order, &problem)).collect();
            for t in &mut terms {
                t.centre(&problem, 0.3);
            }
            let norms: Vec<f32> = (0..n).map(|i| if i % 7 == 0 { 0.0 } else { 1.0 }).collect();
            let parameters = Parameters { terms: &terms, norms: &norms, least: 1e-200 };
            let sum = |threads: usize| {
                let mut out = vec![0.0; order * order];
                let mut normal = Normal::new::<Dense<'_, f64>>(order, &blocks);
                let threads = Threads::new(threads);
                let go = &mut || true;
                assert!(normal.sum(&rows, &problem, &blocks, parameters, &threads, go, &mut out));
                let stop = &mut || false;
                let mut other = out.clone();
                assert!(
                    !normal.sum(&rows, &problem, &blocks, parameters, &threads, stop, &mut other)
                );
                out
            };
            let matrix = sum(1);
            assert_eq!(matrix, sum(2));
            let mut expected = vec![0.0; order * order];
            for t in &terms {
                for (j, k) in t.range.clone().enumerate() {
                    let i = problem.row(k);
                    if i % 7 == 0 {
                        continue;
                    }
                    let entry = |c: usize| if c == d { 2.0 } else { x[i * d + c] };
                    for r in 0..order {
                        for c in 0..=r {
                            expected[r * order + c] += t.theta(&problem, j) * entry(r) * entry(c);
                        }
                    }
                }
            }
            let size = expected.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
            for (a, b) in matrix.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-12 * size, "{d} features");
            }
        }
    }
}
