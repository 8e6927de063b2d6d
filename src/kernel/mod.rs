//! Kernel functions and the matrices they make.

mod cache;
mod columns;
mod function;
mod gram;
mod held;
mod loose;
mod panels;
mod points;
mod source;
mod sums;

pub use columns::Columns;
pub use function::Kernel;
pub use gram::{GramMatrix, pairwise_kernel};
pub use held::HeldColumns;
pub use points::Points;
pub use source::{ColumnSource, KernelColumns, SingleColumns};
pub use sums::ColumnSums;
