"""Regression, one-class and nu machines: optimal, as scikit-learn scales them."""

import numpy as np
import pytest
import sklearn.svm

import exactsvm
from exactsvm import SVR, NuSVC, NuSVR
from exactsvm.exceptions import ConvergenceWarning
from optimality import kernel_matrix

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.0},
    {"kernel": "rbf", "gamma": 0.5},
]
TYPES = {
    "SVR": {"C": 2.0, "epsilon": 0.2},
    "NuSVR": {"C": 2.0, "nu": 0.4},
    "NuSVC": {"nu": 0.7},
    "OneClassSVM": {"nu": 0.25},
}


@pytest.fixture
def noisy(rng):
    """Rows, targets and labels of weakly related noise, and weights."""
    X = rng.normal(size=(90, 3))
    y = np.sin(X[:, 0]) + 0.4 * rng.normal(size=90)
    return X, y, (X[:, 1] + rng.normal(size=90) > 0).astype(int), rng.uniform(0.2, 3.0, size=90)


def function_of(model, X):
    return model.predict(X) if "R" in type(model).__name__ else model.decision_function(X)


def fitted(cls, parameters, X, y, labels, weights):
    model = cls(**parameters)
    name = cls.__name__
    target = labels if name == "NuSVC" else None if name == "OneClassSVM" else y
    return model.fit(X, target, sample_weight=weights)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("name", TYPES)
def test_agrees_with_sklearn(noisy, name, kernel, weighted):
    # LIBSVM keeps kernel values in single precision.
    X, y, labels, weights = noisy
    if name == "OneClassSVM":  # where the origin is inside LIBSVM takes minutes to find w = 0
        X = X + 3.0
    data = (X, y, labels, weights if weighted else None)
    parameters = {**TYPES[name], **kernel}
    ours = fitted(getattr(exactsvm, name), parameters, *data)
    theirs = fitted(getattr(sklearn.svm, name), {**parameters, "tol": 1e-9}, *data)
    f, g = function_of(ours, X), function_of(theirs, X)
    np.testing.assert_allclose(f, g, atol=3e-5 * max(1.0, np.abs(g).max()))
    assert ours.certificate_.status == "optimal"
    assert ours.certificate_.relative_gap < 1e-10
    for attribute in ("dual_coef_", "intercept_", "support_", "n_support_"):
        mine, his = getattr(ours, attribute), getattr(theirs, attribute)
        assert mine.dtype == his.dtype
        assert mine.ndim == his.ndim
    assert np.asarray(ours.n_iter_).shape == np.asarray(theirs.n_iter_).shape
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    if name == "OneClassSVM":
        np.testing.assert_allclose(ours.offset_, theirs.offset_, rtol=1e-5)


def regression_objectives(model, X, y, upper, epsilon, **kernel):
    """Primal value of the model and dual value of its coefficients, from the definition."""
    K = kernel_matrix(X, X, **kernel)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    residual = np.abs(y - K @ beta - model.intercept_)
    half = 0.5 * beta @ K @ beta
    primal = half + upper @ np.maximum(0.0, residual - epsilon)
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    assert (np.abs(beta) <= upper).all()
    return primal, y @ beta - epsilon * np.abs(beta).sum() - half


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
def test_svr_objectives_meet(noisy, kernel):
    X, y, _, weights = noisy
    model = SVR(C=2.0, epsilon=0.2, **kernel).fit(X, y, sample_weight=weights)
    primal, dual = regression_objectives(model, X, y, 2.0 * weights, 0.2, **kernel)
    assert primal - dual <= 1e-9 * primal
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-10)
    assert model.certificate_.dual_objective == pytest.approx(dual, rel=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
def test_nu_svr_is_svr_with_the_tube_it_found(noisy, kernel):
    X, y, _, _ = noisy
    model = NuSVR(C=2.0, nu=0.4, **kernel).fit(X, y)
    again = SVR(C=2.0, epsilon=model.epsilon_, **kernel).fit(X, y)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-7)
    primal, dual = regression_objectives(model, X, y, np.full(90, 2.0), model.epsilon_, **kernel)
    assert primal - dual <= 1e-9 * primal


def test_largest_feasible_nu_is_named_and_feasible(noisy):
    X, _, _, weights = noisy
    y = np.repeat([0, 1, 2], [50, 30, 10])

    def slow(A, B):
        pytest.fail("the kernel was evaluated first")

    sums = np.bincount(y, weights)
    largest = 2 * sums.min() / (sums.min() + sums.max())
    with pytest.raises(ValueError, match=r"nu must be at most [0-9.]+") as error:
        NuSVC(nu=1.01 * largest, kernel=slow).fit(X, y, sample_weight=weights)
    named = float(str(error.value).split("at most ")[1].split(",")[0])
    assert named == pytest.approx(largest, rel=1e-12)
    model = NuSVC(nu=named).fit(X, y, sample_weight=weights)
    assert model.certificate_.is_optimal


def test_nothing_to_learn():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [1.0, 1.0]])
    model = SVR().fit(X, [0.04, 0.04, 0.10, 0.16])  # all inside of the tube
    assert model.support_.shape == (0,)
    np.testing.assert_allclose(model.predict(X), 0.1)
    # No margin: every point is both classes. scikit-learn divides by it.
    with pytest.warns(UserWarning, match="no margin between the classes 0 and 1: w = 0") as record:
        model = NuSVC(nu=0.5).fit(np.ones((6, 2)), np.array([0, 1] * 3))
    assert record[0].filename == __file__
    assert model.fit_status_ == 0
    np.testing.assert_allclose(model.decision_function(np.ones((1, 2))), 0.0, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_classes_without_a_margin_are_named(rng, scale):
    X, y = scale * rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
    setting = {"nu": 0.2, "kernel": "linear"}
    for k, rest in ((2, ": w = 0"), (3, " and of 2 more pairs: w = 0")):
        some = np.arange(30 * k)
        with pytest.warns(UserWarning, match=f"nu=0.2 leaves.*'a' and 'b'{rest}"):
            model = NuSVC(**setting).fit(X[some], y[some])
        assert np.abs(model.coef_ @ X.T).max() < 1e-6 * scale**2
    X[y == "c"] += 10 * scale  # apart from the others, which still overlap
    with pytest.warns(UserWarning, match="'a' and 'b': w = 0"):
        NuSVC(**setting).fit(X, y)
    X[y == "b"] -= 10 * scale
    assert NuSVC(**setting).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("name", TYPES)
def test_warm_start_reaches_the_same_optimum(noisy, name):
    X, y, labels, _ = noisy
    data = (X, y, labels, None)
    cls, parameters = getattr(exactsvm, name), {**TYPES[name], "gamma": 0.5}
    change = {"nu": 0.5} if "nu" in parameters else {"C": 20.0}
    cold = fitted(cls, {**parameters, **change}, *data)
    model = fitted(cls, {**parameters, "warm_start": True}, *data).set_params(**change)
    target = labels if name == "NuSVC" else None if name == "OneClassSVM" else y
    model.fit(X, target)
    np.testing.assert_allclose(function_of(model, X), function_of(cold, X), atol=1e-6)
    assert model.certificate_.is_optimal


@pytest.mark.parametrize("name", [*TYPES, "SVC"])
def test_integer_weights_equal_repeated_rows_in_any_order(noisy, rng, name):
    X, y, labels, _ = noisy
    parameters = {**TYPES.get(name, {"C": 3.0}), "gamma": 0.5, "tol": 1e-12}
    if name == "NuSVC":
        parameters["nu"] = 0.4  # feasible for any weights below
    weights = rng.integers(0, 4, size=len(y))
    cls = getattr(exactsvm, name)
    if name == "SVC":
        labels = labels + (y > 0.5)
    data = (X, y, labels)

    def fit(rows, weights):
        if name == "SVC":
            return cls(**parameters).fit(X[rows], labels[rows], sample_weight=weights)
        return fitted(cls, parameters, *(part[rows] for part in data), weights)

    weighted = function_of(fit(np.arange(90), weights), X)
    scale = np.abs(weighted).max()
    for rows in (np.arange(90).repeat(weights), rng.permutation(np.arange(90).repeat(weights))):
        np.testing.assert_allclose(function_of(fit(rows, None), X), weighted, atol=1e-9 * scale)
    order = rng.permutation(90)
    shuffled = fit(order, weights[order])
    np.testing.assert_allclose(function_of(shuffled, X), weighted, atol=1e-9 * scale)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("nu", [0.0, -0.1, 1.1, float("nan"), "0.5", None, True]),
        ("epsilon", [-0.1, float("nan"), float("inf"), "0.1", True]),
        ("C", [0.0, -1.0, float("nan"), "1", None]),
        ("tol", [0.0]),
        ("kernel", ["gauss"]),
    ],
)
def test_bad_parameters_are_named(noisy, name, parameter, values):
    X, y, labels, _ = noisy
    cls = getattr(exactsvm, name)
    if parameter not in cls().get_params():
        pytest.skip(f"{name} has no {parameter}")
    for value in values:
        with pytest.raises((ValueError, TypeError), match=parameter):
            fitted(cls, {parameter: value}, X, y, labels, None)


def test_nu_svr_refuses_an_infinite_C(noisy):
    X, y, _, _ = noisy
    with pytest.raises(ValueError, match="C must be a finite number"):
        NuSVR(C=np.inf).fit(X, y)
    hard = SVR(C=np.inf, epsilon=1.5, gamma=0.5).fit(X, y)
    assert (np.abs(hard.predict(X) - y) <= 1.5 + 1e-7).all()


def test_limits_and_callback_apply(noisy):
    X, y, _, _ = noisy
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVR(max_iter=1, C=100.0, gamma=2.0).fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_ == 1
