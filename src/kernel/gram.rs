//! Kernel matrices, by blocks.

use std::borrow::Cow;

use super::columns::Columns;
use super::function::Kernel;
use super::points::Points;
use super::sums::{ColumnSums, Weight};
use crate::error::{Error, Result, check_len};
use crate::linalg::memory::zeros;
use crate::linalg::real::Real;
use crate::linalg::vector::add_rows;
use crate::threads::Threads;

/// Rows of one block of work.
const BAND: usize = 64;
/// Entries of a vector that one task sums.
const TILE: usize = 512;
/// Entries below which starting threads costs more than it brings.
const PARALLEL_ENTRIES: usize = 40_000;

/// Entries beyond this overflow when the solver multiplies them.
pub(crate) const LARGEST_ENTRY: f64 = 1e140;

/// A symmetric kernel matrix, held in full.
#[derive(Clone, Debug)]
pub struct GramMatrix<'a> {
    /// Row-major, perhaps with memory to spare behind rows and matrix.
    values: Cow<'a, [f64]>,
    n: usize,
    /// From one row to the next.
    stride: usize,
    diagonal: Vec<f64>,
    n_computed: usize,
}

impl<'a> GramMatrix<'a> {
    /// Takes a matrix that the caller holds, row-major, symmetric to the last bit.
    ///
    /// # Errors
    /// If it is not square, or holds a value that is not finite or too large.
    pub fn new(values: Cow<'a, [f64]>, n: usize) -> Result<Self> {
        check_len("matrix", n * n, values.len())?;
        check_entries(&values, "precomputed")?;
        let diagonal = (0..n).map(|i| values[i * n + i]).collect();
        Ok(Self { values, n, stride: n, diagonal, n_computed: 0 })
    }

    /// Whether a square matrix is symmetric to the last bit. Differences by rounding are allowed.
    ///
    /// # Errors
    /// If two entries differ by more than 1e-10 of the largest entry.
    pub fn check_symmetric(values: &[f64], n: usize) -> Result<bool> {
        check_len("matrix", n * n, values.len())?;
        let (mut worst, mut at) = (0.0, (0, 0));
        // By tiles, so that the columns read across stay in the cache.
        for first in (0..n).step_by(BAND) {
            for i in first..n {
                for j in first..(first + BAND).min(i) {
                    let difference = (values[i * n + j] - values[j * n + i]).abs();
                    if difference > worst {
                        (worst, at) = (difference, (i, j));
                    }
                }
            }
        }
        let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        if worst > 1e-10 * largest {
            return Err(Error::Asymmetric {
                argument: "matrix",
                row: at.0,
                column: at.1,
                difference: worst,
            });
        }
        Ok(worst == 0.0)
    }

    /// Computes the kernel matrix of the points. `proceed` is asked between blocks; a `false` stops the work and gives `None`.
    ///
    /// # Errors
    /// If an entry overflows.
    pub fn compute(
        points: &Points<'_>,
        kernel: &Kernel,
        threads: &Threads,
        proceed: impl FnMut() -> bool,
    ) -> Result<Option<GramMatrix<'static>>> {
        Self::compute_in(Vec::new(), points, kernel, threads, proceed)
    }

    /// As [`GramMatrix::compute`], in memory that is used again: fresh pages cost as much as the arithmetic.
    pub(crate) fn compute_in(
        buffer: Vec<f64>,
        points: &Points<'_>,
        kernel: &Kernel,
        threads: &Threads,
        mut proceed: impl FnMut() -> bool,
    ) -> Result<Option<GramMatrix<'static>>> {
        let n = points.len();
        let mut values = if buffer.len() < n * n { zeros(n * n) } else { buffer };
        let done = fill_symmetric(&mut values[..n * n], n, points, kernel, threads, &mut proceed)?;
        Ok(done.then(|| GramMatrix { n_computed: n, ..GramMatrix::held(values, n, n) }))
    }

    /// Takes a matrix whose rows begin every `stride` entries.
    pub(super) fn held(values: Vec<f64>, n: usize, stride: usize) -> GramMatrix<'static> {
        let diagonal = (0..n).map(|i| values[i * stride + i]).collect();
        GramMatrix { values: Cow::Owned(values), n, stride, diagonal, n_computed: 0 }
    }

    /// Gives the memory back.
    pub(crate) fn into_values(self) -> Vec<f64> {
        self.values.into_owned()
    }

    /// Rows of the matrix.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Columns that were computed here; 0 if the caller held the matrix.
    pub fn n_computed(&self) -> usize {
        self.n_computed
    }

    /// Row i, which is also column i.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.stride..][..self.n]
    }

    /// The diagonal.
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// The matrix without rows.
    pub fn empty() -> GramMatrix<'static> {
        Self::held(Vec::new(), 0, 0)
    }

    /// The block of some rows and the same columns.
    pub fn block(&self, rows: &[usize]) -> GramMatrix<'static> {
        let mut values = zeros(rows.len() * rows.len());
        for (out, &i) in values.chunks_exact_mut(rows.len().max(1)).zip(rows) {
            let row = self.row(i);
            out.iter_mut().zip(rows).for_each(|(value, &j)| *value = row[j]);
        }
        Self::held(values, rows.len(), rows.len())
    }

    /// The sum of `weights[k]` times column `columns[k]`, with its rounding errors and magnitudes.
    pub fn column_sums(&self, columns: &[usize], weights: &[f64], threads: &Threads) -> ColumnSums {
        let rows: Vec<&[f64]> = columns.iter().map(|&j| self.row(j)).collect();
        let mut sums = ColumnSums::zeros(self.n);
        let weights: Vec<Weight> = weights.iter().map(|w| Weight::from(*w)).collect();
        sums.add(&rows, &weights, threads);
        sums
    }

    /// out += sum of `coefficients[k]` times column `columns[k]`.
    pub fn add_columns(
        &self,
        columns: &[usize],
        coefficients: &[f64],
        out: &mut [f64],
        threads: &Threads,
    ) {
        let parallel = columns.len() * self.n > 100_000;
        threads.for_each_chunk(out, TILE, parallel, |k, out| {
            let start = k * TILE;
            // A few rows at a time, collected on the stack.
            for (c, a) in columns.chunks(16).zip(coefficients.chunks(16)) {
                let mut rows: [&[f64]; 16] = [&[]; 16];
                for (row, &j) in rows.iter_mut().zip(c) {
                    *row = &self.row(j)[start..start + out.len()];
                }
                add_rows(a, &rows[..c.len()], out);
            }
        });
    }
}

/// Fills a kernel matrix whose rows begin every `stride` entries: the upper triangle is computed, the lower copied. False if stopped.
pub(super) fn fill_symmetric(
    values: &mut [f64],
    stride: usize,
    points: &Points<'_>,
    kernel: &Kernel,
    threads: &Threads,
    proceed: &mut dyn FnMut() -> bool,
) -> Result<bool> {
    let n = points.len();
    let columns = Columns::new(points, kernel);
    let per_group = bands_per_group(n, points.n_features());
    for (g, group) in values.chunks_mut((per_group * BAND * stride).max(1)).enumerate() {
        let first = g * per_group * BAND;
        threads.for_each_chunk(group, BAND * stride, n * n > PARALLEL_ENTRIES, |k, band| {
            let start = first + k * BAND;
            columns.fill(points, start, start, stride, band);
        });
        if !proceed() {
            return Ok(false);
        }
    }
    mirror(values, n, stride, threads);
    if kernel.depends_on_distance() {
        for i in 0..n {
            values[i * stride + i] = 1.0;
        }
    } else {
        for row in values.chunks(stride.max(1)) {
            check_entries(&row[..n], kernel.name())?;
        }
    }
    Ok(true)
}

/// The kernel matrix of two sets of points, row-major. `proceed` is asked between blocks; a `false` stops the work and gives
/// `None`.
///
/// # Errors
/// If the numbers of features differ or an entry overflows.
pub fn pairwise_kernel(
    x: &Points<'_>,
    y: &Points<'_>,
    kernel: &Kernel,
    threads: &Threads,
    mut proceed: impl FnMut() -> bool,
) -> Result<Option<Vec<f64>>> {
    if x.n_features() != y.n_features() {
        return Err(Error::Shape {
            argument: "Y",
            expected: format!("{} features", x.n_features()),
            got: y.n_features().to_string(),
        });
    }
    let m = y.len();
    let mut values = zeros(x.len() * m);
    let columns = Columns::new(y, kernel);
    let per_group = bands_per_group(m, x.n_features());
    let parallel = x.len() * m > PARALLEL_ENTRIES;
    for (g, group) in values.chunks_mut((per_group * BAND * m).max(1)).enumerate() {
        threads.for_each_chunk(group, (BAND * m).max(1), parallel, |k, band| {
            columns.fill(x, (g * per_group + k) * BAND, 0, m, band);
        });
        if !proceed() {
            return Ok(None);
        }
    }
    check_entries(&values, kernel.name())?;
    Ok(Some(values))
}

/// Bands that take about a tenth of a second together: the time between two looks at the clock.
fn bands_per_group(columns: usize, n_features: usize) -> usize {
    (1_000_000_000 / (BAND * columns * (n_features + 30)).max(1)).max(4)
}

/// Copies the upper triangle into the lower one.
fn mirror(values: &mut [f64], n: usize, stride: usize, threads: &Threads) {
    for start in (0..n).step_by(BAND) {
        let (above, rest) = values.split_at_mut(start * stride);
        let rows = BAND.min(n - start);
        let band = &mut rest[..rows * stride];
        // The block on the diagonal, in place; then the blocks to its left, from the rows above.
        for i in 1..rows {
            for j in 0..i {
                band[i * stride + start + j] = band[j * stride + start + i];
            }
        }
        let above = &*above;
        threads.for_each_chunk(band, 16 * stride, start * rows > PARALLEL_ENTRIES, |k, part| {
            let first = start + 16 * k;
            let count = part.len() / stride;
            for column in (0..start).step_by(16) {
                for j in column..(column + 16).min(start) {
                    let source = &above[j * stride + first..][..count];
                    for (i, value) in source.iter().enumerate() {
                        part[i * stride + j] = *value;
                    }
                }
            }
        });
    }
}

/// Refuses entries that are not finite or would overflow in products.
pub(super) fn check_entries<R: Real>(values: &[R], kernel: &'static str) -> Result<()> {
    // Written so that NaN is bad; without a branch, so that it vectorises.
    let bad = |v: f64| !(v.abs() < LARGEST_ENTRY);
    for block in values.chunks(4096) {
        if block.iter().fold(false, |any, v| any | bad(v.to_f64())) {
            let worst = block.iter().map(|v| v.to_f64().abs()).filter(|v| bad(*v));
            let largest = worst.fold(0.0, |m: f64, v| if v.is_nan() { v } else { m.max(v) });
            return Err(Error::KernelOverflow { kernel, largest });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirror_copies_the_upper_triangle() {
        for n in [1, 2, 15, 16, 17, 64, 65, 130] {
            for stride in [n, n + 5] {
                let mut values: Vec<f64> = (0..n * stride)
                    .map(|k| if k % stride >= k / stride { (k * 7 % 101) as f64 } else { -1.0 })
                    .collect();
                let upper = values.clone();
                mirror(&mut values, n, stride, &Threads::new(2));
                for i in 0..n {
                    for j in 0..n {
                        assert_eq!(values[i * stride + j], upper[i.min(j) * stride + i.max(j)]);
                    }
                }
            }
        }
    }
}
