"""All linear solvers and a generic QP solver agree on P*, for every loss and intercept."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from exactsvm import LinearSVC, LinearSVR
from linear_problems import (
    INTERCEPTS,
    clarabel_minimum,
    data_sets,
    primal,
    regression_targets,
    sample_weights,
)

DATA = data_sets()
EPSILON = 0.1
# The exact solvers, and the others with what they are asked for here.
TOL = {"cmu": 1e-10, "ipm": 1e-10, "auto": 1e-6, "dcd": 1e-5, "gd": 1e-5, "sgd": 3e-2}


def estimator(task, squared, intercept, **parameters):
    fit_intercept, scaling = INTERCEPTS[intercept]
    common = {"fit_intercept": fit_intercept, "intercept_scaling": scaling, "n_jobs": 1}
    if task == "classification":
        loss = "squared_hinge" if squared else "hinge"
        return LinearSVC(loss=loss, **common, **parameters)
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    return LinearSVR(loss=loss, epsilon=EPSILON, **common, **parameters)


def targets(name, task):
    X, y = DATA[name]
    return regression_targets(X) if task == "regression" else np.where(y == y.max(), 1.0, -1.0)


def test_there_are_twelve_data_sets():
    assert len(DATA) == 12


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", DATA)
def test_all_solvers_and_an_independent_one_agree(name, task, squared, weighted, intercept):
    X, y = DATA[name][0], targets(name, task)
    weights, C = sample_weights(len(y), weighted), 0.5
    epsilon = EPSILON if task == "regression" else None
    scaling = INTERCEPTS[intercept][1]
    options = {"squared": squared, "epsilon": epsilon}
    expected = clarabel_minimum(X, y, C * weights, intercept, **options)
    for solver, tol in TOL.items():
        model = estimator(task, squared, intercept, solver=solver, tol=tol, C=C, max_time=20.0)
        model.fit(X, y, sample_weight=weights)  # a warning would be an error
        value = primal(
            X, y, model.coef_.ravel(), model.intercept_[0], C * weights, scaling=scaling, **options
        )
        size = max(1.0, abs(expected))
        assert -1e-10 * size <= value - expected <= 1.01 * tol * size
        certificate = model.certificate_
        assert certificate.primal_objective == pytest.approx(value, rel=1e-12)
        assert certificate.dual_objective <= expected + 1e-10 * size
        assert certificate.relative_gap <= tol
        assert model.fit_status_ == 0


@pytest.mark.parametrize("C", [1e-3, 1e2, 1e4])
@pytest.mark.parametrize("name", DATA)
def test_the_exact_solver_agrees_for_small_and_large_C(name, C):
    X = DATA[name][0]
    for task in ("classification", "regression"):
        y = targets(name, task)
        epsilon = EPSILON if task == "regression" else None
        for squared in (False, True):
            u = C * sample_weights(len(y), True)
            expected = clarabel_minimum(X, y, u, "free", squared=squared, epsilon=epsilon)
            model = estimator(task, squared, "free", solver="cmu", tol=1e-9, C=C)
            model.fit(X, y, sample_weight=u / C)
            assert model.certificate_.relative_gap <= 1e-9
            assert model.certificate_.primal_objective == pytest.approx(
                expected, rel=1e-9, abs=1e-9
            )


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("solver", TOL)
def test_sparse_rows_have_the_same_optimum(solver, task, squared):
    X, y = DATA["classif800"][0].copy(), targets("classif800", task)
    X[np.abs(X) < 0.3] = 0.0
    values = []
    for form in (X, sp.csr_matrix(X), sp.csr_matrix(X.astype(np.float32))):
        model = estimator(task, squared, "free", solver=solver, tol=TOL[solver], C=0.5)
        model.fit(form, y)
        assert model.certificate_.relative_gap <= TOL[solver]
        rows = form.toarray() if sp.issparse(form) else form
        values.append(
            primal(
                rows.astype(np.float64),
                y,
                model.coef_.ravel(),
                model.intercept_[0],
                np.full(len(y), 0.5),
                squared=squared,
                epsilon=EPSILON if task == "regression" else None,
            )
        )
    assert values[1] == pytest.approx(values[0], rel=2 * TOL[solver])
    # Rounding the samples to single precision moves the optimum.
    assert values[2] == pytest.approx(values[0], rel=2 * TOL[solver] + 1e-6)


def test_the_status_follows_the_gap_where_rounding_stops_the_exact_solver():
    # Multipliers of 1e4 leave violations of 1e-9, which the losses multiply by 1e4 again.
    X, y = DATA["digits800"][0], targets("digits800", "classification")
    model = LinearSVC(loss="hinge", solver="cmu", C=1e6, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="no step improves"):
        model.fit(X, y)
    certificate = model.certificate_
    assert certificate.relative_gap > max(1e-12, certificate.precision_floor)
    assert certificate.status == "stalled"
