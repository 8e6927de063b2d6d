//! Rows running over columns, tile by tile: kernel values are summed, or kept, while they are in the processor's cache.

use super::columns::{PackedColumns, Rows, STRIP, TILE_COLUMNS};
use super::gram::check_entries;
use crate::error::{Error, Result};
use crate::linalg::real::Real;
use crate::threads::Threads;

/// Columns of one task. What a pass adds to is given in parts of that length.
pub(super) const SPAN: usize = TILE_COLUMNS;
/// Sums and products below which starting threads costs more than it brings; an entry is one a feature, and as many as
/// [`ENTRY_WORK`] besides.
const PARALLEL_WORK: usize = 800_000;
const ENTRY_WORK: usize = 30;

/// What a task works on.
struct Task<'t, P, R> {
    part: &'t mut P,
    /// Where the rows' values are to stay; empty if nowhere.
    kept: Vec<&'t mut [R]>,
    error: Option<Error>,
}

/// Computes the kernel values of `n_rows` rows with all columns. `add(part, at, row, values)` receives them piece by piece: those of
/// the rows from `row` on, each for the columns from `at` on within the part. Rows come in order for every column, so that sums have
/// the same bits for any number of threads. With `kept` the values also stay there, row i in `kept[i]`.
///
/// # Errors
/// If an entry overflows.
pub(super) fn compute<R: Real, const LANES: usize, P: Send>(
    columns: &PackedColumns<R, LANES>,
    x: Rows<'_, R>,
    n_rows: usize,
    kept: Vec<&mut [R]>,
    parts: &mut [P],
    threads: &Threads,
    add: impl Fn(&mut P, usize, usize, &[&[R]]) + Sync,
) -> Result<()> {
    let n = columns.len();
    let checked = !columns.kernel().depends_on_distance();
    let mut tasks: Vec<Task<'_, P, R>> = parts
        .iter_mut()
        .map(|part| Task { part, kept: Vec::with_capacity(kept.len()), error: None })
        .collect();
    for row in kept {
        tasks.iter_mut().zip(row.chunks_mut(SPAN)).for_each(|(task, row)| task.kept.push(row));
    }
    let parallel = n_rows * n * (columns.n_features() + ENTRY_WORK) > PARALLEL_WORK;
    threads.for_each_chunk(&mut tasks, 1, parallel, |t, task| {
        let Task { part, kept, error } = &mut task[0];
        let (begin, end) = (t * SPAN, (t * SPAN + SPAN).min(n));
        let mut scratch = [[R::default(); SPAN]; STRIP];
        for first in (begin..end).step_by(columns.tile()) {
            let last = (first + columns.tile()).min(end);
            let within = first - begin..last - begin;
            for row in (0..n_rows).step_by(STRIP) {
                let count = STRIP.min(n_rows - row);
                let mut out: [&mut [R]; STRIP] = std::array::from_fn(|_| Default::default());
                if kept.is_empty() {
                    out.iter_mut()
                        .zip(&mut scratch)
                        .for_each(|(out, row)| *out = &mut row[within.clone()]);
                } else {
                    out.iter_mut()
                        .zip(&mut kept[row..row + count])
                        .for_each(|(out, row)| *out = &mut row[within.clone()]);
                }
                columns.fill_strip(x, row, first, last, &mut out[..count]);
                if checked && error.is_none() {
                    let name = columns.kernel().name();
                    *error = out[..count].iter().find_map(|row| check_entries(row, name).err());
                }
                let values = out.each_ref().map(|row| &**row);
                add(part, within.start, row, &values[..count]);
            }
        }
    });
    tasks.into_iter().find_map(|task| task.error).map_or(Ok(()), Err)
}

/// The same for values that were kept: `rows` are whole columns.
pub(super) fn reuse<R: Real, P: Send>(
    rows: &[&[R]],
    parts: &mut [P],
    threads: &Threads,
    add: impl Fn(&mut P, usize, usize, &[&[R]]) + Sync,
) {
    let entries = rows.first().map_or(0, |row| row.len()) * rows.len();
    let parallel = entries * ENTRY_WORK > PARALLEL_WORK;
    threads.for_each_chunk(parts, 1, parallel, |t, part| {
        for (k, strip) in rows.chunks(STRIP).enumerate() {
            let mut values: [&[R]; STRIP] = [&[]; STRIP];
            for (value, row) in values.iter_mut().zip(strip) {
                *value = &row[t * SPAN..(t * SPAN + SPAN).min(row.len())];
            }
            add(&mut part[0], 0, k * STRIP, &values[..strip.len()]);
        }
    });
}
