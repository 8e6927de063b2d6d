"""Typed face of the compiled module.

Private: the public functions of the package validate their arguments and call these.

Arrays must be C-contiguous and float64 (int64 for `groups`), else TypeError. They are borrowed,
never modified, and may be read-only. Every function releases the interpreter while it works and
polls signals. `n_threads` is at least 1, `cache_size` is in MB, `max_iter=-1` and `max_time=None`
mean no limit, `kernel` is "linear", "poly", "rbf", "sigmoid" or "laplacian", `solver` "cmu" or
"smo", `selection` (of SMO) "greedy" or "random". Bad shapes, values and settings raise ValueError.

A solver that is interrupted by a signal does not raise: it returns its best feasible point with
status "interrupted". An exception raised by `observer` is raised by the function itself.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]
_Signs: TypeAlias = NDArray[np.int8]
_Record: TypeAlias = dict[str, Any]
_Observer: TypeAlias = Callable[[_Record], bool]

__all__ = [
    "SAFE_EXPONENT",
    "__version__",
    "certify_kernel",
    "certify_matrix",
    "decision_function",
    "fit_kernel",
    "fit_linear",
    "fit_pairs",
    "fit_problem",
    "pair_decisions",
    "pairwise_kernel",
    "profile",
    "solve_dual",
]

SAFE_EXPONENT: float  # gamma |x|^2 from which RBF distances are summed from differences
__version__: str
profile: str  # "release" or "debug"

def fit_kernel(
    X: _Floats,
    signs: _Floats,
    upper: _Floats,
    *,
    kernel: str,
    gamma: float,
    degree: int,
    coef0: float,
    tol: float,
    max_iter: int,
    max_time: float | None,
    cache_size: float,
    n_threads: int,
    start: _Floats | None = None,
    observer: _Observer | None = None,
    solver: str = "cmu",
    selection: str = "greedy",
    shrinking: bool = True,
    seed: int = 0,
) -> tuple[_Floats, _Floats, _Floats, _Record]:
    """Train on the rows of X: (alpha (n,), gradient (n,), multipliers (1,), certificate)."""

def fit_problem(
    X: _Floats,
    problem: str,
    targets: _Floats,
    upper: _Floats,
    parameter: float,
    *,
    kernel: str,
    gamma: float,
    degree: int,
    coef0: float,
    tol: float,
    max_iter: int,
    max_time: float | None,
    cache_size: float,
    n_threads: int,
    start: _Floats | None = None,
    observer: _Observer | None = None,
    solver: str = "cmu",
    selection: str = "greedy",
    shrinking: bool = True,
    seed: int = 0,
) -> tuple[_Floats, dict[str, Any], _Record]:
    """Train one model: (coefficients (n,), its bias, scale, epsilon and x, certificate).

    `problem` is "c_svc", "nu_svc", "epsilon_svr", "nu_svr" or "one_class"; `targets` are signs or
    numbers, `upper` the bounds C w (w for "nu_svc" and "one_class"), `parameter` is epsilon or nu.
    X is the kernel matrix if `kernel` is "precomputed".
    """

def fit_pairs(
    X: _Floats,
    problem: str,
    codes: NDArray[np.int64],
    n_classes: int,
    upper: _Floats,
    parameter: float,
    *,
    kernel: str,
    gamma: float,
    degree: int,
    coef0: float,
    tol: float,
    max_iter: int,
    max_time: float | None,
    cache_size: float,
    n_threads: int,
    start: _Floats | None = None,
    observer: _Observer | None = None,
    solver: str = "cmu",
    selection: str = "greedy",
    shrinking: bool = True,
    seed: int = 0,
) -> tuple[_Floats, _Floats, _Record]:
    """Train a model for each pair of classes: (coefficients (n_classes - 1, n), biases, records).

    `problem` is "c_svc" or "nu_svc". The records are one dict with an array for each field.
    """

def fit_linear(
    X: Any,
    targets: _Floats | _Signs,
    weights: _Floats | float,
    *,
    epsilon: float | None,
    loss: str,
    intercept: bool,
    intercept_scaling: float | None,
    options: dict[str, Any],
    start: tuple[_Floats, float] | None,
    max_time: float | None,
    n_threads: int,
    observer: _Observer | None = None,
) -> tuple[_Floats, float, _Floats, _Record]:
    """Train a linear model: (coef (n_features,), intercept, dual variables, certificate).

    X is an array of float64 or float32, or (data, indices, indptr, n_features) of sparse rows;
    `targets` are signs, as int8, if `epsilon` is None; `weights` is one number for all samples, or
    one for each; `loss` is "linear" or "squared".
    """

def solve_dual(
    matrix: _Floats,
    signs: _Floats,
    linear: _Floats,
    upper: _Floats,
    groups: NDArray[np.int64] | None,
    start: _Floats | None,
    *,
    signed: bool,
    tol: float,
    max_iter: int,
    max_time: float | None,
    n_threads: int,
    observer: _Observer | None = None,
    solver: str = "cmu",
    selection: str = "greedy",
    shrinking: bool = True,
    seed: int = 0,
) -> tuple[_Floats, _Floats, _Floats, _Record]:
    """Solve the general dual on a matrix: (x (n,), gradient (n,), multipliers (n_groups,), record)."""

def certify_kernel(
    X: _Floats,
    signs: _Floats,
    upper: _Floats,
    alpha: _Floats,
    intercept: float | None,
    *,
    kernel: str,
    gamma: float,
    degree: int,
    coef0: float,
    n_threads: int,
) -> _Record:
    """Certificate of given coefficients on the rows of X; `intercept=None` takes the best one."""

def certify_matrix(
    matrix: _Floats,
    signs: _Floats,
    linear: _Floats,
    upper: _Floats,
    alpha: _Floats,
    intercept: float | None,
    *,
    n_threads: int,
) -> _Record:
    """Certificate of given coefficients on a kernel matrix (n, n)."""

def pairwise_kernel(
    X: _Floats,
    Y: _Floats | None,
    *,
    kernel: str,
    gamma: float,
    degree: int,
    coef0: float,
    n_threads: int,
) -> _Floats:
    """Kernel matrix (n, m) of the rows of X with those of Y, or of X with itself."""

def decision_function(
    X: _Floats,
    support_vectors: _Floats,
    dual_coef: _Floats,
    intercept: float,
    *,
    kernel: str,
    gamma: float,
    degree: int,
    coef0: float,
    n_threads: int,
) -> _Floats:
    """Decision values (n,): sum of dual_coef times kernel values, plus the intercept."""

def pair_decisions(
    X: _Floats,
    support_vectors: _Floats | None,
    dual_coef: _Floats,
    intercept: _Floats,
    n_support: list[int],
    *,
    votes: bool,
    kernel: str,
    gamma: float,
    degree: int,
    coef0: float,
    n_threads: int,
) -> _Floats:
    """Decision values (n, n_pairs), or votes and sums of values (n, 2 n_classes).

    For a precomputed kernel X holds the kernel values with the support vectors, which are None.
    """
