//! Kernel matrices, by blocks.

use std::borrow::Cow;

use super::columns::Columns;
use super::function::Kernel;
use super::points::Points;
use crate::error::{Error, Result, check_len};
use crate::linalg::memory::zeros;
use crate::linalg::vector::add_rows;
use crate::threads::Threads;

/// Rows of one block of work.
const BAND: usize = 64;
/// Entries of a vector that one task sums.
const TILE: usize = 512;
/// Entries below which starting threads costs more than it brings.
const PARALLEL_ENTRIES: usize = 40_000;
/// Entries beyond this overflow when the solver multiplies them.
const LARGEST_ENTRY: f64 = 1e140;

/// A symmetric kernel matrix, held in full.
#[derive(Clone, Debug)]
pub struct GramMatrix<'a> {
    values: Cow<'a, [f64]>,
    n: usize,
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
        Ok(Self { values, n, diagonal, n_computed: 0 })
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
        mut proceed: impl FnMut() -> bool,
    ) -> Result<Option<GramMatrix<'static>>> {
        let n = points.len();
        let mut values = zeros(n * n);
        let columns = Columns::new(points, kernel);
        let per_group = bands_per_group(n, points.n_features());
        for (g, group) in values.chunks_mut((per_group * BAND * n).max(1)).enumerate() {
            let first = g * per_group * BAND;
            threads.for_each_chunk(group, BAND * n, n * n > PARALLEL_ENTRIES, |k, band| {
                let start = first + k * BAND;
                columns.fill(points, start, start, band);
            });
            if !proceed() {
                return Ok(None);
            }
        }
        mirror(&mut values, n, threads);
        if matches!(kernel, Kernel::Rbf { .. } | Kernel::Laplacian { .. }) {
            for i in 0..n {
                values[i * n + i] = 1.0;
            }
        } else {
            check_entries(&values, kernel.name())?;
        }
        let diagonal = (0..n).map(|i| values[i * n + i]).collect();
        Ok(Some(GramMatrix { values: Cow::Owned(values), n, diagonal, n_computed: n }))
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
        &self.values[i * self.n..(i + 1) * self.n]
    }

    /// The diagonal.
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
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
            columns.fill(x, (g * per_group + k) * BAND, 0, band);
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
fn mirror(values: &mut [f64], n: usize, threads: &Threads) {
    for start in (0..n).step_by(BAND) {
        let (above, rest) = values.split_at_mut(start * n);
        let rows = BAND.min(n - start);
        let band = &mut rest[..rows * n];
        // The block on the diagonal, in place; then the blocks to its left, from the rows above.
        for i in 1..rows {
            for j in 0..i {
                band[i * n + start + j] = band[j * n + start + i];
            }
        }
        let above = &*above;
        threads.for_each_chunk(band, 16 * n, start * rows > PARALLEL_ENTRIES, |k, part| {
            let first = start + 16 * k;
            let count = part.len() / n;
            for column in (0..start).step_by(16) {
                for j in column..(column + 16).min(start) {
                    let source = &above[j * n + first..][..count];
                    for (i, value) in source.iter().enumerate() {
                        part[i * n + j] = *value;
                    }
                }
            }
        });
    }
}

/// Refuses entries that are not finite or would overflow in products.
fn check_entries(values: &[f64], kernel: &'static str) -> Result<()> {
    let bad = |v: &f64| !(v.abs() < LARGEST_ENTRY);
    for block in values.chunks(4096) {
        // One vectorised pass; only a bad block is looked at closely. NaN is lost by max, hence the sum beside it.
        let largest = block.iter().fold(0.0_f64, |m, v| if v.abs() > m { v.abs() } else { m });
        let sum: f64 = block.iter().map(|v| v * 0.0).sum();
        if !(largest < LARGEST_ENTRY) || sum != 0.0 {
            let largest = values.iter().filter(|v| bad(v)).map(|v| v.abs()).fold(0.0, f64::max);
            let largest = if values.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
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
            let mut values: Vec<f64> = (0..n * n)
                .map(|k| if k % n >= k / n { (k * 7 % 101) as f64 } else { -1.0 })
                .collect();
            let upper = values.clone();
            mirror(&mut values, n, &Threads::new(2));
            for i in 0..n {
                for j in 0..n {
                    assert_eq!(values[i * n + j], upper[i.min(j) * n + i.max(j)]);
                }
            }
        }
    }
}
