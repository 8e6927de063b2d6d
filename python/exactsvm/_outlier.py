"""Detection of outliers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from exactsvm._base import BaseKernelSVM, Encoded, Kernel
from exactsvm._data import Floats
from exactsvm._docs import documented
from exactsvm._progress import Callback
from exactsvm._solve import Task
from exactsvm._targets import check_bounds, rows_of_weight, weighted


@documented
class OneClassSVM(OutlierMixin, BaseKernelSVM):
    """Region that holds all but a fraction of the points, trained to the exact optimum.

    Finds f(x) = w'phi(x) - rho for which 1/2 |w|^2 - rho nu sum_i w_i + sum_i w_i max(0, -f(x_i))
    is least, by solving the dual with CMU, the cycling method with updates [1]_. At most a fraction
    nu of the weight of the rows has f < 0. Parameters, attributes and results are those of
    scikit-learn's OneClassSVM; what is not there is marked as such.

    Parameters
    ----------
    <kernel_parameters>
    nu : float, default=0.5
        Bound of the fraction of rows outside, > 0 and <= 1.
    <own_parameters>

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        rho: `decision_function` is `score_samples` less the offset.
    <other_attributes>
    <fit_attributes>

    Notes
    -----
    Support vectors between their bounds lie on the border of the region, which is part of it.

    <notes>

    References
    ----------
    <references>

    Examples
    --------
    >>> from exactsvm import OneClassSVM
    >>> model = OneClassSVM(gamma=1.0, nu=0.5).fit([[0.0], [0.1], [-0.1], [0.0], [5.0]])
    >>> model.predict([[0.05], [9.0]]).tolist()
    [1, -1]
    """

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 1000,
        verbose: int | bool = 0,
        max_iter: int = -1,
        solver: str = "auto",
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        warm_start: bool = False,
    ) -> None:
        self._store(locals())

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features) or (n_samples, n_samples)
            Training points, or their kernel matrix for a precomputed kernel.
        y : ignored
            Accepted for the sake of pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative.

        Returns
        -------
        Self
            The fitted estimator itself.
        """
        return self._fit(X, None, sample_weight)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Evaluate the decision function at the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Points; for a precomputed kernel their kernel values with the training points, or with
            the support vectors alone.

        Returns
        -------
        ndarray of shape (n_samples,)
            Negative outside of the region. What is too close to its border for the precision of
            the solution lies on it, and gets 0.
        """
        values = self._values(X)
        values[np.abs(values) <= self._border] = 0.0
        return values

    def score_samples(self, X: ArrayLike) -> Floats:
        """Evaluate the decision function without its offset at the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger the further inside.
        """
        return np.asarray(self.decision_function(X) + self.offset_)

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Tell which rows of X lie inside of the region.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            1 inside and on the border, -1 outside.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1).astype(np.intp)

    @property
    def _border(self) -> float:
        """Half width of the border, from the precision of the solution."""
        certificate = self.certificate_
        rounding = 64.0 * np.finfo(np.float64).eps * abs(self.offset_[0])
        return float(np.nanmax([certificate.precision_floor, certificate.kkt_violation, rounding]))

    def _encode(self, targets: NDArray[Any] | None, n: int, weights: Floats | None) -> Encoded:
        kept = rows_of_weight(weights)
        upper = weighted(np.ones(n), weights)[kept]
        check_bounds(upper)
        return Encoded(Task("one_class", np.ones(len(upper)), upper, float(self.nu)), kept, {})

    def _describe(self, n_iter: NDArray[np.int32], epsilon: float) -> None:
        super()._describe(n_iter, epsilon)
        self.offset_ = -self.intercept_
