//! Every transition of the phase table has a problem that takes it, read from the trace.

use std::time::Duration;

use exactsvm::cmu::{Phase, solve_traced};
use exactsvm::{
    CmuSettings, Control, Monitor, NoObserver, Observer, Progress, Solution, SolverStatus, Threads,
};

use crate::common::{Case, Random, Recipe, outer};

/// Solves and returns the phases in the order in which they were entered.
fn traced(case: &Case, settings: &CmuSettings, known_convex: bool) -> (Vec<Phase>, Solution) {
    traced_with(case, settings, known_convex, &mut Monitor::new(&mut NoObserver, None))
}

fn traced_with(
    case: &Case,
    settings: &CmuSettings,
    known_convex: bool,
    monitor: &mut Monitor<'_>,
) -> (Vec<Phase>, Solution) {
    let mut trace = Vec::new();
    let solution = solve_traced(
        &case.gram(),
        &case.problem(),
        settings,
        known_convex,
        &Threads::new(1),
        monitor,
        &mut |phase| trace.push(phase),
    )
    .expect("the input is valid");
    assert_eq!(trace.first(), Some(&Phase::UpCycle));
    assert_eq!(trace.last(), Some(&Phase::Done(solution.info.status)));
    let ends = trace.iter().filter(|p| matches!(p, Phase::Done(_))).count();
    assert_eq!(ends, 1, "the end is entered once");
    (trace, solution)
}

fn takes(trace: &[Phase], from: Phase, to: Phase) -> bool {
    trace.windows(2).any(|pair| pair == [from, to])
}

fn defaults() -> CmuSettings {
    CmuSettings::default()
}

fn ordinary() -> Case {
    Recipe { rank: 20, ..Recipe::plain(60) }.build(&mut Random::new(1))
}

/// Points on a line with the linear kernel.
fn on_a_line(x: &[f64], signs: &[f64], upper: f64) -> Case {
    let n = x.len();
    Case {
        n,
        matrix: outer(x, n, 1),
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

/// I - 2 vv' / n with v of as many +1 as -1: the curvature along v is -1 (per unit length), along every pair above zero, and in the
/// block of a free set it shows once more than half of the variables are in it.
fn indefinite(n: usize, upper: f64) -> Case {
    let signs: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let mut case = on_a_line(&signs, &signs, upper);
    for k in &mut case.matrix {
        *k *= -2.0 / n as f64;
    }
    case.matrix.iter_mut().step_by(n + 1).for_each(|k| *k += 1.0);
    case
}

/// Eigenvalues that fall by a constant factor until they drown in rounding, and large bounds: as hard as it gets.
fn graded(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut recipe = Recipe::random(&mut random);
    recipe.bound = random.decades(1.0, 1e9);
    recipe.decay = random.between(0.4, 1.0);
    recipe.slack = random.decades(1e-9, 1.0);
    recipe.build(&mut random)
}

#[test]
fn up_cycle_to_sweep_and_back_to_up_cycle() {
    let (trace, solution) = traced(&ordinary(), &defaults(), true);
    assert!(takes(&trace, Phase::UpCycle, Phase::Sweep));
    assert!(takes(&trace, Phase::Sweep, Phase::UpCycle));
    assert!(solution.info.n_sweeps >= 1 && solution.info.n_cycles >= 1);
    let sweeps = trace.iter().filter(|p| **p == Phase::Sweep).count();
    assert_eq!(sweeps, solution.info.n_sweeps, "every sweep is counted");
}

#[test]
fn up_cycle_to_verify_when_no_pair_is_left_and_verify_to_optimal() {
    // No pair from the start: the origin is optimal for a linear term that pulls nowhere.
    let mut case = ordinary();
    case.linear.fill(-1.0);
    case.signs.iter_mut().enumerate().for_each(|(i, z)| *z = if i % 2 == 0 { 1.0 } else { -1.0 });
    case.start.fill(0.0);
    let (trace, solution) = traced(&case, &defaults(), true);
    assert_eq!(trace, [Phase::UpCycle, Phase::Verify, Phase::Done(SolverStatus::Optimal)]);
    assert_eq!(solution.info.n_pair_steps, 0);
    // And after some work.
    let (trace, _) = traced(&ordinary(), &defaults(), true);
    let end = [Phase::Verify, Phase::Done(SolverStatus::Optimal)];
    assert_eq!(trace[trace.len() - 2..], end);
}

#[test]
fn optimality_is_never_declared_without_a_check() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let case = Recipe::random(&mut random).build(&mut random);
        let (trace, solution) = traced(&case, &defaults(), seed % 2 == 0);
        if solution.info.status.is_optimal() {
            assert_eq!(trace[trace.len() - 2], Phase::Verify, "seed {seed}");
        }
    }
}

#[test]
fn up_cycle_to_unbounded() {
    // Two equal points of different classes: their pair has no curvature and no bound.
    let case = on_a_line(&[1.0, 1.0], &[1.0, -1.0], f64::INFINITY);
    let (trace, _) = traced(&case, &defaults(), true);
    assert_eq!(trace, [Phase::UpCycle, Phase::Done(SolverStatus::Unbounded)]);
}

#[test]
fn sweep_to_unbounded() {
    // In the order + - + - every pair has curvature; three together have none.
    let case = on_a_line(&[0.0, 1.0, 2.0, 3.0], &[1.0, -1.0, 1.0, -1.0], f64::INFINITY);
    let (trace, _) = traced(&case, &defaults(), true);
    assert!(takes(&trace, Phase::Sweep, Phase::Done(SolverStatus::Unbounded)), "{trace:?}");
}

#[test]
fn up_cycle_to_iteration_limit() {
    let settings = CmuSettings { max_iter: Some(1), growth: 0.1, least_growth: 1, ..defaults() };
    let (trace, solution) = traced(&ordinary(), &settings, true);
    let end = [Phase::Sweep, Phase::UpCycle, Phase::Done(SolverStatus::MaxIter)];
    assert_eq!(trace[trace.len() - 3..], end);
    assert_eq!(solution.info.n_cycles, 1);
}

#[test]
fn verify_to_sweep_to_polish_and_then_optimal_to_precision() {
    // Asking for less than rounding leaves: the floor is reached, polished once or twice, and reported.
    let settings = CmuSettings { tol: 1e-30, ..defaults() };
    let (mut polished, mut reported) = (0, 0);
    for seed in 0..20 {
        let case =
            Recipe { rank: 30, free: 0.6, ..Recipe::plain(60) }.build(&mut Random::new(seed));
        let (trace, solution) = traced(&case, &settings, true);
        assert_eq!(solution.info.status, SolverStatus::OptimalToPrecision, "seed {seed}");
        reported += usize::from(takes(
            &trace,
            Phase::Verify,
            Phase::Done(SolverStatus::OptimalToPrecision),
        ));
        polished += usize::from(takes(&trace, Phase::Verify, Phase::Sweep));
        let judged = case.judge(&case.unsigned(&solution.beta));
        assert!(judged.violation <= 1.001 * judged.floor);
    }
    assert!(polished > 10, "polished {polished} of 20");
    assert!(reported > 10, "{reported} of 20 were reported by the check itself");
}

#[test]
fn verify_to_up_cycle_when_the_running_gradient_was_wrong() {
    let settings = CmuSettings { tol: 1e-30, ..defaults() };
    let found = (0..1000).any(|seed| {
        takes(&traced(&graded(seed), &settings, true).0, Phase::Verify, Phase::UpCycle)
    });
    assert!(found, "no problem took this way");
}

#[test]
fn verify_to_rescue_to_sweep() {
    // With the least patience, on the hardest problems, for a tolerance that cannot be reached. (That each rung does what it says is
    // tested where the ladder is.)
    let settings = CmuSettings { tol: 1e-30, patience: 1, ..defaults() };
    let (mut first, mut second) = (false, false);
    for seed in 0..1000 {
        let (trace, solution) = traced(&graded(seed), &settings, true);
        first |= takes(&trace, Phase::Verify, Phase::Rescue)
            && takes(&trace, Phase::Rescue, Phase::Sweep);
        second |= solution.info.n_refactorizations > 0;
        if first && second {
            return;
        }
    }
    panic!("no problem came to the rescue (first rung {first}, second {second})");
}

#[test]
fn the_hardest_problems_end_close_to_the_floor() {
    // Asked for more than there is, most reach the floor. Those that do not must say so, and be close to it all the same.
    let settings = CmuSettings { tol: 1e-30, ..defaults() };
    let mut stalled = 0;
    for seed in 0..1000 {
        let case = graded(7000 + seed);
        let (_, solution) = traced(&case, &settings, true);
        let judged = case.judge(&case.unsigned(&solution.beta));
        if solution.info.status == SolverStatus::Stalled {
            stalled += 1;
            assert!(judged.violation > judged.floor * 0.999, "seed {seed}: stalled at the floor");
        } else {
            assert!(solution.info.status.is_optimal(), "seed {seed}: {}", solution.info.status);
        }
        assert!(
            judged.violation <= 100.0 * judged.floor,
            "seed {seed}: {:e} floors",
            judged.violation / judged.floor
        );
        let best = case.objective(&case.solution);
        let rounding = 64.0
            * f64::EPSILON
            * (case.objective_size(&case.solution) + case.objective_size(&case.start));
        assert!(judged.objective - best <= 1e-10 * best.abs() + rounding, "seed {seed}");
    }
    assert!(stalled <= 40, "{stalled} of 1000 stalled");
}

#[test]
fn sweep_to_stationary_to_done() {
    let case = indefinite(30, 1e3);
    for known_convex in [false, true] {
        let (trace, solution) = traced(&case, &defaults(), known_convex);
        assert!(takes(&trace, Phase::Sweep, Phase::Stationary), "{trace:?}");
        assert!(
            takes(&trace, Phase::Stationary, Phase::Done(SolverStatus::Stationary)),
            "{trace:?}"
        );
        assert!(solution.info.most_negative_curvature < 0.0);
    }
}

#[test]
fn verify_to_stationary_end_when_the_rest_of_the_matrix_is_indefinite() {
    // The negative direction lies among variables that stay at zero: the method itself never meets it.
    let mut case = on_a_line(&[2.0, -2.0, 0.0, 0.0], &[1.0, -1.0, 1.0, -1.0], 1.0);
    case.linear = vec![1.0, 1.0, -9.0, -9.0];
    case.matrix[2 * 4 + 3] = 5.0;
    case.matrix[3 * 4 + 2] = 5.0;
    case.matrix[2 * 4 + 2] = 1.0;
    case.matrix[3 * 4 + 3] = 1.0;
    let (trace, solution) = traced(&case, &defaults(), false);
    assert!(takes(&trace, Phase::Verify, Phase::Done(SolverStatus::Stationary)), "{trace:?}");
    assert!(solution.info.most_negative_curvature < 0.0);
    // Whoever says that the matrix is convex is believed.
    let (_, solution) = traced(&case, &defaults(), true);
    assert_eq!(solution.info.status, SolverStatus::Optimal);
}

#[test]
fn stationary_to_unbounded() {
    // Bounded variables lead into the phase; two others, whose pair has negative curvature and no bound, pull less and come later.
    let inner = indefinite(30, 1e3);
    let mut case = on_a_line(&[0.0; 32], &[inner.signs.clone(), vec![1.0, -1.0]].concat(), 1e3);
    for i in 0..30 {
        case.matrix[i * 32..i * 32 + 30].copy_from_slice(&inner.matrix[i * 30..(i + 1) * 30]);
    }
    case.linear[30..].fill(1e-3);
    case.upper[30..].fill(f64::INFINITY);
    (case.matrix[30 * 32 + 31], case.matrix[31 * 32 + 30]) = (1.0, 1.0);
    let (trace, _) = traced(&case, &defaults(), false);
    assert!(takes(&trace, Phase::Stationary, Phase::Done(SolverStatus::Unbounded)), "{trace:?}");
}

struct Stopper(usize);

impl Observer for Stopper {
    fn observe(&mut self, _: &Progress) -> Control {
        if self.0 == 0 {
            return Control::Stop;
        }
        self.0 -= 1;
        Control::Continue
    }
}

#[test]
fn any_phase_to_the_end_when_the_monitor_says_so() {
    let case = ordinary();
    let mut observer = Stopper(0);
    let mut monitor = Monitor::new(&mut observer, None);
    std::thread::sleep(Duration::from_millis(100));
    let (trace, _) = traced_with(&case, &defaults(), true, &mut monitor);
    assert_eq!(trace, [Phase::UpCycle, Phase::Done(SolverStatus::Stopped)]);
    // From a sweep and from pair steps of an indefinite problem: the clock runs out there.
    let mut seen = (false, false);
    for micros in (0..4000).step_by(20) {
        let case = if micros % 40 == 0 { ordinary() } else { indefinite(40, 1e3) };
        let mut observer = NoObserver;
        let mut monitor = Monitor::new(&mut observer, Some(f64::from(micros) * 1e-6));
        let (trace, solution) = traced_with(&case, &defaults(), true, &mut monitor);
        let end = Phase::Done(SolverStatus::MaxTime);
        assert!(solution.info.status == SolverStatus::MaxTime || trace.last() != Some(&end));
        seen.0 |= takes(&trace, Phase::Sweep, end);
        seen.1 |= takes(&trace, Phase::Stationary, end);
        if seen.0 && (seen.1 || micros > 2000) {
            return;
        }
    }
    assert!(seen.0, "no time limit fell into a sweep");
}

#[test]
fn phases_follow_the_table() {
    // Whatever the problem: no transition that the table does not have.
    for seed in 0..300 {
        let mut random = Random::new(5000 + seed);
        let mut recipe = Recipe::random(&mut random);
        if seed % 3 == 0 {
            recipe.bound = 1e5;
            recipe.decay = 0.7;
        }
        let mut case = recipe.build(&mut random);
        if seed % 5 == 0 {
            case.matrix.iter_mut().step_by(case.n + 1).for_each(|d| *d -= 0.1);
        }
        let settings = CmuSettings {
            tol: [1e-10, 1e-30][seed as usize % 2],
            patience: 1 + random.below(25),
            max_iter: Some(500),
            ..defaults()
        };
        let (trace, _) = traced(&case, &settings, false);
        for pair in trace.windows(2) {
            let allowed = match (pair[0], pair[1]) {
                (Phase::UpCycle, to) if !matches!(to, Phase::Done(_)) => {
                    matches!(to, Phase::Sweep | Phase::Verify)
                }
                (Phase::Sweep, to) if !matches!(to, Phase::Done(_)) => {
                    matches!(to, Phase::UpCycle | Phase::Stationary | Phase::Sweep)
                }
                (Phase::Verify, to) if !matches!(to, Phase::Done(_)) => {
                    matches!(to, Phase::Sweep | Phase::UpCycle | Phase::Rescue)
                }
                (Phase::Rescue, to) if !matches!(to, Phase::Done(_)) => {
                    matches!(to, Phase::Sweep | Phase::Verify)
                }
                (Phase::Stationary, Phase::Stationary) => true,
                (Phase::UpCycle, Phase::Done(s)) => {
                    matches!(s, SolverStatus::Unbounded | SolverStatus::MaxIter)
                }
                (Phase::Sweep, Phase::Done(s)) => s == SolverStatus::Unbounded,
                (Phase::Verify, Phase::Done(s)) => s.is_optimal() || s == SolverStatus::Stationary,
                (Phase::Rescue, Phase::Done(s)) => {
                    // The last rung gives back a point that was found at the floor, if there was one.
                    let back = s == SolverStatus::OptimalToPrecision;
                    back || matches!(s, SolverStatus::Stalled | SolverStatus::Unbounded)
                }
                (Phase::Stationary, Phase::Done(s)) => {
                    matches!(
                        s,
                        SolverStatus::Stationary | SolverStatus::Unbounded | SolverStatus::Stalled
                    )
                }
                _ => false,
            };
            assert!(allowed, "seed {seed}: {pair:?}");
        }
    }
}
