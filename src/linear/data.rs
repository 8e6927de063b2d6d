//! Samples as rows, borrowed from the caller: dense or compressed sparse rows, in the precision and with the indices they came in.
//!
//! Every product is computed in float64.

use super::compress::Compressed;
use crate::error::{Error, Result};
use crate::kernel::LARGEST_ENTRY;
use crate::linalg::simd::{fma, prefetch};
use crate::threads::Threads;

/// A stored number.
pub trait Real: Copy + Send + Sync {
    /// The number in float64.
    fn value(self) -> f64;
}

impl Real for f64 {
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
}

impl Real for f32 {
    #[inline(always)]
    fn value(self) -> f64 {
        f64::from(self)
    }
}

/// A stored column number or row offset.
pub trait Index: Copy + Send + Sync {
    /// The number; negative ones become huge and fail the checks.
    fn at(self) -> usize;
}

impl Index for i32 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}

impl Index for i64 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}

/// What the solvers ask of the samples.
pub trait Rows: Sync {
    /// Whether zeros are left out.
    const SPARSE: bool;
    /// Number of samples.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number of features.
    fn n_features(&self) -> usize;
    /// Stored entries of row i.
    fn stored(&self, i: usize) -> usize;
    /// Product of row i and the first entries of `w`.
    fn dot<const FMA: bool>(&self, i: usize, w: &[f64]) -> f64;
    /// `w` += a times row i.
    fn axpy<const FMA: bool>(&self, i: usize, a: f64, w: &mut [f64]);
    /// Calls `f` with column and value of the stored entries of row i.
    fn entries(&self, i: usize, f: impl FnMut(usize, f64));
    /// Says that row i will be asked for soon.
    fn announce(&self, i: usize);
    /// A small copy without zeros, where it makes reading the rows again and again cheaper.
    fn without_zeros(&self, _threads: &Threads) -> Option<Compressed> {
        None
    }
}

/// Row-major numbers.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a, T> {
    values: &'a [T],
    n: usize,
    d: usize,
}

impl<'a, T: Real> Dense<'a, T> {
    /// Borrows n rows of d numbers.
    ///
    /// # Errors
    /// If the length does not fit, or a number is not finite or too large for products.
    pub fn new(values: &'a [T], n: usize, d: usize) -> Result<Self> {
        if n.checked_mul(d) != Some(values.len()) {
            return Err(Error::Shape {
                argument: "X",
                expected: format!("{n} rows of {d} numbers"),
                got: format!("{} numbers", values.len()),
            });
        }
        check_values(values, d)?;
        Ok(Self { values, n, d })
    }

    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> &[T] {
        &self.values[i * self.d..(i + 1) * self.d]
    }
}

/// Bytes of a row that are brought near; what follows comes by itself.
const ANNOUNCED: usize = 1024;

/// Lanes of a product: short enough for narrow rows, wide enough for two registers.
const LANES: usize = 8;

impl<T: Real> Rows for Dense<'_, T> {
    const SPARSE: bool = false;

    fn len(&self) -> usize {
        self.n
    }

    fn n_features(&self) -> usize {
        self.d
    }

    fn stored(&self, _: usize) -> usize {
        self.d
    }

    #[inline(always)]
    fn dot<const FMA: bool>(&self, i: usize, w: &[f64]) -> f64 {
        let row = self.row(i);
        let w = &w[..row.len()];
        let (x_wide, x_rest) = row.as_chunks::<{ 2 * LANES }>();
        let (w_wide, w_rest) = w.as_chunks::<{ 2 * LANES }>();
        let mut lanes = [0.0; 2 * LANES];
        for (x, w) in x_wide.iter().zip(w_wide) {
            for l in 0..2 * LANES {
                lanes[l] = fma::<FMA>(x[l].value(), w[l], lanes[l]);
            }
        }
        let (x_blocks, x_rest) = x_rest.as_chunks::<4>();
        let (w_blocks, w_rest) = w_rest.as_chunks::<4>();
        for (x, w) in x_blocks.iter().zip(w_blocks) {
            for l in 0..4 {
                lanes[l] = fma::<FMA>(x[l].value(), w[l], lanes[l]);
            }
        }
        let mut sum = 0.0;
        for (x, w) in x_rest.iter().zip(w_rest) {
            sum = fma::<FMA>(x.value(), *w, sum);
        }
        let mut four = [0.0; 4];
        for l in 0..4 {
            four[l] = (lanes[l] + lanes[l + 4]) + (lanes[l + 8] + lanes[l + 12]);
        }
        sum + ((four[0] + four[1]) + (four[2] + four[3]))
    }

    #[inline(always)]
    fn axpy<const FMA: bool>(&self, i: usize, a: f64, w: &mut [f64]) {
        for (w, x) in w.iter_mut().zip(self.row(i)) {
            *w = fma::<FMA>(a, x.value(), *w);
        }
    }

    #[inline(always)]
    fn entries(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        for (j, x) in self.row(i).iter().enumerate() {
            f(j, x.value());
        }
    }

    #[inline(always)]
    fn announce(&self, i: usize) {
        prefetch(self.row(i), ANNOUNCED);
    }

    fn without_zeros(&self, threads: &Threads) -> Option<Compressed> {
        Compressed::of(self, threads)
    }
}

/// Compressed sparse rows; the columns of a row may come in any order and more than once.
#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a, T, I> {
    values: &'a [T],
    columns: &'a [I],
    offsets: &'a [I],
    d: usize,
}

impl<'a, T: Real, I: Index> Sparse<'a, T, I> {
    /// Borrows the rows that `offsets` cuts out of `values` and `columns`.
    ///
    /// # Errors
    /// If the parts do not fit together, a column is out of range or a number is not finite.
    pub fn new(values: &'a [T], columns: &'a [I], offsets: &'a [I], d: usize) -> Result<Self> {
        let wrong = |argument, expected: &str, got: String| {
            Err(Error::Shape { argument, expected: expected.into(), got })
        };
        let Some((first, last)) = offsets.first().zip(offsets.last()) else {
            return wrong("X.indptr", "at least one entry", "none".into());
        };
        if first.at() != 0 || offsets.windows(2).any(|pair| pair[0].at() > pair[1].at()) {
            return wrong("X.indptr", "numbers that start at 0 and never fall", "others".into());
        }
        if last.at() > values.len() || last.at() > columns.len() {
            let got = format!("{} values and {} columns", values.len(), columns.len());
            return wrong("X.indptr", "an end within the stored entries", got);
        }
        let (values, columns) = (&values[..last.at()], &columns[..last.at()]);
        if columns.iter().any(|j| j.at() >= d) {
            return wrong("X.indices", &format!("columns below {d}"), "a larger one".into());
        }
        check_values(values, d)?;
        Ok(Self { values, columns, offsets, d })
    }

    /// The same of parts that were made to fit.
    pub(super) fn trusted(values: &'a [T], columns: &'a [I], offsets: &'a [I], d: usize) -> Self {
        Self { values, columns, offsets, d }
    }

    #[inline(always)]
    fn row(&self, i: usize) -> (&[I], &[T]) {
        let range = self.offsets[i].at()..self.offsets[i + 1].at();
        (&self.columns[range.clone()], &self.values[range])
    }
}

impl<T: Real, I: Index> Rows for Sparse<'_, T, I> {
    const SPARSE: bool = true;

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn n_features(&self) -> usize {
        self.d
    }

    fn stored(&self, i: usize) -> usize {
        self.offsets[i + 1].at() - self.offsets[i].at()
    }

    #[inline(always)]
    fn dot<const FMA: bool>(&self, i: usize, w: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        let (mut even, mut odd) = (0.0, 0.0);
        let (pairs, rest) = columns.as_chunks::<2>();
        let (value_pairs, value_rest) = values.as_chunks::<2>();
        for (j, x) in pairs.iter().zip(value_pairs) {
            even = fma::<FMA>(x[0].value(), w[j[0].at()], even);
            odd = fma::<FMA>(x[1].value(), w[j[1].at()], odd);
        }
        if let (Some(j), Some(x)) = (rest.first(), value_rest.first()) {
            even = fma::<FMA>(x.value(), w[j.at()], even);
        }
        even + odd
    }

    #[inline(always)]
    fn axpy<const FMA: bool>(&self, i: usize, a: f64, w: &mut [f64]) {
        let (columns, values) = self.row(i);
        for (j, x) in columns.iter().zip(values) {
            let w = &mut w[j.at()];
            *w = fma::<FMA>(a, x.value(), *w);
        }
    }

    #[inline(always)]
    fn entries(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let (columns, values) = self.row(i);
        for (j, x) in columns.iter().zip(values) {
            f(j.at(), x.value());
        }
    }

    #[inline(always)]
    fn announce(&self, i: usize) {
        let (columns, values) = self.row(i);
        prefetch(columns, ANNOUNCED / 2);
        prefetch(values, ANNOUNCED);
    }
}

fn check_values<T: Real>(values: &[T], n_features: usize) -> Result<()> {
    let mut largest = 0.0_f64;
    // By pieces, and without a branch inside: so that it vectorises.
    for piece in values.chunks(4096) {
        let (mut most, mut is_number) = (0.0_f64, true);
        for x in piece {
            let size = x.value().abs();
            is_number &= size < f64::INFINITY;
            most = if size > most { size } else { most };
        }
        if let Some(x) = piece.iter().find(|x| !is_number && !x.value().is_finite()) {
            return Err(Error::Value {
                argument: "X",
                expected: "finite numbers",
                got: x.value().to_string(),
            });
        }
        largest = largest.max(most);
    }
    // As for a linear kernel: products of such rows overflow further on.
    let bound = largest * largest * n_features as f64;
    if !(bound < LARGEST_ENTRY) {
        return Err(Error::KernelOverflow { kernel: "linear", largest: bound });
    }
    Ok(())
}

/// The forms that samples may come in.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the names say it
pub enum LinearData<'a> {
    Dense64(Dense<'a, f64>),
    Dense32(Dense<'a, f32>),
    Sparse64(Sparse<'a, f64, i32>),
    Sparse64Long(Sparse<'a, f64, i64>),
    Sparse32(Sparse<'a, f32, i32>),
    Sparse32Long(Sparse<'a, f32, i64>),
}

/// Evaluates an expression with `$rows` bound to the rows behind a [`LinearData`].
macro_rules! with_rows {
    ($data:expr, $rows:ident => $body:expr) => {
        match $data {
            $crate::linear::LinearData::Dense64($rows) => $body,
            $crate::linear::LinearData::Dense32($rows) => $body,
            $crate::linear::LinearData::Sparse64($rows) => $body,
            $crate::linear::LinearData::Sparse64Long($rows) => $body,
            $crate::linear::LinearData::Sparse32($rows) => $body,
            $crate::linear::LinearData::Sparse32Long($rows) => $body,
        }
    };
}
pub(crate) use with_rows;

impl LinearData<'_> {
    /// Number of samples.
    pub fn len(&self) -> usize {
        with_rows!(self, rows => rows.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        with_rows!(self, rows => rows.n_features())
    }
}
