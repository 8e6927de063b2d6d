//! Products of many points with many others, the inner loop of every kernel matrix.
//!
//! The points that become columns are packed sixteen to a panel, feature by feature, so that sixteen columns of one feature are
//! adjacent. A strip of rows then runs through the panels with its sums in registers: one load of the panel serves all
//! rows of the strip. Every sum runs over the features in order, so an entry has the same bits wherever it is computed: the
//! matrix is symmetric and two equal points have equal products.

use crate::linalg::real::Real;
use crate::linalg::simd::{Routine, dispatch, has_wide_registers};

/// Points packed as columns, twice `LANES` to a panel: a register of AVX-512 is eight doubles or sixteen singles.
#[derive(Clone, Debug)]
pub(super) struct Panels<R, const LANES: usize> {
    values: Vec<Pair<R, LANES>>,
    n_features: usize,
}

/// One feature of the columns of a panel. Halves of one register each: longer arrays are not kept in registers.
type Pair<R, const LANES: usize> = [[R; LANES]; 2];

/// What is summed over the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// x y
    Product,
    /// |x - y|
    Difference,
    /// (x - y)^2
    SquaredDifference,
}

impl Term {
    const PRODUCT: u8 = 0;
    const DIFFERENCE: u8 = 1;
    const SQUARED_DIFFERENCE: u8 = 2;
}

impl<R: Real, const LANES: usize> Panels<R, LANES> {
    /// Columns of a panel.
    pub(super) const WIDTH: usize = 2 * LANES;

    /// Packs points given row by row.
    pub(super) fn new(values: &[f64], n_features: usize) -> Self {
        if n_features == 0 {
            return Self { values: Vec::new(), n_features };
        }
        let n = values.len() / n_features;
        let mut packed = vec![[[R::default(); LANES]; 2]; n.div_ceil(Self::WIDTH) * n_features];
        for (panel, rows) in
            packed.chunks_exact_mut(n_features).zip(values.chunks(Self::WIDTH * n_features))
        {
            for (column, row) in rows.chunks_exact(n_features).enumerate() {
                for (pair, x) in panel.iter_mut().zip(row) {
                    pair[column / LANES][column % LANES] = R::of(*x);
                }
            }
        }
        Self { values: packed, n_features }
    }

    /// Squared norms of points given row by row, to the bit that [`Panels::squared_norms`] has, without packing them.
    pub(super) fn norms_of(values: &[R], n_features: usize, n: usize) -> Vec<R> {
        let mut norms = vec![R::default(); n];
        if n_features > 0 {
            dispatch(RowNorms { values, n_features, norms: &mut norms });
        }
        norms
    }

    /// Copies the features of column `i` to the end of `out`.
    pub(super) fn copy_column(&self, i: usize, out: &mut Vec<R>) {
        let d = self.n_features;
        let panel = &self.values[i / Self::WIDTH * d..(i / Self::WIDTH + 1) * d];
        let column = i % Self::WIDTH;
        out.extend(panel.iter().map(|pair| pair[column / LANES][column % LANES]));
    }

    /// Squared norms, summed as every other product.
    pub(super) fn squared_norms(&self, n: usize) -> Vec<R> {
        let mut norms = Vec::with_capacity(n + Self::WIDTH);
        if self.n_features > 0 {
            for panel in self.values.chunks_exact(self.n_features) {
                norms.extend(dispatch(Norms { panel }).as_flattened());
            }
        }
        norms.resize(n, R::default());
        norms
    }

    /// Sums over the features for the rows `rows` (row-major) with the columns `first .. last`, where `first` is a multiple of
    /// the width; `out[i]` receives row i.
    pub(super) fn strip(
        &self,
        term: Term,
        rows: &[R],
        first: usize,
        last: usize,
        out: &mut [&mut [R]],
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
        rows: &mut impl Iterator<Item = &'r [R]>,
        first: usize,
        last: usize,
        out: &mut [&mut [R]; ROWS],
    ) {
        let d = self.n_features;
        let panels = &self.values[first / Self::WIDTH * d..last.div_ceil(Self::WIDTH) * d];
        let rows: [&[R]; ROWS] = std::array::from_fn(|_| rows.next().unwrap_or_default());
        let columns = last - first;
        match term {
            Term::Product => {
                dispatch(Strip::<R, LANES, ROWS, { Term::PRODUCT }> { rows, panels, columns, out });
            }
            Term::Difference => {
                dispatch(Strip::<R, LANES, ROWS, { Term::DIFFERENCE }> {
                    rows,
                    panels,
                    columns,
                    out,
                });
            }
            Term::SquaredDifference => {
                dispatch(Strip::<R, LANES, ROWS, { Term::SQUARED_DIFFERENCE }> {
                    rows,
                    panels,
                    columns,
                    out,
                });
            }
        }
    }
}

struct Strip<'a, 'o, R, const LANES: usize, const ROWS: usize, const TERM: u8> {
    rows: [&'a [R]; ROWS],
    panels: &'a [Pair<R, LANES>],
    columns: usize,
    out: &'a mut [&'o mut [R]; ROWS],
}

impl<R: Real, const LANES: usize, const ROWS: usize, const TERM: u8> Routine
    for Strip<'_, '_, R, LANES, ROWS, TERM>
{
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let d = self.rows[0].len();
        let width = 2 * LANES;
        let rows: [&[R]; ROWS] = std::array::from_fn(|r| &self.rows[r][..d]);
        for (p, panel) in self.panels.chunks_exact(d).enumerate() {
            let sums = sum_over_features::<FMA, R, LANES, ROWS, TERM>(&rows, panel, d);
            let at = p * width;
            let here = width.min(self.columns - at);
            for r in 0..ROWS {
                let out = &mut self.out[r][at..at + here];
                let sums = sums[r].as_flattened();
                if here == width {
                    out.copy_from_slice(sums);
                } else {
                    out.copy_from_slice(&sums[..here]);
                }
            }
        }
    }
}

/// Kept apart so that the sums live in registers: nothing in here can panic, and they are stored once, by the caller.
#[inline(always)]
fn sum_over_features<
    const FMA: bool,
    R: Real,
    const LANES: usize,
    const ROWS: usize,
    const TERM: u8,
>(
    rows: &[&[R]; ROWS],
    panel: &[Pair<R, LANES>],
    d: usize,
) -> [Pair<R, LANES>; ROWS] {
    let panel = &panel[..d];
    let rows: [&[R]; ROWS] = std::array::from_fn(|r| &rows[r][..d]);
    let zeros = [[R::default(); LANES]; ROWS];
    let (mut low, mut high) = (zeros, zeros);
    for k in 0..d {
        let [left, right] = &panel[k];
        for r in 0..ROWS {
            let x = rows[r][k];
            add_terms::<FMA, R, LANES, TERM>(x, left, &mut low[r]);
            add_terms::<FMA, R, LANES, TERM>(x, right, &mut high[r]);
        }
    }
    std::array::from_fn(|r| [low[r], high[r]])
}

#[inline(always)]
fn add_terms<const FMA: bool, R: Real, const LANES: usize, const TERM: u8>(
    x: R,
    column: &[R; LANES],
    sums: &mut [R; LANES],
) {
    for l in 0..LANES {
        sums[l] = match TERM {
            Term::PRODUCT => x.fma::<FMA>(column[l], sums[l]),
            Term::DIFFERENCE => sums[l] + (x - column[l]).abs(),
            _ => {
                let difference = x - column[l];
                difference.fma::<FMA>(difference, sums[l])
            }
        };
    }
}

struct Norms<'a, R, const LANES: usize> {
    panel: &'a [Pair<R, LANES>],
}

impl<R: Real, const LANES: usize> Routine for Norms<'_, R, LANES> {
    type Output = Pair<R, LANES>;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Pair<R, LANES> {
        let mut sums = [[R::default(); LANES]; 2];
        for pair in self.panel {
            for half in 0..2 {
                for l in 0..LANES {
                    let x = pair[half][l];
                    sums[half][l] = x.fma::<FMA>(x, sums[half][l]);
                }
            }
        }
        sums
    }
}

struct RowNorms<'a, R> {
    values: &'a [R],
    n_features: usize,
    norms: &'a mut [R],
}

/// Rows whose norms are summed side by side: each sum is one long chain.
const SIDE_BY_SIDE: usize = 16;

impl<R: Real> Routine for RowNorms<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let d = self.n_features;
        let rows = self.values.chunks(SIDE_BY_SIDE * d);
        for (rows, norms) in rows.zip(self.norms.chunks_mut(SIDE_BY_SIDE)) {
            if norms.len() == SIDE_BY_SIDE {
                let rows: [&[R]; SIDE_BY_SIDE] = std::array::from_fn(|r| &rows[r * d..][..d]);
                let mut sums = [R::default(); SIDE_BY_SIDE];
                for k in 0..d {
                    for r in 0..SIDE_BY_SIDE {
                        sums[r] = rows[r][k].fma::<FMA>(rows[r][k], sums[r]);
                    }
                }
                norms.copy_from_slice(&sums);
            } else {
                for (norm, row) in norms.iter_mut().zip(rows.chunks_exact(d)) {
                    *norm = row.iter().fold(R::default(), |sum, x| x.fma::<FMA>(*x, sum));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_of_every_shape_sum_in_order() {
        check::<f64, 8>();
        check::<f32, 16>();
    }

    fn check<R: Real, const LANES: usize>() {
        for (n, d) in [(1, 1), (2, 3), (7, 2), (8, 5), (15, 4), (16, 1), (17, 9), (50, 33)] {
            let x: Vec<f64> = (0..n * d).map(|i| ((i * 37 % 101) as f64 - 50.0) / 16.0).collect();
            let panels = Panels::<R, LANES>::new(&x, d);
            let mut rows = Vec::new();
            (0..n).for_each(|i| panels.copy_column(i, &mut rows));
            assert!(rows.iter().zip(&x).all(|(r, x)| r.to_f64() == *x));
            for term in [Term::Product, Term::Difference, Term::SquaredDifference] {
                let mut out = vec![R::of(f64::NAN); n * n];
                let mut strips: Vec<&mut [R]> = out.chunks_exact_mut(n).collect();
                panels.strip(term, &rows, 0, n, &mut strips);
                for i in 0..n {
                    for j in 0..n {
                        let one = |k: usize| match term {
                            Term::Product => x[i * d + k] * x[j * d + k],
                            Term::Difference => (x[i * d + k] - x[j * d + k]).abs(),
                            Term::SquaredDifference => (x[i * d + k] - x[j * d + k]).powi(2),
                        };
                        // Multiples of 1/256 well below 2^24 of them: exact in any order.
                        assert_eq!(out[i * n + j].to_f64(), (0..d).map(one).sum::<f64>());
                    }
                }
            }
            let norms = panels.squared_norms(n);
            assert_eq!(norms, Panels::<R, LANES>::norms_of(&rows, d, n));
            for i in 0..n {
                assert_eq!(
                    norms[i].to_f64(),
                    x[i * d..(i + 1) * d].iter().map(|v| v * v).sum::<f64>()
                );
            }
        }
    }
}
