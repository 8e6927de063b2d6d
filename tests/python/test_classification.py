import numpy as np
import pytest
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from exactsvm import SVC, verify
from optimality import alpha_of, assert_model_optimal, kernel_matrix

# Six points in the plane, mirror images of one another in the origin.
SIX = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
SIX_LABELS = np.array([1, 1, 1, 2, 2, 2])

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
    {"kernel": "rbf", "gamma": 0.7},
    {"kernel": "laplacian", "gamma": 0.3},
]


def test_six_points_by_hand():
    # The margin is set by (-1, -1) and (1, 1): w = (1/2, 1/2), b = 0, both coefficients 1/4.
    model = SVC(kernel="linear").fit(SIX, SIX_LABELS)
    np.testing.assert_array_equal(model.support_, [1, 3])
    np.testing.assert_allclose(model.dual_coef_, [[-0.25, 0.25]], rtol=1e-12)
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, [0.0], atol=1e-12)
    np.testing.assert_array_equal(model.predict([[-1, -1], [2, 2], [3, 2]]), [1, 2, 2])
    assert model.certificate_.dual_objective == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_optimal(blobs, kernel, C):
    X, y = blobs
    model = SVC(C=C, **kernel).fit(X, y)
    alpha = assert_model_optimal(model, X, y, **kernel)
    assert model.fit_status_ == 0
    certificate = model.certificate_
    assert certificate.is_optimal
    assert certificate.kkt_violation <= max(1e-8, certificate.precision_floor)
    assert certificate.n_bounded == (alpha == C).sum()
    assert certificate.n_free == ((alpha > 0) & (alpha < C)).sum()


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda k: k["kernel"])
def test_agrees_with_sklearn(blobs, kernel):
    # LIBSVM keeps kernel values in single precision.
    X, y = blobs
    ours = SVC(**kernel).fit(X, y)
    theirs = sklearn.svm.SVC(tol=1e-10, **kernel).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    for name in ("support_", "n_support_", "n_iter_", "dual_coef_", "intercept_"):
        mine, his = getattr(ours, name), getattr(theirs, name)
        assert (mine.dtype, mine.shape) == (his.dtype, his.shape), name
    assert ours.shape_fit_ == theirs.shape_fit_


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.0])
def test_gamma(blobs, gamma):
    X, y = blobs
    number = {"scale": 1 / (3 * X.var()), "auto": 1 / 3}.get(gamma, gamma)
    model = SVC(gamma=gamma).fit(X, y)
    assert_model_optimal(model, X, y, kernel="rbf", gamma=number)


def test_scale_of_constant_data():
    model = SVC().fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert model._gamma == 1.0
    np.testing.assert_allclose(model.decision_function(np.ones((1, 2))), [0.0], atol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [[-1, 1], [3, 7], [0.0, 1.0], ["ham", "spam"], [False, True], np.array(["b", "ä"], object)],
    ids=["signs", "integers", "floats", "strings", "booleans", "objects"],
)
def test_labels_of_any_kind(blobs, labels):
    X, y = blobs
    labels = np.asarray(labels)
    model = SVC().fit(X, labels[y])
    reference = SVC().fit(X, y)
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), labels[reference.predict(X)])
    assert model.predict(X).dtype == labels.dtype


def test_exchanging_the_labels_changes_the_sign(blobs):
    X, y = blobs
    there, back = SVC().fit(X, y), SVC().fit(X, 1 - y)
    np.testing.assert_allclose(there.decision_function(X), -back.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
def test_decision_function_is_its_formula(blobs, rng, kernel):
    X, y = blobs
    new = rng.normal(size=(7, 3))
    model = SVC(**kernel).fit(X, y)
    formula = kernel_matrix(new, model.support_vectors_, **kernel) @ model.dual_coef_[0]
    values = model.decision_function(new)
    np.testing.assert_allclose(values, formula + model.intercept_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), (values > 0).astype(int))
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(values, new @ model.coef_[0] + model.intercept_, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
def test_precomputed_and_callable_equal_built_in(blobs, rng, kernel):
    X, y = blobs
    new = rng.normal(size=(7, 3))
    built_in = SVC(**kernel).fit(X, y)
    matrix = SVC(kernel="precomputed").fit(kernel_matrix(X, X, **kernel), y)
    function = SVC(kernel=lambda A, B: kernel_matrix(A, B, **kernel)).fit(X, y)
    values = built_in.decision_function(new)
    for other, data in ((matrix, kernel_matrix(new, X, **kernel)), (function, new)):
        np.testing.assert_array_equal(other.support_, built_in.support_)
        np.testing.assert_allclose(other.dual_coef_, built_in.dual_coef_, atol=1e-7)
        np.testing.assert_allclose(other.decision_function(data), values, atol=1e-7)
    assert matrix.support_vectors_.shape == (0, 0)
    assert_model_optimal(matrix, kernel_matrix(X, X, **kernel), y)


@given(seed=st.integers(0, 2**32 - 1), kernel=st.sampled_from(KERNELS))
def test_weights_equal_repeated_rows(seed, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    y = np.arange(20) % 2
    weights = rng.integers(0, 4, size=20)
    weights[:2] = 1
    weighted = SVC(C=0.8, **kernel).fit(X, y, sample_weight=weights)
    repeated = SVC(C=0.8, **kernel).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_model_optimal(weighted, X, y, weights, **kernel)
    assert weighted.certificate_.dual_objective == pytest.approx(
        repeated.certificate_.dual_objective, rel=1e-7
    )


def test_zero_weight_rows_are_absent(blobs):
    X, y = blobs
    absent = np.zeros(len(y), bool)
    absent[::4] = True
    # The absent rows may even be of a third class, and far away.
    labels, points = np.where(absent, 9, y), np.where(absent[:, None], 1e6, X)
    model = SVC().fit(points, labels, sample_weight=np.where(absent, 0.0, 1.0))
    without = SVC().fit(X[~absent], y[~absent])
    np.testing.assert_array_equal(model.support_, np.flatnonzero(~absent)[without.support_])
    np.testing.assert_array_equal(model.dual_coef_, without.dual_coef_)
    np.testing.assert_array_equal(model.support_vectors_, points[model.support_])
    assert model.shape_fit_ == X.shape

    K = kernel_matrix(X, X)
    matrix = SVC(kernel="precomputed").fit(K, y, sample_weight=np.where(absent, 0.0, 1.0))
    smaller = SVC(kernel="precomputed").fit(K[np.ix_(~absent, ~absent)], y[~absent])
    np.testing.assert_array_equal(
        matrix.decision_function(K), smaller.decision_function(K[:, ~absent])
    )


@pytest.mark.parametrize("class_weight", [{0: 2.5, 1: 0.5}, {1: 3}, "balanced"])
def test_class_weight(blobs, class_weight):
    X, y = blobs
    model = SVC(class_weight=class_weight, gamma=0.5).fit(X, y)
    expected = sklearn.svm.SVC(class_weight=class_weight, gamma=0.5).fit(X, y).class_weight_
    np.testing.assert_allclose(model.class_weight_, expected)
    assert_model_optimal(model, X, y, kernel="rbf", gamma=0.5)


def test_balanced_counts_sample_weights(blobs):
    X, y = blobs
    weights = np.arange(len(y)) % 3
    weighted = SVC(class_weight="balanced").fit(X, y, sample_weight=weights)
    repeated = SVC(class_weight="balanced").fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_allclose(weighted.class_weight_, repeated.class_weight_, rtol=1e-14)


def test_hard_margin():
    model = SVC(C=np.inf, kernel="linear").fit(SIX, SIX_LABELS)
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], rtol=1e-10)
    assert model.fit_status_ == 0
    weights = np.array([1.0, 1.0, 0.0, 1.0, 0.5, 2.0])
    model.fit(SIX, SIX_LABELS, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda k: k["kernel"])
def test_verify_judges_ours_and_sklearn(blobs, kernel):
    X, y = blobs
    weights = np.linspace(0.0, 2.0, len(y))
    setting = {"C": 2.0, "class_weight": {0: 1.5}, **kernel}
    ours = SVC(**setting).fit(X, y, sample_weight=weights)
    exact = verify(ours, X, y, sample_weight=weights)
    assert exact.relative_gap <= 1e-8
    assert exact.dual_objective == pytest.approx(ours.certificate_.dual_objective, rel=1e-12)

    rough = verify(sklearn.svm.SVC(tol=0.1, **setting).fit(X, y, weights), X, y, weights)
    fine = verify(sklearn.svm.SVC(tol=1e-9, **setting).fit(X, y, weights), X, y, weights)
    assert fine.dual_objective == pytest.approx(exact.dual_objective, rel=1e-6)
    assert rough.dual_objective <= exact.dual_objective * (1 + 1e-12)
    assert exact.primal_objective <= rough.primal_objective * (1 + 1e-12)
    assert rough.kkt_violation > 1e-3
    assert fine.kkt_violation < 1e-4  # LIBSVM keeps kernel values in single precision


def test_verify_precomputed_and_callable(blobs):
    X, y = blobs
    K = kernel_matrix(X, X)
    for model, data in (
        (SVC(kernel="precomputed"), K),
        (sklearn.svm.SVC(kernel="precomputed", tol=1e-9), K),
        (sklearn.svm.SVC(kernel=kernel_matrix, tol=1e-9), X),
    ):
        certificate = verify(model.fit(data, y), data, y)
        assert certificate.kkt_violation <= 1e-4
        assert certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("shift", [1.0, -1.0, np.nan])
def test_verify_sees_a_wrong_intercept(blobs, shift):
    X, y = blobs
    model = SVC().fit(X, y)
    model.intercept_ = model.intercept_ + shift
    assert verify(model, X, y).status == "unsolved"


def test_verify_sees_a_wrong_model(blobs):
    X, y = blobs
    model = SVC().fit(X, y)
    model.intercept_ = model.intercept_ + 0.5
    assert verify(model, X, y).relative_gap > 1e-3


@pytest.mark.parametrize("change", [{"C": 10.0}, {"C": 0.05}, {"tol": 1e-10}])
def test_warm_start_reaches_the_same_optimum(blobs, change):
    X, y = blobs
    setting = {"gamma": 0.5, "warm_start": True}
    model = SVC(**setting).fit(X, y).set_params(**change).fit(X, y)
    cold = SVC(**setting | change).fit(X, y)
    assert_model_optimal(model, X, y, kernel="rbf", gamma=0.5)
    assert model.certificate_.dual_objective == pytest.approx(
        cold.certificate_.dual_objective, rel=1e-9
    )


def test_warm_start_begins_at_the_solution(blobs):
    X, y = blobs
    model = SVC(warm_start=True).fit(X, y)
    cold = model.certificate_
    warm = model.fit(X, y).certificate_
    assert cold.n_pair_steps > 0
    assert warm.n_pair_steps < cold.n_pair_steps


def test_warm_start_with_other_labels_weights_and_rows(blobs, rng):
    X, y = blobs
    model = SVC(warm_start=True, gamma=0.5).fit(X, y)
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    assert_model_optimal(model.fit(X, y, weights), X, y, weights, kernel="rbf", gamma=0.5)
    flipped = np.where(rng.random(len(y)) < 0.3, 1 - y, y)
    assert_model_optimal(model.fit(X, flipped), X, flipped, kernel="rbf", gamma=0.5)
    assert_model_optimal(model.fit(X[:40], y[:40]), X[:40], y[:40], kernel="rbf", gamma=0.5)


def test_attributes_and_protocol(blobs):
    X, y = blobs
    model = SVC()
    with pytest.raises(NotFittedError):
        model.decision_function(X)
    assert not hasattr(model, "coef_")
    assert model.fit(X, y) is model
    assert not hasattr(model, "coef_")
    assert clone(model).get_params() == model.get_params()
    assert model.certificates_ == (model.certificate_,)
    assert model.n_iter_[0] == model.certificate_.n_cycles
    assert model.score(X, y) == (model.predict(X) == y).mean()
    assert len(cross_val_score(model, X, y, cv=3)) == 3
    assert "SVC" in model._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        SVC(kernel="linear").fit(X, y).coef_[0, 0] = 1.0


def test_feature_names(blobs):
    pandas = pytest.importorskip("pandas")
    X, y = blobs
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = SVC().fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), SVC().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


def test_result_does_not_depend_on_threads(blobs):
    X, y = blobs
    one, two = SVC(n_jobs=1).fit(X, y), SVC(n_jobs=2).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    np.testing.assert_array_equal(alpha_of(one, signs), alpha_of(two, signs))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_metadata_routing(blobs):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        request = SVC().set_fit_request(sample_weight=True).get_metadata_routing()
    assert request.fit.requests == {"sample_weight": True}
