"""Linear support vector classification."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from exactsvm._linear import BaseLinearSVM, Floats, Model, class_signs, samples_of, term_weights
from exactsvm._one_vs_rest import Observer, solve_all
from exactsvm._parameters import check_choice, check_verbose
from exactsvm._progress import Callback, Progress
from exactsvm._targets import (
    check_class_weight,
    check_sample_weight,
    class_weights,
    encode_classes,
    find_classes,
)
from exactsvm._threads import resolve_n_jobs


class LinearSVC(ClassifierMixin, BaseLinearSVM):
    """Linear support vector classification, with a certified duality gap.

    Minimises P(w, b) = 1/2 |w|^2 + sum_i C_i loss(1 - y_i (w'x_i + b)), the loss max(0, v) or its
    square. Parameters and attributes are those of scikit-learn's LinearSVC, with two differences
    in meaning: the intercept is not regularised unless `intercept_scaling` is a number, and `tol`
    bounds the relative duality gap, so that it says how far the objective is from its minimum.
    What is not in scikit-learn is marked as such.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        Regulariser of the weights.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        Loss of a sample.
    dual : bool or "auto", default="auto"
        Accepted without effect.
    tol : float, default=1e-6
        Relative duality gap, (P - D) / max(1, |D|), at which a solver stops.
    C : float, default=1.0
        Weight of the losses, > 0.
    multi_class : {"ovr"}, default="ovr"
        How more than two classes are reduced to two: one against the rest.
    fit_intercept : bool, default=True
        Whether the decision function has a constant.
    intercept_scaling : float, default=None
        None leaves the intercept unregularised. A number gives scikit-learn's model: the weight of
        one more feature with this value. scikit-learn's default is 1.
    class_weight : dict or "balanced", default=None
        Weight of each class in C. "balanced" is inverse to the frequencies of the classes, in
        which sample weights count.
    verbose : int or bool, default=0
        1 shows a progress bar (a table if tqdm is not installed), 2 a line for each report. With
        more than two classes these are sums over the problems at work.
    random_state : int, RandomState instance or None, default=None
        Seed of the orders of "dcd" and "sgd". None is a fixed seed: results are repeatable.
    max_iter : int, default=-1
        Largest number of epochs, -1 for no limit.
    solver : {"auto", "cmu", "ipm", "dcd", "gd", "sgd"}, default="auto"
        "cmu" is the exact active-set method on the dual; "ipm" a primal-dual interior-point method,
        exact and for up to some thousand features; "dcd" dual coordinate descent; "gd" full
        gradients, quasi-Newton on a smoothed loss; "sgd" stochastic gradients. "auto" starts with
        "dcd" where that is promising and hands over to "ipm" where that is possible. Not in
        scikit-learn.
    learning_rate : {"optimal", "constant", "invscaling"}, default="optimal"
        Step sizes of "sgd": 1 / (t + t0) with t0 from the data, `eta0`, or `eta0` / t^`power_t`,
        in terms of P; t counts samples. For "gd", "constant" is the textbook method with step
        `eta0`, and "optimal" the default one. Not in scikit-learn.
    eta0 : float, default=0.0
        Step size of "constant" and "invscaling", which need one > 0. Not in scikit-learn.
    power_t : float, default=0.5
        Exponent of "invscaling". Not in scikit-learn.
    average : bool, default=True
        Whether "sgd" also averages its iterates and returns the better one. Not in scikit-learn.
    early_stopping : bool, default=False
        Let "gd", "sgd" and "dcd" stop as soon as the duality gap falls by less than a tenth in ten
        epochs, with status "early_stopped" and without a warning. Not in scikit-learn.
    max_time : float, default=None
        Seconds after which the best model so far is kept. Not in scikit-learn.
    n_jobs : int, default=None
        Threads of one fit; None means all available cores, or one in a worker process of joblib.
        The result does not depend on it. Not in scikit-learn.
    callback : callable, default=None
        Called some times a second with a dict of progress; returning True stops the run. Not in
        scikit-learn.
    warm_start : bool, default=False
        Start `fit` from the last weights, if classes and features are the same. Not in
        scikit-learn.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants of the decision functions.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.
    n_iter_ : int
        Epochs, the most of all classes; iterations for "ipm".
    fit_status_ : int
        0 if every problem is solved to `tol`, else 1: a `ConvergenceWarning` or early stopping.
    t_ : int
        Samples seen, with repetition.
    certificate_ : Certificate
        The certificate with the largest relative gap. Not in scikit-learn.
    certificates_ : tuple of Certificate
        One for each two-class problem. Not in scikit-learn.

    See Also
    --------
    SVC : The same with kernels.
    LinearSVR : Regression.

    Notes
    -----
    C-contiguous float64 and float32 matrices and sparse rows are used as they are, never copied.
    Samples of weight zero are as good as absent. No other thread may write into X during `fit`.

    Examples
    --------
    >>> from exactsvm import LinearSVC
    >>> X, y = [[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge").fit(X, y)
    >>> model.predict([[2.0, 0.0]]).tolist()
    [1]
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    classes_: NDArray[Any]

    _LOSSES = {"hinge": "linear", "squared_hinge": "squared"}  # noqa: RUF012

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
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
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
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
        if self.penalty == "l1":
            raise ValueError(
                "penalty must be 'l2'; for sparse weights use scikit-learn's "
                "LinearSVC(penalty='l1', dual=False)"
            )
        check_choice("penalty", self.penalty, ("l2",))
        if self.multi_class == "crammer_singer":
            raise ValueError(
                "multi_class must be 'ovr'; for the joint objective use scikit-learn's "
                "LinearSVC(multi_class='crammer_singer')"
            )
        check_choice("multi_class", self.multi_class, ("ovr",))
        check_class_weight(self.class_weight)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Labels of two or more classes: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, one a row, not negative.

        Returns
        -------
        LinearSVC
            The fitted estimator itself.
        """
        self._check_parameters()
        points, labels = self._checked(X, y, reset=True)
        weights = check_sample_weight(sample_weight, len(labels))
        classes, _ = find_classes(labels, weights)
        start = self._last(classes, points.shape[1]) if self.warm_start else None
        models = self._train(points, labels, classes, weights, start, self._options())
        self._keep_classes(models, classes)
        self.t_ = len(labels) * self.n_iter_
        self._conclude(models, stacklevel=2)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make one epoch of stochastic gradients over a batch, from the present weights.

        The objective is that of the batch alone with its samples weighted by C; step sizes go on
        from the samples seen before. `certificate_` speaks of the batch. A batch may lack classes;
        a batch whose weights are all zero changes nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The batch.
        y : array-like of shape (n_samples,)
            Labels, all of them among `classes`.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, one a row, not negative.

        Returns
        -------
        LinearSVC
            The estimator itself.
        """
        self._check_parameters()
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all samples at once; give partial_fit a dict, or "
                "weights of the samples"
            )
        first = not hasattr(self, "classes_")
        points, labels = self._checked(X, y, reset=first)
        if first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit")
        known = np.unique(np.asarray(classes)) if first else self.classes_
        if len(known) < 2:
            raise ValueError(f"classes must hold at least two labels; got {known.tolist()}")
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(
                f"classes must be those of the first call, {known.tolist()}; got "
                f"{np.unique(classes).tolist()}"
            )
        unseen = np.setdiff1d(labels, known)
        if len(unseen):
            raise ValueError(f"y must hold labels of classes only; got {unseen.tolist()}")
        weights = check_sample_weight(sample_weight, len(labels))
        if first:
            shape = (1 if len(known) == 2 else len(known), points.shape[1])
            self.classes_ = known
            self.coef_, self.intercept_ = np.zeros(shape), np.zeros(shape[0])
            self.t_ = 0
            self.n_iter_, self.fit_status_ = 0, 0
        if weights is not None and not weights.any():
            return self
        options = self._options() | {"solver": "sgd", "max_iter": 1, "seen": self.t_}
        models = self._train(points, labels, known, weights, (self.coef_, self.intercept_), options)
        self._keep_classes(models, known)
        self.t_ += len(labels)
        if any(m.interrupted for m in models):
            raise KeyboardInterrupt
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Evaluate the decision functions at the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive where the second of `classes_` is predicted.
        """
        values = self._values(X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the classes of the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        values = self.decision_function(X)
        chosen = (values > 0.0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def _last(self, classes: NDArray[Any], n_features: int) -> tuple[Floats, Floats] | None:
        """Weights of the last fit, if it had these classes and features."""
        coef = getattr(self, "coef_", None)
        if coef is None or coef.shape[1] != n_features:
            return None
        return (coef, self.intercept_) if np.array_equal(self.classes_, classes) else None

    def _factors(
        self, labels: NDArray[Any], classes: NDArray[Any], weights: Floats | None
    ) -> Floats | None:
        """Return the factor of C of each sample, None if it is 1 for all."""
        if self.class_weight is None:
            return weights
        codes = encode_classes(labels, classes)
        by_class = class_weights(self.class_weight, classes, codes, weights)
        return by_class[codes] if weights is None else by_class[codes] * weights

    def _train(
        self,
        points: Any,
        labels: NDArray[Any],
        classes: NDArray[Any],
        weights: Floats | None,
        start: tuple[Floats, Floats] | None,
        options: dict[str, Any],
    ) -> list[Model]:
        """Train one model for two classes, else one for each class against the rest."""
        samples = samples_of(points)
        factors = self._factors(labels, classes, weights)
        upper = term_weights(self.C, factors, len(labels))

        def begin(c: int) -> tuple[Floats, float] | None:
            return None if start is None else (start[0][c].copy(), float(start[1][c]))

        if len(classes) == 2:
            signs = class_signs(labels, classes[1])
            return [self._solve_one(samples, signs, upper, start=begin(0), options=options)]

        limit, start_time = self._limit(), time.monotonic()

        def one(c: int, observe: Observer) -> Model:
            signs = class_signs(labels, classes[c])
            # One limit for all: what begins late has what is left, and at least a start.
            left = None if limit is None else max(limit - (time.monotonic() - start_time), 1e-9)
            coef, intercept, certificate = self._solve(
                samples, signs, upper, None, begin(c), options, observe, 1, left
            )
            return Model(coef, intercept, certificate, certificate.status == "interrupted")

        n_threads = min(resolve_n_jobs(self.n_jobs), len(classes))
        with Progress(check_verbose(self.verbose), self.callback, float(self.tol)) as progress:
            models = solve_all(one, len(classes), n_threads, progress.observer)
            if progress.interrupted or any(model.interrupted for model in models):
                models = [model.as_interrupted() for model in models]
            progress.conclude(max((m.certificate for m in models), key=lambda c: c.relative_gap))
        return models

    def _keep_classes(self, models: list[Model], classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self.coef_ = np.stack([m.coef for m in models])
        self.intercept_ = np.array([m.intercept for m in models])
        self._keep(models)
