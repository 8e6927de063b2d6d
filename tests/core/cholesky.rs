//! The factor: any series of appends and deletes leaves what a fresh factorisation of the same rows would be.

use exactsvm::cholesky::panel::{Column, LANES};
use exactsvm::cholesky::{PackedCholesky, Pending, Pivot};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::common::{Random, dense_cholesky, exact_dot, outer};

const RANK_TOL: f64 = 1e-12;

/// A large matrix of which the factor holds some rows, and everything that is carried along with it.
struct Bench {
    matrix: Vec<f64>,
    size: usize,
    factor: PackedCholesky,
    members: Vec<usize>,
    /// Right-hand sides b over all rows, and L^-1 of their members' part.
    sides: Vec<Vec<f64>>,
    solved: Vec<Vec<f64>>,
}

impl Bench {
    fn new(matrix: Vec<f64>, size: usize, random: &mut Random) -> Self {
        let sides: Vec<Vec<f64>> = (0..2).map(|_| random.normals(size)).collect();
        Self {
            matrix,
            size,
            factor: PackedCholesky::new(),
            members: Vec::new(),
            sides,
            solved: vec![Vec::new(); 2],
        }
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        self.matrix[i * self.size + j]
    }

    fn outsiders(&self) -> Vec<usize> {
        (0..self.size).filter(|i| !self.members.contains(i)).collect()
    }

    /// Carries the right-hand sides over an append of row i, whose solved cross products are `row`.
    fn carry(&mut self, i: usize, row: &[f64]) {
        let m = self.members.len();
        let pivot = self.factor.entry(m, m);
        for (side, v) in self.sides.iter().zip(&mut self.solved) {
            let value = (side[i] - exact_dot(row.iter().copied(), v.iter().copied())) / pivot;
            v.push(value);
        }
        self.members.push(i);
    }

    fn append(&mut self, i: usize) -> Pivot {
        let mut cross: Vec<f64> = self.members.iter().map(|&j| self.entry(i, j)).collect();
        let diagonal = self.entry(i, i);
        let pivot = self.factor.append(&mut cross, diagonal, RANK_TOL);
        if pivot == Pivot::Appended {
            self.carry(i, &cross);
        }
        pivot
    }

    fn prepare(&self, rows: &[usize], pending: &mut Pending) {
        let panels = pending.start(rows.len(), self.members.len());
        for (r, &i) in rows.iter().enumerate() {
            for (k, &j) in self.members.iter().enumerate() {
                panels[r / LANES][k][r % LANES] = self.entry(i, j);
            }
        }
        let (panels, width) = pending.panels_mut();
        for panel in panels {
            self.factor.forward_panel_in_place(&mut panel[..width]);
        }
        pending.form_schur(|a, b| self.entry(rows[a], rows[b]));
    }

    fn append_pending(&mut self, pending: &mut Pending, at: usize, i: usize) -> Pivot {
        let row: Vec<f64> = pending.row(at).collect();
        let pivot = self.factor.append_pending(pending, at, RANK_TOL);
        if pivot == Pivot::Appended {
            self.carry(i, &row);
        }
        pivot
    }

    fn delete(&mut self, positions: &[usize], pending: Option<&mut Pending>) {
        let mut sides: Vec<&mut Vec<f64>> = self.solved.iter_mut().collect();
        self.factor.delete(positions, &mut sides, pending);
        for &p in positions.iter().rev() {
            self.members.remove(p);
        }
    }

    /// LL' = A and L v = b, to a small multiple of the rounding errors of a fresh factorisation. This is meaningful for
    /// ill-conditioned matrices too, where L itself is not determined to more than a few digits.
    fn check(&self) {
        let m = self.members.len();
        assert_eq!(self.factor.len(), m);
        let l: Vec<Vec<f64>> =
            (0..m).map(|i| (0..m).map(|j| self.factor.entry(i, j)).collect()).collect();
        let largest =
            (0..m).map(|k| self.entry(self.members[k], self.members[k])).fold(0.0, f64::max);
        // Each update adds a few rounding errors, of the size of the diagonal.
        let tol = 1e-13 * (m + 10) as f64 * largest;
        for i in 0..m {
            assert!(l[i][i] > 0.0);
            for j in 0..=i {
                let value = exact_dot(l[i][..=j].iter().copied(), l[j][..=j].iter().copied());
                let wanted = self.entry(self.members[i], self.members[j]);
                assert!(
                    (value - wanted).abs() <= tol,
                    "LL' at ({i}, {j}) of {m}: {value:e} for {wanted:e}"
                );
            }
        }
        for (side, v) in self.sides.iter().zip(&self.solved) {
            assert_eq!(v.len(), m);
            let size = v.iter().fold(1.0_f64, |m, v| m.max(v.abs())) * largest.sqrt().max(1.0);
            for i in 0..m {
                let value = exact_dot(l[i].iter().copied(), v.iter().copied());
                let error = (value - side[self.members[i]]).abs();
                assert!(
                    error <= 1e-13 * (m + 10) as f64 * size,
                    "side at {i} of {m}: {error:e} for {size:e}"
                );
            }
        }
    }

    /// As `check`, and L itself against a fresh dense factorisation: for well-conditioned matrices.
    fn check_closely(&self) {
        self.check();
        let m = self.members.len();
        let block: Vec<f64> = self
            .members
            .iter()
            .flat_map(|&i| self.members.iter().map(move |&j| (i, j)))
            .map(|(i, j)| self.entry(i, j))
            .collect();
        let fresh = dense_cholesky(&block, m).expect("well conditioned");
        for i in 0..m {
            for j in 0..m {
                let error = (self.factor.entry(i, j) - fresh[i * m + j]).abs();
                assert!(
                    error <= 1e-10 * fresh[i * m + i].max(1.0),
                    "L at ({i}, {j}) of {m}: {error:e}"
                );
            }
        }
    }

    /// The waiting rows solve L W = B, and their Schur complement is A - W'W, for the rows from `from` on.
    fn check_pending(&self, pending: &Pending, rows: &[usize], from: usize) {
        let m = self.members.len();
        let largest = (0..self.size).map(|i| self.entry(i, i)).fold(0.0, f64::max);
        let tol = 1e-13 * (m + rows.len() + 10) as f64 * largest;
        let solved: Vec<Vec<f64>> = (0..rows.len()).map(|r| pending.row(r).collect()).collect();
        for r in from..rows.len() {
            assert_eq!(solved[r].len(), m);
            for k in 0..m {
                let l = (0..=k).map(|j| self.factor.entry(k, j));
                let error =
                    exact_dot(l, solved[r].iter().copied()) - self.entry(rows[r], self.members[k]);
                assert!(error.abs() <= tol, "waiting row {r} at {k} of {m}: {error:e}");
                assert_eq!(pending.entry(r, k), solved[r][k]);
            }
            for s in from..rows.len() {
                let product = exact_dot(solved[r].iter().copied(), solved[s].iter().copied());
                let error = pending.schur(r, s) - (self.entry(rows[r], rows[s]) - product);
                assert!(
                    error.abs() <= tol,
                    "Schur complement at ({r}, {s}), {m} rows in: {error:e}"
                );
            }
        }
        let v: Vec<f64> = (0..m).map(|k| (k as f64 * 0.37).cos()).collect();
        for (r, value) in pending.times_vector(&v).into_iter().enumerate().skip(from) {
            let wanted = exact_dot(solved[r].iter().copied(), v.iter().copied());
            assert!((value - wanted).abs() <= 1e-13 * (m + 10) as f64 * largest.sqrt());
        }
    }
}

/// X X' / d + shift, well conditioned for shift about 1.
fn matrix(size: usize, d: usize, shift: f64, random: &mut Random) -> Vec<f64> {
    let x: Vec<f64> = random.normals(size * d).into_iter().map(|v| v / (d as f64).sqrt()).collect();
    let mut a = outer(&x, size, d);
    (0..size).for_each(|i| a[i * size + i] += shift);
    a
}

/// Some positions below `m`, ascending, none twice.
fn some_positions(m: usize, count: usize, random: &mut Random) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..count.min(m)).map(|_| random.below(m)).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

#[test]
fn every_size_up_to_300_solves_like_a_dense_factor() {
    let mut random = Random::new(1);
    let n = 300;
    let mut bench = Bench::new(matrix(n, n, 1.0, &mut random), n, &mut random);
    let dense = dense_cholesky(&bench.matrix, n).unwrap();
    for m in 0..=n {
        let b = random.normals(m);
        let l = |i: usize, j: usize| dense[i * n + j];
        let mut forward = b.clone();
        bench.factor.forward_in_place(&mut forward);
        let mut backward = b.clone();
        bench.factor.backward_in_place(&mut backward);
        let eight: Vec<Column> =
            b.iter().map(|b| std::array::from_fn(|l| b * (l as f64 - 3.0))).collect();
        let mut panel = eight.clone();
        bench.factor.forward_panel_in_place(&mut panel);
        let (mut transposed, mut product) = (Vec::new(), Vec::new());
        bench.factor.transpose_times_into(&b, &mut transposed);
        bench.factor.times_into(&b, &mut product);
        for i in 0..m {
            let row = || (0..=i).map(|j| l(i, j));
            let column = || (i..m).map(|j| l(j, i));
            assert!((exact_dot(row(), forward.iter().copied()) - b[i]).abs() < 1e-12);
            assert!((exact_dot(column(), backward[i..].iter().copied()) - b[i]).abs() < 1e-12);
            assert!((exact_dot(column(), b[i..].iter().copied()) - transposed[i]).abs() < 1e-12);
            assert!((exact_dot(row(), b.iter().copied()) - product[i]).abs() < 1e-12);
            for lane in 0..LANES {
                let error = exact_dot(row(), panel.iter().map(|p| p[lane])) - eight[i][lane];
                assert!(error.abs() < 1e-11);
            }
        }
        if m % 8 < 2 || m % 8 == 7 {
            bench.check_closely();
        }
        if m < n {
            assert_eq!(bench.append(m), Pivot::Appended);
        }
    }
}

#[test]
fn one_row_deleted_at_every_place_of_every_small_size() {
    let mut random = Random::new(2);
    let size = 34;
    let a = matrix(size, size, 0.5, &mut random);
    for m in 1..=size {
        let mut whole = Bench::new(a.clone(), size, &mut random);
        (0..m).for_each(|i| assert_eq!(whole.append(i), Pivot::Appended));
        for p in 0..m {
            let mut bench = Bench {
                matrix: a.clone(),
                size,
                factor: whole.factor.clone(),
                members: whole.members.clone(),
                sides: whole.sides.clone(),
                solved: whole.solved.clone(),
            };
            bench.delete(&[p], None);
            bench.check_closely();
            // What is left must take new rows as if it had always been like this.
            assert_eq!(bench.append(p), Pivot::Appended);
            bench.check_closely();
        }
    }
}

#[test]
fn many_rows_deleted_at_once_around_the_panels() {
    let mut random = Random::new(3);
    let size = 80;
    let a = matrix(size, size, 0.5, &mut random);
    for m in [1, 2, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 63, 64, 65, 80] {
        let mut whole = Bench::new(a.clone(), size, &mut random);
        (0..m).for_each(|i| assert_eq!(whole.append(i), Pivot::Appended));
        let mut sets: Vec<Vec<usize>> = vec![(0..m).collect(), vec![0], vec![m - 1]];
        for count in 1..=m.min(24) {
            // Blocks at the end and at the beginning make panels vanish while others still walk.
            sets.push((m - count..m).collect());
            sets.push((0..count).collect());
            sets.push((0..m).step_by(m.div_ceil(count)).collect());
            sets.push(some_positions(m, count, &mut random));
        }
        for set in sets {
            let mut bench = Bench {
                matrix: a.clone(),
                size,
                factor: whole.factor.clone(),
                members: whole.members.clone(),
                sides: whole.sides.clone(),
                solved: whole.solved.clone(),
            };
            bench.delete(&set, None);
            bench.check_closely();
            if let Some(&i) = bench.outsiders().first() {
                assert_eq!(bench.append(i), Pivot::Appended);
                bench.check_closely();
            }
        }
    }
}

/// A step of a random series.
#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Block(usize),
    Delete(usize),
    /// A block of this many rows, during whose appends this many rows leave again and again.
    Interleaved(usize, usize),
    Clear,
}

fn take_step(bench: &mut Bench, step: &Step, random: &mut Random) {
    let outsiders = bench.outsiders();
    match *step {
        Step::Append(k) => {
            if !outsiders.is_empty() {
                bench.append(outsiders[k % outsiders.len()]);
            }
        }
        Step::Block(count) => {
            let rows: Vec<usize> = shuffled(outsiders, random).into_iter().take(count).collect();
            let mut pending = Pending::default();
            bench.prepare(&rows, &mut pending);
            bench.check_pending(&pending, &rows, 0);
            for (at, &i) in rows.iter().enumerate() {
                bench.append_pending(&mut pending, at, i);
            }
        }
        Step::Delete(count) => {
            let positions = some_positions(bench.members.len(), count, random);
            bench.delete(&positions, None);
        }
        Step::Interleaved(count, leaving) => {
            let rows: Vec<usize> = shuffled(outsiders, random).into_iter().take(count).collect();
            let mut pending = Pending::default();
            bench.prepare(&rows, &mut pending);
            for (at, &i) in rows.iter().enumerate() {
                if random.chance(0.5) {
                    let positions = some_positions(bench.members.len(), leaving, random);
                    bench.delete(&positions, Some(&mut pending));
                    bench.check_pending(&pending, &rows, at);
                }
                bench.append_pending(&mut pending, at, i);
                if at % 5 == 4 {
                    // Only rows that have not been tried yet are kept up to date.
                    bench.check_pending(&pending, &rows, at + 1);
                }
            }
        }
        Step::Clear => {
            bench.factor.clear();
            bench.members.clear();
            bench.solved.iter_mut().for_each(Vec::clear);
        }
    }
}

fn shuffled(mut items: Vec<usize>, random: &mut Random) -> Vec<usize> {
    for k in (1..items.len()).rev() {
        items.swap(k, random.below(k + 1));
    }
    items
}

fn a_step(largest: usize) -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<usize>().prop_map(Step::Append),
        2 => (1..=largest).prop_map(Step::Block),
        3 => (1..=largest).prop_map(Step::Delete),
        2 => (1..=largest, 1_usize..12).prop_map(|(count, leaving)| Step::Interleaved(count, leaving)),
        1 => Just(Step::Clear),
    ]
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn any_series_equals_a_fresh_factor(seed in any::<u64>(), steps in prop::collection::vec(a_step(20), 1..25)) {
        let mut random = Random::new(seed);
        let size = 48;
        let mut bench = Bench::new(matrix(size, size, 0.3, &mut random), size, &mut random);
        for step in &steps {
            take_step(&mut bench, step, &mut random);
            bench.check_closely();
        }
    }

    #[test]
    fn any_series_on_a_singular_matrix_is_backward_stable(
        seed in any::<u64>(), rank in 1_usize..30, tiny in 0_usize..4,
        steps in prop::collection::vec(a_step(20), 1..25),
    ) {
        let mut random = Random::new(seed);
        let size = 40;
        let shift = [0.0, 1e-13, 1e-10, 1e-6][tiny];
        let mut bench = Bench::new(matrix(size, rank, shift, &mut random), size, &mut random);
        for step in &steps {
            take_step(&mut bench, step, &mut random);
            bench.check_factor_alone();
            if shift == 0.0 && bench.members.len() > rank {
                // Only where the members before are nearly dependent themselves, so that rounding passes for a pivot.
                let least = (0..rank).map(|k| bench.factor.entry(k, k).powi(2)).fold(1.0, f64::min);
                prop_assert!(least < 1e-4, "{} members of rank {rank}, pivots from {least:e}", bench.members.len());
            }
        }
    }
}

impl Bench {
    /// The factor without the right-hand sides, whose size an ill-conditioned matrix does not bound.
    fn check_factor_alone(&self) {
        let m = self.members.len();
        let largest = (0..self.size).map(|k| self.entry(k, k)).fold(0.0, f64::max);
        for i in 0..m {
            assert!(self.factor.entry(i, i) > 0.0);
            for j in 0..=i {
                let (li, lj) = (
                    (0..=j).map(|k| self.factor.entry(i, k)),
                    (0..=j).map(|k| self.factor.entry(j, k)),
                );
                let error = exact_dot(li, lj) - self.entry(self.members[i], self.members[j]);
                assert!(
                    error.abs() <= 1e-13 * (m + 10) as f64 * largest,
                    "LL' at ({i}, {j}) of {m}: {error:e}"
                );
            }
        }
    }
}

#[test]
fn long_series_up_to_300_rows() {
    let mut random = Random::new(4);
    let size = 320;
    let mut bench = Bench::new(matrix(size, size, 0.5, &mut random), size, &mut random);
    let mut largest = 0;
    for round in 0..400 {
        let room = 300 - bench.members.len().min(300);
        let step = match random.below(6) {
            0 | 1 => Step::Append(random.below(size)),
            2 => Step::Block(random.below(40).min(room)),
            3 => Step::Interleaved(random.below(70).min(room), 1 + random.below(4)),
            _ => Step::Delete(1 + random.below(20)),
        };
        // Waves: grow for a while, then shrink.
        let step = match (round / 50 % 2 == 0, step) {
            (true, Step::Delete(_)) => Step::Block(12.min(room)),
            (false, Step::Block(_)) => Step::Delete(9),
            (_, step) => step,
        };
        take_step(&mut bench, &step, &mut random);
        largest = largest.max(bench.members.len());
        if round % 25 == 24 {
            bench.check_closely();
        }
    }
    assert!(largest >= 280, "the series only reached {largest} rows");
}

#[test]
fn a_deleted_row_comes_back_to_the_same_factor() {
    // Deleting the last row and appending it again repeats the same arithmetic, so the bits must agree.
    let mut random = Random::new(5);
    let size = 41;
    let mut bench = Bench::new(matrix(size, size, 1.0, &mut random), size, &mut random);
    (0..size).for_each(|i| assert_eq!(bench.append(i), Pivot::Appended));
    let entries = |b: &Bench| -> Vec<f64> {
        (0..size * size).map(|k| b.factor.entry(k / size, k % size)).collect()
    };
    let before = entries(&bench);
    for _ in 0..3 {
        bench.delete(&[size - 1], None);
        assert_eq!(bench.append(size - 1), Pivot::Appended);
    }
    assert_eq!(entries(&bench), before);
}

#[test]
fn pivots_are_judged_by_rank_and_sign() {
    assert_eq!(Pivot::judge(1e-11, 1.0, RANK_TOL), Pivot::Appended);
    assert_eq!(Pivot::judge(1e-13, 1.0, RANK_TOL), Pivot::Dependent(1e-13));
    assert_eq!(Pivot::judge(-1e-13, 1.0, RANK_TOL), Pivot::Dependent(-1e-13));
    assert_eq!(Pivot::judge(-1e-7, 1.0, RANK_TOL), Pivot::Indefinite(-1e-7));
    assert_eq!(Pivot::judge(0.0, 0.0, RANK_TOL), Pivot::Dependent(0.0));
    // Relative to the diagonal, whatever the units.
    assert_eq!(Pivot::judge(1e-13, 1e-4, RANK_TOL), Pivot::Appended);
    assert_eq!(Pivot::judge(1e-7, 1e8, RANK_TOL), Pivot::Dependent(1e-7));

    let mut random = Random::new(6);
    for rank in [1, 2, 5, 8, 9, 16, 23] {
        let size = rank + 12;
        let mut bench = Bench::new(matrix(size, rank, 0.0, &mut random), size, &mut random);
        for i in 0..rank {
            assert_eq!(bench.append(i), Pivot::Appended);
        }
        let before = bench.factor.clone();
        for i in rank..size {
            assert!(matches!(bench.append(i), Pivot::Dependent(_)), "row {i} of rank {rank}");
        }
        let rows: Vec<usize> = (rank..size).collect();
        let mut pending = Pending::default();
        bench.prepare(&rows, &mut pending);
        for (at, &i) in rows.iter().enumerate() {
            assert!(matches!(bench.append_pending(&mut pending, at, i), Pivot::Dependent(_)));
        }
        // Refused rows leave no trace.
        assert_eq!(before.len(), bench.factor.len());
        for i in 0..rank {
            for j in 0..=i {
                assert_eq!(before.entry(i, j), bench.factor.entry(i, j));
            }
        }
        // With a member gone there is room for exactly one of them.
        bench.delete(&[rank / 2], Some(&mut pending));
        let verdicts: Vec<Pivot> = rows
            .iter()
            .enumerate()
            .map(|(at, &i)| bench.append_pending(&mut pending, at, i))
            .collect();
        assert_eq!(verdicts.iter().filter(|v| **v == Pivot::Appended).count(), 1);
        bench.check_factor_alone();
    }
}

#[test]
fn a_negative_pivot_proves_an_indefinite_matrix() {
    let mut random = Random::new(7);
    for size in [2, 8, 9, 17] {
        let mut a = matrix(size, size, 1.0, &mut random);
        let last = size - 1;
        a[last * size + last] = -0.5;
        let mut bench = Bench::new(a, size, &mut random);
        (0..last).for_each(|i| assert_eq!(bench.append(i), Pivot::Appended));
        let mut pending = Pending::default();
        bench.prepare(&[last], &mut pending);
        let verdict = bench.append_pending(&mut pending, 0, last);
        assert!(matches!(verdict, Pivot::Indefinite(square) if square <= -0.5));
        bench.check();
    }
    // The usual form: 1 on the diagonal, more beside it.
    let mut bench = Bench::new(vec![1.0, 1.5, 1.5, 1.0], 2, &mut random);
    assert_eq!(bench.append(0), Pivot::Appended);
    let Pivot::Indefinite(square) = bench.append(1) else {
        panic!("the matrix has a negative eigenvalue")
    };
    assert!((square + 1.25).abs() < 1e-15);
}

#[test]
fn an_empty_factor_does_nothing() {
    let mut factor = PackedCholesky::new();
    assert!(factor.is_empty());
    assert_eq!((factor.len(), factor.rcond(), factor.stored()), (0, 1.0, 0));
    factor.forward_in_place(&mut []);
    factor.backward_in_place(&mut []);
    factor.forward_panel_in_place(&mut []);
    factor.delete(&[], &mut [], None);
    let mut pending = Pending::default();
    assert!(pending.is_empty());
    pending.start(0, 0);
    pending.form_schur(|_, _| unreachable!("there is no row"));
    assert!(pending.times_vector(&[]).is_empty());
}

#[test]
fn the_condition_estimate_is_an_upper_bound() {
    let mut factor = PackedCholesky::new();
    for (i, d) in [4.0, 1.0, 1e-6].into_iter().enumerate() {
        assert_eq!(factor.append(&mut vec![0.0; i], d, RANK_TOL), Pivot::Appended);
    }
    // A diagonal matrix is its own singular values: here the estimate is exact.
    assert!((factor.rcond() / 2.5e-7 - 1.0).abs() < 1e-12);
}

#[test]
#[should_panic(expected = "assertion")]
fn a_position_behind_the_end_is_a_mistake() {
    let mut factor = PackedCholesky::new();
    factor.append(&mut [], 1.0, RANK_TOL);
    factor.delete(&[1], &mut [], None);
}
