//! Sums that carry their own rounding errors.
//!
//! Products and additions are split into result and error without loss (Ogita, Rump and Oishi, *Accurate sum and dot
//! product*, SIAM J. Sci. Comput. 26, 2005, algorithms `TwoSum`, `TwoProduct`, `Dot2`); the result is as good as if computed in
//! twice the working precision and rounded once.

use super::simd::{Routine, dispatch, fma};
use super::vector::LANES;

/// A sum with its accumulated error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    /// Adds one number.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let (sum, error) = two_sum(self.high, value);
        self.high = sum;
        self.low += error;
    }

    /// Adds a product, with its rounding error.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.add(product);
        self.low += product_error(a, b, product);
    }

    /// The total as two numbers.
    pub fn parts(self) -> (f64, f64) {
        let value = self.value();
        (value, if value.is_finite() { (self.high - value) + self.low } else { 0.0 })
    }

    /// The rounded total.
    pub fn value(self) -> f64 {
        // An overflow leaves NaN in the error term; the sum itself is then the honest answer.
        if self.low.is_finite() { self.high + self.low } else { self.high }
    }
}

#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// a * b - product, exactly, also without a fused multiply-add (Dekker's splitting).
#[inline]
fn product_error(a: f64, b: f64, product: f64) -> f64 {
    split_error(a, b, product)
}

#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    const FACTOR: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = FACTOR * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

#[inline(always)]
fn split_error(a: f64, b: f64, product: f64) -> f64 {
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
}

/// What a column is multiplied with: a number in two parts, and what its magnitudes count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weight {
    /// The number, rounded.
    pub high: f64,
    /// What rounding it left.
    pub low: f64,
    /// For the sum of the magnitudes; negative where an earlier term shrinks.
    pub magnitude: f64,
}

impl From<f64> for Weight {
    fn from(weight: f64) -> Self {
        Self { high: weight, low: 0.0, magnitude: weight.abs() }
    }
}

impl Weight {
    /// What turns a sum with the weight `old` into one with `new`, exactly.
    pub fn change(old: f64, new: f64) -> Self {
        let (high, low) = two_sum(new, -old);
        Self { high, low, magnitude: new.abs() - old.abs() }
    }
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        let (high, error) = two_sum(self.high, other.high);
        let low = self.low + other.low + error;
        *self = Self { high, low, magnitude: self.magnitude + other.magnitude };
    }
}

/// high + low += sum over k of `weights[k]` `columns[k]`, elementwise, with the rounding errors kept in `low`, and magnitude +=
/// the magnitudes of the columns times those of the weights. The three stay in registers while all columns are added.
///
/// # Panics
/// If the lengths differ.
pub fn add_columns(
    weights: &[Weight],
    columns: &[&[f64]],
    high: &mut [f64],
    low: &mut [f64],
    magnitude: &mut [f64],
) {
    let n = high.len();
    assert!(low.len() == n && magnitude.len() == n && columns.iter().all(|c| c.len() == n));
    assert_eq!(weights.len(), columns.len());
    dispatch(AddColumns { weights, columns, high, low, magnitude });
}

struct AddColumns<'a> {
    weights: &'a [Weight],
    columns: &'a [&'a [f64]],
    high: &'a mut [f64],
    low: &'a mut [f64],
    magnitude: &'a mut [f64],
}

/// Elements that are summed together: two registers of AVX-512.
const STRIP: usize = 2 * LANES;

#[inline(always)]
fn add_term<const FMA: bool>(
    weight: Weight,
    x: f64,
    high: &mut f64,
    low: &mut f64,
    magnitude: &mut f64,
) {
    let a = weight.high;
    let product = a * x;
    *magnitude = fma::<FMA>(weight.magnitude, x.abs(), *magnitude);
    let product_error = if FMA { a.mul_add(x, -product) } else { split_error(a, x, product) };
    let (sum, error) = two_sum(*high, product);
    *high = sum;
    *low += error + fma::<FMA>(weight.low, x, product_error);
}

impl Routine for AddColumns<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (high_strips, high_rest) = self.high.as_chunks_mut::<STRIP>();
        let (low_strips, low_rest) = self.low.as_chunks_mut::<STRIP>();
        let (size_strips, size_rest) = self.magnitude.as_chunks_mut::<STRIP>();
        let n_strips = high_strips.len();
        for s in 0..n_strips {
            let (mut high, mut low, mut size) = (high_strips[s], low_strips[s], size_strips[s]);
            for (&a, column) in self.weights.iter().zip(self.columns) {
                let Some(x) = column[s * STRIP..].first_chunk::<STRIP>() else { continue };
                for l in 0..STRIP {
                    add_term::<FMA>(a, x[l], &mut high[l], &mut low[l], &mut size[l]);
                }
            }
            (high_strips[s], low_strips[s], size_strips[s]) = (high, low, size);
        }
        for i in 0..high_rest.len() {
            for (&a, column) in self.weights.iter().zip(self.columns) {
                let x = column[n_strips * STRIP + i];
                add_term::<FMA>(a, x, &mut high_rest[i], &mut low_rest[i], &mut size_rest[i]);
            }
        }
    }
}

/// The same for one column.
///
/// # Panics
/// If the lengths differ.
pub fn axpy(a: f64, x: &[f64], high: &mut [f64], low: &mut [f64], magnitude: &mut [f64]) {
    add_columns(&[a.into()], &[x], high, low, magnitude);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_plain_sums_lose() {
        let mut sum = Sum::default();
        for value in [1e16, 1.0, -1e16, 1.0] {
            sum.add(value);
        }
        assert_eq!(sum.value(), 2.0);
        let mut sum = Sum::default();
        sum.add_product(1.0 + f64::EPSILON, 1.0 + f64::EPSILON);
        sum.add(-1.0 - 2.0 * f64::EPSILON);
        assert_eq!(sum.value(), f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn vectors_are_summed_like_scalars() {
        for n in [1, 7, 8, 9, 40] {
            let x: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.7).sin()).collect();
            let zeros = vec![0.0; x.len()];
            let (mut high, mut low, mut size) = (zeros.clone(), zeros.clone(), zeros);
            for a in [1e9, 0.1, -1e9, 1e-7] {
                axpy(a, &x, &mut high, &mut low, &mut size);
            }
            for (i, &value) in x.iter().enumerate() {
                let mut sum = Sum::default();
                for a in [1e9, 0.1, -1e9, 1e-7] {
                    sum.add_product(a, value);
                }
                assert_eq!(high[i] + low[i], sum.value());
                assert!(size[i] >= 2e9 * value.abs());
            }
        }
    }

    #[test]
    fn a_changed_weight_leaves_the_sum_of_the_new_one() {
        let x: Vec<f64> = (0..37).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let (old, new) = ([0.1, 1e8, -3.0], [1e-9, 0.3, -1e8 / 3.0]);
        let zeros = vec![0.0; x.len()];
        let [mut high, mut low, mut size] = [zeros.clone(), zeros.clone(), zeros.clone()];
        let [mut fresh, mut rest, mut fresh_size] = [zeros.clone(), zeros.clone(), zeros];
        for (old, new) in old.into_iter().zip(new) {
            axpy(old, &x, &mut high, &mut low, &mut size);
            let change = [Weight::change(old, new)];
            add_columns(&change, &[&x], &mut high, &mut low, &mut size);
            axpy(new, &x, &mut fresh, &mut rest, &mut fresh_size);
        }
        for i in 0..x.len() {
            let difference = (high[i] - fresh[i]) + (low[i] - rest[i]);
            assert!(difference.abs() <= 1e-31 * 1e9, "{difference:e}");
            assert!((size[i] - fresh_size[i]).abs() <= 1e-15 * 1e9);
        }
        let mut sum = Weight::change(0.1, 1e9);
        sum += Weight::change(1e9, 0.1);
        assert_eq!(sum, Weight::default());
    }

    #[test]
    fn splitting_is_as_exact_as_a_fused_operation() {
        let n = 41;
        let wave = |k: f64| -> Vec<f64> {
            (0..n).map(|i| (f64::from(i) * k).sin() * 10_f64.powi(i % 9 - 4)).collect()
        };
        let (x, y) = (wave(0.7), wave(1.1));
        let run = |fused: bool| {
            let mut sums = [vec![0.0; 41], vec![0.0; 41], vec![0.0; 41]];
            let [high, low, magnitude] = &mut sums;
            let weights = &[1e9, 0.1, -1e9, 1e-7].map(Weight::from);
            let columns = &[&x[..], &y, &x, &y];
            let routine = AddColumns { weights, columns, high, low, magnitude };
            if fused {
                routine.run::<true>();
            } else {
                routine.run::<false>();
            }
            sums
        };
        // The error of a product is a number; both ways find it, bit for bit. Magnitudes may round differently.
        let (split, fused) = (run(false), run(true));
        assert_eq!(split[..2], fused[..2]);
        for (a, b) in split[2].iter().zip(&fused[2]) {
            assert!((a - b).abs() <= 4.0 * f64::EPSILON * a);
        }
    }
}
