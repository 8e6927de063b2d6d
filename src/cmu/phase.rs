//! The phases of the method.

use crate::status::SolverStatus;

/// Where the method stands. Each phase is a function of the state that returns the next phase.
///
/// | phase | what happens | next |
/// |---|---|---|
/// | `UpCycle` | pair steps release variables until the free set has grown by half | `Sweep`; `Verify` if there was no pair to move, if the violation came near the floor, or if nothing has improved for long; `Done(Unbounded)` if a step has no end; `Done(MaxIter)` |
/// | `Sweep` | Newton steps on the free variables; blocking ones leave | `UpCycle`; `Sweep` anew after a refactorisation or a larger shift; `Stationary` if a direction has negative curvature; `Done(Unbounded)` |
/// | `Verify` | gradient and floor computed afresh; optimal? | `Done(Optimal)`; `Sweep` to polish a point at the floor, then `Done(OptimalToPrecision)`; `Done(Stationary)` if negative curvature is found at the end; `UpCycle` if there is progress to be made; `Rescue` if there was none since the last time |
/// | `Rescue` | the next rung of the ladder (rescue.rs) | `Sweep`; `Verify` after pair steps that leave no pair; `Done(Stalled)` when the ladder is used up, `Done(OptimalToPrecision)` if a point at the floor was met before; `Done(Unbounded)` |
/// | `Stationary` | pair steps alone, for a matrix that is not positive semidefinite | `Stationary` until no pair is left, then `Done(Stationary)`; `Done(Unbounded)`; `Done(Stalled)` |
/// | `Done` | the end | |
///
/// Any phase may end in `Done` when the monitor says so (time, observer, signal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Release variables.
    UpCycle,
    /// Newton steps on the free set.
    Sweep,
    /// Check optimality on a fresh gradient.
    Verify,
    /// Break a standstill.
    Rescue,
    /// Pair steps to a KKT point of a problem that is not convex.
    Stationary,
    /// The outcome.
    Done(SolverStatus),
}
