//! A matrix by columns, coarse ones first, gives what the held matrix gives; only time and memory differ.

use exactsvm::fit::{Fit, Limits, fit_points};
use exactsvm::{
    CmuSettings, DualProblem, GramMatrix, Kernel, NoObserver, Points, Threads, certify,
};

use crate::common::Random;

const N: usize = 1200;
const D: usize = 5;
/// Features below and above which only columns that will be asked for again are kept.
const WIDE: [usize; 2] = [70, 130];
const KERNELS: [Kernel; 3] = [
    Kernel::Rbf { gamma: 0.4 },
    Kernel::Laplacian { gamma: 0.2 },
    Kernel::Polynomial { gamma: 0.2, coef0: 1.0, degree: 2 },
];

fn data(seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let x = random.normals(N * D);
    let signs = (0..N)
        .map(|i| if x[i * D] * x[i * D + 1] + 0.5 * random.normal() > 0.1 { 1.0 } else { -1.0 })
        .collect();
    (x, signs)
}

fn fit(
    x: &[f64],
    kernel: &Kernel,
    problem: &DualProblem,
    settings: &CmuSettings,
    cache_bytes: f64,
    n_threads: usize,
) -> Fit {
    let points = Points::new(x, N, x.len() / N, kernel).unwrap();
    let limits = Limits { cache_bytes: Some(cache_bytes), ..Limits::default() };
    let threads = Threads::new(n_threads);
    fit_points(&points, kernel, problem, settings, &limits, &threads, &mut NoObserver).unwrap()
}

fn by_columns() -> CmuSettings {
    CmuSettings { tol: 1e-9, hold: false, block: 200, ..CmuSettings::default() }
}

#[test]
fn columns_give_what_the_held_matrix_gives() {
    let (x, signs) = data(1);
    for kernel in &KERNELS {
        for c in [0.05, 5.0, 1e3, 1e6] {
            let problem = DualProblem::classification(&signs, &[c; N], None).unwrap();
            let held = CmuSettings { tol: 1e-9, ..CmuSettings::default() };
            let held = fit(&x, kernel, &problem, &held, 1e9, 1);
            let label = format!("{kernel:?}, C = {c}");
            assert!(held.info.status.is_optimal(), "{label}: {}", held.info.status);
            for cache_bytes in [8e6, 1e9] {
                let parts = fit(&x, kernel, &problem, &by_columns(), cache_bytes, 2);
                assert!(parts.info.status.is_optimal(), "{label}: {}", parts.info.status);
                let (a, b) = (&held.certificate, &parts.certificate);
                let room = a.duality_gap + b.duality_gap;
                let size = a.dual_objective.abs();
                let difference = (a.dual_objective - b.dual_objective).abs();
                assert!(difference <= room + 1e-13 * size, "{label}: {difference:e}");
            }
        }
    }
}

#[test]
fn the_certificate_is_that_of_the_point_alone() {
    let (x, signs) = data(2);
    let targets: Vec<f64> = (0..N).map(|i| x[i * D].sin() + 0.1 * signs[i]).collect();
    for kernel in &KERNELS {
        let points = Points::new(&x, N, D, kernel).unwrap();
        let threads = Threads::new(2);
        let gram = GramMatrix::compute(&points, kernel, &threads, || true).unwrap().unwrap();
        for c in [0.5, 50.0] {
            let problem = DualProblem::classification(&signs, &[c; N], None).unwrap();
            let parts = fit(&x, kernel, &problem, &by_columns(), 1e9, 2);
            let beta: Vec<f64> = parts.x.iter().zip(&signs).map(|(x, z)| x * z).collect();
            let fresh = certify(&gram, None, &problem, &beta, None, &threads);
            let (a, b) = (&parts.certificate, &fresh);
            let label = format!("{kernel:?}, C = {c}");
            let close = |a: f64, b: f64, size: f64| (a - b).abs() <= 1e-15 * size;
            // To the last bits of the objective, of which the gap is a small difference.
            let size = b.dual_objective.abs();
            assert!(close(a.dual_objective, b.dual_objective, size), "{label}");
            assert!(close(a.duality_gap, b.duality_gap, size), "{label}");
            assert!(close(a.kkt_violation, b.kkt_violation, 1.0 + c), "{label}");
            let floors = (a.precision_floor - b.precision_floor).abs();
            assert!(floors <= 1e-12 * b.precision_floor, "{label}");
        }
    }
    // Two variables a point share its column.
    let encoding = exactsvm::Encoding::EpsilonRegression { epsilon: 0.05 };
    let problem = encoding.problem(&targets, &[2.0; N], None).unwrap();
    let kernel = &KERNELS[0];
    let parts = fit(&x, kernel, &problem, &by_columns(), 1e9, 2);
    let held = CmuSettings { tol: 1e-9, ..CmuSettings::default() };
    let held = fit(&x, kernel, &problem, &held, 1e9, 1);
    assert!(parts.info.status.is_optimal() && held.info.status.is_optimal());
    let difference = parts.certificate.dual_objective - held.certificate.dual_objective;
    let room = parts.certificate.duality_gap + held.certificate.duality_gap;
    assert!(difference.abs() <= room + 1e-13 * held.certificate.dual_objective.abs());
}

#[test]
fn neither_threads_nor_the_cache_change_a_bit() {
    let (x, signs) = data(3);
    for kernel in &KERNELS {
        let problem = DualProblem::classification(&signs, &[2.0; N], None).unwrap();
        let one = fit(&x, kernel, &problem, &by_columns(), 1e9, 1);
        assert!(one.info.status.is_optimal());
        for (cache_bytes, n_threads) in [(1e9, 2), (1e9, 3), (1e9, 8), (1e7, 1), (1.5e7, 2)] {
            let other = fit(&x, kernel, &problem, &by_columns(), cache_bytes, n_threads);
            assert_eq!(other.x, one.x, "{kernel:?}, {cache_bytes} bytes, {n_threads} threads");
            assert_eq!(other.certificate.duality_gap, one.certificate.duality_gap);
        }
    }
}

/// Asserts that two fits end at the same objective, as far as their gaps say.
fn assert_same_objective(a: &Fit, b: &Fit, label: &str) {
    assert!(a.info.status.is_optimal() && b.info.status.is_optimal(), "{label}");
    let (a, b) = (&a.certificate, &b.certificate);
    let room = a.duality_gap + b.duality_gap + 1e-13 * a.dual_objective.abs();
    assert!((a.dual_objective - b.dual_objective).abs() <= room, "{label}");
}

#[test]
fn blocks_of_wide_points_hold_what_is_computed() {
    for d in WIDE {
        let mut random = Random::new(4);
        let x = random.normals(N * d);
        let signs: Vec<f64> = (0..N)
            .map(|i| if x[i * d] + 0.5 * random.normal() > 0.0 { 1.0 } else { -1.0 })
            .collect();
        let problem = DualProblem::classification(&signs, &[3.0; N], None).unwrap();
        for kernel in [
            Kernel::Rbf { gamma: 0.5 / d as f64 },
            Kernel::Laplacian { gamma: 0.1 / d as f64 },
            Kernel::Linear,
        ] {
            let held = CmuSettings { tol: 1e-9, ..CmuSettings::default() };
            let held = fit(&x, &kernel, &problem, &held, 1e9, 1);
            // With little memory the columns begin coarse, and blocks come from blocks.
            for cache_bytes in [1.3e7, 1e9] {
                let one = fit(&x, &kernel, &problem, &by_columns(), cache_bytes, 1);
                assert_same_objective(&held, &one, &format!("{kernel:?}, {cache_bytes} bytes"));
                let two = fit(&x, &kernel, &problem, &by_columns(), cache_bytes, 2);
                assert_eq!(one.x, two.x, "{kernel:?}, {cache_bytes} bytes");
            }
        }
    }
}

#[test]
fn points_far_apart_are_the_same_by_columns() {
    let (mut x, signs) = data(5);
    for (i, row) in x.chunks_exact_mut(D).enumerate() {
        row[0] = 1e4 * (i % 3) as f64;
    }
    let kernel = Kernel::Rbf { gamma: 0.3 };
    let problem = DualProblem::classification(&signs, &[20.0; N], None).unwrap();
    let held = CmuSettings { tol: 1e-9, ..CmuSettings::default() };
    let held = fit(&x, &kernel, &problem, &held, 1e9, 1);
    let parts = fit(&x, &kernel, &problem, &by_columns(), 1e9, 2);
    assert_same_objective(&held, &parts, "three clusters");
    // What the fit says holds for distances that are summed one by one.
    let distance =
        |i: usize, j: usize| -> f64 { (0..D).map(|k| (x[i * D + k] - x[j * D + k]).powi(2)).sum() };
    let gradient = |i: usize| -> f64 {
        let field = (0..N).map(|j| (-0.3 * distance(i, j)).exp() * signs[j] * parts.x[j]);
        signs[i] * field.sum::<f64>() - 1.0
    };
    for i in (0..N).step_by(7) {
        let claimed = parts.certificate.gradient[i];
        assert!((gradient(i) - claimed).abs() <= 1e-11, "{i}: {claimed}");
    }
}
