//! Different ways to the same problem give the same answer.

use exactsvm::fit::{Fit, Limits, fit_matrix, fit_points};
use exactsvm::{
    CmuSettings, DualProblem, GramMatrix, Kernel, NoObserver, Points, Selection, SmoSettings,
    SolverStatus, Threads,
};

use crate::common::{Random, Recipe};

const N: usize = 90;
const D: usize = 4;

fn data(seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let x = random.normals(N * D);
    let signs = (0..N)
        .map(|i| if x[i * D] + x[i * D + 1].powi(2) + random.normal() > 0.8 { 1.0 } else { -1.0 })
        .collect();
    (x, signs)
}

fn by_points(points: &Points<'_>, kernel: &Kernel, problem: &DualProblem, n_threads: usize) -> Fit {
    let settings = CmuSettings { tol: 1e-11, ..CmuSettings::default() };
    fit_points(
        points,
        kernel,
        problem,
        &settings,
        &Limits::default(),
        &Threads::new(n_threads),
        &mut NoObserver,
    )
    .unwrap()
}

#[test]
fn a_precomputed_matrix_gives_what_the_points_give() {
    let (x, signs) = data(1);
    for kernel in [
        Kernel::Linear,
        Kernel::Rbf { gamma: 0.3 },
        Kernel::Polynomial { gamma: 0.5, coef0: 1.0, degree: 3 },
        Kernel::Laplacian { gamma: 0.3 },
    ] {
        for c in [0.01, 1.0, 100.0] {
            let problem = DualProblem::classification(&signs, &[c; N], None).unwrap();
            let points = Points::new(&x, N, D, &kernel).unwrap();
            let threads = Threads::new(1);
            let gram = GramMatrix::compute(&points, &kernel, &threads, || true).unwrap().unwrap();
            let settings = CmuSettings { tol: 1e-11, ..CmuSettings::default() };
            let held = fit_matrix(
                &gram,
                &problem,
                &settings,
                &Limits::default(),
                &threads,
                &mut NoObserver,
            )
            .unwrap();
            let computed = by_points(&points, &kernel, &problem, 1);
            // The same matrix, hence the same path; only the check for convexity comes on top.
            assert_eq!(held.x, computed.x, "{kernel:?}, C = {c}");
            for fit in [&held, &computed] {
                assert!(fit.info.status.is_optimal(), "{kernel:?}, C = {c}: {}", fit.info.status);
                assert!(
                    fit.certificate.relative_gap <= 1e-8,
                    "gap {:e}",
                    fit.certificate.relative_gap
                );
                assert!(fit.certificate.duality_gap >= 0.0);
            }
        }
    }
}

#[test]
fn threads_change_no_bit_of_a_fit() {
    let (x, signs) = data(2);
    let kernel = Kernel::Rbf { gamma: 0.5 };
    let problem = DualProblem::classification(&signs, &[10.0; N], None).unwrap();
    let points = Points::new(&x, N, D, &kernel).unwrap();
    let one = by_points(&points, &kernel, &problem, 1);
    for n_threads in [2, 5] {
        let many = by_points(&points, &kernel, &problem, n_threads);
        assert_eq!(many.x, one.x);
        assert_eq!(many.certificate.duality_gap, one.certificate.duality_gap);
    }
}

#[test]
fn an_origin_close_to_the_data_changes_nothing_that_matters() {
    let (mut x, signs) = data(3);
    for x in &mut x {
        *x += 300.0;
    }
    for kernel in [Kernel::Linear, Kernel::Rbf { gamma: 0.4 }] {
        let problem = DualProblem::classification(&signs, &[1.0; N], None).unwrap();
        let there = by_points(&Points::new(&x, N, D, &kernel).unwrap(), &kernel, &problem, 1);
        let here = by_points(&Points::centred(&x, N, D, &kernel).unwrap(), &kernel, &problem, 1);
        assert!(there.info.status.is_optimal() && here.info.status.is_optimal());
        let (a, b) = (there.certificate.dual_objective, here.certificate.dual_objective);
        // The far origin costs digits: products near 4e5 carry errors of 1e-10, times the sum of x, about 50.
        assert!((a - b).abs() <= 1e-7 * a.abs(), "{kernel:?}: {a} and {b}");
        assert!(
            here.certificate.precision_floor < 1e-2 * there.certificate.precision_floor
                || kernel != Kernel::Linear
        );
    }
}

#[test]
fn weights_are_repetitions() {
    // A point with bound 2C is worth the point twice with bound C, exactly: the two objectives must be the same.
    let (x, signs) = data(4);
    let kernel = Kernel::Rbf { gamma: 0.5 };
    let (mut rows, mut z, mut upper) = (x.clone(), signs.clone(), vec![1.0; N]);
    for i in (0..N).step_by(3) {
        rows.extend_from_slice(&x[i * D..(i + 1) * D]);
        z.push(signs[i]);
        upper[i] = 2.0;
    }
    let weighted = DualProblem::classification(&signs, &upper, None).unwrap();
    let repeated = DualProblem::classification(&z, &vec![1.0; z.len()], None).unwrap();
    let a = by_points(&Points::new(&x, N, D, &kernel).unwrap(), &kernel, &weighted, 1);
    let b = by_points(&Points::new(&rows, z.len(), D, &kernel).unwrap(), &kernel, &repeated, 1);
    assert!(a.info.status.is_optimal() && b.info.status.is_optimal());
    let (p, q) = (a.certificate.dual_objective, b.certificate.dual_objective);
    assert!((p - q).abs() <= 1e-10 * p.abs(), "{p} and {q}");
}

#[test]
fn a_sigmoid_kernel_never_claims_an_optimum() {
    let (x, signs) = data(5);
    let kernel = Kernel::Sigmoid { gamma: 1.0, coef0: -1.0 };
    let problem = DualProblem::classification(&signs, &[10.0; N], None).unwrap();
    let points = Points::new(&x, N, D, &kernel).unwrap();
    let fit = by_points(&points, &kernel, &problem, 1);
    assert_eq!(fit.info.status, SolverStatus::Stationary);
    assert!(fit.info.most_negative_curvature < 0.0);
}

#[test]
fn a_matrix_beyond_the_memory_limit_is_worked_around() {
    let (n, d) = (500, 3);
    let mut random = Random::new(6);
    let x = random.normals(n * d);
    let signs: Vec<f64> =
        (0..n).map(|i| if x[i * d] + 0.5 * random.normal() > 0.0 { 1.0 } else { -1.0 }).collect();
    let kernel = Kernel::Rbf { gamma: 0.5 };
    let problem = DualProblem::classification(&signs, &vec![3.0; n], None).unwrap();
    let points = Points::new(&x, n, d, &kernel).unwrap();
    let settings = CmuSettings { tol: 1e-11, ..CmuSettings::default() };
    let fit = |cache_bytes: usize| {
        let limits = Limits { cache_bytes: Some(cache_bytes as f64), ..Limits::default() };
        fit_points(
            &points,
            &kernel,
            &problem,
            &settings,
            &limits,
            &Threads::new(1),
            &mut NoObserver,
        )
    };
    let held = fit(8 * n * n).unwrap();
    let piecewise = fit(8 * n * n - 1).unwrap();
    assert!(held.info.status.is_optimal() && piecewise.info.status.is_optimal());
    let (a, b) = (held.certificate.dual_objective, piecewise.certificate.dual_objective);
    assert!((a - b).abs() <= 1e-10 * a.abs(), "{a} and {b}");
    let allowed = 1e-11_f64.max(piecewise.certificate.precision_floor);
    assert!(piecewise.certificate.kkt_violation <= allowed);
}

#[test]
fn all_solvers_reach_one_objective() {
    let (x, signs) = data(7);
    for (kernel, tol) in [
        (Kernel::Linear, 1e-7),
        (Kernel::Rbf { gamma: 0.3 }, 1e-9),
        (Kernel::Polynomial { gamma: 0.2, coef0: 1.0, degree: 3 }, 1e-8),
        (Kernel::Laplacian { gamma: 0.3 }, 1e-9),
    ] {
        for c in [0.01, 1.0, 30.0] {
            let problem = DualProblem::classification(&signs, &[c; N], None).unwrap();
            let points = Points::centred(&x, N, D, &kernel).unwrap();
            let best = by_points(&points, &kernel, &problem, 1).certificate.dual_objective;
            for selection in [Selection::Greedy, Selection::Random] {
                let settings = SmoSettings { tol, selection, ..SmoSettings::default() };
                let (limits, threads) = (Limits::default(), Threads::new(1));
                let smo = fit_points(
                    &points,
                    &kernel,
                    &problem,
                    &settings,
                    &limits,
                    &threads,
                    &mut NoObserver,
                )
                .unwrap();
                let label = format!("{kernel:?}, C = {c}, {selection:?}");
                assert!(smo.info.status.is_optimal(), "{label}: {}", smo.info.status);
                let found = smo.certificate.dual_objective;
                assert!(
                    (found - best).abs() <= 10.0 * tol * best.abs(),
                    "{label}: {found} and {best}"
                );
                assert!(found <= best + 1e-13 * best.abs(), "{label}: above the optimum");
            }
        }
    }
}

#[test]
fn general_problems_have_one_objective_for_all_solvers() {
    for seed in 0..30 {
        let recipe = Recipe {
            n_groups: seed as usize % 3,
            from_zero: seed % 2 == 0,
            rank: if seed % 5 == 0 { 20 } else { 80 },
            ..Recipe::plain(80)
        };
        let case = recipe.build(&mut Random::new(seed));
        let (gram, problem, threads) = (case.gram(), case.problem(), Threads::new(1));
        let tol = 1e-9 * case.gradient_size();
        let limits = Limits::default();
        let cmu = CmuSettings { tol, ..CmuSettings::default() };
        let cmu = fit_matrix(&gram, &problem, &cmu, &limits, &threads, &mut NoObserver).unwrap();
        let smo = SmoSettings { tol, ..SmoSettings::default() };
        let smo = fit_matrix(&gram, &problem, &smo, &limits, &threads, &mut NoObserver).unwrap();
        assert!(cmu.info.status.is_optimal() && smo.info.status.is_optimal(), "seed {seed}");
        let (a, b) = (cmu.certificate.dual_objective, smo.certificate.dual_objective);
        let terms = case.objective_size(&case.solution) + case.objective_size(&case.start);
        assert!((a - b).abs() <= 1e-10 * terms, "seed {seed}: {a} and {b}");
    }
}
