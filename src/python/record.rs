//! The certificate and the counters as one Python dictionary.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::certificate::Certificate;
use crate::info::Info;
use crate::status::SolverStatus;
use crate::train::Trained;

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

/// The certificates of many problems, one array a field: a million dictionaries would take more memory than the models.
pub(super) fn records<'py>(
    py: Python<'py>,
    fits: &[Trained],
    solver: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let records = PyDict::new(py);
    let claims = |fit: &Trained| {
        fit.info.status != SolverStatus::Stationary && fit.info.most_negative_curvature == 0.0
    };
    let floats = |name: &str, of: &dyn Fn(&Trained) -> f64| {
        let values: Vec<f64> = fits.iter().map(of).collect();
        records.set_item(name, values.into_pyarray(py))
    };
    let claimed = |name: &str, of: &dyn Fn(&Certificate) -> f64| {
        floats(name, &|fit| if claims(fit) { of(&fit.certificate) } else { f64::NAN })
    };
    claimed("primal_objective", &|c| c.primal_objective)?;
    claimed("duality_gap", &|c| c.duality_gap)?;
    claimed("relative_gap", &|c| c.relative_gap)?;
    floats("dual_objective", &|fit| fit.certificate.dual_objective)?;
    floats("kkt_violation", &|fit| fit.certificate.kkt_violation)?;
    floats("equality_residual", &|fit| fit.certificate.equality_residual)?;
    floats("box_residual", &|fit| fit.certificate.box_residual)?;
    floats("precision_floor", &|fit| fit.certificate.precision_floor)?;
    floats("most_negative_curvature", &|fit| fit.info.most_negative_curvature)?;
    let counts = |name: &str, of: &dyn Fn(&Trained) -> usize| {
        let values: Vec<i64> =
            fits.iter().map(|fit| i64::try_from(of(fit)).unwrap_or(i64::MAX)).collect();
        records.set_item(name, values.into_pyarray(py))
    };
    counts("n_cycles", &|fit| fit.info.n_cycles)?;
    counts("n_sweeps", &|fit| fit.info.n_sweeps)?;
    counts("n_newton_steps", &|fit| fit.info.n_newton_steps)?;
    counts("n_pair_steps", &|fit| fit.info.n_pair_steps)?;
    counts("n_appends", &|fit| fit.info.n_appends)?;
    counts("n_deletes", &|fit| fit.info.n_deletes)?;
    counts("n_dependent", &|fit| fit.info.n_dependent)?;
    counts("n_refactorizations", &|fit| fit.info.n_refactorizations)?;
    counts("n_kernel_columns", &|fit| fit.info.n_kernel_columns)?;
    counts("n_cache_hits", &|fit| fit.info.n_cache_hits)?;
    counts("n_free", &|fit| fit.certificate.n_free)?;
    counts("n_bounded", &|fit| fit.certificate.n_bounded)?;
    let bounds = fits.iter().flat_map(|fit| &fit.certificate.bias_intervals);
    let bounds: Vec<f64> = bounds.flat_map(|&(low, high)| [low, high]).collect();
    records.set_item("bias_interval", bounds.into_pyarray(py))?;
    let status: Vec<&str> = fits.iter().map(|fit| fit.info.status.name()).collect();
    records.set_item("status", status)?;
    records.set_item("solver", vec![solver; fits.len()])?;
    let phases = crate::info::Seconds::default().phases().map(|(name, _)| name);
    let seconds = PyDict::new(py);
    for (k, phase) in phases.into_iter().enumerate() {
        let values: Vec<f64> = fits.iter().map(|fit| fit.info.seconds.phases()[k].1).collect();
        seconds.set_item(phase, values.into_pyarray(py))?;
    }
    records.set_item("seconds", seconds)?;
    Ok(records)
}
