//! Linear solvers: optimality by the gap, on problems small enough for a check of everything.

use exactsvm::linear::fit::LinearStart;
use exactsvm::linear::{
    Dense, Intercept, LinearData, LinearFit, LinearProblem, LinearSettings, LinearSolver, Loss,
    Schedule, Sparse, fit_linear,
};
use exactsvm::{
    CmuSettings, Control, DualProblem, Kernel, NoObserver, Observer, Points, Progress,
    SolverStatus, Threads,
    fit::{Limits, fit_points},
};

use crate::common::Random;

const N: usize = 120;
const D: usize = 5;

fn data(seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let x = random.normals(N * D);
    let signs =
        (0..N)
            .map(|i| {
                if x[i * D] - 0.5 * x[i * D + 1] + 0.8 * random.normal() > 0.3 { 1.0 } else { -1.0 }
            })
            .collect();
    let weights = (0..N).map(|i| [0.0, 0.3, 1.0, 4.0][i % 4]).collect();
    (x, signs, weights)
}

fn settings(solver: LinearSolver, tol: f64) -> LinearSettings {
    LinearSettings { solver, tol, ..LinearSettings::default() }
}

fn solve(data: &LinearData<'_>, problem: &LinearProblem, settings: &LinearSettings) -> LinearFit {
    fit_linear(data, problem, settings, None, None, &Threads::new(1), &mut NoObserver).unwrap()
}

/// P, written out from its definition.
fn primal(x: &[f64], problem: &LinearProblem, fit: &LinearFit) -> f64 {
    let penalty = match problem.intercept {
        Intercept::Penalised(scale) => (fit.intercept / scale).powi(2),
        _ => 0.0,
    };
    let mut value = 0.5 * (fit.coef.iter().map(|w| w * w).sum::<f64>() + penalty);
    for k in 0..problem.len() {
        let row = &x[problem.row(k) * D..][..D];
        let f = row.iter().zip(&fit.coef).map(|(x, w)| x * w).sum::<f64>() + fit.intercept;
        let v = (problem.offset(k) - problem.sign(k) * f).max(0.0);
        value += problem.weight(k) * if problem.loss == Loss::Squared { v * v } else { v };
    }
    value
}

/// D, written out from its definition; panics where the point is not feasible.
fn dual(x: &[f64], problem: &LinearProblem, fit: &LinearFit) -> f64 {
    let mut w = [0.0; D];
    let (mut sum, mut value, mut size) = (0.0, 0.0, 0.0);
    for k in 0..problem.len() {
        let (a, u) = (fit.alpha[k], problem.weight(k));
        assert!(a >= 0.0 && (problem.loss == Loss::Squared || a <= u), "outside its box: {a}");
        let row = &x[problem.row(k) * D..][..D];
        w.iter_mut().zip(row).for_each(|(w, x)| *w += a * problem.sign(k) * x);
        sum += a * problem.sign(k);
        size += a;
        value += problem.offset(k) * a;
        if problem.loss == Loss::Squared {
            value -= a * a / (4.0 * u);
        }
    }
    let penalty = match problem.intercept {
        Intercept::Absent => 0.0,
        Intercept::Penalised(scale) => (scale * sum).powi(2),
        Intercept::Free => {
            assert!(sum.abs() <= 1e-12 * size, "off the equality: {sum}");
            0.0
        }
    };
    value - 0.5 * (w.iter().map(|w| w * w).sum::<f64>() + penalty)
}

const INTERCEPTS: [Intercept; 3] = [Intercept::Absent, Intercept::Free, Intercept::Penalised(2.0)];

/// Every kind of problem, with a name.
fn problems(seed: u64) -> (Vec<f64>, Vec<(String, LinearProblem)>) {
    let (x, signs, weights) = data(seed);
    let targets: Vec<f64> = (0..N).map(|i| 3.0 * x[i * D] + signs[i] + 20.0).collect();
    let mut all = Vec::new();
    for loss in [Loss::Linear, Loss::Squared] {
        for intercept in INTERCEPTS {
            for c in [0.01, 1.0, 100.0] {
                let u: Vec<f64> = weights.iter().map(|w| c * w).collect();
                let name = format!("{loss:?}, {intercept:?}, C = {c}");
                let problem = LinearProblem::classification(&signs, &u, loss, intercept).unwrap();
                all.push((format!("classification, {name}"), problem));
                let problem =
                    LinearProblem::regression(&targets, 0.5, &u, loss, intercept).unwrap();
                all.push((format!("regression, {name}"), problem));
            }
        }
    }
    (x, all)
}

#[test]
fn every_certificate_is_what_the_definitions_say() {
    let (x, problems) = problems(1);
    let data = LinearData::Dense64(Dense::new(&x, N, D).unwrap());
    for (name, problem) in problems {
        for (solver, tol, limit) in [
            (LinearSolver::Interior, 1e-10, None),
            (LinearSolver::DualDescent, 1e-5, Some(200)),
            (LinearSolver::Gradient, 1e-5, Some(200)),
            (LinearSolver::Stochastic, 1e-2, Some(50)),
        ] {
            let settings = LinearSettings { max_iter: limit, ..settings(solver, tol) };
            let fit = solve(&data, &problem, &settings);
            let (p, d) = (primal(&x, &problem, &fit), dual(&x, &problem, &fit));
            let c = &fit.certificate;
            assert!((c.primal_objective - p).abs() <= 1e-11 * p, "{name}, {solver:?}");
            assert!((c.dual_objective - d).abs() <= 1e-9 * p, "{name}, {solver:?}: {d}");
            assert!(c.duality_gap >= -1e-12 * p);
            assert_eq!(fit.status == SolverStatus::Optimal, c.relative_gap <= tol, "{name}");
        }
    }
}

#[test]
fn the_interior_point_method_solves_everything() {
    let (x, problems) = problems(2);
    let data = LinearData::Dense64(Dense::new(&x, N, D).unwrap());
    for (name, problem) in problems {
        let fit = solve(&data, &problem, &settings(LinearSolver::Interior, 1e-10));
        assert_eq!(fit.status, SolverStatus::Optimal, "{name}: {:?}", fit.certificate);
        assert!(fit.n_iter <= 40, "{name}: {} iterations", fit.n_iter);
        // Dual descent, which shares no step with it, gets to the same value.
        let other = solve(
            &data,
            &problem,
            &LinearSettings { max_iter: Some(20_000), ..settings(LinearSolver::DualDescent, 1e-6) },
        );
        let (p, q) = (fit.certificate.primal_objective, other.certificate.primal_objective);
        assert!(p <= q * (1.0 + 1e-10), "{name}: {p} and {q}");
        if other.status == SolverStatus::Optimal {
            assert!(q - p <= 2e-6 * p.max(1.0), "{name}: {p} and {q}");
        }
    }
}

#[test]
fn the_kernel_solver_agrees() {
    let (x, signs, _) = data(3);
    let linear = LinearData::Dense64(Dense::new(&x, N, D).unwrap());
    for c in [0.1, 10.0] {
        let problem =
            LinearProblem::classification(&signs, &[c; N], Loss::Linear, Intercept::Free).unwrap();
        let fit = solve(&linear, &problem, &settings(LinearSolver::Interior, 1e-11));
        let kernel = fit_points(
            &Points::new(&x, N, D, &Kernel::Linear).unwrap(),
            &Kernel::Linear,
            &DualProblem::classification(&signs, &[c; N], None).unwrap(),
            &CmuSettings { tol: 1e-12, ..CmuSettings::default() },
            &Limits::default(),
            &Threads::new(1),
            &mut NoObserver,
        )
        .unwrap();
        let (p, q) = (fit.certificate.primal_objective, kernel.certificate.primal_objective);
        assert!((p - q).abs() <= 1e-10 * q, "{p} and {q}");
    }
}

#[test]
fn all_forms_of_the_samples_are_one_problem() {
    let (mut x, signs, weights) = data(4);
    for x in &mut x {
        *x = f64::from((*x as f32 * 8.0).round() / 8.0);
    }
    let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    // Every row backwards, its first column in two parts.
    let (mut values, mut columns, mut offsets) = (Vec::new(), Vec::new(), vec![0_i32]);
    for row in x.chunks(D) {
        for j in (0..D).rev() {
            values.push(if j == 0 { 0.25 * row[j] } else { row[j] });
            columns.push(j as i32);
        }
        values.push(0.75 * row[0]);
        columns.push(0);
        offsets.push(values.len() as i32);
    }
    let short: Vec<f32> = values.iter().map(|v| *v as f32).collect();
    let long = |v: &[i32]| -> Vec<i64> { v.iter().map(|v| i64::from(*v)).collect() };
    let (long_columns, long_offsets) = (long(&columns), long(&offsets));
    let forms = [
        LinearData::Dense64(Dense::new(&x, N, D).unwrap()),
        LinearData::Dense32(Dense::new(&single, N, D).unwrap()),
        LinearData::Sparse64(Sparse::new(&values, &columns, &offsets, D).unwrap()),
        LinearData::Sparse64Long(Sparse::new(&values, &long_columns, &long_offsets, D).unwrap()),
        LinearData::Sparse32(Sparse::new(&short, &columns, &offsets, D).unwrap()),
        LinearData::Sparse32Long(Sparse::new(&short, &long_columns, &long_offsets, D).unwrap()),
    ];
    let problem =
        LinearProblem::classification(&signs, &weights, Loss::Linear, Intercept::Free).unwrap();
    let expected = solve(&forms[0], &problem, &settings(LinearSolver::Interior, 1e-11));
    for form in &forms {
        for solver in [LinearSolver::Interior, LinearSolver::DualDescent, LinearSolver::Gradient] {
            let tol = if solver == LinearSolver::Interior { 1e-11 } else { 1e-6 };
            let fit = solve(form, &problem, &settings(solver, tol));
            assert_eq!(fit.status, SolverStatus::Optimal, "{solver:?}");
            let (p, q) = (fit.certificate.primal_objective, expected.certificate.primal_objective);
            assert!((p - q).abs() <= tol * q, "{solver:?}: {p} and {q}");
        }
    }
}

#[test]
fn threads_and_repetition_change_no_bit() {
    let (n, d) = (4000, 12);
    let mut random = Random::new(5);
    let x = random.normals(n * d);
    let signs: Vec<f64> =
        (0..n).map(|i| if x[i * d] + random.normal() > 0.0 { 1.0 } else { -1.0 }).collect();
    let data = LinearData::Dense64(Dense::new(&x, n, d).unwrap());
    let problem =
        LinearProblem::classification(&signs, &vec![1.0; n], Loss::Linear, Intercept::Free)
            .unwrap();
    for solver in [
        LinearSolver::Auto,
        LinearSolver::Interior,
        LinearSolver::DualDescent,
        LinearSolver::Gradient,
        LinearSolver::Stochastic,
    ] {
        let settings = LinearSettings { max_iter: Some(15), seed: 7, ..settings(solver, 1e-9) };
        let run = |threads| {
            let threads = Threads::new(threads);
            fit_linear(&data, &problem, &settings, None, None, &threads, &mut NoObserver).unwrap()
        };
        let one = run(1);
        for many in [run(1), run(2), run(5)] {
            assert_eq!(many.coef, one.coef, "{solver:?}");
            assert_eq!(many.alpha, one.alpha, "{solver:?}");
            assert_eq!(many.intercept, one.intercept);
            assert_eq!(many.certificate.duality_gap, one.certificate.duality_gap);
        }
        let other = LinearSettings { seed: 8, ..settings.clone() };
        let other =
            fit_linear(&data, &problem, &other, None, None, &Threads::new(1), &mut NoObserver)
                .unwrap();
        let random = matches!(solver, LinearSolver::DualDescent | LinearSolver::Stochastic);
        if random {
            assert_ne!(other.coef, one.coef, "{solver:?}: the seed has no effect");
        }
    }
}

#[test]
fn long_steps_are_called_divergent_and_nothing_infinite_comes_back() {
    let (x, signs, weights) = data(6);
    let data = LinearData::Dense64(Dense::new(&x, N, D).unwrap());
    let problem =
        LinearProblem::classification(&signs, &weights, Loss::Squared, Intercept::Free).unwrap();
    for solver in [LinearSolver::Gradient, LinearSolver::Stochastic] {
        let settings = LinearSettings {
            schedule: Schedule::Constant,
            eta0: 10.0,
            max_iter: Some(500),
            ..settings(solver, 1e-6)
        };
        let fit = solve(&data, &problem, &settings);
        assert_eq!(fit.status, SolverStatus::Diverged, "{solver:?}");
        assert!(fit.coef.iter().all(|w| w.is_finite()) && fit.intercept.is_finite());
        assert!(fit.certificate.primal_objective.is_finite());
        // Short ones are not, and get somewhere.
        let settings = LinearSettings { eta0: 1e-4, ..settings };
        let short = solve(&data, &problem, &settings);
        assert_ne!(short.status, SolverStatus::Diverged);
        assert!(short.certificate.relative_gap < 0.5, "{:?}", short.certificate);
    }
}

#[test]
fn a_start_at_the_optimum_is_cheap_and_any_start_is_right() {
    let (x, signs, weights) = data(7);
    let data = LinearData::Dense64(Dense::new(&x, N, D).unwrap());
    let problem =
        LinearProblem::classification(&signs, &weights, Loss::Linear, Intercept::Free).unwrap();
    let cold = solve(&data, &problem, &settings(LinearSolver::Interior, 1e-9));
    let far = vec![1e3; D];
    for (coef, intercept) in [(&cold.coef, cold.intercept), (&far, -50.0)] {
        for (solver, tol) in [
            (LinearSolver::Interior, 1e-9),
            (LinearSolver::DualDescent, 1e-6),
            (LinearSolver::Gradient, 1e-6),
        ] {
            let start = LinearStart { coef, intercept };
            let settings = settings(solver, tol);
            let threads = Threads::new(1);
            let fit = fit_linear(
                &data,
                &problem,
                &settings,
                Some(start),
                None,
                &threads,
                &mut NoObserver,
            )
            .unwrap();
            assert_eq!(fit.status, SolverStatus::Optimal, "{solver:?}: {:?}", fit.certificate);
        }
    }
}

struct StopAtOnce;

impl Observer for StopAtOnce {
    fn observe(&mut self, progress: &Progress) -> Control {
        assert!(!progress.dual_objective.is_nan());
        Control::Stop
    }
}

#[test]
fn limits_keep_the_best_point() {
    let (n, d) = (3000, 40);
    let mut random = Random::new(8);
    let x = random.normals(n * d);
    let signs: Vec<f64> =
        (0..n).map(|i| if x[i * d] + 2.0 * random.normal() > 0.0 { 1.0 } else { -1.0 }).collect();
    let data = LinearData::Dense64(Dense::new(&x, n, d).unwrap());
    let problem =
        LinearProblem::classification(&signs, &vec![1e3; n], Loss::Linear, Intercept::Free)
            .unwrap();
    let threads = Threads::new(1);
    for solver in [LinearSolver::DualDescent, LinearSolver::Gradient, LinearSolver::Stochastic] {
        let settings = settings(solver, 1e-13);
        let fit =
            fit_linear(&data, &problem, &settings, None, None, &threads, &mut StopAtOnce).unwrap();
        assert_eq!(fit.status, SolverStatus::Stopped, "{solver:?}");
        let limited =
            fit_linear(&data, &problem, &settings, None, Some(0.05), &threads, &mut NoObserver)
                .unwrap();
        assert_eq!(limited.status, SolverStatus::MaxTime, "{solver:?}");
        let one = LinearSettings { max_iter: Some(1), ..settings };
        let one = fit_linear(&data, &problem, &one, None, None, &threads, &mut NoObserver).unwrap();
        assert_eq!((one.status, one.n_iter), (SolverStatus::MaxIter, 1), "{solver:?}");
        let zero = 1e3 * n as f64;
        for fit in [fit, limited, one] {
            assert!(fit.certificate.primal_objective <= zero, "{solver:?}: worse than w = 0");
        }
    }
}

#[test]
fn bad_input_is_named() {
    let (x, signs, weights) = data(9);
    let message = |e: exactsvm::Error| e.to_string();
    let linear = |s: &[f64], w: &[f64], i| LinearProblem::classification(s, w, Loss::Linear, i);
    assert!(message(linear(&[0.5], &[1.0], Intercept::Free).unwrap_err()).starts_with("signs"));
    assert!(message(linear(&[1.0], &[-1.0], Intercept::Free).unwrap_err()).starts_with("weights"));
    assert!(message(linear(&[1.0], &[1.0, 1.0], Intercept::Free).unwrap_err()).contains("weights"));
    let negative = Intercept::Penalised(-1.0);
    assert!(message(linear(&[1.0], &[1.0], negative).unwrap_err()).contains("intercept_scaling"));
    let regression = |e| {
        LinearProblem::regression(&[1.0], e, &[1.0], Loss::Linear, Intercept::Free).unwrap_err()
    };
    assert!(message(regression(f64::NAN)).starts_with("epsilon"));
    assert!(message(Dense::new(&x, N, D + 1).unwrap_err()).starts_with('X'));
    assert!(message(Dense::new(&[f64::NAN], 1, 1).unwrap_err()).starts_with('X'));
    let sparse = |columns: &[i32], offsets: &[i32]| {
        message(Sparse::new(&[1.0, 2.0], columns, offsets, 3).unwrap_err())
    };
    assert!(sparse(&[0, 3], &[0, 2]).starts_with("X.indices"));
    assert!(sparse(&[0, -1], &[0, 2]).starts_with("X.indices"));
    assert!(sparse(&[0, 1], &[0, 3]).starts_with("X.indptr"));
    assert!(sparse(&[0, 1], &[1, 2]).starts_with("X.indptr"));
    assert!(sparse(&[0, 1], &[0, 2, 1]).starts_with("X.indptr"));
    let data = LinearData::Dense64(Dense::new(&x, N, D).unwrap());
    let problem = linear(&signs, &weights, Intercept::Free).unwrap();
    let fails = |settings: &LinearSettings, start| {
        fit_linear(&data, &problem, settings, start, None, &Threads::new(1), &mut NoObserver)
            .unwrap_err()
            .to_string()
    };
    let default = LinearSettings::default();
    assert!(fails(&LinearSettings { tol: 0.0, ..default.clone() }, None).starts_with("tol"));
    let none = LinearSettings { max_iter: Some(0), ..default.clone() };
    assert!(fails(&none, None).starts_with("max_iter"));
    let constant = LinearSettings {
        solver: LinearSolver::Gradient,
        schedule: Schedule::Constant,
        ..default.clone()
    };
    assert!(fails(&constant, None).starts_with("eta0"));
    let start = LinearStart { coef: &[1.0], intercept: 0.0 };
    assert!(fails(&default, Some(start)).starts_with("start"));
}
