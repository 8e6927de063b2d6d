//! Two dense routines: sums of outer products, and the Cholesky factor of a matrix that is held in full.

use crate::linalg::simd::{Routine, dispatch, fma, has_wide_registers};

/// Columns of a panel, and rows of a band.
pub(super) const WIDE: usize = 8;
/// Columns of a tile where registers are narrow: half a panel.
const NARROW: usize = 4;

/// Rows of equal width, packed so that the columns of a panel lie together.
pub(super) struct Packed {
    values: Vec<f64>,
    width: usize,
    capacity: usize,
    len: usize,
}

impl Packed {
    /// Room for `capacity` rows of `width` numbers.
    pub(super) fn new(width: usize, capacity: usize) -> Self {
        let panels = width.div_ceil(WIDE);
        Self { values: vec![0.0; panels * capacity * WIDE], width, capacity, len: 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Opens a row of zeros and gives its number.
    pub(super) fn open(&mut self) -> usize {
        self.len += 1;
        self.len - 1
    }

    /// Sets one number of a row.
    #[inline(always)]
    pub(super) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[(column / WIDE * self.capacity + row) * WIDE + column % WIDE] = value;
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds the sum of the outer products of all rows to the lower triangle of `out`, which is row-major with rows of `width`, and
    /// forgets the rows.
    pub(super) fn flush(&mut self, out: &mut [f64]) {
        for (p, band) in out.chunks_mut(self.width * WIDE).enumerate() {
            self.add_band(p, band);
        }
        self.clear();
    }

    /// The same for a band of `WIDE` rows of the matrix, number `p`; nothing is forgotten.
    pub(super) fn add_band(&self, p: usize, band: &mut [f64]) {
        if self.len > 0 {
            dispatch(AddBand { packed: self, p, band });
        }
    }
}

struct AddBand<'a> {
    packed: &'a Packed,
    p: usize,
    band: &'a mut [f64],
}

impl Routine for AddBand<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Packed { values, width, capacity, len } = self.packed;
        let (panels, _) = values.as_chunks::<WIDE>();
        let panel = |p: usize| &panels[p * capacity..p * capacity + len];
        let (wide, p) = (has_wide_registers(), self.p);
        for q in 0..=p {
            let (a, b) = (panel(p), panel(q));
            let tile = if wide {
                tile::<FMA, WIDE, 0>(a, b)
            } else {
                let low = tile::<FMA, NARROW, 0>(a, b);
                let high = tile::<FMA, NARROW, NARROW>(a, b);
                let mut both = [[0.0; WIDE]; WIDE];
                both[..NARROW].copy_from_slice(&low);
                both[NARROW..].copy_from_slice(&high);
                both
            };
            for (i, (tile, row)) in tile.iter().zip(self.band.chunks_mut(*width)).enumerate() {
                let end = (p * WIDE + i + 1).min(q * WIDE + WIDE);
                row[q * WIDE..end].iter_mut().zip(tile).for_each(|(o, t)| *o += t);
            }
        }
    }
}

/// Sum over the rows of two panels of the products of `ROWS` columns of the first, from `FIRST` on, with all of the second.
#[inline(always)]
fn tile<const FMA: bool, const ROWS: usize, const FIRST: usize>(
    a: &[[f64; WIDE]],
    b: &[[f64; WIDE]],
) -> [[f64; WIDE]; ROWS] {
    let mut tile = [[0.0; WIDE]; ROWS];
    for (a, b) in a.iter().zip(b) {
        for i in 0..ROWS {
            for j in 0..WIDE {
                tile[i][j] = fma::<FMA>(a[FIRST + i], b[j], tile[i][j]);
            }
        }
    }
    tile
}

/// Cholesky factor in the lower triangle of a row-major matrix.
pub(super) struct Factor {
    values: Vec<f64>,
    n: usize,
}

/// A pivot below this share of its diagonal is rounding: its variable stays where it is.
const SMALLEST_PIVOT: f64 = 1e-15;
/// Rows of the factor between two looks at the clock.
const BETWEEN_POLLS: usize = 64;
/// Stands for an infinite pivot.
const LOCKED: f64 = 1e64;

impl Factor {
    /// Factors a positive definite matrix, of which the lower triangle is read; `None` as soon as `proceed`, asked now and then, says no.
    pub(super) fn new(
        matrix: Vec<f64>,
        n: usize,
        proceed: &mut dyn FnMut() -> bool,
    ) -> Option<Self> {
        let mut values = matrix;
        dispatch(Factorise { a: &mut values, n, proceed }).then_some(Self { values, n })
    }

    /// Takes the matrix back, to be filled again.
    pub(super) fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Solves with both triangles.
    pub(super) fn solve(&self, x: &mut [f64]) {
        dispatch(Solve { l: &self.values, n: self.n, x });
    }
}

struct Factorise<'a> {
    a: &'a mut [f64],
    n: usize,
    proceed: &'a mut dyn FnMut() -> bool,
}

#[inline(always)]
fn dot<const FMA: bool>(x: &[f64], y: &[f64]) -> f64 {
    let (x_blocks, x_rest) = x.as_chunks::<16>();
    let (y_blocks, y_rest) = y[..x.len()].as_chunks::<16>();
    let mut lanes = [0.0; 16];
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        for l in 0..16 {
            lanes[l] = fma::<FMA>(x[l], y[l], lanes[l]);
        }
    }
    let mut sum = 0.0;
    for (x, y) in x_rest.iter().zip(y_rest) {
        sum = fma::<FMA>(*x, *y, sum);
    }
    sum + lanes.iter().sum::<f64>()
}

/// Four products with one vector.
#[inline(always)]
fn dot4<const FMA: bool>(x: [&[f64]; 4], y: &[f64]) -> [f64; 4] {
    let n = y.len();
    let blocks = x.map(|x| x[..n].as_chunks::<8>());
    let (y_blocks, y_rest) = y.as_chunks::<8>();
    let mut lanes = [[0.0; 8]; 4];
    for (b, y) in y_blocks.iter().enumerate() {
        for r in 0..4 {
            let x = &blocks[r].0[b];
            for l in 0..8 {
                lanes[r][l] = fma::<FMA>(x[l], y[l], lanes[r][l]);
            }
        }
    }
    let mut sums = [0.0; 4];
    for r in 0..4 {
        let mut sum = 0.0;
        for (x, y) in blocks[r].1.iter().zip(y_rest) {
            sum = fma::<FMA>(*x, *y, sum);
        }
        sums[r] = sum + lanes[r].iter().sum::<f64>();
    }
    sums
}

impl Routine for Factorise<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let n = self.n;
        let mut start = 0;
        while start < n {
            if start % BETWEEN_POLLS == 0 && !(self.proceed)() {
                return false;
            }
            let height = 4.min(n - start);
            let (done, rest) = self.a.split_at_mut(start * n);
            // Columns left of the diagonal block, four rows at a time.
            for j in 0..start {
                let pivot_row = &done[j * n..j * n + j];
                let pivot = done[j * n + j];
                if height == 4 {
                    let rows = [0, 1, 2, 3].map(|r| &rest[r * n..r * n + j]);
                    let sums = dot4::<FMA>(rows, pivot_row);
                    for r in 0..4 {
                        rest[r * n + j] = (rest[r * n + j] - sums[r]) / pivot;
                    }
                } else {
                    for r in 0..height {
                        let sum = dot::<FMA>(&rest[r * n..r * n + j], pivot_row);
                        rest[r * n + j] = (rest[r * n + j] - sum) / pivot;
                    }
                }
            }
            // The diagonal block itself.
            for r in 0..height {
                let i = start + r;
                let (above, row) = rest.split_at_mut(r * n);
                for j in start..i {
                    let other = &above[(j - start) * n..(j - start) * n + j];
                    let sum = dot::<FMA>(&row[..j], other);
                    row[j] = (row[j] - sum) / above[(j - start) * n + j];
                }
                let diagonal = row[i];
                let pivot = diagonal - dot::<FMA>(&row[..i], &row[..i]);
                row[i] = if pivot > SMALLEST_PIVOT * diagonal { pivot.sqrt() } else { LOCKED };
            }
            start += height;
        }
        true
    }
}

struct Solve<'a> {
    l: &'a [f64],
    n: usize,
    x: &'a mut [f64],
}

impl Routine for Solve<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (n, l, x) = (self.n, self.l, self.x);
        for i in 0..n {
            let row = &l[i * n..=i * n + i];
            x[i] = (x[i] - dot::<FMA>(&row[..i], x)) / row[i];
        }
        for i in (0..n).rev() {
            let row = &l[i * n..=i * n + i];
            let value = x[i] / row[i];
            x[i] = value;
            for (x, l) in x[..i].iter_mut().zip(row) {
                *x = fma::<FMA>(-value, *l, *x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_factor_agree_with_the_definition() {
        for n in [1, 2, 3, 4, 5, 7, 8, 9, 16, 21, 40] {
            let rows = 3 * n + 1;
            let x: Vec<f64> =
                (0..rows * n).map(|i| ((i * i + 3 * i) as f64 * 0.37).sin()).collect();
            let mut packed = Packed::new(n, 11);
            let mut gram = vec![0.0; n * n];
            for r in 0..rows {
                if packed.is_full() {
                    packed.flush(&mut gram);
                }
                let row = packed.open();
                for j in 0..n {
                    packed.set(row, j, x[r * n + j]);
                }
            }
            packed.flush(&mut gram);
            for i in 0..n {
                for j in 0..n {
                    let expected: f64 = (0..rows).map(|r| x[r * n + i] * x[r * n + j]).sum();
                    let expected = if j <= i { expected } else { 0.0 };
                    assert!((gram[i * n + j] - expected).abs() < 1e-12 * rows as f64);
                }
                gram[i * n + i] += 1.0;
            }
            let right: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let mut solution = right.clone();
            assert!(Factor::new(gram.clone(), n, &mut || false).is_none());
            let Some(factor) = Factor::new(gram.clone(), n, &mut || true) else {
                panic!("stopped")
            };
            factor.solve(&mut solution);
            for i in 0..n {
                let entry = |j: usize| if j <= i { gram[i * n + j] } else { gram[j * n + i] };
                let product: f64 = (0..n).map(|j| entry(j) * solution[j]).sum();
                assert!((product - right[i]).abs() < 1e-10, "order {n}");
            }
        }
    }
}
