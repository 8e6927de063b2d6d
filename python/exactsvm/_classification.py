"""Support vector classification, of two classes or by pairs of more."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from exactsvm._base import BaseKernelSVM, Encoded, Kernel
from exactsvm._data import Floats
from exactsvm._docs import documented
from exactsvm._parameters import check_choice, check_flag, refuse
from exactsvm._progress import Callback
from exactsvm._solve import Solved, Task
from exactsvm._targets import (
    check_bounds,
    check_class_weight,
    check_nu,
    class_weights,
    encode_classes,
    find_classes,
    upper_bounds,
)


class BaseKernelClassifier(ClassifierMixin, BaseKernelSVM):
    """What SVC and NuSVC share: classes, their weights, and decisions by pairs."""

    class_weight: dict[Any, float] | str | None
    decision_function_shape: str
    break_ties: bool
    random_state: Any

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features) or (n_samples, n_samples)
            Training points, or their kernel matrix for a precomputed kernel.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative.

        Returns
        -------
        Self
            The fitted estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Evaluate the decision function at the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Points; for a precomputed kernel their kernel values with the training points, or with
            the support vectors alone.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes, positive where the second is predicted. For more, see
            `decision_function_shape`; the value of a pair is positive for its first class.
        """
        points = self._read_rows(X)
        if len(self.classes_) == 2 or self.decision_function_shape == "ovo":
            return self._model().values(points)
        return self._model().votes(points, shares=True)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the classes of the rows of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        self._check_ties()
        points = self._read_rows(X)
        if len(self.classes_) == 2:
            winner = (self._model().values(points) > 0.0).astype(np.intp)
        else:
            winner = self._model().votes(points, shares=self.break_ties).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winner]
        return labels

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)
        check_flag("break_ties", self.break_ties)
        check_choice("decision_function_shape", self.decision_function_shape, ("ovo", "ovr"))
        self._check_ties()

    def _check_ties(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            refuse("break_ties", "False with decision_function_shape='ovo'", self.break_ties)

    def _encode(self, targets: NDArray[Any] | None, n: int, weights: Floats | None) -> Encoded:
        assert targets is not None
        classes, kept = find_classes(targets, weights)
        codes = encode_classes(targets[kept], classes)
        weights = None if weights is None else weights[kept]
        by_class = class_weights(self.class_weight, classes, codes, weights)
        upper = upper_bounds(self._factor(), by_class, codes, weights)
        check_bounds(upper, self._factor())
        signs = np.where(codes == 1, 1.0, -1.0)
        task = Task(*self._problem(codes, upper, signs), codes=codes, n_classes=len(classes))
        return Encoded(task, kept, {"classes_": classes, "class_weight_": by_class})

    def _factor(self) -> float:
        """Factor of all weights."""
        return 1.0

    def _problem(
        self, codes: NDArray[np.int64], upper: Floats, signs: Floats
    ) -> tuple[str, Floats, Floats, float]:
        raise NotImplementedError

    def _describe(self, n_iter: NDArray[np.int32], epsilon: float) -> None:
        self.n_iter_ = n_iter


@documented
class SVC(BaseKernelClassifier):
    """C-support vector classification, trained to the exact optimum.

    Minimises 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)) for f(x) = w'phi(x) + b by solving
    its dual with CMU, the cycling method with updates [1]_. Parameters, attributes and results are
    those of scikit-learn's SVC, without its `probability` (`CalibratedClassifierCV` gives
    probabilities); what is not there is marked as such. Several classes are told apart by pairs.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the margin, > 0. Infinity asks for a hard margin; no finite
        product of C and weights may exceed 1e100.
    <kernel_parameters>
    class_weight : dict or "balanced", default=None
        Weight of each class in C. "balanced" is inverse to the frequencies of the classes, in
        which sample weights count.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of the decision values of more than two classes: one column a class, made of the
        votes of its pairs, or one a pair.
    break_ties : bool, default=False
        Whether `predict` decides equal numbers of votes of more than two classes by the decision
        values ("ovr" only), at no cost here; else the first class wins.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws by which CMU works on parts of a problem that is too large for
        `cache_size`; None is 0. The optimum does not depend on it.
    <own_parameters>

    Attributes
    ----------
    <class_attributes>
    <fit_attributes>

    See Also
    --------
    NuSVC : The same machine with a bound on the fraction of errors.
    verify : The certificate of any fitted model.
    solve_dual : The same method on a matrix, for other dual problems.

    Notes
    -----
    <notes>

    References
    ----------
    <references>

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
        self._store(locals())

    def _factor(self) -> float:
        return float(self.C)

    def _problem(
        self, codes: NDArray[np.int64], upper: Floats, signs: Floats
    ) -> tuple[str, Floats, Floats, float]:
        return "c_svc", signs, upper, 0.0


@documented
class NuSVC(BaseKernelClassifier):
    """Nu-support vector classification, trained to the exact optimum.

    As `SVC`, with a number nu in place of C: at most a fraction nu of the weight of the rows lies
    on the wrong side of the margin, and at least that fraction are support vectors. Solved with
    CMU [1]_; parameters, attributes and results are those of scikit-learn's NuSVC.

    Parameters
    ----------
    nu : float, default=0.5
        Bound of the fraction of margin errors, > 0 and <= 1. Two classes of weight a <= b allow
        2a / (a + b) at most.
    <kernel_parameters>
    class_weight : dict or "balanced", default=None
        Factors of the weights of the rows of each class. scikit-learn ignores it.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        As in `SVC`.
    break_ties : bool, default=False
        As in `SVC`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws by which CMU works on parts of a problem that is too large for
        `cache_size`; None is 0. The optimum does not depend on it.
    <own_parameters>

    Attributes
    ----------
    <class_attributes>
    <fit_attributes>

    See Also
    --------
    SVC : The machine with a weight of the errors.

    Notes
    -----
    Coefficients, intercept and certificate are those of C-support vector classification with the
    C that has the same solution, 1 over the margin of the nu problem: the margin is at -1 and 1.
    `tol` refers to this scale, too. Where no margin exists (nothing tells the classes apart) there
    is no scale, and they are those of the nu problem itself.

    <notes>

    References
    ----------
    <references>

    Examples
    --------
    >>> from exactsvm import NuSVC
    >>> X = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]]
    >>> model = NuSVC(nu=0.5, kernel="linear").fit(X, [0, 0, 1, 1])
    >>> model.predict([[-0.8, -1.0], [3.0, 0.0]]).tolist()
    [0, 1]
    >>> model.certificate_.relative_gap < 1e-12
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        self._store(locals())

    def _problem(
        self, codes: NDArray[np.int64], upper: Floats, signs: Floats
    ) -> tuple[str, Floats, Floats, float]:
        check_nu(float(self.nu), np.bincount(codes, upper).astype(np.float64))
        return "nu_svc", signs, upper, float(self.nu)

    def _remark(self, solved: Solved, stacklevel: int) -> None:
        """Warn of pairs without a margin.

        With one the objective is that of a classifier whose margin is 1, and positive; without, it
        is -|w|^2 / 2, zero to within its gap.
        """
        lost = np.flatnonzero(solved.numbers("dual_objective") <= solved.numbers("duality_gap"))
        if len(lost) == 0:
            return
        a, b = (part[lost[0]] for part in np.triu_indices(len(self.classes_), 1))
        labels = self.classes_.tolist()
        more = f" and of {len(lost) - 1} more pairs" if len(lost) > 1 else ""
        warnings.warn(
            f"nu={self.nu:g} leaves no margin between the classes {labels[a]!r} and "
            f"{labels[b]!r}{more}: w = 0, and there the decision function is constant but "
            "for rounding. Raise nu, or use a kernel that tells them apart.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
