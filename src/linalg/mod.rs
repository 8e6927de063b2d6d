//! Dense vector loops, each compiled for the instruction sets that matter.

pub mod compensated;
pub mod exp;
pub mod memory;
pub(crate) mod simd;
pub mod vector;
