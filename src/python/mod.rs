//! The Python module `exactsvm._core`: borrow, call, move out. The only place that knows Python.

mod arrays;
mod certify;
mod errors;
mod fit;
mod linear;
mod predict;
mod progress;
mod record;
mod train;

use pyo3::prelude::*;

use crate::kernel::SAFE_EXPONENT;

/// The compiled module. Private: the package re-exports what is public.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::certify::{certify_kernel_py, certify_matrix_py};
    #[pymodule_export]
    use super::fit::{fit_kernel_py, solve_dual_py};
    #[pymodule_export]
    use super::linear::fit_linear_py;
    #[pymodule_export]
    use super::predict::{decision_function_py, pair_decisions_py, pairwise_kernel_py};
    #[pymodule_export]
    use super::train::{fit_pairs_py, fit_problem_py};
    use super::{Bound, PyModule, PyModuleMethods, PyResult, SAFE_EXPONENT};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("SAFE_EXPONENT", SAFE_EXPONENT)?;
        module.add("profile", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
