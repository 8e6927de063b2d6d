"""More than two classes: pairs, votes, certificates; and one thousand of them."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris

from exactsvm import SVC, NuSVC
from exactsvm.exceptions import ConvergenceWarning
from optimality import kernel_matrix


@pytest.fixture
def four(rng):
    """Four overlapping clouds with labels that are words."""
    y = np.repeat([0, 1, 2, 3], [20, 30, 15, 25])
    centres = np.array([[0, 0, 1], [1, 1, 0], [0, 2, 0], [2, 0, 0.5]])
    X = centres[y] + 0.8 * rng.normal(size=(90, 3))
    order = rng.permutation(90)
    return X[order], np.array(["a", "b", "c", "d"])[y[order]]


@pytest.mark.parametrize("cls", ["SVC", "NuSVC"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_agrees_with_sklearn(four, cls, kernel):
    X, y = four
    setting = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0, "degree": 2}
    setting |= {"C": 3.0} if cls == "SVC" else {"nu": 0.55}
    weights = np.linspace(0.5, 2.0, 90)
    ours = {"SVC": SVC, "NuSVC": NuSVC}[cls](**setting).fit(X, y, sample_weight=weights)
    theirs = getattr(sklearn.svm, cls)(tol=1e-9, **setting).fit(X, y, sample_weight=weights)
    for shape in ("ovo", "ovr"):
        f = ours.set_params(decision_function_shape=shape).decision_function(X)
        g = theirs.set_params(decision_function_shape=shape).decision_function(X)
        np.testing.assert_allclose(f, g, atol=1e-4 * max(1.0, np.abs(g).max()))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert ours.class_weight_.shape == theirs.class_weight_.shape
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
        np.testing.assert_allclose(
            X @ ours.coef_.T + ours.intercept_,
            ours.set_params(decision_function_shape="ovo").decision_function(X),
            atol=1e-10,
        )


def test_every_pair_is_a_binary_fit(four):
    X, y = four
    model = SVC(C=2.0, gamma=0.5, class_weight="balanced", decision_function_shape="ovo")
    values = model.fit(X, y).decision_function(X)
    assert len(model.certificates_) == 6
    k = 0
    for a in range(4):
        for b in range(a + 1, 4):
            both = np.isin(y, model.classes_[[a, b]])
            weight = dict(zip(model.classes_[[a, b]], model.class_weight_[[a, b]], strict=True))
            pair = SVC(C=2.0, gamma=0.5, class_weight=weight).fit(X[both], y[both])
            np.testing.assert_allclose(values[:, k], -pair.decision_function(X), atol=1e-7)
            mine, his = model.certificates_[k], pair.certificate_
            assert mine.dual_objective == pytest.approx(his.dual_objective, rel=1e-10)
            assert mine.status == "optimal"
            k += 1
    gaps = [c.relative_gap for c in model.certificates_]
    assert model.certificate_ == model.certificates_[int(np.argmax(gaps))]
    assert model.certificates_[-1] == model.certificates_[5]
    assert len(model.certificates_[1:3]) == 2
    with pytest.raises(IndexError):
        model.certificates_[6]


def test_break_ties(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    model = SVC(gamma=2.0, break_ties=True).fit(X, y)
    new = rng.normal(size=(2000, 2))
    by_value = model.decision_function(new).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(new), by_value)
    by_votes = model.set_params(break_ties=False).predict(new)
    assert 0 < (by_votes != by_value).sum() < 200
    with pytest.raises(ValueError, match="break_ties"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)


def test_threads_do_not_show(four):
    X, y = four
    models = [SVC(n_jobs=n, gamma=0.5).fit(X, y) for n in (1, 2, 3)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(models[0].intercept_, other.intercept_)
        np.testing.assert_array_equal(models[0].decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("form", ["precomputed", "callable", "sparse"])
def test_other_forms_of_the_same_kernel(four, rng, form):
    X, y = four
    new = rng.normal(size=(11, 3))
    plain = SVC(gamma=0.5).fit(X, y)
    K = {"gamma": 0.5}
    model, fit, predict = {
        "precomputed": (
            SVC(kernel="precomputed"),
            kernel_matrix(X, X, **K),
            kernel_matrix(new, X, **K),
        ),
        "callable": (SVC(kernel=lambda A, B: kernel_matrix(A, B, **K)), X, new),
        "sparse": (SVC(**K), scipy.sparse.csr_array(X), scipy.sparse.coo_array(new)),
    }[form]
    model.fit(fit, y)
    np.testing.assert_allclose(
        model.decision_function(predict), plain.decision_function(new), atol=1e-6
    )
    np.testing.assert_array_equal(model.predict(predict), plain.predict(new))
    if form == "precomputed":
        few = predict[:, model.support_]
        np.testing.assert_array_equal(
            model.decision_function(few), model.decision_function(predict)
        )


def test_warm_start_and_max_time(four):
    X, y = four
    model = SVC(warm_start=True, gamma=0.5).fit(X, y)
    steps = sum(c.n_pair_steps for c in model.certificates_)
    model.fit(X, y)
    assert sum(c.n_pair_steps for c in model.certificates_) < steps
    cold = SVC(C=10.0, gamma=0.5).fit(X, y)
    model.set_params(C=10.0).fit(X, y)
    np.testing.assert_allclose(model.intercept_, cold.intercept_, atol=1e-6)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        stopped = SVC(max_time=1e-9).fit(X, y)
    assert stopped.predict(X).shape == y.shape
    assert {c.status for c in stopped.certificates_} == {"max_time"}


def test_callback_counts_pairs_and_stops(rng):
    X, y = load_digits(return_X_y=True)
    # noise makes nearly all points support vectors, and the fit long enough to be met at work
    many = np.tile(X, (8, 1)) + 8 * rng.normal(size=(8 * len(X), X.shape[1]))
    records = []

    def stop(record):
        records.append(record)
        return True

    with pytest.warns(ConvergenceWarning, match="callback"):
        model = SVC(callback=stop, n_jobs=2, C=1e3, gamma=1e-4, tol=1e-12).fit(many, np.tile(y, 8))
    assert len(records) == 1
    assert records[0]["n_problems"] == 45
    assert 0 <= records[0]["n_solved"] <= 45
    assert any(c.status == "stopped" for c in model.certificates_)
    assert model.predict(X[:5]).shape == (5,)


def test_many_classes_of_few_points(rng):
    y = np.arange(600) % 200
    X = 30.0 * rng.uniform(size=(200, 3))[y] + 0.1 * rng.normal(size=(600, 3))
    model = SVC(gamma=0.05, C=100.0).fit(X, y)
    assert model.dual_coef_.shape[0] == 199
    assert len(model.certificates_) == 199 * 100
    assert model.fit_status_ == 0
    assert model.certificate_.relative_gap < 1e-8
    theirs = sklearn.svm.SVC(gamma=0.05, C=100.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-3)
    assert (model.predict(X) == theirs.predict(X)).mean() > 0.99


def test_probabilities_by_calibration():
    X, y = load_iris(return_X_y=True)
    model = CalibratedClassifierCV(SVC(), ensemble=False, cv=3).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities.argmax(axis=1) == y).mean() > 0.9
