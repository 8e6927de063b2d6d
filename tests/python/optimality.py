"""Optimality checked in the tests' own way, from the definition and from fitted attributes only."""

import numpy as np


def kernel_matrix(X, Y, kernel="rbf", gamma=1.0, degree=3, coef0=0.0):
    X, Y = np.asarray(X, float), np.asarray(Y, float)
    difference = X[:, None, :] - Y[None, :, :]
    return {
        "linear": lambda: X @ Y.T,
        "poly": lambda: (gamma * (X @ Y.T) + coef0) ** degree,
        "rbf": lambda: np.exp(-gamma * (difference**2).sum(axis=2)),
        "sigmoid": lambda: np.tanh(gamma * (X @ Y.T) + coef0),
        "laplacian": lambda: np.exp(-gamma * np.abs(difference).sum(axis=2)),
    }[kernel]()


def alpha_of(model, signs):
    alpha = np.zeros(len(signs))
    alpha[model.support_] = model.dual_coef_[0] * signs[model.support_]
    return alpha


def objectives(K, signs, upper, alpha, intercept):
    """Primal and dual objective of a classifier."""
    f = K @ (signs * alpha) + intercept
    quadratic = 0.5 * (signs * alpha) @ K @ (signs * alpha)
    loss = np.maximum(0.0, 1.0 - signs * f)
    hinge = (upper[loss > 0.0] * loss[loss > 0.0]).sum()
    return quadratic + hinge, alpha.sum() - quadratic


def assert_optimal(K, signs, upper, alpha, intercept, tol=1e-7):
    """Assert the KKT conditions of C-SVC, and that the objectives meet."""
    upper = np.broadcast_to(upper, alpha.shape).astype(float)
    assert (alpha >= 0.0).all()
    assert (alpha <= upper).all()
    assert abs(signs @ alpha) <= 1e-12 * max(1.0, alpha.sum())
    margin = signs * (K @ (signs * alpha) + intercept) - 1.0
    assert (margin[alpha < upper] >= -tol).all()
    assert (margin[alpha > 0.0] <= tol).all()
    primal, dual = objectives(K, signs, upper, alpha, intercept)
    assert abs(primal - dual) <= tol * max(1.0, abs(dual))


def assert_model_optimal(model, X, y, sample_weight=None, **kernel):
    """Assert that a fitted SVC is the optimum of its own problem."""
    signs = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
    upper = model.C * model.class_weight_[(signs > 0).astype(int)]
    if sample_weight is not None:
        upper = upper * sample_weight
    K = kernel_matrix(X, X, **kernel) if kernel else np.asarray(X, float)
    alpha = alpha_of(model, signs)
    assert_optimal(K, signs, upper, alpha, model.intercept_[0])
    return alpha
