//! The certificate and the counters as one Python dictionary.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::certificate::Certificate;
use crate::info::Info;
use crate::status::SolverStatus;

pub(super) fn record<'py>(
    py: Python<'py>,
    certificate: &Certificate,
    info: &Info,
    status: SolverStatus,
    solver: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let record = PyDict::new(py);
    // Where the matrix is not positive semidefinite there is no dual, hence no gap.
    let claims_gap = status != SolverStatus::Stationary && info.most_negative_curvature == 0.0;
    let claimed = |value: f64| if claims_gap { value } else { f64::NAN };
    record.set_item("primal_objective", claimed(certificate.primal_objective))?;
    record.set_item("dual_objective", certificate.dual_objective)?;
    record.set_item("duality_gap", claimed(certificate.duality_gap))?;
    record.set_item("relative_gap", claimed(certificate.relative_gap))?;
    record.set_item("kkt_violation", certificate.kkt_violation)?;
    record.set_item("equality_residual", certificate.equality_residual)?;
    record.set_item("box_residual", certificate.box_residual)?;
    record.set_item("precision_floor", certificate.precision_floor)?;
    record.set_item("bias_interval", certificate.bias_intervals.clone())?;
    record.set_item("most_negative_curvature", info.most_negative_curvature)?;
    record.set_item("status", status.name())?;
    record.set_item("solver", solver)?;
    record.set_item("n_cycles", info.n_cycles)?;
    record.set_item("n_sweeps", info.n_sweeps)?;
    record.set_item("n_newton_steps", info.n_newton_steps)?;
    record.set_item("n_pair_steps", info.n_pair_steps)?;
    record.set_item("n_appends", info.n_appends)?;
    record.set_item("n_deletes", info.n_deletes)?;
    record.set_item("n_dependent", info.n_dependent)?;
    record.set_item("n_refactorizations", info.n_refactorizations)?;
    record.set_item("n_refinements", info.n_refinements)?;
    record.set_item("n_kernel_columns", info.n_kernel_columns)?;
    record.set_item("n_cache_hits", info.n_cache_hits)?;
    record.set_item("n_free", certificate.n_free)?;
    record.set_item("n_bounded", certificate.n_bounded)?;
    let seconds = PyDict::new(py);
    for (phase, value) in info.seconds.phases() {
        seconds.set_item(phase, value)?;
    }
    record.set_item("seconds", seconds)?;
    Ok(record)
}
