//! Blocks of a working set, each of which shares most of its points with the last one.

use std::collections::HashMap;

use super::columns::Columns;
use super::function::Kernel;
use super::gram::{GramMatrix, check_entries, resized};
use super::points::Points;
use crate::error::Result;
use crate::threads::Threads;

/// Features from which copying an entry is cheaper than computing it again.
const COPY_FEATURES: usize = 64;
/// Rows of one task.
const BAND: usize = 16;
/// Entries below which threads cost more than they bring.
const PARALLEL_ENTRIES: usize = 40_000;

/// What is remembered of the last block.
#[derive(Debug, Default)]
pub(super) struct LastBlock {
    points: Vec<usize>,
    /// Memory of the block before.
    spare: Vec<f64>,
}

impl LastBlock {
    /// Bytes of the block that is kept beside the one in use.
    pub(super) fn bytes(&self) -> usize {
        let touched = self.spare.len().min(self.points.len().pow(2));
        touched * size_of::<f64>()
    }

    /// The block of the points `wanted` of `all`. `last` is the memory of the last block, unchanged, or empty: entries are copied from
    /// it where that is cheaper than computing them.
    ///
    /// # Errors
    /// If an entry overflows.
    pub(super) fn follow(
        &mut self,
        all: &Points<'_>,
        kernel: &Kernel,
        wanted: &[usize],
        last: Vec<f64>,
        threads: &Threads,
    ) -> Result<GramMatrix<'static>> {
        let m = wanted.len();
        let subset = all.subset(wanted);
        if all.n_features() < COPY_FEATURES {
            return GramMatrix::compute_into(last, &subset, kernel, threads);
        }
        let place: HashMap<usize, usize> =
            self.points.iter().enumerate().map(|(k, &point)| (point, k)).collect();
        let old: Vec<Option<usize>> =
            wanted.iter().map(|point| place.get(point).copied()).collect();
        let new: Vec<usize> = (0..m).filter(|&k| old[k].is_none()).collect();
        let n_last = self.points.len();
        // Rows of new points are computed in full where the whole block is computed by half.
        let worth_it = 2 * new.len() < m;
        let known = last.len() >= n_last * n_last && n_last > 0;
        self.points = wanted.to_vec();
        if !worth_it || !known {
            return GramMatrix::compute_into(last, &subset, kernel, threads);
        }
        let rows = all.subset(&new.iter().map(|&k| wanted[k]).collect::<Vec<_>>());
        let columns = Columns::new(&subset, kernel);
        let mut computed = vec![0.0; new.len() * m];
        let parallel = computed.len() * all.n_features() > PARALLEL_ENTRIES;
        threads.for_each_chunk(&mut computed, (BAND * m).max(1), parallel, |b, band| {
            columns.fill(&rows, b * BAND, 0, band);
        });
        check_entries(&computed, kernel.name())?;
        let mut values = resized(std::mem::take(&mut self.spare), m * m);
        let row_of: HashMap<usize, usize> = new.iter().enumerate().map(|(r, &k)| (k, r)).collect();
        threads.for_each_chunk(
            &mut values[..m * m],
            (BAND * m).max(1),
            m * m > PARALLEL_ENTRIES,
            |b, band| {
                for (i, row) in band.chunks_exact_mut(m).enumerate() {
                    let i = b * BAND + i;
                    let Some(place) = old[i] else {
                        row.copy_from_slice(&computed[row_of[&i] * m..][..m]);
                        continue;
                    };
                    let kept = &last[place * n_last..][..n_last];
                    for (value, j) in row.iter_mut().zip(&old) {
                        *value = j.map_or(0.0, |j| kept[j]);
                    }
                    for (r, &j) in new.iter().enumerate() {
                        row[j] = computed[r * m + i];
                    }
                }
            },
        );
        if kernel.depends_on_distance() {
            (0..m).for_each(|i| values[i * m + i] = 1.0);
        }
        self.spare = last;
        Ok(GramMatrix::held(values, m, 0))
    }
}

/// The block of the points `wanted` of `all` where whole columns of many of them are known: `column(k)` is that of `wanted[k]`.
/// `memory` is used again.
///
/// # Errors
/// If an entry overflows.
pub(super) fn assemble<'c>(
    all: &Points<'_>,
    kernel: &Kernel,
    wanted: &[usize],
    column: impl Fn(usize) -> Option<&'c [f64]> + Sync,
    memory: Vec<f64>,
    threads: &Threads,
) -> Result<GramMatrix<'static>> {
    let m = wanted.len();
    let known: Vec<Option<&[f64]>> = (0..m).map(column).collect();
    let rest: Vec<usize> = (0..m).filter(|&k| known[k].is_none()).collect();
    let subset = all.subset(&rest.iter().map(|&k| wanted[k]).collect::<Vec<_>>());
    let computed = GramMatrix::compute_into(Vec::new(), &subset, kernel, threads)?;
    let mut place = vec![0; m];
    rest.iter().enumerate().for_each(|(r, &k)| place[k] = r);
    let mut values = resized(memory, m * m);
    let parallel = m * m > PARALLEL_ENTRIES;
    threads.for_each_chunk(&mut values[..m * m], (BAND * m).max(1), parallel, |b, band| {
        for (i, row) in band.chunks_exact_mut(m).enumerate() {
            let k = b * BAND + i;
            if let Some(column) = known[k] {
                row.iter_mut().zip(wanted).for_each(|(value, &point)| *value = column[point]);
                continue;
            }
            let own = computed.row(place[k]);
            for (j, value) in row.iter_mut().enumerate() {
                *value = known[j].map_or_else(|| own[place[j]], |column| column[wanted[k]]);
            }
        }
    });
    Ok(GramMatrix::held(values, m, 0))
}
