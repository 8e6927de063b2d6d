//! CMU on constructed problems whose solution is known.

use exactsvm::{CmuSettings, Solution, SolverStatus};

use crate::common::{Case, Random, Recipe, outer};

/// Compares a solved problem with its known solution.
fn check(case: &Case, solution: &Solution, settings: &CmuSettings, label: &str) {
    let x = case.unsigned(&solution.beta);
    let judged = case.judge(&x);
    let info = &solution.info;
    assert!(info.status.is_optimal(), "{label}: {} after {} cycles", info.status, info.n_cycles);
    assert!(judged.in_box, "{label}: outside the box");
    // Sums are kept by moving the free variables together; without any, nothing moves that could drift.
    assert!(judged.drift <= 1e-12, "{label}: the sums drifted by {:e}", judged.drift);
    // The solver's own floor may differ from this one in the last digits of a sum.
    let allowed = settings.tol.max(judged.floor * 1.001);
    assert!(
        judged.violation <= allowed,
        "{label}: violation {:e} for {allowed:e}",
        judged.violation
    );

    let best = case.objective(&case.solution);
    // The known solution is one of the problem whose linear term was rounded: its objective is known up to the rounding of terms.
    let terms = case.objective_size(&case.solution) + case.objective_size(&case.start);
    let rounding = 4.0 * f64::EPSILON * terms;
    let error = (judged.objective - best).abs();
    assert!(
        error <= 1e-10 * best.abs() + rounding,
        "{label}: objective off by {error:e} of {best:e}"
    );

    // A variable whose slack exceeds any possible error of the gradient must be where the solution has it. The gradient is the
    // same for all solutions of a convex problem, so this holds for singular matrices too.
    let clear = 10.0 * allowed + 1e-7 * case.gradient_size();
    // Without a free variable, the one sum that rounding left for the start keeps a variable that far from its bound.
    let rest = 16.0 * f64::EPSILON * case.solution.iter().chain(&case.start).sum::<f64>();
    for i in 0..case.n {
        if case.slack[i] > clear {
            let error = (x[i] - case.solution[i]).abs();
            assert!(
                error <= rest,
                "{label}: variable {i} off by {error:e}, slack {:e}",
                case.slack[i]
            );
        }
    }
    // About three times what the worst of many thousand such problems took.
    let size = 20 + case.n;
    assert!(info.n_cycles <= size, "{label}: {} cycles", info.n_cycles);
    assert!(info.n_pair_steps <= 70 * size, "{label}: {} pair steps", info.n_pair_steps);
    assert!(info.n_newton_steps <= 10 * size, "{label}: {} Newton steps", info.n_newton_steps);
}

fn settings_for(case: &Case) -> CmuSettings {
    CmuSettings { tol: 1e-12 * case.gradient_size(), ..CmuSettings::default() }
}

fn solve_and_check(case: &Case, label: &str) -> Solution {
    let settings = settings_for(case);
    let solution = case.solve(&settings, true, 1);
    check(case, &solution, &settings, label);
    solution
}

#[test]
fn a_thousand_random_problems() {
    let (mut dependent, mut deletes, mut two_groups, mut infinite) = (0, 0, 0, 0);
    for seed in 0..1000 {
        let mut random = Random::new(1000 + seed);
        let recipe = Recipe::random(&mut random);
        let case = recipe.build(&mut random);
        let solution = solve_and_check(&case, &format!("seed {seed}, {recipe:?}"));
        dependent += usize::from(solution.info.n_dependent > 0);
        deletes += usize::from(solution.info.n_deletes > 0);
        two_groups += usize::from(recipe.n_groups == 2);
        infinite += usize::from(recipe.infinite_bounds);
    }
    // The generator must reach the hard places.
    assert!(dependent > 100 && deletes > 100 && two_groups > 200 && infinite > 50);
}

#[test]
fn ranks_from_one_to_full() {
    for rank in 1..=40 {
        for (n_groups, duplicates) in [(1, 0.0), (2, 0.5), (0, 0.9), (1, 1.0)] {
            let mut random = Random::new(rank as u64);
            let recipe = Recipe { rank, n_groups, duplicates, ..Recipe::plain(40) };
            solve_and_check(&recipe.build(&mut random), &format!("{recipe:?}"));
        }
    }
}

#[test]
fn every_variable_at_a_bound() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let recipe = Recipe {
            free: 0.0,
            bounded: [0.0, 0.5, 1.0][seed as usize % 3],
            n_groups: 1 + seed as usize % 2,
            from_zero: seed % 4 < 2,
            ..Recipe::plain(5 + seed as usize)
        };
        let case = recipe.build(&mut random);
        solve_and_check(&case, &format!("seed {seed}, {recipe:?}"));
    }
}

#[test]
fn every_variable_free() {
    for seed in 0..30 {
        let mut random = Random::new(100 + seed);
        let rank = if seed % 2 == 0 { 60 } else { 7 };
        let recipe = Recipe { free: 1.0, rank, n_groups: seed as usize % 3, ..Recipe::plain(60) };
        let case = recipe.build(&mut random);
        let solution = solve_and_check(&case, &format!("seed {seed}, {recipe:?}"));
        if rank == 60 {
            // A positive definite matrix has one solution, which is in the interior here.
            let x = case.unsigned(&solution.beta);
            let error =
                x.iter().zip(&case.solution).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-6, "x off by {error:e}");
        }
    }
}

#[test]
fn one_class_with_a_single_member() {
    for seed in 0..40 {
        let mut random = Random::new(200 + seed);
        let recipe = Recipe {
            lone_member: true,
            from_zero: seed % 2 == 0,
            free: random.unit(),
            rank: 2 + random.below(20),
            ..Recipe::plain(22)
        };
        solve_and_check(&recipe.build(&mut random), &format!("seed {seed}, {recipe:?}"));
    }
}

#[test]
fn infinite_bounds() {
    for seed in 0..150 {
        let mut random = Random::new(300 + seed);
        let n = 3 + random.below(40);
        let recipe = Recipe {
            infinite_bounds: true,
            n_groups: seed as usize % 3,
            rank: 1 + random.below(n),
            duplicates: if seed % 2 == 0 { 0.0 } else { 0.6 },
            from_zero: seed % 5 < 2,
            ..Recipe::plain(n)
        };
        solve_and_check(&recipe.build(&mut random), &format!("seed {seed}, {recipe:?}"));
    }
}

/// C-SVC on points with the linear kernel.
fn classification(points: &[f64], d: usize, signs: &[f64], upper: f64) -> Case {
    let n = signs.len();
    Case {
        n,
        matrix: outer(points, n, d),
        signs: signs.to_vec(),
        linear: vec![1.0; n],
        upper: vec![upper; n],
        groups: vec![0; n],
        n_groups: 1,
        start: vec![0.0; n],
        solution: vec![0.0; n],
        slack: vec![0.0; n],
    }
}

#[test]
fn hard_margin() {
    // Margin 1 on each side of the line x_1 = 0, whatever else there is further out: w = (1, 0), objective -1/2.
    let mut points = vec![1.0, 5.0, -1.0, 5.0];
    let mut signs = vec![1.0, -1.0];
    let mut random = Random::new(8);
    for _ in 0..30 {
        let sign = random.sign();
        points.extend([sign * random.between(1.0, 4.0), 5.0 + random.normal()]);
        signs.push(sign);
    }
    let case = classification(&points, 2, &signs, f64::INFINITY);
    let solution = case.solve(&CmuSettings::default(), true, 1);
    assert!(solution.info.status.is_optimal());
    let judged = case.judge(&case.unsigned(&solution.beta));
    assert!((judged.objective + 0.5).abs() < 1e-10, "objective {}", judged.objective);
}

#[test]
fn data_that_no_plane_separates_have_an_unbounded_dual() {
    let overlapping = [
        // Equal points of different classes: the pair itself has no curvature.
        classification(&[1.0, 1.0, 3.0], 1, &[1.0, -1.0, 1.0], f64::INFINITY),
        // On a line in the order + - + -: only a combination of pairs has none.
        classification(&[0.0, 1.0, 2.0, 3.0], 1, &[1.0, -1.0, 1.0, -1.0], f64::INFINITY),
        // The corners of a square, by the diagonals.
        classification(
            &[0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0],
            2,
            &[1.0, 1.0, -1.0, -1.0],
            f64::INFINITY,
        ),
    ];
    for (k, case) in overlapping.into_iter().enumerate() {
        let solution = case.solve(&CmuSettings::default(), true, 1);
        assert_eq!(solution.info.status, SolverStatus::Unbounded, "case {k}");
        let judged = case.judge(&case.unsigned(&solution.beta));
        assert!(judged.in_box && judged.drift < 1e-12, "case {k}");
        // With bounds it is an ordinary problem.
        let bounded = Case { upper: vec![7.0; case.n], ..case };
        let solution = bounded.solve(&CmuSettings::default(), true, 1);
        assert!(solution.info.status.is_optimal(), "case {k} with bounds");
    }
    // The same without an equality: one variable without curvature, and one that only a combination frees.
    for points in [vec![0.0, 1.0], vec![1.0, -1.0]] {
        let mut case = classification(&points, 1, &[1.0, 1.0], f64::INFINITY);
        case.n_groups = 0;
        let solution = case.solve(&CmuSettings::default(), true, 1);
        assert_eq!(solution.info.status, SolverStatus::Unbounded, "{points:?}");
    }
}

#[test]
fn large_random_data_that_overlap_are_unbounded_too() {
    for seed in 0..20 {
        let mut random = Random::new(400 + seed);
        let (n, d) = (40 + random.below(40), 1 + random.below(6));
        let points = random.normals(n * d);
        let signs: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let case = classification(&points, d, &signs, f64::INFINITY);
        let solution = case.solve(&CmuSettings::default(), true, 1);
        assert_eq!(solution.info.status, SolverStatus::Unbounded, "seed {seed}");
    }
}

#[test]
fn a_start_at_the_solution_needs_no_work() {
    for seed in 0..30 {
        let mut random = Random::new(500 + seed);
        let recipe = Recipe { n_groups: seed as usize % 3, rank: 10, ..Recipe::plain(30) };
        let mut case = recipe.build(&mut random);
        case.start.clone_from(&case.solution);
        // Rounding of the linear term leaves a violation of a few units of the gradient's precision.
        let settings = CmuSettings { tol: 1e-13 * case.gradient_size(), ..CmuSettings::default() };
        let solution = case.solve(&settings, true, 1);
        check(&case, &solution, &settings, &format!("seed {seed}"));
        assert!(solution.info.n_cycles <= 3, "seed {seed}: {} cycles", solution.info.n_cycles);
    }
}

#[test]
fn a_linear_term_far_from_zero_costs_no_digits() {
    for seed in 0..30 {
        let mut random = Random::new(600 + seed);
        let n_groups = 1 + seed as usize % 2;
        let recipe = Recipe { n_groups, rank: 12, ..Recipe::plain(40) };
        let mut case = recipe.build(&mut random);
        // Whole numbers on a grid of 2^-20: adding a million to them is exact, and moves nothing but the multipliers.
        let grid = |c: f64| (c * 1_048_576.0).round() / 1_048_576.0;
        for c in &mut case.linear {
            *c = grid(*c);
        }
        let plain = case.solve(&CmuSettings { tol: 1e-12, ..CmuSettings::default() }, true, 1);
        let mut far = case.clone();
        for (i, c) in far.linear.iter_mut().enumerate() {
            *c += case.signs[i] * [1e6, -3e6][case.groups[i] as usize];
        }
        let moved = far.solve(&CmuSettings { tol: 1e-12, ..CmuSettings::default() }, true, 1);
        assert!(plain.info.status.is_optimal() && moved.info.status.is_optimal());
        let judged = far.judge(&far.unsigned(&moved.beta));
        assert!(judged.floor < 1e-12, "the floor does not see the offset: {:e}", judged.floor);
        // Both problems have the same centred linear term, bit for bit, hence the same path.
        assert_eq!(plain.beta, moved.beta, "seed {seed}");
    }
}

#[test]
fn a_matrix_of_zeros_is_a_linear_program() {
    for n_groups in 0..3 {
        let mut random = Random::new(700 + n_groups as u64);
        let mut case = Recipe { n_groups, ..Recipe::plain(30) }.build(&mut random);
        case.matrix.fill(0.0);
        case.linear = random.normals(30);
        let solution = case.solve(&CmuSettings::default(), true, 1);
        assert!(solution.info.status.is_optimal(), "{n_groups} groups: {}", solution.info.status);
        let judged = case.judge(&case.unsigned(&solution.beta));
        assert!(judged.violation <= 1e-10 && judged.in_box && judged.drift < 1e-12);
    }
}

#[test]
fn one_variable() {
    let mut case = classification(&[2.0], 1, &[1.0], 3.0);
    // Under an equality it cannot move.
    let solution = case.solve(&CmuSettings::default(), true, 1);
    assert_eq!((solution.info.status, solution.beta[0]), (SolverStatus::Optimal, 0.0));
    // Without, it goes to its minimum at 1/4, or to its bound.
    case.n_groups = 0;
    let solution = case.solve(&CmuSettings::default(), true, 1);
    assert_eq!((solution.info.status, solution.beta[0]), (SolverStatus::Optimal, 0.25));
    case.upper[0] = 0.125;
    let solution = case.solve(&CmuSettings::default(), true, 1);
    assert_eq!((solution.info.status, solution.beta[0]), (SolverStatus::Optimal, 0.125));
}

/// A random symmetric matrix with eigenvalues of both signs, `negative` of them below zero.
fn indefinite(n: usize, rank: usize, negative: usize, random: &mut Random) -> Vec<f64> {
    let (plus, minus) = (
        outer(&random.normals(n * rank), n, rank),
        outer(&random.normals(n * negative), n, negative),
    );
    plus.iter().zip(&minus).map(|(a, b)| a - b).collect()
}

#[test]
fn indefinite_matrices_end_stationary() {
    for seed in 0..120 {
        let mut random = Random::new(800 + seed);
        let n = 4 + random.below(40);
        let mut case =
            Recipe { n_groups: seed as usize % 3, from_zero: seed % 2 == 0, ..Recipe::plain(n) }
                .build(&mut random);
        let negative = 2 + random.below(4);
        case.matrix = indefinite(n, 1 + random.below(n), negative, &mut random);
        for known_convex in [false, true] {
            // Even who claims convexity must not get "optimal" after negative curvature was met on the way; who does not, never.
            let solution = case.solve(&CmuSettings::default(), known_convex, 1);
            let judged = case.judge(&case.unsigned(&solution.beta));
            assert!(judged.in_box && judged.drift < 1e-11, "seed {seed}");
            if !known_convex {
                assert_eq!(solution.info.status, SolverStatus::Stationary, "seed {seed}");
                assert!(solution.info.most_negative_curvature < 0.0, "seed {seed}");
            }
            let allowed = judged.floor.max(1e-10) * 1.001;
            assert!(judged.violation <= allowed, "seed {seed}: violation {:e}", judged.violation);
            let start = case.objective(&case.start);
            assert!(judged.objective <= start + 1e-12 * start.abs(), "seed {seed}: climbed");
        }
    }
}

#[test]
fn a_convex_matrix_of_unknown_origin_is_checked_and_passes() {
    for seed in 0..60 {
        let mut random = Random::new(900 + seed);
        let n = 5 + random.below(60);
        let recipe = Recipe {
            n_groups: seed as usize % 3,
            rank: 1 + random.below(n),
            duplicates: 0.3,
            ..Recipe::plain(n)
        };
        let case = recipe.build(&mut random);
        let settings = settings_for(&case);
        let solution = case.solve(&settings, false, 1);
        check(&case, &solution, &settings, &format!("seed {seed}, {recipe:?}"));
        assert_eq!(solution.info.most_negative_curvature, 0.0);
    }
}

#[test]
fn hidden_negative_curvature_is_found_off_the_diagonal() {
    // Zeros on the diagonal: every pivot is zero, and only the entries beside them show that the matrix is indefinite.
    let mut case = classification(&[0.0, 0.0], 1, &[1.0, 1.0], 1.0);
    case.n_groups = 0;
    case.matrix = vec![0.0, 1.0, 1.0, 0.0];
    case.linear = vec![0.5, 0.5];
    let solution = case.solve(&CmuSettings::default(), false, 1);
    assert_eq!(solution.info.status, SolverStatus::Stationary);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    // Large enough that every parallel path is taken: products of columns, panels of the factor, the fresh gradient.
    let mut random = Random::new(12);
    for n_groups in [1, 2] {
        let recipe = Recipe { n_groups, free: 0.85, rank: 650, ..Recipe::plain(650) };
        let case = recipe.build(&mut random);
        let settings = settings_for(&case);
        let one = case.solve(&settings, true, 1);
        check(&case, &one, &settings, "one thread");
        let n_free = one
            .beta
            .iter()
            .enumerate()
            .filter(|(i, b)| **b != 0.0 && b.abs() < case.upper[*i])
            .count();
        assert!(n_free > 450, "only {n_free} free variables: the threads had nothing to do");
        for n_threads in [2, 3, 8] {
            let many = case.solve(&settings, true, n_threads);
            assert_eq!(many.beta, one.beta, "{n_threads} threads");
            assert_eq!(many.info.n_newton_steps, one.info.n_newton_steps);
        }
    }
}

#[test]
fn settings_lead_to_the_same_solution_by_other_ways() {
    let mut random = Random::new(13);
    for seed in 0..20 {
        let case =
            Recipe { rank: 2 + seed, duplicates: 0.2, ..Recipe::plain(40) }.build(&mut random);
        for (growth, least_growth, max_refinements) in [(0.01, 1, 0), (0.5, 10, 4), (10.0, 200, 1)]
        {
            let settings =
                CmuSettings { growth, least_growth, max_refinements, ..settings_for(&case) };
            let solution = case.solve(&settings, true, 1);
            let judged = case.judge(&case.unsigned(&solution.beta));
            assert!(solution.info.status.is_optimal());
            assert!(judged.violation <= settings.tol.max(judged.floor * 1.001));
        }
    }
}

#[test]
fn bent_steps_change_nothing_but_the_work() {
    let mut random = Random::new(31);
    let (mut bent, mut saved) = (0, 0_i64);
    for seed in 0..60 {
        let n = 40 + 4 * seed;
        let recipe =
            Recipe { n_groups: 1 + seed % 2, free: 0.6, rank: n / 2 + 1, ..Recipe::plain(n) };
        let case = recipe.build(&mut random);
        let with = settings_for(&case);
        let without = CmuSettings { bend: false, ..with.clone() };
        let (a, b) = (case.solve(&with, true, 1), case.solve(&without, true, 1));
        check(&case, &a, &with, &format!("bent, {recipe:?}"));
        check(&case, &b, &without, &format!("plain, {recipe:?}"));
        assert_eq!(b.info.n_bent_steps, 0);
        bent += a.info.n_bent_steps;
        saved += b.info.n_newton_steps as i64 - a.info.n_newton_steps as i64;
    }
    assert!(bent > 20, "only {bent} bent steps: the test tests nothing");
    assert!(saved > 0, "bent steps saved {saved} Newton steps");
}
