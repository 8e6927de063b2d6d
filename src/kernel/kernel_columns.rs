//! Columns of a kernel on points, computed when they are needed and kept while the budget lasts.

use super::block::{LastBlock, assemble};
use super::cache::ColumnCache;
use super::columns::{CoarseColumns, Columns, Rows};
use super::function::Kernel;
use super::gram::{GramMatrix, check_entries};
use super::loose::Loose;
use super::pass::{Keep, Pass, Tally, Time, gather};
use super::points::Points;
use super::source::{ColumnSource, Precision, SingleColumns};
use super::sums::{Band, ColumnSums, Weight};
use crate::error::Result;
use crate::threads::Threads;

/// Columns that come along with one that a step asks for.
const COMPANY: usize = 8;
/// Features from which any column is kept that fits. Below, an entry costs less than memory that is read once, and only columns that will
/// be asked for again and again are kept.
const COSTLY_FEATURES: usize = 128;
/// Work of an exact column over that of a coarse one, until it is measured.
const EXACT_OVER_COARSE: f64 = 3.0;
/// Points whose kernel values with some others show how well single precision does.
const SAMPLE: usize = 16;
const SAMPLE_COLUMNS: usize = 256;

/// The columns, and what is known of them.
#[derive(Debug)]
pub struct KernelColumns<'a> {
    kernel: Kernel,
    points: &'a Points<'a>,
    exact: Columns,
    coarse: Option<CoarseColumns>,
    cache: ColumnCache,
    loose: Loose,
    last_block: LastBlock,
    /// Bytes for columns and for room in the block.
    budget: usize,
    diagonal: Vec<f64>,
    threads: &'a Threads,
    tally: Tally,
    exact_time: Time,
    coarse_time: Time,
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
        let exact = Columns::new(points, kernel);
        let diagonal: Vec<f64> = if kernel.depends_on_distance() {
            vec![1.0; points.len()]
        } else {
            exact.squared_norms().into_iter().map(|square| kernel.of_product(square)).collect()
        };
        check_entries(&diagonal, kernel.name())?;
        Ok(Self {
            kernel: *kernel,
            points,
            exact,
            coarse: None,
            cache: ColumnCache::new(points.len(), budget, points.n_features() >= COSTLY_FEATURES),
            loose: Loose::default(),
            last_block: LastBlock::default(),
            budget,
            diagonal,
            threads,
            tally: Tally::default(),
            exact_time: Time::default(),
            coarse_time: Time::default(),
        })
    }

    /// The exact columns with all that a pass over them touches.
    fn exact_pass(&mut self) -> Pass<'_, f64, 8> {
        let Self { exact, cache, threads, tally, exact_time, .. } = self;
        Pass::new(exact, cache, threads, tally, exact_time)
    }

    /// Computes columns that are not here, those of `wanted` first, into the cache as far as they fit; where not even what is wanted
    /// does, that alone into the loose places.
    fn compute_few(&mut self, missing: &[usize], wanted: &[usize]) -> Result<()> {
        let needed = missing.iter().filter(|p| wanted.contains(p)).count();
        let slots = self.cache.make_room(missing.len());
        if slots.len() >= needed {
            return self.exact_pass().fill_slots(&missing[..slots.len()], &slots);
        }
        // A failure leaves the loose places empty.
        let mut loose = std::mem::take(&mut self.loose);
        let places = loose.places(&missing[..needed], wanted, self.points.len());
        self.exact_pass().fill_places(&missing[..needed], places)?;
        self.loose = loose;
        Ok(())
    }
}

/// Adds pieces of columns to sums that carry their errors.
fn add_to_band(weights: &[Weight]) -> impl Fn(&mut Band, usize, &[usize], &[&[f64]]) + Sync {
    |band, at, order, values| band.add(at, &gather(order, weights)[..order.len()], values)
}

impl ColumnSource for KernelColumns<'_> {
    fn len(&self) -> usize {
        self.points.len()
    }

    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    fn block(&mut self, points: &[usize], buffer: Vec<f64>) -> Result<GramMatrix<'static>> {
        if self.cache.is_costly() && self.coarse.is_none() {
            let column = |k: usize| self.cache.get(points[k]);
            return assemble(self.points, &self.kernel, points, column, buffer, self.threads);
        }
        let spare = self.budget / (4 * size_of::<f64>());
        let gram = self.last_block.follow(
            self.points,
            &self.kernel,
            points,
            buffer,
            spare,
            self.threads,
        )?;
        let bytes = size_of::<f64>() * self.last_block.spare(points.len());
        self.cache.set_budget(self.budget.saturating_sub(bytes));
        Ok(gram)
    }

    fn add_columns(
        &mut self,
        points: &[usize],
        weights: &[f64],
        precision: Precision,
        out: &mut [f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let Self { coarse, cache, threads, tally, coarse_time, .. } = self;
        match coarse {
            Some(coarse) if precision == Precision::Coarse => {
                Pass::new(coarse, cache, threads, tally, coarse_time)
                    .add(points, weights, out, proceed)
            }
            _ => self.exact_pass().add(points, weights, out, proceed),
        }
    }

    fn column_sums(
        &mut self,
        points: &[usize],
        weights: &[f64],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<Option<ColumnSums>> {
        let mut sums = ColumnSums::zeros(self.points.len());
        let weights: Vec<Weight> = weights.iter().map(|w| Weight::from(*w)).collect();
        let add = add_to_band(&weights);
        let done = self.exact_pass().run(points, Keep::All, sums.bands(), proceed, add)?;
        Ok(done.then_some(sums))
    }

    fn update_sums(
        &mut self,
        points: &[usize],
        changes: &[Weight],
        sums: &mut ColumnSums,
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        self.exact_pass().run(points, Keep::MovedAgain, sums.bands(), proceed, add_to_band(changes))
    }

    fn coarse_error(&mut self) -> Option<f64> {
        // Values between 0 and 1: no overflow, and an absolute error that means the same everywhere.
        let n = self.points.len();
        let room_for_many = self.cache.is_costly() && self.cache.budget() / (8 * n) >= n / 4;
        if !self.kernel.depends_on_distance() || room_for_many {
            return None;
        }
        let coarse = CoarseColumns::new(self.points, &self.kernel);
        let error = sampled_error(&self.exact, &coarse);
        self.coarse = Some(coarse);
        Some(error)
    }

    fn counts(&self) -> (usize, usize) {
        (self.tally.computed, self.tally.reused)
    }

    fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
        self.cache.set_budget(bytes);
    }

    fn set_hot(&mut self, points: &[usize]) {
        self.cache.set_hot(points);
    }

    fn seconds_for(&self, n_columns: usize) -> f64 {
        let coarse = || self.coarse_time.per_column().map(|s| EXACT_OVER_COARSE * s);
        self.exact_time.per_column().or_else(coarse).unwrap_or(0.0) * n_columns as f64
    }
}

/// Root mean square difference between the coarse and the exact values of some points with some others.
fn sampled_error(exact: &Columns, coarse: &CoarseColumns) -> f64 {
    let n = exact.len();
    let (mut doubles, mut double_norms) = (Vec::new(), Vec::new());
    let (mut singles, mut single_norms) = (Vec::new(), Vec::new());
    let some: Vec<usize> = (0..SAMPLE.min(n)).map(|k| k * n / SAMPLE.min(n)).collect();
    exact.gather(&some, &mut doubles, &mut double_norms);
    coarse.gather(&some, &mut singles, &mut single_norms);
    let x = Rows { values: &doubles, norms: &double_norms };
    let y = Rows { values: &singles, norms: &single_norms };
    let last = SAMPLE_COLUMNS.min(exact.tile()).min(coarse.tile()).min(n);
    let (mut a, mut b) = (vec![0.0; last], vec![0.0; last]);
    let mut squares = 0.0;
    for k in 0..some.len() {
        exact.fill_strip(x, k, 0, last, &mut [&mut a]);
        coarse.fill_strip(y, k, 0, last, &mut [&mut b]);
        squares += a.iter().zip(&b).map(|(a, b)| (a - f64::from(*b)).powi(2)).sum::<f64>();
    }
    (squares / (some.len() * last).max(1) as f64).sqrt()
}

impl SingleColumns for KernelColumns<'_> {
    fn fetch(&mut self, wanted: &[usize], likely: &mut dyn FnMut() -> Vec<usize>) -> Result<()> {
        self.cache.set_entries::<f64>();
        self.cache.begin_pass(wanted);
        let is_here = |p: usize| self.cache.contains(p) || self.loose.get(p).is_some();
        let mut missing: Vec<usize> = Vec::new();
        for &point in wanted {
            if !is_here(point) && !missing.contains(&point) {
                missing.push(point);
            }
        }
        if missing.is_empty() {
            self.tally.reused += wanted.len();
            return Ok(());
        }
        self.tally.reused += wanted.len() - missing.len();
        for point in likely() {
            if missing.len() < COMPANY && !is_here(point) && !missing.contains(&point) {
                missing.push(point);
            }
        }
        self.compute_few(&missing, wanted)
    }

    fn column(&self, point: usize) -> &[f64] {
        self.cache.get(point).or_else(|| self.loose.get(point)).expect("the column was fetched")
    }
}
