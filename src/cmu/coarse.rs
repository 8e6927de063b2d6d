//! How long single precision is good enough for the gradient of a matrix that is not held.
//!
//! The gradient only has to say which variables violate, and by how much, as long as the violation is far above its errors; blocks,
//! factor and steps are exact all along. So a run begins with coarse columns, keeps account of what their rounding may have done to
//! the gradient, and changes to exact ones, for good, when the violation comes near that. What is called optimal is always judged on a
//! gradient that was computed anew in double precision.

use crate::gradient::Move;
use crate::kernel::{ColumnSource, Precision};
use crate::problem::DualProblem;

/// The violation must exceed the errors by this factor: the extremes of many errors, with room for a sub-problem's share.
const MARGIN: f64 = 30.0;
/// Violation down to which coarse columns must be good for them to be worth a start.
const WORTH_IT: f64 = 0.1;

/// Entries in single precision are hardly better than that.
const LEAST_ERROR: f64 = f32::EPSILON as f64 / 16.0;

/// The account of the errors.
#[derive(Debug)]
pub(super) struct Coarse {
    precision: Precision,
    /// Root mean square error of an entry.
    entry_error: f64,
    /// Sum of the squared changes that were followed with coarse columns.
    squared_changes: f64,
}

impl Coarse {
    /// Coarse if the source can and bounds are such that it pays.
    pub(super) fn new(source: &mut dyn ColumnSource, problem: &DualProblem) -> Self {
        let width = |v: usize| problem.upper()[v] - problem.lower()[v];
        let most = (0..problem.len()).map(|v| width(v).powi(2)).sum::<f64>().sqrt();
        let pays = |entry_error: &f64| MARGIN * entry_error * most <= WORTH_IT;
        // Where not even the smallest error would do there is no need to measure it.
        let error = if pays(&LEAST_ERROR) { source.coarse_error().filter(pays) } else { None };
        Self {
            precision: if error.is_some() { Precision::Coarse } else { Precision::Exact },
            entry_error: error.unwrap_or(0.0),
            squared_changes: 0.0,
        }
    }

    pub(super) fn precision(&self) -> Precision {
        self.precision
    }

    /// Notes what was followed.
    pub(super) fn note(&mut self, moved: &[Move]) {
        self.squared_changes += moved.iter().map(|m| (m.new - m.old).powi(2)).sum::<f64>();
    }

    /// The violation below which the gradient says nothing more.
    pub(super) fn least_violation(&self) -> f64 {
        match self.precision {
            Precision::Coarse => MARGIN * self.entry_error * self.squared_changes.sqrt(),
            Precision::Exact => 0.0,
        }
    }

    /// The gradient was computed anew.
    pub(super) fn refreshed(&mut self) {
        self.squared_changes = 0.0;
    }

    /// From now on columns are exact.
    pub(super) fn end(&mut self) {
        self.precision = Precision::Exact;
    }
}
