//! Squared Euclidean norms of the samples.

use super::data::Rows;
use crate::threads::Threads;

/// Rows of one task.
const BAND: usize = 1024;
/// Sums that run side by side.
const LANES: usize = 8;

/// Squared norms of all rows, right also where a column occurs twice; `convert` makes what is kept of them.
pub(super) fn squared_norms<R: Rows, T: Default + Clone + Send>(
    rows: &R,
    threads: &Threads,
    convert: impl Fn(f64) -> T + Sync,
) -> Vec<T> {
    let mut norms = vec![T::default(); rows.len()];
    threads.for_each_chunk(&mut norms, BAND, true, |c, part| {
        let mut scratch = Vec::new();
        for (i, norm) in part.iter_mut().enumerate() {
            *norm = convert(squared_norm(rows, c * BAND + i, &mut scratch));
        }
    });
    norms
}

/// Squared norm of row i. `scratch` is empty at first and comes back with every call.
pub(super) fn squared_norm<R: Rows>(rows: &R, i: usize, scratch: &mut Vec<f64>) -> f64 {
    let mut lanes = [0.0; LANES];
    let (mut next, mut rises) = (0, true);
    rows.entries(i, |j, x| {
        lanes[j % LANES] += x * x;
        rises &= j >= next;
        next = j + 1;
    });
    if !rises {
        // A column may occur more than once: its entries add up.
        scratch.resize(rows.n_features(), 0.0);
        rows.entries(i, |j, x| scratch[j] += x);
        lanes = [0.0; LANES];
        rows.entries(i, |j, _| {
            lanes[j % LANES] += scratch[j] * scratch[j];
            scratch[j] = 0.0;
        });
    }
    lanes.iter().sum()
}
