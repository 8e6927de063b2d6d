//! Kernel functions and the matrices they make.

mod block;
mod cache;
mod columns;
mod function;
mod gram;
mod held;
mod kernel_columns;
mod loose;
mod panels;
mod pass;
mod points;
mod source;
mod sums;
mod tiles;

pub use columns::{Columns, PackedColumns};
pub use function::{Kernel, SAFE_EXPONENT};
pub(crate) use gram::LARGEST_ENTRY;
pub use gram::{GramMatrix, pairwise_kernel};
pub use held::HeldColumns;
pub use kernel_columns::KernelColumns;
pub use points::Points;
pub use source::{ColumnSource, Precision, SingleColumns};
pub use sums::{ColumnSums, Weight};
