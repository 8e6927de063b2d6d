"""What nu promises, on real data: at most that share of errors, at least so many supports."""

import warnings

import numpy as np
import pytest

from exactsvm import NuSVC, NuSVR, OneClassSVM
from exactsvm.exceptions import ConvergenceWarning
from generators import clouds
from real_data import BINARY, REGRESSION, load

SHARES = [0.1, 0.4, 0.8]
# Real targets, and columns of other data to be told from the rest.
TARGETS = [(name, None) for name in REGRESSION]
TARGETS += [("heart", 7), ("ionosphere", 4), ("pima", 5), ("breast_cancer", 21)]
TARGETS += [("magic1200", 0), ("higgs600", 25)]

shares = pytest.mark.parametrize("share", SHARES)


@pytest.mark.parametrize("name", BINARY)
@shares
def test_margin_errors_and_support_vectors_of_a_classifier(name, share):
    X, y = load(name)
    n = len(y)
    nu = share * 2 * min((y > 0).sum(), (y < 0).sum()) / n
    model = NuSVC(nu=nu, gamma=1 / X.shape[1]).fit(X, y)
    assert model.certificate_.is_optimal
    # Decision values are 1 at the margin to within the violation of the solution.
    slack = 10 * max(1e-8, model.certificate_.kkt_violation)
    errors = (y * model.decision_function(X) < 1 - slack).mean()
    assert errors <= nu + 1 / n
    assert len(model.support_) / n >= nu - 1 / n


@pytest.mark.parametrize(("name", "column"), TARGETS, ids=[name for name, _ in TARGETS])
@shares
def test_rows_outside_of_the_tube(name, column, share):
    X, y = load(name)
    if column is not None:
        X, y = np.delete(X, column, axis=1), X[:, column]
    n = len(y)
    model = NuSVR(nu=share, gamma=1 / X.shape[1]).fit(X, y)
    assert model.certificate_.is_optimal
    slack = 10 * max(1e-8, model.certificate_.kkt_violation)
    outside = (np.abs(y - model.predict(X)) > model.epsilon_ + slack).mean()
    assert outside <= share + 1 / n
    assert model.epsilon_ >= 0.0
    # Without a tube a row pulls both ways, and its coefficients cancel.
    assert model.epsilon_ < 1e-9 or len(model.support_) / n >= share - 1 / n


@pytest.mark.parametrize("name", BINARY)
@shares
def test_rows_outside_of_the_region(name, share):
    X, _ = load(name)
    n = len(X)
    model = OneClassSVM(nu=share, gamma=1 / X.shape[1]).fit(X)
    assert model.certificate_.is_optimal
    assert (model.predict(X) < 0).mean() <= share + 1 / n
    assert len(model.support_) / n >= share - 1 / n


@pytest.mark.parametrize("name", ["heart", "german", "pima"])
@shares
def test_shares_are_of_the_weight(name, share, rng):
    X, y = load(name)
    weights = rng.uniform(0.0, 3.0, size=len(y))
    total, one = weights.sum(), weights.max() / weights.sum()
    gamma = 1 / X.shape[1]
    model = OneClassSVM(nu=share, gamma=gamma).fit(X, sample_weight=weights)
    assert weights[model.predict(X) < 0].sum() / total <= share + one
    assert weights[model.support_].sum() / total >= share - one

    nu = share * 2 * min(weights[y > 0].sum(), weights[y < 0].sum()) / total
    model = NuSVC(nu=nu, gamma=gamma).fit(X, y, sample_weight=weights)
    slack = 10 * max(1e-8, model.certificate_.kkt_violation)
    errors = y * model.decision_function(X) < 1 - slack
    assert weights[errors].sum() / total <= nu + one
    assert weights[model.support_].sum() / total >= nu - one


@pytest.mark.parametrize("gamma", ["scale", 0.5, 50.0])
@pytest.mark.parametrize("n_features", [2, 6])
def test_one_class_with_a_tiny_nu_keeps_nearly_all(rng, gamma, n_features):
    X = rng.uniform(size=(2000, n_features))
    model = OneClassSVM(nu=1e-6, gamma=gamma).fit(X)
    assert model.certificate_.is_optimal
    assert (model.predict(X) == 1).mean() > 0.999
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("n", [500, 1500])
@pytest.mark.parametrize("solver", ["cmu", "smo"])
@pytest.mark.parametrize("gamma", [0.02, 0.1])
def test_a_stationary_point_keeps_the_tolerance_in_the_scale_of_the_model(gamma, solver, n):
    """The division by the margin makes the violation larger, on kernels that are no kernels too."""
    X, y = clouds(n)
    tol = 1e-9
    # The smallest cache, 16 MB, holds the matrix of 500 rows and not that of 1500.
    model = NuSVC(nu=0.5, kernel="sigmoid", gamma=gamma, solver=solver, tol=tol, cache_size=1)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model.fit(X, y)
    assert model.certificate_.status == "stationary"
    values = y * model.decision_function(X)
    x = np.zeros(len(y))
    x[model.support_] = np.abs(model.dual_coef_[0])
    free = (x > 1e-9 * x.max()) & (x < x.max() * (1 - 1e-9))
    # f is 1 in the middle between what the classes allow, so that a free one is off by tol at most.
    assert free.sum() >= 2
    assert np.abs(values[free] - 1.0).max() <= tol
    assert model.certificate_.kkt_violation <= tol


def test_a_margin_that_is_rounding_is_no_standstill():
    """Labels at random on few distinct rows: the division by next to nothing asks for too much."""
    for seed in range(20):
        rng = np.random.RandomState(seed)
        X = rng.uniform(size=(40, 3))
        X[X < 0.6] = 0.0
        y = rng.randint(0, 3, size=40)
        model = NuSVC(gamma="auto", nu=0.3, max_time=20.0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "nu=0.3 leaves no margin", UserWarning)
            model.fit(X, y)
        assert all(c.is_optimal for c in model.certificates_)
        assert all(c.kkt_violation <= max(1e-8, c.precision_floor) for c in model.certificates_)
