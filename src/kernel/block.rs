//! Blocks of a working set, each of which shares most of its points with the last one.

use super::columns::Columns;
use super::function::Kernel;
use super::gram::{GramMatrix, check_entries, fill_symmetric};
use super::points::Points;
use crate::error::Result;
use crate::linalg::memory::zeros;
use crate::threads::Threads;

/// Rows of one task.
const BAND: usize = 16;
/// Entries below which threads cost more than they bring.
const PARALLEL_ENTRIES: usize = 40_000;
/// Entries of a buffer whose pages the system gives as they are touched.
const LARGE: usize = 1 << 20;

/// What is known of the last block, whose memory comes back with the call for the next one.
#[derive(Debug, Default)]
pub(super) struct LastBlock {
    points: Vec<usize>,
    stride: usize,
}

impl LastBlock {
    /// The block of the points `wanted` of `all`. `memory` is that of the last block, unchanged, or empty: rows of points that keep their
    /// place are not computed again. An entry has the same bits whichever way it comes. Rows may have room to grow for `spare` entries in
    /// all.
    ///
    /// # Errors
    /// If an entry overflows.
    pub(super) fn follow(
        &mut self,
        all: &Points<'_>,
        kernel: &Kernel,
        wanted: &[usize],
        memory: Vec<f64>,
        spare: usize,
        threads: &Threads,
    ) -> Result<GramMatrix<'static>> {
        let m = wanted.len();
        let last = std::mem::take(&mut self.points);
        let known = if memory.is_empty() { 0 } else { last.len() };
        let changed: Vec<usize> = (0..m).filter(|&k| k >= known || last[k] != wanted[k]).collect();
        let subset = all.subset(wanted);
        let mut values;
        // Rows of new points are computed in full where the whole block is computed by half.
        let too_wide = self.stride > m && (self.stride - m) * m > spare;
        if 2 * changed.len() >= m || too_wide {
            self.stride = stride_for(m, spare);
            values = resized(memory, m * self.stride);
            let block = &mut values[..m * self.stride];
            fill_symmetric(block, self.stride, &subset, kernel, threads, &mut || true)?;
        } else {
            values = memory;
            if m > self.stride {
                let stride = stride_for(m, spare);
                values = widen(values, known, self.stride, stride);
                self.stride = stride;
            }
            values = resized_with(values, m * self.stride);
            self.replace(&mut values, &subset, kernel, &changed, threads)?;
        }
        self.points = wanted.to_vec();
        Ok(GramMatrix::held(values, m, self.stride))
    }

    /// Entries behind the rows of a block of `m` rows, the last one made.
    pub(super) fn spare(&self, m: usize) -> usize {
        self.stride.saturating_sub(m) * m
    }

    /// Computes the rows `changed` of the block of `subset`, and with them the columns.
    fn replace(
        &self,
        values: &mut [f64],
        subset: &Points<'_>,
        kernel: &Kernel,
        changed: &[usize],
        threads: &Threads,
    ) -> Result<()> {
        let (m, stride) = (subset.len(), self.stride);
        let rows = subset.subset(changed);
        let columns = Columns::new(subset, kernel);
        let mut computed = zeros(changed.len() * m);
        let parallel = computed.len() * subset.n_features() > PARALLEL_ENTRIES;
        threads.for_each_chunk(&mut computed, BAND * m, parallel, |b, band| {
            columns.fill(&rows, b * BAND, 0, m, band);
        });
        if kernel.depends_on_distance() {
            changed.iter().enumerate().for_each(|(r, &k)| computed[r * m + k] = 1.0);
        }
        check_entries(&computed, kernel.name())?;
        let block = &mut values[..m * stride];
        threads.for_each_chunk(block, BAND * stride, m * m > PARALLEL_ENTRIES, |b, band| {
            for (i, row) in band.chunks_mut(stride).enumerate() {
                let i = b * BAND + i;
                match changed.binary_search(&i) {
                    Ok(r) => row[..m].copy_from_slice(&computed[r * m..][..m]),
                    Err(_) => {
                        for (r, &k) in changed.iter().enumerate() {
                            row[k] = computed[r * m + i];
                        }
                    }
                }
            }
        });
        Ok(())
    }
}

/// From one row of a block of `m` rows to the next: room to grow, if there is so much to spare, and an odd number of cache lines, or
/// the entries of a column would share few places of the processor's cache.
fn stride_for(m: usize, spare: usize) -> usize {
    let lines = (m + m / 8).div_ceil(8);
    let stride = 8 * (lines + 1 - lines % 2);
    if (stride - m) * m <= spare { stride } else { m }
}

/// A buffer of at least that size; what it holds does not matter.
fn resized(buffer: Vec<f64>, len: usize) -> Vec<f64> {
    if buffer.len() >= len {
        return buffer;
    }
    // Blocks grow from round to round. What is not used costs nothing where the system gives pages as they are touched, as it does
    // for large buffers; but it must be there to be promised.
    zeros(len + if len < LARGE { len } else { (len / 2).max(8 * LARGE) })
}

/// The same, with what it holds.
fn resized_with(buffer: Vec<f64>, len: usize) -> Vec<f64> {
    let held = buffer.len();
    if held >= len {
        return buffer;
    }
    let mut larger = resized(Vec::new(), len);
    larger[..held].copy_from_slice(&buffer);
    larger
}

/// Takes the rows of a block further apart.
fn widen(values: Vec<f64>, n_rows: usize, from: usize, to: usize) -> Vec<f64> {
    let mut values = resized_with(values, n_rows * to);
    for i in (1..n_rows).rev() {
        values.copy_within(i * from..(i + 1) * from, i * to);
    }
    values
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
    let n_rest = rest.len();
    let mut computed = zeros(n_rest * n_rest);
    fill_symmetric(&mut computed, n_rest, &subset, kernel, threads, &mut || true)?;
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
            let own = &computed[place[k] * n_rest..][..n_rest];
            for (j, value) in row.iter_mut().enumerate() {
                *value = known[j].map_or_else(|| own[place[j]], |column| column[wanted[k]]);
            }
        }
    });
    Ok(GramMatrix::held(values, m, m))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to a block: from nothing, in place, with more and with less room, shrunk.
    #[test]
    fn a_block_has_the_same_bits_whichever_way_it_comes() {
        let (n, d) = (300, 5);
        let values: Vec<f64> = (0..n * d).map(|k| ((k * k) % 97) as f64 / 40.0).collect();
        let threads = Threads::new(2);
        for kernel in
            [Kernel::Rbf { gamma: 0.2 }, Kernel::Polynomial { gamma: 0.1, coef0: 1.0, degree: 3 }]
        {
            let all = Points::new(&values, n, d, &kernel).expect("finite");
            let mut block = LastBlock::default();
            let mut memory = Vec::new();
            let mut wanted: Vec<usize> = (0..100).collect();
            let steps: [(usize, usize, usize); 7] = [
                (0, 0, usize::MAX),
                (20, 0, usize::MAX),
                (10, 9, usize::MAX),
                (0, 30, usize::MAX),
                (5, 3, 0),
                (3, 0, usize::MAX),
                (30, 110, 100),
            ];
            for (step, (replaced, added, spare)) in steps.into_iter().enumerate() {
                for k in 0..replaced {
                    let place = (3 * k + step) % wanted.len();
                    wanted[place] = (wanted[place] + 150) % n;
                }
                wanted.extend((0..added).map(|k| (37 * k + step) % n));
                if step == 5 {
                    wanted.truncate(90);
                }
                let gram = block
                    .follow(&all, &kernel, &wanted, memory, spare, &threads)
                    .expect("no overflow");
                let fresh = GramMatrix::compute(&all.subset(&wanted), &kernel, &threads, || true)
                    .expect("no overflow")
                    .expect("not stopped");
                for i in 0..wanted.len() {
                    assert_eq!(gram.row(i), fresh.row(i), "{kernel:?}, step {step}, row {i}");
                }
                assert_eq!(gram.diagonal(), fresh.diagonal());
                memory = gram.into_values();
            }
        }
    }
}
