//! The iterate, its gradient and what is active of it. Only the methods here change the point.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::settings::{Selection, SmoSettings};
use super::shrinking::Active;
use super::working_pair::{self, Pair};
use crate::error::Result;
use crate::gradient::{self, FloorBound, Move};
use crate::info::Info;
use crate::kernel::{ColumnSums, Precision, SingleColumns};
use crate::linalg::vector::axpy;
use crate::observer::{Monitor, Progress};
use crate::pair::{self, FLAT, NEGATIVE};
use crate::problem::{BoundState, DualProblem};
use crate::status::SolverStatus;

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The point moved.
    Taken,
    /// Nothing violates by more than the target.
    NoPair,
    /// The step is below the resolution of the variables.
    Lost,
    /// There is no curvature and no bound.
    Endless,
}

/// Invariants: lower <= beta <= upper; the sums of the groups stay up to rounding; the active gradient is that of K beta - p, up
/// to rounding.
pub(super) struct State<'a> {
    pub(super) source: &'a mut dyn SingleColumns,
    pub(super) problem: &'a DualProblem,
    pub(super) beta: Vec<f64>,
    pub(super) active: Active,
    /// While variables are left out: the gradient of all when the first of them was, and the point it belongs to.
    base: Option<(Vec<f64>, Vec<f64>)>,
    rng: Pcg64Mcg,
    rows: [Vec<f64>; 2],
    /// q, followed step by step.
    objective: f64,
    /// Rounding error of the gradient, as last computed with it.
    pub(super) floor: f64,
    pub(super) floor_bound: FloorBound,
    /// The products behind the gradient, as long as nothing has moved since.
    pub(super) sums: Option<ColumnSums>,
    /// KKT violation of the active variables when it was last looked at.
    pub(super) violation: f64,
    pub(super) info: Info,
}

impl<'a> State<'a> {
    pub(super) fn new(
        source: &'a mut dyn SingleColumns,
        problem: &'a DualProblem,
        settings: &SmoSettings,
    ) -> Self {
        let beta = problem.start().to_vec();
        let gradient = problem.linear().iter().map(|p| -p).collect();
        let active = Active::all(problem, &beta, gradient, source.diagonal());
        let floor_bound = FloorBound::new(source.diagonal(), problem);
        Self {
            source,
            problem,
            beta,
            active,
            base: None,
            rng: Pcg64Mcg::seed_from_u64(settings.seed),
            rows: [Vec::new(), Vec::new()],
            objective: 0.0,
            floor: 0.0,
            floor_bound,
            sums: None,
            violation: f64::INFINITY,
            info: Info::default(),
        }
    }

    /// Chooses a pair and moves it.
    pub(super) fn step(&mut self, selection: Selection, target: f64) -> Result<Step> {
        match selection {
            Selection::Greedy => self.greedy_step(target),
            Selection::Random => self.random_step(target),
        }
    }

    fn greedy_step(&mut self, target: f64) -> Result<Step> {
        let Some(worst) = working_pair::worst(&self.active, self.problem) else {
            self.violation = 0.0;
            return Ok(Step::NoPair);
        };
        self.violation = worst.violation.max(0.0);
        if !(worst.violation > target) {
            return Ok(Step::NoPair);
        }
        let mut pair = Pair { first: worst.index, second: None };
        let Self { source, active, rows, .. } = self;
        let first = active.point(worst.index);
        source.fetch(&[first], &mut || working_pair::likely(active))?;
        if self.problem.n_groups() > 0 {
            let row = active.pick(source.column(first), &mut rows[0]);
            pair.second = working_pair::partner(active, worst, row);
            let Some(second) = pair.second else { return Ok(Step::NoPair) };
            let points = [first, active.point(second)];
            source.fetch(&points, &mut || working_pair::likely(active))?;
        }
        Ok(self.move_pair(pair))
    }

    /// Draws until a pair violates; where it takes too many, the worst one is taken, so that the end is noticed.
    fn random_step(&mut self, target: f64) -> Result<Step> {
        let drawn = (0..self.active.len())
            .find_map(|_| working_pair::draw(&self.active, self.problem, target, &mut self.rng));
        let pair = match drawn {
            Some(pair) => pair,
            None => match self.worst_pair().filter(|_| self.violation > target) {
                Some(pair) => pair,
                None => return Ok(Step::NoPair),
            },
        };
        let (active, rng, problem) = (&self.active, &self.rng, self.problem);
        let points = [pair.first, pair.second.unwrap_or(pair.first)].map(|k| active.point(k));
        self.source.fetch(&points, &mut || working_pair::upcoming(active, problem, target, rng))?;
        Ok(self.move_pair(pair))
    }

    /// The two ends of the group that violates most; notes the violation.
    fn worst_pair(&mut self) -> Option<Pair> {
        let active = &self.active;
        let worst = working_pair::worst(active, self.problem);
        self.violation = worst.map_or(0.0, |w| w.violation.max(0.0));
        let worst = worst?;
        let second = (self.problem.n_groups() > 0).then(|| {
            let (grow, shrink) = (&active.grow[worst.group], &active.shrink[worst.group]);
            pair::ends(&active.gradient, grow, shrink).shrink_index
        });
        Some(Pair { first: worst.index, second })
    }

    /// The violation of the active variables.
    pub(super) fn look(&mut self) -> f64 {
        self.worst_pair();
        self.violation
    }

    /// Moves a pair whose columns were fetched to the exact minimiser along it, cut at the box.
    fn move_pair(&mut self, pair: Pair) -> Step {
        let step = match pair.second {
            Some(second) => self.move_two(pair.first, second),
            None => self.move_one(pair.first),
        };
        if step == Step::Taken {
            self.sums = None;
            self.info.n_pair_steps += 1;
        }
        step
    }

    fn move_two(&mut self, a: usize, b: usize) -> Step {
        let Self { source, active, rows, .. } = self;
        let [first, second] = rows;
        let row_a = active.pick(source.column(active.point(a)), first);
        let row_b = active.pick(source.column(active.point(b)), second);
        let (own, other, product) = (active.diagonal[a], active.diagonal[b], row_a[b]);
        let (i, j) = (active.variable(a), active.variable(b));
        let scale = own.abs() + other.abs();
        let curvature = (own + other) - 2.0 * product;
        if curvature < -NEGATIVE * scale {
            let worst = &mut self.info.most_negative_curvature;
            *worst = worst.min(curvature);
        }
        let slope = active.gradient[b] - active.gradient[a];
        let room_a = self.problem.upper()[i] - self.beta[i];
        let room_b = self.beta[j] - self.problem.lower()[j];
        let minimiser = if curvature <= FLAT * scale {
            f64::INFINITY
        } else {
            slope / pair::pair_curvature(own, other, product)
        };
        let length = minimiser.min(room_a).min(room_b);
        if length.is_infinite() {
            return Step::Endless;
        }
        let moved = [
            shift(self.problem, &mut self.beta, i, length, length == room_a),
            shift(self.problem, &mut self.beta, j, -length, length == room_b),
        ];
        if moved == [false; 2] {
            return Step::Lost;
        }
        pair::add_pair(&mut active.gradient, length, row_a, row_b);
        active.open(a, self.problem, &self.beta);
        active.open(b, self.problem, &self.beta);
        self.objective -= length * (slope - 0.5 * length * curvature);
        Step::Taken
    }

    fn move_one(&mut self, a: usize) -> Step {
        let Self { source, active, rows, .. } = self;
        let row = active.pick(source.column(active.point(a)), &mut rows[0]);
        let (i, curvature, slope) = (active.variable(a), active.diagonal[a], -active.gradient[a]);
        if curvature < 0.0 {
            let worst = &mut self.info.most_negative_curvature;
            *worst = worst.min(curvature);
        }
        let room = if slope > 0.0 {
            self.problem.upper()[i] - self.beta[i]
        } else {
            self.beta[i] - self.problem.lower()[i]
        };
        let minimiser = if curvature <= 0.0 { f64::INFINITY } else { slope.abs() / curvature };
        let length = minimiser.min(room);
        if length.is_infinite() {
            return Step::Endless;
        }
        let step = length.copysign(slope);
        if !shift(self.problem, &mut self.beta, i, step, length == room) {
            return Step::Lost;
        }
        axpy(step, row, &mut active.gradient);
        active.open(a, self.problem, &self.beta);
        self.objective -= length * (slope.abs() - 0.5 * length * curvature);
        Step::Taken
    }

    /// Leaves out what looks settled.
    pub(super) fn shrink(&mut self) {
        let before = (!self.active.is_shrunk()).then(|| self.active.gradient.clone());
        if self.active.shrink(self.problem)
            && let Some(gradient) = before
        {
            self.base = Some((gradient, self.beta.clone()));
        }
    }

    /// Brings all variables back; the gradient of those left out follows from the columns of those that moved. The status if stopped.
    pub(super) fn unshrink(&mut self, monitor: &mut Monitor<'_>) -> Result<Option<SolverStatus>> {
        let Some((mut gradient, before)) = self.base.take() else { return Ok(None) };
        let moved: Vec<Move> = (0..self.beta.len())
            .map(|v| Move { variable: v, old: before[v], new: self.beta[v] })
            .filter(|m| m.new != m.old)
            .collect();
        let clock = monitor.elapsed();
        let progress = self.progress();
        let mut proceed = || monitor.poll(|| progress.clone()).is_none();
        let (source, exact) = (&mut *self.source, Precision::Exact);
        let done = gradient::follow(source, exact, &moved, &mut gradient, &mut proceed)?;
        self.info.seconds.gradient += monitor.elapsed() - clock;
        if !done {
            return Ok(monitor.poll(|| progress.clone()).or(Some(SolverStatus::Stopped)));
        }
        self.take_gradient(gradient);
        Ok(None)
    }

    /// Computes gradient and floor from nothing but the point. The status if stopped.
    pub(super) fn refresh(&mut self, monitor: &mut Monitor<'_>) -> Result<Option<SolverStatus>> {
        let clock = monitor.elapsed();
        self.restore_sums();
        let progress = self.progress();
        let mut proceed = || monitor.poll(|| progress.clone()).is_none();
        let fresh = gradient::fresh(self.source, self.problem, &self.beta, &mut proceed)?;
        self.info.seconds.gradient += monitor.elapsed() - clock;
        let Some(fresh) = fresh else {
            return Ok(monitor.poll(|| progress.clone()).or(Some(SolverStatus::Stopped)));
        };
        self.floor = fresh.floor;
        self.sums = Some(fresh.sums);
        self.take_gradient(fresh.gradient);
        Ok(None)
    }

    fn take_gradient(&mut self, gradient: Vec<f64>) {
        self.objective = gradient::objective(self.problem, &self.beta, &gradient).0;
        self.base = None;
        self.active = Active::all(self.problem, &self.beta, gradient, self.source.diagonal());
    }

    /// Puts what rounding took from the sums of the groups back, into the free variable with the most room.
    pub(super) fn restore_sums(&mut self) {
        for (g, residual) in self.problem.residuals(&self.beta).into_iter().enumerate() {
            if residual == 0.0 {
                continue;
            }
            let room = |s: &Self, v: usize| {
                let b = s.beta[v];
                (s.problem.upper()[v] - b).min(b - s.problem.lower()[v])
            };
            let widest = (0..self.beta.len())
                .filter(|&v| self.problem.group(v) == g && self.is_free(v))
                .max_by(|&a, &b| room(self, a).total_cmp(&room(self, b)));
            if let Some(v) = widest
                && room(self, v) > residual.abs()
            {
                self.beta[v] -= residual;
                self.sums = None;
            }
        }
    }

    fn is_free(&self, v: usize) -> bool {
        self.problem.bound_state(v, self.beta[v]) == BoundState::Free
    }

    /// The objective on a gradient of all variables, and its rounding error.
    pub(super) fn exact_objective(&self) -> (f64, f64) {
        debug_assert!(!self.active.is_shrunk());
        gradient::objective(self.problem, &self.beta, &self.active.gradient)
    }

    pub(super) fn progress(&self) -> Progress {
        let offsets = self.problem.offsets();
        let constant: f64 = offsets.iter().zip(self.problem.totals()).map(|(o, t)| o * t).sum();
        let all = 0..self.beta.len();
        Progress {
            solver: "smo",
            n_iter: self.info.n_pair_steps,
            dual_objective: constant - self.objective,
            kkt_violation: self.violation,
            n_free: all.clone().filter(|&v| self.is_free(v)).count(),
            n_bounded: all.filter(|&v| self.problem.is_bounded(v, self.beta[v])).count(),
            n_kernel_columns: self.source.counts().0,
            elapsed: 0.0,
        }
    }
}

/// Moves variable i by `step`, on to its bound exactly if `to_bound`. Says whether it moved.
fn shift(problem: &DualProblem, beta: &mut [f64], i: usize, step: f64, to_bound: bool) -> bool {
    let (lower, upper, before) = (problem.lower()[i], problem.upper()[i], beta[i]);
    beta[i] = match to_bound {
        true if step > 0.0 => upper,
        true => lower,
        false => (before + step).clamp(lower, upper),
    };
    beta[i] != before
}
