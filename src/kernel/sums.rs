//! Sums of matrix columns that carry their rounding errors.

use super::tiles::{self, SPAN};
use crate::linalg::compensated;
pub use crate::linalg::compensated::Weight;
use crate::threads::Threads;

/// Entries of one task.
const BAND: usize = SPAN;

/// K b as sums of two numbers, as good as in twice the working precision, with the sum of the magnitudes of the terms.
#[derive(Clone, Debug)]
pub struct ColumnSums {
    bands: Vec<Band>,
    n: usize,
}

/// The sums of one task.
#[derive(Clone, Debug)]
pub(super) struct Band {
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
    pub fn add(&mut self, columns: &[&[f64]], weights: &[Weight], threads: &Threads) {
        tiles::reuse(columns, &mut self.bands, threads, |band, at, row, values| {
            band.add(at, &weights[row..row + values.len()], values);
        });
    }

    /// The sums in parts of [`SPAN`] entries.
    pub(super) fn bands(&mut self) -> &mut [Band] {
        &mut self.bands
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

impl Band {
    /// Adds `weights[k]` times `columns[k]` to the entries from `at` on.
    pub(super) fn add(&mut self, at: usize, weights: &[Weight], columns: &[&[f64]]) {
        let range = at..at + columns.first().map_or(0, |column| column.len());
        compensated::add_columns(
            weights,
            columns,
            &mut self.high[range.clone()],
            &mut self.low[range.clone()],
            &mut self.magnitude[range],
        );
    }
}
