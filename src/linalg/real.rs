//! The two widths that kernel values come in.

use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

use super::{exp, exp_single};

/// A floating-point type: f64, or f32 where half the work buys a rounding error that somebody accounts for.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// The nearest value.
    fn of(x: f64) -> Self;
    /// The same value; exact.
    fn to_f64(self) -> f64;
    /// Magnitude.
    #[must_use]
    fn abs(self) -> Self;
    /// Hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;
    /// Integer power.
    #[must_use]
    fn powi(self, n: i32) -> Self;
    /// self * b + c, fused where `FMA` says that the hardware does it.
    #[must_use]
    fn fma<const FMA: bool>(self, b: Self, c: Self) -> Self;
    /// Memory that was taken for doubles, as numbers of this type.
    fn view(words: &[f64]) -> &[Self];
    /// The same, to write.
    fn view_mut(words: &mut [f64]) -> &mut [Self];
    /// e^self for a number that is not positive, inlined into a vectorised loop.
    #[must_use]
    fn exp<const FMA: bool>(self) -> Self;
}

macro_rules! real {
    ($type:ty, $exp:path) => {
        impl Real for $type {
            #[inline(always)]
            #[allow(clippy::cast_lossless)]
            fn of(x: f64) -> Self {
                x as Self
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$type>::abs(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                <$type>::tanh(self)
            }
            #[inline(always)]
            fn powi(self, n: i32) -> Self {
                <$type>::powi(self, n)
            }
            #[inline(always)]
            fn fma<const FMA: bool>(self, b: Self, c: Self) -> Self {
                if FMA { self.mul_add(b, c) } else { self * b + c }
            }
            fn view(words: &[f64]) -> &[Self] {
                bytemuck::cast_slice(words)
            }
            fn view_mut(words: &mut [f64]) -> &mut [Self] {
                bytemuck::cast_slice_mut(words)
            }
            #[inline(always)]
            fn exp<const FMA: bool>(self) -> Self {
                $exp(self)
            }
        }
    };
}

real!(f64, exp::exp::<FMA>);
real!(f32, exp_single::exp::<FMA>);
