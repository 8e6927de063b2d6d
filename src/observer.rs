//! Watching and stopping a solver.

use std::time::{Duration, Instant};

use crate::status::SolverStatus;

/// A glance at a solver at work.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Which solver.
    pub solver: &'static str,
    /// Iterations, in the solver's unit.
    pub n_iter: usize,
    /// Dual objective (maximisation).
    pub dual_objective: f64,
    /// KKT violation, in units of the decision function.
    pub kkt_violation: f64,
    /// Variables strictly between their bounds.
    pub n_free: usize,
    /// Variables at their non-zero bound.
    pub n_bounded: usize,
    /// Kernel columns computed so far.
    pub n_kernel_columns: usize,
    /// Seconds since the start.
    pub elapsed: f64,
}

impl Progress {
    /// Before the first iteration.
    pub fn starting(solver: &'static str, n_kernel_columns: usize) -> Self {
        Self {
            solver,
            n_iter: 0,
            dual_objective: 0.0,
            kkt_violation: f64::INFINITY,
            n_free: 0,
            n_bounded: 0,
            n_kernel_columns,
            elapsed: 0.0,
        }
    }
}

/// What an observer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop and keep the best point.
    Stop,
    /// A signal came: stop and keep the best point.
    Interrupt,
}

/// Called about ten times a second, always on the thread that called the solver.
pub trait Observer {
    /// Looks at the progress and decides.
    fn observe(&mut self, progress: &Progress) -> Control;

    /// Learns how many of several problems are solved; the next progress is the sum over these.
    fn solved(&mut self, _solved: usize, _all: usize) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn observe(&mut self, _: &Progress) -> Control {
        Control::Continue
    }
}

/// Seconds between two calls of the observer.
const INTERVAL: Duration = Duration::from_millis(80);

/// Time that the certificate has after a limit or an interrupt.
const GRACE: Duration = Duration::from_secs(1);
/// Of a time limit at most this counts for it.
const LONGEST: Duration = Duration::from_secs(120);

/// Clock, time limit and observer of one solve.
pub struct Monitor<'a> {
    observer: &'a mut dyn Observer,
    start: Instant,
    next: Instant,
    deadline: Option<Instant>,
    reserve: Duration,
    stopped: Option<SolverStatus>,
    stopped_at: Instant,
}

impl<'a> Monitor<'a> {
    /// Starts the clock.
    pub fn new(observer: &'a mut dyn Observer, max_time: Option<f64>) -> Self {
        let start = Instant::now();
        // A limit beyond what the clock can hold is no limit.
        let deadline = max_time
            .and_then(|s| Duration::try_from_secs_f64(s).ok())
            .and_then(|limit| start.checked_add(limit));
        Self {
            observer,
            start,
            next: start + INTERVAL,
            deadline,
            reserve: Duration::ZERO,
            stopped: None,
            stopped_at: start,
        }
    }

    /// Keeps this many seconds of the time limit for what comes after the solver.
    pub fn reserve(&mut self, seconds: f64) {
        self.reserve = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    }

    /// Passes on how many of several problems are solved.
    pub fn tell_solved(&mut self, solved: usize, all: usize) {
        self.observer.solved(solved, all);
    }

    /// Seconds since the start.
    pub fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Looks at the clock; now and then makes a progress record and asks the observer. Once it answered with a status
    /// it does so for ever.
    pub fn poll(&mut self, progress: impl FnOnce() -> Progress) -> Option<SolverStatus> {
        if self.stopped.is_some() {
            return self.stopped;
        }
        let now = Instant::now();
        if now >= self.next {
            self.next = now + INTERVAL;
            let mut progress = progress();
            progress.elapsed = (now - self.start).as_secs_f64();
            self.stopped = match self.observer.observe(&progress) {
                Control::Continue => None,
                Control::Stop => Some(SolverStatus::Stopped),
                Control::Interrupt => Some(SolverStatus::Interrupted),
            };
        }
        if self.stopped.is_none()
            && self.deadline.is_some_and(|deadline| now + self.reserve >= deadline)
        {
            self.stopped = Some(SolverStatus::MaxTime);
        }
        self.stopped_at = now;
        self.stopped
    }

    /// Whether what comes after the solver may still go on. What [`Monitor::reserve`] was told is an estimate, so that a time limit is
    /// exceeded by half of it and a second at most; after an interrupt there is a second.
    pub fn indulges(&self) -> bool {
        let end = match self.stopped {
            Some(SolverStatus::MaxTime) => self.deadline.map(|deadline| {
                let limit = deadline.saturating_duration_since(self.start);
                deadline + limit.min(LONGEST) / 2 + GRACE
            }),
            Some(SolverStatus::Interrupted) => Some(self.stopped_at + GRACE),
            _ => None,
        };
        end.is_none_or(|end| Instant::now() < end)
    }
}
