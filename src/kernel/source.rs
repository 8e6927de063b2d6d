//! Kernel matrices that are not held in full.

use super::gram::GramMatrix;
use super::sums::{ColumnSums, Weight};
use crate::error::Result;

/// How entries are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// To single precision.
    Coarse,
    /// To double precision.
    Exact,
}

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
    /// The block of some points, in their order, held. `buffer` is the memory of the last block, unchanged, or empty: what keeps its place
    /// need not be computed again.
    ///
    /// # Errors
    /// If an entry overflows.
    fn block(&mut self, points: &[usize], buffer: Vec<f64>) -> Result<GramMatrix<'static>>;
    /// out += sum of `weights[k]` times the column of `points[k]`. A source without coarse entries takes exact ones.
    ///
    /// # Errors
    /// If an entry overflows.
    fn add_columns(
        &mut self,
        points: &[usize],
        weights: &[f64],
        precision: Precision,
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
    /// Turns sums that [`ColumnSource::column_sums`] made into those of a changed point, as good as new. False: nothing was done that
    /// would be of use, `sums` least of all.
    ///
    /// # Errors
    /// If an entry overflows.
    fn update_sums(
        &mut self,
        _points: &[usize],
        _changes: &[Weight],
        _sums: &mut ColumnSums,
        _proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        Ok(false)
    }
    /// Root mean square of the rounding errors of an entry with [`Precision::Coarse`], which saves work then; `None` if the source has no
    /// such entries.
    fn coarse_error(&mut self) -> Option<f64> {
        None
    }
    /// Columns computed, and columns used again.
    fn counts(&self) -> (usize, usize);
    /// Bytes that columns may be kept in.
    fn set_budget(&mut self, _bytes: usize) {}
    /// Says which points' columns will be asked for again and again; until it is said, all may.
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
