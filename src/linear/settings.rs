//! Settings of the linear solvers; the only place where their defaults stand.

use crate::error::{Error, Result};

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearSolver {
    /// What the sizes suggest: dual descent where that gets there soon, the interior-point method where its matrix is small.
    Auto,
    /// The interior-point method on primal and dual together.
    Interior,
    /// Descent in one dual variable at a time.
    DualDescent,
}

impl LinearSolver {
    /// The word used in certificates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Interior => "ipm",
            Self::DualDescent => "dcd",
        }
    }

    /// From the word.
    ///
    /// # Errors
    /// If there is no such solver.
    pub fn parse(name: &str) -> Result<Self> {
        [Self::Auto, Self::Interior, Self::DualDescent]
            .into_iter()
            .find(|s| s.name() == name)
            .ok_or_else(|| Error::Value {
                argument: "solver",
                expected: "\"auto\", \"ipm\" or \"dcd\"",
                got: name.into(),
            })
    }
}

/// What may be set.
#[derive(Clone, Debug)]
pub struct LinearSettings {
    /// Method.
    pub solver: LinearSolver,
    /// Largest relative duality gap of an optimal point.
    pub tol: f64,
    /// Most epochs (iterations of the interior-point method); `None` for no limit.
    pub max_iter: Option<usize>,
    /// Start of the generator.
    pub seed: u64,
}

impl Default for LinearSettings {
    fn default() -> Self {
        Self { solver: LinearSolver::Auto, tol: 1e-6, max_iter: None, seed: 0 }
    }
}

impl LinearSettings {
    /// Checks every setting.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn validate(&self) -> Result<()> {
        if !(self.tol > 0.0 && self.tol.is_finite()) {
            return Err(Error::Value {
                argument: "tol",
                expected: "a finite number above 0",
                got: self.tol.to_string(),
            });
        }
        if self.max_iter == Some(0) {
            return Err(Error::Value {
                argument: "max_iter",
                expected: "at least 1, or no limit",
                got: "0".into(),
            });
        }
        Ok(())
    }
}
