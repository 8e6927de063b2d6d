//! How a solver ended.

use std::fmt;

/// Outcome of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolverStatus {
    /// Still at work.
    #[default]
    Unsolved,
    /// The KKT violation is at most the tolerance, on a gradient computed afresh.
    Optimal,
    /// The violation reached the floor that rounding sets, which lies above the tolerance.
    OptimalToPrecision,
    /// The kernel is not positive semidefinite; this is a KKT point, not a certified optimum.
    Stationary,
    /// The dual falls for ever: no hyperplane separates the data, and the bounds are infinite.
    Unbounded,
    /// The iteration limit came first.
    MaxIter,
    /// The time limit came first.
    MaxTime,
    /// No step makes progress any more, though the violation is above the floor.
    Stalled,
    /// The gap falls too slowly for a run that was asked to stop then.
    EarlyStopped,
    /// The steps of a gradient method are too long: the objective grows.
    Diverged,
    /// The observer asked to stop.
    Stopped,
    /// A signal asked to stop.
    Interrupted,
}

impl SolverStatus {
    /// The word used in certificates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsolved => "unsolved",
            Self::Optimal => "optimal",
            Self::OptimalToPrecision => "optimal_to_precision",
            Self::Stationary => "stationary",
            Self::Unbounded => "unbounded",
            Self::MaxIter => "max_iter",
            Self::MaxTime => "max_time",
            Self::Stalled => "stalled",
            Self::EarlyStopped => "early_stopped",
            Self::Diverged => "diverged",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the point is optimal, as far as float64 can tell.
    pub fn is_optimal(self) -> bool {
        matches!(self, Self::Optimal | Self::OptimalToPrecision)
    }
}

impl fmt::Display for SolverStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
