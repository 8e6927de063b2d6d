//! Kernel functions and the matrices they make.

mod function;
mod gram;
mod points;
mod sums;

pub use function::Kernel;
pub use gram::{GramMatrix, kernel_block, pairwise_kernel};
pub use points::Points;
pub use sums::{ColumnSums, weighted_columns};
