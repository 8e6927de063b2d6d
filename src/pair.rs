//! What the solvers that move pairs of variables share: the scans that choose, and the step. Nothing here changes a choice's input.
//!
//! `grow` holds 0 where a variable may grow and minus infinity elsewhere, `shrink` 0 where it may shrink and infinity elsewhere, a
//! vector a group; without an equality there is one of each.

use crate::linalg::simd::{Routine, dispatch, fma};
use crate::linalg::vector::LANES;

/// Curvature below this share of the diagonal entries is none.
pub(crate) const FLAT: f64 = 4.0 * f64::EPSILON;
/// Curvature this far below zero, relative to the diagonal entries, is no rounding error.
pub(crate) const NEGATIVE: f64 = 1e-12;

/// The most violating variable of a group and how far it is from the other side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Violator {
    pub(crate) group: usize,
    /// The variable with the largest v that may grow (or, without an equality, that moves).
    pub(crate) index: usize,
    /// m - M, what is stopped upon.
    pub(crate) violation: f64,
}

/// The worst violator over the groups; `None` if no variable may move against another.
pub(crate) fn worst_violator(
    gradient: &[f64],
    grow: &[Vec<f64>],
    shrink: &[Vec<f64>],
    n_groups: usize,
) -> Option<Violator> {
    let one = |group: usize| -> Option<Violator> {
        let found = ends(gradient, &grow[group], &shrink[group]);
        if n_groups == 0 {
            // The multiplier is 0: every variable stands for itself.
            let (index, violation) = if found.grow >= -found.shrink {
                (found.grow_index, found.grow)
            } else {
                (found.shrink_index, -found.shrink)
            };
            return (violation > f64::NEG_INFINITY).then_some(Violator { group, index, violation });
        }
        let violation = found.grow - found.shrink;
        (violation > f64::NEG_INFINITY).then_some(Violator {
            group,
            index: found.grow_index,
            violation,
        })
    };
    (0..grow.len())
        .filter_map(one)
        .max_by(|a, b| a.violation.total_cmp(&b.violation).then(b.group.cmp(&a.group)))
}

/// Largest and smallest v = -gradient over the variables of a group that may grow and that may shrink.
pub(crate) fn ends(gradient: &[f64], grow: &[f64], shrink: &[f64]) -> Found {
    dispatch(Extremes { gradient, grow, shrink })
}

/// A partner for i, whose column is `row`: of the variables that may shrink, the one whose pair step gains most,
/// (`v_i` - `v_j`)^2 / (`K_ii` + `K_jj` - 2 `K_ij`) (Fan, Chen and Lin, JMLR 6, 2005, WSS 2).
pub(crate) fn best_partner(
    gradient: &[f64],
    shrink: &[f64],
    row: &[f64],
    diagonal: &[f64],
    i: usize,
) -> Option<usize> {
    let (value, own) = (-gradient[i], diagonal[i]);
    let (gain, j) = dispatch(Partner { gradient, shrink, row, diagonal, value, own });
    (gain > 0.0).then_some(j)
}

/// Curvature of a pair step, at least what rounding leaves of it.
#[inline(always)]
pub(crate) fn pair_curvature(own: f64, other: f64, product: f64) -> f64 {
    let curvature = (own + other) - 2.0 * product;
    let least = f64::EPSILON * (own.abs() + other.abs()) + f64::MIN_POSITIVE;
    if curvature > least { curvature } else { least }
}

struct Extremes<'a> {
    gradient: &'a [f64],
    grow: &'a [f64],
    shrink: &'a [f64],
}

/// The two ends of a group and where they are attained.
pub(crate) struct Found {
    pub(crate) grow: f64,
    pub(crate) grow_index: usize,
    pub(crate) shrink: f64,
    pub(crate) shrink_index: usize,
}

impl Routine for Extremes<'_> {
    type Output = Found;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Found {
        let n = self.gradient.len();
        let (gradient, _) = self.gradient.as_chunks::<LANES>();
        let (grow, _) = self.grow.as_chunks::<LANES>();
        let (shrink, _) = self.shrink.as_chunks::<LANES>();
        let (mut most, mut most_at) = ([f64::NEG_INFINITY; LANES], [0_u64; LANES]);
        let (mut least, mut least_at) = ([f64::INFINITY; LANES], [0_u64; LANES]);
        for (k, ((g, grow), shrink)) in gradient.iter().zip(grow).zip(shrink).enumerate() {
            for l in 0..LANES {
                let (up, down) = (grow[l] - g[l], shrink[l] - g[l]);
                most_at[l] = if up > most[l] { k as u64 } else { most_at[l] };
                most[l] = if up > most[l] { up } else { most[l] };
                least_at[l] = if down < least[l] { k as u64 } else { least_at[l] };
                least[l] = if down < least[l] { down } else { least[l] };
            }
        }
        let mut found = Found {
            grow: f64::NEG_INFINITY,
            grow_index: 0,
            shrink: f64::INFINITY,
            shrink_index: 0,
        };
        let mut take = |up: f64, up_at: usize, down: f64, down_at: usize| {
            if up > found.grow || (up == found.grow && up_at < found.grow_index) {
                (found.grow, found.grow_index) = (up, up_at);
            }
            if down < found.shrink || (down == found.shrink && down_at < found.shrink_index) {
                (found.shrink, found.shrink_index) = (down, down_at);
            }
        };
        // Of fewer variables than lanes nothing is in the lanes.
        for l in 0..if gradient.is_empty() { 0 } else { LANES } {
            take(
                most[l],
                most_at[l] as usize * LANES + l,
                least[l],
                least_at[l] as usize * LANES + l,
            );
        }
        for i in n - n % LANES..n {
            take(self.grow[i] - self.gradient[i], i, self.shrink[i] - self.gradient[i], i);
        }
        found
    }
}

struct Partner<'a> {
    gradient: &'a [f64],
    shrink: &'a [f64],
    row: &'a [f64],
    diagonal: &'a [f64],
    value: f64,
    own: f64,
}

impl Partner<'_> {
    #[inline(always)]
    fn gain(&self, gradient: f64, shrink: f64, product: f64, diagonal: f64) -> f64 {
        // Minus infinity where j may not shrink; the square of a negative slope must not count either.
        let slope = (self.value + gradient) - shrink;
        let slope = if slope > 0.0 { slope } else { 0.0 };
        slope * slope / pair_curvature(self.own, diagonal, product)
    }
}

impl Routine for Partner<'_> {
    type Output = (f64, usize);
    #[inline(always)]
    fn run<const FMA: bool>(self) -> (f64, usize) {
        let n = self.gradient.len();
        let (gradient, _) = self.gradient.as_chunks::<LANES>();
        let (shrink, _) = self.shrink.as_chunks::<LANES>();
        let (row, _) = self.row.as_chunks::<LANES>();
        let (diagonal, _) = self.diagonal.as_chunks::<LANES>();
        let (mut most, mut most_at) = ([-1.0_f64; LANES], [0_u64; LANES]);
        for (k, (((g, shrink), row), diagonal)) in
            gradient.iter().zip(shrink).zip(row).zip(diagonal).enumerate()
        {
            for l in 0..LANES {
                let gain = self.gain(g[l], shrink[l], row[l], diagonal[l]);
                most_at[l] = if gain > most[l] { k as u64 } else { most_at[l] };
                most[l] = if gain > most[l] { gain } else { most[l] };
            }
        }
        let (mut best, mut at) = (-1.0, 0);
        let mut take = |gain: f64, i: usize| {
            if gain > best || (gain == best && i < at) {
                (best, at) = (gain, i);
            }
        };
        for l in 0..if gradient.is_empty() { 0 } else { LANES } {
            take(most[l], most_at[l] as usize * LANES + l);
        }
        for i in n - n % LANES..n {
            take(self.gain(self.gradient[i], self.shrink[i], self.row[i], self.diagonal[i]), i);
        }
        (best, at)
    }
}

/// gradient += step (`row_i` - `row_j`).
pub(crate) fn add_pair(gradient: &mut [f64], step: f64, row_i: &[f64], row_j: &[f64]) {
    dispatch(AddPair { gradient, step, row_i, row_j });
}

struct AddPair<'a> {
    gradient: &'a mut [f64],
    step: f64,
    row_i: &'a [f64],
    row_j: &'a [f64],
}

impl Routine for AddPair<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for ((g, a), b) in self.gradient.iter_mut().zip(self.row_i).zip(self.row_j) {
            *g = fma::<FMA>(self.step, a - b, *g);
        }
    }
}
