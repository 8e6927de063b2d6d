"""Linear support vector regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from exactsvm._linear import BaseLinearSVM, Floats, samples_of, term_weights
from exactsvm._parameters import check_number
from exactsvm._progress import Callback
from exactsvm._targets import check_sample_weight, rows_of_weight


class LinearSVR(RegressorMixin, BaseLinearSVM):
    """Linear support vector regression, with a certified duality gap.

    Minimises P(w, b) = 1/2 |w|^2 + sum_i C_i loss(|y_i - w'x_i - b| - epsilon), the loss max(0, v)
    or its square. Parameters and attributes are those of scikit-learn's LinearSVR, with the
    differences that `LinearSVC` has.

    Parameters
    ----------
    epsilon : float, default=0.0
        Error without loss.
    tol : float, default=1e-6
        Relative duality gap, (P - D) / max(1, |D|), at which a solver stops.
    C : float, default=1.0
        Weight of the losses, > 0.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        Loss of a sample.
    fit_intercept : bool, default=True
        Whether the prediction has a constant.
    intercept_scaling : float, default=None
        None leaves the intercept unregularised; a number gives scikit-learn's model.
    dual : bool or "auto", default="auto"
        Accepted without effect.
    verbose : int or bool, default=0
        1 shows a progress bar (a table if tqdm is not installed), 2 a line for each report.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders of "dcd" and "sgd"; None is a fixed seed.
    max_iter : int, default=-1
        Largest number of epochs, -1 for no limit.
    solver : {"auto", "cmu", "ipm", "dcd", "gd", "sgd"}, default="auto"
        As in `LinearSVC`. Not in scikit-learn.
    learning_rate : {"optimal", "constant", "invscaling"}, default="optimal"
        As in `LinearSVC`. Not in scikit-learn.
    eta0 : float, default=0.0
        Step size of "constant" and "invscaling". Not in scikit-learn.
    power_t : float, default=0.5
        Exponent of "invscaling". Not in scikit-learn.
    average : bool, default=True
        Whether "sgd" averages its iterates. Not in scikit-learn.
    early_stopping : bool, default=False
        Let "gd", "sgd" and "dcd" stop as soon as the duality gap falls by less than a tenth in ten
        epochs, with status "early_stopped" and without a warning. Not in scikit-learn.
    max_time : float, default=None
        Seconds after which the best model so far is kept. Not in scikit-learn.
    n_jobs : int, default=None
        Threads of one fit. Not in scikit-learn.
    callback : callable, default=None
        Called some times a second; returning True stops the run. Not in scikit-learn.
    warm_start : bool, default=False
        Start `fit` from the last weights. Not in scikit-learn.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Constant of the prediction.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.
    n_iter_ : int
        Epochs; iterations for "ipm".
    fit_status_ : int
        0 if solved to `tol`, else 1: a `ConvergenceWarning` or early stopping.
    certificate_ : Certificate
        Objectives and duality gap. Not in scikit-learn.
    certificates_ : tuple of Certificate
        The same, alone in a tuple. Not in scikit-learn.

    See Also
    --------
    LinearSVC : Classification.

    Examples
    --------
    >>> from exactsvm import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(3).tolist()
    [9.0]
    """

    _LOSSES = {  # noqa: RUF012
        "epsilon_insensitive": "linear",
        "squared_epsilon_insensitive": "squared",
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-6,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        dual: bool | str = "auto",
        verbose: int | bool = 0,
        random_state: Any = None,
        max_iter: int = -1,
        solver: str = "auto",
        learning_rate: str = "optimal",
        eta0: float = 0.0,
        power_t: float = 0.5,
        average: bool = True,
        early_stopping: bool = False,
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        warm_start: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.average = average
        self.early_stopping = early_stopping
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.callback = callback
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("epsilon", self.epsilon, "a finite number >= 0", least=0.0)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, one a row, not negative.

        Returns
        -------
        LinearSVR
            The fitted estimator itself.
        """
        self._check_parameters()
        points, targets = self._checked(X, y, reset=True, y_numeric=True)
        targets = np.ascontiguousarray(targets, dtype=np.float64)
        weights = check_sample_weight(sample_weight, len(targets))
        rows_of_weight(weights)  # there must be some
        upper = term_weights(self.C, weights, len(targets))
        start = None
        if self.warm_start and len(getattr(self, "coef_", ())) == points.shape[1]:
            start = (self.coef_.copy(), float(self.intercept_[0]))
        model = self._solve_one(
            samples_of(points),
            targets,
            upper,
            epsilon=float(self.epsilon),
            start=start,
            options=self._options(),
        )
        self.coef_ = model.coef
        self.intercept_ = np.array([model.intercept])
        self._keep([model])
        self._conclude([model], stacklevel=2)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Predict the targets of the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Targets.
        """
        return self._values(X).ravel()
