//! Settings of the method; the only place where their defaults stand.

use crate::error::{Error, Result};

/// How the pair of a step is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The worst violator, and the partner that gains most to second order.
    #[default]
    Greedy,
    /// Two variables drawn at random, among those that violate.
    Random,
}

impl Selection {
    /// Finds a selection by its name.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "greedy" => Ok(Self::Greedy),
            "random" => Ok(Self::Random),
            _ => Err(Error::Value {
                argument: "selection",
                expected: "'greedy' or 'random'",
                got: name.into(),
            }),
        }
    }
}

/// What may be set.
#[derive(Clone, Debug)]
pub struct SmoSettings {
    /// Largest KKT violation of an optimal point, in units of the decision function.
    pub tol: f64,
    /// Most pair steps; `None` for no limit.
    pub max_iter: Option<usize>,
    /// How pairs are chosen.
    pub selection: Selection,
    /// Whether variables that look settled at a bound are left out until the rest is solved.
    pub shrinking: bool,
    /// Seed of the random selection.
    pub seed: u64,
    /// Steps, per variable, without a clearly smaller violation before the point is checked on a fresh gradient.
    pub patience: usize,
}

impl Default for SmoSettings {
    fn default() -> Self {
        Self {
            tol: 1e-10,
            max_iter: None,
            selection: Selection::Greedy,
            shrinking: true,
            seed: 0,
            patience: 100,
        }
    }
}

impl SmoSettings {
    /// Checks every setting.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn validate(&self) -> Result<()> {
        let check = |ok: bool, argument, expected, got: String| {
            if ok { Ok(()) } else { Err(Error::Value { argument, expected, got }) }
        };
        let tol = self.tol;
        check(tol > 0.0 && tol.is_finite(), "tol", "a finite number above 0", tol.to_string())?;
        check(self.max_iter != Some(0), "max_iter", "at least 1, or no limit", "0".into())?;
        check(self.patience > 0, "patience", "at least 1", "0".into())
    }
}
