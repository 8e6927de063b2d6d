"""Models as ONNX graphs: the same labels and values, in the precision that is promised."""

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactsvm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from exactsvm.onnx import register
from generators import clouds, three_clusters
from real_data import load

KERNELS = ["linear", "poly", "rbf", "sigmoid", "laplacian"]
MODELS = {
    "SVC": SVC(C=3.0),
    "NuSVC": NuSVC(nu=0.4),
    "SVR": SVR(C=2.0),
    "NuSVR": NuSVR(),
    "OneClassSVM": OneClassSVM(nu=0.3),
}
LINEAR = [LinearSVC(), LinearSVC(loss="hinge", C=0.1), LinearSVR(C=0.1)]


@pytest.fixture(scope="module")
def converters():
    """skl2onnx that knows our estimators, and the runtime."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    register()
    return skl2onnx, runtime


@pytest.fixture
def run(converters):
    """Convert a fitted model for rows like X, run it on them, return its outputs by name."""
    skl2onnx, runtime = converters

    def run(model, X, **options):
        graph = skl2onnx.to_onnx(model, X[:1], **options)
        session = runtime.InferenceSession(graph.SerializeToString())
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, {"X": X}), strict=True))

    return run


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # sigmoid
        return model.fit(X) if isinstance(model, OneClassSVM) else model.fit(X, y)


def check(outputs, model, X, allowed):
    """Labels equal, values within `allowed` of the largest."""
    if "variable" in outputs:
        expected, values = model.predict(X)[:, None], outputs["variable"]
    else:
        np.testing.assert_array_equal(outputs["label"], model.predict(X))
        expected, values = model.decision_function(X), outputs["scores"]
        if expected.ndim == 1 and values.ndim == 2:
            expected = np.column_stack([-expected, expected])
    assert values.dtype == X.dtype
    assert values.shape == expected.shape
    scale = np.abs(expected).max()
    np.testing.assert_allclose(values, expected, rtol=0, atol=allowed * scale)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MODELS)
def test_kernel_models(run, name, kernel):
    data = "winequality600" if "R" in name else "ionosphere"
    X, y = load(data)
    model = type(MODELS[name])(**MODELS[name].get_params()).set_params(
        kernel=kernel, gamma=1 / X.shape[1], degree=2, coef0=0.5
    )
    fitted(model, X[:300], y[:300])
    check(run(model, X), model, X, 1e-12)
    single = X.astype(np.float32)
    check(run(model, single), model, single, 1e-7)


@pytest.mark.parametrize("model", LINEAR, ids=lambda m: f"{type(m).__name__}-{m.loss}")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_models(run, model, n_classes):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if n_classes == 2:
        y = y == 1  # booleans
    model.fit(X, y)
    check(run(model, X), model, X, 1e-12)
    single = X.astype(np.float32)
    check(run(model, single), model, single, 1e-7)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize(
    "shape",
    [
        {"decision_function_shape": "ovr"},
        {"decision_function_shape": "ovo"},
        {"break_ties": True},
    ],
    ids=["ovr", "ovo", "ties"],
)
def test_many_classes(run, cls, kernel, shape):
    X, y = load("letter800")
    own = {"nu": 0.2} if cls is NuSVC else {"C": 10.0}
    words = np.array([chr(97 + int(c)) for c in y])
    model = cls(kernel=kernel, gamma=0.05, **own, **shape).fit(X, words)
    check(run(model, X), model, X, 1e-12)
    check(run(model, X.astype(np.float32)), model, X.astype(np.float32), 1e-7)


@pytest.mark.parametrize("lost", [[(0, 1)], [(0, 2), (1, 3)], [(0, 3), (1, 3), (2, 3)], None])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_pairs_without_support_vectors(run, rng, kernel, lost, shape):
    """A pair that has no time keeps its start, here zero; its constant value is a tie."""
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 4
    model = SVC(C=3.0, kernel=kernel, warm_start=True, decision_function_shape=shape).fit(X, y)
    classes = y[model.support_]
    for a, b in lost or zip(*np.triu_indices(4, 1), strict=True):
        model.dual_coef_[b - 1, classes == a] = 0.0
        model.dual_coef_[a, classes == b] = 0.0
    fitted(model.set_params(max_time=1e-9), X, y)
    # What was lost: all of a class for the third, all of the model for the last.
    expected = {None: 0, 3: 3}.get(lost and len(lost), 4)
    assert np.count_nonzero(model.n_support_) == expected
    blocks = np.split(model.dual_coef_, np.cumsum(model.n_support_)[:-1], axis=1)
    empty = sum(not row.any() for block in blocks for row in block)
    assert empty == (12 if lost is None else 2 * len(lost))
    new = rng.normal(size=(300, 3))
    check(run(model, new), model, new, 1e-12)
    check(run(model, new.astype(np.float32)), model, new.astype(np.float32), 1e-7)


def test_ties_of_votes_go_to_the_first(run, rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    new = rng.normal(size=(2000, 2))
    by_votes = SVC(gamma=2.0).fit(X, y)
    by_value = SVC(gamma=2.0, break_ties=True).fit(X, y)
    assert (by_votes.predict(new) != by_value.predict(new)).any()
    for model in (by_votes, by_value):
        check(run(model, new), model, new, 1e-12)


def test_far_from_the_origin(run):
    """Squared distances about an origin amid the data: about 0, they would have no digit left."""
    X, y = clouds(200)
    X = np.round(X * 1024) / 1024 + 2.0**23
    for kernel in ("rbf", "laplacian"):
        model = SVC(kernel=kernel, gamma=0.1).fit(X, y)
        check(run(model, X), model, X, 1e-12)
    model = SVC(kernel="linear").fit(X, y)
    near = X - 2.0**23  # w'x loses digits, but no more than x'w and b have
    allowed = 8 * np.finfo(float).eps * np.abs(model.coef_).sum() * 2.0**23
    scores = run(model, X)["scores"][:, 1]
    assert allowed < 1e-6 * np.abs(near @ model.coef_[0]).max()
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=0, atol=allowed)


def test_border_of_the_region(run):
    X, _ = load("heart")
    model = OneClassSVM(nu=0.3).fit(X)
    outputs = run(model, X)
    assert ((outputs["scores"] == 0.0) == (model.decision_function(X) == 0.0)).all()
    assert (outputs["scores"] == 0.0).any()


def test_in_pipelines_and_searches(run):
    X, y = load_wine(return_X_y=True)  # raw units, up to 1,680
    pipeline = make_pipeline(StandardScaler(), SVC(C=5.0)).fit(X, y)
    check(run(pipeline, X), pipeline, X, 1e-12)
    # The scaler of skl2onnx works in the precision of its input.
    single = X.astype(np.float32)
    scores = run(pipeline, single)["scores"]
    np.testing.assert_allclose(scores, pipeline.decision_function(single), rtol=0, atol=1e-5)
    search = GridSearchCV(pipeline, {"svc__C": [1.0, 5.0]}, cv=2).fit(X, y)
    check(run(search, X), search, X, 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_calibration(run, n_classes):
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.minimum(y, n_classes - 1)
    model = CalibratedClassifierCV(SVC(), ensemble=False, cv=3).fit(X, y)
    outputs = run(model, X, options={"zipmap": False})
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(X), atol=1e-12)


def test_forms_of_data(converters, run, rng):
    pandas = pytest.importorskip("pandas")
    X, y = load("heart")
    model = SVC(gamma=0.1).fit(scipy.sparse.csr_array(X), y)
    check(run(model, X), model, X, 1e-12)

    K = X @ X.T
    model = SVC(kernel="precomputed").fit(K, y)
    check(run(model, K), model, K, 1e-12)

    frame = pandas.DataFrame(X[:, :3], columns=list("abc"))
    model = SVR(gamma=0.1).fit(frame, y)
    skl2onnx, runtime = converters
    graph = skl2onnx.to_onnx(model, frame[:1])
    session = runtime.InferenceSession(graph.SerializeToString())
    values = session.run(None, {name: frame[[name]].to_numpy() for name in frame})[0]
    np.testing.assert_allclose(values[:, 0], model.predict(frame), atol=1e-12)

    constant = SVR().fit(X, np.full(len(X), 2.0))  # no support vector
    assert len(constant.support_) == 0
    np.testing.assert_allclose(run(constant, X)["variable"], 2.0)


def test_what_cannot_be_converted(run, monkeypatch):
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    with pytest.raises(ValueError, match="kernel is a callable"):
        run(SVC(kernel=lambda A, B: A @ B.T).fit(X, y), X)
    with pytest.raises(ValueError, match="target_opset must be at least 13"):
        run(SVC().fit(X, y), X, target_opset=12)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"needs skl2onnx; pip install exactsvm\[onnx\]"):
        register()


@pytest.mark.parametrize("spread", [1e3, 1e7])
def test_points_far_apart(run, spread):
    X, y = three_clusters(spread)
    model = SVR(gamma=0.5).fit(X, y)
    values = next(iter(run(model, X).values())).ravel()
    assert np.abs(values - model.predict(X)).max() < 1e-12 * np.abs(values).max()


def test_precomputed_without_support_vectors(run):
    K = np.eye(12)
    model = SVR(kernel="precomputed").fit(K, np.full(12, 2.0))
    assert len(model.support_) == 0
    np.testing.assert_allclose(next(iter(run(model, K).values())).ravel(), 2.0)
