"""The judge judged: the evaluator must find proven optima to be optima, and other points not."""

import numpy as np
import pytest

from evaluate import evaluate
from reference import case, cases, counts

SOME = [c for i, c in enumerate(cases()) if i % 6 == 0]


@pytest.mark.parametrize("c", SOME, ids=lambda c: c.name)
def test_proven_optimum_is_recognised(c):
    X, y = c.load()
    alpha = c.optimal_alpha()
    e = evaluate(X, y, c.C, alpha, c.intercept_interval[0], **c.kernel_arguments)
    scale = max(1, abs(c.minimum))
    # alpha is rounded to float64, which moves the gradient by about the floor
    assert abs(e.dual + c.minimum) <= c.objective_tolerance * scale
    assert e.violation <= max(1e-13, e.floor)
    assert abs(e.gap) <= e.floor * e.leverage
    if c.n_distinct == c.n:
        assert (e.n_free, e.n_bounded) == (c.n_free, c.n_bounded)
    assert counts(alpha, X, y, c.C) == (c.n_free, c.n_bounded)


def test_best_intercept_is_no_worse_than_any_other():
    c = case("heart-rbf-g0.0769-C0.1")
    X, y = c.load()
    alpha = 0.5 * c.optimal_alpha()
    best = evaluate(X, y, c.C, alpha, None, **c.kernel_arguments).primal
    for b in np.linspace(-2, 2, 41):
        assert best <= evaluate(X, y, c.C, alpha, b, **c.kernel_arguments).primal + 1e-12


def test_a_wrong_alpha_is_seen():
    c = case("heart-rbf-g0.0769-C0.1")
    X, y = c.load()
    alpha = c.optimal_alpha().copy()
    i = np.flatnonzero((alpha > 0) & (alpha < c.C))[0]
    alpha[i] += 1e-4 * (c.C - alpha[i])
    e = evaluate(X, y, c.C, alpha, c.intercept_interval[0], **c.kernel_arguments)
    assert e.violation > 1e-7
    assert e.equality_residual > 1e-7
