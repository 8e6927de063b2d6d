//! An observer that polls signals and calls back into Python.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::observer::{Control, Observer, Progress};

/// Polls signals (effective on Python's main thread) and asks the user's function, if there is one.
pub(super) struct PyObserver {
    callback: Option<Py<PyAny>>,
    error: Option<PyErr>,
    solved: Option<(usize, usize)>,
}

impl PyObserver {
    pub(super) fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, error: None, solved: None }
    }

    /// Raises what the callback or a signal handler raised, except for `KeyboardInterrupt` from a signal, which is a status.
    pub(super) fn finish(self) -> PyResult<()> {
        self.error.map_or(Ok(()), Err)
    }

    /// Whether work may go on: polls signals alone.
    pub(super) fn proceed(&mut self) -> bool {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => true,
            Err(error) => {
                self.error = Some(error);
                false
            }
        })
    }
}

impl Observer for PyObserver {
    fn observe(&mut self, progress: &Progress) -> Control {
        Python::attach(|py| {
            if let Err(error) = py.check_signals() {
                if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    return Control::Interrupt;
                }
                self.error = Some(error);
                return Control::Stop;
            }
            let Some(callback) = &self.callback else {
                return Control::Continue;
            };
            let asked = record(py, progress, self.solved)
                .and_then(|r| callback.call1(py, (r,)))
                .and_then(|a| a.is_truthy(py));
            match asked {
                Ok(false) => Control::Continue,
                Ok(true) => Control::Stop,
                Err(error) => {
                    self.error = Some(error);
                    Control::Stop
                }
            }
        })
    }

    fn solved(&mut self, solved: usize, all: usize) {
        self.solved = Some((solved, all));
    }
}

fn record<'py>(
    py: Python<'py>,
    progress: &Progress,
    solved: Option<(usize, usize)>,
) -> PyResult<Bound<'py, PyDict>> {
    let record = PyDict::new(py);
    record.set_item("solver", progress.solver)?;
    record.set_item("n_iter", progress.n_iter)?;
    record.set_item("dual_objective", progress.dual_objective)?;
    record.set_item("kkt_violation", progress.kkt_violation)?;
    record.set_item("n_free", progress.n_free)?;
    record.set_item("n_bounded", progress.n_bounded)?;
    record.set_item("n_kernel_columns", progress.n_kernel_columns)?;
    record.set_item("elapsed", progress.elapsed)?;
    if let Some((solved, all)) = solved {
        record.set_item("n_solved", solved)?;
        record.set_item("n_problems", all)?;
    }
    Ok(record)
}
