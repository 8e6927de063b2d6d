//! SMO on constructed problems whose solution is known, in both forms; and everything that may only change the time.

use exactsvm::fit::{Fit, Limits, fit_matrix, fit_points};
use exactsvm::kernel::HeldColumns;
use exactsvm::{
    DualProblem, DualProblemParts, GramMatrix, Kernel, Monitor, NoObserver, Points, Selection,
    SmoSettings, Solution, SolverStatus, Threads, smo,
};

use crate::common::{Case, Random, Recipe};

const FORMS: [Selection; 2] = [Selection::Greedy, Selection::Random];

fn solve(case: &Case, settings: &SmoSettings, known_convex: bool) -> Solution {
    let (gram, threads) = (case.gram(), Threads::new(1));
    let mut source = HeldColumns::new(&gram, &threads);
    let mut observer = NoObserver;
    let mut monitor = Monitor::new(&mut observer, None);
    smo::solve(&mut source, &case.problem(), settings, known_convex, &mut monitor).unwrap()
}

/// Tolerances that pair steps reach in reasonable time, relative to the gradient's terms.
fn settings_for(case: &Case, tol: f64, selection: Selection) -> SmoSettings {
    SmoSettings { tol: tol * case.gradient_size(), selection, ..SmoSettings::default() }
}

fn objective_error(case: &Case, solution: &Solution) -> f64 {
    (case.objective(&case.unsigned(&solution.beta)) - case.objective(&case.solution)).abs()
}

/// Asserts what must hold however the solve ended; returns whether it ended optimal.
fn check(case: &Case, solution: &Solution, tol: f64, label: &str) -> bool {
    let x = case.unsigned(&solution.beta);
    let judged = case.judge(&x);
    assert!(judged.in_box, "{label}: outside the box");
    assert!(judged.drift <= 1e-12, "{label}: the sums drifted by {:e}", judged.drift);
    let rose = judged.objective - case.objective(&case.start);
    let terms = case.objective_size(&x) + case.objective_size(&case.start);
    assert!(rose <= 4.0 * f64::EPSILON * terms, "{label}: the objective rose by {rose:e}");
    let status = solution.info.status;
    if !status.is_optimal() {
        return false;
    }
    let allowed = tol.max(judged.floor * 1.001);
    assert!(judged.violation <= allowed, "{label}: {:e} for {allowed:e}", judged.violation);
    if status == SolverStatus::OptimalToPrecision {
        assert!(judged.floor * 1.001 > tol, "{label}: the floor is no excuse");
    }
    true
}

#[test]
fn random_problems_in_both_forms() {
    let (mut solved, mut of, mut stalled) = (0, 0, 0);
    for seed in 0..200 {
        let mut random = Random::new(1000 + seed);
        let recipe = Recipe::random(&mut random);
        let case = recipe.build(&mut random);
        for selection in FORMS {
            let label = format!("seed {seed}, {selection:?}, {recipe:?}");
            let settings =
                SmoSettings { max_iter: Some(300_000), ..settings_for(&case, 1e-8, selection) };
            let solution = solve(&case, &settings, true);
            let done = check(&case, &solution, settings.tol, &label);
            let status = solution.info.status;
            let words = [SolverStatus::MaxIter, SolverStatus::Stalled];
            assert!(done || words.contains(&status), "{label}: {status}");
            if done {
                // The sum of violations times the box bounds what is missing; the known point is the optimum.
                let reach: f64 = case
                    .solution
                    .iter()
                    .zip(case.unsigned(&solution.beta))
                    .map(|(a, b)| (a - b).abs())
                    .sum();
                let allowed = settings.tol.max(case.judge(&case.solution).floor) * reach
                    + 1e-12 * case.objective_size(&case.solution);
                let error = objective_error(&case, &solution);
                assert!(error <= 2.0 * allowed, "{label}: off by {error:e} for {allowed:e}");
            }
            of += 1;
            solved += usize::from(done);
            stalled += usize::from(status == SolverStatus::Stalled);
        }
    }
    // Pair steps crawl on ill-conditioned problems; all but a few must get there.
    assert!(solved * 100 >= 90 * of, "{solved} of {of}, {stalled} stalled");
}

#[test]
fn without_an_equality_single_variables_move() {
    for selection in FORMS {
        let recipe = Recipe { n_groups: 0, ..Recipe::plain(60) };
        let case = recipe.build(&mut Random::new(5));
        let settings = settings_for(&case, 1e-10, selection);
        let solution = solve(&case, &settings, true);
        assert!(check(&case, &solution, settings.tol, "no equality"));
    }
}

/// Problems of data points, some of whose variables settle early.
fn data(seed: u64, n: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut random, d) = (Random::new(seed), 3);
    let x = random.normals(n * d);
    let label = |i: usize, noise: f64| x[i * d] + x[i * d + 1].powi(2) + noise > 0.8;
    let signs = (0..n).map(|i| if label(i, 0.5 * random.normal()) { 1.0 } else { -1.0 }).collect();
    (x, signs)
}

const RBF: Kernel = Kernel::Rbf { gamma: 0.5 };

fn fit(n: usize, c: f64, settings: &SmoSettings, cache_bytes: f64, n_threads: usize) -> Fit {
    let (x, signs) = data(7, n);
    let points = Points::new(&x, n, 3, &RBF).unwrap();
    let problem = DualProblem::classification(&signs, &vec![c; n], None).unwrap();
    let limits = Limits { cache_bytes: Some(cache_bytes), ..Limits::default() };
    let threads = Threads::new(n_threads);
    fit_points(&points, &RBF, &problem, settings, &limits, &threads, &mut NoObserver).unwrap()
}

#[test]
fn shrinking_changes_nothing_but_the_time() {
    let mut paths = 0;
    for selection in FORMS {
        for (n, c) in [(600, 1.0), (600, 30.0), (1500, 3.0)] {
            let on = SmoSettings { tol: 1e-9, selection, ..SmoSettings::default() };
            let off = SmoSettings { shrinking: false, ..on.clone() };
            let (on, off) = (fit(n, c, &on, 1e9, 1), fit(n, c, &off, 1e9, 1));
            assert_eq!(on.info.status, SolverStatus::Optimal);
            assert_eq!(off.info.status, SolverStatus::Optimal);
            let (a, b) = (on.certificate.dual_objective, off.certificate.dual_objective);
            assert!((a - b).abs() <= 1e-12 * a.abs(), "{selection:?}, C = {c}: {a} and {b}");
            paths += usize::from(on.info.n_pair_steps != off.info.n_pair_steps);
        }
    }
    // Where all guesses are right the path is the same; where none is made, too.
    assert!(paths > 2, "{paths}: nothing was ever left out");
}

#[test]
fn shrinking_on_constructed_problems() {
    for seed in 0..20 {
        let recipe = Recipe {
            n_groups: 1 + seed as usize % 2,
            from_zero: seed % 4 < 2,
            free: 0.1,
            ..Recipe::plain(200)
        };
        let case = recipe.build(&mut Random::new(seed));
        for selection in FORMS {
            for shrinking in [true, false] {
                let base = settings_for(&case, 1e-10, selection);
                let settings = SmoSettings { shrinking, ..base };
                let solution = solve(&case, &settings, true);
                let label = format!("seed {seed}, {selection:?}, shrinking {shrinking}");
                assert!(check(&case, &solution, settings.tol, &label), "{label}");
                let error = objective_error(&case, &solution);
                assert!(error <= 1e-12 * case.objective_size(&case.solution), "{label}: {error:e}");
            }
        }
    }
}

#[test]
fn the_cache_changes_no_bit() {
    let n = 700;
    for selection in FORMS {
        let settings = SmoSettings { tol: 1e-8, selection, ..SmoSettings::default() };
        let held = fit(n, 2.0, &settings, 1e9, 1);
        assert!(held.info.status.is_optimal());
        assert_eq!(held.info.n_kernel_columns, n);
        let column = (8 * n) as f64;
        let mut computed = Vec::new();
        // Nothing, not even a group of columns, one group, some, and nearly all.
        for cache_bytes in [0.0, 4.0 * column, 8.0 * column, 100.0 * column, 650.0 * column] {
            let part = fit(n, 2.0, &settings, cache_bytes, 1);
            assert_eq!(part.x, held.x, "{selection:?}, {cache_bytes} bytes");
            assert_eq!(part.info.n_pair_steps, held.info.n_pair_steps);
            assert_eq!(part.certificate.duality_gap, held.certificate.duality_gap);
            computed.push(part.info.n_kernel_columns);
        }
        assert!(computed[4] < computed[3] && computed[3] < computed[0], "{computed:?}");
        assert!(computed[4] < 4 * n, "{computed:?}");
    }
}

#[test]
fn threads_change_no_bit() {
    let n = 3000;
    for selection in FORMS {
        let settings = SmoSettings { tol: 1e-2, selection, ..SmoSettings::default() };
        let one = fit(n, 1.0, &settings, 2e7, 1);
        for n_threads in [2, 3, 8] {
            let many = fit(n, 1.0, &settings, 2e7, n_threads);
            assert_eq!(many.x, one.x, "{selection:?}, {n_threads} threads");
            assert_eq!(many.info.n_pair_steps, one.info.n_pair_steps);
        }
    }
}

#[test]
fn a_seed_decides_the_draws() {
    let random = SmoSettings { tol: 1e-6, selection: Selection::Random, ..SmoSettings::default() };
    let other = SmoSettings { seed: 1, ..random.clone() };
    let (a, b, c) = (
        fit(300, 1.0, &random, 1e9, 1),
        fit(300, 1.0, &random, 1e9, 1),
        fit(300, 1.0, &other, 1e9, 1),
    );
    assert_eq!(a.x, b.x);
    assert_ne!(a.info.n_pair_steps, c.info.n_pair_steps);
    let (p, q) = (a.certificate.dual_objective, c.certificate.dual_objective);
    assert!((p - q).abs() <= 1e-6 * p.abs());
}

#[test]
fn a_sum_of_steps_is_the_limit() {
    for selection in FORMS {
        let settings =
            SmoSettings { max_iter: Some(1234), tol: 1e-12, selection, ..SmoSettings::default() };
        let stopped = fit(600, 10.0, &settings, 1e9, 1);
        assert_eq!(stopped.info.status, SolverStatus::MaxIter);
        assert_eq!(stopped.info.n_pair_steps, 1234);
        assert!(stopped.certificate.equality_residual <= 1e-12);
        assert!(stopped.certificate.kkt_violation > 1e-12 && stopped.certificate.duality_gap > 0.0);
    }
}

#[test]
fn a_tolerance_below_the_floor_ends_at_the_floor() {
    for selection in FORMS {
        let settings = SmoSettings { tol: 1e-18, selection, ..SmoSettings::default() };
        let fit = fit(200, 1.0, &settings, 1e9, 1);
        assert_eq!(fit.info.status, SolverStatus::OptimalToPrecision);
        assert!(fit.certificate.kkt_violation <= fit.certificate.precision_floor);
        assert!(fit.certificate.precision_floor < 1e-12);
    }
}

#[test]
fn an_unbounded_dual_is_called_so() {
    // One point in both classes.
    let values = [1.0, 1.0, 1.0, 1.0];
    let gram = GramMatrix::new((&values[..]).into(), 2).unwrap();
    let problem = DualProblem::classification(&[1.0, -1.0], &[f64::INFINITY; 2], None).unwrap();
    for selection in FORMS {
        let settings = SmoSettings { selection, ..SmoSettings::default() };
        let fit = fit_matrix(
            &gram,
            &problem,
            &settings,
            &Limits::default(),
            &Threads::new(1),
            &mut NoObserver,
        )
        .unwrap();
        assert_eq!(fit.info.status, SolverStatus::Unbounded, "{selection:?}");
    }
}

#[test]
fn an_indefinite_matrix_has_stationary_points_only() {
    let (x, signs) = data(5, 90);
    let kernel = Kernel::Sigmoid { gamma: 1.0, coef0: -1.0 };
    let points = Points::new(&x, 90, 3, &kernel).unwrap();
    let problem = DualProblem::classification(&signs, &[10.0; 90], None).unwrap();
    for selection in FORMS {
        let settings = SmoSettings { tol: 1e-9, selection, ..SmoSettings::default() };
        let fit = fit_points(
            &points,
            &kernel,
            &problem,
            &settings,
            &Limits::default(),
            &Threads::new(1),
            &mut NoObserver,
        )
        .unwrap();
        assert_eq!(fit.info.status, SolverStatus::Stationary);
        assert!(fit.info.most_negative_curvature < 0.0 && fit.certificate.kkt_violation <= 1e-9);
    }
}

#[test]
fn an_unknown_matrix_is_checked_before_it_is_called_optimal() {
    for seed in 0..20 {
        let recipe = Recipe { rank: 10, n_groups: seed as usize % 3, ..Recipe::plain(40) };
        let mut case = recipe.build(&mut Random::new(seed));
        let settings = settings_for(&case, 1e-9, Selection::Greedy);
        let solution = solve(&case, &settings, false);
        assert!(solution.info.status.is_optimal(), "seed {seed}: {}", solution.info.status);
        assert_eq!(solution.info.most_negative_curvature, 0.0);
        // A dent that no step meets: between two variables that stay at zero.
        let n = case.n;
        let settled: Vec<usize> = (0..n).filter(|&i| case.solution[i] == 0.0).collect();
        let group = |i: usize| case.groups[i];
        let pair = settled
            .iter()
            .flat_map(|&i| settled.iter().map(move |&j| (i, j)))
            .find(|&(i, j)| i < j && group(i) == group(j));
        let Some((i, j)) = pair else { continue };
        let dent = 10.0 * (case.matrix[i * n + i] + case.matrix[j * n + j]);
        case.matrix[i * n + j] += dent;
        case.matrix[j * n + i] += dent;
        let solution = solve(&case, &settings, false);
        assert_eq!(solution.info.status, SolverStatus::Stationary, "seed {seed}");
        assert!(solution.info.most_negative_curvature < 0.0);
    }
}

/// Regression has two variables a point, which share its column.
#[test]
fn several_variables_may_share_a_point() {
    let (n, d) = (80, 2);
    let mut random = Random::new(9);
    let x = random.normals(n * d);
    let y: Vec<f64> = (0..n).map(|i| x[i * d].sin() + 0.1 * random.normal()).collect();
    let signs: Vec<f64> = (0..2 * n).map(|v| if v < n { 1.0 } else { -1.0 }).collect();
    let linear: Vec<f64> = (0..2 * n).map(|v| signs[v] * y[v % n] - 0.05).collect();
    let parts = DualProblemParts {
        signs: &signs,
        linear: Some(&linear),
        upper: &vec![2.0; 2 * n],
        ..DualProblemParts::default()
    };
    let problem = DualProblem::new(&parts).unwrap();
    let points = Points::new(&x, n, d, &RBF).unwrap();
    let mut objectives = Vec::new();
    for selection in FORMS {
        for (shrinking, cache_bytes) in [(true, 1e9), (false, 1e9), (true, 0.0)] {
            let base = SmoSettings { tol: 1e-9, selection, shrinking, ..SmoSettings::default() };
            let limits = Limits { cache_bytes: Some(cache_bytes), ..Limits::default() };
            let threads = Threads::new(1);
            let fit =
                fit_points(&points, &RBF, &problem, &base, &limits, &threads, &mut NoObserver)
                    .unwrap();
            assert!(fit.info.status.is_optimal());
            // Never do both variables of a point pay.
            assert!((0..n).all(|i| fit.x[i].min(fit.x[n + i]) <= 1e-12));
            objectives.push(fit.certificate.dual_objective);
        }
    }
    let first = objectives[0];
    assert!(objectives.iter().all(|o| (o - first).abs() <= 1e-9 * first.abs()), "{objectives:?}");
}

#[test]
fn settings_are_checked() {
    let good = SmoSettings::default();
    assert!(good.validate().is_ok());
    for bad in [
        SmoSettings { tol: 0.0, ..good.clone() },
        SmoSettings { tol: f64::NAN, ..good.clone() },
        SmoSettings { max_iter: Some(0), ..good.clone() },
        SmoSettings { patience: 0, ..good.clone() },
    ] {
        assert!(bad.validate().is_err());
    }
    assert_eq!(Selection::parse("random"), Ok(Selection::Random));
    assert_eq!(Selection::parse("greedy"), Ok(Selection::Greedy));
    assert!(Selection::parse("best").is_err());
}
