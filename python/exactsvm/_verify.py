"""The certificate of a model that anyone has fitted."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from exactsvm import _core
from exactsvm._certificate import Certificate
from exactsvm._kernels import evaluate, resolve_gamma
from exactsvm._parameters import KERNELS, check_choice
from exactsvm._targets import check_bounds, check_sample_weight, upper_bounds
from exactsvm._threads import resolve_n_jobs

Floats = NDArray[np.float64]

_NEEDED = ("support_", "support_vectors_", "dual_coef_", "intercept_", "classes_", "kernel", "C")


def verify(
    estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Certificate:
    """Compute the certificate of a fitted support vector classifier on its training data.

    Works for any model of two classes with scikit-learn's attributes: this package's, SVC of
    scikit-learn (LIBSVM), SVC of scikit-learn-intelex. It shows how far from the optimum a model
    is, by objective values, duality gap and violation of the optimality conditions.

    Parameters
    ----------
    estimator : object
        Fitted model with `support_`, `dual_coef_`, `intercept_`, `classes_`, and the parameters
        `kernel` and `C`.
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        The data it was trained on, or the kernel matrix for a precomputed kernel.
    y : array-like of shape (n_samples,)
        The labels it was trained on.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights it was trained with.

    Returns
    -------
    Certificate
        For the model's coefficients and intercept. The status says what the numbers show; the
        counts of work are zero.

    Notes
    -----
    Coefficients within four units in the last place of their bound count as being there: solvers
    multiply C and weights in different orders.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from exactsvm import verify
    >>> X, y = [[-2.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> certificate = verify(SVC(kernel="linear").fit(X, y), X, y)
    >>> certificate.relative_gap < 1e-6
    True
    """
    missing = [name for name in _NEEDED if not hasattr(estimator, name)]
    if missing:
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
        raise TypeError(
            f"estimator must be a fitted support vector classifier; {type(estimator).__name__} "
            f"has no {', '.join(missing)}"
        )
    if len(estimator.classes_) != 2:
        raise ValueError(f"estimator must have two classes; got {len(estimator.classes_)} classes")
    points = check_array(X, dtype=np.float64, order="C", input_name="X")
    labels = column_or_1d(y)
    check_consistent_length(points, labels)
    signs = _signs(estimator.classes_, labels)
    weights = check_sample_weight(sample_weight, len(points))
    by_class = getattr(estimator, "class_weight_", None)
    if by_class is None or len(by_class) != 2:
        by_class = np.ones(2)
    upper = upper_bounds(estimator.C, by_class, (signs > 0.0).astype(np.intp), weights)
    check_bounds(upper[upper > 0.0], estimator.C)
    alpha = _alpha(estimator, points, signs, upper)
    return Certificate.from_record(_certify(estimator, points, signs, upper, alpha))


def _signs(classes: NDArray[Any], y: NDArray[Any]) -> Floats:
    second = y == classes[1]
    if not (second | (y == classes[0])).all():
        raise ValueError(f"y must hold the labels of the estimator, {classes.tolist()}, only")
    return np.where(second, 1.0, -1.0)


def _support_rows(estimator: Any, X: Floats, upper: Floats) -> NDArray[np.intp]:
    """Row numbers of the support vectors in X."""
    support = np.asarray(estimator.support_, dtype=np.intp)
    vectors: Any = estimator.support_vectors_
    vectors = vectors.toarray() if issparse(vectors) else np.asarray(vectors)
    # scikit-learn may count only the rows of positive weight.
    counted = np.flatnonzero(upper > 0.0)
    if vectors.shape != (len(support), X.shape[1]):  # precomputed kernel: nothing to compare with
        rows = [support]
    else:
        rows = [support, counted[support]] if support.max(initial=-1) < len(counted) else [support]
        rows = [r for r in rows if r.max(initial=-1) < len(X) and np.array_equal(X[r], vectors)]
    if not rows or rows[0].max(initial=-1) >= len(X):
        raise ValueError("X must be the training data: the support vectors are not its rows")
    return rows[0]


def _alpha(estimator: Any, X: Floats, signs: Floats, upper: Floats) -> Floats:
    coefs = estimator.dual_coef_
    coefs = np.ravel(coefs.toarray() if issparse(coefs) else coefs)
    support = _support_rows(estimator, X, upper)
    alpha = np.zeros(len(X))
    alpha[support] = coefs * signs[support]
    if (alpha < 0.0).any():
        raise ValueError("y must be the training labels: dual_coef_ has other signs")
    if (alpha[upper == 0.0] > 0.0).any():
        raise ValueError("sample_weight must be the training weights: a support vector has none")
    near = np.abs(alpha - upper) <= 4.0 * np.finfo(np.float64).eps * upper
    return np.where(near & np.isfinite(upper), upper, alpha)


def _certify(
    estimator: Any, X: Floats, signs: Floats, upper: Floats, alpha: Floats
) -> dict[str, Any]:
    kernel = estimator.kernel
    intercept = float(np.ravel(estimator.intercept_)[0])
    n_threads = resolve_n_jobs(getattr(estimator, "n_jobs", None))
    matrix = None
    if callable(kernel):
        matrix = evaluate(kernel, X, X)
    elif check_choice("kernel", kernel, (*KERNELS, "precomputed")) == "precomputed":
        matrix = X
    if matrix is not None and matrix.shape != (len(X), len(X)):
        raise ValueError(f"X must give a square kernel matrix; got shape {matrix.shape}")
    present = upper > 0.0
    if not present.all():
        signs, upper, alpha = signs[present], upper[present], alpha[present]
        if matrix is None:
            X = X[present]
        else:
            matrix = matrix[np.ix_(present, present)]
    if matrix is not None:
        ones = np.ones(len(signs))
        return _core.certify_matrix(
            matrix, signs, ones, upper, alpha, intercept, n_threads=n_threads
        )
    gamma = getattr(estimator, "_gamma", None)
    return _core.certify_kernel(
        X,
        signs,
        upper,
        alpha,
        intercept,
        kernel=kernel,
        gamma=resolve_gamma(estimator.gamma, X) if gamma is None else float(gamma),
        degree=int(estimator.degree),
        coef0=float(estimator.coef0),
        n_threads=n_threads,
    )
