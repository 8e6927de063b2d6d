"""The dual problem in its general form, on a matrix that the caller holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from exactsvm import _core
from exactsvm._certificate import Certificate
from exactsvm._parameters import (
    LARGEST_WEIGHT,
    check_callback,
    check_choice,
    check_flag,
    check_limits,
    check_seed,
    check_vector,
    check_verbose,
    named,
    seconds_or_none,
)
from exactsvm._progress import Callback, Progress
from exactsvm._solvers import SELECTIONS, SOLVERS, resolve_seed, resolve_solver
from exactsvm._status import warn_unless_optimal
from exactsvm._threads import check_n_jobs, resolve_n_jobs

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Solution of a dual problem.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The variables.
    gradient : ndarray of shape (n,)
        Hx - c.
    multipliers : ndarray of shape (n_groups,)
        Multiplier mu of each group's equality; the bias of a classifier is -mu.
    certificate : Certificate
        Objectives, duality gap, violation, work.

    Examples
    --------
    >>> from exactsvm import solve_dual
    >>> solution = solve_dual([[1.0, -1.0], [-1.0, 1.0]], [-1, 1], upper=10.0)
    >>> solution.certificate.status
    'optimal'
    """

    x: Floats
    gradient: Floats
    multipliers: Floats
    certificate: Certificate


def solve_dual(
    matrix: ArrayLike,
    z: ArrayLike,
    *,
    upper: ArrayLike,
    linear: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    start: ArrayLike | None = None,
    signed: bool = False,
    tol: float = 1e-10,
    max_iter: int = -1,
    max_time: float | None = None,
    solver: str = "auto",
    selection: str = "greedy",
    shrinking: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
    callback: Callback | None = None,
) -> DualSolution:
    """Minimise 1/2 x'Hx - c'x over a box, with the signed sum of each group fixed.

    The problem is

        minimise 1/2 x'Hx - c'x   subject to   0 <= x <= u,
        sum of z_i x_i over each group kept at its value at the start,

    with H = ZKZ and Z = diag(z); every support vector machine of the family is an instance. It is
    solved by CMU, the cycling method with updates [1]_, or by SMO.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        The kernel matrix K, symmetric and positive semidefinite; H itself if `signed`.
    z : array-like of shape (n,)
        Signs, -1 or +1.
    upper : float or array-like of shape (n,)
        Upper bounds u, > 0, at most 1e100 or infinite.
    linear : array-like of shape (n,), default=None
        Linear term c; None means ones.
    groups : array-like of int of shape (n,), default=None
        Number of each variable's group, counted from 0; None means one group.
    start : array-like of shape (n,), default=None
        Feasible starting point, which also fixes the sums; None means zeros.
    signed : bool, default=False
        Whether `matrix` is H instead of K.
    tol : float, default=1e-10
        Largest violation of the optimality conditions.
    max_iter : int, default=-1
        Largest number of iterations, cycles for "cmu" and pair steps for "smo"; -1 for no limit.
    max_time : float, default=None
        Seconds after which the best point so far is returned. The certificate holds NaN where they
        were too few to know anything of it.
    solver : {"auto", "cmu", "smo"}, default="auto"
        Method; "auto" is "cmu".
    selection : {"greedy", "random"}, default="greedy"
        How SMO chooses the pair of a step: the worst violator with the partner that gains most to
        second order, or two variables drawn at random among those that violate.
    shrinking : bool, default=True
        Whether SMO leaves variables out that look settled, until the rest is solved.
    random_state : int, RandomState instance or None, default=None
        Seed of the random selection; None is 0.
    n_jobs : int, default=None
        Threads; None means all available cores, or one in a worker process.
    verbose : int or bool, default=0
        1 shows a progress bar (a table if tqdm is not installed), 2 a line for each report.
    callback : callable, default=None
        Called some times a second with a progress record; returning True stops.

    Returns
    -------
    DualSolution
        Variables, gradient, multipliers and certificate. Anything short of optimal gives a
        `ConvergenceWarning`.

    References
    ----------
    .. [1] F. Jarre, "A Rank-One-Update Method for the Training of Support Vector Machines",
       arXiv 2503.10482.

    Examples
    --------
    Two points at -1 and +1 on a line, one in each class:

    >>> from exactsvm import solve_dual
    >>> solution = solve_dual([[1.0, -1.0], [-1.0, 1.0]], [-1, 1], upper=10.0)
    >>> solution.x
    array([0.5, 0.5])
    >>> solution.certificate.dual_objective
    0.5
    """
    check_limits(tol, max_iter, max_time)
    check_flag("signed", signed)
    check_callback(callback)
    check_n_jobs(n_jobs)
    check_choice("solver", solver, SOLVERS)
    check_choice("selection", selection, SELECTIONS)
    check_flag("shrinking", shrinking)
    check_seed(random_state)
    level = check_verbose(verbose)
    square = check_array(matrix, dtype=np.float64, order="C", input_name="matrix")
    n = len(square)
    if square.shape != (n, n):
        raise ValueError(f"matrix must be square; got shape {square.shape}")
    signs = check_vector("z", z, n)
    if not (np.abs(signs) == 1.0).all():
        raise ValueError("z must hold -1 and +1 only")
    bounds = _bounds(upper, n)
    term = np.ones(n) if linear is None else check_vector("linear", linear, n)
    first = None if start is None else check_vector("start", start, n)
    with Progress(level, callback, float(tol)) as progress:
        x, gradient, multipliers, record = _core.solve_dual(
            square,
            signs,
            term,
            bounds,
            None if groups is None else _groups(groups, n),
            first,
            signed=bool(signed),
            tol=float(tol),
            max_iter=int(max_iter),
            max_time=seconds_or_none(max_time),
            n_threads=resolve_n_jobs(n_jobs),
            observer=progress.observer,
            solver=resolve_solver(solver),
            selection=selection,
            shrinking=bool(shrinking),
            seed=resolve_seed(random_state),
        )
        certificate = Certificate.from_record(record)
        progress.conclude(certificate)
    if progress.interrupted or certificate.status == "interrupted":
        raise KeyboardInterrupt
    warn_unless_optimal(certificate, tol, stacklevel=2)
    return DualSolution(x, gradient, multipliers, certificate)


def _bounds(upper: ArrayLike, n: int) -> Floats:
    with named("upper"):
        bounds = np.asarray(upper, dtype=np.float64)
    if bounds.ndim == 0:
        bounds = np.full(n, bounds)
    if bounds.shape != (n,):
        raise ValueError(f"upper must be a number or have shape ({n},); got {bounds.shape}")
    if not (bounds > 0.0).all():  # NaN, too
        raise ValueError("upper must be > 0 everywhere (infinity allowed)")
    if ((bounds > LARGEST_WEIGHT) & (bounds < np.inf)).any():
        raise ValueError(f"upper must be at most {LARGEST_WEIGHT:g} or infinite")
    return np.ascontiguousarray(bounds)


def _groups(groups: ArrayLike, n: int) -> NDArray[np.int64]:
    numbers = np.asarray(groups)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"groups must hold integers; got dtype {numbers.dtype}")
    if numbers.shape != (n,):
        raise ValueError(f"groups must have shape ({n},); got {numbers.shape}")
    return np.ascontiguousarray(numbers, dtype=np.int64)
