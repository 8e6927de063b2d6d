//! Sums of matrix columns that carry their rounding errors.

use crate::linalg::compensated;
use crate::threads::Threads;

/// Rows of one task.
const BAND: usize = 512;
/// Columns that are added in one pass over a task's rows.
const TOGETHER: usize = 64;
/// Products below which threads cost more than they bring.
const PARALLEL_PRODUCTS: usize = 50_000;

/// K b as sums of two numbers, as good as in twice the working precision, with the sum of the magnitudes of the terms.
#[derive(Clone, Debug)]
pub struct ColumnSums {
    bands: Vec<Band>,
    n: usize,
}

#[derive(Clone, Debug)]
struct Band {
    high: Vec<f64>,
    low: Vec<f64>,
    magnitude: Vec<f64>,
}

impl ColumnSums {
    /// Empty sums of `n` entries.
    pub fn zeros(n: usize) -> Self {
        let band = |start: usize| {
            let zeros = vec![0.0; BAND.min(n - start)];
            Band { high: zeros.clone(), low: zeros.clone(), magnitude: zeros }
        };
        Self { bands: (0..n).step_by(BAND).map(band).collect(), n }
    }

    /// Sums that were made elsewhere.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn from_parts(high: &[f64], low: &[f64], magnitude: &[f64]) -> Self {
        let mut sums = Self::zeros(high.len());
        for (k, band) in sums.bands.iter_mut().enumerate() {
            let range = k * BAND..k * BAND + band.high.len();
            band.high.copy_from_slice(&high[range.clone()]);
            band.low.copy_from_slice(&low[range.clone()]);
            band.magnitude.copy_from_slice(&magnitude[range]);
        }
        sums
    }

    /// Adds `weights[k]` times `columns[k]`.
    pub fn add(&mut self, columns: &[&[f64]], weights: &[f64], threads: &Threads) {
        let parallel = columns.len() * self.n > PARALLEL_PRODUCTS;
        threads.for_each_chunk(&mut self.bands, 1, parallel, |k, band| {
            let band = &mut band[0];
            let range = k * BAND..k * BAND + band.high.len();
            // As many columns as a task can list without allocating.
            for (columns, weights) in columns.chunks(TOGETHER).zip(weights.chunks(TOGETHER)) {
                let mut parts: [&[f64]; TOGETHER] = [&[]; TOGETHER];
                for (part, column) in parts.iter_mut().zip(columns) {
                    *part = &column[range.clone()];
                }
                let parts = &parts[..columns.len()];
                compensated::add_columns(
                    weights,
                    parts,
                    &mut band.high,
                    &mut band.low,
                    &mut band.magnitude,
                );
            }
        });
    }

    /// Entry i: the sum, its correction, and sum over j of `|K_ij| |b_j|`.
    #[inline]
    pub fn at(&self, i: usize) -> (f64, f64, f64) {
        let (band, k) = (&self.bands[i / BAND], i % BAND);
        (band.high[k], band.low[k], band.magnitude[k])
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
}
