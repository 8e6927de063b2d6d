"""Bounds so large that a small violation is no small gap, and those that are refused."""

import warnings

import numpy as np
import pytest

from exactsvm import SVC, SVR, NuSVC, NuSVR, OneClassSVM, solve_dual, verify
from exactsvm.exceptions import ConvergenceWarning
from generators import clouds

DATA = {
    "separable": clouds(200, distance=8.0, flipped=0.0),
    "overlapping": clouds(150),
}


@pytest.mark.parametrize("C", [1e4, 1e8, 1e12, 1e15, 1e30, 1e100])
@pytest.mark.parametrize("solver", ["cmu", "smo"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_optimal_means_that_the_gap_is_below_the_objective(C, solver, data, tol):
    X, y = DATA[data]
    model = SVC(C=C, solver=solver, tol=tol, max_time=20.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    certificate = model.certificate_
    assert certificate.relative_gap == pytest.approx(verify(model, X, y).relative_gap, rel=1e-3)
    if certificate.relative_gap <= 1.0:
        assert certificate.status == "optimal"
        assert certificate.kkt_violation <= tol
        assert not caught
    else:
        assert certificate.status == "stalled"
        assert certificate.kkt_violation <= certificate.precision_floor
        assert "C=inf" in str(caught[0].message)
        assert not verify(model, X, y).is_optimal
    # Without rounding every one of these would be solved, and up to here it is.
    assert certificate.is_optimal or C >= 1e15


def test_a_loose_tolerance_is_tightened_where_it_means_nothing():
    X, y = DATA["separable"]
    signs = np.where(y > 0, 1.0, -1.0)
    K = X @ X.T
    with pytest.warns(ConvergenceWarning, match="Lower C"):
        loose = solve_dual(K, signs, upper=1e8, tol=1e-3, solver="smo")
    assert loose.certificate.status == "stalled"
    assert loose.certificate.relative_gap > 1.0
    model = SVC(C=1e8, tol=1e-3, solver="smo", kernel="linear").fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.relative_gap <= 1.0
    assert model.certificate_.kkt_violation < 1e-5


def test_hard_margins_stay_what_they_were():
    X, y = DATA["separable"]
    for solver in ("cmu", "smo"):
        assert SVC(C=np.inf, solver=solver).fit(X, y).certificate_.is_optimal


@pytest.mark.parametrize("kind", [SVC, SVR, NuSVR])
def test_too_large_a_C_is_refused(kind):
    X, y = clouds(40)
    for C in (1.1e100, 1e300, 10**200):
        with pytest.raises(ValueError, match=r"C must be a .*number > 0 and at most 1e\+100"):
            kind(C=C).fit(X, y)


@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
@pytest.mark.parametrize("large", [2e100, 1e308])
def test_too_large_a_weight_is_refused(kind, large):
    X, y = clouds(40)
    weights = np.ones(40)
    weights[3] = large
    model = kind(C=90.0) if hasattr(kind(), "C") else kind()
    with pytest.raises(ValueError, match="C times the weights must be at most 1e\\+100"):
        model.fit(X, y, sample_weight=weights)
    if hasattr(model, "class_weight"):
        with pytest.raises(ValueError, match="C times the weights"):
            model.set_params(class_weight={1.0: large}).fit(X, y)


def test_too_large_a_bound_is_refused():
    with pytest.raises(ValueError, match=r"upper must be at most 1e\+100 or infinite"):
        solve_dual([[1.0, -1.0], [-1.0, 1.0]], [-1, 1], upper=[1.0, 1e200])
    X, y = clouds(40)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="C times the weights"):
        verify(model.set_params(C=1e300), X, y)
