//! Substitutions with the factor.

use super::PackedCholesky;
use super::panel::{Column, LANES, panel_product, panel_start};
use crate::linalg::simd::{Routine, dispatch, fma};

impl PackedCholesky {
    /// Solves L y = b in place.
    ///
    /// # Panics
    /// If b does not have `len()` entries.
    pub fn forward_in_place(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.len());
        for p in 0..self.n_panels() {
            let (left, diagonal) = self.panel(p).split_at(LANES * p);
            let (solved, rest) = b.split_at_mut(LANES * p);
            let rows = rest.len().min(LANES);
            let mut sum = dispatch(TimesVector { columns: left, x: solved });
            for r in 0..rows {
                let value = (rest[r] - sum[r]) / diagonal[r][r];
                rest[r] = value;
                for q in r + 1..rows {
                    sum[q] += diagonal[r][q] * value;
                }
            }
        }
    }

    /// Solves L' s = y in place.
    ///
    /// # Panics
    /// If y does not have `len()` entries.
    pub fn backward_in_place(&mut self, y: &mut [f64]) {
        assert_eq!(y.len(), self.len());
        let mut partial = std::mem::take(&mut self.partial);
        partial.clear();
        partial.resize(self.len(), [0.0; LANES]);
        for p in (0..self.n_panels()).rev() {
            let (left, diagonal) = self.panel(p).split_at(LANES * p);
            let rows = (self.len() - LANES * p).min(LANES);
            let mut solved = [0.0; LANES];
            for r in (0..rows).rev() {
                let i = LANES * p + r;
                let mut sum: f64 = partial[i].iter().sum();
                for q in r + 1..rows {
                    sum += diagonal[r][q] * solved[q];
                }
                solved[r] = (y[i] - sum) / diagonal[r][r];
                y[i] = solved[r];
            }
            // The eight sums of a column stay apart until their row is solved: no horizontal addition here.
            dispatch(AddScaled { columns: left, x: &solved, out: &mut partial[..LANES * p] });
        }
        self.partial = partial;
    }

    /// Solves L Y = B in place for eight right-hand sides at once: `b[j]` holds row j of B.
    ///
    /// # Panics
    /// If b does not have `len()` rows.
    pub fn forward_panel_in_place(&self, b: &mut [Column]) {
        assert_eq!(b.len(), self.len());
        for p in 0..self.n_panels() {
            let (left, diagonal) = self.panel(p).split_at(LANES * p);
            let (solved, rest) = b.split_at_mut(LANES * p);
            let rows = rest.len().min(LANES);
            let product = panel_product(left, solved);
            for r in 0..rows {
                let mut value = rest[r];
                for l in 0..LANES {
                    value[l] -= product[r][l];
                }
                for q in 0..r {
                    for l in 0..LANES {
                        value[l] -= diagonal[q][r] * rest[q][l];
                    }
                }
                for l in 0..LANES {
                    value[l] /= diagonal[r][r];
                }
                rest[r] = value;
            }
        }
    }

    /// L' s into `out`.
    ///
    /// # Panics
    /// If s does not have `len()` entries.
    pub fn transpose_times_into(&mut self, s: &[f64], out: &mut Vec<f64>) {
        assert_eq!(s.len(), self.len());
        let mut partial = std::mem::take(&mut self.partial);
        partial.clear();
        partial.resize(self.n_panels() * LANES, [0.0; LANES]);
        for p in 0..self.n_panels() {
            let mut rows = [0.0; LANES];
            let present = &s[LANES * p..self.len().min(LANES * (p + 1))];
            rows[..present.len()].copy_from_slice(present);
            dispatch(AddScaled { columns: self.panel(p), x: &rows, out: &mut partial });
        }
        out.clear();
        out.extend(partial[..self.len()].iter().map(|lanes| lanes.iter().sum::<f64>()));
        self.partial = partial;
    }

    /// L w into `out`.
    ///
    /// # Panics
    /// If w does not have `len()` entries.
    pub fn times_into(&self, w: &[f64], out: &mut Vec<f64>) {
        assert_eq!(w.len(), self.len());
        out.clear();
        for p in 0..self.n_panels() {
            let (left, diagonal) = self.panel(p).split_at(LANES * p);
            let (before, here) = w.split_at(LANES * p);
            let mut sum = dispatch(TimesVector { columns: left, x: before });
            for (column, w) in diagonal.iter().zip(here) {
                for l in 0..LANES {
                    sum[l] += column[l] * w;
                }
            }
            out.extend_from_slice(&sum[..here.len().min(LANES)]);
        }
    }

    /// Columns stored; for memory reports.
    pub fn stored(&self) -> usize {
        panel_start(self.n_panels())
    }
}

/// sum over columns j of `columns[j] * x[j]`.
struct TimesVector<'a> {
    columns: &'a [Column],
    x: &'a [f64],
}

impl Routine for TimesVector<'_> {
    type Output = Column;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Column {
        let (blocks, _) = self.columns.as_chunks::<4>();
        let (x, _) = self.x.as_chunks::<4>();
        // The columns before a panel's diagonal block come in eights, so nothing is left over.
        let mut acc = [[0.0; LANES]; 4];
        for (block, x) in blocks.iter().zip(x) {
            for k in 0..4 {
                for l in 0..LANES {
                    acc[k][l] = fma::<FMA>(block[k][l], x[k], acc[k][l]);
                }
            }
        }
        let mut sum = [0.0; LANES];
        for l in 0..LANES {
            sum[l] = (acc[0][l] + acc[1][l]) + (acc[2][l] + acc[3][l]);
        }
        sum
    }
}

/// `out[j] += columns[j] * x`, lane by lane.
struct AddScaled<'a> {
    columns: &'a [Column],
    x: &'a Column,
    out: &'a mut [Column],
}

impl Routine for AddScaled<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (column, out) in self.columns.iter().zip(self.out) {
            for l in 0..LANES {
                out[l] = fma::<FMA>(column[l], self.x[l], out[l]);
            }
        }
    }
}
