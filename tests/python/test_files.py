"""Models as files: our own, and LIBSVM's."""

import dataclasses
import io
import json
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import dump_svmlight_file, load_iris

from exactsvm import SVC, SVR, NuSVC, NuSVR, OneClassSVM, load, load_libsvm, save, save_libsvm
from exactsvm.exceptions import NotFittedError
from reference import DATA

MODELS = [
    SVC(gamma=0.5),
    SVC(kernel="linear", class_weight={0: 2.0}),
    SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.3),
    SVC(kernel="sigmoid", gamma=0.01),
    NuSVC(nu=0.4),
    SVR(C=np.inf, epsilon=2.0, kernel="rbf", gamma=0.7),
    NuSVR(nu=0.3),
    OneClassSVM(nu=0.2),
]


def trained(model, rng, n_classes=2):
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=60)).argsort().argsort() * n_classes // 60
    if isinstance(model, OneClassSVM):
        return model.fit(X), X
    return model.fit(X, X[:, 1] if "R" in type(model).__name__ else y), X


def function_of(model, X):
    return model.predict(X) if "R" in type(model).__name__ else model.decision_function(X)


@pytest.mark.filterwarnings("ignore:Not optimal")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.kernel}")
def test_saved_and_loaded(tmp_path, rng, model, n_classes):
    model, X = trained(model, rng, n_classes)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert type(again) is type(model)
    np.testing.assert_array_equal(function_of(again, X), function_of(model, X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == {**model.get_params(), "class_weight": None} or (
        again.get_params() == model.get_params()
    )
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("certificate"):
            np.testing.assert_equal(getattr(again, name), value, err_msg=name)
    assert repr(again.certificate_) == repr(model.certificate_)
    pairs = n_classes * (n_classes - 1) // 2 if hasattr(model, "classes_") else 1
    assert len(again.certificates_) == pairs
    assert [repr(c) for c in again.certificates_] == [repr(c) for c in model.certificates_]


def test_a_name_without_suffix(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SVR().fit(X, y)
    save(model, tmp_path / "model")
    for name in ("model", "model.npz"):
        np.testing.assert_array_equal(load(str(tmp_path / name)).predict(X), model.predict(X))
    with pytest.raises(FileNotFoundError, match="other"):
        load(tmp_path / "other")


def test_files_of_schema_1_are_read():
    """Written when of several certificates only the one with the largest gap was kept."""
    X, y = load_iris(return_X_y=True)
    model = load(DATA / "models" / "schema1.npz")
    again = SVC(gamma=0.5, C=2.0).fit(X, np.array(["a", "b", "c"])[y])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-9)
    assert model.certificates_ == (model.certificate_,)
    assert model.certificate_.status == "optimal"


def test_sparse_names_and_words(tmp_path, rng):
    pandas = pytest.importorskip("pandas")
    X, y = rng.normal(size=(40, 3)), np.array(["no", "yes"], object)[np.arange(40) % 2]
    for data in (pandas.DataFrame(X, columns=list("abc")), scipy.sparse.csr_matrix(X)):
        model = SVC().fit(data, y)
        save(model, tmp_path / "model.npz")
        again = load(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.predict(data), model.predict(data))
        assert again.predict(data).dtype == object
        assert type(again.support_vectors_) is type(model.support_vectors_)
        assert hasattr(again, "feature_names_in_") == hasattr(model, "feature_names_in_")


def saved(rng, n_classes=2, **changes):
    """Bytes of a saved model with some arrays exchanged."""
    model, _ = trained(SVC(), rng, n_classes)
    file = io.BytesIO()
    save(model, file)
    arrays = dict(np.load(io.BytesIO(file.getvalue())))
    file = io.BytesIO()
    np.savez(file, **{**arrays, **{k: v(arrays[k]) for k, v in changes.items()}})
    return file.getvalue()


def header(**changes):
    def change(array):
        text = json.dumps({**json.loads(array.tobytes()), **changes})
        return np.frombuffer(text.encode(), np.uint8)

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"header": header(schema=99)},
        {"header": header(format="other")},
        {"header": header(**{"class": "os.system"})},
        {"header": header(parameters={"C": -1.0})},
        {"header": header(parameters={"C": 1.0, "__class__": 3})},
        {"header": header(gamma=-1.0)},
        {"header": header(shape_fit=[5, 4])},
        {"header": lambda a: a[:-3]},
        {"support": lambda a: a + 1000},
        {"support": lambda a: a.astype(float)},
        {"support": lambda a: a[:-1]},
        {"dual_coef": lambda a: a[:, :-1]},
        {"dual_coef": lambda a: a * np.nan},
        {"vectors": lambda a: a[:, :-1]},
        {"vectors": lambda a: a.astype(object)},
        {"intercept": lambda a: np.append(a, 0.0)},
        {"n_support": lambda a: a + 1},
        {"classes": lambda a: a * 0},
    ],
)
def test_damaged_files_are_refused(rng, changes):
    with pytest.raises(ValueError, match=r"not valid|not a model|pickle|must be"):
        load(io.BytesIO(saved(rng, **changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"header": header(phases=["kernel"])},
        {"header": header(phases=None)},
        {"certificate_status": lambda a: a[:-1]},
        {"certificate_status": lambda a: np.arange(len(a))},
        {"certificate_seconds": lambda a: a[:, 1:]},
        {"certificate_bias_interval": lambda a: a[:, :, :1]},
        {"certificate_n_free": lambda a: a.astype(float)},
    ],
)
def test_damaged_certificates_are_refused(rng, changes):
    with pytest.raises(ValueError, match=r"not valid|not a model"):
        load(io.BytesIO(saved(rng, n_classes=3, **changes)))


def test_no_bombs_no_strangers(rng, tmp_path):
    data = saved(rng)
    bomb = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as given,
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in given.namelist():
            packed.writestr(name, given.read(name))
    with pytest.raises(ValueError, match="compression"):
        load(io.BytesIO(bomb.getvalue()))
    with pytest.raises(ValueError, match="not a model"):
        load(io.BytesIO(b"no archive"))
    with pytest.raises(ValueError, match="callable"):
        save(SVC(kernel=lambda A, B: A @ B.T).fit([[0.0], [1.0]], [0, 1]), tmp_path / "a.npz")
    with pytest.raises(TypeError, match="model must be one of"):
        save(object(), tmp_path / "a.npz")
    with pytest.raises(ValueError, match="fitted"):
        save(SVC(), tmp_path / "a.npz")


@pytest.mark.filterwarnings("ignore:Not optimal")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.kernel}")
def test_libsvm_format_loses_nothing(tmp_path, rng, model, n_classes):
    model, X = trained(model, rng, n_classes)
    save_libsvm(model, tmp_path / "model")
    again = load_libsvm(tmp_path / "model", n_features=4)
    values = function_of(model, X)
    if isinstance(model, OneClassSVM):  # how wide its border is, is in the certificate
        np.testing.assert_allclose(function_of(again, X), values, atol=1e-13)
    else:
        np.testing.assert_array_equal(function_of(again, X), values)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)


needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-train") is None, reason="svm-train and svm-predict are not installed"
)


@needs_libsvm
@pytest.mark.filterwarnings("ignore:Not optimal")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.kernel}")
def test_svm_predict_reads_ours(tmp_path, rng, model, n_classes):
    model, X = trained(model, rng, n_classes)
    save_libsvm(model, tmp_path / "model")
    dump_svmlight_file(X, np.zeros(len(X)), str(tmp_path / "data"), zero_based=False)
    files = [str(tmp_path / name) for name in ("data", "model", "out")]
    subprocess.run(["svm-predict", *files], check=True, capture_output=True)
    theirs = np.loadtxt(files[2])
    if "R" in type(model).__name__:
        np.testing.assert_allclose(theirs, model.predict(X), rtol=1e-5, atol=1e-5)
    else:  # it prints what it decides, and rounding decides on the border
        clear = np.abs(np.atleast_2d(model.decision_function(X).T)).min(axis=0) > 1e-9
        np.testing.assert_array_equal(theirs[clear], model.predict(X)[clear])


@needs_libsvm
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("kernel", [0, 1, 2])
def test_we_read_theirs(tmp_path, rng, kind, kernel, n_classes):
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=60)).argsort().argsort() * n_classes // 60
    y = np.array([7, -2, 3, 0])[y]  # not in order
    dump_svmlight_file(X, X[:, 1] if kind > 2 else y, str(tmp_path / "data"), zero_based=False)
    data, model, out = (str(tmp_path / name) for name in ("data", "model", "out"))
    options = ["-s", str(kind), "-t", str(kernel), "-g", "0.4", "-r", "1", "-n", "0.3", "-q"]
    subprocess.run(["svm-train", *options, data, model], check=True, capture_output=True)
    subprocess.run(["svm-predict", data, model, out], check=True, capture_output=True)
    ours = load_libsvm(model).predict(X)
    theirs = np.loadtxt(out)
    assert (np.abs(ours - theirs) > 1e-4 * np.abs(theirs).max()).mean() < 0.02


@pytest.mark.parametrize(
    "text",
    ["", "svm_type c_svc\nSV\n", "svm_type x\nkernel_type rbf\nSV\n", "import os\n"],
)
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "model").write_text(text)
    with pytest.raises(ValueError, match=r"not a model of LIBSVM|no line 'SV'"):
        load_libsvm(tmp_path / "model")


def test_what_libsvm_lacks_is_refused(tmp_path):
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(ValueError, match="kernel must be one of LIBSVM's"):
        save_libsvm(SVC(kernel="laplacian").fit(X, y), tmp_path / "m")
    with pytest.raises(ValueError, match="classes_ must be integers"):
        save_libsvm(SVC().fit(X, ["a", "b"]), tmp_path / "m")
    with pytest.raises(NotFittedError):
        save_libsvm(SVC(), tmp_path / "m")


@pytest.mark.filterwarnings("ignore:Not optimal")
def test_certificates_of_which_nothing_is_known_stay_equal(tmp_path, rng):
    X = rng.normal(size=(60, 4))
    stationary = NuSVC(kernel="sigmoid", gamma=0.3).fit(X, rng.integers(0, 2, 60))
    stopped = NuSVC(max_time=1e-9).fit(X, np.arange(60) % 3)
    for model in (stationary, stopped):
        assert np.isnan(model.certificate_.relative_gap)
        save(model, tmp_path / "model.npz")
        again = load(tmp_path / "model.npz")
        assert again.certificate_ == model.certificate_
        assert list(again.certificates_) == list(model.certificates_)
    assert stationary.certificate_ != stopped.certificate_
    changed = dataclasses.replace(stopped.certificate_, dual_objective=0.0)
    assert changed != stopped.certificate_
    assert changed != 0.0
