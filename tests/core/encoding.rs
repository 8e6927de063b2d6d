//! Encodings: starts that are feasible, and models that satisfy what their problem promises.

use exactsvm::fit::{Limits, Settings};
use exactsvm::{
    Classes, CmuSettings, Encoding, Kernel, NoObserver, Source, Threads, Trained, Training, train,
    train_pairs,
};

use crate::common::Random;

fn points(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut rng = Random::new(seed);
    let x: Vec<f64> = (0..2 * n).map(|_| rng.between(-2.0, 2.0)).collect();
    let y: Vec<f64> = (0..n).map(|i| x[2 * i].sin() + 0.3 * rng.between(-1.0, 1.0)).collect();
    let weights: Vec<f64> = (0..n).map(|_| rng.between(0.1, 3.0)).collect();
    (x, y, weights)
}

fn solve(encoding: Encoding, x: &[f64], targets: &[f64], upper: &[f64]) -> Trained {
    let settings = Settings::Cmu(CmuSettings::default());
    let training = Training { encoding, settings: &settings, limits: Limits::default() };
    let source = Source::Rows { values: x, n_features: 2, kernel: &Kernel::Rbf { gamma: 0.7 } };
    train(source, targets, upper, None, &training, &Threads::new(1), &mut NoObserver).unwrap()
}

fn value(x: &[f64], trained: &Trained, i: usize) -> f64 {
    let model = &trained.model;
    let mut sum = model.bias;
    for (j, c) in model.coefficients.iter().enumerate() {
        let (a, b) = (x[2 * i] - x[2 * j], x[2 * i + 1] - x[2 * j + 1]);
        sum += c * (-0.7 * (a * a + b * b)).exp();
    }
    sum
}

#[test]
fn starts_are_feasible_and_mostly_at_bounds() {
    for seed in 0..40 {
        let mut rng = Random::new(seed);
        let n = 2 + (seed as usize) % 30;
        let upper: Vec<f64> = (0..n).map(|_| 10_f64.powf(rng.between(-3.0, 3.0))).collect();
        let nu = rng.between(1e-6, 1.0);
        let hint: Vec<f64> = upper.iter().map(|u| u * rng.between(-1.0, 2.0)).collect();
        let targets: Vec<f64> = (0..n).map(|_| rng.between(-1.0, 1.0)).collect();
        let total = upper.iter().sum::<f64>();
        for hint in [None, Some(hint.as_slice())] {
            let problem = Encoding::OneClass { nu }.problem(&[], &upper, hint).unwrap();
            assert!((problem.totals()[0] - nu * total).abs() <= 1e-13 * total);
            let inside = |b: &f64, u: &f64| *b > 0.0 && b < u;
            let free = problem.start().iter().zip(&upper).filter(|(b, u)| inside(b, u)).count();
            assert!(hint.is_some() || free <= 3, "{free} of {n} begin free");

            let twice: Option<Vec<f64>> = hint.map(|h| [h, h].concat());
            let problem =
                Encoding::NuRegression { nu }.problem(&targets, &upper, twice.as_deref()).unwrap();
            assert!((problem.totals()[0] - 0.5 * nu * total).abs() <= 1e-13 * total);
            assert!((problem.totals()[1] + 0.5 * nu * total).abs() <= 1e-13 * total);
        }
    }
}

#[test]
fn infeasible_and_bad_parameters_are_refused() {
    let signs = [1.0, -1.0, -1.0, -1.0];
    let problem = |nu| Encoding::NuClassification { nu }.problem(&signs, &[1.0; 4], None);
    assert!(problem(0.5).is_ok());
    assert!(problem(0.51).is_err());
    for nu in [0.0, -0.1, 1.1, f64::NAN] {
        assert!(Encoding::parse("nu_svr", nu).is_err());
    }
    for epsilon in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(Encoding::parse("epsilon_svr", epsilon).is_err());
    }
    assert!(Encoding::parse("ranking", 0.5).is_err());
    assert!(Encoding::OneClass { nu: 0.5 }.problem(&[], &[1.0, f64::INFINITY], None).is_err());
}

#[test]
fn nu_classification_is_c_classification_with_the_inverse_margin() {
    let (x, y, weights) = points(80, 1);
    let signs: Vec<f64> = y.iter().map(|y| if *y > 0.0 { 1.0 } else { -1.0 }).collect();
    let nu = solve(Encoding::NuClassification { nu: 0.3 }, &x, &signs, &weights);
    let upper: Vec<f64> = weights.iter().map(|w| w / nu.model.scale).collect();
    let c = solve(Encoding::Classification, &x, &signs, &upper);
    assert!(nu.info.status.is_optimal() && nu.model.scale != 1.0);
    let (a, b) = (&nu.certificate, &c.certificate);
    assert!((a.dual_objective - b.dual_objective).abs() < 1e-9 * b.dual_objective);
    assert!((a.primal_objective - b.primal_objective).abs() < 1e-9 * b.dual_objective);
    assert!(a.relative_gap < 1e-9 && a.kkt_violation < 1e-9);
    for i in 0..80 {
        assert!((value(&x, &nu, i) - value(&x, &c, i)).abs() < 1e-8);
    }
}

#[test]
fn regression_satisfies_its_conditions() {
    let (x, y, weights) = points(70, 2);
    let upper: Vec<f64> = weights.iter().map(|w| 5.0 * w).collect();
    for encoding in
        [Encoding::EpsilonRegression { epsilon: 0.1 }, Encoding::NuRegression { nu: 0.4 }]
    {
        let trained = solve(encoding, &x, &y, &upper);
        assert!(trained.info.status.is_optimal());
        assert!(trained.certificate.relative_gap < 1e-9);
        let tube = trained.model.epsilon;
        let mut outside = 0.0;
        for i in 0..70 {
            let residual = y[i] - value(&x, &trained, i);
            let c = trained.model.coefficients[i];
            assert!(c.abs() <= upper[i]);
            if residual.abs() < tube - 1e-7 {
                assert_eq!(c, 0.0);
            } else if residual.abs() > tube + 1e-7 {
                assert_eq!(c, residual.signum() * upper[i]);
                outside += upper[i];
            }
        }
        if let Encoding::NuRegression { nu } = encoding {
            assert!(tube > 0.0 && outside <= nu * upper.iter().sum::<f64>());
        }
    }
}

#[test]
fn pairs_have_the_same_bits_on_any_number_of_threads_and_are_optimal() {
    let (x, y, weights) = points(120, 3);
    let codes: Vec<i64> = y.iter().map(|y| ((y + 1.3) * 1.6).clamp(0.0, 3.0) as i64).collect();
    let settings = Settings::Cmu(CmuSettings::default());
    for encoding in [Encoding::Classification, Encoding::NuClassification { nu: 0.05 }] {
        let training = Training { encoding, settings: &settings, limits: Limits::default() };
        let classes = Classes { codes: &codes, n_classes: 4, upper: &weights, hint: None };
        let kernel = Kernel::Rbf { gamma: 0.7 };
        let source = Source::Rows { values: &x, n_features: 2, kernel: &kernel };
        let run = |threads| {
            train_pairs(source, &classes, &training, &Threads::new(threads), &mut NoObserver)
                .unwrap()
        };
        let one = run(1);
        assert_eq!(one.fits.len(), 6);
        assert!(one.fits.iter().all(|fit| fit.info.status.is_optimal()));
        for threads in [2, 3] {
            let other = run(threads);
            assert_eq!(one.coefficients, other.coefficients);
            let biases = |fits: &[Trained]| fits.iter().map(|f| f.model.bias).collect::<Vec<_>>();
            assert_eq!(biases(&one.fits), biases(&other.fits));
        }
    }
}
