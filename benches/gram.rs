//! Kernel matrices: nanoseconds an entry, by kernel and number of features.

#![allow(missing_docs)] // criterion's macros make a public function

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exactsvm::kernel::pairwise_kernel;
use exactsvm::{GramMatrix, Kernel, Points, Threads};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

fn uniform(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Pcg64::seed_from_u64(seed);
    (0..n).map(|_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5).collect()
}

fn matrices(c: &mut Criterion) {
    let n = 1000;
    let mut group = c.benchmark_group("gram");
    group.throughput(Throughput::Elements((n * n) as u64));
    for d in [10, 100] {
        let x = uniform(n * d, 1);
        for kernel in [
            Kernel::Linear,
            Kernel::Rbf { gamma: 1.0 },
            Kernel::Polynomial { gamma: 1.0, coef0: 1.0, degree: 3 },
            Kernel::Laplacian { gamma: 1.0 },
        ] {
            let points = Points::new(&x, n, d, &kernel).expect("valid");
            for n_threads in [1, 2] {
                let threads = Threads::new(n_threads);
                let id = BenchmarkId::new(kernel.name(), format!("{n}x{d}, {n_threads} threads"));
                group.bench_function(id, |b| {
                    b.iter(|| GramMatrix::compute(black_box(&points), &kernel, &threads, || true));
                });
            }
        }
    }
    group.finish();
}

fn blocks(c: &mut Criterion) {
    let (n, m, d) = (256, 1000, 20);
    let (x, y) = (uniform(n * d, 2), uniform(m * d, 3));
    let kernel = Kernel::Rbf { gamma: 1.0 };
    let points = |v, n| Points::new(v, n, d, &kernel).expect("valid");
    let (x, y) = (points(&x, n), points(&y, m));
    let mut group = c.benchmark_group("pairwise");
    group.throughput(Throughput::Elements((n * m) as u64));
    group.bench_function("RBF 256x1000x20", |b| {
        b.iter(|| pairwise_kernel(black_box(&x), &y, &kernel, &Threads::new(1), || true));
    });
    group.finish();
}

fn gradients(c: &mut Criterion) {
    let (n, d) = (1000, 10);
    let x = uniform(n * d, 4);
    let kernel = Kernel::Rbf { gamma: 1.0 };
    let points = Points::new(&x, n, d, &kernel).expect("valid");
    let threads = Threads::new(1);
    let gram = GramMatrix::compute(&points, &kernel, &threads, || true)
        .expect("finite")
        .expect("finished");
    let (columns, weights) = ((0..n).collect::<Vec<_>>(), uniform(n, 5));
    let mut group = c.benchmark_group("gradient");
    group.throughput(Throughput::Elements((n * n) as u64));
    group.bench_function("plain sums", |b| {
        let mut out = vec![0.0; n];
        b.iter(|| gram.add_columns(black_box(&columns), &weights, &mut out, &threads));
    });
    group.bench_function("sums with their errors", |b| {
        b.iter(|| gram.column_sums(black_box(&columns), &weights, &threads));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800));
    targets = matrices, blocks, gradients
}
criterion_main!(benches);
