//! Appending rows, singly or as a block.

use super::PackedCholesky;
use super::panel::{Column, LANES, panel_product};

/// What an append found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pivot {
    /// The row is in the factor.
    Appended,
    /// The squared pivot is at most `rank_tol` times the diagonal: the row depends on those already in, and was not appended.
    Dependent(f64),
    /// The squared pivot is clearly negative: the matrix is not positive semidefinite, or the factor ill-conditioned. Not appended.
    Indefinite(f64),
}

/// How negative, relative to the diagonal, a squared pivot of a well-conditioned factor may be by rounding alone.
const NEGATIVE_BY_ROUNDING: f64 = 1e-10;

impl Pivot {
    /// Judges a squared pivot against the diagonal that it is left of.
    pub fn judge(square: f64, diagonal: f64, rank_tol: f64) -> Self {
        if square > rank_tol * diagonal {
            Self::Appended
        } else if square < -NEGATIVE_BY_ROUNDING * diagonal {
            Self::Indefinite(square)
        } else {
            Self::Dependent(square)
        }
    }
}

/// A block of rows that wait to be appended, with everything that deletions in between must carry along:
/// the solved rows L^-1 B, eight to a panel, and the Schur complement of the factor in the block.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    pub(super) panels: Vec<Vec<Column>>,
    /// Columns in use: the length of the factor.
    pub(super) width: usize,
    /// Schur complement, row-major, `len` by `len`.
    pub(super) schur: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Pending {
    /// Rows of the block.
    pub fn len(&self) -> usize {
        self.diagonal.len()
    }

    /// Whether the block has no row.
    pub fn is_empty(&self) -> bool {
        self.diagonal.is_empty()
    }

    /// Starts a block of `rows` rows for a factor of `width` rows; the panels come back zeroed, to be filled with the
    /// cross products (`panel[j][lane]` = product of row j of the factor and row `8 * panel + lane` of the block).
    pub fn start(&mut self, rows: usize, width: usize) -> &mut [Vec<Column>] {
        let n_panels = rows.div_ceil(LANES);
        self.width = width;
        self.panels.resize_with(n_panels, Vec::new);
        for panel in &mut self.panels {
            panel.clear();
            panel.resize(width + rows, [0.0; LANES]);
        }
        self.schur.clear();
        self.schur.resize(rows * rows, 0.0);
        self.diagonal.clear();
        self.diagonal.resize(rows, 0.0);
        &mut self.panels
    }

    /// The panels, to be solved with [`PackedCholesky::forward_panel_in_place`] (each on its own, in any order).
    pub fn panels_mut(&mut self) -> (&mut [Vec<Column>], usize) {
        (&mut self.panels, self.width)
    }

    /// Forms the Schur complement once the panels are solved. `product(i, j)` is the matrix entry of two rows of the block.
    pub fn form_schur(&mut self, product: impl Fn(usize, usize) -> f64) {
        let n = self.len();
        for (p, left) in self.panels.iter().enumerate() {
            for (q, right) in self.panels.iter().enumerate().take(p + 1) {
                let sum = panel_product(&left[..self.width], &right[..self.width]);
                for i in LANES * p..n.min(LANES * (p + 1)) {
                    for j in LANES * q..n.min(LANES * (q + 1)).min(i + 1) {
                        let value = product(i, j) - sum[i - LANES * p][j - LANES * q];
                        self.schur[i * n + j] = value;
                        self.schur[j * n + i] = value;
                    }
                }
            }
        }
        for i in 0..n {
            self.diagonal[i] = product(i, i);
        }
    }

    /// Entry j of the solved row i.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        debug_assert!(j < self.width);
        self.panels[i / LANES][j][i % LANES]
    }

    /// The solved row i.
    pub fn row(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        self.panels[i / LANES][..self.width].iter().map(move |column| column[i % LANES])
    }

    /// Schur complement of rows i and j.
    pub fn schur(&self, i: usize, j: usize) -> f64 {
        self.schur[i * self.len() + j]
    }

    /// For every waiting row r, the product of its solved row with v.
    pub fn times_vector(&self, v: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.len());
        for panel in &self.panels {
            let mut sum = [0.0; LANES];
            for (column, v) in panel[..self.width].iter().zip(v) {
                for l in 0..LANES {
                    sum[l] += column[l] * v;
                }
            }
            out.extend_from_slice(&sum);
        }
        out.truncate(self.len());
        out
    }
}

impl PackedCholesky {
    /// Appends a row with cross products `cross` (with the rows already in) and diagonal entry `diagonal`. `cross` is
    /// overwritten by L^-1 cross.
    ///
    /// # Panics
    /// If `cross` does not have `len()` entries.
    pub fn append(&mut self, cross: &mut [f64], diagonal: f64, rank_tol: f64) -> Pivot {
        self.forward_in_place(cross);
        let square = diagonal - cross.iter().map(|l| l * l).sum::<f64>();
        let pivot = Pivot::judge(square, diagonal, rank_tol);
        if pivot == Pivot::Appended {
            self.push_row(cross.iter().copied(), square.sqrt());
        }
        pivot
    }

    /// Appends row i of the block, if its pivot allows; the other rows of the block then know about it.
    pub fn append_pending(&mut self, pending: &mut Pending, i: usize, rank_tol: f64) -> Pivot {
        debug_assert_eq!(pending.width, self.len());
        let n = pending.len();
        let square = pending.schur(i, i);
        let verdict = Pivot::judge(square, pending.diagonal[i], rank_tol);
        if verdict != Pivot::Appended {
            return verdict;
        }
        let pivot = square.sqrt();
        self.push_row(pending.row(i), pivot);
        let (width, lane) = (pending.width, |r: usize| (r / LANES, r % LANES));
        for r in 0..n {
            let (p, l) = lane(r);
            pending.panels[p][width][l] = pending.schur[r * n + i] / pivot;
        }
        for r in i + 1..n {
            let (p, l) = lane(r);
            let factor = pending.panels[p][width][l];
            for s in i + 1..n {
                let (q, m) = lane(s);
                pending.schur[r * n + s] -= factor * pending.panels[q][width][m];
            }
        }
        pending.width += 1;
        Pivot::Appended
    }
}
