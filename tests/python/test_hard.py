"""Problems on which decomposition methods stop early, run for ever or are wrong in silence.

Each must end, say truly how far it came, and come as far as float64 allows.
"""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

import exactsvm
from evaluate import EPS, alpha_of, evaluate, intercept_of
from generators import checkerboard, contradictions, one_wide_column, three_clusters

FINISHED = ("optimal", "optimal_to_precision")


def gap_allowance(certificate, judged, intercept):
    """By how much a truthful gap in float64 may differ from the gap in extended precision.

    gap = sum_i [a_i r_i + u_i max(0, -r_i)], so that an error in r_i moves it by at most
    max(a_i, u_i - a_i) times that error. Each r_i is uncertain by the floor, and by the rounding of
    the intercept. What the dual variables miss in y'a = 0 is multiplied by the intercept in one of
    the two ways to write the gap and absent in the other.
    """
    per_row = certificate.precision_floor + 4 * EPS * abs(intercept)
    return (
        per_row * judged.leverage
        + abs(intercept) * judged.equality_residual
        + 4 * EPS * abs(judged.primal)
    )


def check(model, X, y, **kernel):
    assert model.fit_status_ == 0
    certificate = model.certificate_
    assert certificate.status in FINISHED
    assert certificate.kkt_violation <= max(1e-8, certificate.precision_floor)

    alpha, b = alpha_of(model, len(y)), intercept_of(model)
    judged = evaluate(X, y, model.C, alpha, b, **kernel)
    assert judged.box_residual == 0
    assert judged.violation <= max(1e-8, 2 * certificate.precision_floor)
    assert abs(certificate.duality_gap - judged.gap) <= gap_allowance(certificate, judged, b)
    assert (certificate.n_free, certificate.n_bounded) == (judged.n_free, judged.n_bounded)
    return certificate


@pytest.mark.parametrize("exponent", range(-3, 9))
def test_unscaled_measurements_linear(exponent):
    """Columns from 1e-3 to 4e3 as measured: the floor grows with C, as the certificate must say."""
    X, target = load_breast_cancer(return_X_y=True)
    y = np.where(target == 1, 1.0, -1.0)
    model = exactsvm.SVC(kernel="linear", C=10.0**exponent).fit(X, y)
    check(model, X, y, kernel="linear")


def test_noisy_checkerboard():
    """Large C on wrong labels: millions of steps for SMO, a singular free block for Newton."""
    X, y = checkerboard(4000, flipped=0.1)
    model = exactsvm.SVC(gamma=1.0, C=1e4).fit(X, y)
    check(model, X, y, kernel="rbf", gamma=1.0)


@pytest.mark.parametrize("gamma", ["auto", "scale"])
def test_two_points_with_a_huge_constant_column(gamma):
    """Kernel values up to 1e20 whose differences decide: rounding eats the first column."""
    X, y = np.array([[1.0, 99999.0], [2.0, 99999.0]]), np.array([-1.0, 1.0])
    value = 0.5 if gamma == "auto" else 1 / (2 * X.var())
    model = exactsvm.SVC(kernel="poly", degree=2, gamma=gamma).fit(X, y)
    check(model, X, y, kernel="poly", gamma=value, degree=2)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
def test_one_column_of_large_scale(kernel, C):
    X, y = one_wide_column(400)
    gamma = 1 / (X.shape[1] * X.var())
    model = exactsvm.SVC(kernel=kernel, gamma=gamma, C=C).fit(X, y)
    check(model, X, y, kernel=kernel, gamma=gamma)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
def test_repeated_rows_with_contradicting_labels(kernel, C):
    X, y = contradictions(120, 4)
    gamma = 0.1
    model = exactsvm.SVC(kernel=kernel, gamma=gamma, coef0=1.0, C=C).fit(X, y)
    check(model, X, y, kernel=kernel, gamma=gamma, coef0=1.0)


def test_one_row_many_times():
    """A kernel matrix of rank one: there is nothing to learn, and the answer is known."""
    X, y = np.ones((30, 3)), np.array([1.0] * 20 + [-1.0] * 10)
    model = exactsvm.SVC(C=2.0, gamma=1.0).fit(X, y)
    certificate = check(model, X, y, kernel="rbf", gamma=1.0)
    # w = 0, and the smaller class pays 2 C a row
    assert certificate.dual_objective == pytest.approx(2 * 2.0 * 10, rel=1e-14)
    np.testing.assert_array_equal(model.predict(X), 1.0)


@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("spread", [1e3, 1e5, 1e7])
def test_distances_of_points_far_apart(spread, C):
    """|x|^2 + |y|^2 - 2 x'y would lose what the kernel needs."""
    X, z = three_clusters(spread)
    model = exactsvm.SVC(C=C, gamma=0.5).fit(X, z)
    K = np.exp(-0.5 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=-1))
    beta = np.zeros(400)
    beta[model.support_] = model.dual_coef_[0]
    v = z - K @ beta
    alpha = np.abs(beta)
    rising = np.where(z > 0, alpha < C, alpha > 0)
    falling = np.where(z > 0, alpha > 0, alpha < C)
    assert model.certificate_.status == "optimal"
    assert v[rising].max() - v[falling].min() <= 1e-8 + model.certificate_.precision_floor


@pytest.mark.parametrize(("seed", "C", "nu"), [(182, 0.01, 0.7), (384, 0.1, 0.3), (384, 1.0, 0.5)])
def test_entries_of_many_magnitudes_end(seed, C, nu):
    """Steps that gain a little on one side of rounding went on for ever; max_time is the net."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((30, 2)) * [0.1, 100.0]
    y = X.sum(axis=1) + 0.1 * random.standard_normal(30)
    weights = 10.0 ** random.integers(-1, 4, 30)
    model = exactsvm.NuSVR(kernel="poly", degree=2, gamma=1000.0, C=C, nu=nu, max_time=60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = model.fit(X, y, weights).certificate_
    assert certificate.status in ("optimal", "optimal_to_precision", "stalled")
    assert certificate.duality_gap >= 0.0
