"""What the kernel estimators share: parameters, the way from data to a fitted model, prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from exactsvm._certificate import Certificate, worst_of
from exactsvm._data import Floats, Rows, canonical
from exactsvm._kernels import KernelSettings, resolve_gamma, symmetrised
from exactsvm._parameters import (
    KERNELS,
    check_callback,
    check_choice,
    check_flag,
    check_kernel_parameters,
    check_limits,
    check_number,
    check_seed,
    check_verbose,
    check_weight,
)
from exactsvm._prediction import Model
from exactsvm._progress import Callback
from exactsvm._solve import Limits, Solved, Task, solve
from exactsvm._solvers import SOLVERS
from exactsvm._status import warn_unless_optimal
from exactsvm._targets import Kept, check_sample_weight
from exactsvm._threads import check_n_jobs, resolve_n_jobs

Kernel = str | Callable[[Any, Any], Any]

_KERNEL_CHOICES = (*KERNELS, "precomputed")


class Encoded(NamedTuple):
    """A task for the rows that are left, which they are, and the attributes that tell of it."""

    task: Task
    kept: Kept
    attributes: dict[str, Any]


class BaseKernelSVM(BaseEstimator):
    """Base of the estimators that solve a kernelised dual problem.

    A subclass says what its problem is (`_encode`) and what its fitted numbers are called
    (`_describe`).
    """

    kernel: Kernel
    degree: int
    gamma: float | str
    coef0: float
    shrinking: bool
    tol: float
    cache_size: float
    verbose: int | bool
    max_iter: int
    solver: str
    max_time: float | None
    n_jobs: int | None
    callback: Callback | None
    warm_start: bool

    dual_coef_: Rows
    intercept_: Floats
    certificates_: Sequence[Certificate]

    def _store(self, given: dict[str, Any]) -> None:
        """Keep the parameters of a constructor, which are its local variables."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_parameters(self) -> None:
        """Check every parameter before any work is done."""
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
        for name, check in _OPTIONAL_CHECKS.items():
            if hasattr(self, name):
                check(getattr(self, name))

    def _encode(self, targets: NDArray[Any] | None, n: int, weights: Floats | None) -> Encoded:
        raise NotImplementedError

    def _fit(
        self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None, **reading: Any
    ) -> Self:
        """Train: check, encode, solve, keep. `reading` are options of `validate_data` for y."""
        self._check_parameters()
        data = (X, y) if self.__sklearn_tags__().target_tags.required else (X,)
        accept = False if self._is_precomputed else "csr"
        read = validate_data(
            self, *data, dtype=np.float64, order="C", accept_sparse=accept, **reading
        )
        points, targets = read if isinstance(read, tuple) else (read, None)
        shape = points.shape
        weights = check_sample_weight(sample_weight, shape[0])
        if self._is_precomputed:
            if shape[0] != shape[1]:
                raise ValueError(f"X must be a square kernel matrix; got shape {shape}")
            points = symmetrised(points, X)
        task, kept, attributes = self._encode(targets, shape[0], weights)

        points = self._rows(canonical(points), kept)
        gamma = 0.0 if self._is_precomputed else resolve_gamma(self.gamma, points)
        hint = self._last_coefficients(shape[0], task, kept) if self.warm_start else None
        limits = Limits.of(self)
        solved = solve(points, task, self._settings(gamma), hint, limits)

        for name, value in attributes.items():
            setattr(self, name, value)
        self._keep(solved, points, task, kept, gamma, shape)
        if solved.interrupted:
            raise KeyboardInterrupt
        failed = solved.not_optimal
        if failed is not None:
            warn_unless_optimal(failed, self.tol, stacklevel=3)
        else:
            self._remark(solved, stacklevel=3)
        return self

    def _rows(self, points: Rows, kept: Kept) -> Rows:
        if isinstance(kept, slice):
            return points
        return points[np.ix_(kept, kept)] if self._is_precomputed else points[kept]

    def _settings(self, gamma: float) -> KernelSettings:
        kernel: Any = self.kernel
        return KernelSettings(kernel, gamma, int(self.degree), float(self.coef0))

    def _keep(
        self,
        solved: Solved,
        points: Rows,
        task: Task,
        kept: Kept,
        gamma: float,
        shape: tuple[int, int],
    ) -> None:
        """Set the fitted attributes that describe the solution."""
        chosen = np.flatnonzero(solved.coefficients.any(axis=0))
        groups = np.zeros(len(chosen), np.int64) if task.codes is None else task.codes[chosen]
        chosen = chosen[np.argsort(groups, kind="stable")]
        self._adopt(
            support=chosen if isinstance(kept, slice) else kept[chosen],
            vectors=np.empty((0, 0)) if self._is_precomputed else points[chosen],
            n_support=np.bincount(groups, minlength=task.n_classes),
            dual_coef=solved.coefficients[:, chosen],
            intercept=solved.biases,
            gamma=gamma,
            shape=shape,
            certificates=solved.certificates,
            fit_status=0 if solved.not_optimal is None else 1,
        )
        self._describe(solved.n_iter, solved.epsilon)

    def _adopt(
        self,
        *,
        support: NDArray[np.integer[Any]],
        vectors: Rows,
        n_support: NDArray[np.integer[Any]],
        dual_coef: Floats,
        intercept: Floats,
        gamma: float,
        shape: tuple[int, int],
        certificates: Sequence[Certificate],
        fit_status: int,
    ) -> None:
        """Become the model of these numbers, whether trained or read from a file."""
        self.support_ = support.astype(np.int32)
        self.n_support_ = n_support.astype(np.int32)
        self.support_vectors_, self.dual_coef_ = vectors, np.ascontiguousarray(dual_coef)
        if sparse.issparse(vectors):
            self.support_vectors_ = sparse.csr_matrix(vectors)
            self.dual_coef_ = sparse.csr_matrix(self.dual_coef_)
        self.intercept_ = intercept
        self._gamma = gamma
        self.shape_fit_ = shape
        self.fit_status_ = fit_status
        self.certificates_ = certificates
        self.certificate_ = worst_of(certificates)

    def _describe(self, n_iter: NDArray[np.int32], epsilon: float) -> None:
        """Set what is called differently from class to class."""
        self.n_iter_: Any = int(n_iter[0])

    def _remark(self, solved: Solved, stacklevel: int) -> None:
        """Warn of a solution that is optimal and of no use."""

    def _last_coefficients(self, n: int, task: Task, kept: Kept) -> Floats | None:
        """Coefficients of the last fit at the rows that are kept, if it had n rows."""
        if getattr(self, "shape_fit_", (0,))[0] != n:
            return None
        last = self.dual_coef_.toarray() if sparse.issparse(self.dual_coef_) else self.dual_coef_
        if last.shape[0] != task.n_rows_of_coefficients:
            return None
        coefficients = np.zeros((last.shape[0], n))
        coefficients[:, self.support_] = last
        return coefficients[:, kept]

    def _read_rows(self, X: ArrayLike) -> Rows:
        """Check rows to predict. Of a kernel matrix the columns of the support vectors suffice."""
        check_is_fitted(self)
        if self._is_precomputed:
            n_columns = getattr(X, "shape", (0, 0))[-1]
            if n_columns == len(self.support_) != self.n_features_in_:
                return check_array(X, dtype=np.float64, order="C", input_name="X")
            points = validate_data(self, X, dtype=np.float64, order="C", reset=False)
            return np.ascontiguousarray(points[:, self.support_])
        points = validate_data(
            self, X, dtype=np.float64, order="C", accept_sparse="csr", reset=False
        )
        return canonical(points)

    def _values(self, X: ArrayLike) -> Floats:
        """Decision values at rows of any form, of shape (n,) or (n, n_pairs)."""
        points = self._read_rows(X)
        return self._model().values(points)

    def _model(self) -> Model:
        return Model(
            self._settings(self._gamma),
            self.support_vectors_,
            self.dual_coef_,
            self.intercept_,
            self.n_support_,
            float(self.cache_size),
            resolve_n_jobs(self.n_jobs),
        )

    @property
    def coef_(self) -> Rows:
        """Weights of the features, one row a decision function; only for a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is defined for a linear kernel only")
        return self._model().weights()


_OPTIONAL_CHECKS: dict[str, Callable[[Any], Any]] = {
    "C": lambda C: check_weight("C", C, infinite=True),
    "epsilon": lambda epsilon: check_number("epsilon", epsilon, "a finite number >= 0", least=0.0),
    "nu": lambda nu: check_fraction("nu", nu),
    "random_state": check_seed,
}


def check_fraction(name: str, value: object) -> None:
    """Check a number above 0, at most 1."""
    expected = "a number > 0 and <= 1"
    if check_number(name, value, expected, above=0.0) > 1.0:
        raise ValueError(f"{name} must be {expected}; got {value!r}")
