//! A pass over columns of one precision: those that are kept are read, the others computed, some of them kept from now on.

use std::time::Instant;

use super::cache::ColumnCache;
use super::columns::{PackedColumns, Rows, STRIP};
use super::tiles::{self, SPAN};
use crate::error::Result;
use crate::linalg::real::Real;
use crate::linalg::vector::add_rows;
use crate::threads::Threads;

/// Columns that are computed together; also the unit between two looks at the clock.
const BATCH: usize = 64;

/// Columns computed, and columns used again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) computed: usize,
    pub(super) reused: usize,
}

/// Columns, and the seconds that they took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Time {
    pub(super) columns: usize,
    pub(super) seconds: f64,
}

impl Time {
    pub(super) fn per_column(self) -> Option<f64> {
        (self.columns > 0).then(|| self.seconds / self.columns as f64)
    }
}

/// What a pass is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    /// The columns that moved: most of them will move again.
    Moved,
    /// The columns that moved, near the end: only those that did so before. A fresh page costs more than an entry computed twice.
    MovedAgain,
    /// All columns: they must not push out what the next round needs.
    All,
}

/// Computes columns of one precision, and keeps the books.
struct Computing<'p, R, const LANES: usize> {
    columns: &'p PackedColumns<R, LANES>,
    threads: &'p Threads,
    tally: &'p mut Tally,
    time: &'p mut Time,
}

impl<R: Real, const LANES: usize> Computing<'_, R, LANES> {
    /// The columns of `wanted`, piece by piece, to `add`; with `places` they also stay there.
    fn run<P: Send>(
        &mut self,
        wanted: &[usize],
        places: Vec<&mut [R]>,
        parts: &mut [P],
        add: impl Fn(&mut P, usize, usize, &[&[R]]) + Sync,
    ) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let clock = Instant::now();
        let (mut values, mut norms) = (Vec::new(), Vec::new());
        self.columns.gather(wanted, &mut values, &mut norms);
        let x = Rows { values: &values, norms: &norms };
        tiles::compute(self.columns, x, wanted.len(), places, parts, self.threads, add)?;
        self.tally.computed += wanted.len();
        self.time.columns += wanted.len();
        self.time.seconds += clock.elapsed().as_secs_f64();
        Ok(())
    }

    /// The columns of `wanted` to `places`, and nothing else.
    fn store(&mut self, wanted: &[usize], places: Vec<&mut [R]>) -> Result<()> {
        let mut parts = vec![(); self.columns.len().div_ceil(SPAN)];
        self.run(wanted, places, &mut parts, |(), _, _, _| {})
    }
}

/// One precision of the columns, and what is kept of them.
pub(super) struct Pass<'p, R, const LANES: usize> {
    computing: Computing<'p, R, LANES>,
    cache: &'p mut ColumnCache,
}

impl<'p, R: Real, const LANES: usize> Pass<'p, R, LANES> {
    /// Prepares a pass. What the cache keeps in another precision is forgotten.
    pub(super) fn new(
        columns: &'p PackedColumns<R, LANES>,
        cache: &'p mut ColumnCache,
        threads: &'p Threads,
        tally: &'p mut Tally,
        time: &'p mut Time,
    ) -> Self {
        cache.set_entries::<R>();
        Self { computing: Computing { columns, threads, tally, time }, cache }
    }

    /// Computes columns into slots of the cache.
    pub(super) fn fill_slots(&mut self, wanted: &[usize], slots: &[usize]) -> Result<()> {
        self.computing.store(wanted, self.cache.buffers(slots))?;
        self.cache.occupy(slots, wanted);
        Ok(())
    }

    /// Computes columns to places outside the cache.
    pub(super) fn fill_places(&mut self, wanted: &[usize], places: Vec<&mut [R]>) -> Result<()> {
        self.computing.store(wanted, places)
    }

    /// Lets the columns of `points` run by, those that will be asked for again first. `add(part, at, order, values)` receives pieces of
    /// them as in [`tiles::compute`], `order` being their places in `points`; neither order nor grouping depend on what is kept.
    pub(super) fn run<P: Send>(
        mut self,
        points: &[usize],
        keep: Keep,
        parts: &mut [P],
        proceed: &mut dyn FnMut() -> bool,
        add: impl Fn(&mut P, usize, &[usize], &[&[R]]) + Sync,
    ) -> Result<bool> {
        self.cache.begin_pass(points);
        if !self.compute_worth(points, keep, proceed)? {
            return Ok(false);
        }
        let (hot, cold): (Vec<usize>, Vec<usize>) =
            (0..points.len()).partition(|&k| self.cache.is_hot(points[k]));
        let mut scratch = Vec::new();
        for batch in hot.chunks(BATCH).chain(cold.chunks(BATCH)) {
            let wanted: Vec<usize> = batch.iter().map(|&k| points[k]).collect();
            let add = |part: &mut P, at, row: usize, values: &[&[R]]| {
                add(part, at, &batch[row..row + values.len()], values);
            };
            self.run_batch(&wanted, &mut scratch, parts, add)?;
            if !proceed() {
                return Ok(false);
            }
        }
        if !matches!(keep, Keep::All) {
            self.cache.note_moved(points);
        }
        Ok(true)
    }

    /// Computes the columns that are to be kept, together: a few at a time would each read all points from memory.
    fn compute_worth(
        &mut self,
        points: &[usize],
        keep: Keep,
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let is_worth = |&p: &usize| !self.cache.contains(p) && self.is_worth_keeping(keep, p);
        let worth: Vec<usize> = points.iter().copied().filter(is_worth).collect();
        let slots = self.cache.make_room(worth.len());
        for (batch, slots) in worth.chunks(BATCH).zip(slots.chunks(BATCH)) {
            self.fill_slots(&batch[..slots.len()], slots)?;
            if !proceed() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run_batch<P: Send>(
        &mut self,
        wanted: &[usize],
        scratch: &mut Vec<R>,
        parts: &mut [P],
        add: impl Fn(&mut P, usize, usize, &[&[R]]) + Sync,
    ) -> Result<()> {
        let missing: Vec<usize> =
            wanted.iter().copied().filter(|&p| !self.cache.contains(p)).collect();
        if 2 * missing.len() > wanted.len() {
            // All are computed, and summed while they are in the processor's cache.
            return self.computing.run(wanted, Vec::new(), parts, add);
        }
        self.computing.tally.reused += wanted.len() - missing.len();
        let n = self.computing.columns.len();
        scratch.resize(scratch.len().max(missing.len() * n), R::default());
        let places = scratch[..missing.len() * n].chunks_exact_mut(n).collect();
        self.fill_places(&missing, places)?;
        let mut fresh = scratch.chunks_exact(n);
        let rows: Vec<&[R]> = wanted
            .iter()
            .filter_map(|&point| self.cache.get(point).or_else(|| fresh.next()))
            .collect();
        tiles::reuse(&rows, parts, self.computing.threads, add);
        Ok(())
    }

    fn is_worth_keeping(&self, keep: Keep, point: usize) -> bool {
        match keep {
            Keep::Moved => self.cache.is_costly() || self.cache.is_hot(point),
            Keep::MovedAgain => {
                self.cache.is_costly() || (self.cache.is_hot(point) && self.cache.has_moved(point))
            }
            Keep::All => self.cache.is_costly() && self.cache.is_hot(point),
        }
    }

    /// out += sum of `weights[k]` times the column of `points[k]`.
    pub(super) fn add(
        self,
        points: &[usize],
        weights: &[f64],
        out: &mut [f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let mut parts: Vec<&mut [f64]> = out.chunks_mut(SPAN).collect();
        self.run(points, Keep::Moved, &mut parts, proceed, |part, at, order, values| {
            let weights = gather(order, weights);
            let end = at + values.first().map_or(0, |value| value.len());
            add_rows(&weights[..order.len()], values, &mut part[at..end]);
        })
    }
}

/// The entries of a strip's rows.
pub(super) fn gather<T: Copy + Default>(order: &[usize], all: &[T]) -> [T; STRIP] {
    let mut some = [T::default(); STRIP];
    some.iter_mut().zip(order).for_each(|(value, &k)| *value = all[k]);
    some
}
