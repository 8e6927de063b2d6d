//! Shared by the tests: seeded numbers, dense references, constructed problems and a checker that knows only the definitions.

use exactsvm::{
    CmuSettings, DualProblem, DualProblemParts, GramMatrix, Monitor, NoObserver, Solution, Threads,
    cmu,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// Random numbers that are the same on every machine and with every version of the `rand` distributions.
pub(crate) struct Random(Pcg64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in [low, high).
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// An integer below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    pub(crate) fn sign(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { -1.0 }
    }

    /// Nearly normal: the sum of twelve uniform numbers, centred. Variance 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    pub(crate) fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    /// A number whose logarithm is uniform between those of `low` and `high`.
    pub(crate) fn decades(&mut self, low: f64, high: f64) -> f64 {
        10_f64.powf(self.between(low.log10(), high.log10()))
    }
}

/// The sum of products x_k y_k with the rounding errors of sums and products carried along.
pub(crate) fn exact_dot(x: impl IntoIterator<Item = f64>, y: impl IntoIterator<Item = f64>) -> f64 {
    let (mut high, mut low) = (0.0_f64, 0.0_f64);
    for (a, b) in x.into_iter().zip(y) {
        let product = a * b;
        let product_error = a.mul_add(b, -product);
        let sum = high + product;
        let part = sum - high;
        low += (high - (sum - part)) + (product - part) + product_error;
        high = sum;
    }
    high + low
}

/// X X' of n rows with d entries, symmetric to the last bit.
pub(crate) fn outer(rows: &[f64], n: usize, d: usize) -> Vec<f64> {
    let mut k = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let value: f64 = rows[i * d..(i + 1) * d]
                .iter()
                .zip(&rows[j * d..(j + 1) * d])
                .map(|(a, b)| a * b)
                .sum();
            k[i * n + j] = value;
            k[j * n + i] = value;
        }
    }
    k
}

/// The textbook factorisation A = LL', row-major; `None` if a pivot is not positive.
pub(crate) fn dense_cholesky(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum =
                exact_dot(l[i * n..i * n + j].iter().copied(), l[j * n..j * n + j].iter().copied());
            let rest = a[i * n + j] - sum;
            if i == j {
                if rest <= 0.0 {
                    return None;
                }
                l[i * n + i] = rest.sqrt();
            } else {
                l[i * n + j] = rest / l[j * n + j];
            }
        }
    }
    Some(l)
}

/// A dual problem with its matrix, and where it is known its solution.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) n: usize,
    /// K, row-major.
    pub(crate) matrix: Vec<f64>,
    pub(crate) signs: Vec<f64>,
    pub(crate) linear: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) groups: Vec<i64>,
    pub(crate) n_groups: usize,
    pub(crate) start: Vec<f64>,
    /// A solution; the only one if the matrix is positive definite on the null space of the equalities.
    pub(crate) solution: Vec<f64>,
    /// Size of the slack of every bounded variable at the solution; 0 for free ones.
    pub(crate) slack: Vec<f64>,
}

/// What a constructed problem shall look like.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) n: usize,
    /// Rank of the matrix.
    pub(crate) rank: usize,
    /// Equalities: 0, 1 or 2.
    pub(crate) n_groups: usize,
    /// Share of points that repeat another one.
    pub(crate) duplicates: f64,
    /// Size of the diagonal.
    pub(crate) scale: f64,
    /// Size of the bounds.
    pub(crate) bound: f64,
    pub(crate) infinite_bounds: bool,
    /// Share of the variables that are free at the solution, and that are at their bound away from zero.
    pub(crate) free: f64,
    pub(crate) bounded: f64,
    /// Each direction of the factor is shorter than the one before by this factor.
    pub(crate) decay: f64,
    /// Size of the slacks relative to that of the gradient's terms.
    pub(crate) slack: f64,
    /// Start from x = 0 (the problem is made so that this is feasible) or from a random feasible point.
    pub(crate) from_zero: bool,
    /// All of one class but one.
    pub(crate) lone_member: bool,
}

impl Recipe {
    pub(crate) fn plain(n: usize) -> Self {
        Self {
            n,
            rank: n,
            n_groups: 1,
            duplicates: 0.0,
            scale: 1.0,
            bound: 1.0,
            infinite_bounds: false,
            free: 0.4,
            bounded: 0.3,
            decay: 1.0,
            slack: 0.1,
            from_zero: true,
            lone_member: false,
        }
    }

    /// A random recipe: everything varies.
    pub(crate) fn random(random: &mut Random) -> Self {
        let largest = if random.chance(0.2) { 140 } else { 50 };
        let n = 2 + random.below(largest);
        let full = random.chance(0.4);
        Self {
            n,
            rank: if full { n } else { 2 + random.below(n - 1) },
            n_groups: random.below(3),
            duplicates: if random.chance(0.4) { random.between(0.1, 0.8) } else { 0.0 },
            scale: random.decades(1e-2, 1e2),
            bound: random.decades(1e-2, 1e2),
            infinite_bounds: random.chance(0.1),
            free: random.unit(),
            bounded: random.unit(),
            decay: if random.chance(0.5) { 1.0 } else { random.between(0.8, 1.0) },
            slack: random.decades(1e-3, 1.0),
            from_zero: random.chance(0.5),
            lone_member: random.chance(0.1),
        }
    }

    /// Builds the problem: matrix, point and multipliers first, then the linear term that makes the point optimal.
    pub(crate) fn build(&self, random: &mut Random) -> Case {
        let (n, rank) = (self.n, self.rank.min(self.n));
        let mut rows = vec![0.0; n * rank];
        for i in 0..n {
            if i > 0 && random.chance(self.duplicates) {
                let from = random.below(i);
                rows.copy_within(from * rank..(from + 1) * rank, i * rank);
            } else {
                let mut size = (self.scale / rank as f64).sqrt();
                for k in 0..rank {
                    rows[i * rank + k] = size * random.normal();
                    size *= self.decay;
                }
            }
        }
        let matrix = outer(&rows, n, rank);
        let signs: Vec<f64> =
            (0..n)
                .map(|i| {
                    if self.lone_member {
                        if i == n / 2 { 1.0 } else { -1.0 }
                    } else {
                        random.sign()
                    }
                })
                .collect();
        let mut groups = vec![0_i64; n];
        if self.n_groups == 2 {
            for g in &mut groups {
                *g = i64::from(random.chance(0.5));
            }
            // Both must exist, or it is a problem of one group.
            (groups[0], groups[1]) = (0, 1);
        }
        let mut upper: Vec<f64> = (0..n).map(|_| self.bound * random.between(0.2, 1.8)).collect();
        let mut x: Vec<f64> = upper
            .iter()
            .map(|u| {
                if random.chance(self.free) {
                    u * random.between(0.05, 0.95)
                } else if random.chance(self.bounded) {
                    *u
                } else {
                    0.0
                }
            })
            .collect();
        if self.infinite_bounds {
            for (x, u) in x.iter_mut().zip(&mut upper) {
                if *x == *u {
                    *x *= 0.5;
                }
                *u = f64::INFINITY;
            }
        }
        if self.from_zero && self.n_groups > 0 {
            for g in 0..self.n_groups as i64 {
                balance(&mut x, &mut upper, &signs, |i| groups[i] == g);
            }
        }
        let start = if self.from_zero || self.n_groups == 0 {
            vec![0.0; n]
        } else {
            wander(&x, &upper, &signs, &groups, random)
        };

        let beta: Vec<f64> = x.iter().zip(&signs).map(|(x, z)| x * z).collect();
        let product: Vec<f64> = (0..n)
            .map(|i| exact_dot(matrix[i * n..(i + 1) * n].iter().copied(), beta.iter().copied()))
            .collect();
        let size =
            product.iter().fold(0.0_f64, |m, v| m.max(v.abs())).max(1e-3 * self.scale * self.bound);
        let mu: Vec<f64> =
            (0..2).map(|_| if self.n_groups == 0 { 0.0 } else { size * random.normal() }).collect();
        let mut slack = vec![0.0; n];
        let linear = (0..n)
            .map(|i| {
                let mut residual = 0.0;
                if x[i] == 0.0 || x[i] == upper[i] {
                    slack[i] = self.slack * size * random.between(0.1, 1.0);
                    // At x = 0 the gradient in x points inwards; at the bound it points outwards.
                    residual = signs[i] * if x[i] == 0.0 { slack[i] } else { -slack[i] };
                }
                signs[i] * (product[i] - mu[groups[i] as usize] - residual)
            })
            .collect();
        Case {
            n,
            matrix,
            signs,
            linear,
            upper,
            groups,
            n_groups: self.n_groups,
            start,
            solution: x,
            slack,
        }
    }
}

/// Scales one side of a group down, bounds and all, until its signed sum is zero.
fn balance(x: &mut [f64], upper: &mut [f64], signs: &[f64], member: impl Fn(usize) -> bool) {
    let side = |x: &[f64], sign: f64| -> f64 {
        (0..x.len()).filter(|&i| member(i) && signs[i] == sign).map(|i| x[i]).sum()
    };
    let (plus, minus) = (side(x, 1.0), side(x, -1.0));
    let (factor, larger) = if plus > minus { (minus / plus, 1.0) } else { (plus / minus, -1.0) };
    for i in 0..x.len() {
        if !member(i) {
            continue;
        }
        if factor == 0.0 || factor.is_nan() {
            x[i] = 0.0;
        } else if signs[i] == larger {
            let at_bound = x[i] == upper[i];
            x[i] *= factor;
            if upper[i].is_finite() {
                upper[i] = if at_bound { x[i] } else { upper[i] * factor };
            }
        }
    }
}

/// Another feasible point with the same sums: many random pair moves within the box.
fn wander(
    x: &[f64],
    upper: &[f64],
    signs: &[f64],
    groups: &[i64],
    random: &mut Random,
) -> Vec<f64> {
    let n = x.len();
    let mut x = x.to_vec();
    for _ in 0..4 * n {
        let (i, j) = (random.below(n), random.below(n));
        if i == j || groups[i] != groups[j] {
            continue;
        }
        // beta_i grows by `step`, beta_j shrinks by it.
        let room =
            |i: usize, sign: f64| if sign > 0.0 { upper[i].min(x[i] + 1.0) - x[i] } else { x[i] };
        let step = room(i, signs[i]).min(room(j, -signs[j])) * random.unit();
        x[i] = (x[i] + signs[i] * step).clamp(0.0, upper[i]);
        x[j] = (x[j] - signs[j] * step).clamp(0.0, upper[j]);
    }
    x
}

/// A point judged by the definitions alone.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) objective: f64,
    pub(crate) violation: f64,
    pub(crate) floor: f64,
    /// Largest deviation of a group's sum from that of the start, over the sum of all variables' magnitudes.
    pub(crate) drift: f64,
    pub(crate) in_box: bool,
}

impl Case {
    pub(crate) fn problem(&self) -> DualProblem {
        DualProblem::new(&DualProblemParts {
            signs: &self.signs,
            linear: Some(&self.linear),
            upper: &self.upper,
            groups: Some(&self.groups),
            without_equality: self.n_groups == 0,
            start: Some(&self.start),
        })
        .expect("a constructed problem is valid")
    }

    pub(crate) fn gram(&self) -> GramMatrix<'_> {
        GramMatrix::new((&self.matrix).into(), self.n).expect("a constructed matrix is valid")
    }

    pub(crate) fn solve(
        &self,
        settings: &CmuSettings,
        known_convex: bool,
        n_threads: usize,
    ) -> Solution {
        let mut observer = NoObserver;
        cmu::solve(
            &self.gram(),
            &self.problem(),
            settings,
            known_convex,
            &Threads::new(n_threads),
            &mut Monitor::new(&mut observer, None),
        )
        .expect("the input is valid")
    }

    /// x = z o beta.
    pub(crate) fn unsigned(&self, beta: &[f64]) -> Vec<f64> {
        beta.iter().zip(&self.signs).map(|(b, z)| b * z).collect()
    }

    /// g = Hx - c.
    pub(crate) fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let n = self.n;
        (0..n)
            .map(|i| {
                let row = self.matrix[i * n..(i + 1) * n]
                    .iter()
                    .zip(&self.signs)
                    .map(|(k, z)| k * z * self.signs[i]);
                exact_dot(row.chain([1.0]), x.iter().copied().chain([-self.linear[i]]))
            })
            .collect()
    }

    /// q(x) = 1/2 x'Hx - c'x.
    pub(crate) fn objective(&self, x: &[f64]) -> f64 {
        let gradient = self.gradient(x);
        let both = x.iter().chain(x).copied();
        exact_dot(gradient.into_iter().chain(self.linear.iter().map(|c| -c)), both.map(|x| 0.5 * x))
    }

    /// Sum of the magnitudes of the terms of q: its rounding errors are relative to this.
    pub(crate) fn objective_size(&self, x: &[f64]) -> f64 {
        let n = self.n;
        (0..n)
            .filter(|&i| x[i] != 0.0)
            .map(|i| {
                let row: f64 = (0..n).map(|j| (self.matrix[i * n + j] * x[j]).abs()).sum();
                x[i].abs() * (row + self.linear[i].abs())
            })
            .sum()
    }

    /// Judges x: violation m - M with v = -z o g over each group, the floor of a float64 gradient, feasibility.
    pub(crate) fn judge(&self, x: &[f64]) -> Judgement {
        let n = self.n;
        let gradient = self.gradient(x);
        let (mut violation, mut drift, mut floor) = (0.0_f64, 0.0_f64, 0.0_f64);
        for g in 0..self.n_groups.max(1) as i64 {
            let members = || (0..n).filter(|&i| self.n_groups == 0 || self.groups[i] == g);
            let (mut grow, mut shrink) = (f64::NEG_INFINITY, f64::INFINITY);
            for i in members() {
                let v = -self.signs[i] * gradient[i];
                let (may_rise, may_fall) = (x[i] < self.upper[i], x[i] > 0.0);
                let (may_grow, may_shrink) =
                    if self.signs[i] > 0.0 { (may_rise, may_fall) } else { (may_fall, may_rise) };
                grow = if may_grow { grow.max(v) } else { grow };
                shrink = if may_shrink { shrink.min(v) } else { shrink };
            }
            violation =
                violation.max(if self.n_groups == 0 { grow.max(-shrink) } else { grow - shrink });
            // A multiple of z may be taken out of c in each group before rounding matters.
            let p = |i: usize| self.signs[i] * self.linear[i];
            let middle = if self.n_groups == 0 {
                0.0
            } else {
                let (low, high) = members()
                    .map(p)
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)));
                0.5 * (low + high)
            };
            for i in members() {
                let row: f64 = (0..n).map(|j| (self.matrix[i * n + j] * x[j]).abs()).sum();
                floor = floor.max(4.0 * f64::EPSILON * (row + (p(i) - middle).abs()));
            }
            if self.n_groups > 0 {
                let now = members().map(|i| x[i]).chain(members().map(|i| -self.start[i]));
                let z = members().chain(members()).map(|i| self.signs[i]);
                // The free variables of the other group move in the same step and leave their rounding errors.
                let size: f64 = (0..n).map(|i| x[i] + self.start[i] + self.solution[i]).sum();
                drift = drift.max(exact_dot(now, z).abs() / size.max(f64::MIN_POSITIVE));
            }
        }
        let in_box = x.iter().zip(&self.upper).all(|(x, u)| (0.0..=*u).contains(x));
        Judgement { objective: self.objective(x), violation, floor, drift, in_box }
    }

    /// Size of the largest term of a gradient: what a relative tolerance refers to.
    pub(crate) fn gradient_size(&self) -> f64 {
        let n = self.n;
        (0..n)
            .map(|i| {
                let row: f64 =
                    (0..n).map(|j| (self.matrix[i * n + j] * self.solution[j]).abs()).sum();
                row.max(self.linear[i].abs())
            })
            .fold(0.0, f64::max)
    }
}
