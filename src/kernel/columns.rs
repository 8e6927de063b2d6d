//! Blocks of kernel values: points prepared as columns, filled a band of rows at a time.

use super::function::Kernel;
use super::panels::{Panels, Term};
use super::points::Points;
use crate::linalg::real::Real;

/// Bytes of packed columns that stay in the cache while rows run through them.
const TILE_BYTES: usize = 256 << 10;
/// Columns of a tile, at most: a strip of rows should stay in the cache while it becomes kernel values.
pub(super) const TILE_COLUMNS: usize = 512;
/// Rows that are finished together.
pub(super) const STRIP: usize = 8;

/// Points prepared as the columns of kernel blocks, in the precision of R.
#[derive(Clone, Debug)]
pub struct PackedColumns<R, const LANES: usize> {
    kernel: Kernel,
    panels: Panels<R, LANES>,
    norms: Vec<R>,
    spread: bool,
    n: usize,
    n_features: usize,
    tile: usize,
}

/// In double precision: what every result rests on.
pub type Columns = PackedColumns<f64, 8>;
/// In single precision: half the work and memory, for a gradient that only has to point the way.
pub(super) type CoarseColumns = PackedColumns<f32, 16>;

/// Points that run through the columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'r, R> {
    /// Row-major.
    pub(super) values: &'r [R],
    /// Squared norms; empty if the kernel needs none.
    pub(super) norms: &'r [R],
}

impl<R: Real, const LANES: usize> PackedColumns<R, LANES> {
    /// Packs the points.
    pub fn new(points: &Points<'_>, kernel: &Kernel) -> Self {
        let (n, n_features) = (points.len(), points.n_features());
        let width = Panels::<R, LANES>::WIDTH;
        let row_bytes = size_of::<R>() * n_features.max(1);
        let tile = (TILE_BYTES / row_bytes).clamp(width, TILE_COLUMNS) / width * width;
        let panels = Panels::new(points.values(), n_features);
        let norms = if kernel.needs_norms() { panels.squared_norms(n) } else { Vec::new() };
        let spread = points.are_spread();
        Self { kernel: *kernel, panels, norms, spread, n, n_features, tile }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    /// The kernel.
    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// x'x of every point, to the bit that the products have.
    pub(super) fn squared_norms(&self) -> Vec<R> {
        self.panels.squared_norms(self.n)
    }

    /// Columns of a tile: what stays in the cache while rows run through it.
    pub(super) fn tile(&self) -> usize {
        self.tile
    }

    /// Copies some of the points into `values` and `norms`, as rows.
    pub(super) fn gather(&self, points: &[usize], values: &mut Vec<R>, norms: &mut Vec<R>) {
        values.clear();
        norms.clear();
        for &i in points {
            self.panels.copy_column(i, values);
            norms.extend(self.norms.get(i));
        }
    }

    /// Kernel values of a few rows (one to [`STRIP`], from row `start` of `x`) with the columns `first .. last`, where `first` is a
    /// multiple of [`PackedColumns::tile`] or of [`TILE_COLUMNS`]; `out[i]` receives row start + i.
    pub(super) fn fill_strip(
        &self,
        x: Rows<'_, R>,
        start: usize,
        first: usize,
        last: usize,
        out: &mut [&mut [R]],
    ) {
        let d = self.n_features;
        if d == 0 {
            for row in out.iter_mut() {
                row.fill(R::default());
            }
        } else {
            let term = match self.kernel {
                Kernel::Laplacian { .. } => Term::Difference,
                Kernel::Rbf { .. } if self.spread => Term::SquaredDifference,
                _ => Term::Product,
            };
            self.panels.strip(term, &x.values[start * d..][..out.len() * d], first, last, out);
        }
        if self.spread {
            for row in out.iter_mut() {
                self.kernel.finish_distances(row);
            }
            return;
        }
        let norms = self.norms.get(first..last).unwrap_or_default();
        for (i, row) in out.iter_mut().enumerate() {
            let norm = x.norms.get(start + i).copied().unwrap_or_default();
            self.kernel.finish_row(row, norm, norms);
        }
    }
}

impl Columns {
    /// Kernel values of the rows `start ..` of x with the columns `from ..` (rounded down to a panel) into `band`, whose rows begin every
    /// `stride` entries.
    ///
    /// # Panics
    /// If x has fewer rows than the band reaches, or other features; if the stride is less than `len()`.
    pub fn fill(&self, x: &Points<'_>, start: usize, from: usize, stride: usize, band: &mut [f64]) {
        let (m, width) = (self.n, Panels::<f64, 8>::WIDTH);
        if m == 0 {
            return;
        }
        let rows = start..start + band.len().div_ceil(stride);
        for first in (from / width * width..m).step_by(self.tile) {
            let last = (first + self.tile).min(m);
            let strips = band.chunks_mut(STRIP * stride);
            for (strip, start) in strips.zip(rows.clone().step_by(STRIP)) {
                let mut parts: [&mut [f64]; STRIP] = std::array::from_fn(|_| Default::default());
                let mut n_rows = 0;
                for (part, row) in parts.iter_mut().zip(strip.chunks_mut(stride)) {
                    *part = &mut row[first..last];
                    n_rows += 1;
                }
                self.fill_strip(x.rows(), start, first, last, &mut parts[..n_rows]);
            }
        }
    }
}
