//! The free set: the variables whose block of the matrix is factored, tied to the factor in one order.
//!
//! The factor is that of K + rho 1_G 1_G' (per group G). The shift changes nothing on directions that keep the sums of the groups,
//! and makes the block positive definite exactly when K is so on them.

use std::collections::HashMap;

use crate::cholesky::{PackedCholesky, Pending, Pivot};
use crate::kernel::GramMatrix;
use crate::linalg::vector::dot;
use crate::problem::{DualProblem, MAX_GROUPS};
use crate::threads::Threads;

/// Rows below which solving a block on several threads costs more than it brings.
const PARALLEL_ROWS: usize = 400;

/// Factor by which a shift that is too small grows, and how often.
const STRONGER: f64 = 32.0;
const MOST_STRENGTHENED: usize = 3;

/// A factor on its way from one sub-problem to the next, with its variables by their names outside.
#[derive(Debug)]
pub(super) struct KeptFactor {
    variables: Vec<usize>,
    factor: PackedCholesky,
    shift: f64,
    strengthened: usize,
}

/// Variables and factor, in the order in which they were appended.
#[derive(Debug)]
pub(super) struct FreeSet<'a> {
    gram: &'a GramMatrix<'a>,
    problem: &'a DualProblem,
    threads: &'a Threads,
    shift: f64,
    strengthened: usize,
    members: Vec<usize>,
    factor: PackedCholesky,
}

impl<'a> FreeSet<'a> {
    pub(super) fn new(
        gram: &'a GramMatrix<'a>,
        problem: &'a DualProblem,
        threads: &'a Threads,
    ) -> Self {
        let mean = gram.diagonal().iter().map(|d| d.abs()).sum::<f64>() / gram.len() as f64;
        let shift = match problem.n_groups() {
            0 => 0.0,
            _ if mean > 0.0 => mean,
            _ => 1.0,
        };
        Self {
            gram,
            problem,
            threads,
            shift,
            strengthened: 0,
            members: Vec::new(),
            factor: PackedCholesky::new(),
        }
    }

    /// Takes over a factor. `set` lists the variables of this sub-problem and holds all of the factor's.
    pub(super) fn adopt(&mut self, kept: KeptFactor, set: &[usize]) {
        let places: HashMap<usize, usize> = set.iter().enumerate().map(|(k, &v)| (v, k)).collect();
        let place = |v: &usize| places.get(v).copied();
        let members: Option<Vec<usize>> = kept.variables.iter().map(place).collect();
        self.shift = kept.shift;
        self.strengthened = kept.strengthened;
        if let Some(members) = members {
            self.members = members;
            self.factor = kept.factor;
        }
    }

    /// Gives the factor away.
    pub(super) fn keep(&mut self, set: &[usize]) -> KeptFactor {
        let variables = self.members.iter().map(|&i| set[i]).collect();
        self.members.clear();
        KeptFactor {
            variables,
            factor: std::mem::take(&mut self.factor),
            shift: self.shift,
            strengthened: self.strengthened,
        }
    }

    pub(super) fn members(&self) -> &[usize] {
        &self.members
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn factor(&mut self) -> &mut PackedCholesky {
        &mut self.factor
    }

    /// Enlarges the shift, for a matrix that is convex on the equalities though not with this shift; the factor is lost. False
    /// once that was tried often enough.
    pub(super) fn strengthen(&mut self) -> bool {
        self.shift *= STRONGER;
        self.strengthened += 1;
        self.clear();
        self.strengthened <= MOST_STRENGTHENED
    }

    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.factor.clear();
    }

    /// An entry of the shifted matrix.
    #[inline]
    pub(super) fn entry(&self, row: &[f64], i: usize, j: usize) -> f64 {
        if self.problem.group(i) == self.problem.group(j) { row[j] + self.shift } else { row[j] }
    }

    /// Removes the variables at these places of the order (ascending), and their entries of the vectors carried along.
    pub(super) fn delete(
        &mut self,
        places: &[usize],
        rhs: &mut [&mut Vec<f64>],
        pending: Option<&mut Pending>,
    ) {
        self.factor.delete(places, rhs, pending);
        for &place in places.iter().rev() {
            self.members.remove(place);
        }
    }

    /// Forms the block of rows that `variables` would append.
    pub(super) fn prepare(&self, variables: &[usize], pending: &mut Pending) {
        let panels = pending.start(variables.len(), self.len());
        for (panel, part) in panels.iter_mut().zip(variables.chunks(crate::cholesky::panel::LANES))
        {
            for (lane, &i) in part.iter().enumerate() {
                let row = self.gram.row(i);
                for (column, &j) in panel.iter_mut().zip(&self.members) {
                    column[lane] = self.entry(row, i, j);
                }
            }
        }
        let (panels, width) = pending.panels_mut();
        self.threads.for_each_chunk(panels, 1, width > PARALLEL_ROWS, |_, panel| {
            self.factor.forward_panel_in_place(&mut panel[0][..width]);
        });
        pending.form_schur(|a, b| {
            let (i, j) = (variables[a], variables[b]);
            self.entry(self.gram.row(i), i, j)
        });
    }

    /// Appends row `at` of the block, which is variable i.
    pub(super) fn append(
        &mut self,
        pending: &mut Pending,
        at: usize,
        i: usize,
        rank_tol: f64,
    ) -> Pivot {
        let pivot = self.factor.append_pending(pending, at, rank_tol);
        if pivot == Pivot::Appended {
            self.members.push(i);
        }
        pivot
    }

    /// B = L^-1 A', a column a group, into the first columns of `b`.
    pub(super) fn solve_indicators(&self, b: &mut [Vec<f64>]) {
        for (g, column) in b.iter_mut().enumerate() {
            column.clear();
            column.extend(self.members.iter().map(|&i| indicator(self.problem.group(i) == g)));
            self.factor.forward_in_place(column);
        }
    }

    /// Takes the mean of each group's entries out of a step, so that it keeps the sums to the last bit it can. False if a
    /// group has a sum and no member to take it.
    pub(super) fn balance(&self, step: &mut [f64], extra: Option<(usize, f64)>) -> bool {
        let mut possible = true;
        for g in 0..self.problem.n_groups() {
            let member = |i: usize| self.problem.group(i) == g;
            let (mut sum, mut count) = (0.0, 0_usize);
            for (&i, s) in self.members.iter().zip(step.iter()) {
                if member(i) {
                    sum += s;
                    count += 1;
                }
            }
            sum += extra.filter(|(i, _)| member(*i)).map_or(0.0, |(_, s)| s);
            let mean = if count > 0 { sum / count as f64 } else { 0.0 };
            for (&i, s) in self.members.iter().zip(step.iter_mut()) {
                if member(i) {
                    *s -= mean;
                }
            }
            possible &= count > 0 || sum == 0.0;
        }
        possible
    }
}

/// 1 or 0.
pub(super) fn indicator(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// Solves (B'B) mu = r for the columns of B; a group without a member gets 0.
pub(super) fn solve_multipliers(b: &[Vec<f64>], r: impl Fn(usize) -> f64) -> [f64; MAX_GROUPS] {
    let quotient = |r: f64, square: f64| if square > 0.0 { r / square } else { 0.0 };
    match b {
        [] => [0.0; MAX_GROUPS],
        [b] => [quotient(r(0), dot(b, b)), 0.0],
        [b0, b1, ..] => {
            let (aa, ab, bb) = (dot(b0, b0), dot(b0, b1), dot(b1, b1));
            if aa == 0.0 || bb == 0.0 {
                return [quotient(r(0), aa), quotient(r(1), bb)];
            }
            let determinant = aa * bb - ab * ab;
            [(bb * r(0) - ab * r(1)) / determinant, (aa * r(1) - ab * r(0)) / determinant]
        }
    }
}
