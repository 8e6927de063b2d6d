//! Kernel matrices: blocks against one entry at a time, and what must hold to the last bit.

use std::borrow::Cow;

use exactsvm::kernel::{Columns, pairwise_kernel};
use exactsvm::{Error, GramMatrix, Kernel, Points, Threads};

use crate::common::{Random, exact_dot};

const KERNELS: [Kernel; 9] = [
    Kernel::Linear,
    Kernel::Polynomial { gamma: 0.5, coef0: 1.0, degree: 0 },
    Kernel::Polynomial { gamma: 0.5, coef0: 1.0, degree: 1 },
    Kernel::Polynomial { gamma: 0.5, coef0: 1.0, degree: 2 },
    Kernel::Polynomial { gamma: 0.5, coef0: 0.0, degree: 3 },
    Kernel::Polynomial { gamma: 0.25, coef0: 1.0, degree: 5 },
    Kernel::Rbf { gamma: 0.3 },
    Kernel::Sigmoid { gamma: 0.2, coef0: -0.5 },
    Kernel::Laplacian { gamma: 0.4 },
];

/// One kernel value from the definition, and the size of the errors that rounding may leave in one.
fn one_by_one(kernel: &Kernel, x: &[f64], y: &[f64]) -> (f64, f64) {
    let pairs = || x.iter().zip(y);
    let dot = exact_dot(x.iter().copied(), y.iter().copied());
    let dot_error = f64::EPSILON
        * (pairs().map(|(a, b)| (a * b).abs()).sum::<f64>() * (4.0 + (x.len() as f64).sqrt()));
    match *kernel {
        Kernel::Linear => (dot, dot_error),
        Kernel::Polynomial { gamma, coef0, degree } => {
            let base = gamma * dot + coef0;
            let base_error = gamma * dot_error + 4.0 * f64::EPSILON * base.abs();
            let slope = f64::from(degree) * base.abs().powi((degree - 1).max(0));
            (base.powi(degree), slope * base_error + 8.0 * f64::EPSILON * base.powi(degree).abs())
        }
        Kernel::Rbf { gamma } => {
            let distance: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
            let norms = x.iter().chain(y).map(|a| a * a).sum::<f64>();
            let error = gamma * (2.0 * dot_error + (8.0 + x.len() as f64) * f64::EPSILON * norms);
            let value = (-gamma * distance).exp();
            (value, value * error + 2.0 * f64::EPSILON)
        }
        Kernel::Sigmoid { gamma, coef0 } => {
            ((gamma * dot + coef0).tanh(), gamma * dot_error + 4.0 * f64::EPSILON)
        }
        Kernel::Laplacian { gamma } => {
            let distance: f64 = pairs().map(|(a, b)| (a - b).abs()).sum();
            let error = gamma * distance * (8.0 + x.len() as f64) * f64::EPSILON;
            ((-gamma * distance).exp(), error + 2.0 * f64::EPSILON)
        }
    }
}

fn gram(points: &Points<'_>, kernel: &Kernel, n_threads: usize) -> GramMatrix<'static> {
    GramMatrix::compute(points, kernel, &Threads::new(n_threads), || true)
        .unwrap()
        .expect("nothing stops it")
}

fn entries(gram: &GramMatrix<'_>) -> Vec<f64> {
    (0..gram.len()).flat_map(|i| gram.row(i).to_vec()).collect()
}

#[test]
fn blocks_agree_with_the_definition() {
    for kernel in &KERNELS {
        for (n, m, d) in [
            (1, 1, 1),
            (3, 5, 2),
            (8, 8, 8),
            (65, 70, 3),
            (70, 513, 9),
            (130, 17, 33),
            (9, 520, 300),
        ] {
            let mut random = Random::new((n * m + d) as u64);
            let scale = 1.0 / (d as f64).sqrt();
            let mut data = |n: usize| -> Vec<f64> {
                random.normals(n * d).iter().map(|v| v * scale).collect()
            };
            let (x, y) = (data(n), data(m));
            let (px, py) =
                (Points::new(&x, n, d, kernel).unwrap(), Points::new(&y, m, d, kernel).unwrap());
            let values =
                pairwise_kernel(&px, &py, kernel, &Threads::new(2), || true).unwrap().unwrap();
            let own = gram(&px, kernel, 1);
            for i in 0..n {
                for j in 0..m {
                    let (wanted, tol) = one_by_one(kernel, px.row(i), py.row(j));
                    let error = (values[i * m + j] - wanted).abs();
                    assert!(
                        error <= tol,
                        "{kernel:?} {n}x{m}x{d} at ({i}, {j}): {error:e} for {tol:e}"
                    );
                }
                for j in 0..n {
                    let (wanted, tol) = one_by_one(kernel, px.row(i), px.row(j));
                    let error = (own.row(i)[j] - wanted).abs();
                    assert!(
                        error <= tol,
                        "{kernel:?} {n}x{d} at ({i}, {j}): {error:e} for {tol:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_block_starts_anywhere() {
    let mut random = Random::new(2);
    let (n, m, d) = (40, 23, 5);
    let (x, y) = (random.normals(n * d), random.normals(m * d));
    for kernel in &KERNELS {
        let (px, py) =
            (Points::new(&x, n, d, kernel).unwrap(), Points::new(&y, m, d, kernel).unwrap());
        for (start, rows) in [(0, 1), (7, 9), (39, 1), (0, 40), (13, 0)] {
            for from in [0, 1, 8, 22] {
                let mut out = vec![f64::NAN; rows * m];
                Columns::new(&py, kernel).fill(&px, start, from, py.len(), &mut out);
                for (k, value) in out.iter().enumerate().filter(|(k, _)| k % m >= from) {
                    let (wanted, tol) = one_by_one(kernel, px.row(start + k / m), py.row(k % m));
                    assert!(
                        (value - wanted).abs() <= tol,
                        "{kernel:?}, rows from {start}, columns from {from}"
                    );
                }
            }
        }
    }
}

#[test]
fn matrices_are_symmetric_to_the_last_bit() {
    let mut random = Random::new(3);
    for kernel in &KERNELS {
        for n in [1, 2, 7, 63, 64, 65, 129, 520] {
            let x = random.normals(n * 6);
            let k = gram(&Points::new(&x, n, 6, kernel).unwrap(), kernel, 2);
            assert_eq!(
                GramMatrix::check_symmetric(&entries(&k), n),
                Ok(true),
                "{kernel:?}, {n} rows"
            );
            for i in 0..n {
                assert_eq!(k.diagonal()[i], k.row(i)[i]);
            }
        }
    }
}

#[test]
fn equal_rows_are_at_distance_zero() {
    // The second half repeats the first, scales differ by column, and no entry is a round number: any difference between the
    // arithmetic of norms and that of products would show.
    let check = |n: usize, d: usize| {
        let mut random = Random::new((1000 * n + d) as u64);
        let half = n.div_ceil(2);
        let mut x: Vec<f64> =
            (0..half * d).map(|k| 10_f64.powi(k as i32 % 5 - 2) * random.normal() + 0.1).collect();
        x.extend_from_within(..(n - half) * d);
        for kernel in [Kernel::Rbf { gamma: 0.7 }, Kernel::Laplacian { gamma: 0.7 }] {
            for points in [
                Points::new(&x, n, d, &kernel).unwrap(),
                Points::centred(&x, n, d, &kernel).unwrap(),
            ] {
                let k = gram(&points, &kernel, 1);
                for i in 0..n {
                    assert_eq!(k.row(i)[i], 1.0, "diagonal {i} of {n} x {d}");
                }
                for i in half..n {
                    assert_eq!(
                        k.row(i)[i - half],
                        1.0,
                        "{}: rows {i} and {} of {n} x {d}",
                        kernel.name(),
                        i - half
                    );
                    // Equal points have equal columns, or a factor would see a difference.
                    for j in 0..n {
                        assert!((k.row(i)[j] - k.row(i - half)[j]).abs() <= 1e-12, "{n} x {d}");
                    }
                }
            }
        }
    };
    for d in (1..=40).chain([300]) {
        for n in 1..70 {
            check(n, d);
        }
    }
    for d in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 300] {
        for n in [129, 513, 520] {
            check(n, d);
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let mut random = Random::new(4);
    let (n, m, d) = (530, 217, 7);
    let (x, y) = (random.normals(n * d), random.normals(m * d));
    let weights = random.normals(n);
    let columns: Vec<usize> = (0..n).filter(|i| i % 3 != 1).collect();
    let picked: Vec<f64> = columns.iter().map(|&j| weights[j]).collect();
    for kernel in &KERNELS {
        let (px, py) =
            (Points::new(&x, n, d, kernel).unwrap(), Points::new(&y, m, d, kernel).unwrap());
        let all = |n_threads: usize| {
            let threads = Threads::new(n_threads);
            let k = gram(&px, kernel, n_threads);
            let pairs = pairwise_kernel(&px, &py, kernel, &threads, || true).unwrap().unwrap();
            let sums = k.column_sums(&columns, &picked, &threads);
            let mut added = vec![0.5; n];
            k.add_columns(&columns, &picked, &mut added, &threads);
            let sums: Vec<(f64, f64, f64)> = (0..n).map(|i| sums.at(i)).collect();
            (entries(&k), pairs, sums, added)
        };
        let one = all(1);
        for n_threads in [2, 3, 8] {
            assert!(all(n_threads) == one, "{kernel:?} on {n_threads} threads");
        }
    }
}

#[test]
fn sums_of_columns_are_exact_to_the_last_digit() {
    let mut random = Random::new(5);
    for n in [1, 7, 65, 513, 600] {
        let x = random.normals(n * 3);
        let k = gram(&Points::new(&x, n, 3, &Kernel::Linear).unwrap(), &Kernel::Linear, 1);
        // Weights over twelve decades: a plain sum would lose the small ones.
        let weights: Vec<f64> = (0..n).map(|_| random.sign() * random.decades(1e-6, 1e6)).collect();
        let columns: Vec<usize> = (0..n).filter(|_| random.chance(0.7)).collect();
        let picked: Vec<f64> = columns.iter().map(|&j| weights[j]).collect();
        let sums = k.column_sums(&columns, &picked, &Threads::new(2));
        let mut added = vec![1.0; n];
        k.add_columns(&columns, &picked, &mut added, &Threads::new(2));
        for i in 0..n {
            let row = columns.iter().map(|&j| k.row(j)[i]);
            let wanted = exact_dot(row.clone(), picked.iter().copied());
            let magnitude: f64 = row.zip(&picked).map(|(k, w)| (k * w).abs()).sum();
            let (high, low, size) = sums.at(i);
            assert!(
                (high + low - wanted).abs() <= f64::EPSILON * (wanted.abs() + 1e-14 * magnitude)
            );
            assert!((size - magnitude).abs() <= 1e-12 * magnitude);
            assert!((added[i] - 1.0 - wanted).abs() <= 1e-13 * (1.0 + magnitude));
        }
    }
}

#[test]
fn overflow_is_an_error_with_a_name() {
    let overflow = |values: &[f64], n: usize, kernel: Kernel| {
        let d = values.len() / n;
        let made = Points::new(values, n, d, &kernel)
            .and_then(|points| GramMatrix::compute(&points, &kernel, &Threads::new(1), || true));
        match made {
            Err(Error::KernelOverflow { kernel, largest }) => (kernel, largest),
            other => panic!("expected an overflow, got {other:?}"),
        }
    };
    let (name, largest) = overflow(&[1.0, 1e80, 2.0], 3, Kernel::Linear);
    assert!(name == "linear" && largest >= 1e140);
    let (name, _) = overflow(&[1e200, 1.0], 2, Kernel::Linear);
    assert_eq!(name, "linear");
    // Where a square overflows, inf - inf on the way gives NaN, which a bounded kernel would turn into an ordinary number.
    for (kernel, expected) in [
        (Kernel::Linear, "linear"),
        (Kernel::Rbf { gamma: 1.0 }, "RBF"),
        (Kernel::Sigmoid { gamma: 1.0, coef0: 0.0 }, "sigmoid"),
    ] {
        let (name, _) = overflow(&[1e200, -1e200, 1e200, 1e200], 2, kernel);
        assert_eq!(name, expected);
    }
    let (name, _) =
        overflow(&[1e5, 2.0], 2, Kernel::Polynomial { gamma: 1.0, coef0: 0.0, degree: 40 });
    assert_eq!(name, "polynomial");
    // Kernels with bounded values do not overflow as long as squares do not.
    for kernel in [Kernel::Rbf { gamma: 1.0 }, Kernel::Laplacian { gamma: 1.0 }] {
        let x = [1e100, -1e100, 0.0];
        let k = gram(&Points::new(&x, 3, 1, &kernel).unwrap(), &kernel, 1);
        for i in 0..3 {
            for j in 0..3 {
                assert_eq!(k.row(i)[j], f64::from(u8::from(i == j)), "{}", kernel.name());
            }
        }
    }
}

#[test]
fn precomputed_matrices_are_checked() {
    let matrix = |values: &[f64], n| GramMatrix::new(Cow::Borrowed(values), n).map(|_| ());
    assert!(matrix(&[1.0, 0.5, 0.5, 1.0], 2).is_ok());
    assert!(matches!(matrix(&[1.0, 0.5, 0.5], 2), Err(Error::Shape { argument: "matrix", .. })));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
        // In every position, also behind the last full block of the check.
        for at in [0, 4, 4095, 4096, 4899] {
            let mut values = vec![0.0; 70 * 70];
            values[at] = bad;
            match matrix(&values, 70) {
                Err(Error::KernelOverflow { kernel: "precomputed", largest }) => {
                    assert_eq!(largest.is_nan(), bad.is_nan());
                }
                other => panic!("{bad} at {at}: {other:?}"),
            }
        }
    }
}

#[test]
fn asymmetry_is_found_wherever_it_is() {
    for n in [2, 63, 64, 65, 130] {
        for (i, j) in [(1, 0), (n - 1, 0), (n - 1, n - 2), (n / 2, 0)] {
            if i == j {
                continue;
            }
            let mut values = vec![0.25; n * n];
            assert_eq!(GramMatrix::check_symmetric(&values, n), Ok(true));
            // A rounding error is no asymmetry, but the caller is told.
            values[i * n + j] += 1e-14;
            assert_eq!(GramMatrix::check_symmetric(&values, n), Ok(false), "{n}: ({i}, {j})");
            values[i * n + j] += 1e-3;
            match GramMatrix::check_symmetric(&values, n) {
                Err(Error::Asymmetric { row, column, difference, .. }) => {
                    assert_eq!((row.max(column), row.min(column)), (i, j));
                    assert!((difference - 1e-3).abs() < 1e-10);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(GramMatrix::check_symmetric(&[1.0; 5], 2).is_err());
}

#[test]
fn points_are_checked() {
    for kernel in &KERNELS {
        assert!(matches!(
            Points::new(&[1.0; 5], 2, 3, kernel),
            Err(Error::Shape { argument: "X", .. })
        ));
        for bad in [f64::NAN, f64::INFINITY] {
            let x = [1.0, bad];
            for points in [Points::new(&x, 2, 1, kernel), Points::centred(&x, 2, 1, kernel)] {
                assert!(matches!(points, Err(Error::Value { argument: "X", .. })));
            }
        }
    }
    let kernel = Kernel::Linear;
    let (x, y) = (
        Points::new(&[1.0; 4], 2, 2, &kernel).unwrap(),
        Points::new(&[1.0; 3], 1, 3, &kernel).unwrap(),
    );
    let mismatch = pairwise_kernel(&x, &y, &kernel, &Threads::new(1), || true);
    assert!(matches!(mismatch, Err(Error::Shape { argument: "Y", .. })));
}

#[test]
fn work_stops_when_told() {
    let x = Random::new(6).normals(400);
    for kernel in &KERNELS {
        let points = Points::new(&x, 200, 2, kernel).unwrap();
        let threads = Threads::new(2);
        assert!(GramMatrix::compute(&points, kernel, &threads, || false).unwrap().is_none());
        assert!(pairwise_kernel(&points, &points, kernel, &threads, || false).unwrap().is_none());
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let argument = |r: Result<Kernel, Error>| match r {
        Err(Error::Value { argument, .. }) => argument,
        other => panic!("{other:?}"),
    };
    for gamma in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(argument(Kernel::parse("rbf", gamma, 3, 0.0)), "gamma");
    }
    assert_eq!(argument(Kernel::parse("poly", 1.0, -1, 0.0)), "degree");
    assert_eq!(argument(Kernel::parse("poly", 1.0, 1 << 40, 0.0)), "degree");
    assert_eq!(argument(Kernel::parse("sigmoid", 1.0, 3, f64::NAN)), "coef0");
    assert_eq!(argument(Kernel::parse("gaussian", 1.0, 3, 0.0)), "kernel");
    // A linear kernel has no gamma to be wrong.
    assert_eq!(Kernel::parse("linear", f64::NAN, 3, 0.0), Ok(Kernel::Linear));
    for name in ["linear", "poly", "rbf", "sigmoid", "laplacian"] {
        assert!(Kernel::parse(name, 0.5, 3, 0.0).is_ok());
    }
}

#[test]
fn an_origin_close_to_the_data_changes_no_distance() {
    // On a grid all differences are exact: centred or not, the distances must agree to the last bit of the exponential.
    let mut random = Random::new(7);
    let x: Vec<f64> =
        (0..60).map(|_| 1000.0 + (random.between(-1.0, 1.0) * 1024.0).round() / 1024.0).collect();
    let kernel = Kernel::Rbf { gamma: 0.5 };
    let centred = Points::centred(&x, 30, 2, &kernel).unwrap();
    assert!(centred.origin().is_some(), "a mean of 1000 at a deviation of 1 pays");
    let k = gram(&centred, &kernel, 1);
    for i in 0..30 {
        for j in 0..30 {
            let distance: f64 = (0..2).map(|f| (x[2 * i + f] - x[2 * j + f]).powi(2)).sum();
            assert!((k.row(i)[j] - (-0.5 * distance).exp()).abs() <= 4.0 * f64::EPSILON);
        }
    }
    for i in 0..30 {
        assert_eq!(centred.given_row(i), &x[2 * i..2 * i + 2]);
    }
}
