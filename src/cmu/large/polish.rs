//! What a point at the rounding floor is still worth.

use super::Rounds;
use crate::gradient::Fresh;

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
            if violation <= self.floor {
                self.polished = self.snapshot(violation);
            }
            return true;
        };
        if violation <= 0.5 * before.violation {
            self.polished = self.snapshot(violation);
            return true;
        }
        if violation > before.violation {
            self.beta = before.beta;
            self.adopt(before.fresh);
        }
        false
    }

    /// The point with its gradient; `None` if that is not as good as computed anew.
    fn snapshot(&self, violation: f64) -> Option<Polished> {
        let sums = self.sums.clone()?;
        let fresh = Fresh { gradient: self.gradient.clone(), floor: self.floor, sums };
        Some(Polished { violation, beta: self.beta.clone(), fresh })
    }
}
