//! Products and sums over contiguous vectors.
//!
//! Every reduction runs over a fixed number of independent lanes, so that the order of additions, and with it the
//! last bit of the result, depends on the length alone.

use super::real::Real;
use super::simd::{Routine, dispatch, fma};

/// Lanes of a reduction: one AVX-512 register, two of AVX2.
pub(crate) const LANES: usize = 8;

/// x'y.
///
/// # Panics
/// If the lengths differ.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    dispatch(Dot { x, y })
}

/// y += a x.
///
/// # Panics
/// If the lengths differ.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    assert_eq!(x.len(), y.len());
    dispatch(Axpy { a, x, y });
}

/// out += sum of `a[k] * rows[k]`, four rows to a pass over `out`. Rows of either width; the sums are in double precision.
///
/// # Panics
/// If a row is shorter than `out`.
pub fn add_rows<R: Real>(a: &[f64], rows: &[&[R]], out: &mut [f64]) {
    let n = out.len();
    let mut coefficients = a.chunks_exact(4);
    let mut quads = rows.chunks_exact(4);
    for (c, r) in (&mut coefficients).zip(&mut quads) {
        dispatch(Axpy4 {
            a: [c[0], c[1], c[2], c[3]],
            rows: [&r[0][..n], &r[1][..n], &r[2][..n], &r[3][..n]],
            out,
        });
    }
    for (&c, r) in coefficients.remainder().iter().zip(quads.remainder()) {
        dispatch(Axpy { a: c, x: &r[..n], y: out });
    }
}

struct Dot<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl Routine for Dot<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let (x_blocks, x_rest) = self.x.as_chunks::<{ 4 * LANES }>();
        let (y_blocks, y_rest) = self.y.as_chunks::<{ 4 * LANES }>();
        let mut lanes = [0.0; 4 * LANES];
        for (x, y) in x_blocks.iter().zip(y_blocks) {
            for l in 0..4 * LANES {
                lanes[l] = fma::<FMA>(x[l], y[l], lanes[l]);
            }
        }
        let mut sum = 0.0;
        for (x, y) in x_rest.iter().zip(y_rest) {
            sum = fma::<FMA>(*x, *y, sum);
        }
        sum + lanes.iter().sum::<f64>()
    }
}

struct Axpy<'a, R> {
    a: f64,
    x: &'a [R],
    y: &'a mut [f64],
}

impl<R: Real> Routine for Axpy<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y = fma::<FMA>(self.a, x.to_f64(), *y);
        }
    }
}

struct Axpy4<'a, R> {
    a: [f64; 4],
    rows: [&'a [R]; 4],
    out: &'a mut [f64],
}

impl<R: Real> Routine for Axpy4<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let [r0, r1, r2, r3] = self.rows;
        let n = self.out.len();
        let (r0, r1, r2, r3) = (&r0[..n], &r1[..n], &r2[..n], &r3[..n]);
        for j in 0..n {
            let low = fma::<FMA>(self.a[0], r0[j].to_f64(), self.a[1] * r1[j].to_f64());
            let high = fma::<FMA>(self.a[2], r2[j].to_f64(), self.a[3] * r3[j].to_f64());
            self.out[j] += low + high;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_summed_exactly_at_every_length() {
        for n in 0..150 {
            let x: Vec<f64> = (0..n).map(|i| f64::from(i % 7) - 3.0).collect();
            let y: Vec<f64> = (0..n).map(|i| f64::from(i % 5) - 1.0).collect();
            let expected: f64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
            assert_eq!(dot(&x, &y), expected);
            let rows: Vec<&[f64]> = vec![&x, &y, &x, &y, &y];
            let mut out = y.clone();
            add_rows(&[1.0, 2.0, 3.0, -4.0, 5.0], &rows, &mut out);
            for i in 0..n as usize {
                assert_eq!(out[i], 4.0 * x[i] + 4.0 * y[i]);
            }
        }
    }

    #[test]
    fn with_and_without_fused_operations_they_agree_to_rounding() {
        for n in [0, 1, 7, 31, 32, 33, 100] {
            let wave = |k: f64| -> Vec<f64> { (0..n).map(|i| (f64::from(i) * k).sin()).collect() };
            let (x, y) = (wave(0.7), wave(1.3));
            let plain = Dot { x: &x, y: &y }.run::<false>();
            let fused = Dot { x: &x, y: &y }.run::<true>();
            let size: f64 = x.iter().zip(&y).map(|(a, b)| (a * b).abs()).sum();
            assert!((plain - fused).abs() <= 4.0 * f64::EPSILON * (1.0 + size));
            // The dispatched one is one of the two.
            assert!([plain, fused].contains(&dot(&x, &y)));
            let (mut a, mut b) = (y.clone(), y.clone());
            Axpy { a: 0.3, x: &x, y: &mut a }.run::<false>();
            Axpy { a: 0.3, x: &x, y: &mut b }.run::<true>();
            let rows = [&x[..], &y, &x, &y];
            Axpy4 { a: [0.1, 0.2, -0.3, 0.4], rows, out: &mut a }.run::<false>();
            Axpy4 { a: [0.1, 0.2, -0.3, 0.4], rows, out: &mut b }.run::<true>();
            for (a, b) in a.iter().zip(&b) {
                assert!((a - b).abs() <= 8.0 * f64::EPSILON);
            }
        }
    }
}
