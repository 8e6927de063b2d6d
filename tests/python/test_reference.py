"""Every problem with a proven optimum, through the estimator and through `solve_dual`."""

import numpy as np
import pytest

import exactsvm
from evaluate import alpha_of, evaluate, intercept_of, kernel_matrix
from reference import cases, counts

TOL = 1e-12
FINISHED = ("optimal", "optimal_to_precision")


def check_solution(c, alpha, intercept, certificate):
    X, y = c.load()
    scale = max(1, abs(c.minimum))
    floor = certificate.precision_floor
    judged = evaluate(X, y, c.C, alpha, intercept, **c.kernel_arguments)

    assert certificate.status in FINISHED
    assert abs(certificate.dual_objective + c.minimum) <= c.objective_tolerance * scale
    assert abs(judged.dual + c.minimum) <= c.objective_tolerance * scale
    assert certificate.kkt_violation <= max(1e-9, floor)
    # two evaluations of one gradient, each uncertain by the floor
    assert judged.violation <= max(1e-9, 2 * floor)
    assert floor <= 10 * judged.floor, (
        "a floor far above the rounding of the gradient excuses too much"
    )
    assert judged.box_residual == 0
    assert judged.equality_residual <= 1e-13 * max(1, np.sum(alpha))

    low, high = c.intercept_interval
    assert low - max(1e-9, floor) <= intercept <= high + max(1e-9, floor)
    if not c.counts_are_fragile(floor):
        assert counts(alpha, X, y, c.C) == (c.n_free, c.n_bounded)


@pytest.mark.parametrize("c", cases(), ids=lambda c: c.name)
def test_estimator(c):
    X, y = c.load()
    model = exactsvm.SVC(**c.estimator_parameters, tol=TOL).fit(X, y)
    check_solution(c, alpha_of(model, c.n), intercept_of(model), model.certificate_)


@pytest.mark.parametrize("c", cases(), ids=lambda c: c.name)
def test_general_dual_problem(c):
    X, y = c.load()
    K = np.ascontiguousarray(kernel_matrix(X, X, **c.kernel_arguments), dtype=np.float64)
    solution = exactsvm.solve_dual(K, y, upper=c.C, tol=TOL)
    check_solution(c, solution.x, -float(solution.multipliers[0]), solution.certificate)


@pytest.mark.parametrize("c", cases()[::8], ids=lambda c: c.name)
def test_signed_matrix_is_the_same_problem(c):
    X, y = c.load()
    K = np.ascontiguousarray(kernel_matrix(X, X, **c.kernel_arguments), dtype=np.float64)
    solution = exactsvm.solve_dual(K * np.outer(y, y), y, upper=c.C, signed=True, tol=TOL)
    check_solution(c, solution.x, -float(solution.multipliers[0]), solution.certificate)


def test_interval_of_the_intercept_where_no_variable_is_free():
    c = next(c for c in cases() if c.n_free == 0)
    X, y = c.load()
    certificate = exactsvm.SVC(**c.estimator_parameters, tol=TOL).fit(X, y).certificate_
    assert certificate.n_free == 0
    allowed = max(1e-9, certificate.precision_floor)
    np.testing.assert_allclose(
        certificate.bias_interval[0], c.intercept_interval, rtol=0, atol=allowed
    )
