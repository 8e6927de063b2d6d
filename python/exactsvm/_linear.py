"""What the linear estimators share: parameter checks, the call of the solver, its outcome."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from exactsvm import _core
from exactsvm._certificate import OPTIMAL, Certificate
from exactsvm._parameters import (
    check_callback,
    check_choice,
    check_flag,
    check_limits,
    check_number,
    check_seed,
    check_verbose,
    refuse,
)
from exactsvm._progress import Callback, Progress
from exactsvm._solvers import resolve_seed
from exactsvm._status import warn_unless_optimal
from exactsvm._targets import weighted
from exactsvm._threads import check_n_jobs, resolve_n_jobs

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]

SOLVERS = ("auto", "cmu", "ipm", "dcd", "gd", "sgd")
LEARNING_RATES = ("optimal", "constant", "invscaling")


class Model(NamedTuple):
    """Outcome of one linear problem."""

    coef: Floats
    intercept: float
    certificate: Certificate
    interrupted: bool

    def as_interrupted(self) -> Model:
        """Return the same, with Ctrl-C as what ended it unless it is optimal."""
        certificate = self.certificate
        if not certificate.is_optimal:
            certificate = replace(certificate, status="interrupted")
        return self._replace(interrupted=True, certificate=certificate)


class BaseLinearSVM(BaseEstimator):
    """What the linear estimators share: checks, the call of the solver, its outcome."""

    C: float
    loss: str
    tol: float
    fit_intercept: bool
    intercept_scaling: float | None
    dual: bool | str
    max_iter: int
    max_time: float | None
    n_jobs: int | None
    random_state: Any
    solver: str
    learning_rate: str
    eta0: float
    power_t: float
    average: bool
    early_stopping: bool
    verbose: int | bool
    callback: Callback | None
    warm_start: bool

    coef_: Floats
    intercept_: Floats

    _LOSSES: dict[str, str]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        """Check every parameter before any work is done."""
        check_number("C", self.C, "a finite number > 0", above=0.0)
        check_choice("loss", self.loss, tuple(self._LOSSES))
        check_limits(self.tol, self.max_iter, self.max_time)
        check_flag("fit_intercept", self.fit_intercept)
        if self.intercept_scaling is not None:
            check_number(
                "intercept_scaling",
                self.intercept_scaling,
                "None or a finite number > 0",
                above=0.0,
            )
        if self.dual != "auto":
            check_flag("dual", self.dual)
        check_flag("average", self.average)
        check_flag("early_stopping", self.early_stopping)
        check_flag("warm_start", self.warm_start)
        check_choice("learning_rate", self.learning_rate, LEARNING_RATES)
        check_number("eta0", self.eta0, "a finite number >= 0", least=0.0)
        check_number("power_t", self.power_t, "a finite number")
        if self.learning_rate != "optimal" and self.eta0 == 0.0:
            refuse("eta0", f"> 0 for learning_rate={self.learning_rate!r}", self.eta0)
        check_verbose(self.verbose)
        check_callback(self.callback)
        check_n_jobs(self.n_jobs)
        check_choice("solver", self.solver, SOLVERS)
        check_seed(self.random_state)

    def _checked(self, X: ArrayLike, y: ArrayLike, reset: bool, **options: Any) -> tuple[Any, Any]:
        """Return X and y, X as it came if that is a form that the core reads."""
        return validate_data(  # type: ignore[no-any-return]
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            order="C",
            **options,
        )

    def _options(self) -> dict[str, Any]:
        return {
            "solver": self.solver,
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "seed": resolve_seed(self.random_state),
            "learning_rate": self.learning_rate,
            "eta0": float(self.eta0),
            "power_t": float(self.power_t),
            "average": bool(self.average),
            "early_stopping": bool(self.early_stopping),
        }

    def _limit(self) -> float | None:
        """Return the seconds that a fit may take, None for any."""
        return None if self.max_time in (None, math.inf) else float(self.max_time or 0.0)

    def _solve(
        self,
        samples: Any,
        targets: Floats | Signs,
        weights: Floats | float,
        epsilon: float | None,
        start: tuple[Floats, float] | None,
        options: dict[str, Any],
        observer: Callable[[dict[str, Any]], bool] | None,
        n_threads: int,
        max_time: float | None,
    ) -> tuple[Floats, float, Certificate]:
        coef, intercept, _, record = _core.fit_linear(
            samples,
            targets,
            weights,
            epsilon=epsilon,
            loss=self._LOSSES[self.loss],
            intercept=bool(self.fit_intercept),
            intercept_scaling=_number_or_none(self.intercept_scaling),
            options=options,
            start=start,
            max_time=max_time,
            n_threads=n_threads,
            observer=observer,
        )
        return coef, intercept, Certificate.from_record(record)

    def _solve_one(
        self,
        samples: Any,
        targets: Floats | Signs,
        weights: Floats | float,
        *,
        epsilon: float | None = None,
        start: tuple[Floats, float] | None = None,
        options: dict[str, Any],
    ) -> Model:
        """Solve one problem on this thread, showing its progress."""
        level = check_verbose(self.verbose)
        with Progress(level, self.callback, float(self.tol)) as progress:
            coef, intercept, certificate = self._solve(
                samples,
                targets,
                weights,
                epsilon,
                start,
                options,
                progress.observer,
                resolve_n_jobs(self.n_jobs),
                self._limit(),
            )
            model = Model(coef, intercept, certificate, certificate.status == "interrupted")
            if progress.interrupted:
                model = model.as_interrupted()
            progress.conclude(model.certificate)
        return model

    def _keep(self, models: list[Model]) -> None:
        """Set the fitted attributes that both kinds share."""
        self.certificates_ = tuple(m.certificate for m in models)
        self.certificate_ = max(self.certificates_, key=lambda c: c.relative_gap)
        self.n_iter_ = max(c.n_cycles for c in self.certificates_)
        self.fit_status_ = 0 if all(c.is_optimal for c in self.certificates_) else 1

    def _conclude(self, models: list[Model], stacklevel: int) -> None:
        """Raise or warn where a run did not end at the optimum."""
        if any(m.interrupted for m in models):
            raise KeyboardInterrupt
        accepted = (*OPTIMAL, "early_stopped")
        worst = next((c for c in self.certificates_ if c.status not in accepted), None)
        if worst is not None:
            warn_unless_optimal(worst, self.tol, stacklevel=stacklevel + 1)

    def _values(self, X: ArrayLike) -> Floats:
        """Decision values at the rows of X, of shape (n, number of models)."""
        check_is_fitted(self)
        points = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
        )
        coef = np.atleast_2d(self.coef_)
        return np.asarray(points @ coef.T + self.intercept_, dtype=np.float64)


def _number_or_none(value: float | None) -> float | None:
    return None if value is None else float(value)


def samples_of(points: Any) -> Any:
    """Return the samples in the form that the compiled module takes."""
    if not issparse(points):
        return points
    columns, offsets = points.indices, points.indptr
    if columns.dtype != offsets.dtype:
        wider = np.promote_types(columns.dtype, offsets.dtype)
        columns, offsets = columns.astype(wider), offsets.astype(wider)
    return (points.data, columns, offsets, int(points.shape[1]))


def term_weights(C: float, factors: Floats | None, n: int) -> Floats | float:
    """Return C times the factor of each of n samples, all finite and none lost to rounding.

    Without factors it is one number for all: an array of them would cost memory for nothing.
    """
    if factors is None:
        return float(C)
    upper = weighted(np.full(n, float(C)), factors)
    if not np.isfinite(upper).all():
        raise ValueError("C times the weights must be finite; a product of them is too large")
    if not upper[factors > 0.0].all():
        raise ValueError("C times the weights must be > 0; a product of them is too small")
    return upper


def class_signs(labels: NDArray[Any], positive: Any) -> Signs:
    """Return 1 where the label is `positive` and -1 elsewhere, in a byte each."""
    signs: Signs = np.equal(labels, positive).astype(np.int8)
    signs *= 2
    signs -= 1
    return signs
