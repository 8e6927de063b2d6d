"""Unscaled samples and extreme C: finite weights, and a status that says what the gap is."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from exactsvm import LinearSVC, LinearSVR
from generators import clouds, one_wide_column
from linear_problems import primal, regression_targets

SOLVERS = ["auto", "cmu", "ipm", "dcd", "gd", "sgd"]


def twelve_orders(n):
    """Columns of units from 1e-6 to 1e6; the label depends on all of them alike."""
    X, y = clouds(n, n_features=7)
    return X * 10.0 ** np.linspace(-6, 6, 7), y


def large_offsets(n):
    """Columns whose spread is a millionth of their mean, or a thousandth."""
    X, y = clouds(n, n_features=6)
    return X + np.array([1e6, -1e6, 1e3, 1e3, 0.0, 1e6]), y


def one_huge_row(n):
    """A row a hundred million times as long as the others."""
    X, y = clouds(n)
    X[0] *= 1e8
    return X, y


def tiny(n):
    """Samples so small that the optimum is hardly more than a constant."""
    X, y = clouds(n)
    return 1e-8 * X, y


KINDS = {
    "one wide column": one_wide_column,
    "twelve orders": twelve_orders,
    "large offsets": large_offsets,
    "one huge row": one_huge_row,
    "tiny": tiny,
}


# On the others float64 ends before the gap does, for some C, which the status must then say.
SOLVED = ("one wide column", "twelve orders", "tiny")


def fit(model, X, y):
    """Fit; returns whether it warned that it is not optimal."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="raise"):
        warnings.simplefilter("always")
        model.fit(X, y)
    assert all(issubclass(w.category, ConvergenceWarning) for w in caught)
    return bool(caught)


def judge(outcomes):
    """Check what (model, warned, value) of each solver claim; `value` is P from its definition."""
    # The lowest of all objectives is what every dual value must stay below.
    least = min(value for _, _, value in outcomes.values())
    for solver, (model, warned, value) in outcomes.items():
        certificate = model.certificate_
        # No solver's sums are off by more than rounding.
        slack = max(1e-9, 4 * certificate.precision_floor) * max(1.0, value)
        assert abs(certificate.primal_objective - value) <= slack, solver
        assert certificate.dual_objective <= least + slack, solver
        assert certificate.is_optimal == (not warned) == (model.fit_status_ == 0), solver
        if certificate.is_optimal:
            allowed = max(model.tol, certificate.precision_floor)
            assert certificate.relative_gap <= allowed, solver
            assert value <= least + (allowed + 1e-9) * max(1.0, least), solver
        else:
            assert certificate.relative_gap > model.tol, solver


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", KINDS)
def test_classification_is_never_silently_wrong(kind, loss, C):
    X, y = KINDS[kind](200)
    outcomes = {}
    for solver in SOLVERS:
        limit = None if solver in ("auto", "ipm") else 0.25
        model = LinearSVC(loss=loss, C=C, solver=solver, max_time=limit, n_jobs=1)
        warned = fit(model, X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        value = primal(
            X, y, model.coef_[0], model.intercept_[0], np.full(len(y), C), squared=loss != "hinge"
        )
        outcomes[solver] = (model, warned, value)
        if kind in SOLVED and solver in ("auto", "ipm"):
            assert model.certificate_.is_optimal
    judge(outcomes)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("kind", KINDS)
def test_regression_is_never_silently_wrong(kind, loss, C):
    X, _ = KINDS[kind](200)
    # All columns matter alike, so that the weights differ as much as the units do.
    y = regression_targets((X - X.mean(axis=0)) / X.std(axis=0))
    outcomes = {}
    for solver in ("auto", "cmu", "ipm", "dcd"):
        limit = 0.1 if solver == "dcd" else None
        model = LinearSVR(loss=loss, C=C, epsilon=0.1, solver=solver, max_time=limit, n_jobs=1)
        warned = fit(model, X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        squared = loss.startswith("squared")
        weights = np.full(len(y), C)
        value = primal(
            X, y, model.coef_, model.intercept_[0], weights, squared=squared, epsilon=0.1
        )
        outcomes[solver] = (model, warned, value)
        if kind != "large offsets" and solver in ("auto", "ipm"):
            assert model.certificate_.is_optimal
    judge(outcomes)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("estimator", [LinearSVC, LinearSVR])
@pytest.mark.parametrize("solver", SOLVERS)
def test_squares_that_overflow_are_refused(solver, estimator, sparse):
    X, y = clouds(60)
    X = 1e155 * X
    with pytest.raises(ValueError, match="overflow"):
        estimator(solver=solver).fit(csr_array(X) if sparse else X, y)
