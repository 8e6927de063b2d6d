//! What a solver counts and times.

use crate::status::SolverStatus;

/// Counters, seconds and outcome of one solve.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// How it ended.
    pub status: SolverStatus,
    /// Up-cycles followed by a sweep.
    pub n_cycles: usize,
    /// Sweeps, those of a rescue included.
    pub n_sweeps: usize,
    /// Newton steps on the free variables, cut at a bound or not.
    pub n_newton_steps: usize,
    /// Of those, steps that were bent along several bounds.
    pub n_bent_steps: usize,
    /// Of the Newton steps, repeats with a recomputed gradient (iterative refinement).
    pub n_refinements: usize,
    /// Descent steps of one pair (or one variable where there is no equality).
    pub n_pair_steps: usize,
    /// Rows appended to the factor.
    pub n_appends: usize,
    /// Rows deleted from the factor.
    pub n_deletes: usize,
    /// Null-curvature steps of variables that depend on the factor.
    pub n_dependent: usize,
    /// Factorisations from scratch.
    pub n_refactorizations: usize,
    /// Kernel columns computed.
    pub n_kernel_columns: usize,
    /// Kernel columns used again.
    pub n_cache_hits: usize,
    /// The most negative curvature met, 0 if none was negative beyond rounding.
    pub most_negative_curvature: f64,
    /// Seconds by phase.
    pub seconds: Seconds,
}

/// Wall-clock seconds by phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seconds {
    /// Kernel entries.
    pub kernel: f64,
    /// Releasing variables.
    pub up_cycle: f64,
    /// Appending to the factor, and null-curvature steps.
    pub factor: f64,
    /// Newton steps and deletions.
    pub newton: f64,
    /// Gradients of all variables.
    pub gradient: f64,
    /// The certificate.
    pub certificate: f64,
    /// All of it.
    pub total: f64,
}

impl Seconds {
    /// Name and value of each phase.
    pub fn phases(&self) -> [(&'static str, f64); 7] {
        [
            ("kernel", self.kernel),
            ("up_cycle", self.up_cycle),
            ("factor", self.factor),
            ("newton", self.newton),
            ("gradient", self.gradient),
            ("certificate", self.certificate),
            ("total", self.total),
        ]
    }
}
