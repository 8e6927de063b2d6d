"""scikit-learn's habits that its conformance suite does not check, for every estimator."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactsvm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

ESTIMATORS = [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM(nu=0.2)]
IDS = [type(e).__name__ for e in ESTIMATORS]


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=IDS)
def test_frames_of_any_make(iris, estimator):
    X, y = iris
    plain = clone(estimator).fit(X, y).predict(X)
    for name in ("pandas", "polars"):
        library = pytest.importorskip(name)
        frame = library.DataFrame(dict(zip("abcd", X.T, strict=True)))
        model = clone(estimator).fit(frame, library.Series(y))
        assert model.feature_names_in_.tolist() == list("abcd")
        np.testing.assert_array_equal(model.predict(frame), plain)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=IDS)
def test_copies_are_equal(iris, estimator, tmp_path):
    X, y = iris
    model = clone(estimator).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    copies = [joblib.load(tmp_path / "model"), copy.deepcopy(model)]
    copies.append(pickle.loads(pickle.dumps(model)))
    for other in copies:
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.certificate_ == model.certificate_
        assert other.certificates_ == model.certificates_
    assert clone(model).get_params() == estimator.get_params()
    assert type(model).__name__ in model._repr_html_()


@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=IDS[:4])
def test_searches_and_pipelines(iris, estimator):
    X, y = iris
    order = np.random.default_rng(7).permutation(len(y))
    X, y = X[order], y[order]
    step = type(estimator).__name__.lower()
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    grid = {f"{step}__gamma": [0.01, 0.5], f"{step}__kernel": ["rbf", "linear"]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X, y)
    alone = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=IDS[:4])
def test_weights_are_routed(iris, estimator):
    X, y = iris
    weights = np.linspace(0.5, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = clone(estimator).set_fit_request(sample_weight=True)
        search = GridSearchCV(inner.set_score_request(sample_weight=True), {"gamma": [0.5]}, cv=3)
        search.fit(X, y, sample_weight=weights)
    direct = clone(estimator).set_params(gamma=0.5).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.predict(X), direct.predict(X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=IDS)
def test_weights_that_cannot_be(iris, estimator):
    X, y = iris
    for weights, message in (
        (np.full(len(y), -1.0), "negative"),
        (np.zeros(len(y)), "zero everywhere"),
        (np.full(len(y), np.nan), "NaN"),
        (np.ones(3), "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, y, sample_weight=weights)


def test_detection_of_outliers(iris):
    X, _ = iris
    model = OneClassSVM(nu=0.2)
    labels = model.fit_predict(X)
    assert set(labels) == {-1, 1}
    np.testing.assert_array_equal(labels, np.where(model.decision_function(X) >= 0, 1, -1))
    np.testing.assert_allclose(
        model.score_samples(X) - model.offset_, model.decision_function(X), atol=1e-12
    )
