//! Kernel matrices that are not held in full.

use std::collections::HashSet;
use std::time::Instant;

use super::cache::{ColumnCache, GROUP};
use super::columns::Columns;
use super::function::Kernel;
use super::gram::{GramMatrix, check_entries};
use super::loose::Loose;
use super::points::Points;
use super::sums::ColumnSums;
use crate::error::Result;
use crate::linalg::vector::add_rows;
use crate::threads::Threads;

/// Columns that are computed and used together; also the unit between two looks at the clock.
const BATCH: usize = 64;
/// Entries below which starting threads costs more than it brings.
const PARALLEL_ENTRIES: usize = 20_000;
/// Features from which copying an entry out of a kept column is cheaper than computing it.
const COPY_FEATURES: usize = 32;
/// Entries of a vector that one task sums.
const SEGMENT: usize = 2048;

/// What a solver needs of a matrix that it does not hold: the diagonal, blocks, and products with columns. `proceed` is asked
/// between batches of columns; a `false` stops the work and is passed on.
pub trait ColumnSource {
    /// Number of points.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The diagonal.
    fn diagonal(&self) -> &[f64];
    /// The block of some points, held. `buffer` is memory to use again.
    ///
    /// # Errors
    /// If an entry overflows.
    fn block(&mut self, points: &[usize], buffer: Vec<f64>) -> Result<GramMatrix<'static>>;
    /// out += sum of `weights[k]` times the column of `points[k]`.
    ///
    /// # Errors
    /// If an entry overflows.
    fn add_columns(
        &mut self,
        points: &[usize],
        weights: &[f64],
        out: &mut [f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool>;
    /// The same sum from zero, with its rounding errors and magnitudes; `None` if stopped.
    ///
    /// # Errors
    /// If an entry overflows.
    fn column_sums(
        &mut self,
        points: &[usize],
        weights: &[f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<Option<ColumnSums>>;
    /// Columns computed, and columns used again.
    fn counts(&self) -> (usize, usize);
    /// Bytes that columns may be kept in.
    fn set_budget(&mut self, _bytes: usize) {}
    /// Says which points' columns will be asked for again and again.
    fn set_hot(&mut self, _points: &[usize]) {}
    /// Seconds that the sums over `n_columns` columns will take, by what was measured so far.
    fn seconds_for(&self, _n_columns: usize) -> f64 {
        0.0
    }
}

/// A source that also gives single columns, as steps of one pair ask for them.
pub trait SingleColumns: ColumnSource {
    /// Makes the columns of `wanted` (two at most) available to [`SingleColumns::column`] until the next call. Where one has to be
    /// computed, some of the points that `likely` names may come along: several columns at once cost little more than one.
    ///
    /// # Errors
    /// If an entry overflows.
    fn fetch(&mut self, wanted: &[usize], likely: &mut dyn FnMut() -> Vec<usize>) -> Result<()>;
    /// A column that was fetched.
    ///
    /// # Panics
    /// If it was not.
    fn column(&self, point: usize) -> &[f64];
}

/// Columns of a kernel on points, computed when they are needed and kept while the budget lasts.
#[derive(Debug)]
pub struct KernelColumns<'a> {
    kernel: Kernel,
    points: &'a Points<'a>,
    columns: Columns<'a>,
    cache: ColumnCache,
    hot: Option<HashSet<usize>>,
    scratch: Vec<f64>,
    loose: Loose,
    diagonal: Vec<f64>,
    threads: &'a Threads,
    n_computed: usize,
    n_reused: usize,
    seconds: f64,
}

impl<'a> KernelColumns<'a> {
    /// Prepares the points; `budget` bytes of columns are kept.
    ///
    /// # Errors
    /// If a diagonal entry overflows.
    pub fn new(
        points: &'a Points<'a>,
        kernel: &Kernel,
        threads: &'a Threads,
        budget: usize,
    ) -> Result<Self> {
        let columns = Columns::new(points, kernel);
        let diagonal: Vec<f64> = if kernel.depends_on_distance() {
            vec![1.0; points.len()]
        } else {
            columns.squared_norms().into_iter().map(|square| kernel.of_product(square)).collect()
        };
        check_entries(&diagonal, kernel.name())?;
        Ok(Self {
            kernel: *kernel,
            points,
            columns,
            cache: ColumnCache::new(points.len(), budget),
            hot: None,
            scratch: Vec::new(),
            loose: Loose::default(),
            diagonal,
            threads,
            n_computed: 0,
            n_reused: 0,
            seconds: 0.0,
        })
    }

    /// Calls `f` with the position and the columns of one batch after another, in order. What is computed here is not kept: a pass
    /// over everything must not push out what the next round needs.
    fn visit(
        &mut self,
        points: &[usize],
        proceed: &mut dyn FnMut() -> bool,
        mut f: impl FnMut(usize, &[&[f64]]),
    ) -> Result<bool> {
        let n = self.points.len();
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut go_on = true;
        for (k, batch) in points.chunks(BATCH).enumerate() {
            let missing: Vec<usize> =
                batch.iter().copied().filter(|&p| !self.cache.contains(p)).collect();
            scratch.resize(scratch.len().max(missing.len() * n), 0.0);
            if !missing.is_empty() {
                let clock = Instant::now();
                let rows = scratch[..missing.len() * n].chunks_exact_mut(n).collect();
                compute(
                    &self.columns,
                    &self.points.subset(&missing),
                    &self.kernel,
                    self.threads,
                    rows,
                )?;
                self.count(missing.len(), clock);
            }
            self.n_reused += batch.len() - missing.len();
            let mut fresh = scratch.chunks_exact(n.max(1));
            let column =
                |&p: &usize| self.cache.get(p).or_else(|| fresh.next()).unwrap_or_default();
            let rows: Vec<&[f64]> = batch.iter().map(column).collect();
            f(k * BATCH, &rows);
            if !proceed() {
                go_on = false;
                break;
            }
        }
        self.scratch = scratch;
        Ok(go_on)
    }

    /// Computes into the cache what is not there yet, as far as the budget goes.
    fn compute_missing(
        &mut self,
        points: &[usize],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        self.cache.begin_pass(points);
        let missing: Vec<usize> =
            points.iter().copied().filter(|&p| !self.cache.contains(p)).collect();
        let groups = self.cache.make_room(missing.len().div_ceil(GROUP));
        let parts: Vec<&[usize]> = missing.chunks(GROUP).take(groups.len()).collect();
        let n = self.points.len();
        // A few groups at a time, with a look at the clock in between.
        for (groups, parts) in groups.chunks(BATCH / GROUP).zip(parts.chunks(BATCH / GROUP)) {
            let clock = Instant::now();
            let Self { cache, columns, points, kernel, threads, .. } = self;
            let mut rows: Vec<(usize, &mut [f64])> = Vec::new();
            for (k, buffer) in cache.buffers(groups) {
                let first = k * GROUP;
                rows.extend(
                    buffer
                        .chunks_exact_mut(n)
                        .take(parts[k].len())
                        .enumerate()
                        .map(|(r, row)| (first + r, row)),
                );
            }
            rows.sort_by_key(|(place, _)| *place);
            let rows = rows.into_iter().map(|(_, row)| row).collect();
            compute(columns, &points.subset(&parts.concat()), kernel, threads, rows)?;
            for (&group, part) in groups.iter().zip(parts) {
                self.cache.occupy(group, part);
            }
            self.count(parts.iter().map(|p| p.len()).sum(), clock);
            if !proceed() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Computes columns into a group of the cache; where there is no room, those of `wanted` alone into the loose places.
    fn compute_few(&mut self, missing: &[usize], wanted: &[usize]) -> Result<()> {
        let n = self.points.len();
        let clock = Instant::now();
        let group = self.cache.make_room(1).first().copied();
        let Self { cache, columns, points, kernel, threads, loose, .. } = self;
        let (computed, rows): (Vec<usize>, Vec<&mut [f64]>) = if let Some(group) = group {
            let buffers = cache.buffers(&[group]).into_iter();
            let rows = buffers.flat_map(|(_, buffer)| buffer.chunks_exact_mut(n));
            (missing.to_vec(), rows.take(missing.len()).collect())
        } else {
            let needed = missing.iter().copied().filter(|p| wanted.contains(p)).collect::<Vec<_>>();
            let rows = loose.places(&needed, wanted, n);
            (needed, rows)
        };
        if let Err(error) = compute(columns, &points.subset(&computed), kernel, threads, rows) {
            self.loose.clear();
            return Err(error);
        }
        if let Some(group) = group {
            self.cache.occupy(group, &computed);
        }
        self.count(computed.len(), clock);
        Ok(())
    }

    fn count(&mut self, n_columns: usize, since: Instant) {
        self.n_computed += n_columns;
        self.seconds += since.elapsed().as_secs_f64();
    }
}

/// Kernel values of the points x with all columns; `rows[i]` receives those of point i. Tiles of columns are the tasks: while a tile is
/// in the cache all rows run through it.
fn compute(
    columns: &Columns<'_>,
    x: &Points<'_>,
    kernel: &Kernel,
    threads: &Threads,
    rows: Vec<&mut [f64]>,
) -> Result<()> {
    let tile = columns.tile();
    let n_rows = rows.len();
    let mut tasks: Vec<Vec<&mut [f64]>> =
        (0..columns.len().div_ceil(tile)).map(|_| Vec::with_capacity(n_rows)).collect();
    for row in rows {
        for (task, part) in tasks.iter_mut().zip(row.chunks_mut(tile)) {
            task.push(part);
        }
    }
    let parallel = n_rows * columns.len() > PARALLEL_ENTRIES;
    threads.for_each_chunk(&mut tasks, 1, parallel, |t, task| {
        columns.fill_tile(x, t * tile, &mut task[0]);
    });
    if kernel.depends_on_distance() {
        return Ok(());
    }
    tasks.iter().flatten().try_for_each(|part| check_entries(part, kernel.name()))
}

impl ColumnSource for KernelColumns<'_> {
    fn len(&self) -> usize {
        self.points.len()
    }

    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    fn block(&mut self, points: &[usize], buffer: Vec<f64>) -> Result<GramMatrix<'static>> {
        if self.points.n_features() < COPY_FEATURES {
            let subset = self.points.subset(points);
            return GramMatrix::compute_into(buffer, &subset, &self.kernel, self.threads);
        }
        let rest: Vec<usize> =
            (0..points.len()).filter(|&k| !self.cache.contains(points[k])).collect();
        let subset = self.points.subset(&rest.iter().map(|&k| points[k]).collect::<Vec<_>>());
        let computed = GramMatrix::compute_into(Vec::new(), &subset, &self.kernel, self.threads)?;
        let column = |k: usize| self.cache.get(points[k]);
        Ok(GramMatrix::assemble(buffer, points, column, &rest, &computed, self.threads))
    }

    fn add_columns(
        &mut self,
        points: &[usize],
        weights: &[f64],
        out: &mut [f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let threads = self.threads;
        let worth: Vec<usize> = match &self.hot {
            // Where an entry costs little, memory that is read once costs more than computing the column a second time.
            Some(hot) if self.points.n_features() < COPY_FEATURES => {
                points.iter().copied().filter(|p| hot.contains(p)).collect()
            }
            _ => points.to_vec(),
        };
        if !self.compute_missing(&worth, proceed)? {
            return Ok(false);
        }
        self.visit(points, proceed, |at, rows| {
            let weights = &weights[at..at + rows.len()];
            let parallel = rows.len() * out.len() > 100_000;
            threads.for_each_chunk(out, SEGMENT, parallel, |k, out| {
                let start = k * SEGMENT;
                let mut parts: [&[f64]; BATCH] = [&[]; BATCH];
                for (part, row) in parts.iter_mut().zip(rows) {
                    *part = &row[start..start + out.len()];
                }
                add_rows(weights, &parts[..rows.len()], out);
            });
        })
    }

    fn column_sums(
        &mut self,
        points: &[usize],
        weights: &[f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<Option<ColumnSums>> {
        let (threads, n) = (self.threads, self.points.len());
        let mut sums = ColumnSums::zeros(n);
        let done = self.visit(points, proceed, |at, rows| {
            sums.add(rows, &weights[at..at + rows.len()], threads);
        })?;
        Ok(done.then_some(sums))
    }

    fn counts(&self) -> (usize, usize) {
        (self.n_computed, self.n_reused)
    }

    fn set_budget(&mut self, bytes: usize) {
        self.cache.set_budget(bytes);
    }

    fn set_hot(&mut self, points: &[usize]) {
        self.hot = Some(points.iter().copied().collect());
    }

    fn seconds_for(&self, n_columns: usize) -> f64 {
        if self.n_computed == 0 {
            0.0
        } else {
            self.seconds / self.n_computed as f64 * n_columns as f64
        }
    }
}

impl SingleColumns for KernelColumns<'_> {
    fn fetch(&mut self, wanted: &[usize], likely: &mut dyn FnMut() -> Vec<usize>) -> Result<()> {
        self.cache.begin_pass(wanted);
        let is_here = |p: usize| self.cache.contains(p) || self.loose.get(p).is_some();
        let mut missing: Vec<usize> = Vec::new();
        for &point in wanted {
            if !is_here(point) && !missing.contains(&point) {
                missing.push(point);
            }
        }
        if missing.is_empty() {
            self.n_reused += wanted.len();
            return Ok(());
        }
        self.n_reused += wanted.len() - missing.len();
        for point in likely() {
            if missing.len() < GROUP && !is_here(point) && !missing.contains(&point) {
                missing.push(point);
            }
        }
        self.compute_few(&missing, wanted)
    }

    fn column(&self, point: usize) -> &[f64] {
        self.cache.get(point).or_else(|| self.loose.get(point)).expect("the column was fetched")
    }
}
