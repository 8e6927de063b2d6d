//! Many classes: one problem for each pair of them, several at a time.
//!
//! Pairs are independent, and each is solved by one thread from start to end, so that their number does not show in the result. The
//! calling thread watches: it alone asks the observer.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::cmu::CmuSettings;
use crate::error::{Error, Result, check_len};
use crate::fit::{Limits, Settings};
use crate::observer::{Control, Monitor, Observer, Progress};
use crate::status::SolverStatus;
use crate::threads::Threads;
use crate::train::{Source, Trained, Training, train_in, untouched};

/// How often the calling thread looks up.
const GLANCE: Duration = Duration::from_millis(20);

/// Violators that join the free variables of a pair in a round; smaller blocks may not end.
const BLOCK: usize = 256;

/// The rows of each class, and what was asked of them.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// Class of each row, counted from 0.
    pub codes: &'a [i64],
    /// How many there are.
    pub n_classes: usize,
    /// Upper bound of each row, as in [`crate::Encoding::problem`].
    pub upper: &'a [f64],
    /// Variables to begin near: row k of n for the k-th opponent, as in [`PairFits::coefficients`], without signs.
    pub hint: Option<&'a [f64]>,
}

/// The models of all pairs (a, b), a < b, ordered by a, then b. Positive values speak for a.
#[derive(Clone, Debug)]
pub struct PairFits {
    /// (n_classes - 1) x n: row k holds, for each point, the coefficient against the k-th of the other classes.
    pub coefficients: Vec<f64>,
    /// The fits, without their variables and coefficients.
    pub fits: Vec<Trained>,
}

/// Trains one model for each pair of classes.
///
/// # Errors
/// As [`crate::train::train`]; if a class has no row, or a code is out of range.
pub fn train_pairs(
    source: Source<'_>,
    classes: &Classes<'_>,
    training: &Training<'_>,
    threads: &Threads,
    observer: &mut dyn Observer,
) -> Result<PairFits> {
    let n = source.len();
    let members = members(classes, n)?;
    let pairs: Vec<(usize, usize)> = (0..classes.n_classes)
        .flat_map(|a| (a + 1..classes.n_classes).map(move |b| (a, b)))
        .collect();
    let mut monitor = Monitor::new(observer, training.limits.max_time);
    let one = |k, buffer: &mut _, threads: &Threads, observer: &mut dyn Observer, clock| {
        let pair = Pair::new(classes, &members, pairs[k]);
        let mut fit = pair.train(buffer, source, training, clock, threads, observer)?;
        fit.x = Vec::new();
        fit.certificate.gradient = Vec::new();
        Ok(fit)
    };

    let mut result =
        PairFits { coefficients: vec![0.0; (classes.n_classes - 1) * n], fits: Vec::new() };
    let mut fits: Vec<Option<Trained>> = vec![None; pairs.len()];
    let mut tally = Tally::new(pairs.len(), training.settings.method().name());
    let largest = pairs.iter().map(|&(a, b)| members[a].len() + members[b].len()).max();
    let workers = n_workers(largest.unwrap_or(0), pairs.len(), &training.limits, threads);
    if workers < 2 {
        let mut buffer = Vec::new();
        for (k, slot) in fits.iter_mut().enumerate() {
            let stopped = tally.ask(&mut monitor);
            let elapsed = monitor.elapsed();
            let mut relay = Relay { monitor: &mut monitor, tally: &tally, stopped };
            let fit = one(k, &mut buffer, threads, &mut relay, (elapsed, stopped))?;
            tally.note(&fit);
            *slot = Some(fit);
        }
    } else {
        let flag = Flag::default();
        let next = AtomicUsize::new(0);
        let order = largest_first(&pairs, &members);
        let start = std::time::Instant::now();
        // A pair of few points takes less time than a message: fits travel together.
        let work = |sender: &Sender<Result<Fits>>| {
            let (alone, mut buffer) = (Threads::new(1), Vec::new());
            let (mut done, mut sent) = (Fits::new(), 0.0);
            while let Some(&k) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let elapsed = start.elapsed().as_secs_f64();
                if elapsed - sent > GLANCE.as_secs_f64() {
                    sent = elapsed;
                    if sender.send(Ok(std::mem::take(&mut done))).is_err() {
                        return;
                    }
                }
                match one(k, &mut buffer, &alone, &mut &flag, (elapsed, flag.raised())) {
                    Ok(fit) => done.push((k, fit)),
                    Err(error) => {
                        // Nobody listens any more if another one failed as well.
                        let _ = sender.send(Err(error));
                        return;
                    }
                }
            }
            let _ = sender.send(Ok(done));
        };
        let watch = |receiver: Receiver<Result<Fits>>| -> Result<()> {
            loop {
                match receiver.recv_timeout(GLANCE) {
                    Ok(Ok(done)) => {
                        for (k, fit) in done {
                            tally.note(&fit);
                            fits[k] = Some(fit);
                        }
                    }
                    Ok(Err(error)) => {
                        flag.raise(SolverStatus::Stopped);
                        next.store(pairs.len(), Ordering::Relaxed);
                        return Err(error);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                if let Some(status) = tally.ask(&mut monitor) {
                    flag.raise(status);
                }
            }
        };
        threads.beside(workers, work, watch)?;
    }

    for (k, fit) in fits.into_iter().enumerate() {
        let (a, b) = pairs[k];
        let Some(mut fit) = fit else {
            return Err(Error::Value {
                argument: "X",
                expected: "an uninterrupted fit",
                got: "none".into(),
            });
        };
        let coefficients = std::mem::take(&mut fit.model.coefficients);
        let (first, second) = coefficients.split_at(members[a].len());
        for (&i, c) in members[a].iter().zip(first) {
            result.coefficients[(b - 1) * n + i] = *c;
        }
        for (&i, c) in members[b].iter().zip(second) {
            result.coefficients[a * n + i] = *c;
        }
        result.fits.push(fit);
    }
    Ok(result)
}

/// Pairs by their numbers, and what became of them.
type Fits = Vec<(usize, Trained)>;

fn members(classes: &Classes<'_>, n: usize) -> Result<Vec<Vec<usize>>> {
    check_len("codes", n, classes.codes.len())?;
    check_len("upper", n, classes.upper.len())?;
    if let Some(hint) = classes.hint {
        check_len("start", n * classes.n_classes.saturating_sub(1), hint.len())?;
    }
    let mut members = vec![Vec::new(); classes.n_classes];
    for (i, &code) in classes.codes.iter().enumerate() {
        let class = usize::try_from(code).ok().and_then(|c| members.get_mut(c));
        let Some(class) = class else {
            return Err(Error::Value {
                argument: "codes",
                expected: "numbers of classes",
                got: code.to_string(),
            });
        };
        class.push(i);
    }
    if members.len() < 2 || members.iter().any(Vec::is_empty) {
        return Err(Error::Value {
            argument: "codes",
            expected: "at least two classes, each with a row",
            got: format!("{} classes", members.iter().filter(|m| !m.is_empty()).count()),
        });
    }
    Ok(members)
}

/// Seconds gone, and whether the run was stopped.
type Clock = (f64, Option<SolverStatus>);

/// What one pair takes from all.
struct Pair {
    rows: Vec<usize>,
    signs: Vec<f64>,
    upper: Vec<f64>,
    hint: Option<Vec<f64>>,
}

impl Pair {
    fn new(classes: &Classes<'_>, members: &[Vec<usize>], (a, b): (usize, usize)) -> Self {
        let rows: Vec<usize> = members[a].iter().chain(&members[b]).copied().collect();
        let n_first = members[a].len();
        let signs = (0..rows.len()).map(|k| if k < n_first { 1.0 } else { -1.0 }).collect();
        let upper = rows.iter().map(|&i| classes.upper[i]).collect();
        let n = classes.codes.len();
        let hint = classes.hint.map(|hint| {
            let opponent = |k: usize| if k < n_first { b - 1 } else { a };
            rows.iter().enumerate().map(|(k, &i)| hint[opponent(k) * n + i]).collect()
        });
        Self { rows, signs, upper, hint }
    }

    fn train(
        &self,
        buffer: &mut Vec<f64>,
        source: Source<'_>,
        training: &Training<'_>,
        (elapsed, stopped): Clock,
        threads: &Threads,
        observer: &mut dyn Observer,
    ) -> Result<Trained> {
        let hint = self.hint.as_deref();
        if let Some(status) = stopped {
            return untouched(&training.encoding, &self.signs, &self.upper, hint, status);
        }
        let max_time = training.limits.max_time.map(|limit| (limit - elapsed).max(0.0));
        let limits = Limits { max_time, ..training.limits.clone() };
        // A pair has few support vectors: their columns are less work than the matrix.
        let settings = match training.settings {
            Settings::Cmu(settings) => {
                let hold = settings.hold && self.rows.len() <= 2 * BLOCK;
                Settings::Cmu(CmuSettings { hold, block: BLOCK, ..settings.clone() })
            }
            Settings::Smo(settings) => Settings::Smo(settings.clone()),
        };
        let training = Training { limits, settings: &settings, ..training.clone() };
        let mut run = |source: Source<'_>, observer: &mut dyn Observer| {
            let (signs, upper) = (&self.signs, &self.upper);
            train_in(buffer, source, signs, upper, hint, &training, threads, observer)
        };
        match source {
            Source::Rows { values, n_features, kernel } => {
                let mut copy = Vec::with_capacity(self.rows.len() * n_features);
                for &i in &self.rows {
                    copy.extend_from_slice(&values[i * n_features..(i + 1) * n_features]);
                }
                run(Source::Rows { values: &copy, n_features, kernel }, observer)
            }
            Source::Matrix(gram) => run(Source::Matrix(&gram.block(&self.rows)), observer),
        }
    }
}

/// How many pairs to solve at a time: as many as there are threads, if their matrices fit side by side. With few pairs left for each
/// thread, one after another by all threads together.
fn n_workers(largest: usize, n_pairs: usize, limits: &Limits, threads: &Threads) -> usize {
    let bytes = 8.0 * (largest as f64).powi(2);
    let fit = limits.cache_bytes.map_or(f64::INFINITY, |allowed| allowed / bytes);
    let workers = (threads.len() as f64).min(fit) as usize;
    if n_pairs < 2 * workers { 1 } else { workers }
}

fn largest_first(pairs: &[(usize, usize)], members: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order
        .sort_by_key(|&k| std::cmp::Reverse(members[pairs[k].0].len() + members[pairs[k].1].len()));
    order
}

/// What the finished pairs amount to.
struct Tally {
    all: usize,
    solved: usize,
    progress: Progress,
}

impl Tally {
    fn new(all: usize, solver: &'static str) -> Self {
        let progress = Progress { kkt_violation: 0.0, ..Progress::starting(solver, 0) };
        Self { all, solved: 0, progress }
    }

    fn note(&mut self, fit: &Trained) {
        self.solved += 1;
        let p = &mut self.progress;
        p.n_iter += fit.info.n_cycles;
        // Nothing may be known of a pair that was stopped.
        if fit.certificate.dual_objective.is_finite() {
            p.dual_objective += fit.certificate.dual_objective;
        }
        p.kkt_violation = p.kkt_violation.max(fit.certificate.kkt_violation);
        p.n_free += fit.certificate.n_free;
        p.n_bounded += fit.certificate.n_bounded;
        p.n_kernel_columns += fit.info.n_kernel_columns;
    }

    /// Sums over the finished pairs; the violation is the largest of them, infinite before the first.
    fn progress(&self) -> Progress {
        let none = self.solved == 0;
        let kkt_violation = if none { f64::INFINITY } else { self.progress.kkt_violation };
        Progress { kkt_violation, ..self.progress.clone() }
    }

    fn ask(&self, monitor: &mut Monitor<'_>) -> Option<SolverStatus> {
        monitor.tell_solved(self.solved, self.all);
        monitor.poll(|| self.progress())
    }
}

/// A flag that the workers' observers look at.
#[derive(Debug, Default)]
struct Flag(AtomicU8);

impl Flag {
    fn raise(&self, status: SolverStatus) {
        let code = match status {
            SolverStatus::Interrupted => 2,
            SolverStatus::MaxTime => 3,
            _ => 1,
        };
        self.0.store(code, Ordering::Relaxed);
    }

    fn raised(&self) -> Option<SolverStatus> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            2 => Some(SolverStatus::Interrupted),
            3 => Some(SolverStatus::MaxTime),
            _ => Some(SolverStatus::Stopped),
        }
    }
}

impl Observer for &Flag {
    fn observe(&mut self, _: &Progress) -> Control {
        match self.raised() {
            // The worker's own clock sees the time limit.
            None | Some(SolverStatus::MaxTime) => Control::Continue,
            Some(SolverStatus::Interrupted) => Control::Interrupt,
            Some(_) => Control::Stop,
        }
    }
}

/// Passes the look of one pair's solver on to the observer of all.
struct Relay<'a, 'b> {
    monitor: &'a mut Monitor<'b>,
    tally: &'a Tally,
    stopped: Option<SolverStatus>,
}

impl Observer for Relay<'_, '_> {
    fn observe(&mut self, _: &Progress) -> Control {
        self.stopped = self.stopped.or_else(|| self.tally.ask(self.monitor));
        match self.stopped {
            None => Control::Continue,
            Some(SolverStatus::Interrupted) => Control::Interrupt,
            Some(_) => Control::Stop,
        }
    }
}
