//! Run-time choice of the instruction set: the only place with unsafe code.
//!
//! A hot loop is written once, in safe scalar form over fixed-width lanes, as a [`Routine`] whose `run` is inlined
//! into one copy per instruction set; the compiler vectorises each copy with what that set offers. Fused
//! multiply-adds are only written where the hardware has them: without, they are library calls.

/// A loop that is compiled once for each instruction set.
pub(crate) trait Routine {
    /// What the loop returns.
    type Output;
    /// The loop. Must be `#[inline(always)]`; `FMA` says whether [`fma`] may fuse.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// a * b + c, fused where `FMA` says that the hardware does it.
#[inline(always)]
pub(crate) fn fma<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Routine;

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) fn avx512<R: Routine>(routine: R) -> R::Output {
        routine.run::<true>()
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2<R: Routine>(routine: R) -> R::Output {
        routine.run::<true>()
    }
}

/// Asks for the first `bytes` of `values` to be brought near, without waiting: for what is read soon from far away.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(values: &[T], bytes: usize) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(values).min(bytes)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing and cannot fail; the address lies inside the slice all the same.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast::<i8>().add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, bytes, LINE);
}

/// Whether [`dispatch`] runs routines with 32 registers of eight numbers.
#[inline]
pub(crate) fn has_wide_registers() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Runs a routine with the best instruction set of this machine.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline]
pub(crate) fn dispatch<R: Routine>(routine: R) -> R::Output {
    if has_wide_registers() {
        // SAFETY: the features that the function enables were just detected (avx512f implies avx2).
        unsafe { x86::avx512(routine) }
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the features that the function enables were detected on the line above.
        unsafe { x86::avx2(routine) }
    } else {
        routine.run::<false>()
    }
}

/// Runs a routine with the best instruction set of this machine.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn dispatch<R: Routine>(routine: R) -> R::Output {
    // On aarch64 fused multiply-adds and 128-bit vectors are part of the baseline.
    #[cfg(target_arch = "aarch64")]
    {
        routine.run::<true>()
    }
    #[cfg(not(target_arch = "aarch64"))]
    {
        routine.run::<false>()
    }
}
