//! What a solver returns.

use crate::info::Info;

/// A feasible point with its gradient and the work it took.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Signed variables beta = z o x.
    pub beta: Vec<f64>,
    /// Counters, seconds and outcome.
    pub info: Info,
}
