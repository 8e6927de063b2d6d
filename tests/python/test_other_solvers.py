"""Every type, kernel and weighting on real data against scikit-learn, `solve_dual` and Clarabel.

LIBSVM keeps kernel values in single precision. On a matrix whose entries single precision holds
exactly it solves the problem that it was given, so that there the two must agree to their
tolerance; on the plain kernels its error is bounded by what rounding the matrix may do, and
Clarabel and the general solver are the witnesses.
"""

import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

import exactsvm
from machines import Machine
from optimality import kernel_matrix
from real_data import BINARY, REGRESSION, load

TOL = 1e-9
ROWS = 120
KERNELS = {
    "linear": {},
    "poly": {"degree": 2, "coef0": 1.0},
    "rbf": {},
    "laplacian": {},
}
TYPES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]
FEW_FEATURES = [name for name in BINARY if name not in ("splice600", "digits800")]

every = pytest.mark.parametrize("name", TYPES)
weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def problems(name, kernel, weighted, options):
    """Each data set with its rows, its machine, and the kernel with its matrix."""
    for data in REGRESSION if name in ("SVR", "NuSVR") else FEW_FEATURES:
        X, y = (part[:ROWS] for part in load(data))
        n = len(y)
        weights = np.random.default_rng(3).uniform(0.2, 3.0, n) if weighted else np.ones(n)
        nu = 0.4
        if name == "NuSVC":
            # no whole number of support vectors at their bound, which leaves an intercept free
            nu = 1.77 * min(weights[y > 0].sum(), weights[y < 0].sum()) / weights.sum()
        machine = Machine(name, np.ones(n) if name == "OneClassSVM" else y, weights, nu=nu)
        setting = {"kernel": kernel, "gamma": 1.0 / X.shape[1], **options}
        yield data, X, machine, setting, kernel_matrix(X, X, **setting)


def single(K):
    """The matrix in numbers that single precision holds; a ridge, for rounding may make it worse.

    LIBSVM keeps the diagonal in double precision.
    """
    K = K.astype(np.float32).astype(np.float64)
    K[np.diag_indices(len(K))] += 2.0**-10 * np.abs(np.diag(K)).mean()
    return K


def theirs_of(name, machine, X, weighted, **parameters):
    """scikit-learn's model at the same tolerance; a standstill of LIBSVM must not take hours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cls = getattr(sklearn.svm, name)
        return machine.fit(cls, X, weighted=weighted, tol=TOL, max_iter=1_000_000, **parameters)


@every
@weighting
@pytest.mark.parametrize("kernel", KERNELS)
def test_sklearn_where_it_is_exact(name, kernel, weighted):
    for data, _, machine, _, K in problems(name, kernel, weighted, KERNELS[kernel]):
        K = single(K)
        cls = getattr(exactsvm, name)
        ours = machine.fit(cls, K, weighted=weighted, tol=TOL, kernel="precomputed")
        theirs = theirs_of(name, machine, K, weighted, kernel="precomputed")
        assert theirs.fit_status_ == 0, data
        assert ours.certificate_.status == "optimal", data
        mine, his = (machine.objective(K, machine.coefficients(m)) for m in (ours, theirs))
        rounding = 1e-13 * max(1.0, abs(mine))
        assert -rounding <= mine - his <= machine.gap(TOL), data
        f, g = machine.values(K, ours), machine.values(K, theirs)
        # The dual is quadratic: what one is short of bounds the distance of the weights, and a free
        # support vector ties the intercept to them.
        far = np.sqrt(2.0 * (mine - his + 2 * rounding) * np.diag(K).max())
        np.testing.assert_allclose(f, g, rtol=0, atol=3 * far + 3 * TOL, err_msg=data)
        if kernel in ("rbf", "laplacian"):  # which have no small eigenvalues here
            np.testing.assert_allclose(f, g, rtol=0, atol=5 * TOL, err_msg=data)
        values = ours.predict(K) if machine.is_regression else ours.decision_function(K)
        f = f / machine.margin(machine.coefficients(ours))
        np.testing.assert_allclose(values, f, atol=1e-11 * max(1.0, np.abs(f).max()), err_msg=data)


@every
@weighting
@pytest.mark.parametrize("kernel", KERNELS)
def test_clarabel_and_the_general_solver(name, kernel, weighted):
    for data, X, machine, setting, K in problems(name, kernel, weighted, KERNELS[kernel]):
        ours = machine.fit(getattr(exactsvm, name), X, weighted=weighted, tol=TOL, **setting)
        mine = machine.objective(K, machine.coefficients(ours))
        scale = max(1.0, abs(mine))
        assert ours.certificate_.status == "optimal", data
        assert machine.breach(K, ours) <= TOL, data

        z, c, upper, groups, start = machine.dual()
        general = exactsvm.solve_dual(
            machine.matrix(K), z, upper=upper, linear=c, groups=groups, start=start, tol=TOL
        )
        assert mine == pytest.approx(general.certificate.dual_objective, abs=1e-11 * scale), data
        if name != "NuSVC":  # whose certificate is that of the problem with its margin at 1
            assert mine == pytest.approx(ours.certificate_.dual_objective, abs=1e-11 * scale), data

        low, high = machine.optimum(K)
        assert low - 1e-9 * scale <= mine <= high + 1e-9 * scale, data


@every
@weighting
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_sklearn_is_off_by_no_more_than_single_precision(name, kernel, weighted):
    for data, X, machine, setting, K in problems(name, kernel, weighted, KERNELS[kernel]):
        ours = machine.fit(getattr(exactsvm, name), X, weighted=weighted, tol=TOL, **setting)
        theirs = theirs_of(name, machine, X, weighted, **setting)
        mine, his = (machine.coefficients(m) for m in (ours, theirs))
        better, worse = machine.objective(K, mine), machine.objective(K, his)
        # LIBSVM's sums drift a little while it runs, and so does its objective.
        assert worse <= better + 1e-10 * max(1.0, abs(better)), data
        if theirs.fit_status_ != 0:
            continue
        noise = machine.noise(K, mine) + machine.noise(K, his)
        assert better - worse <= noise + machine.gap(TOL), data
        short = better - worse + 1e-10 * max(1.0, abs(better))
        far = np.sqrt(2.0 * short * np.diag(K).max())
        f, g = machine.values(K, ours), machine.values(K, theirs)
        np.testing.assert_allclose(f, g, rtol=0, atol=3 * (far + noise + TOL), err_msg=data)


@every
@weighting
def test_sigmoid_is_stationary(name, weighted):
    # Never positive semidefinite: a point that meets the conditions, and nothing claimed beyond.
    for data, X, machine, setting, K in problems(name, "sigmoid", weighted, {"coef0": 0.0}):
        with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
            model = machine.fit(getattr(exactsvm, name), X, weighted=weighted, tol=TOL, **setting)
        assert model.certificate_.status == "stationary", data
        assert np.isnan(model.certificate_.duality_gap), data
        # In the units of the dual: NuSVC is not solved again for what the division by r enlarged.
        breach = machine.breach(K, model)
        assert breach * machine.margin(machine.coefficients(model)) <= TOL, data
        assert breach <= model.certificate_.kkt_violation + TOL, data


@every
@pytest.mark.parametrize("kernel", KERNELS)
def test_forms_of_one_kernel_are_one_model(name, kernel):
    for data, X, machine, setting, K in problems(name, kernel, True, KERNELS[kernel]):
        cls = getattr(exactsvm, name)
        plain = machine.fit(cls, X, tol=TOL, **setting)
        held = machine.fit(cls, K, tol=TOL, kernel="precomputed")
        called = machine.fit(cls, X, tol=TOL, kernel=lambda A, B: kernel_matrix(A, B, **setting))  # noqa: B023
        best = machine.objective(K, machine.coefficients(plain))
        for model in (held, called):
            mine = machine.objective(K, machine.coefficients(model))
            assert mine == pytest.approx(best, abs=1e-11 * max(1.0, abs(best))), data


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
@pytest.mark.parametrize("data", ["letter800", "wine"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_pairs_where_sklearn_is_exact(name, data, kernel):
    X, y = load_wine(return_X_y=True) if data == "wine" else load(data)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    K = single(kernel_matrix(X, X, kernel=kernel, gamma=1.0 / X.shape[1]))
    weights = np.random.default_rng(3).uniform(0.2, 3.0, len(y))
    own = {"SVC": {"C": 1.0}, "NuSVC": {"nu": 0.3}}[name]
    setting = {"kernel": "precomputed", "tol": TOL, "decision_function_shape": "ovo", **own}
    ours = getattr(exactsvm, name)(**setting).fit(K, y, sample_weight=weights)
    theirs = getattr(sklearn.svm, name)(**setting).fit(K, y, sample_weight=weights)
    f, g = ours.decision_function(K), theirs.decision_function(K)
    np.testing.assert_allclose(f, g, atol=1e-6 * max(1.0, np.abs(g).max()))
    np.testing.assert_array_equal(ours.predict(K), theirs.predict(K))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
