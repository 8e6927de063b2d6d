"""What the kernel estimators share: parameter checks, the call of the solver, its outcome."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state

from exactsvm import _core
from exactsvm._certificate import Certificate
from exactsvm._kernels import KernelSettings
from exactsvm._parameters import (
    KERNELS,
    check_callback,
    check_choice,
    check_flag,
    check_kernel_parameters,
    check_limits,
    check_number,
    check_verbose,
    refuse,
)
from exactsvm._progress import Callback, Progress
from exactsvm._solvers import SOLVERS, resolve_seed, resolve_solver
from exactsvm._threads import check_n_jobs, resolve_n_jobs

Floats = NDArray[np.float64]
Kernel = str | Callable[[Any, Any], Any]

_KERNEL_CHOICES = (*KERNELS, "precomputed")


class Solved(NamedTuple):
    """Outcome of one dual problem."""

    alpha: Floats
    multipliers: Floats
    certificate: Certificate
    interrupted: bool


class BaseKernelSVM(BaseEstimator):
    """Base of the estimators that solve a kernelised dual problem."""

    C: float
    kernel: Kernel
    degree: int
    gamma: float | str
    coef0: float
    shrinking: bool
    tol: float
    cache_size: float
    verbose: int | bool
    max_iter: int
    random_state: Any
    solver: str
    max_time: float | None
    n_jobs: int | None
    callback: Callback | None
    warm_start: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_parameters(self) -> None:
        """Check every parameter before any work is done."""
        check_number("C", self.C, "a number > 0 (infinity allowed)", above=0.0, infinite=True)
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, _KERNEL_CHOICES)
        check_kernel_parameters(self.gamma, self.degree, self.coef0)
        check_limits(self.tol, self.max_iter, self.max_time)
        check_number("cache_size", self.cache_size, "a number of megabytes > 0", above=0.0)
        check_flag("shrinking", self.shrinking)
        check_flag("warm_start", self.warm_start)
        check_verbose(self.verbose)
        check_callback(self.callback)
        check_n_jobs(self.n_jobs)
        check_choice("solver", self.solver, SOLVERS)
        if self.random_state is not None:
            check_random_state(self.random_state)

    def _solve(self, X: Floats, signs: Floats, upper: Floats, start: Floats | None) -> Solved:
        """Solve the dual of C-support vector classification on the rows of X.

        X is the kernel matrix if the kernel is precomputed.
        """
        limits: dict[str, Any] = {
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "max_time": None if self.max_time in (None, math.inf) else float(self.max_time),
            "n_threads": resolve_n_jobs(self.n_jobs),
            "solver": resolve_solver(self.solver),
            "shrinking": bool(self.shrinking),
            "seed": resolve_seed(self.random_state),
        }
        with Progress(check_verbose(self.verbose), self.callback, limits["tol"]) as progress:
            limits["observer"] = progress.observer
            if self._is_precomputed or callable(self.kernel):
                matrix = self._kernel_matrix(X, X) if callable(self.kernel) else X
                ones = np.ones(len(signs))
                alpha, _, multipliers, record = _core.solve_dual(
                    matrix, signs, ones, upper, None, start, signed=False, **limits
                )
            else:
                alpha, _, multipliers, record = _core.fit_kernel(
                    X,
                    signs,
                    upper,
                    **self._kernel_settings()._asdict(),
                    cache_size=float(self.cache_size),
                    start=start,
                    **limits,
                )
            certificate = Certificate.from_record(record)
            if progress.interrupted and not certificate.is_optimal:
                certificate = replace(certificate, status="interrupted")
            progress.conclude(certificate)
        interrupted = progress.interrupted or certificate.status == "interrupted"
        return Solved(alpha, multipliers, certificate, interrupted)

    def _kernel_settings(self) -> KernelSettings:
        return KernelSettings(str(self.kernel), self._gamma, int(self.degree), float(self.coef0))

    def _kernel_matrix(self, rows: Floats, columns: Floats) -> Floats:
        """Evaluate a kernel given as a function."""
        assert callable(self.kernel)
        values: Floats = check_array(
            self.kernel(rows, columns), dtype=np.float64, order="C", input_name="kernel(X, Y)"
        )
        if values.shape != (len(rows), len(columns)):
            expected = f"a function whose result has shape {(len(rows), len(columns))}"
            refuse("kernel", expected, values.shape)
        return values

    def _decision_values(self, X: Floats, dual_coef: Floats, intercept: float) -> Floats:
        """Decision values of one two-class problem at the rows of X."""
        if len(dual_coef) == 0:  # stopped before the first step
            return np.full(len(X), intercept)
        if self._is_precomputed:
            return np.asarray(X[:, self.support_] @ dual_coef + intercept)
        if callable(self.kernel):
            matrix = self._kernel_matrix(X, self.support_vectors_)
            return np.asarray(matrix @ dual_coef + intercept)
        return _core.decision_function(
            X,
            self.support_vectors_,
            dual_coef,
            intercept,
            **self._kernel_settings()._asdict(),
            n_threads=resolve_n_jobs(self.n_jobs),
        )


def feasible_start(alpha: Floats, signs: Floats, upper: Floats) -> Floats | None:
    """Return the coefficients moved into the box and onto the equality, None if nothing is left.

    The heavier class is scaled down to the weight of the lighter one, and what rounding leaves of
    sum signs * alpha is taken from its largest coefficient.
    """
    start = np.clip(alpha, 0.0, upper)
    positive = signs > 0.0
    plus, minus = math.fsum(start[positive]), math.fsum(start[~positive])
    if min(plus, minus) <= 0.0 or not math.isfinite(plus + minus):
        return None
    heavier = positive if plus > minus else ~positive
    if plus != minus:
        start[heavier] *= min(plus, minus) / max(plus, minus)
    # Scaling down left room below the bounds; each pass removes all but the rounding of one number.
    side = np.flatnonzero(heavier)
    at = side[np.argmax(start[side])]
    for _ in range(3):
        excess = math.fsum(signs * start)
        if excess == 0.0:
            break
        start[at] = min(max(start[at] - signs[at] * excess, 0.0), upper[at])
    return start
