"""A second opinion on a solution, from alpha alone: objectives, gap and violation.

Nothing here is shared with the package. Kernel values, the gradient and every sum are formed in
`numpy.longdouble` (64 bits of mantissa on x86-64), so that what is left is the error of the
solution and not of the check. On a platform where longdouble is float64 the numbers still hold, but
only to the floor they report.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EXTENDED = np.longdouble
EPS = float(np.finfo(np.float64).eps)
# Products of extended numbers run without BLAS; beyond so many multiplications float64 takes over.
MAX_EXTENDED_PRODUCTS = 4e8


@dataclass(frozen=True)
class Evaluation:
    """What can be said about one alpha; `dual <= optimum <= primal` but for the last digits."""

    dual: float  # sum(alpha) - 1/2 alpha'H alpha
    primal: float  # at the given intercept, or at the best one if none is given
    gap: float  # primal - dual, subtracted in extended precision
    relative_gap: float  # gap / max(1, |dual|)
    violation: float  # m - M, in units of the decision function
    bias_interval: tuple[
        float, float
    ]  # (m, M) sorted: where the intercept of an optimal alpha lies
    equality_residual: float  # |sum y alpha|
    box_residual: float
    floor: float  # uncertainty of a float64 gradient at this alpha
    n_free: int
    n_bounded: int
    leverage: (
        float  # sum max(alpha, C - alpha): how much the gap moves per unit of error in the gradient
    )


def kernel_matrix(A, B, kernel, gamma=1.0, degree=3, coef0=0.0, *, extended=None):
    """Kernel values between the rows of A and of B."""
    if kernel == "precomputed":
        return A.astype(EXTENDED)
    if extended is None:
        extended = A.shape[0] * B.shape[0] * A.shape[1] <= MAX_EXTENDED_PRODUCTS
    if extended:
        A, B = A.astype(EXTENDED), B.astype(EXTENDED)
    if kernel == "laplacian":
        distance = np.stack([np.abs(B - a).sum(axis=1) for a in A])
        return np.exp(-EXTENDED(gamma) * distance)
    products = (A @ B.T).astype(EXTENDED)
    if kernel == "linear":
        return products
    gamma, coef0 = EXTENDED(gamma), EXTENDED(coef0)
    if kernel == "poly":
        return (gamma * products + coef0) ** degree
    if kernel == "sigmoid":
        return np.tanh(gamma * products + coef0)
    if kernel == "rbf":
        squares = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1)[None, :] - 2 * products
        return np.exp(-gamma * np.maximum(squares, 0))
    raise ValueError(f"unknown kernel {kernel!r}")


def best_intercept(y, decision, upper):
    """A minimiser over b of sum u_i max(0, 1 - y_i (f_i + b)): where the slope changes sign."""
    breaks = y - decision  # point i stops or starts to pay at b = y_i - f_i
    order = np.argsort(breaks, kind="stable")
    slope = np.cumsum(upper[order]) - np.sum(upper[y > 0])
    return breaks[order][min(int(np.searchsorted(slope, 0)), len(y) - 1)]


def evaluate(X, y, C, alpha, intercept, kernel, gamma=1.0, degree=3, coef0=0.0, *, columns=500):
    """Judge `alpha` for the dual with labels y in {-1, +1} and bound C, a number or one per row."""
    y = np.asarray(y, dtype=EXTENDED)
    upper = np.broadcast_to(np.asarray(C, dtype=EXTENDED), y.shape)
    given = np.asarray(alpha, dtype=np.float64).astype(EXTENDED)
    a = np.clip(given, 0, upper)
    support = np.flatnonzero(a)

    decision = np.zeros(len(y), EXTENDED)  # without the intercept
    magnitude = np.zeros(len(y), EXTENDED)
    for first in range(0, len(support), columns):
        part = support[first : first + columns]
        K = (
            X[:, part].astype(EXTENDED)
            if kernel == "precomputed"
            else kernel_matrix(X, X[part], kernel, gamma, degree, coef0)
        )
        decision += K @ (a[part] * y[part])
        magnitude += np.abs(K) @ a[part]

    v = y - decision
    may_rise = np.where(y > 0, a < upper, a > 0)  # y_i alpha_i may grow
    may_fall = np.where(y > 0, a > 0, a < upper)
    m = v[may_rise].max(initial=-np.inf)
    M = v[may_fall].min(initial=np.inf)

    half_square = np.sum(a * y * decision) / 2
    dual = np.sum(a) - half_square
    b = best_intercept(y, decision, upper) if intercept is None else EXTENDED(intercept)
    primal = half_square + np.sum(upper * np.maximum(0, 1 - y * (decision + b)))
    gap = primal - dual
    return Evaluation(
        dual=float(dual),
        primal=float(primal),
        gap=float(gap),
        relative_gap=float(gap / max(1, abs(dual))),
        violation=float(m - M),
        bias_interval=(float(min(m, M)), float(max(m, M))),
        equality_residual=float(abs(np.sum(given * y))),
        box_residual=float(max(0, -given.min(), (given - upper).max())),
        floor=float(4 * EPS * (1 + magnitude.max())),
        n_free=int(np.sum((a > 0) & (a < upper))),
        n_bounded=int(np.sum((a > 0) & (a == upper))),
        leverage=float(np.sum(np.maximum(a, upper - a))),
    )


def alpha_of(model, n):
    """The dual variables of a fitted two-class SVC-like model, one per training row."""
    coefficients = model.dual_coef_
    coefficients = (
        coefficients.toarray() if hasattr(coefficients, "toarray") else np.asarray(coefficients)
    )
    alpha = np.zeros(n)
    alpha[np.asarray(model.support_)] = np.abs(coefficients.ravel())
    return alpha


def intercept_of(model):
    """The intercept of a fitted two-class model as a number."""
    return float(np.ravel(model.intercept_)[0])
