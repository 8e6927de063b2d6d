"""Decision values of a fitted model at rows of any form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from exactsvm import _core
from exactsvm._data import MEGABYTE, Floats, Rows, as_array, dense_bytes, row_blocks, sparse_kernel
from exactsvm._kernels import KernelSettings, evaluate


class Model(NamedTuple):
    """A fitted model as prediction needs it: its kernel, support vectors and coefficients."""

    settings: KernelSettings
    vectors: Rows
    dual_coef: Rows
    intercept: Floats
    n_support: NDArray[np.int32]
    cache_size: float
    n_threads: int

    @property
    def n_classes(self) -> int:
        """Classes, 1 where there are no pairs of them."""
        return len(self.n_support)

    def values(self, X: Rows) -> Floats:
        """Return the decision values at the rows of X, of shape (n,) or (n, n_pairs)."""
        return np.concatenate([values for _, values in self._blocks(X, votes=False)])

    def votes(self, X: Rows, *, shares: bool) -> Floats:
        """Return the votes of each class, of shape (n, n_classes).

        With shares of a third at most, by which the sums of its decision values decide ties.
        """
        both = np.concatenate([values for _, values in self._blocks(X, votes=True)])
        votes, sums = both[:, : self.n_classes], both[:, self.n_classes :]
        return votes + sums / (3.0 * (np.abs(sums) + 1.0)) if shares else votes

    def weights(self) -> Rows:
        """Return the weights of the features of a linear kernel, one row a decision function."""
        dual_coef = as_array(self.dual_coef)
        ends = np.concatenate([[0], np.cumsum(self.n_support)])
        if self.n_classes <= 2:
            coef = dual_coef @ self.vectors
        else:
            rows = []
            for a in range(self.n_classes):
                for b in range(a + 1, self.n_classes):
                    first, second = slice(*ends[a : a + 2]), slice(*ends[b : b + 2])
                    rows.append(
                        dual_coef[b - 1, first] @ self.vectors[first]
                        + dual_coef[a, second] @ self.vectors[second]
                    )
            coef = np.vstack(rows)
        if sparse.issparse(self.vectors):
            return sparse.csr_matrix(coef)
        coef.flags.writeable = False  # computed on demand: a change would be lost in silence
        return coef

    def _blocks(self, X: Rows, *, votes: bool) -> Iterator[tuple[slice, Floats]]:
        """Decide blocks of rows, as many at a time as fit in memory next to their pairs' values."""
        n_pairs = 2 * self.n_classes if votes else len(self.intercept)
        per_row = 8.0 * n_pairs
        vectors: Any = None
        if not (self.is_held or callable(self.settings.kernel)):
            if dense_bytes(self.vectors) <= self.cache_size * MEGABYTE:
                vectors = as_array(self.vectors)
                per_row += 8.0 * X.shape[1] if sparse.issparse(X) else 0.0
            elif sparse.issparse(self.vectors):
                per_row += 8.0 * self.vectors.shape[0]
                X = sparse.csr_matrix(X)
            else:
                vectors = self.vectors
        blocks = row_blocks(X.shape[0], per_row) if sparse.issparse(X) or vectors is None else []
        for part in blocks or [slice(0, X.shape[0])]:
            yield part, self._decide(X[part], vectors, votes)

    @property
    def is_held(self) -> bool:
        """Whether rows are kernel values already."""
        return bool(self.settings.kernel == "precomputed")

    def _decide(self, X: Rows, vectors: Floats | None, votes: bool) -> Floats:
        settings = self.settings
        if vectors is None:
            X, settings = self._kernel_rows(X), settings._replace(kernel="precomputed")
        rows = as_array(X)
        options: dict[str, Any] = {**settings._asdict(), "n_threads": self.n_threads}
        dual_coef = as_array(self.dual_coef)
        if self.n_classes > 2:
            n_support = [int(n) for n in self.n_support]
            return _core.pair_decisions(
                rows, vectors, dual_coef, self.intercept, n_support, votes=votes, **options
            )
        if dual_coef.shape[1] == 0:  # stopped before the first step, or nothing to learn
            return np.full(len(rows), self.intercept[0])
        if vectors is None:
            return np.asarray(rows @ dual_coef[0] + self.intercept[0])
        return _core.decision_function(
            rows, vectors, dual_coef[0], float(self.intercept[0]), **options
        )

    def _kernel_rows(self, X: Rows) -> Rows:
        """Kernel values of rows with the support vectors."""
        if self.is_held:
            return X
        if self.vectors.shape[0] == 0:
            return np.empty((X.shape[0], 0))
        if callable(self.settings.kernel):
            return evaluate(self.settings.kernel, X, self.vectors)
        return sparse_kernel(X, self.vectors, self.settings, self.n_threads)
