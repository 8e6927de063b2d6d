//! When dual descent looks at its gap, which costs as much as a pass over all samples.
//!
//! In between an estimate tells: what an epoch meets of the gap, term by term on its way, belongs to weights that still move, but is near
//! enough to say whether a look is worth it. What a look finds says how far to trust the next estimates.

/// Epochs before the first look that no estimate asked for, and growth of the epochs between two of these.
const FIRST: usize = 4;
const GROWTH: usize = 2;
/// The same for steps at which the fall of the gap is judged, or every look is real.
const STEP_GROWTH: f64 = 0.25;
/// How far what a look finds may correct the estimates.
const TRUST: (f64, f64) = (0.5, 3.0);

/// The schedule.
#[derive(Debug)]
pub(super) struct Looks {
    /// Estimate of the relative gap.
    gap: f64,
    /// The gap over its estimate, at the last look.
    ratio: f64,
    /// First epoch at which an estimate may ask for a look, and epoch of the next look if none does.
    earliest: usize,
    latest: usize,
    /// Epoch of the next step.
    step: usize,
}

impl Looks {
    pub(super) fn new() -> Self {
        Self { gap: f64::INFINITY, ratio: 1.0, earliest: 1, latest: FIRST, step: 1 }
    }

    /// Takes the estimate of the relative gap after an epoch.
    pub(super) fn note(&mut self, gap: f64) {
        self.gap = gap;
    }

    /// Estimate of the relative gap, which may be some constant off.
    pub(super) fn gap(&self) -> f64 {
        self.gap
    }

    /// Whether a look promises a gap of `asked`, or is due anyway.
    pub(super) fn is_due(&self, epoch: usize, asked: f64) -> bool {
        epoch >= self.latest || (epoch >= self.earliest && self.ratio * self.gap <= asked)
    }

    /// Whether this epoch is a step.
    pub(super) fn is_step(&mut self, epoch: usize) -> bool {
        let due = epoch >= self.step;
        if due {
            self.step = step_after(epoch);
        }
        due
    }

    /// Notes the gap that a look at the end of `epoch` found.
    pub(super) fn found(&mut self, epoch: usize, gap: f64) {
        self.ratio = if gap.is_finite() && self.gap > 0.0 {
            (gap / self.gap).clamp(TRUST.0, TRUST.1)
        } else {
            TRUST.1
        };
        self.earliest = step_after(epoch);
        self.latest = GROWTH * epoch + 1;
    }
}

fn step_after(epoch: usize) -> usize {
    epoch + 1 + (STEP_GROWTH * epoch as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_few_and_come_when_they_are_worth_it() {
        let mut looks = Looks::new();
        let mut at = Vec::new();
        for epoch in 1..200 {
            looks.note(9.0);
            if looks.is_due(epoch, 1e-3) {
                looks.found(epoch, 9.0);
                at.push(epoch);
            }
        }
        assert_eq!(at, [4, 9, 19, 39, 79, 159]);
        looks.note(5e-4);
        assert!(looks.is_due(200, 1e-3));
        // The gap is twice as large as was thought: half the estimate is needed now.
        looks.found(200, 1e-3);
        assert!(!looks.is_due(260, 0.9e-3));
        looks.note(4e-4);
        assert!(looks.is_due(260, 0.9e-3));
        // However good the estimates: not at every epoch.
        assert!(!looks.is_due(201, 0.9e-3));
        let mut steps = Looks::new();
        let at: Vec<usize> = (1..20).filter(|&epoch| steps.is_step(epoch)).collect();
        assert_eq!(at, [1, 2, 3, 4, 6, 8, 11, 14, 18]);
    }
}
