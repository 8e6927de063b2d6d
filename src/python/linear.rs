//! Linear fits: samples in the form they came in, borrowed.

use std::borrow::Cow;

use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::arrays::Vector;
use super::progress::PyObserver;
use crate::error::{Error, Result};
use crate::linear::data::{Index, Real};
use crate::linear::fit::LinearStart;
use crate::linear::{
    Dense, Intercept, LinearData, LinearFit, LinearProblem, LinearSettings, LinearSolver, Loss,
    Schedule, Sparse, fit_linear,
};
use crate::threads::Threads;

/// Borrowed samples: an array, or the tuple (data, indices, indptr, number of columns) of compressed sparse rows.
enum Samples<'py> {
    Dense64(PyReadonlyArray2<'py, f64>),
    Dense32(PyReadonlyArray2<'py, f32>),
    Sparse64(Parts<'py, f64, i32>),
    Sparse64Long(Parts<'py, f64, i64>),
    Sparse32(Parts<'py, f32, i32>),
    Sparse32Long(Parts<'py, f32, i64>),
}

struct Parts<'py, T: Element, I: Element> {
    values: Vector<'py, T>,
    columns: Vector<'py, I>,
    offsets: Vector<'py, I>,
    d: usize,
}

impl<'py, T: Element + Real, I: Element + Index> Parts<'py, T, I> {
    fn new(tuple: &Bound<'py, PyTuple>, d: usize) -> Option<Self> {
        let item = |k| tuple.get_item(k).ok();
        Some(Self {
            values: Vector::new("X.data", &item(0)?).ok()?,
            columns: Vector::new("X.indices", &item(1)?).ok()?,
            offsets: Vector::new("X.indptr", &item(2)?).ok()?,
            d,
        })
    }

    fn rows(&self) -> PyResult<Result<Sparse<'_, T, I>>> {
        Ok(Sparse::new(
            self.values.values()?,
            self.columns.values()?,
            self.offsets.values()?,
            self.d,
        ))
    }
}

/// Signs of a classification, or numbers and the width of the tube around them.
enum Targets<'py> {
    Signs(Vector<'py, i8>),
    Numbers(Vector<'py, f64>, f64),
}

/// The same, borrowed.
#[derive(Clone, Copy)]
enum Values<'a> {
    Signs(&'a [i8]),
    Numbers(&'a [f64], f64),
}

impl Values<'_> {
    fn len(self) -> usize {
        match self {
            Self::Signs(signs) => signs.len(),
            Self::Numbers(targets, _) => targets.len(),
        }
    }
}

impl<'py> Targets<'py> {
    fn new(object: &Bound<'py, PyAny>, epsilon: Option<f64>) -> PyResult<Self> {
        Ok(match epsilon {
            None => Self::Signs(Vector::new("targets", object)?),
            Some(epsilon) => Self::Numbers(Vector::new("targets", object)?, epsilon),
        })
    }

    fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Self::Signs(signs) => Values::Signs(signs.values()?),
            Self::Numbers(targets, epsilon) => Values::Numbers(targets.values()?, *epsilon),
        })
    }
}

/// One weight for all samples, or one for each.
enum Weights<'py> {
    All(f64),
    Each(Vector<'py, f64>),
}

impl<'py> Weights<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        match object.extract() {
            Ok(weight) => Ok(Self::All(weight)),
            Err(_) => Ok(Self::Each(Vector::new("weights", object)?)),
        }
    }

    fn values(&self, n: usize) -> PyResult<Cow<'_, [f64]>> {
        Ok(match self {
            Self::All(weight) => Cow::Owned(vec![*weight; n]),
            Self::Each(weights) => Cow::Borrowed(weights.values()?),
        })
    }
}

fn borrow<'py, T: Element>(object: &Bound<'py, PyAny>) -> Option<PyReadonlyArray2<'py, T>> {
    let array = object.cast::<PyArray2<T>>().ok()?;
    if array.is_c_contiguous() { array.try_readonly().ok() } else { None }
}

impl<'py> Samples<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(tuple) = object.cast::<PyTuple>()
            && tuple.len() == 4
        {
            let d: usize = tuple.get_item(3)?.extract()?;
            let form = Parts::new(tuple, d)
                .map(Self::Sparse64)
                .or_else(|| Parts::new(tuple, d).map(Self::Sparse64Long))
                .or_else(|| Parts::new(tuple, d).map(Self::Sparse32))
                .or_else(|| Parts::new(tuple, d).map(Self::Sparse32Long));
            return form.ok_or_else(|| {
                PyTypeError::new_err(
                    "X: expected compressed sparse rows with contiguous float64 or float32 data and \
                     int32 or int64 indices",
                )
            });
        }
        borrow(object).map(Self::Dense64).or_else(|| borrow(object).map(Self::Dense32)).ok_or_else(
            || {
                PyTypeError::new_err(
                    "X: expected a C-contiguous two-dimensional float64 or float32 array",
                )
            },
        )
    }

    /// The samples, checked.
    fn data(&self) -> PyResult<LinearData<'_>> {
        fn dense<'a, T: Element + Real>(
            array: &'a PyReadonlyArray2<'_, T>,
        ) -> PyResult<Dense<'a, T>> {
            let (n, d) = (array.shape()[0], array.shape()[1]);
            Ok(Dense::new(array.as_slice()?, n, d)?)
        }
        Ok(match self {
            Self::Dense64(array) => LinearData::Dense64(dense(array)?),
            Self::Dense32(array) => LinearData::Dense32(dense(array)?),
            Self::Sparse64(parts) => LinearData::Sparse64(parts.rows()??),
            Self::Sparse64Long(parts) => LinearData::Sparse64Long(parts.rows()??),
            Self::Sparse32(parts) => LinearData::Sparse32(parts.rows()??),
            Self::Sparse32Long(parts) => LinearData::Sparse32Long(parts.rows()??),
        })
    }
}

fn loss(name: &str) -> Result<Loss> {
    match name {
        "linear" => Ok(Loss::Linear),
        "squared" => Ok(Loss::Squared),
        _ => Err(Error::Value {
            argument: "loss",
            expected: "\"linear\" or \"squared\"",
            got: name.into(),
        }),
    }
}

/// Weights of the features, intercept, dual variables and certificate of a linear model. `targets` are signs, as int8, if `epsilon` is
/// `None`; `weights` is one number for all samples, or an array.
#[pyfunction]
#[pyo3(
    name = "fit_linear",
    signature = (X, targets, weights, *, epsilon, loss, intercept, intercept_scaling, options, start, max_time, n_threads, observer=None)
)]
#[allow(
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::needless_pass_by_value,
    non_snake_case
)] // the arguments of one call from Python
pub(super) fn fit_linear_py<'py>(
    py: Python<'py>,
    X: &Bound<'py, PyAny>,
    targets: &Bound<'py, PyAny>,
    weights: &Bound<'py, PyAny>,
    epsilon: Option<f64>,
    loss: &str,
    intercept: bool,
    intercept_scaling: Option<f64>,
    options: &Bound<'py, PyDict>,
    start: Option<(Bound<'py, PyAny>, f64)>,
    max_time: Option<f64>,
    n_threads: usize,
    observer: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
    let samples = Samples::new(X)?;
    let targets = Targets::new(targets, epsilon)?;
    let weights = Weights::new(weights)?;
    let start = match &start {
        Some((coef, b)) => Some((Vector::<f64>::new("start", coef)?, *b)),
        None => None,
    };
    let loss = self::loss(loss)?;
    let intercept = match (intercept, intercept_scaling) {
        (false, _) => Intercept::Absent,
        (true, None) => Intercept::Free,
        (true, Some(scale)) => Intercept::Penalised(scale),
    };
    let settings = settings(options)?;
    let targets = targets.values()?;
    let weights = weights.values(targets.len())?;
    let start = match &start {
        Some((coef, b)) => Some(LinearStart { coef: coef.values()?, intercept: *b }),
        None => None,
    };
    let data = samples.data()?;
    let mut observer = PyObserver::new(observer);
    let fit = py.detach(|| -> Result<LinearFit> {
        let problem = match targets {
            Values::Signs(signs) => {
                LinearProblem::classification(signs, &weights, loss, intercept)?
            }
            Values::Numbers(targets, epsilon) => {
                LinearProblem::regression(targets, epsilon, &weights, loss, intercept)?
            }
        };
        drop(weights);
        let threads = Threads::new(n_threads);
        fit_linear(&data, &problem, &settings, start, max_time, &threads, &mut observer)
    })?;
    observer.finish()?;
    let record = record(py, &fit)?;
    Ok((fit.coef.into_pyarray(py), fit.intercept, fit.alpha.into_pyarray(py), record))
}

/// Settings from the entries that are there; the others keep their defaults.
fn settings(options: &Bound<'_, PyDict>) -> PyResult<LinearSettings> {
    let mut settings = LinearSettings::default();
    for (key, value) in options {
        let key: String = key.extract()?;
        match key.as_str() {
            "solver" => settings.solver = LinearSolver::parse(&value.extract::<String>()?)?,
            "tol" => settings.tol = value.extract()?,
            "seed" => settings.seed = value.extract()?,
            "learning_rate" => settings.schedule = Schedule::parse(&value.extract::<String>()?)?,
            "eta0" => settings.eta0 = value.extract()?,
            "power_t" => settings.power_t = value.extract()?,
            "average" => settings.average = value.extract()?,
            "early_stopping" => settings.early_stopping = value.extract()?,
            "seen" => settings.seen = Some(value.extract()?),
            "max_iter" => {
                let most: i64 = value.extract()?;
                settings.max_iter = usize::try_from(most).ok();
            }
            _ => {
                return Err(PyTypeError::new_err(format!("options: {key} is not one of them")));
            }
        }
    }
    settings.validate()?;
    Ok(settings)
}

fn record<'py>(py: Python<'py>, fit: &LinearFit) -> PyResult<Bound<'py, PyDict>> {
    let c = &fit.certificate;
    let record = PyDict::new(py);
    record.set_item("primal_objective", c.primal_objective)?;
    record.set_item("dual_objective", c.dual_objective)?;
    record.set_item("duality_gap", c.duality_gap)?;
    record.set_item("relative_gap", c.relative_gap)?;
    record.set_item("kkt_violation", c.kkt_violation)?;
    record.set_item("equality_residual", c.equality_residual)?;
    record.set_item("box_residual", 0.0)?;
    record.set_item("precision_floor", c.precision_floor)?;
    record.set_item("bias_interval", Vec::<(f64, f64)>::new())?;
    record.set_item("most_negative_curvature", 0.0)?;
    record.set_item("status", fit.status.name())?;
    record.set_item("solver", fit.solver)?;
    record.set_item("n_cycles", fit.n_iter)?;
    for work in [
        "n_sweeps",
        "n_newton_steps",
        "n_pair_steps",
        "n_appends",
        "n_deletes",
        "n_dependent",
        "n_refactorizations",
        "n_refinements",
        "n_kernel_columns",
        "n_cache_hits",
    ] {
        record.set_item(work, 0)?;
    }
    record.set_item("n_free", c.n_free)?;
    record.set_item("n_bounded", c.n_bounded)?;
    let seconds = PyDict::new(py);
    seconds.set_item("total", fit.seconds)?;
    record.set_item("seconds", seconds)?;
    Ok(record)
}
