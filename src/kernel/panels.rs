//! Products of many points with many others, the inner loop of every kernel matrix.
//!
//! The points that become columns are packed sixteen to a panel, feature by feature, so that sixteen columns of one feature are
//! adjacent. A strip of rows then runs through the panels with its sums in registers: one load of the panel serves all
//! rows of the strip. Every sum runs over the features in order, so an entry has the same bits wherever it is computed: the
//! matrix is symmetric and two equal points have equal products.

use crate::linalg::simd::{Routine, dispatch, fma, has_wide_registers};

/// Columns of a panel.
pub(super) const WIDTH: usize = 16;

/// Points packed as columns.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    values: Vec<[f64; WIDTH]>,
    n_features: usize,
}

/// What is summed over the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// x y
    Product,
    /// |x - y|
    Difference,
}

impl Panels {
    /// Packs `n` points given row by row.
    pub(super) fn new(values: &[f64], n_features: usize) -> Self {
        if n_features == 0 {
            return Self { values: Vec::new(), n_features };
        }
        let n = values.len() / n_features;
        let mut packed = vec![[0.0; WIDTH]; n.div_ceil(WIDTH) * n_features];
        for (panel, rows) in
            packed.chunks_exact_mut(n_features).zip(values.chunks(WIDTH * n_features))
        {
            for (lane, row) in rows.chunks_exact(n_features).enumerate() {
                for (column, x) in panel.iter_mut().zip(row) {
                    column[lane] = *x;
                }
            }
        }
        Self { values: packed, n_features }
    }

    /// Squared norms, summed as every other product.
    pub(super) fn squared_norms(&self, n: usize) -> Vec<f64> {
        let mut norms = Vec::with_capacity(n + WIDTH);
        if self.n_features > 0 {
            for panel in self.values.chunks_exact(self.n_features) {
                norms.extend_from_slice(&dispatch(Norms { panel }));
            }
        }
        norms.resize(n, 0.0);
        norms
    }

    /// Sums over the features for the rows `rows` (row-major) with the columns `first .. last`, where `first` is a multiple of
    /// [`WIDTH`]; `out[i]` receives row i.
    pub(super) fn strip(
        &self,
        term: Term,
        rows: &[f64],
        first: usize,
        last: usize,
        out: &mut [&mut [f64]],
    ) {
        let mut rows = rows.chunks_exact(self.n_features);
        // Sums of eight rows fit the registers of AVX-512, of two rows those of AVX2.
        let wide = if has_wide_registers() { out.len() / 8 * 8 } else { 0 };
        let (wide, rest) = out.split_at_mut(wide);
        for eight in wide.as_chunks_mut::<8>().0 {
            self.rows(term, &mut rows, first, last, eight);
        }
        let (pairs, rest) = rest.as_chunks_mut::<2>();
        for two in pairs {
            self.rows(term, &mut rows, first, last, two);
        }
        for one in rest.as_chunks_mut::<1>().0 {
            self.rows(term, &mut rows, first, last, one);
        }
    }

    fn rows<'r, const ROWS: usize>(
        &self,
        term: Term,
        rows: &mut impl Iterator<Item = &'r [f64]>,
        first: usize,
        last: usize,
        out: &mut [&mut [f64]; ROWS],
    ) {
        let d = self.n_features;
        let panels = &self.values[first / WIDTH * d..last.div_ceil(WIDTH) * d];
        let rows: [&[f64]; ROWS] = std::array::from_fn(|_| rows.next().unwrap_or_default());
        let columns = last - first;
        match term {
            Term::Product => dispatch(Strip::<ROWS, false> { rows, panels, columns, out }),
            Term::Difference => dispatch(Strip::<ROWS, true> { rows, panels, columns, out }),
        }
    }
}

struct Strip<'a, 'o, const ROWS: usize, const DIFFERENCE: bool> {
    rows: [&'a [f64]; ROWS],
    panels: &'a [[f64; WIDTH]],
    columns: usize,
    out: &'a mut [&'o mut [f64]; ROWS],
}

impl<const ROWS: usize, const DIFFERENCE: bool> Routine for Strip<'_, '_, ROWS, DIFFERENCE> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let d = self.rows[0].len();
        let rows: [&[f64]; ROWS] = std::array::from_fn(|r| &self.rows[r][..d]);
        for (p, panel) in self.panels.chunks_exact(d).enumerate() {
            let sums = sum_over_features::<FMA, ROWS, DIFFERENCE>(&rows, panel, d);
            let at = p * WIDTH;
            let width = WIDTH.min(self.columns - at);
            for r in 0..ROWS {
                let out = &mut self.out[r][at..at + width];
                if width == WIDTH {
                    out.copy_from_slice(&sums[r]);
                } else {
                    out.copy_from_slice(&sums[r][..width]);
                }
            }
        }
    }
}

/// Kept apart so that the sums live in registers: nothing in here can panic, and they are stored once, by the caller.
#[inline(always)]
fn sum_over_features<const FMA: bool, const ROWS: usize, const DIFFERENCE: bool>(
    rows: &[&[f64]; ROWS],
    panel: &[[f64; WIDTH]],
    d: usize,
) -> [[f64; WIDTH]; ROWS] {
    let panel = &panel[..d];
    let rows: [&[f64]; ROWS] = std::array::from_fn(|r| &rows[r][..d]);
    // Halves of one register each: arrays of sixteen are not kept in registers.
    let (mut low, mut high) = ([[0.0; WIDTH / 2]; ROWS], [[0.0; WIDTH / 2]; ROWS]);
    for k in 0..d {
        let (left, right) = panel[k].split_at(WIDTH / 2);
        for r in 0..ROWS {
            let x = rows[r][k];
            add_terms::<FMA, DIFFERENCE>(x, left, &mut low[r]);
            add_terms::<FMA, DIFFERENCE>(x, right, &mut high[r]);
        }
    }
    let mut sums = [[0.0; WIDTH]; ROWS];
    for r in 0..ROWS {
        sums[r][..WIDTH / 2].copy_from_slice(&low[r]);
        sums[r][WIDTH / 2..].copy_from_slice(&high[r]);
    }
    sums
}

#[inline(always)]
fn add_terms<const FMA: bool, const DIFFERENCE: bool>(
    x: f64,
    column: &[f64],
    sums: &mut [f64; WIDTH / 2],
) {
    for l in 0..WIDTH / 2 {
        sums[l] = if DIFFERENCE {
            sums[l] + (x - column[l]).abs()
        } else {
            fma::<FMA>(x, column[l], sums[l])
        };
    }
}

struct Norms<'a> {
    panel: &'a [[f64; WIDTH]],
}

impl Routine for Norms<'_> {
    type Output = [f64; WIDTH];
    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; WIDTH] {
        let mut sums = [0.0; WIDTH];
        for column in self.panel {
            for l in 0..WIDTH {
                sums[l] = fma::<FMA>(column[l], column[l], sums[l]);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_of_every_shape_sum_in_order() {
        for (n, d) in [(1, 1), (2, 3), (7, 2), (8, 5), (15, 4), (16, 1), (17, 9), (50, 33)] {
            let x: Vec<f64> = (0..n * d).map(|i| ((i * 37 % 101) as f64 - 50.0) / 16.0).collect();
            let panels = Panels::new(&x, d);
            for term in [Term::Product, Term::Difference] {
                let mut out = vec![f64::NAN; n * n];
                let mut rows: Vec<&mut [f64]> = out.chunks_exact_mut(n).collect();
                panels.strip(term, &x, 0, n, &mut rows);
                for i in 0..n {
                    for j in 0..n {
                        let one = |k: usize| match term {
                            Term::Product => x[i * d + k] * x[j * d + k],
                            Term::Difference => (x[i * d + k] - x[j * d + k]).abs(),
                        };
                        // Multiples of 1/256 well below 2^53: exact in any order.
                        assert_eq!(out[i * n + j], (0..d).map(one).sum::<f64>());
                    }
                }
            }
            let norms = panels.squared_norms(n);
            for i in 0..n {
                assert_eq!(norms[i], x[i * d..(i + 1) * d].iter().map(|v| v * v).sum::<f64>());
            }
        }
    }
}
