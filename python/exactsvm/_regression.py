"""Support vector regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from exactsvm._base import BaseKernelSVM, Encoded, Kernel
from exactsvm._data import Floats
from exactsvm._docs import documented
from exactsvm._parameters import check_weight
from exactsvm._progress import Callback
from exactsvm._solve import Task
from exactsvm._targets import check_bounds, rows_of_weight, weighted


class BaseKernelRegressor(RegressorMixin, BaseKernelSVM):
    """What SVR and NuSVR share."""

    C: float

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features) or (n_samples, n_samples)
            Training points, or their kernel matrix for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, one a row, not negative.

        Returns
        -------
        Self
            The fitted estimator itself.
        """
        return self._fit(X, y, sample_weight, y_numeric=True)

    def predict(self, X: ArrayLike) -> Floats:
        """Predict the targets of the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Points; for a precomputed kernel their kernel values with the training points, or with
            the support vectors alone.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values of the regression function.
        """
        return self._values(X)

    def _encode(self, targets: NDArray[Any] | None, n: int, weights: Floats | None) -> Encoded:
        assert targets is not None
        kept = rows_of_weight(weights)
        upper = weighted(np.full(n, float(self.C)), weights)[kept]
        check_bounds(upper, self.C)
        y = np.ascontiguousarray(targets[kept], dtype=np.float64)
        problem, parameter = self._problem()
        return Encoded(Task(problem, y, upper, parameter), kept, {})

    def _problem(self) -> tuple[str, float]:
        raise NotImplementedError


@documented
class SVR(BaseKernelRegressor):
    """Epsilon-support vector regression, trained to the exact optimum.

    Minimises 1/2 |w|^2 + sum_i C_i max(0, |y_i - f(x_i)| - epsilon) for f(x) = w'phi(x) + b by
    solving its dual with CMU, the cycling method with updates [1]_. Parameters, attributes and
    results are those of scikit-learn's SVR; what is not there is marked as such.

    Parameters
    ----------
    <kernel_parameters>
    C : float, default=1.0
        Weight of the errors against flatness, > 0. Infinity asks for all rows inside the tube; no
        finite product of C and weights may exceed 1e100.
    epsilon : float, default=0.1
        Half width of the tube inside which errors do not count, >= 0.
    <own_parameters>

    Attributes
    ----------
    <other_attributes>
    <fit_attributes>

    See Also
    --------
    NuSVR : The same machine with a bound on the fraction of rows outside the tube.

    Notes
    -----
    <notes>

    References
    ----------
    <references>

    Examples
    --------
    >>> from exactsvm import SVR
    >>> model = SVR(kernel="linear", C=10.0, epsilon=0.0).fit(
    ...     [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
    ... )
    >>> model.predict([[3.0]]).round(8).tolist()
    [7.0]
    """

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-8,
        C: float = 1.0,
        epsilon: float = 0.1,
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

    def _problem(self) -> tuple[str, float]:
        return "epsilon_svr", float(self.epsilon)


@documented
class NuSVR(BaseKernelRegressor):
    """Nu-support vector regression, trained to the exact optimum.

    As `SVR`, with a number nu in place of epsilon: at most a fraction nu of the weight of the rows
    lies outside the tube, whose width is found. Solved with CMU [1]_; parameters, attributes and
    results are those of scikit-learn's NuSVR.

    Parameters
    ----------
    nu : float, default=0.5
        Bound of the fraction of rows outside the tube, > 0 and <= 1.
    C : float, default=1.0
        Weight of the errors against flatness, > 0; times the weights at most 1e100.
    <kernel_parameters>
    <own_parameters>

    Attributes
    ----------
    epsilon_ : float
        Half width of the tube. Not in scikit-learn.
    <other_attributes>
    <fit_attributes>

    See Also
    --------
    SVR : The machine with a given tube.

    Notes
    -----
    <notes>

    References
    ----------
    <references>

    Examples
    --------
    >>> from exactsvm import NuSVR
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0]
    >>> model = NuSVR(nu=0.5, kernel="linear", C=10.0).fit(X, y)
    >>> model.predict([[4.0]]).round(8).tolist()
    [9.0]
    >>> abs(model.epsilon_) < 1e-12
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-8,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_weight("C", self.C, infinite=False)

    def _problem(self) -> tuple[str, float]:
        return "nu_svr", float(self.nu)

    def _describe(self, n_iter: NDArray[np.int32], epsilon: float) -> None:
        super()._describe(n_iter, epsilon)
        self.epsilon_ = max(epsilon, 0.0)  # rounding may leave a tube of no width negative
