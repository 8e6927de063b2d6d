//! Sums of matrix columns that carry their rounding errors.

use super::gram::GramMatrix;
use crate::linalg::compensated;
use crate::threads::Threads;

/// Rows of one task.
const BAND: usize = 512;
/// Products below which threads cost more than they bring.
const PARALLEL_PRODUCTS: usize = 50_000;

/// K b as sums of two numbers, with the sum of the magnitudes of the terms.
#[derive(Clone, Debug)]
pub struct ColumnSums {
    bands: Vec<Band>,
}

#[derive(Clone, Debug)]
struct Band {
    high: Vec<f64>,
    low: Vec<f64>,
    magnitude: Vec<f64>,
}

impl ColumnSums {
    /// Entry i: the sum, its correction, and sum over j of `|K_ij| |b_j|`.
    #[inline]
    pub fn at(&self, i: usize) -> (f64, f64, f64) {
        let (band, k) = (&self.bands[i / BAND], i % BAND);
        (band.high[k], band.low[k], band.magnitude[k])
    }
}

/// The sum over j in `columns` of `weights[j]` times column j, as good as in twice the working precision.
pub fn weighted_columns(
    gram: &GramMatrix<'_>,
    columns: &[usize],
    weights: &[f64],
    threads: &Threads,
) -> ColumnSums {
    let n = gram.len();
    let mut bands: Vec<Band> = (0..n)
        .step_by(BAND)
        .map(|start| {
            let zeros = vec![0.0; BAND.min(n - start)];
            Band { high: zeros.clone(), low: zeros.clone(), magnitude: zeros }
        })
        .collect();
    threads.for_each_chunk(&mut bands, 1, columns.len() * n > PARALLEL_PRODUCTS, |k, band| {
        let band = &mut band[0];
        let range = k * BAND..k * BAND + band.high.len();
        for &j in columns {
            let row = &gram.row(j)[range.clone()];
            compensated::axpy(weights[j], row, &mut band.high, &mut band.low, &mut band.magnitude);
        }
    });
    ColumnSums { bands }
}
