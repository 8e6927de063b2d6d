//! Which variables a round works on when the matrix is too large to hold.
//!
//! All free variables, and a block of violators: half of them rising, half falling; of each half a fifth the worst and the rest at
//! random among all that violate, seen from the middle between the ends, where the multiplier will be. (Seen from the opposite end nearly
//! every variable violates a little, and most of what is drawn never moves: it took 5 to 15 % more columns and a third more rounds.) The worst alone sit in one corner of the data, and what a round does with them the next one
//! undoes; measured on magic (19020 x 10, RBF, C = 1) the mixture took 40 rounds where the worst alone took 236.

use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::kkt::Ends;
use crate::problem::{BoundState, DualProblem};

/// The share of each half that is taken by violation.
const WORST_SHARE: f64 = 0.2;

/// The free variables and about `block` violators, ascending.
pub(super) fn select(
    problem: &DualProblem,
    beta: &[f64],
    gradient: &[f64],
    ends: &[Ends],
    block: usize,
    rng: &mut Pcg64Mcg,
) -> Vec<usize> {
    let mut chosen = Vec::new();
    let half = (block / (2 * ends.len())).max(1);
    let mut rising = vec![Vec::new(); ends.len()];
    let mut falling = vec![Vec::new(); ends.len()];
    for (i, (&b, &g)) in beta.iter().zip(gradient).enumerate() {
        let k = problem.group(i);
        // Without an equality every variable is measured against a multiplier of 0.
        let middle =
            if problem.n_groups() == 0 { 0.0 } else { 0.5 * (ends[k].shrink + ends[k].grow) };
        match problem.bound_state(i, b) {
            BoundState::Free => chosen.push(i),
            BoundState::AtLower if -g > middle => rising[k].push(i),
            BoundState::AtUpper if -g < middle => falling[k].push(i),
            _ => {}
        }
    }
    for side in &mut rising {
        take(side, half, |i| gradient[i], &mut chosen, rng);
    }
    for side in &mut falling {
        take(side, half, |i| -gradient[i], &mut chosen, rng);
    }
    chosen.sort_unstable();
    chosen
}

/// The variables of `chosen` (ascending) in an order in which those of the `last` set keep their places as far as possible, so that the rows of
/// their block need not move: newcomers take the places of those that left, and the last ones those that are still vacant.
pub(super) fn arrange(last: &[usize], chosen: &[usize]) -> Vec<usize> {
    let stays = |v: &usize| chosen.binary_search(v).is_ok();
    let mut places: Vec<Option<usize>> = last.iter().map(|v| Some(*v).filter(stays)).collect();
    let mut known: Vec<usize> = places.iter().flatten().copied().collect();
    known.sort_unstable();
    let is_new = |v: &usize| known.binary_search(v).is_err();
    let mut newcomers = chosen.iter().copied().filter(is_new);
    for place in places.iter_mut().filter(|place| place.is_none()) {
        *place = newcomers.next();
    }
    places.extend(newcomers.map(Some));
    let mut tail = places.split_off(chosen.len().min(places.len())).into_iter().flatten();
    places.into_iter().filter_map(|place| place.or_else(|| tail.next())).collect()
}

/// Takes the share with the smallest keys and fills up at random.
fn take(
    side: &mut Vec<usize>,
    half: usize,
    key: impl Fn(usize) -> f64,
    chosen: &mut Vec<usize>,
    rng: &mut Pcg64Mcg,
) {
    if side.len() <= half {
        chosen.extend_from_slice(side);
        return;
    }
    let worst = ((WORST_SHARE * half as f64) as usize + 1).min(half);
    let order = |a: &usize, b: &usize| key(*a).total_cmp(&key(*b)).then(a.cmp(b));
    let mut ranked = side.clone();
    ranked.select_nth_unstable_by(worst - 1, order);
    let last = ranked[worst - 1];
    chosen.extend_from_slice(&ranked[..worst]);
    // The rest keeps its order: the draw must depend on the seed alone.
    side.retain(|i| order(i, &last).is_gt());
    let (drawn, _) = side.partial_shuffle(rng, half - worst);
    chosen.extend_from_slice(drawn);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stays_keeps_the_place() {
        assert_eq!(arrange(&[], &[2, 5]), [2, 5]);
        assert_eq!(arrange(&[7, 3, 9], &[3, 4, 7, 9]), [7, 3, 9, 4]);
        assert_eq!(arrange(&[7, 3, 9], &[1, 3, 4, 9]), [1, 3, 9, 4]);
        // More leave than come: the last ones move up.
        assert_eq!(arrange(&[7, 3, 9, 4, 8], &[1, 4, 8]), [1, 4, 8]);
        assert_eq!(arrange(&[7, 3, 9, 4, 8], &[9]), [9]);
        assert_eq!(arrange(&[7, 3], &[]), [0_usize; 0]);
    }
}
