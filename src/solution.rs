//! What a solver returns.

use crate::info::Info;
use crate::kernel::ColumnSums;

/// A feasible point with its gradient and the work it took.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Signed variables beta = z o x.
    pub beta: Vec<f64>,
    /// K beta, where it was computed from this beta alone at the end.
    pub sums: Option<ColumnSums>,
    /// Whether the solver got as far as a gradient; without one the point is the start.
    pub began: bool,
    /// Counters, seconds and outcome.
    pub info: Info,
}
