//! The factor: appends, deletes and substitutions at several sizes.

#![allow(missing_docs)] // criterion's macros make a public function

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use exactsvm::cholesky::panel::LANES;
use exactsvm::cholesky::{PackedCholesky, Pending, Pivot};

const RANK_TOL: f64 = 1e-12;

/// An entry of a matrix with a smooth decay away from the diagonal, positive definite.
fn entry(i: usize, j: usize) -> f64 {
    let distance = i.abs_diff(j) as f64;
    (-0.02 * distance).exp() + if i == j { 0.5 } else { 0.0 }
}

/// A block of rows `from ..` for a factor of that many rows, solved.
fn pending(factor: &PackedCholesky, rows: usize) -> Pending {
    let n = factor.len();
    let mut pending = Pending::default();
    for (p, panel) in pending.start(rows, n).iter_mut().enumerate() {
        for (j, column) in panel[..n].iter_mut().enumerate() {
            for (l, value) in column.iter_mut().enumerate() {
                *value = entry(n + LANES * p + l, j);
            }
        }
    }
    let (panels, width) = pending.panels_mut();
    for panel in panels {
        factor.forward_panel_in_place(&mut panel[..width]);
    }
    pending.form_schur(|i, j| entry(n + i, n + j));
    pending
}

/// The factor of the first `n` rows, built by blocks.
fn factor(n: usize) -> PackedCholesky {
    let mut factor = PackedCholesky::new();
    while factor.len() < n {
        let rows = (n - factor.len()).min(64);
        let mut block = pending(&factor, rows);
        for at in 0..rows {
            assert_eq!(factor.append_pending(&mut block, at, RANK_TOL), Pivot::Appended);
        }
    }
    factor
}

fn appends(c: &mut Criterion) {
    let mut group = c.benchmark_group("append");
    for n in [200, 1000] {
        let start = factor(n);
        group.throughput(Throughput::Elements(64));
        group.bench_function(BenchmarkId::new("64 rows, one by one", n), |b| {
            b.iter_batched_ref(
                || start.clone(),
                |factor| {
                    for i in n..n + 64 {
                        let mut cross: Vec<f64> = (0..i).map(|j| entry(i, j)).collect();
                        black_box(factor.append(&mut cross, entry(i, i), RANK_TOL));
                    }
                },
                BatchSize::LargeInput,
            );
        });
        group.bench_function(BenchmarkId::new("64 rows, as a block", n), |b| {
            b.iter_batched_ref(
                || start.clone(),
                |factor| {
                    let mut block = pending(factor, 64);
                    for at in 0..64 {
                        black_box(factor.append_pending(&mut block, at, RANK_TOL));
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn deletes(c: &mut Criterion) {
    let mut group = c.benchmark_group("delete");
    for n in [200, 1000, 2000] {
        let start = factor(n);
        let sets: [(&str, Vec<usize>); 4] = [
            ("first row", vec![0]),
            ("middle row", vec![n / 2]),
            ("one of the last 50", vec![n - 50]),
            ("eight rows", (0..8).map(|k| k * n / 8).collect()),
        ];
        for (name, positions) in sets {
            group.throughput(Throughput::Elements(positions.len() as u64));
            group.bench_function(BenchmarkId::new(name, n), |b| {
                b.iter_batched_ref(
                    || (start.clone(), vec![1.0; n], vec![0.5; n]),
                    |(factor, y, b)| factor.delete(&positions, &mut [y, b], None),
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

fn substitutions(c: &mut Criterion) {
    let mut group = c.benchmark_group("solve");
    for n in [200, 1000, 2000] {
        let mut factor = factor(n);
        let rhs: Vec<f64> = (0..n).map(|i| (i as f64 * 0.3).sin()).collect();
        group.throughput(Throughput::Elements((n * n / 2) as u64));
        let mut x = rhs.clone();
        group.bench_function(BenchmarkId::new("forward", n), |b| {
            b.iter(|| {
                x.copy_from_slice(&rhs);
                factor.forward_in_place(black_box(&mut x));
            });
        });
        group.bench_function(BenchmarkId::new("backward", n), |b| {
            b.iter(|| {
                x.copy_from_slice(&rhs);
                factor.backward_in_place(black_box(&mut x));
            });
        });
        let eight: Vec<_> = rhs.iter().map(|v| [*v; LANES]).collect();
        let mut panel = eight.clone();
        group.bench_function(BenchmarkId::new("forward, eight at once", n), |b| {
            b.iter(|| {
                panel.copy_from_slice(&eight);
                factor.forward_panel_in_place(black_box(&mut panel));
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = appends, deletes, substitutions
}
criterion_main!(benches);
