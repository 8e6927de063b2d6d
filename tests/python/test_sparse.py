"""Sparse rows: the same models, whatever their indices look like, and X stays as it was."""

import numpy as np
import pytest
import scipy.sparse as sp

import exactsvm
from exactsvm import SVC, SVR, OneClassSVM, _data
from exactsvm._data import sparse_kernel
from exactsvm._kernels import KernelSettings
from generators import clouds, three_clusters
from optimality import kernel_matrix

KERNELS = ["linear", "poly", "rbf", "sigmoid", "laplacian"]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(70, 12)) * (rng.random((70, 12)) < 0.3)
    return X, (X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=70) > 0).astype(int)


@pytest.mark.filterwarnings("ignore:Not optimal")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_dense(data, kernel, n_classes):
    X, y = data
    y = y + (X[:, 3] > 0) if n_classes == 3 else y
    setting = {"kernel": kernel, "gamma": 0.1, "degree": 2, "coef0": 0.5}
    dense, sparse = SVC(**setting).fit(X, y), SVC(**setting).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.dual_coef_.toarray(), dense.dual_coef_)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_array_equal(sparse.support_vectors_.toarray(), dense.support_vectors_)
    expected = dense.decision_function(X)
    for model in (dense, sparse):
        for rows in (X, sp.csr_matrix(X), sp.csc_array(X)):
            np.testing.assert_array_equal(model.decision_function(rows), expected)
    if kernel == "linear":
        np.testing.assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=1e-14)


@pytest.mark.filterwarnings("ignore:Not optimal")
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_that_may_not_be_dense(data, kernel):
    # 70 rows of 10,000 columns are 5.6 MB, their kernel matrix takes 0.04 MB.
    X, y = data
    zeros = np.zeros(10_000)  # stored ones, so that all columns are in use
    filling = sp.csr_array((zeros, (np.arange(10_000) % 70, np.arange(10_000))), shape=(70, 10_000))
    wide = sp.csr_array(sp.hstack([sp.csr_array(X), filling]))
    setting = {"kernel": kernel, "gamma": 0.1, "degree": 2, "coef0": 0.5}
    small = SVC(cache_size=0.1, **setting).fit(wide, y)
    plain = SVC(**setting).fit(X, y)
    np.testing.assert_allclose(small.decision_function(wide), plain.decision_function(X), atol=1e-7)
    with pytest.raises(MemoryError, match=r"cache_size must be at least .* 10012 columns in use"):
        SVC(cache_size=0.01, **setting).fit(wide, y)


@pytest.mark.filterwarnings("ignore:Not optimal")
@pytest.mark.parametrize("gamma", ["auto", "scale", 0.1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_that_no_row_has_cost_nothing(data, kernel, gamma):
    # Neither the rows nor their kernel matrix fit 0.01 MB, the 12 columns in use do.
    X, y = data
    wide = sp.csr_array(sp.hstack([sp.csr_array((70, 5_000)), X, sp.csr_array((70, 5_000))]))
    setting = {"kernel": kernel, "gamma": gamma, "degree": 2, "coef0": 0.5}
    small = SVC(cache_size=0.01, **setting).fit(wide, y)
    whole = SVC(**setting).fit(wide, y)
    assert small.support_vectors_.shape == whole.support_vectors_.shape
    assert small.n_features_in_ == 10_012
    np.testing.assert_array_equal(small.support_, whole.support_)
    np.testing.assert_allclose(small.dual_coef_.toarray(), whole.dual_coef_.toarray(), atol=1e-10)
    np.testing.assert_allclose(
        small.decision_function(wide), whole.decision_function(wide), atol=1e-10
    )
    nothing = sp.csr_array((70, 10_000))
    constant = SVC(cache_size=0.01, kernel=kernel, gamma=0.1).fit(nothing, y)
    assert constant.predict(nothing[:3]).shape == (3,)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_kernel_is_its_formula(data, kernel):
    X, _ = data
    settings = KernelSettings(kernel, 0.3, 2, 0.5)
    A, B = sp.csr_array(X), sp.csr_array(X[:9])
    formula = kernel_matrix(X, X[:9], **settings._asdict())
    np.testing.assert_allclose(sparse_kernel(A, B, settings, 1), formula, atol=1e-13)
    square = sparse_kernel(A, A, settings, 1)
    np.testing.assert_array_equal(square, square.T)


def test_odd_indices_are_accepted_and_left_alone(data):
    X, y = data
    clean = sp.csr_array(X)
    odd = sp.csr_array(
        (clean.data.copy(), clean.indices.astype(np.int64), clean.indptr.astype(np.int64)),
        shape=clean.shape,
    )
    for i in range(70):  # each row backwards
        part = slice(odd.indptr[i], odd.indptr[i + 1])
        odd.data[part], odd.indices[part] = odd.data[part][::-1], odd.indices[part][::-1]
    odd.has_sorted_indices = False
    before = [part.copy() for part in (odd.data, odd.indices, odd.indptr)]
    for part in (odd.data, odd.indices, odd.indptr):
        part.setflags(write=False)
    for cache_size in (1000, 0.045):
        model = SVC(gamma=0.1, cache_size=cache_size).fit(odd, y)
        values = model.decision_function(odd)
        np.testing.assert_allclose(values, SVC(gamma=0.1).fit(X, y).decision_function(X), atol=1e-7)
    for part, old in zip((odd.data, odd.indices, odd.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "NuSVC", "OneClassSVM"])
def test_every_type(data, name):
    X, y = data
    cls = getattr(exactsvm, name)
    weights = np.arange(70) % 3
    target = () if name == "OneClassSVM" else (y,)
    dense = cls().fit(X, *target, sample_weight=weights)
    sparse = cls().fit(sp.csr_array(X), *target, sample_weight=weights)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))
    np.testing.assert_array_equal(sparse.support_, dense.support_)


def test_single_precision_and_no_support(data):
    X, y = data
    single = X.astype(np.float32)
    model, wide = SVC(gamma=0.1).fit(single, y), SVC(gamma=0.1).fit(single.astype(float), y)
    np.testing.assert_array_equal(model.decision_function(single), wide.decision_function(single))
    assert model.support_vectors_.dtype == np.float64
    K = single @ single.T + np.eye(70, dtype=np.float32)
    K[0, 1] += np.float32(1e-6)  # as products in single precision are
    assert SVC(kernel="precomputed").fit(K, y).fit_status_ == 0
    assert OneClassSVM(kernel="precomputed").fit(K).fit_status_ == 0

    X = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [1.0, 1.0]]))
    empty = SVR().fit(X, [0.04, 0.04, 0.10, 0.16])
    np.testing.assert_allclose(empty.predict(X), 0.1)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("block_bytes", [1e8, 2e3])
def test_points_far_apart(monkeypatch, kernel, block_bytes):
    X, _ = three_clusters(1e7, 60)
    monkeypatch.setattr(_data, "_BLOCK_BYTES", block_bytes)
    rows = sp.csr_array(X)
    K = sparse_kernel(rows, rows, KernelSettings(kernel, 0.5, 3, 0.0), 2)
    assert (K == K.T).all()
    D = X[:, None, :] - X[None, :, :]
    distance = (D**2).sum(axis=-1) if kernel == "rbf" else np.abs(D).sum(axis=-1)
    np.testing.assert_allclose(K, np.exp(-0.5 * distance), atol=1e-14)
    np.testing.assert_allclose(
        sparse_kernel(rows, sp.csr_array(X[:7]), KernelSettings(kernel, 0.5, 3, 0.0), 1),
        K[:, :7],
        atol=1e-14,
    )


def test_too_many_free_variables_name_the_memory_that_was_allowed():
    X, y = clouds(2500)
    # Points that see nobody else are free, one and all.
    model = SVC(gamma=100.0, C=1e3, cache_size=10)
    with pytest.raises(MemoryError, match=r"16\.0 MB are allowed \(cache_size, but 16 at least\)"):
        model.fit(X, y)
