"""Support vector classification."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from exactsvm._base import BaseKernelSVM, Floats, Kernel, Solved, feasible_start
from exactsvm._kernels import resolve_gamma
from exactsvm._parameters import check_choice, check_flag
from exactsvm._progress import Callback
from exactsvm._solvers import n_steps
from exactsvm._status import warn_unless_optimal
from exactsvm._targets import (
    check_class_weight,
    check_sample_weight,
    class_weights,
    encode_two_classes,
    upper_bounds,
)


class SVC(ClassifierMixin, BaseKernelSVM):
    """C-support vector classification, trained to the exact optimum.

    Minimises 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)) for f(x) = w'phi(x) + b by solving
    its dual with CMU, the cycling method with updates [1]_, or with SMO, the classical steps of one
    pair. Parameters, attributes and results are those of scikit-learn's SVC, without its
    `probability`; what is not there is marked as such. Two classes.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the margin, > 0. Infinity asks for a hard margin.
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid" or "laplacian", see `pairwise_kernel`. With
        "precomputed", X is the kernel matrix. A callable takes two arrays of points and returns
        the matrix of their kernel values.
    degree : int, default=3
        Degree of "poly", ignored by the others.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in all kernels but "linear"; "scale" is 1 / (n_features * X.var()), "auto" is
        1 / n_features.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether SMO leaves variables out that look settled, until the rest is solved. It changes
        nothing but the time. CMU works without.
    tol : float, default=1e-8
        Largest violation of the optimality conditions, in units of the decision function.
        scikit-learn's default is 1e-3.
    cache_size : float, default=1000
        Megabytes for kernel values.
    class_weight : dict or "balanced", default=None
        Weight of each class in C. "balanced" is inverse to the frequencies of the classes, in
        which sample weights count.
    verbose : int or bool, default=0
        1 shows a progress bar (a table if tqdm is not installed), 2 a line for each report.
    max_iter : int, default=-1
        Largest number of iterations, cycles for "cmu" and pair steps for "smo"; -1 for no limit:
        CMU ends by itself, SMO does too but may take very long.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        No effect for two classes.
    break_ties : bool, default=False
        No effect for two classes.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws by which CMU works on parts of a problem that is too large for
        `cache_size`; None is 0. The optimum does not depend on it.
    solver : {"auto", "cmu", "smo"}, default="auto"
        Method. "cmu" goes to the optimum in exact steps; "smo" moves one pair of variables after
        another and may stall far from it on ill-conditioned problems. "auto" is "cmu". Not in
        scikit-learn.
    max_time : float, default=None
        Seconds after which the best model so far is kept. Not in scikit-learn.
    n_jobs : int, default=None
        Threads of one fit or prediction; None means all available cores, or one in a worker
        process of joblib. The result does not depend on it. Not in scikit-learn.
    callback : callable, default=None
        Called some times a second with a dict of `solver`, `n_iter`, `dual_objective`,
        `kkt_violation`, `n_free`, `n_bounded`, `n_kernel_columns` and `elapsed`. Returning True
        stops the run and keeps the best model. Not in scikit-learn.
    warm_start : bool, default=False
        Start `fit` from the coefficients of the last one, if it had as many rows. Not in
        scikit-learn.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors, grouped by class.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        Support vectors, empty for a precomputed kernel.
    n_support_ : ndarray of shape (2,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (1, n_SV)
        Dual coefficients of the support vectors, times -1 for the first class.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; only for a linear kernel.
    intercept_ : ndarray of shape (1,)
        Constant of the decision function.
    classes_ : ndarray of shape (2,)
        Labels; positive decision values speak for the second.
    class_weight_ : ndarray of shape (2,)
        Weight of each class in C.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.
    n_iter_ : ndarray of shape (1,)
        Number of iterations: cycles for "cmu", pair steps for "smo".
    fit_status_ : int
        0 if the solution is optimal, 1 if a `ConvergenceWarning` was given.
    shape_fit_ : tuple of int
        Shape of the training data.
    certificate_ : Certificate
        Objectives, duality gap and violation of the solution. Not in scikit-learn.
    certificates_ : tuple of Certificate
        One for each two-class problem, here one. Not in scikit-learn.

    See Also
    --------
    verify : The certificate of any fitted model.
    solve_dual : The same method on a matrix, for other dual problems.

    Notes
    -----
    Rows of weight zero are as good as absent. After Ctrl-C the best model so far is kept, and
    `KeyboardInterrupt` is raised. No other thread may write into X while `fit` runs.

    References
    ----------
    .. [1] F. Jarre, "A Rank-One-Update Method for the Training of Support Vector Machines",
       arXiv 2503.10482.

    Examples
    --------
    >>> import numpy as np
    >>> from exactsvm import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = SVC(kernel="linear").fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[-0.8, -1.0]]).tolist()
    ['low']
    >>> model.support_
    array([2, 0], dtype=int32)
    >>> model.certificate_.kkt_violation < 1e-8
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-8,
        cache_size: float = 1000,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int | bool = 0,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        solver: str = "auto",
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.solver = solver
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.callback = callback
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training points, or their kernel matrix for a precomputed kernel. C-contiguous float64
            is used as it is, everything else is copied once.
        y : array-like of shape (n_samples,)
            Labels of two classes: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, one a row, not negative.

        Returns
        -------
        SVC
            The fitted estimator itself.
        """
        self._check_parameters()
        points, labels = validate_data(self, X, y, dtype=np.float64, order="C")
        weights = check_sample_weight(sample_weight, len(points))
        classes, signs, kept = encode_two_classes(labels, weights)
        if self._is_precomputed and points.shape[0] != points.shape[1]:
            raise ValueError(f"X must be a square kernel matrix; got shape {points.shape}")
        shape = points.shape
        by_class = class_weights(self.class_weight, classes, signs, weights)
        upper = upper_bounds(self.C, by_class, signs, weights)
        if not upper[kept].all():
            raise ValueError("C times the weights must be > 0; a product of them is too small")

        start = self._last_alpha(len(points)) if self.warm_start else None
        if isinstance(kept, np.ndarray):
            points = points[np.ix_(kept, kept)] if self._is_precomputed else points[kept]
            signs, upper = signs[kept], upper[kept]
        if start is not None:
            start = feasible_start(start[kept], signs, upper)
        self._gamma = 0.0 if self._is_precomputed else resolve_gamma(self.gamma, points)
        solved = self._solve(points, signs, upper, start)

        self.classes_ = classes
        self.class_weight_ = by_class
        self.shape_fit_ = shape
        self._keep(solved, points, signs, kept)
        if solved.interrupted:
            raise KeyboardInterrupt
        warn_unless_optimal(solved.certificate, self.tol, stacklevel=2)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Evaluate the decision function at the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples_fit)
            Points, or their kernel values with the training points for a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where the second of `classes_` is predicted.
        """
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return self._decision_values(points, self.dual_coef_[0], float(self.intercept_[0]))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the classes of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples_fit)
            Points, or their kernel values with the training points for a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        positive = self.decision_function(X) > 0.0
        labels: NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return labels

    @property
    def coef_(self) -> Floats:
        """Weights of the features, of shape (1, n_features); only for a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is defined for a linear kernel only")
        coef: Floats = self.dual_coef_ @ self.support_vectors_
        coef.flags.writeable = False  # computed on demand: a change would be lost in silence
        return coef

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)
        check_flag("break_ties", self.break_ties)
        check_choice("decision_function_shape", self.decision_function_shape, ("ovo", "ovr"))

    def _last_alpha(self, n: int) -> Floats | None:
        """Dual variables of the last fit, if it had n rows."""
        if getattr(self, "shape_fit_", (0,))[0] != n:
            return None
        alpha = np.zeros(n)
        alpha[self.support_] = np.abs(self.dual_coef_[0])
        return alpha

    def _keep(
        self, solved: Solved, points: Floats, signs: Floats, kept: NDArray[np.intp] | slice
    ) -> None:
        """Set the fitted attributes that describe the solution."""
        support = solved.alpha > 0.0
        first, second = np.flatnonzero(support & (signs < 0)), np.flatnonzero(support & (signs > 0))
        chosen = np.concatenate([first, second])
        original = chosen if isinstance(kept, slice) else kept[chosen]
        self.support_ = original.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self._is_precomputed else points[chosen]
        self.n_support_ = np.array([len(first), len(second)], dtype=np.int32)
        self.dual_coef_ = (signs * solved.alpha)[chosen].reshape(1, -1)
        self.intercept_ = -solved.multipliers[:1]
        self.n_iter_ = np.array([n_steps(solved.certificate)], dtype=np.int32)
        self.fit_status_ = 0 if solved.certificate.is_optimal else 1
        self.certificate_ = solved.certificate
        self.certificates_ = (solved.certificate,)
