"""One call of the solver: from a task on some rows to coefficients and certificates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from exactsvm import _core
from exactsvm._certificate import Certificate, Certificates, worst_of
from exactsvm._data import (
    MEGABYTE,
    Floats,
    Rows,
    as_array,
    dense_bytes,
    sparse_kernel,
    used_columns,
)
from exactsvm._kernels import KernelSettings, evaluate
from exactsvm._parameters import check_verbose, seconds_or_none
from exactsvm._progress import Callback, Progress
from exactsvm._solvers import n_steps, resolve_seed, resolve_solver
from exactsvm._threads import resolve_n_jobs


class Task(NamedTuple):
    """What is to be trained, in the terms of the compiled module."""

    problem: str
    targets: Floats  # signs for two classes, numbers for regression; read for no other
    upper: Floats
    parameter: float = 0.0  # epsilon or nu
    codes: NDArray[np.int64] | None = None  # number of each row's class
    n_classes: int = 1

    @property
    def n_rows_of_coefficients(self) -> int:
        """Coefficients a point."""
        return max(1, self.n_classes - 1)


class Limits(NamedTuple):
    """Tolerance, limits, threads and observers of a run."""

    tol: float
    max_iter: int
    max_time: float | None
    cache_size: float
    n_threads: int
    verbose: int
    callback: Callback | None
    solver: str
    shrinking: bool
    seed: int

    @classmethod
    def of(cls, estimator: Any) -> Limits:
        """Read them from an estimator whose parameters have been checked."""
        return cls(
            float(estimator.tol),
            int(estimator.max_iter),
            seconds_or_none(estimator.max_time),
            float(estimator.cache_size),
            resolve_n_jobs(estimator.n_jobs),
            check_verbose(estimator.verbose),
            estimator.callback,
            resolve_solver(estimator.solver),
            bool(estimator.shrinking),
            resolve_seed(getattr(estimator, "random_state", None)),
        )


class Solved(NamedTuple):
    """Outcome of one or more dual problems."""

    coefficients: Floats  # of shape (max(1, n_classes - 1), n), signed
    biases: Floats
    epsilon: float
    certificates: Sequence[Certificate]
    interrupted: bool

    @property
    def worst(self) -> Certificate:
        """The certificate with the largest relative gap."""
        return worst_of(self.certificates)

    @property
    def not_optimal(self) -> Certificate | None:
        """The worst certificate of a problem that was not solved, if there is one."""
        many = self.certificates
        if not isinstance(many, Certificates):
            return None if many[0].is_optimal else many[0]
        if not self.worst.is_optimal:
            return self.worst
        failed = many.not_optimal()
        return many[failed[0]] if failed else None

    def numbers(self, field: str) -> Floats:
        """Return a field of all certificates."""
        many = self.certificates
        if isinstance(many, Certificates):
            return many.numbers(field)
        return np.array([getattr(many[0], field)])

    @property
    def n_iter(self) -> NDArray[np.int32]:
        """Iterations of each problem, in the solver's unit."""
        many = self.certificates
        steps = many.n_steps if isinstance(many, Certificates) else [n_steps(many[0])]
        return np.asarray(steps, dtype=np.int32)


def solve(
    X: Rows, task: Task, settings: KernelSettings, hint: Floats | None, limits: Limits
) -> Solved:
    """Solve the task on the rows of X, which is the kernel matrix if it is precomputed."""
    kernel = settings.kernel
    data, settings = _prepare(X, settings, limits)
    options: dict[str, Any] = {
        **settings._asdict(),
        "tol": limits.tol,
        "max_iter": limits.max_iter,
        "max_time": limits.max_time,
        "cache_size": limits.cache_size,
        "n_threads": limits.n_threads,
        "solver": limits.solver,
        "shrinking": limits.shrinking,
        "seed": limits.seed,
    }
    run = _solve_pairs if task.n_classes > 2 else _solve_one
    with (
        _matrix_called("kernel(X, X)" if callable(kernel) else "X"),
        Progress(limits.verbose, limits.callback, limits.tol) as progress,
    ):
        solved = run(data, task, hint, {**options, "observer": progress.observer}, progress)
        progress.conclude(solved.worst)
    return solved


@contextmanager
def _matrix_called(name: str) -> Iterator[None]:
    """Name what the compiled module calls the matrix."""
    try:
        yield
    except ValueError as error:
        prefix, _, said = str(error).partition(": ")
        if prefix != "matrix":
            raise
        raise ValueError(f"{name}: {said}") from None


def _prepare(X: Rows, settings: KernelSettings, limits: Limits) -> tuple[Floats, KernelSettings]:
    """Rows or a kernel matrix as an array: whichever a function or sparse rows call for."""
    held = settings._replace(kernel="precomputed")
    if callable(settings.kernel):
        return evaluate(settings.kernel, X, X), held
    if not sparse.issparse(X):
        return X, settings
    allowed, shape = limits.cache_size * MEGABYTE, X.shape
    matrix_bytes = 8.0 * shape[0] ** 2
    if dense_bytes(X) > allowed:
        (X,) = used_columns(X)
    if dense_bytes(X) <= allowed:
        return as_array(X), settings
    if matrix_bytes <= allowed:
        return sparse_kernel(X, X, settings, limits.n_threads), held
    needed = min(dense_bytes(X), matrix_bytes) / MEGABYTE
    raise MemoryError(
        f"cache_size must be at least {math.ceil(needed)} for this sparse X of shape {shape} "
        f"with {X.shape[1]} columns in use: either these or the kernel matrix are held as a dense "
        f"array; got {limits.cache_size:g}"
    )


def _solve_one(
    X: Floats, task: Task, hint: Floats | None, options: dict[str, Any], progress: Progress
) -> Solved:
    start = None if hint is None else _start(task, hint[0])
    coefficients, model, record = _core.fit_problem(
        X, task.problem, task.targets, task.upper, task.parameter, start=start, **options
    )
    certificate = Certificate.from_record(record)
    if progress.interrupted and not certificate.is_optimal:
        certificate = replace(certificate, status="interrupted")
    return Solved(
        coefficients.reshape(1, -1),
        np.array([model["bias"]]),
        float(model["epsilon"]),
        (certificate,),
        progress.interrupted or certificate.status == "interrupted",
    )


def _solve_pairs(
    X: Floats, task: Task, hint: Floats | None, options: dict[str, Any], progress: Progress
) -> Solved:
    start = None if hint is None else _pair_starts(task, np.abs(hint))
    assert task.codes is not None
    coefficients, biases, records = _core.fit_pairs(
        X,
        task.problem,
        task.codes,
        task.n_classes,
        task.upper,
        task.parameter,
        start=start,
        **options,
    )
    certificates = Certificates(records)
    interrupted = progress.interrupted or "interrupted" in records["status"]
    return Solved(coefficients, biases, 0.0, certificates, interrupted)


def _start(task: Task, coefficients: Floats) -> Floats | None:
    """Variables of the dual from the coefficients of the last model."""
    if task.problem == "c_svc":
        return feasible_start(np.abs(coefficients), task.targets, task.upper)
    if task.problem in ("nu_svc", "one_class"):
        return np.abs(coefficients)
    x = np.concatenate([np.maximum(coefficients, 0.0), np.maximum(-coefficients, 0.0)])
    if task.problem == "nu_svr":
        return x
    signs = np.repeat([1.0, -1.0], len(coefficients))
    return feasible_start(x, signs, np.concatenate([task.upper, task.upper]))


def _pair_starts(task: Task, alpha: Floats) -> Floats:
    """Make the coefficients of every pair of classes feasible."""
    assert task.codes is not None
    if task.problem != "c_svc":  # the compiled module does it
        return alpha
    start = np.zeros_like(alpha)
    members = [np.flatnonzero(task.codes == c) for c in range(task.n_classes)]
    for a, first in enumerate(members):
        for b, second in enumerate(members[a + 1 :], a + 1):
            both = np.concatenate([first, second])
            signs = np.repeat([1.0, -1.0], [len(first), len(second)])
            last = np.concatenate([alpha[b - 1, first], alpha[a, second]])
            found = feasible_start(last, signs, task.upper[both])
            if found is not None:
                start[b - 1, first], start[a, second] = np.split(found, [len(first)])
    return start


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
