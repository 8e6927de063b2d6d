//! CMU on a matrix that is too large to hold: the same method on the free variables plus a block of violators, round after round.
//!
//! A round solves its sub-problem to a third of the violation it was chosen with, starting from the factor that the last round left;
//! then the gradient of all variables follows with the columns of those that moved, coarse ones while the violation is large
//! (coarse.rs). Columns are products of blocks, kept in a
//! cache under a byte budget. A problem may have several variables a point (regression has two): variable v belongs to point
//! v mod the number of points.

mod polish;
mod report;

use polish::Polished;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use report::Census;

use super::coarse::Coarse;
use super::free_set::KeptFactor;
use super::settings::CmuSettings;
use super::standstill::Standstill;
use super::state::State;
use super::verify::{is_clear_of_rounding, target};
use super::{iterate, working_set};
use crate::cholesky::PackedCholesky;
use crate::error::{Error, Result};
use crate::gradient::{self, FloorBound, Fresh, Move};
use crate::info::Info;
use crate::kernel::{ColumnSource, ColumnSums, Precision};
use crate::kkt::{self, Ends};
use crate::observer::Monitor;
use crate::problem::{BoundState, DualProblem};
use crate::solution::Solution;
use crate::status::SolverStatus;
use crate::threads::Threads;

/// A round asks its sub-problem for this share of the violation it was chosen with. Against 0.1 it saves a tenth of the columns and a
/// sixth of their use (letter, magic, made classification; docs/design.md).
const INNER: f64 = 0.3;
/// The smallest block that is worth a round.
const LEAST_BLOCK: usize = 64;
/// Support vectors up to which a matrix that may be indefinite is checked for negative curvature at the end.
const CONVEXITY_ROWS: usize = 2000;

/// Solves the dual problem for a matrix that `source` gives by columns. `budget` bytes may be used for matrix entries and the factor.
///
/// # Errors
/// If a setting is out of range, a kernel value overflows, or the free variables outgrow the budget.
pub fn solve(
    source: &mut dyn ColumnSource,
    problem: &DualProblem,
    settings: &CmuSettings,
    known_convex: bool,
    budget: usize,
    threads: &Threads,
    monitor: &mut Monitor<'_>,
) -> Result<Solution> {
    settings.validate()?;
    let mut rounds = Rounds::new(source, problem, settings, budget, threads);
    let told = rounds.refresh(monitor)?;
    let began = told.is_none();
    let status = match told {
        Some(status) => status,
        None => rounds.run(known_convex, monitor)?,
    };
    Ok(rounds.finish(status, began))
}

struct Rounds<'a> {
    source: &'a mut dyn ColumnSource,
    problem: &'a DualProblem,
    settings: &'a CmuSettings,
    threads: &'a Threads,
    budget: usize,
    beta: Vec<f64>,
    gradient: Vec<f64>,
    /// Of the point that the round began with.
    census: Census,
    /// q, as far as the gradient is known.
    objective: f64,
    /// Rounding error of the gradient, as last computed with it.
    floor: f64,
    /// The products behind the gradient, if it is as good as computed anew.
    sums: Option<ColumnSums>,
    coarse: Coarse,
    /// The best point below the floor so far.
    polished: Option<Polished>,
    floor_bound: FloorBound,
    factor: Option<KeptFactor>,
    rng: Pcg64Mcg,
    /// The working set of the last round, in the order of its block.
    set: Vec<usize>,
    /// Memory of the blocks.
    buffer: Vec<f64>,
    convex: bool,
    info: Info,
}

impl<'a> Rounds<'a> {
    fn new(
        source: &'a mut dyn ColumnSource,
        problem: &'a DualProblem,
        settings: &'a CmuSettings,
        budget: usize,
        threads: &'a Threads,
    ) -> Self {
        let (coarse, n_points) = (Coarse::new(source, problem), source.len());
        let floor_bound = FloorBound::new(source.diagonal(), problem);
        Self {
            source,
            problem,
            settings,
            threads,
            budget,
            beta: problem.start().to_vec(),
            gradient: problem.linear().iter().map(|p| -p).collect(),
            census: Census::of(problem, problem.start(), n_points),
            objective: 0.0,
            floor: 0.0,
            sums: None,
            coarse,
            polished: None,
            floor_bound,
            factor: None,
            rng: Pcg64Mcg::seed_from_u64(settings.seed),
            set: Vec::new(),
            buffer: Vec::new(),
            convex: true,
            info: Info::default(),
        }
    }

    /// The method.
    fn run(&mut self, known_convex: bool, monitor: &mut Monitor<'_>) -> Result<SolverStatus> {
        let mut standstill = Standstill::default();
        loop {
            let mut ends = kkt::ends(self.problem, &self.beta, &self.gradient);
            let mut violation = kkt::violation(self.problem, &ends);
            self.census = Census::of(self.problem, &self.beta, self.source.len());
            self.reserve_time(monitor);
            let floor_bound = self.floor_bound.at(&self.beta);
            if let Some(status) = monitor.poll(|| self.progress(violation)) {
                return Ok(status);
            }
            let goal = target(self.settings.tol, self.floor, true);
            if violation <= goal.max(self.coarse.least_violation())
                || (self.sums.is_some() && violation <= self.floor)
                || self.polished.is_some()
                || standstill.check_due(violation, floor_bound)
            {
                self.coarse.end();
                if self.sums.is_none() {
                    if let Some(status) = self.refresh(monitor)? {
                        return Ok(status);
                    }
                    ends = kkt::ends(self.problem, &self.beta, &self.gradient);
                    violation = kkt::violation(self.problem, &ends);
                }
                standstill.checked(violation);
                if let Some(status) = self.judge(violation, known_convex)? {
                    return Ok(status);
                }
                if standstill.is_final() {
                    return Ok(SolverStatus::Stalled);
                }
            }
            self.choose(&ends)?;
            let status = self.solve_on_set(violation, monitor)?;
            let (objective, noise) = gradient::objective(self.problem, &self.beta, &self.gradient);
            self.objective = objective;
            standstill.note(violation, objective, noise);
            match status {
                SolverStatus::Unbounded
                | SolverStatus::MaxIter
                | SolverStatus::MaxTime
                | SolverStatus::Stopped
                | SolverStatus::Interrupted => return Ok(status),
                SolverStatus::Stationary => self.convex = false,
                _ => {}
            }
        }
    }

    /// What a violation on a fresh gradient amounts to.
    fn judge(&mut self, violation: f64, known_convex: bool) -> Result<Option<SolverStatus>> {
        let status = if violation <= self.settings.tol {
            SolverStatus::Optimal
        } else if violation <= self.floor.min(target(self.settings.tol, self.floor, true)) {
            SolverStatus::OptimalToPrecision
        } else if self.polish(violation) {
            return Ok(None);
        } else {
            SolverStatus::OptimalToPrecision
        };
        let convex = self.convex && (known_convex || self.looks_convex()?);
        Ok(Some(if convex { status } else { SolverStatus::Stationary }))
    }

    /// Chooses the working set, as large as the budget allows.
    fn choose(&mut self, ends: &[Ends]) -> Result<()> {
        let n_free = self.census.free;
        let bytes = |rows: usize| 8 * rows * rows + PackedCholesky::bytes(rows);
        let mut block = self.settings.block;
        while bytes(n_free + block) > self.budget && block > LEAST_BLOCK {
            block /= 2;
        }
        let needed = bytes(n_free + block);
        if needed > self.budget {
            let megabytes = |bytes: usize| bytes as f64 / 1e6;
            return Err(Error::Memory {
                n_free,
                needed_mb: megabytes(needed),
                allowed_mb: megabytes(self.budget),
            });
        }
        self.source.set_budget(self.budget - needed);
        let (beta, gradient) = (&self.beta, &self.gradient);
        let chosen = working_set::select(self.problem, beta, gradient, ends, block, &mut self.rng);
        self.set = working_set::arrange(&self.set, &chosen);
        Ok(())
    }

    /// Solves the sub-problem of the working set and brings the gradient of all variables up to date.
    fn solve_on_set(&mut self, violation: f64, monitor: &mut Monitor<'_>) -> Result<SolverStatus> {
        let set = std::mem::take(&mut self.set);
        let n_points = self.source.len();
        let clock = monitor.elapsed();
        let points: Vec<usize> = set.iter().map(|v| v % n_points).collect();
        let gram = self.source.block(&points, std::mem::take(&mut self.buffer))?;
        self.info.seconds.kernel += monitor.elapsed() - clock;

        let beta: Vec<f64> = set.iter().map(|&v| self.beta[v]).collect();
        let mut gradient: Vec<f64> = set.iter().map(|&v| self.gradient[v]).collect();
        let mut linear: Vec<f64> = gradient.iter().map(|g| -g).collect();
        gram.add_columns(&(0..set.len()).collect::<Vec<_>>(), &beta, &mut linear, self.threads);
        let sub_problem = self.problem.restrict(&set, linear, beta);
        if self.problem.n_groups() > 0 {
            // The sub-problem's linear term is centred anew.
            let shift = |i: usize| sub_problem.offsets()[sub_problem.group(i)];
            gradient.iter_mut().enumerate().for_each(|(i, g)| *g += shift(i));
        }
        let inner = (INNER * violation).max(0.5 * target(self.settings.tol, self.floor, true));
        // Nothing is gained by insisting below the floor.
        let patience = if self.polished.is_some() { 1 } else { self.settings.patience };
        let settings = CmuSettings { tol: inner, patience, ..self.settings.clone() };
        let mut state = State::at(&gram, &sub_problem, gradient, self.threads);
        if !is_clear_of_rounding(&state, inner) {
            state.refresh_gradient();
        }
        state.info = std::mem::take(&mut self.info);
        state.outside = Some(self.outside(&set, violation));
        if let Some(factor) = self.factor.take() {
            state.free_set.adopt(factor, &set);
        }
        let status = iterate(&mut state, &settings, true, monitor, &mut |_| {});
        self.factor = Some(state.keep_factor(&set));
        self.info = std::mem::take(&mut state.info);

        let mut moved = Vec::new();
        for (&variable, &new) in set.iter().zip(&state.beta) {
            let old = std::mem::replace(&mut self.beta[variable], new);
            if new != old {
                moved.push(Move { variable, old, new });
            }
        }
        drop(state);
        self.buffer = gram.into_values();
        self.set = set;
        let clock = monitor.elapsed();
        self.follow(&moved, monitor)?;
        self.info.seconds.kernel += monitor.elapsed() - clock;
        Ok(status)
    }

    /// Brings the gradient up to date with the variables that moved. If stopped on the way it is of no use any more; the certificate
    /// never looks at it.
    fn follow(&mut self, moved: &[Move], monitor: &mut Monitor<'_>) -> Result<()> {
        if moved.is_empty() {
            return Ok(());
        }
        let n_points = self.source.len();
        let free = (0..self.beta.len())
            .filter(|&v| self.problem.bound_state(v, self.beta[v]) == BoundState::Free);
        self.source.set_hot(&free.map(|v| v % n_points).collect::<Vec<_>>());
        let starting = self.progress(f64::NAN);
        let mut proceed = || monitor.poll(|| starting.clone()).is_none();
        let precision = self.coarse.precision();
        let known = self.sums.take().filter(|_| precision == Precision::Exact);
        let mut moved = moved.to_vec();
        if let Some(sums) = known {
            moved.extend(self.restore_sums());
            let (source, problem) = (&mut *self.source, self.problem);
            if let Some(fresh) = gradient::refreshed(source, problem, &moved, sums, &mut proceed)? {
                self.adopt(fresh);
                return Ok(());
            }
        }
        self.coarse.note(&moved);
        gradient::follow(self.source, precision, &moved, &mut self.gradient, &mut proceed)?;
        Ok(())
    }

    fn adopt(&mut self, fresh: Fresh) {
        self.gradient = fresh.gradient;
        self.floor = fresh.floor;
        self.sums = Some(fresh.sums);
        self.coarse.refreshed();
        self.objective = gradient::objective(self.problem, &self.beta, &self.gradient).0;
    }

    /// Computes gradient and floor from nothing but the point.
    fn refresh(&mut self, monitor: &mut Monitor<'_>) -> Result<Option<SolverStatus>> {
        if self.info.n_cycles == 0 && self.beta.iter().all(|b| *b == 0.0) {
            return Ok(None);
        }
        let clock = monitor.elapsed();
        self.restore_sums();
        let starting = self.progress(f64::NAN);
        let mut proceed = || monitor.poll(|| starting.clone()).is_none();
        let fresh = gradient::fresh(self.source, self.problem, &self.beta, &mut proceed)?;
        self.info.seconds.gradient += monitor.elapsed() - clock;
        let Some(fresh) = fresh else {
            return Ok(monitor.poll(|| starting.clone()).or(Some(SolverStatus::Stopped)));
        };
        self.adopt(fresh);
        Ok(None)
    }

    /// As in the held state: what rounding took from the groups' sums goes into a free variable.
    fn restore_sums(&mut self) -> Vec<Move> {
        let mut moves = Vec::new();
        for (g, residual) in self.problem.residuals(&self.beta).into_iter().enumerate() {
            let room = |v: usize| {
                let b = self.beta[v];
                (self.problem.upper()[v] - b).min(b - self.problem.lower()[v])
            };
            let widest = (0..self.beta.len())
                .filter(|&v| self.problem.group(v) == g)
                .max_by(|&a, &b| room(a).total_cmp(&room(b)));
            if let Some(variable) = widest
                && room(variable) > residual.abs()
                && residual != 0.0
            {
                let old = self.beta[variable];
                self.beta[variable] -= residual;
                moves.push(Move { variable, old, new: self.beta[variable] });
            }
        }
        moves
    }

    /// Looks for negative curvature in the block of the support vectors.
    fn looks_convex(&mut self) -> Result<bool> {
        let n_points = self.source.len();
        let mut set: Vec<usize> = (0..self.beta.len()).filter(|&v| self.beta[v] != 0.0).collect();
        set.truncate(CONVEXITY_ROWS);
        let gram =
            self.source.block(&set.iter().map(|v| v % n_points).collect::<Vec<_>>(), Vec::new())?;
        let sub_problem = self.problem.restrict(&set, vec![0.0; set.len()], vec![0.0; set.len()]);
        let mut state = State::new(&gram, &sub_problem, self.threads);
        let convex = super::verify::is_convex(&mut state, self.settings);
        let found = state.info.most_negative_curvature;
        self.info.most_negative_curvature = self.info.most_negative_curvature.min(found);
        Ok(convex)
    }

    fn finish(self, status: SolverStatus, began: bool) -> Solution {
        let mut info = self.info;
        let (computed, reused) = self.source.counts();
        info.n_kernel_columns += computed;
        info.n_cache_hits += reused;
        info.status = status;
        Solution { beta: self.beta, sums: self.sums, began, info }
    }
}
