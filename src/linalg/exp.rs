//! The exponential of many numbers at once, none of them positive: what kernels of a distance need.
//!
//! x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial of degree 13 (remainder below 5e-18 there), and
//! 2^k by writing k into the exponent bits, with a factor in reserve so that results below the normal range round once, as
//! they should. No branch and no conversion to integers, so the loop vectorises. The error is below one unit in the last
//! place over the whole range (tested against the C library's).

use super::simd::{Routine, dispatch, fma};
use super::vector::LANES;

/// Below this everything rounds to zero.
const SMALLEST: f64 = -746.0;

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 in two parts; the first has 21 trailing zeros, so k times it is exact.
const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);
/// Adding this rounds to an integer, which then sits in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
/// Keeps the exponent of the first factor in the normal range; the second takes it back.
const RESERVE: f64 = 64.0;
const TAKE_BACK: f64 = 1.0 / 18_446_744_073_709_551_616.0; // 2^-64
/// The rounding constant plus the exponent bias and the reserve.
const ROUND_BIASED: f64 = ROUND + 1023.0 + RESERVE;

/// 1/k! for k = 13 down to 2.
const TAYLOR: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

/// e^x for one number that is not positive, inlined into a vectorised loop. NaN gives NaN.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f64) -> f64 {
    // Written so that NaN falls through the comparison.
    let x = if x < SMALLEST { SMALLEST } else { x };
    let k = fma::<FMA>(x, LOG2_E, ROUND) - ROUND;
    let r = fma::<FMA>(-k, LN2_LOW, fma::<FMA>(-k, LN2_HIGH, x));
    let mut q = TAYLOR[0];
    for c in &TAYLOR[1..] {
        q = fma::<FMA>(q, r, *c);
    }
    let e = 1.0 + fma::<FMA>(r * r, q, r);
    e * f64::from_bits((k + ROUND_BIASED).to_bits() << 52) * TAKE_BACK
}

/// Replaces every x, none of them positive, by e^x.
pub fn exp_in_place(x: &mut [f64]) {
    dispatch(Exp(x));
}

struct Exp<'a>(&'a mut [f64]);

impl Routine for Exp<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (blocks, rest) = self.0.as_chunks_mut::<LANES>();
        for block in blocks {
            for x in block {
                *x = exp::<FMA>(*x);
            }
        }
        for x in rest {
            *x = exp::<FMA>(*x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn agrees_with_the_library_over_the_whole_range() {
        let steps = 400_000;
        let mut x: Vec<f64> =
            (0..=steps).map(|i| -750.0 + 750.0 * f64::from(i) / f64::from(steps)).collect();
        x.extend((0..2000).map(|i| -(2f64.powi(-i / 20)) * (1.0 + f64::from(i % 20) / 20.0)));
        x.extend([0.0, -0.0, -1e-300, f64::NEG_INFINITY, -745.13, -708.4]);
        let mut y = x.clone();
        exp_in_place(&mut y);
        for (x, y) in x.iter().zip(&y) {
            assert!(ulps(*y, x.exp()) <= 1, "exp({x:e}) = {y:e}, library {:e}", x.exp());
        }
    }

    #[test]
    fn without_fused_operations_below_two_ulps() {
        for i in 0..200_000 {
            let x = -745.0 + f64::from(i) * 0.003_725;
            assert!(ulps(exp::<false>(x), x.exp()) <= 2, "exp({x:e})");
        }
    }

    #[test]
    fn not_a_number_stays() {
        let mut y = [f64::NAN];
        exp_in_place(&mut y);
        assert!(y[0].is_nan());
    }
}
