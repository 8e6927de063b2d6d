"""LinearSVC and LinearSVR: forms of the data, other libraries' models, arguments, partial fits."""

import pickle
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as ReferenceSVC
from sklearn.svm import LinearSVR as ReferenceSVR

from exactsvm import SVC, LinearSVC, LinearSVR
from generators import clouds
from linear_problems import primal


def test_the_kernel_estimator_has_the_same_optimum(rng):
    X, y = clouds(200)
    a = LinearSVC(loss="hinge", C=3.0, tol=1e-11).fit(X, y)
    b = SVC(kernel="linear", C=3.0).fit(X, y)
    assert a.certificate_.primal_objective == pytest.approx(
        b.certificate_.primal_objective, rel=1e-9
    )
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_penalised_intercept_is_the_other_librarys_model(loss):
    X, y = clouds(200)
    model = LinearSVC(loss=loss, intercept_scaling=2.0, tol=1e-10).fit(X, y)
    other = ReferenceSVC(loss=loss, intercept_scaling=2.0, tol=1e-9, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regression_against_the_other_library(loss, rng):
    X = rng.standard_normal((150, 4))
    y = X @ [1.0, -2.0, 0.0, 3.0] + 5.0 + 0.3 * rng.standard_normal(150)
    options = dict(loss=loss, epsilon=0.1, C=2.0, intercept_scaling=1.0)
    model = LinearSVR(tol=1e-10, **options).fit(X, y)
    other = ReferenceSVR(tol=1e-9, max_iter=10**6, **options).fit(X, y)
    squared = loss.startswith("squared")
    u = np.full(len(y), 2.0)
    value, theirs = (
        primal(X, y, m.coef_, float(m.intercept_[0]), u, squared=squared, epsilon=0.1, scaling=1.0)
        for m in (model, other)
    )
    assert value <= theirs * (1 + 1e-9)
    assert model.certificate_.primal_objective == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-3)


def forms(X):
    """X in every form that is used without a copy."""
    sparse = sp.csr_matrix(X)
    backwards = sparse.copy()
    for a, b in zip(sparse.indptr, sparse.indptr[1:], strict=False):
        backwards.indices[a:b] = sparse.indices[a:b][::-1]
        backwards.data[a:b] = sparse.data[a:b][::-1]
    backwards.has_sorted_indices = False
    long = sparse.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    yield from (X, X.astype(np.float32), sparse, sparse.astype(np.float32), backwards, long)


@pytest.mark.parametrize("solver", ["ipm", "dcd", "gd"])
def test_every_form_of_the_samples_is_one_problem_and_stays_as_it_was(solver):
    X, y = clouds(120)
    X = np.round(X * 16) / 16
    values = []
    for form in forms(X):
        parts = [form.data, form.indices, form.indptr] if sp.issparse(form) else [form]
        before = [p.copy() for p in parts]
        for part in parts:
            part.flags.writeable = False
        model = LinearSVC(loss="hinge", solver=solver).fit(form, y)
        values.append(model.certificate_.primal_objective)
        for part, kept in zip(parts, before, strict=True):
            np.testing.assert_array_equal(part, kept)
        assert model.predict(form).shape == (120,)
    np.testing.assert_allclose(values, values[0], rtol=2e-6)


def test_results_do_not_depend_on_the_number_of_threads():
    X, y = clouds(3000, n_features=20)
    labels = np.random.default_rng(0).integers(0, 4, 3000)
    for target in (y, labels):
        for solver in ("ipm", "dcd", "gd", "sgd"):
            options = dict(loss="hinge", solver=solver, max_iter=8, tol=1e-12, random_state=5)
            models = [LinearSVC(n_jobs=k, **options) for k in (1, 2, 2)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                for model in models:
                    model.fit(X, target)
            for model in models[1:]:
                np.testing.assert_array_equal(model.coef_, models[0].coef_)
                np.testing.assert_array_equal(model.intercept_, models[0].intercept_)


def test_fits_from_many_threads_at_once_are_what_they_are_alone():
    X, y = clouds(800)
    alone = LinearSVC(loss="hinge", C=1.0).fit(X, y)
    models = [LinearSVC(loss="hinge", C=1.0, n_jobs=2) for _ in range(8)]
    threads = [threading.Thread(target=m.fit, args=(X, y)) for m in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_many_classes_are_one_against_the_rest(rng):
    X = rng.standard_normal((200, 4))
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    model = LinearSVC(loss="hinge", class_weight="balanced", tol=1e-9).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert len(model.certificates_) == 3
    assert model.certificate_ is max(model.certificates_, key=lambda c: c.relative_gap)
    counts = np.array([(y == label).sum() for label in model.classes_])
    for c, label in enumerate(model.classes_):
        u = (len(y) / (3 * counts))[np.searchsorted(model.classes_, y)]
        alone = LinearSVC(loss="hinge", tol=1e-9).fit(X, y == label, sample_weight=u)
        np.testing.assert_allclose(model.coef_[c], alone.coef_[0], atol=1e-6)
    assert model.score(X, y) > 0.8


def test_weights_are_repetitions_and_zeros_are_absence(rng):
    X, y = clouds(100)
    weights = rng.integers(0, 4, 100).astype(float)
    a = LinearSVC(loss="hinge", tol=1e-10).fit(X, y, weights)
    again = np.repeat(np.arange(100), weights.astype(int))
    b = LinearSVC(loss="hinge", tol=1e-10).fit(X[again], y[again])
    assert a.certificate_.dual_objective == pytest.approx(b.certificate_.dual_objective, rel=1e-9)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["auto", "ipm"])
@pytest.mark.parametrize(
    ("seed", "n", "d", "C"), [(0, 10_000, 5, 1e3), (1, 10_000, 5, 1e6), (2, 3000, 2, 1e6)]
)
def test_classes_that_hardly_overlap(seed, n, d, C, solver, loss):
    """Weights grow by hundreds, and D comes up to zero from far below, before the gap can close."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    score = X @ random.standard_normal(d) + 1e-3 * random.standard_normal(n)
    y = score > np.quantile(score, 0.33)
    model = LinearSVC(solver=solver, loss=loss, C=C).fit(X, y)  # a warning would be an error
    exact = LinearSVC(solver="cmu", loss=loss, C=C).fit(X, y).certificate_
    value = model.certificate_.primal_objective
    assert model.certificate_.status == "optimal"
    room = exact.precision_floor * exact.primal_objective
    assert exact.dual_objective - room <= value <= exact.primal_objective * (1.0 + model.tol)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_two_equal_rows_of_two_classes(C):
    """Slopes that are all equal are not all zero."""
    X, y = [[3.0, 0.75, 0.94]] * 2, [0, 1]
    model = LinearSVC(loss="hinge", solver="dcd", C=C, fit_intercept=False).fit(X, y)
    assert model.certificate_.dual_objective == pytest.approx(2.0 * C, rel=1e-6)


class TestPartialFit:
    def test_epochs_approach_the_optimum(self):
        X, y = clouds(400)
        optimum = LinearSVC(loss="hinge", C=0.01).fit(X, y).certificate_.primal_objective
        model = LinearSVC(loss="hinge", C=0.01)
        for _ in range(300):
            model.partial_fit(X, y, classes=[-1, 1])
        u = np.full(400, 0.01)
        value = primal(X, y, model.coef_[0], model.intercept_[0], u)
        assert optimum <= value * (1 + 1e-6)
        assert value <= 1.02 * optimum
        assert model.t_ == 300 * 400

    def test_the_first_call_needs_classes_and_they_stay(self):
        X, y = clouds(50)
        model = LinearSVC()
        with pytest.raises(ValueError, match="classes must be given in the first call"):
            model.partial_fit(X, y)
        with pytest.raises(ValueError, match="classes must hold at least two labels"):
            model.partial_fit(X, y, classes=[1])
        model.partial_fit(X, y, classes=[-1, 1])
        model.partial_fit(X, y)
        with pytest.raises(ValueError, match="classes must be those of the first call"):
            model.partial_fit(X, y, classes=[-1, 2])

    def test_unseen_labels_are_refused_and_change_nothing(self):
        X, y = clouds(50)
        model = LinearSVC().partial_fit(X, y, classes=[-1, 1])
        before = model.coef_.copy()
        with pytest.raises(ValueError, match=r"labels of classes only; got \[7"):
            model.partial_fit(X, np.where(y > 0, 7, -1))
        np.testing.assert_array_equal(model.coef_, before)

    def test_a_batch_of_one_class_moves_towards_it(self):
        X, y = clouds(60)
        model = LinearSVC(loss="hinge").partial_fit(X, y, classes=[-1, 1])
        before = model.decision_function(X).mean()
        for _ in range(20):
            model.partial_fit(X[y > 0], y[y > 0])
        assert model.decision_function(X).mean() > before

    def test_a_batch_of_zero_weight_changes_nothing(self):
        X, y = clouds(60)
        model = LinearSVC().partial_fit(X, y, classes=[-1, 1])
        before, seen = pickle.dumps((model.coef_, model.intercept_)), model.t_
        model.partial_fit(X, y, sample_weight=np.zeros(60))
        assert pickle.dumps((model.coef_, model.intercept_)) == before
        assert model.t_ == seen
        fresh = LinearSVC().partial_fit(X, y, classes=[-1, 1], sample_weight=np.zeros(60))
        assert not fresh.coef_.any()

    def test_three_classes_of_which_a_batch_lacks_one(self, rng):
        X, y = clouds(60)
        model = LinearSVC().partial_fit(X, y, classes=[-1, 1, 5])
        assert model.coef_.shape == (3, 8)
        assert np.isfinite(model.coef_).all()

    def test_balanced_classes_are_refused(self):
        X, y = clouds(20)
        with pytest.raises(ValueError, match="class_weight='balanced'"):
            LinearSVC(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])


BAD = {
    "C": [0.0, -1.0, np.nan, np.inf, "1"],
    "loss": ["log", 3],
    "penalty": ["l1", "none"],
    "multi_class": ["crammer_singer", "ovo"],
    "tol": [0.0, -1e-3, np.nan, "tight"],
    "max_iter": [0, -2, 1.5],
    "max_time": [0.0, -1.0, "long"],
    "fit_intercept": [1, "yes"],
    "intercept_scaling": [0.0, -1.0, np.inf, "one"],
    "dual": ["always", 3],
    "solver": ["liblinear", 7],
    "learning_rate": ["adaptive", 1],
    "eta0": [-1.0, np.nan, "small"],
    "power_t": [np.nan, "half"],
    "average": [10, "yes"],
    "early_stopping": [1],
    "warm_start": [1],
    "verbose": [-1, "loud"],
    "callback": [3],
    "n_jobs": [0, 1.5],
    "random_state": ["seed"],
    "class_weight": ["fair", {1: -1.0}],
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, values in BAD.items() for v in values])
def test_bad_parameters_are_named_before_any_work(name, value):
    X, y = clouds(20)
    model = LinearSVC(**{name: value})
    shown = "seed" if name == "random_state" else name
    with pytest.raises((ValueError, TypeError), match=shown):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (np.where(X > 2, np.nan, X), y, None), "NaN"),
        (lambda X, y: (X, np.ones(len(y)), None), "two classes or more; got 1 class"),
        (lambda X, y: (X, y, -np.ones(len(y))), "sample_weight must not be negative"),
        (lambda X, y: (X, y, np.zeros(len(y))), "sample_weight must not be zero everywhere"),
        (lambda X, y: (X, y, np.ones(3)), "sample_weight must have shape"),
        (lambda X, y: (X, y, np.full(len(y), 1e-320)), "too small"),
        (lambda X, y: (X[:-1], y, None), "inconsistent"),
    ],
)
def test_bad_data_are_named(change, message):
    X, y, weights = change(*clouds(100))
    with pytest.raises(ValueError, match=message):
        LinearSVC(C=1e-10).fit(X, y, weights)


def test_a_schedule_without_a_step_is_refused():
    X, y = clouds(20)
    with pytest.raises(ValueError, match="eta0"):
        LinearSVC(solver="sgd", learning_rate="constant").fit(X, y)


def test_a_callback_sees_progress_and_stops_the_run():
    X, y = clouds(2000, n_features=30)
    records = []

    def stop(record):
        records.append(record)
        return len(records) == 2

    model = LinearSVC(loss="hinge", C=1e4, solver="sgd", tol=1e-12, callback=stop)
    with pytest.warns(ConvergenceWarning, match="the callback asked to stop"):
        model.fit(X, y)
    assert len(records) == 2
    assert model.certificate_.status == "stopped"
    assert records[-1]["n_iter"] >= 1

    def fail(record):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        model.set_params(callback=fail).fit(X, y)
    labels = np.random.default_rng(0).integers(0, 3, 2000)
    with pytest.raises(RuntimeError, match="from the callback"):
        model.fit(X, labels)


@pytest.mark.parametrize("solver", ["ipm", "dcd", "gd", "sgd"])
def test_a_warm_start_begins_at_the_last_weights(solver):
    X, y = clouds(500)
    model = LinearSVC(loss="hinge", warm_start=True, tol=1e-8).fit(X, y)
    least = model.certificate_.primal_objective
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.set_params(solver=solver, max_iter=1, tol=1e-13).fit(X, y)
    # The best weights are kept, so one step cannot lose what was there.
    assert model.certificate_.primal_objective <= least * (1 + 1e-12)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        cold = model.set_params(warm_start=False).fit(X, y)
    assert cold.certificate_.primal_objective > least * (1 + 1e-6)


@pytest.mark.parametrize("seed", [-1, "one", 2**32])
def test_random_state_is_named(seed):
    X, y = clouds(40)
    with pytest.raises(ValueError, match="random_state must be None, an integer from 0"):
        LinearSVC(random_state=seed).fit(X, y)
