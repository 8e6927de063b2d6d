//! Choosing: the worst violators and the partner of a step. Nothing here changes anything.

use super::state::State;
use crate::pair::{self, Violator};

/// The worst violator over the groups; `None` if no variable may move against another.
pub(super) fn worst_violator(state: &State<'_>) -> Option<Violator> {
    pair::worst_violator(&state.gradient, &state.grow, &state.shrink, state.problem.n_groups())
}

/// The KKT violation of the running gradient.
pub(super) fn current_violation(state: &State<'_>) -> f64 {
    worst_violator(state).map_or(0.0, |v| v.violation.max(0.0))
}

/// The partner for `violator` whose pair step gains most.
pub(super) fn best_partner(state: &State<'_>, violator: Violator) -> Option<usize> {
    let i = violator.index;
    let shrink = &state.shrink[violator.group];
    pair::best_partner(&state.gradient, shrink, state.gram.row(i), state.gram.diagonal(), i)
}
