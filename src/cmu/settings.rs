//! Settings of the method; the only place where their defaults stand.

use std::fmt::Display;

use crate::error::{Error, Result};

/// What may be set.
#[derive(Clone, Debug)]
pub struct CmuSettings {
    /// Largest KKT violation of an optimal point, in units of the decision function.
    pub tol: f64,
    /// Most cycles; `None` for no limit.
    pub max_iter: Option<usize>,
    /// An up-cycle ends when the free set has grown by this share ...
    pub growth: f64,
    /// ... but at least by this many variables.
    pub least_growth: usize,
    /// A squared pivot of at most this share of its diagonal marks a dependent variable.
    pub rank_tol: f64,
    /// Most repeats of a full Newton step with a recomputed gradient.
    pub max_refinements: usize,
    /// Whether Newton steps that meet many bounds are bent along them.
    pub bend: bool,
    /// Cycles without any progress before a rescue.
    pub patience: usize,
    /// Violators that join the free variables in a round on a matrix that is not held.
    pub block: usize,
    /// Whether a matrix that fits in memory is held in full; else it is used by columns all the same.
    pub hold: bool,
    /// Seed of the draw among them.
    pub seed: u64,
}

impl Default for CmuSettings {
    fn default() -> Self {
        Self {
            tol: 1e-10,
            max_iter: None,
            growth: 0.5,
            least_growth: 10,
            rank_tol: 1e-12,
            max_refinements: 4,
            bend: true,
            patience: 25,
            block: 1024,
            hold: true,
            seed: 0,
        }
    }
}

impl CmuSettings {
    /// Checks every setting.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn validate(&self) -> Result<()> {
        // Texts are made when they are needed: this is asked before every fit, of which there may be hundreds of thousands.
        let check = |ok: bool, argument, expected, value: &dyn Display| {
            if ok {
                return Ok(());
            }
            Err(Error::Value { argument, expected, got: value.to_string() })
        };
        let Self { tol, growth, rank_tol, block, .. } = self;
        check(*tol > 0.0 && tol.is_finite(), "tol", "a finite number above 0", tol)?;
        check(self.max_iter != Some(0), "max_iter", "at least 1, or no limit", &0)?;
        check(*growth > 0.0, "growth", "a number above 0", growth)?;
        check(self.least_growth > 0, "least_growth", "at least 1", &0)?;
        check((0.0..1e-2).contains(rank_tol), "rank_tol", "a number from 0 to 0.01", rank_tol)?;
        check(*block >= 2, "block", "at least 2", block)?;
        check(self.patience > 0, "patience", "at least 1", &0)
    }
}
