//! Dense vector loops, each compiled for the instruction sets that matter.

pub mod compensated;
pub mod exp;
mod exp_single;
pub mod memory;
pub mod real;
pub(crate) mod simd;
pub mod vector;
