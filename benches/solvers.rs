//! Whole solves on kernel matrices that are already there, with the work that they took. Counts may be compared between
//! machines and changes; seconds only within one run.

#![allow(missing_docs)] // criterion's macros make a public function
#![allow(clippy::print_stdout)] // the counters are what this is for

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use exactsvm::{
    CmuSettings, DualProblem, GramMatrix, Kernel, Monitor, NoObserver, Points, Solution, Threads,
    cmu,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

struct Random(Pcg64);

impl Random {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

struct Task {
    name: &'static str,
    x: Vec<f64>,
    signs: Vec<f64>,
    d: usize,
    kernel: Kernel,
    c: f64,
}

/// Two classes of normal points, `distance` apart along every axis.
fn clouds(name: &'static str, n: usize, d: usize, distance: f64, kernel: Kernel, c: f64) -> Task {
    let mut random = Random(Pcg64::seed_from_u64(1));
    let signs: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let x = (0..n * d).map(|k| random.normal() + 0.5 * distance * signs[k / d]).collect();
    Task { name, x, signs, d, kernel, c }
}

/// A board of 4 x 4 fields with a tenth of the labels wrong.
fn checkerboard(name: &'static str, n: usize, c: f64) -> Task {
    let mut random = Random(Pcg64::seed_from_u64(2));
    let x: Vec<f64> = (0..2 * n).map(|_| 4.0 * random.unit()).collect();
    let signs = (0..n)
        .map(|i| {
            let field = x[2 * i].floor() + x[2 * i + 1].floor();
            let sign = if field % 2.0 == 0.0 { 1.0 } else { -1.0 };
            if random.unit() < 0.1 { -sign } else { sign }
        })
        .collect();
    Task { name, x, signs, d: 2, kernel: Kernel::Rbf { gamma: 1.0 }, c }
}

fn solve(gram: &GramMatrix<'_>, problem: &DualProblem, threads: &Threads) -> Solution {
    let mut observer = NoObserver;
    let mut monitor = Monitor::new(&mut observer, None);
    let settings = CmuSettings { tol: 1e-9, ..CmuSettings::default() };
    cmu::solve(gram, problem, &settings, true, threads, &mut monitor).expect("valid input")
}

fn solvers(c: &mut Criterion) {
    let rbf = Kernel::Rbf { gamma: 0.05 };
    let tasks = [
        clouds("fixed cost", 100, 5, 0.5, rbf, 1.0),
        clouds("clouds, C = 1", 1000, 20, 0.4, rbf, 1.0),
        clouds("clouds, C = 100", 1000, 20, 0.4, rbf, 100.0),
        clouds("linear, C = 100", 1000, 10, 0.4, Kernel::Linear, 100.0),
        checkerboard("checkerboard, C = 1", 1000, 1.0),
        checkerboard("checkerboard, C = 10000", 1000, 1e4),
    ];
    let threads = Threads::new(2);
    let mut group = c.benchmark_group("cmu");
    for task in &tasks {
        let n = task.signs.len();
        let points = Points::new(&task.x, n, task.d, &task.kernel).expect("valid");
        let gram = GramMatrix::compute(&points, &task.kernel, &threads, || true)
            .expect("finite")
            .expect("finished");
        let problem =
            DualProblem::classification(&task.signs, &vec![task.c; n], None).expect("valid");
        let info = solve(&gram, &problem, &threads).info;
        println!(
            "{}: {}, {} cycles, {} sweeps, {} Newton steps, {} pair steps, {} appends, {} deletes, {} dependent, {} refactorisations",
            task.name,
            info.status,
            info.n_cycles,
            info.n_sweeps,
            info.n_newton_steps,
            info.n_pair_steps,
            info.n_appends,
            info.n_deletes,
            info.n_dependent,
            info.n_refactorizations,
        );
        group.bench_function(BenchmarkId::new(task.name, n), |b| {
            b.iter(|| solve(black_box(&gram), &problem, &threads));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    targets = solvers
}
criterion_main!(benches);
