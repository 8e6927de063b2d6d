"""Bad input: an error that names the argument, before any work."""

import numpy as np
import pytest
import scipy.sparse

import exactsvm._core as core
from exactsvm import SVC, pairwise_kernel, solve_dual, verify

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
Y = np.array([0, 0, 1, 1])
NAN, INF = float("nan"), float("inf")

BAD_PARAMETERS = {
    "C": [0.0, -1.0, NAN, -INF, "1", None, True, 10**400],
    "kernel": ["gauss", 3, None],
    "degree": [-1, 2.5, True, "3", 2**63],
    "gamma": ["big", -0.1, NAN, INF, None, True],
    "coef0": [NAN, INF, "0", False],
    "shrinking": [1, "yes"],
    "tol": [0.0, -1e-3, NAN, INF, "1e-3", True],
    "cache_size": [0, -5, INF, "1"],
    "class_weight": ["even", 2.0, {0: -1.0}, {0: NAN}, {0: "a"}, {0: 0}],
    "verbose": [-1, "no", 0.5],
    "max_iter": [0, -2, 1.5, True, 2**63],
    "decision_function_shape": ["ova", None],
    "break_ties": [0],
    "random_state": ["seed", -1, 2**64],
    "solver": ["SMO", "libsvm", None],
    "max_time": [0, -1.0, NAN, "1"],
    "n_jobs": [0, 1.5, "2", True, 2**63],
    "callback": [3, "print"],
    "warm_start": [1, None],
}


@pytest.fixture
def idle_core(monkeypatch):
    """Fail the test if the compiled module is asked for anything."""

    def refuse(*args, **kwargs):
        pytest.fail("work was done before the arguments were checked")

    for name in (
        "fit_problem",
        "fit_pairs",
        "solve_dual",
        "certify_kernel",
        "certify_matrix",
        "pairwise_kernel",
    ):
        monkeypatch.setattr(core, name, refuse)


@pytest.mark.usefixtures("idle_core")
@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD_PARAMETERS.items() for value in values],
)
def test_bad_parameter(name, value):
    model = SVC(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(X, Y)
    assert not hasattr(model, "support_")
    assert not hasattr(model, "n_features_in_")


def test_bad_parameter_says_what_was_expected_and_what_came():
    with pytest.raises(ValueError, match=r"C must be a number > 0 .*; got -1\.5"):
        SVC(C=-1.5).fit(X, Y)
    with pytest.raises(TypeError, match=r"degree must be an integer >= 0; got 2\.5 of type float"):
        SVC(degree=2.5).fit(X, Y)


@pytest.mark.usefixtures("idle_core")
@pytest.mark.parametrize(
    ("points", "labels", "weights", "message"),
    [
        (np.where(X == 3.0, NAN, X), Y, None, "NaN"),
        (np.where(X == 3.0, INF, X), Y, None, "infinity"),
        (X[0], Y, None, "1D array"),
        (X[:, :, None], Y, None, "dim 3"),
        (X, Y[:3], None, "inconsistent"),
        (X[:, :0], Y, None, "0 feature"),
        (X[:0], Y[:0], None, "0 sample"),
        (X + 1j, Y, None, "Complex"),
        ([["a", "b"]] * 4, Y, None, "could not convert"),
        (X, np.zeros(4), None, "1 class"),
        (X, [0.1, 0.2, 0.3, 0.4], None, "continuous"),
        (X, [0, 1, NAN, 1], None, "NaN"),
        (X, Y, [1, 1, -1, 1], "sample_weight.*negative"),
        (X, Y, [1, 1, NAN, 1], "sample_weight.*NaN"),
        (X, Y, [1, 1, INF, 1], "sample_weight.*infinity"),
        (X, Y, [1, 1, 1], "sample_weight.*shape"),
        (X, Y, 2.0, "sample_weight.*shape"),
        (X, Y, "abc", "sample_weight.*shape"),
        (X, Y, ["a"] * 4, "sample_weight.*float"),
        (X, Y, np.ones((4, 1)), "sample_weight.*shape"),
        (X, Y, [0, 0, 0, 0], "sample_weight"),
        (X, Y, [1, 1, 0, 0], "sample_weight is positive.*1 class"),
    ],
)
def test_bad_data(points, labels, weights, message):
    model = SVC()
    with pytest.raises(ValueError, match=message):
        model.fit(points, labels, sample_weight=weights)
    assert not hasattr(model, "support_")


@pytest.mark.usefixtures("idle_core")
def test_sparse_and_matrices_of_the_wrong_shape():
    with pytest.raises(TypeError, match="Sparse"):
        SVC(kernel="precomputed").fit(scipy.sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(X, Y)


def test_precomputed_matrix_that_is_not_symmetric():
    K = np.arange(16.0).reshape(4, 4)
    with pytest.raises(ValueError, match=r"^X: the matrix is not symmetric"):
        SVC(kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match=r"^kernel\(X, X\): the matrix is not symmetric"):
        SVC(kernel=lambda A, B: K).fit(X, Y)
    with pytest.raises(ValueError, match=r"^matrix: the matrix is not symmetric"):
        solve_dual(K, [-1, 1, -1, 1], upper=1.0)


def test_kernels_that_overflow():
    with pytest.raises(ValueError, match="kernel"):
        SVC(kernel="poly", degree=200, gamma=1e6).fit(X, Y)


@pytest.mark.parametrize(
    "result", [np.zeros((2, 2)), None, "abc", np.zeros(4), np.full((4, 4), NAN), [["a"] * 4] * 4]
)
@pytest.mark.usefixtures("idle_core")
def test_callable_kernel_of_the_wrong_result(result):
    with pytest.raises(ValueError, match="kernel"):
        SVC(kernel=lambda A, B: result).fit(X, Y)


@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("argument", [0, 1])
def test_callable_kernel_cannot_write_into_its_arguments(form, argument):
    data = form(X)

    def careless(A, B):
        values = A @ B.T
        part = (A, B)[argument]
        (part.data if scipy.sparse.issparse(part) else part)[...] = 7.0
        return values

    model = SVC(kernel=lambda A, B: A @ B.T).fit(data, Y)
    vectors = form(model.support_vectors_)
    with pytest.raises(ValueError, match="read-only"):
        SVC(kernel=careless).fit(data, Y)
    with pytest.raises(ValueError, match="read-only"):
        model.set_params(kernel=careless).predict(data)
    if form is np.array:
        with pytest.raises(ValueError, match="read-only"):
            verify(model, data, Y)
    assert (data != form(X)).sum() == 0
    assert (form(model.support_vectors_) != vectors).sum() == 0
    assert SVC().fit(data, Y).predict(data).tolist() == Y.tolist()  # still writable, still good


def test_wrong_width_in_predict():
    with pytest.raises(ValueError, match="features"):
        SVC().fit(X, Y).predict(X[:, :1])


@pytest.mark.usefixtures("idle_core")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"matrix": np.ones((2, 3))}, "matrix must be square"),
        ({"matrix": [[1.0, NAN], [NAN, 1.0]]}, "matrix"),
        ({"z": [1.0, 2.0]}, "z must hold"),
        ({"z": [1.0]}, "z must have shape"),
        ({"upper": 0.0}, "upper"),
        ({"upper": [1.0, NAN]}, "upper"),
        ({"upper": [1.0, 1.0, 1.0]}, "upper"),
        ({"linear": [1.0]}, "linear"),
        ({"groups": [0.0, 1.0]}, "groups"),
        ({"groups": [0]}, "groups"),
        ({"start": [0.0]}, "start"),
        ({"start": 0.0}, "start"),
        ({"upper": "a"}, "upper"),
        ({"max_iter": 2**63}, "max_iter"),
        ({"random_state": "x"}, "random_state"),
        ({"signed": 1}, "signed"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_bad_argument_of_solve_dual(arguments, message):
    values = {"matrix": np.eye(2), "z": [-1.0, 1.0], "upper": 1.0, **arguments}
    with pytest.raises((ValueError, TypeError), match=message):
        solve_dual(values.pop("matrix"), values.pop("z"), **values)


@pytest.mark.usefixtures("idle_core")
def test_bad_argument_of_pairwise_kernel():
    with pytest.raises(ValueError, match="kernel"):
        pairwise_kernel(X, kernel="precomputed")
    with pytest.raises(ValueError, match="Y must have as many columns"):
        pairwise_kernel(X, X[:, :1])


def test_bad_argument_of_verify():
    model = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="X must be the training data"):
        verify(model, X + 1.0, Y)
    with pytest.raises(ValueError, match="y must be the training labels"):
        verify(model, X, 1 - Y)
    with pytest.raises(ValueError, match="y must hold the labels"):
        verify(model, X, Y + 5)
    with pytest.raises(TypeError, match="estimator"):
        verify(object(), X, Y)
    with pytest.raises(ValueError, match="fitted"):
        verify(SVC(), X, Y)
