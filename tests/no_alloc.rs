//! A solve allocates when it is set up and a little in every cycle, never in a step.
//!
//! The allocator counts for the thread that asks, so the numbers are the same in every run.

// A failure of the set-up should end the test on the spot; a global allocator cannot be written without unsafe code.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use exactsvm::{
    CmuSettings, DualProblem, GramMatrix, Info, Kernel, Monitor, NoObserver, Points, Threads, cmu,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // Not there any more while a thread ends.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the one that is asked for here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two overlapping clouds, or with `contradictions` every point twice, once of each class.
fn data(n: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = Pcg64::seed_from_u64(5);
    let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    let signs: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let x = (0..n * d).map(|k| unit() + 0.1 * signs[k / d]).collect();
    (x, signs)
}

/// Solves and returns the counters and the number of allocations during the solve.
fn measured(kernel: &Kernel, n: usize, d: usize, c: f64) -> (Info, usize) {
    let (x, signs) = data(n, d);
    let threads = Threads::new(1);
    let points = Points::new(&x, n, d, kernel).unwrap();
    let gram = GramMatrix::compute(&points, kernel, &threads, || true).unwrap().unwrap();
    let problem = DualProblem::classification(&signs, &vec![c; n], None).unwrap();
    let mut observer = NoObserver;
    let mut monitor = Monitor::new(&mut observer, None);
    let settings = CmuSettings::default();
    let before = ALLOCATIONS.get();
    let solution = cmu::solve(&gram, &problem, &settings, true, &threads, &mut monitor).unwrap();
    let allocations = ALLOCATIONS.get() - before;
    assert!(solution.info.status.is_optimal());
    (solution.info, allocations)
}

/// Set-up: the state's vectors, and buffers that grow by doubling.
const SET_UP: usize = 80;
/// A cycle: lists of the variables that join, one vector a chunk of 64, sometimes the check on a fresh gradient.
const PER_CYCLE: usize = 16;

/// Asserts that the allocations stay within what set-up and cycles explain, and that one more in each of the `steps` would not.
fn check(info: &Info, allocations: usize, steps: usize) {
    let allowed = SET_UP + PER_CYCLE * info.n_sweeps;
    assert!(allocations <= allowed, "{allocations} allocations, {allowed} allowed: {info:?}");
    assert!(
        allocations + steps > allowed,
        "{steps} steps cannot tell: {allocations} of {allowed} used: {info:?}"
    );
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let values = vec![1.0_f64; 100];
    assert_eq!(ALLOCATIONS.get() - before, 1);
    drop(values);
    assert_eq!(ALLOCATIONS.get() - before, 1);
}

#[test]
fn pair_steps_do_not_allocate() {
    // A small bound takes most variables to their bounds by pair steps.
    let (info, allocations) = measured(&Kernel::Rbf { gamma: 1.0 }, 1000, 4, 0.05);
    check(&info, allocations, info.n_pair_steps);
}

#[test]
fn newton_steps_do_not_allocate() {
    // A large bound on a hard problem: hundreds of blocked Newton steps in few sweeps.
    let (info, allocations) = measured(&Kernel::Rbf { gamma: 1.0 }, 600, 4, 1e4);
    check(&info, allocations, info.n_newton_steps);
}

#[test]
fn steps_along_dependent_variables_allocate_little() {
    // A linear kernel in five dimensions holds six free variables; all others take such a step. Each may use a short scratch
    // vector for the waiting rows, and one for every deletion that they follow.
    let (info, allocations) = measured(&Kernel::Linear, 600, 5, 100.0);
    assert!(info.n_dependent > 300, "{info:?}");
    let scratch = 2 * info.n_dependent + info.n_deletes;
    check(&info, allocations.saturating_sub(scratch), info.n_dependent + info.n_pair_steps);
}
