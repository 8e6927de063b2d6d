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
        let m = self.len();
        if m == 0 {
            return;
        }
        let rows = start..start + band.len() / m;
        for first in (from / WIDTH * WIDTH..m).step_by(self.tile) {
            let last = (first + self.tile).min(m);
            let strips = band.chunks_mut(STRIP * m);
            for (strip, start) in strips.zip(rows.clone().step_by(STRIP)) {
                let mut parts: [&mut [f64]; STRIP] = std::array::from_fn(|_| Default::default());
                let mut n_rows = 0;
                for (part, row) in parts.iter_mut().zip(strip.chunks_exact_mut(m)) {
                    *part = &mut row[first..last];
                    n_rows += 1;
                }
                self.fill_strip(x, start, first, last, &mut parts[..n_rows]);
            }
        }
    }

    /// Columns of a tile: what stays in the cache while rows run through it.
    pub(super) fn tile(&self) -> usize {
        self.tile
    }

    /// Kernel values of all rows of x with one tile of columns, from `first` (a multiple of [`Columns::tile`]); `out[i]` receives
    /// row i.
    pub(super) fn fill_tile(&self, x: &Points<'_>, first: usize, out: &mut [&mut [f64]]) {
        let last = (first + self.tile).min(self.len());
        for (strip, start) in out.chunks_mut(STRIP).zip((0..).step_by(STRIP)) {
            self.fill_strip(x, start, first, last, strip);
        }
    }

    fn fill_strip(
        &self,
        x: &Points<'_>,
        start: usize,
        first: usize,
        last: usize,
        out: &mut [&mut [f64]],
    ) {
        let d = self.points.n_features();
        if d == 0 {
            for row in out.iter_mut() {
                row.fill(0.0);
            }
        } else {
            let term = if matches!(self.kernel, Kernel::Laplacian { .. }) {
                Term::Difference
            } else {
                Term::Product
            };
            let rows = &x.values()[start * d..(start + out.len()) * d];
            self.panels.strip(term, rows, first, last, out);
        }
        for (i, row) in out.iter_mut().enumerate() {
            self.kernel.finish_row(row, x.norm(start + i), self.points.norms(first..last));
        }
    }
}
