//! A held matrix where columns are asked for.

use super::gram::GramMatrix;
use super::source::{ColumnSource, Precision, SingleColumns};
use super::sums::ColumnSums;
use crate::error::Result;
use crate::threads::Threads;

/// A matrix that is held after all.
#[derive(Debug)]
pub struct HeldColumns<'a> {
    gram: &'a GramMatrix<'a>,
    threads: &'a Threads,
    n_reused: usize,
}

impl<'a> HeldColumns<'a> {
    /// Serves columns of `gram`.
    pub fn new(gram: &'a GramMatrix<'a>, threads: &'a Threads) -> Self {
        Self { gram, threads, n_reused: 0 }
    }
}

impl ColumnSource for HeldColumns<'_> {
    fn len(&self) -> usize {
        self.gram.len()
    }

    fn diagonal(&self) -> &[f64] {
        self.gram.diagonal()
    }

    fn block(&mut self, points: &[usize], _buffer: Vec<f64>) -> Result<GramMatrix<'static>> {
        Ok(self.gram.block(points))
    }

    fn add_columns(
        &mut self,
        points: &[usize],
        weights: &[f64],
        _precision: Precision,
        out: &mut [f64],
        _proceed: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        self.n_reused += points.len();
        self.gram.add_columns(points, weights, out, self.threads);
        Ok(true)
    }

    fn column_sums(
        &mut self,
        points: &[usize],
        weights: &[f64],
        _proceed: &mut dyn FnMut() -> bool,
    ) -> Result<Option<ColumnSums>> {
        self.n_reused += points.len();
        Ok(Some(self.gram.column_sums(points, weights, self.threads)))
    }

    fn counts(&self) -> (usize, usize) {
        (0, self.n_reused)
    }
}

impl SingleColumns for HeldColumns<'_> {
    fn fetch(&mut self, wanted: &[usize], _likely: &mut dyn FnMut() -> Vec<usize>) -> Result<()> {
        self.n_reused += wanted.len();
        Ok(())
    }

    fn column(&self, point: usize) -> &[f64] {
        self.gram.row(point)
    }
}
