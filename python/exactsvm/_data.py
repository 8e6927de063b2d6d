"""Training and prediction data: rows, dense or sparse, and kernel matrices of sparse ones."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from exactsvm import _core
from exactsvm._kernels import KernelSettings

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Any  # an array, or a matrix in CSR format: SciPy carries no types

MEGABYTE = 1e6
_BLOCK_BYTES = 32 * MEGABYTE


def canonical(X: Rows) -> Rows:
    """Return aligned rows; sparse ones with sorted indices, each once.

    A copy if need be, for X is the user's.
    """
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    elif not X.flags.aligned:
        X = X.copy()
    return X


def used_columns(*parts: Rows) -> list[Rows]:
    """Return sparse rows without the columns that none of them has: no kernel sees these."""
    used = np.unique(np.concatenate([part.indices for part in parts]))
    if len(used) == 0:
        used = np.zeros(1, np.intp)
    return [part[:, used] for part in parts] if len(used) < parts[0].shape[1] else list(parts)


def dense_bytes(X: Rows) -> float:
    """Bytes of X as an array."""
    return 8.0 * float(X.shape[0]) * float(X.shape[1])


def as_array(X: Rows) -> Floats:
    """Return X as an aligned C-contiguous array."""
    return np.require(X.toarray() if sparse.issparse(X) else X, np.float64, ["C", "A"])


def row_blocks(n: int, bytes_per_row: float) -> list[slice]:
    """Cut n rows into blocks of a bounded size."""
    step = max(1, int(_BLOCK_BYTES / max(bytes_per_row, 1.0)))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def sparse_kernel(X: Rows, Y: Rows, settings: KernelSettings, n_threads: int) -> Floats:
    """Evaluate a kernel at sparse rows by sparse products, without making them dense."""
    norms = [np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel() for A in (X, Y)]
    largest = max(norm.max(initial=0.0) for norm in norms)
    if settings.kernel == "laplacian" or (
        settings.kernel == "rbf" and settings.gamma * largest > _core.SAFE_EXPONENT
    ):
        return _from_differences(X, Y, settings, n_threads)
    values: Floats = np.empty((X.shape[0], Y.shape[0]))
    transposed = Y.T.tocsc()
    for part in row_blocks(X.shape[0], 8.0 * Y.shape[0]):
        block = (X[part] @ transposed).toarray()
        if settings.kernel == "poly":
            block = (settings.gamma * block + settings.coef0) ** settings.degree
        elif settings.kernel == "sigmoid":
            block = np.tanh(settings.gamma * block + settings.coef0)
        elif settings.kernel == "rbf":
            distance = (norms[0][part, None] + norms[1]) - 2.0 * block
            block = np.exp(-settings.gamma * np.maximum(distance, 0.0))
        values[part] = block
    if X is Y and settings.kernel == "rbf":
        np.fill_diagonal(values, 1.0)
    return values


def _from_differences(X: Rows, Y: Rows, settings: KernelSettings, n_threads: int) -> Floats:
    """Distances that need both rows: dense blocks, in the columns that any of their rows has."""
    values: Floats = np.empty((X.shape[0], Y.shape[0]))
    n_columns = min(X.shape[1], X.nnz + Y.nnz)
    for rows in row_blocks(X.shape[0], 8.0 * n_columns):
        for columns in row_blocks(Y.shape[0], 8.0 * n_columns):
            if X is Y and columns.start < rows.start:
                values[rows, columns] = values[columns, rows].T
                continue
            A, B = used_columns(X[rows], Y[columns])
            values[rows, columns] = _core.pairwise_kernel(
                as_array(A),
                as_array(B),
                **settings._asdict(),
                n_threads=n_threads,
            )
    return values
