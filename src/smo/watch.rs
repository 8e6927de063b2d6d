//! Watching for a standstill.

/// Checks on a fresh gradient without any progress before giving up.
const STRIKES: usize = 3;
/// A violation below this share of the best one so far is progress.
const PROGRESS: f64 = 0.9;

/// Steps without progress, and the checks on a fresh gradient.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    patience: usize,
    best_violation: f64,
    idle: usize,
    /// The best that was seen on fresh gradients.
    verified: f64,
    objective: f64,
    strikes: usize,
}

impl Watch {
    /// `patience` steps without a clearly smaller violation make a check due.
    pub(super) fn new(patience: usize) -> Self {
        Self {
            patience,
            best_violation: f64::INFINITY,
            idle: 0,
            verified: f64::INFINITY,
            objective: f64::INFINITY,
            strikes: 0,
        }
    }

    /// Takes note of the violation after some steps.
    pub(super) fn note(&mut self, violation: f64, n_steps: usize) {
        if violation < PROGRESS * self.best_violation {
            self.best_violation = violation;
            self.idle = 0;
        } else {
            self.idle += n_steps.max(1);
        }
    }

    /// Whether a check is due: no progress for long, or a violation near what rounding may explain, for the first time at this size.
    pub(super) fn check_due(&self, violation: f64, floor_bound: f64) -> bool {
        self.idle >= self.patience || violation <= floor_bound.min(0.5 * self.verified)
    }

    /// Takes note of a check that did not end the solve. Progress is a clearly smaller violation, or an objective that fell by more
    /// than its rounding error. Whether there was none too often.
    pub(super) fn stands_still(&mut self, violation: f64, objective: f64, noise: f64) -> bool {
        let progress = violation < PROGRESS * self.verified || objective < self.objective - noise;
        self.strikes = if progress { 0 } else { self.strikes + 1 };
        self.idle = 0;
        self.verified = self.verified.min(violation);
        self.objective = self.objective.min(objective);
        self.strikes >= STRIKES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_due_after_idle_steps_or_near_the_floor() {
        let mut watch = Watch::new(2000);
        watch.note(1.0, 1000);
        watch.note(0.95, 1000);
        assert!(!watch.check_due(0.95, 0.1));
        watch.note(0.95, 1000);
        assert!(watch.check_due(0.95, 0.1));
        watch.note(0.8, 1000);
        assert!(!watch.check_due(0.8, 0.1) && watch.check_due(0.1, 0.1));
        watch.stands_still(0.1, 0.0, 0.0);
        assert!(!watch.check_due(0.1, 0.1), "checked at this size");
        assert!(watch.check_due(0.04, 0.1));
    }

    #[test]
    fn a_standstill_takes_several_checks_without_progress() {
        let mut watch = Watch::new(1);
        assert!(!watch.stands_still(1.0, 5.0, 0.1));
        assert!(!watch.stands_still(1.0, 4.95, 0.1), "a fall within the noise");
        assert!(!watch.stands_still(0.99, 5.0, 0.1));
        assert!(!watch.stands_still(0.5, 5.0, 0.1), "a smaller violation is progress");
        assert!(!watch.stands_still(0.5, 4.0, 0.1), "so is a smaller objective");
        for strike in 1..=STRIKES {
            assert_eq!(watch.stands_still(0.5, 4.0, 0.1), strike == STRIKES);
        }
    }
}
