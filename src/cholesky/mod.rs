//! A Cholesky factor that grows at the end and loses any row: A = LL' with L lower triangular.
//!
//! Appending a row costs a forward substitution; deleting one is a positive rank-one update of the trailing block, done by
//! rotations and hence stable (Gill, Golub, Murray and Saunders, *Methods for modifying matrix factorizations*, Math. Comp. 28,
//! 1974). See [`panel`] for the storage.

mod append;
mod delete;
pub mod panel;
mod solve;

pub use append::{Pending, Pivot};
use panel::{Column, LANES, Rotation, panel_start, panel_width};

/// The packed factor.
#[derive(Clone, Debug, Default)]
pub struct PackedCholesky {
    columns: Vec<Column>,
    len: usize,
    /// Scratch of the deletions in progress: one series of rotations each.
    rotations: Vec<Vec<Rotation>>,
    /// Scratch of the back substitution.
    partial: Vec<Column>,
}

impl PackedCholesky {
    /// The factor of the empty matrix.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of the factor.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes room for `rows` rows, so that no later append allocates until there are more.
    pub fn reserve(&mut self, rows: usize) {
        let panels = rows.div_ceil(LANES);
        self.columns.reserve(panel_start(panels).saturating_sub(self.columns.len()));
        self.partial.reserve(rows.saturating_sub(self.partial.len()));
    }

    /// Bytes that the factor of `rows` rows takes.
    pub fn bytes(rows: usize) -> usize {
        panel_start(rows.div_ceil(LANES)) * size_of::<Column>()
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.columns.clear();
        self.len = 0;
    }

    /// `L[i][j]`, zero above the diagonal.
    ///
    /// # Panics
    /// If i or j is not below `len()`.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.len && j < self.len);
        if j > i { 0.0 } else { self.columns[panel_start(i / LANES) + j][i % LANES] }
    }

    /// Estimate of the reciprocal condition number of A: (smallest over largest diagonal entry of L) squared, an upper
    /// bound. 1 for the empty factor.
    pub fn rcond(&self) -> f64 {
        let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
        for i in 0..self.len {
            let d = self.entry(i, i);
            least = least.min(d);
            greatest = greatest.max(d);
        }
        if self.len == 0 { 1.0 } else { (least / greatest).powi(2) }
    }

    fn n_panels(&self) -> usize {
        self.len.div_ceil(LANES)
    }

    fn panel(&self, p: usize) -> &[Column] {
        &self.columns[panel_start(p)..][..panel_width(p)]
    }

    /// Writes row `len` from its first `len` entries and its diagonal entry.
    fn push_row(&mut self, entries: impl Iterator<Item = f64>, diagonal: f64) {
        let (p, lane) = (self.len / LANES, self.len % LANES);
        if lane == 0 {
            self.columns.resize(panel_start(p + 1), [0.0; LANES]);
        }
        let panel = &mut self.columns[panel_start(p)..];
        for (column, value) in panel.iter_mut().zip(entries) {
            column[lane] = value;
        }
        panel[self.len][lane] = diagonal;
        self.len += 1;
    }
}
