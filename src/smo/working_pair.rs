//! Choosing the pair of a step. Nothing here changes anything.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

use super::shrinking::Active;
use crate::pair::{self, Violator};
use crate::problem::DualProblem;

/// Columns that may come along with one that has to be computed.
const ALONG: usize = 7;
/// Draws that are looked ahead at for columns that may come along.
const AHEAD: usize = 64;

/// The variables of a step, by place: the first grows, the second shrinks. Without an equality there is no second, and the first
/// moves either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) first: usize,
    pub(super) second: Option<usize>,
}

/// The worst violator of the active variables.
pub(super) fn worst(active: &Active, problem: &DualProblem) -> Option<Violator> {
    pair::worst_violator(&active.gradient, &active.grow, &active.shrink, problem.n_groups())
}

/// The greedy partner of a violator whose column is `row`.
pub(super) fn partner(active: &Active, violator: Violator, row: &[f64]) -> Option<usize> {
    let shrink = &active.shrink[violator.group];
    pair::best_partner(&active.gradient, shrink, row, &active.diagonal, violator.index)
}

/// One draw; `None` if the variables drawn do not violate by more than `target`.
pub(super) fn draw(
    active: &Active,
    problem: &DualProblem,
    target: f64,
    rng: &mut Pcg64Mcg,
) -> Option<Pair> {
    let i = below(rng, active.len());
    let group = problem.group(active.variable(i));
    let up = |place: usize| active.grow[group][place] - active.gradient[place];
    let down = |place: usize| active.shrink[group][place] - active.gradient[place];
    if problem.n_groups() == 0 {
        return (up(i).max(-down(i)) > target).then_some(Pair { first: i, second: None });
    }
    let j = below(rng, active.len());
    if problem.group(active.variable(j)) != group {
        return None;
    }
    if up(i) - down(j) > target {
        Some(Pair { first: i, second: Some(j) })
    } else if up(j) - down(i) > target {
        Some(Pair { first: j, second: Some(i) })
    } else {
        None
    }
}

/// Points whose columns the next greedy steps may ask for: the worst of either side.
pub(super) fn likely(active: &Active) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(2 * ALONG);
    for (grow, shrink) in active.grow.iter().zip(&active.shrink) {
        let side = |sign: f64, barrier: &[f64]| {
            let mut top: Vec<(f64, usize)> = Vec::with_capacity(ALONG + 1);
            for (place, (g, b)) in active.gradient.iter().zip(barrier).enumerate() {
                let key = sign * (b - g);
                if key > f64::NEG_INFINITY && (top.len() < ALONG || key > top[top.len() - 1].0) {
                    let at = top.partition_point(|(k, _)| *k >= key);
                    top.insert(at, (key, place));
                    top.truncate(ALONG);
                }
            }
            top
        };
        let (rising, falling) = (side(1.0, grow), side(-1.0, shrink));
        for k in 0..ALONG {
            let both = rising.get(k).into_iter().chain(falling.get(k));
            chosen.extend(both.map(|&(_, place)| active.point(place)));
        }
    }
    chosen
}

/// The same for random steps: the points of the next draws, as they would be taken now.
pub(super) fn upcoming(
    active: &Active,
    problem: &DualProblem,
    target: f64,
    rng: &Pcg64Mcg,
) -> Vec<usize> {
    let mut rng = rng.clone();
    let pairs = (0..AHEAD).filter_map(|_| draw(active, problem, target, &mut rng));
    let places = pairs.flat_map(|pair| [Some(pair.first), pair.second]).flatten();
    places.take(ALONG).map(|place| active.point(place)).collect()
}

/// A number below n, all alike.
fn below(rng: &mut Pcg64Mcg, n: usize) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}
