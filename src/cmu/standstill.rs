//! Rounds without progress, when a matrix is not held.

/// Counts them, and decides when to check and when to give up.
#[derive(Debug)]
pub(super) struct Standstill {
    best_violation: f64,
    best_objective: f64,
    idle: usize,
    verified: f64,
}

impl Default for Standstill {
    fn default() -> Self {
        Self {
            best_violation: f64::INFINITY,
            best_objective: f64::INFINITY,
            idle: 0,
            verified: f64::INFINITY,
        }
    }
}

impl Standstill {
    /// Idle rounds before a check on a fresh gradient, and before giving up.
    const CHECK: usize = 6;
    const FINAL: usize = 30;

    pub(super) fn note(&mut self, violation: f64, objective: f64, noise: f64) {
        let first = self.best_objective.is_infinite();
        if first || violation < 0.7 * self.best_violation || objective < self.best_objective - noise
        {
            self.idle = 0;
        } else {
            self.idle += 1;
        }
        self.best_violation = self.best_violation.min(violation);
        self.best_objective = self.best_objective.min(objective);
    }

    pub(super) fn check_due(&self, violation: f64, floor_bound: f64) -> bool {
        (self.idle > 0 && self.idle.is_multiple_of(Self::CHECK))
            || violation <= floor_bound.min(0.5 * self.verified)
    }

    pub(super) fn checked(&mut self, violation: f64) {
        self.verified = self.verified.min(violation);
        // Past the multiple, or the check would be due for ever.
        self.idle += usize::from(self.idle > 0);
    }

    pub(super) fn is_final(&self) -> bool {
        self.idle >= Self::FINAL
    }
}
