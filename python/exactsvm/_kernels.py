"""Kernel settings, and kernel matrices as a public function."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from exactsvm import _core
from exactsvm._parameters import KERNELS, check_choice, check_kernel_parameters, named, refuse
from exactsvm._threads import check_n_jobs, resolve_n_jobs


class KernelSettings(NamedTuple):
    """A kernel function with its numbers, as the compiled module takes it."""

    kernel: str
    gamma: float
    degree: int
    coef0: float


def variance(X: Any) -> float:
    """Return the variance of all entries."""
    if not sparse.issparse(X):
        return float(X.var())
    n = float(X.shape[0]) * float(X.shape[1])
    mean = X.data.sum() / n
    squares = np.square(X.data - mean).sum() + (n - len(X.data)) * mean * mean
    return float(squares / n)


def resolve_gamma(gamma: float | str, X: Any) -> float:
    """Return gamma as a number: "scale" is 1 / (n_features Var[X]), "auto" is 1 / n_features."""
    n_features = int(X.shape[1])
    if gamma == "auto":
        return 1.0 / n_features
    if gamma == "scale":
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            spread = variance(X)
            gamma = 1.0 / (n_features * spread) if spread != 0.0 else 1.0
        if not (np.isfinite(gamma) and gamma > 0.0):
            raise ValueError(
                f"gamma='scale' needs a variance of X whose inverse is a number; it is {spread:g}: "
                "scale the features, or give gamma as a number"
            )
        return gamma
    return float(gamma)


def symmetrised(matrix: NDArray[np.float64], given: Any) -> NDArray[np.float64]:
    """Return a square kernel matrix without the asymmetry that single precision has left in it.

    `given` is what it was made from. Larger differences stay, for the compiled module to refuse.
    """
    if getattr(given, "dtype", None) not in (np.float32, np.float16):
        return matrix
    difference = np.abs(matrix - matrix.T).max(initial=0.0)
    if 0.0 < difference <= 1e-5 * np.abs(matrix).max(initial=0.0):
        return np.asarray(0.5 * (matrix + matrix.T))
    return matrix


def evaluate(function: Any, rows: Any, columns: Any) -> NDArray[np.float64]:
    """Evaluate a kernel given as a function."""
    shape = (rows.shape[0], columns.shape[0])
    expected = f"a function whose result is a matrix of shape {shape}"
    seen = read_only(rows)
    result = function(seen, seen if rows is columns else read_only(columns))
    if sparse.issparse(result):
        result = result.toarray()
    if np.asarray(result).ndim != 2:
        refuse("kernel", expected, result)
    with named("kernel"):
        values: NDArray[np.float64] = check_array(
            result, dtype=np.float64, order="C", input_name="kernel(X, Y)"
        )
    if values.shape != shape:
        refuse("kernel", expected, values.shape)
    return symmetrised(values, result) if rows is columns else values


def read_only(rows: Any) -> Any:
    """Return a view of rows, dense or sparse, through which they cannot be written."""
    if sparse.issparse(rows):
        parts = tuple(read_only(part) for part in (rows.data, rows.indices, rows.indptr))
        view = type(rows)(parts, shape=rows.shape, copy=False)
        view.has_canonical_format = rows.has_canonical_format
        return view
    view = rows.view()
    view.flags.writeable = False
    return view


def pairwise_kernel(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    kernel: str = "rbf",
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute the kernel matrix of the rows of X with the rows of Y.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Points, one a row.
    Y : array-like of shape (m, n_features), default=None
        Points of the columns; None means X itself, and the result is exactly symmetric.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian"}, default="rbf"
        x'y; (gamma x'y + coef0)^degree; exp(-gamma |x - y|^2); tanh(gamma x'y + coef0);
        exp(-gamma |x - y|_1).
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features * variance) of Y if given, else of X: in the usual call the
        columns belong to the training data. "auto" is 1 / n_features.
    degree : int, default=3
        Degree of "poly"; the other kernels ignore it.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid"; the other kernels ignore it.
    n_jobs : int, default=None
        Threads. None means all available cores, or one in a worker process.

    Returns
    -------
    ndarray of shape (n, m)
        The kernel matrix, float64 and C-contiguous.

    Examples
    --------
    >>> from exactsvm import pairwise_kernel
    >>> pairwise_kernel([[0.0], [2.0]], kernel="linear")
    array([[0., 0.],
           [0., 4.]])
    """
    check_choice("kernel", kernel, KERNELS)
    check_kernel_parameters(gamma, degree, coef0)
    check_n_jobs(n_jobs)
    rows = check_array(X, dtype=np.float64, order="C", input_name="X")
    columns = None if Y is None else check_array(Y, dtype=np.float64, order="C", input_name="Y")
    if columns is not None and columns.shape[1] != rows.shape[1]:
        raise ValueError(
            f"Y must have as many columns as X, {rows.shape[1]}; got {columns.shape[1]}"
        )
    number = resolve_gamma(gamma, rows if columns is None else columns)
    settings = KernelSettings(kernel, number, int(degree), float(coef0))
    return _core.pairwise_kernel(
        rows, columns, **settings._asdict(), n_threads=resolve_n_jobs(n_jobs)
    )
