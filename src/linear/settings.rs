//! Settings of the linear solvers; the only place where their defaults stand.

use crate::error::{Error, Result};

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearSolver {
    /// What the sizes suggest: dual descent where that gets there soon, the interior-point method where its matrix is small.
    Auto,
    /// CMU on the dual: exact, with a factor of at most one row more than features for the hinge.
    Exact,
    /// The interior-point method on primal and dual together.
    Interior,
    /// Descent in one dual variable at a time.
    DualDescent,
    /// Full gradients.
    Gradient,
    /// Gradients of single samples.
    Stochastic,
}

/// Step sizes of the gradient methods, in terms of P.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// What the data suggest: 1 / (t + t0) for single samples, quasi-Newton steps on a smoothed loss for full gradients.
    Optimal,
    /// `eta0`.
    Constant,
    /// `eta0` / t^`power_t`.
    InverseScaling,
}

impl Schedule {
    /// From scikit-learn's word.
    ///
    /// # Errors
    /// If there is no such schedule.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "optimal" => Ok(Self::Optimal),
            "constant" => Ok(Self::Constant),
            "invscaling" => Ok(Self::InverseScaling),
            _ => Err(Error::Value {
                argument: "learning_rate",
                expected: "\"optimal\", \"constant\" or \"invscaling\"",
                got: name.into(),
            }),
        }
    }
}

impl LinearSolver {
    /// The word used in certificates.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "cmu",
            Self::Interior => "ipm",
            Self::DualDescent => "dcd",
            Self::Gradient => "gd",
            Self::Stochastic => "sgd",
        }
    }

    /// From the word.
    ///
    /// # Errors
    /// If there is no such solver.
    pub fn parse(name: &str) -> Result<Self> {
        [
            Self::Auto,
            Self::Exact,
            Self::Interior,
            Self::DualDescent,
            Self::Gradient,
            Self::Stochastic,
        ]
        .into_iter()
        .find(|s| s.name() == name)
        .ok_or_else(|| Error::Value {
            argument: "solver",
            expected: "\"auto\", \"cmu\", \"ipm\", \"dcd\", \"gd\" or \"sgd\"",
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
    /// Step sizes of the gradient methods.
    pub schedule: Schedule,
    /// First step size of the schedules that need one.
    pub eta0: f64,
    /// Exponent of [`Schedule::InverseScaling`].
    pub power_t: f64,
    /// Whether the stochastic method averages its iterates.
    pub average: bool,
    /// Whether dual descent and the gradient methods stop as soon as the gap falls too slowly.
    pub early_stopping: bool,
    /// Samples seen before, for a run that goes on from others; the last iterate is then what counts, not the best.
    pub seen: Option<u64>,
}

impl Default for LinearSettings {
    fn default() -> Self {
        Self {
            solver: LinearSolver::Auto,
            tol: 1e-6,
            max_iter: None,
            seed: 0,
            schedule: Schedule::Optimal,
            eta0: 0.0,
            power_t: 0.5,
            average: true,
            early_stopping: false,
            seen: None,
        }
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
        let needs_step = self.schedule != Schedule::Optimal
            && matches!(self.solver, LinearSolver::Gradient | LinearSolver::Stochastic);
        if !(self.eta0.is_finite() && self.power_t.is_finite()) || (needs_step && self.eta0 <= 0.0)
        {
            return Err(Error::Value {
                argument: "eta0",
                expected: "a finite step size above 0",
                got: self.eta0.to_string(),
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
