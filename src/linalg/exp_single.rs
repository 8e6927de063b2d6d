//! The exponential of numbers that are not positive in single precision, after the pattern of the double one (exp.rs): a Taylor polynomial of degree 7 on
//! |r| <= ln 2 / 2 (remainder below 6e-9 there, a tenth of the rounding unit). Results below the normal range become the smallest
//! normal number: kernel values that small add nothing to a sum that is kept in double precision.

/// e^x leaves the normal range below this.
const SMALLEST: f32 = -87.3;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts; the first has nine trailing zeros, so k times it is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// Adding this rounds to an integer, which then sits in the low bits.
const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
/// The same, plus the exponent bias.
const ROUND_BIASED: f32 = ROUND + 127.0;

/// 1/k! for k = 7 down to 2.
const TAYLOR: [f32; 6] = [1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];

/// e^x for one number that is not positive, inlined into a vectorised loop. NaN gives NaN.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    let fma = |a: f32, b: f32, c: f32| if FMA { a.mul_add(b, c) } else { a * b + c };
    // Written so that NaN falls through the comparison.
    let x = if x < SMALLEST { SMALLEST } else { x };
    let k = fma(x, LOG2_E, ROUND) - ROUND;
    let r = fma(-k, LN2_LOW, fma(-k, LN2_HIGH, x));
    let mut q = TAYLOR[0];
    for c in &TAYLOR[1..] {
        q = fma(q, r, *c);
    }
    let e = 1.0 + fma(r * r, q, r);
    e * f32::from_bits((k + ROUND_BIASED).to_bits() << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_two_units_of_the_library_over_the_normal_range() {
        let steps = 2_000_000;
        let ulps = |a: f32, b: f32| a.to_bits().abs_diff(b.to_bits());
        for i in 0..=steps {
            let x = (-87.3 + 87.3 * f64::from(i) / f64::from(steps)) as f32;
            let exact = f64::from(x).exp() as f32;
            assert!(ulps(exp::<true>(x), exact) <= 1, "exp({x:e})");
            assert!(ulps(exp::<false>(x), exact) <= 2, "exp({x:e}) without fused operations");
        }
        assert_eq!((exp::<true>(0.0), exp::<false>(-0.0)), (1.0, 1.0));
        assert!(exp::<true>(f32::NAN).is_nan());
        for x in [-88.0, -1e4, f32::NEG_INFINITY] {
            assert!(exp::<true>(x) < 2e-38);
        }
    }
}
