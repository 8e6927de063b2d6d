//! Watching and stopping: whoever stops a solve gets a feasible point and the right word for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use exactsvm::fit::{Fit, Limits, Settings, fit_points};
use exactsvm::{
    CmuSettings, Control, DualProblem, Encoding, Kernel, Monitor, NoObserver, Observer, Points,
    Progress, SmoSettings, SolverStatus, Threads, cmu,
};

use crate::common::{Case, Random, Recipe};

/// Longer than the time between two calls of an observer.
const A_WHILE: Duration = Duration::from_millis(100);

/// Answers the same thing every time and writes down what it saw.
struct Watcher {
    answer: Control,
    seen: Vec<(ThreadId, Progress)>,
}

impl Watcher {
    fn new(answer: Control) -> Self {
        Self { answer, seen: Vec::new() }
    }
}

impl Observer for Watcher {
    fn observe(&mut self, progress: &Progress) -> Control {
        self.seen.push((thread::current().id(), progress.clone()));
        self.answer
    }
}

fn a_case() -> Case {
    let mut random = Random::new(1);
    Recipe { rank: 60, ..Recipe::plain(120) }.build(&mut random)
}

/// Solves with a clock that already runs: the first look at it comes after a while.
fn solve_late(
    case: &Case,
    observer: &mut dyn Observer,
    max_time: Option<f64>,
) -> exactsvm::Solution {
    let mut monitor = Monitor::new(observer, max_time);
    thread::sleep(A_WHILE);
    cmu::solve(
        &case.gram(),
        &case.problem(),
        &CmuSettings::default(),
        true,
        &Threads::new(2),
        &mut monitor,
    )
    .unwrap()
}

fn assert_feasible(case: &Case, beta: &[f64]) {
    let judged = case.judge(&case.unsigned(beta));
    assert!(judged.in_box && judged.drift <= 1e-12, "drift {:e}", judged.drift);
    assert!(judged.objective <= case.objective(&case.start) + 1e-12, "the objective rose");
}

#[test]
fn an_observer_stops_or_interrupts() {
    let case = a_case();
    for (answer, status) in
        [(Control::Stop, SolverStatus::Stopped), (Control::Interrupt, SolverStatus::Interrupted)]
    {
        let mut watcher = Watcher::new(answer);
        let solution = solve_late(&case, &mut watcher, None);
        assert_eq!(solution.info.status, status);
        assert_eq!(watcher.seen.len(), 1, "asked again after it had answered");
        assert_feasible(&case, &solution.beta);
    }
}

#[test]
fn an_observer_is_called_on_the_calling_thread_and_sees_true_numbers() {
    let case = a_case();
    let mut watcher = Watcher::new(Control::Continue);
    let solution = solve_late(&case, &mut watcher, None);
    assert!(solution.info.status.is_optimal());
    assert!(!watcher.seen.is_empty());
    for (id, progress) in &watcher.seen {
        assert_eq!(*id, thread::current().id());
        assert_eq!(progress.solver, "cmu");
        assert!(progress.elapsed >= A_WHILE.as_secs_f64());
        assert!(progress.n_free + progress.n_bounded <= case.n);
        // The dual objective is a lower bound of the optimal value, up to rounding.
        let best = -case.objective(&case.solution);
        assert!(
            progress.dual_objective <= best + 1e-9 * best.abs(),
            "{} > {best}",
            progress.dual_objective
        );
    }
    // Being watched changes nothing.
    let alone = case.solve(&CmuSettings::default(), true, 2);
    assert_eq!(alone.beta, solution.beta);
}

#[test]
fn a_quick_solve_does_not_call_the_observer() {
    let case = Recipe::plain(10).build(&mut Random::new(2));
    let mut watcher = Watcher::new(Control::Stop);
    let mut monitor = Monitor::new(&mut watcher, None);
    let clock = Instant::now();
    let solution = cmu::solve(
        &case.gram(),
        &case.problem(),
        &CmuSettings::default(),
        true,
        &Threads::new(1),
        &mut monitor,
    )
    .unwrap();
    // On a stalled machine it may have been called after all; then there is nothing to say.
    if clock.elapsed() < A_WHILE / 2 {
        assert!(solution.info.status.is_optimal() && watcher.seen.is_empty());
    }
}

#[test]
fn a_time_limit_ends_with_a_feasible_point() {
    let case = a_case();
    for max_time in [0.0, 1e-9, 0.05] {
        let solution = solve_late(&case, &mut NoObserver, Some(max_time));
        assert_eq!(solution.info.status, SolverStatus::MaxTime);
        assert_feasible(&case, &solution.beta);
    }
    // Limits beyond what a clock can hold are none.
    for max_time in [1e12, f64::INFINITY, f64::MAX] {
        assert!(solve_late(&case, &mut NoObserver, Some(max_time)).info.status.is_optimal());
    }
}

#[test]
fn a_time_limit_holds_while_the_kernel_is_computed() {
    let mut random = Random::new(3);
    let (n, d) = (300, 10);
    let x = random.normals(n * d);
    let signs: Vec<f64> = (0..n).map(|_| random.sign()).collect();
    let kernel = Kernel::Rbf { gamma: 0.1 };
    let points = Points::new(&x, n, d, &kernel).unwrap();
    let problem = DualProblem::classification(&signs, &vec![1.0; n], None).unwrap();
    let limits = Limits { max_time: Some(0.0), ..Limits::default() };
    let fit = fit_points(
        &points,
        &kernel,
        &problem,
        &CmuSettings::default(),
        &limits,
        &Threads::new(2),
        &mut NoObserver,
    )
    .unwrap();
    assert_eq!(fit.info.status, SolverStatus::MaxTime);
    assert_eq!(fit.x, vec![0.0; n]);
    // At zero the certificate needs no kernel: the primal value is the loss of all points, the dual value 0.
    assert_eq!(fit.certificate.dual_objective, 0.0);
    assert_eq!(fit.certificate.primal_objective, n as f64);
    let started = DualProblem::classification(&[1.0, -1.0], &[1.0; 2], Some(&[0.5; 2])).unwrap();
    let points = Points::new(&x[..2 * d], 2, d, &kernel).unwrap();
    let fit = fit_points(
        &points,
        &kernel,
        &started,
        &CmuSettings::default(),
        &limits,
        &Threads::new(1),
        &mut NoObserver,
    )
    .unwrap();
    assert!(fit.certificate.duality_gap.is_nan(), "nothing is known, so nothing may be claimed");
}

#[test]
fn an_iteration_limit_ends_with_a_feasible_point_that_only_gets_better() {
    let mut random = Random::new(4);
    for n_groups in 0..3 {
        let recipe = Recipe { n_groups, rank: 30, from_zero: false, ..Recipe::plain(100) };
        let case = recipe.build(&mut random);
        // Small up-cycles make many of them.
        let small = CmuSettings { growth: 0.05, least_growth: 2, ..CmuSettings::default() };
        let whole = case.solve(&small, true, 1);
        assert!(whole.info.n_cycles > 3, "too easy to say anything");
        let mut last = case.objective(&case.start);
        for limit in 1..=whole.info.n_cycles + 2 {
            let settings = CmuSettings { max_iter: Some(limit), ..small.clone() };
            let solution = case.solve(&settings, true, 1);
            assert!(solution.info.n_cycles <= limit);
            if limit < whole.info.n_cycles {
                assert_eq!(solution.info.status, SolverStatus::MaxIter);
            }
            assert_feasible(&case, &solution.beta);
            let objective = case.objective(&case.unsigned(&solution.beta));
            assert!(
                objective <= last + 1e-12 * last.abs(),
                "cycle {limit} climbed from {last} to {objective}"
            );
            last = objective;
        }
    }
}

#[test]
fn a_monitor_that_has_stopped_stays_stopped() {
    let mut watcher = Watcher::new(Control::Stop);
    let mut monitor = Monitor::new(&mut watcher, None);
    let made = AtomicUsize::new(0);
    let progress = || {
        made.fetch_add(1, Ordering::Relaxed);
        Progress::starting("cmu", 0)
    };
    assert_eq!(monitor.poll(progress), None, "no time has passed");
    thread::sleep(A_WHILE);
    for _ in 0..3 {
        assert_eq!(monitor.poll(progress), Some(SolverStatus::Stopped));
    }
    assert_eq!(made.load(Ordering::Relaxed), 1, "a record is only made to be looked at");
}

/// Fits on columns, without any time.
fn fit_without_time(encoding: Encoding, settings: &Settings) -> Fit {
    let n = 600;
    let mut random = Random::new(3);
    let x: Vec<f64> = (0..2 * n).map(|_| random.between(-1.0, 1.0)).collect();
    let targets: Vec<f64> = x.chunks(2).map(|p| p[0].signum()).collect();
    let problem = encoding.problem(&targets, &vec![1.0; n], None).unwrap();
    let kernel = Kernel::Rbf { gamma: 1.0 };
    let points = Points::new(&x, n, 2, &kernel).unwrap();
    // The matrix takes 2.9 MB.
    let limits = Limits { max_time: Some(0.0), cache_bytes: Some(2e6) };
    let threads = Threads::new(1);
    let method = settings.method();
    fit_points(&points, &kernel, &problem, method, &limits, &threads, &mut NoObserver).unwrap()
}

fn both_solvers() -> [Settings; 2] {
    [Settings::Cmu(CmuSettings::default()), Settings::Smo(SmoSettings::default())]
}

#[test]
fn a_limit_before_the_first_gradient_costs_no_certificate() {
    for settings in both_solvers() {
        for encoding in [Encoding::NuClassification { nu: 0.5 }, Encoding::OneClass { nu: 0.5 }] {
            let Fit { x, certificate, info } = fit_without_time(encoding, &settings);
            assert_eq!(info.status, SolverStatus::MaxTime);
            let n_support = x.iter().filter(|x| **x > 0.0).count();
            assert!(n_support >= 200);
            assert!(info.n_kernel_columns <= n_support / 2, "{} columns", info.n_kernel_columns);
            assert!(certificate.kkt_violation.is_nan() && certificate.duality_gap.is_nan());
            assert!(certificate.dual_objective.is_nan() && certificate.gradient[0].is_nan());
            assert!(certificate.equality_residual <= 1e-12);
            assert_eq!(certificate.n_free + certificate.n_bounded, n_support);
        }
    }
}

#[test]
fn variables_that_cancel_need_no_column() {
    for settings in both_solvers() {
        let fit = fit_without_time(Encoding::NuRegression { nu: 0.5 }, &settings);
        assert_eq!(fit.info.status, SolverStatus::MaxTime);
        assert_eq!(fit.info.n_kernel_columns, 0);
        assert!(fit.x.iter().filter(|x| **x > 0.0).count() >= 200);
        assert!(fit.certificate.kkt_violation > 0.0 && fit.certificate.duality_gap > 0.0);
        assert!(fit.certificate.dual_objective.is_finite());
    }
}

#[test]
fn what_comes_after_a_limit_or_an_interrupt_is_limited_too() {
    let longer_than_the_grace = Duration::from_millis(1100);
    let starting = || Progress::starting("cmu", 0);
    for (answer, max_time, ends) in [
        (Control::Continue, Some(1e-3), true),
        (Control::Interrupt, None, true),
        (Control::Stop, None, false),
    ] {
        let mut watcher = Watcher::new(answer);
        let mut monitor = Monitor::new(&mut watcher, max_time);
        thread::sleep(A_WHILE);
        assert!(monitor.indulges(), "nothing was stopped yet");
        assert!(monitor.poll(starting).is_some());
        assert!(monitor.indulges());
        thread::sleep(longer_than_the_grace);
        assert_eq!(monitor.indulges(), !ends);
    }
}
