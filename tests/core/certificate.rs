//! The certificate against its definition, summed with the rounding errors carried along.

use exactsvm::kkt;
use exactsvm::{
    Certificate, CmuSettings, DualProblem, DualProblemParts, GramMatrix, Kernel, Points,
    SolverStatus, Threads, certify,
};

use crate::common::{Case, Random, Recipe, exact_dot};

fn certificate(case: &Case, x: &[f64], bias: Option<f64>) -> Certificate {
    let beta: Vec<f64> = x.iter().zip(&case.signs).map(|(x, z)| x * z).collect();
    certify(&case.gram(), None, &case.problem(), &beta, bias, &Threads::new(1))
}

/// P, D and the sum of the gap's terms from the definitions, with the given multipliers.
fn by_definition(case: &Case, x: &[f64], multipliers: &[f64]) -> (f64, f64, f64) {
    let n = case.n;
    let g = case.gradient(x);
    let mu = |i: usize| if case.n_groups == 0 { 0.0 } else { multipliers[case.groups[i] as usize] };
    let r: Vec<f64> = (0..n).map(|i| g[i] - mu(i) * case.signs[i]).collect();
    let loss: Vec<f64> = r.iter().map(|r| (-r).max(0.0)).collect();
    let dual = -case.objective(x);
    // 1/2 x'Hx = 1/2 x'(g + c).
    let half = exact_dot(x.iter().chain(x).map(|x| 0.5 * x), g.iter().chain(&case.linear).copied());
    let total = |group: i64| {
        let members = || (0..n).filter(|&i| case.groups[i] == group);
        exact_dot(members().map(|i| case.start[i]), members().map(|i| case.signs[i]))
    };
    let fixed: f64 = (0..case.n_groups).map(|g| multipliers[g] * total(g as i64)).sum();
    let primal = half + exact_dot(case.upper.iter().copied(), loss.iter().copied()) - fixed;
    let gap = exact_dot(x.iter().chain(&case.upper).copied(), r.into_iter().chain(loss));
    (primal, dual, gap)
}

/// A feasible point that is not optimal: the start.
fn somewhere(case: &Case) -> Vec<f64> {
    case.start.clone()
}

#[test]
fn values_are_those_of_the_definition() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let recipe = Recipe {
            n_groups: seed as usize % 3,
            rank: 5 + random.below(30),
            from_zero: false,
            bound: random.decades(1e-2, 1e2),
            scale: random.decades(1e-2, 1e2),
            ..Recipe::plain(35)
        };
        let mut case = recipe.build(&mut random);
        if case.n_groups == 0 {
            case.start = case.upper.iter().map(|u| u * random.unit()).collect();
        }
        for x in [somewhere(&case), case.solution.clone()] {
            let c = certificate(&case, &x, None);
            assert_eq!(c.multipliers.len(), case.n_groups);
            let (primal, dual, gap) = by_definition(&case, &x, &c.multipliers);
            let size = case.objective_size(&x) + case.objective_size(&case.solution);
            let tol = 1e-14 * size;
            assert!(
                (c.dual_objective - dual).abs() <= tol,
                "seed {seed}: D {} and {dual}",
                c.dual_objective
            );
            assert!(
                (c.primal_objective - primal).abs() <= 10.0 * tol,
                "seed {seed}: P {} and {primal}",
                c.primal_objective
            );
            assert!(
                (c.duality_gap - gap).abs() <= 10.0 * tol,
                "seed {seed}: gap {} and {gap}",
                c.duality_gap
            );
            assert_eq!(c.relative_gap, c.duality_gap / c.dual_objective.abs().max(1.0));
            // Every term of the gap is at least 0, so the sum is, whatever the rounding.
            assert!(c.duality_gap >= 0.0);

            // Weak duality: the optimal value lies between.
            let best = -case.objective(&case.solution);
            assert!(
                c.dual_objective <= best + tol && best <= c.primal_objective + 10.0 * tol,
                "seed {seed}"
            );

            let judged = case.judge(&x);
            assert!(
                (c.kkt_violation - judged.violation.max(0.0)).abs() <= 1e-13 * case.gradient_size()
            );
            assert!((c.precision_floor / judged.floor - 1.0).abs() < 1e-12);
            assert_eq!(c.box_residual, 0.0);
            let gradient = case.gradient(&x);
            for i in 0..case.n {
                assert!(
                    (c.gradient[i] - gradient[i]).abs()
                        <= 4.0 * f64::EPSILON * gradient[i].abs() + judged.floor
                );
            }
            let strict = (0..case.n).filter(|&i| 0.0 < x[i] && x[i] < case.upper[i]).count();
            let bounded = (0..case.n).filter(|&i| x[i] == case.upper[i]).count();
            assert_eq!((c.n_free, c.n_bounded), (strict, bounded));
        }
    }
}

#[test]
fn at_a_known_optimum_the_gap_is_rounding() {
    for seed in 0..60 {
        let mut random = Random::new(1000 + seed);
        let case = Recipe { n_groups: seed as usize % 3, ..Recipe::plain(30) }.build(&mut random);
        let c = certificate(&case, &case.solution, None);
        assert!(
            c.duality_gap <= 1e-13 * case.objective_size(&case.solution),
            "seed {seed}: {:e}",
            c.duality_gap
        );
        assert!(c.kkt_violation <= c.precision_floor);
        assert!(c.equality_residual <= 1e-14 * case.upper.iter().sum::<f64>());
        for (mu, interval) in c.multipliers.iter().zip(&c.bias_intervals) {
            assert!(interval.0 <= -mu && -mu <= interval.1);
        }
    }
}

#[test]
fn without_a_free_variable_there_is_an_interval_of_biases() {
    for seed in 0..30 {
        let mut random = Random::new(2000 + seed);
        let recipe =
            Recipe { free: 0.0, bounded: 0.5, from_zero: false, n_groups: 1, ..Recipe::plain(25) };
        let case = recipe.build(&mut random);
        let mut at_solution = case.clone();
        at_solution.start.clone_from(&case.solution);
        let c = certificate(&at_solution, &case.solution, None);
        let (low, high) = c.bias_intervals[0];
        assert!(low < high, "seed {seed}: slacks are clear of zero");
        let gap = |bias: f64| certificate(&at_solution, &case.solution, Some(bias)).duality_gap;
        let size = case.objective_size(&case.solution);
        // Inside, every bias closes the gap; outside, none does.
        for bias in [low, high, 0.5 * (low + high), low + 0.1 * (high - low)] {
            assert!(gap(bias) <= 1e-13 * size, "seed {seed}");
        }
        let step = high - low;
        assert!(gap(low - step) > 1e-9 * size && gap(high + step) > 1e-9 * size, "seed {seed}");
    }
}

#[test]
fn a_given_bias_is_judged_as_it_is() {
    for seed in 0..60 {
        let mut random = Random::new(3000 + seed);
        let recipe = Recipe { from_zero: seed % 2 == 0, rank: 8, ..Recipe::plain(20) };
        let case = recipe.build(&mut random);
        let x = case.solution.clone();
        let best = certificate(&case, &x, None);
        for bias in [-best.multipliers[0], 0.0, random.normal(), 100.0 * random.normal()] {
            let c = certificate(&case, &x, Some(bias));
            assert!((c.multipliers[0] + bias).abs() <= 1e-14 * (bias.abs() + case.gradient_size()));
            let (primal, dual, gap) = by_definition(&case, &x, &[-bias]);
            let tol =
                1e-13 * (case.objective_size(&x) + bias.abs() * case.upper.iter().sum::<f64>());
            assert!((c.primal_objective - primal).abs() <= tol, "seed {seed}, bias {bias}");
            assert!((c.duality_gap - gap).abs() <= tol && (c.dual_objective - dual).abs() <= tol);
            assert!(c.duality_gap >= best.duality_gap - tol, "no bias is better than the best");
        }
    }
}

#[test]
fn a_linear_term_far_from_zero_moves_multipliers_and_nothing_else() {
    for n_groups in [1, 2] {
        let mut random = Random::new(4000 + n_groups as u64);
        let mut case =
            Recipe { n_groups, rank: 10, from_zero: false, ..Recipe::plain(30) }.build(&mut random);
        // On a grid, so that adding the offset is exact.
        for c in &mut case.linear {
            *c = (*c * 1_048_576.0).round() / 1_048_576.0;
        }
        let x = somewhere(&case);
        let near = certificate(&case, &x, None);
        let offsets = [1e6, -2e6];
        let mut far = case.clone();
        for (i, c) in far.linear.iter_mut().enumerate() {
            *c += case.signs[i] * offsets[case.groups[i] as usize];
        }
        let moved = certificate(&far, &x, None);
        assert_eq!(moved.kkt_violation, near.kkt_violation);
        // The gap charges what rounding took from the sums at the price of the multiplier.
        let price = 4e6 * near.equality_residual + 1e-14 * near.duality_gap;
        assert!((moved.duality_gap - near.duality_gap).abs() <= price);
        assert_eq!(moved.precision_floor, near.precision_floor);
        for g in 0..n_groups {
            // g = Hx - c: a larger c makes a smaller multiplier.
            let error = moved.multipliers[g] - (near.multipliers[g] - offsets[g]);
            assert!(error.abs() <= 4.0 * f64::EPSILON * 2e6, "{error:e}");
        }
        let (primal, dual, _) = by_definition(&far, &x, &moved.multipliers);
        let size = far.objective_size(&x);
        assert!((moved.dual_objective - dual).abs() <= 1e-14 * size);
        assert!((moved.primal_objective - primal).abs() <= 1e-13 * size);
        let gradient = far.gradient(&x);
        for i in 0..far.n {
            assert!((moved.gradient[i] - gradient[i]).abs() <= 1e-15 * 2e6);
        }
    }
}

/// Separable classes with the linear kernel and their points.
fn separable(random: &mut Random, n: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut signs: Vec<f64> = (0..n).map(|_| random.sign()).collect();
    (signs[0], signs[1]) = (1.0, -1.0);
    let mut x = random.normals(n * d);
    for i in 0..n {
        x[i * d] = signs[i] * random.between(1.0, 3.0);
    }
    (x, signs)
}

#[test]
fn the_hard_margin_is_scaled_until_it_is_feasible() {
    for seed in 0..40 {
        let mut random = Random::new(5000 + seed);
        let (n, d) = (20, 3);
        let (x, signs) = separable(&mut random, n, d);
        let kernel = Kernel::Linear;
        let points = Points::new(&x, n, d, &kernel).unwrap();
        let threads = Threads::new(1);
        let gram = GramMatrix::compute(&points, &kernel, &threads, || true).unwrap().unwrap();
        let problem = DualProblem::classification(&signs, &vec![f64::INFINITY; n], None).unwrap();
        // w = (1, 0, ..) times what beta makes of it, plus some noise: separates, is not optimal.
        let beta: Vec<f64> = {
            let mut beta: Vec<f64> = (0..n).map(|i| signs[i] * random.between(0.1, 1.0)).collect();
            let sum = |beta: &[f64], s: f64| -> f64 {
                beta.iter().filter(|b| **b * s > 0.0).sum::<f64>().abs()
            };
            let (plus, minus) = (sum(&beta, 1.0), sum(&beta, -1.0));
            for b in &mut beta {
                *b /= if *b > 0.0 { plus } else { minus };
            }
            beta
        };
        let w: Vec<f64> =
            (0..d).map(|k| exact_dot(beta.iter().copied(), (0..n).map(|i| x[i * d + k]))).collect();
        let f = |i: usize| exact_dot(w.iter().copied(), x[i * d..(i + 1) * d].iter().copied());
        let square = exact_dot(w.iter().copied(), w.iter().copied());
        let dual = exact_dot(
            beta.iter().map(|b| b.abs()).chain([-0.5]),
            std::iter::repeat_n(1.0, n).chain([square]),
        );
        for (bias, linear_points) in [(0.0, None), (0.0, Some(&points)), (0.05, None), (50.0, None)]
        {
            let c = certify(&gram, linear_points, &problem, &beta, Some(bias), &threads);
            let margin = (0..n).map(|i| signs[i] * (f(i) + bias)).fold(f64::INFINITY, f64::min);
            assert!((c.dual_objective - dual).abs() <= 1e-13 * dual.abs().max(1.0));
            if margin > 1e-9 {
                let primal = 0.5 * square / (margin * margin);
                assert!(
                    (c.primal_objective - primal).abs() <= 1e-9 * primal,
                    "seed {seed}: {} and {primal}",
                    c.primal_objective
                );
                assert!(c.duality_gap >= 0.0);
            } else if margin < -1e-9 {
                assert_eq!(
                    c.primal_objective,
                    f64::INFINITY,
                    "a bias that does not separate proves nothing"
                );
            }
        }
    }
}

#[test]
fn at_the_hard_margin_optimum_the_gap_closes() {
    let mut random = Random::new(6000);
    let (n, d) = (30, 2);
    let (x, signs) = separable(&mut random, n, d);
    let kernel = Kernel::Linear;
    let points = Points::new(&x, n, d, &kernel).unwrap();
    let threads = Threads::new(1);
    let gram = GramMatrix::compute(&points, &kernel, &threads, || true).unwrap().unwrap();
    let problem = DualProblem::classification(&signs, &vec![f64::INFINITY; n], None).unwrap();
    let mut observer = exactsvm::NoObserver;
    let mut monitor = exactsvm::Monitor::new(&mut observer, None);
    let settings = CmuSettings { tol: 1e-12, ..CmuSettings::default() };
    let solution =
        exactsvm::cmu::solve(&gram, &problem, &settings, true, &threads, &mut monitor).unwrap();
    assert!(solution.info.status.is_optimal());
    let c = certify(&gram, Some(&points), &problem, &solution.beta, None, &threads);
    assert!(c.duality_gap >= 0.0 && c.relative_gap <= 1e-9, "gap {:e}", c.relative_gap);
    let c = certify(&gram, None, &problem, &[0.0; 30], None, &threads);
    assert_eq!(c.duality_gap, f64::INFINITY, "w = 0 separates nothing");
}

#[test]
fn one_infinite_bound_that_is_pushed_against_proves_nothing() {
    let mut case = Recipe::plain(12).build(&mut Random::new(7000));
    case.start.fill(0.0);
    case.linear.fill(1.0);
    case.upper[3] = f64::INFINITY;
    let c = certificate(&case, &case.start, Some(0.0));
    assert_eq!(c.duality_gap, f64::INFINITY);
    assert!(c.primal_objective.is_infinite() && c.dual_objective == 0.0);
}

#[test]
fn linear_points_take_the_rounding_of_the_entries_out() {
    // Entries near 1e10 that cancel: through w the products are exact to the last digit, through the matrix they are not.
    let mut random = Random::new(8000);
    let (n, d) = (40, 2);
    let x: Vec<f64> = (0..n * d)
        .map(|k| if k % 2 == 0 { 1e5 + random.normal() } else { random.normal() })
        .collect();
    let signs: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let kernel = Kernel::Linear;
    let points = Points::new(&x, n, d, &kernel).unwrap();
    let threads = Threads::new(1);
    let gram = GramMatrix::compute(&points, &kernel, &threads, || true).unwrap().unwrap();
    let problem = DualProblem::classification(&signs, &vec![1.0; n], None).unwrap();
    // Signed sum exactly 0.
    let beta: Vec<f64> = (0..n).map(|i| signs[i] * 0.125 * (1 + (i / 2) % 7) as f64).collect();
    let c = certify(&gram, Some(&points), &problem, &beta, None, &threads);
    let w: Vec<f64> =
        (0..d).map(|k| exact_dot(beta.iter().copied(), (0..n).map(|i| x[i * d + k]))).collect();
    let wanted = exact_dot(beta.iter().map(|b| b.abs()), std::iter::repeat_n(1.0, n))
        - 0.5 * exact_dot(w.iter().copied(), w.iter().copied());
    assert!((c.dual_objective - wanted).abs() <= 1e-14 * wanted.abs());
}

#[test]
fn judged_by_tolerance_or_floor() {
    let case = Recipe::plain(20).build(&mut Random::new(9000));
    let mut c = certificate(&case, &case.solution, None);
    (c.kkt_violation, c.precision_floor) = (1e-9, 1e-8);
    assert_eq!(c.judge(1e-9), Some(SolverStatus::Optimal));
    assert_eq!(c.judge(1e-10), Some(SolverStatus::OptimalToPrecision));
    c.kkt_violation = 1e-7;
    assert_eq!(c.judge(1e-10), None);
    c.kkt_violation = 1e-9;
    for (gap, status) in [(0.9, Some(SolverStatus::Optimal)), (1.1, None), (1e80, None)] {
        c.relative_gap = gap;
        assert_eq!(c.judge(1e-9), status, "a gap of {gap} objectives");
    }
    c.relative_gap = 0.0;
    c.kkt_violation = f64::NAN;
    assert_eq!(c.judge(1e-10), None, "what is not a number is not optimal");
}

#[test]
fn a_point_outside_is_measured() {
    let case = Recipe::plain(10).build(&mut Random::new(9100));
    let mut x = vec![0.0; 10];
    x[2] = case.upper[2] + 0.5;
    let c = certificate(&case, &x, None);
    assert!((c.box_residual - 0.5).abs() < 1e-15);
    assert!((c.equality_residual - x[2]).abs() <= 1e-15);
}

#[test]
fn ends_of_the_bias_are_read_off_the_gradient() {
    let parts =
        DualProblemParts { signs: &[1.0, 1.0, -1.0, -1.0], upper: &[1.0; 4], ..Default::default() };
    let problem = DualProblem::new(&parts).unwrap();
    // At zero the positive ones may grow (-gamma: 3, 1), the negative ones shrink (-gamma: -2, 0.5).
    let gradient = [-3.0, -1.0, 2.0, -0.5];
    let ends = kkt::ends(&problem, &[0.0; 4], &gradient);
    assert_eq!((ends.len(), ends[0].grow, ends[0].shrink), (1, 3.0, -2.0));
    assert_eq!(kkt::violation(&problem, &ends), 5.0);
    assert_eq!(ends[0].multiplier(), -0.5);
    // A free variable sets the bias.
    let ends = kkt::ends(&problem, &[0.5, 0.0, 0.0, -0.5], &gradient);
    assert_eq!(ends[0].bias_interval(), (1.75, 1.75));
    // All of one kind: only one end.
    let parts = DualProblemParts { signs: &[1.0, 1.0], upper: &[1.0; 2], ..Default::default() };
    let problem = DualProblem::new(&parts).unwrap();
    let ends = kkt::ends(&problem, &[0.0; 2], &[2.0, 3.0]);
    assert_eq!(kkt::violation(&problem, &ends), 0.0, "nothing may shrink, so nothing may move");
    assert_eq!(ends[0].multiplier(), 2.0);
}
