//! Kernel functions and the matrices they make.

mod columns;
mod function;
mod gram;
mod panels;
mod points;
mod sums;

pub use columns::Columns;
pub use function::Kernel;
pub use gram::{GramMatrix, pairwise_kernel};
pub use points::Points;
pub use sums::{ColumnSums, weighted_columns};
