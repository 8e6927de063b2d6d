//! What a point at the rounding floor is still worth.

use super::Rounds;
use crate::gradient::Fresh;
use crate::kernel::ColumnSums;

/// A point below the floor.
pub(super) struct Polished {
    violation: f64,
    beta: Vec<f64>,
    fresh: Fresh,
}

impl Rounds<'_> {
    /// Below the floor a round is worth it as long as the one before halved the violation. False: it was not, and the better of the two
    /// points is back.
    pub(super) fn polish(&mut self, violation: f64) -> bool {
        let Some(before) = self.polished.take() else {
            self.polished = (violation <= self.floor).then(|| self.snapshot(violation));
            return true;
        };
        if violation <= 0.5 * before.violation {
            self.polished = Some(self.snapshot(violation));
            return true;
        }
        if violation > before.violation {
            self.beta = before.beta;
            self.adopt(before.fresh);
        }
        false
    }

    fn snapshot(&self, violation: f64) -> Polished {
        let sums = self.sums.clone().unwrap_or_else(|| ColumnSums::zeros(0));
        let fresh = Fresh { gradient: self.gradient.clone(), floor: self.floor, sums };
        Polished { violation, beta: self.beta.clone(), fresh }
    }
}
