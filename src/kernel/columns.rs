//! Blocks of kernel values: points prepared as columns, filled a band of rows at a time.

use super::function::Kernel;
use super::panels::{Panels, Term, WIDTH};
use super::points::Points;

/// Bytes of packed columns that stay in the cache while rows run through them.
const TILE_BYTES: usize = 256 << 10;
/// Columns of a tile, at most: a strip of rows should stay in the cache while it becomes kernel values.
const TILE_COLUMNS: usize = 512;
/// Rows that are finished together.
const STRIP: usize = 8;

/// Points prepared as the columns of kernel blocks.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    kernel: Kernel,
    points: &'a Points<'a>,
    panels: Panels,
    tile: usize,
}

impl<'a> Columns<'a> {
    /// Packs the points.
    pub fn new(points: &'a Points<'a>, kernel: &Kernel) -> Self {
        let row_bytes = 8 * points.n_features().max(1);
        let tile = (TILE_BYTES / row_bytes).clamp(WIDTH, TILE_COLUMNS) / WIDTH * WIDTH;
        let panels = Panels::new(points.values(), points.n_features());
        Self { kernel: *kernel, points, panels, tile }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// x'x of every point, to the bit that the products have.
    pub(super) fn squared_norms(&self) -> Vec<f64> {
        self.panels.squared_norms(self.len())
    }

    /// Kernel values of the rows `start ..` of x with the columns `from ..` (rounded down to a panel) into `band`, which holds
    /// whole rows of `len()` values.
    ///
    /// # Panics
    /// If x has fewer rows than the band reaches, or other features.
    pub fn fill(&self, x: &Points<'_>, start: usize, from: usize, band: &mut [f64]) {
        let (m, d) = (self.len(), self.points.n_features());
        if m == 0 || d == 0 {
            self.fill_without_features(band);
            return;
        }
        let term = if matches!(self.kernel, Kernel::Laplacian { .. }) {
            Term::Difference
        } else {
            Term::Product
        };
        let rows = &x.values()[start * d..(start + band.len() / m) * d];
        for first in (from / WIDTH * WIDTH..m).step_by(self.tile) {
            let last = (first + self.tile).min(m);
            for (s, strip) in band.chunks_mut(STRIP * m).enumerate() {
                let strip_rows = &rows[s * STRIP * d..((s + 1) * STRIP * d).min(rows.len())];
                self.panels.strip(term, strip_rows, first, last, &mut strip[first..], m);
                for (i, row) in strip.chunks_exact_mut(m).enumerate() {
                    let norm = x.norm(start + s * STRIP + i);
                    self.kernel.finish_row(
                        &mut row[first..last],
                        norm,
                        self.points.norms(first..last),
                    );
                }
            }
        }
    }

    /// Points without features are all the same point.
    fn fill_without_features(&self, band: &mut [f64]) {
        let m = self.len().max(1);
        band.fill(0.0);
        for row in band.chunks_exact_mut(m) {
            self.kernel.finish_row(row, 0.0, &vec![0.0; m]);
        }
    }
}
