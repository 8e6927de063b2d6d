import numpy as np
import pytest

from exactsvm import Certificate, pairwise_kernel, solve_dual
from exactsvm._solve import feasible_start
from optimality import assert_optimal, kernel_matrix

KERNELS = ["linear", "poly", "rbf", "sigmoid", "laplacian"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_pairwise_kernel_is_its_formula(rng, kernel):
    X, Y = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    setting = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 0.5}
    K = pairwise_kernel(X, Y, **setting)
    assert K.shape == (9, 5)
    assert K.flags.c_contiguous
    np.testing.assert_allclose(K, kernel_matrix(X, Y, **setting), rtol=1e-12, atol=1e-14)
    square = pairwise_kernel(X, **setting)
    np.testing.assert_array_equal(square, square.T)
    if kernel in ("rbf", "laplacian"):
        np.testing.assert_array_equal(np.diag(square), np.ones(9))


def test_scale_is_that_of_the_columns(rng):
    X, Y = rng.normal(size=(4, 3)), 3 * rng.normal(size=(6, 3))
    np.testing.assert_array_equal(
        pairwise_kernel(X, Y), pairwise_kernel(X, Y, gamma=1 / (3 * Y.var()))
    )
    np.testing.assert_array_equal(pairwise_kernel(X), pairwise_kernel(X, gamma=1 / (3 * X.var())))


def test_solve_dual_is_c_svc_by_default(blobs):
    X, y = blobs
    z = np.where(y == 1, 1.0, -1.0)
    K = kernel_matrix(X, X)
    solution = solve_dual(K, z, upper=2.0)
    assert_optimal(K, z, 2.0, solution.x, -solution.multipliers[0])
    H = K * np.outer(z, z)
    np.testing.assert_allclose(solution.gradient, H @ solution.x - 1.0, atol=1e-12)
    signed = solve_dual(H, z, upper=np.full(60, 2.0), signed=True)
    np.testing.assert_allclose(signed.x, solution.x, atol=1e-8)


def test_solve_dual_with_linear_term_groups_and_start(rng):
    n = 20
    A = rng.normal(size=(n, n))
    K, z, c = A @ A.T, np.where(np.arange(n) % 3 == 0, -1.0, 1.0), rng.normal(size=n)
    groups = np.arange(n) // 10
    start = np.full(n, 0.25)
    solution = solve_dual(K, z, upper=1.0, linear=c, groups=groups, start=start)
    x = solution.x
    assert len(solution.multipliers) == 2
    r = z * (K @ (z * x)) - c - solution.multipliers[groups] * z
    for group in (0, 1):
        inside = groups == group
        assert z[inside] @ x[inside] == pytest.approx(z[inside] @ start[inside], abs=1e-12)
    assert (r[x < 1.0] >= -1e-8).all()
    assert (r[x > 0.0] <= 1e-8).all()
    np.testing.assert_array_equal(start, 0.25)


def test_feasible_start_is_feasible(rng):
    for _ in range(200):
        n = rng.integers(2, 40)
        signs = rng.choice([-1.0, 1.0], size=n)
        upper = 10.0 ** rng.uniform(-4, 4, size=n)
        alpha = upper * rng.uniform(0, 2, size=n) * (rng.random(n) < 0.7)
        start = feasible_start(alpha, signs, upper)
        if start is None:
            clipped = np.minimum(alpha, upper)
            assert clipped[signs > 0].sum() == 0 or clipped[signs < 0].sum() == 0
            continue
        assert (start >= 0).all()
        assert (start <= upper).all()
        assert abs(signs @ start) <= 1e-14 * start.sum()
        assert start.sum() > 0


def test_certificate_of_a_stationary_point_claims_no_gap():
    certificate = solve_dual(np.eye(2), [-1, 1], upper=1.0).certificate
    record = {**vars(certificate), "status": "stationary"}
    again = Certificate.from_record(record)
    assert np.isnan(again.duality_gap)
    assert np.isnan(again.relative_gap)
    assert not again.is_optimal
    with pytest.raises(AttributeError):
        certificate.status = "optimal"


def test_certificate_reads_well():
    text = str(solve_dual(np.eye(2), [-1, 1], upper=2.0).certificate)
    assert text.startswith("optimal (cmu)\n")
    for label in ("primal objective", "duality gap", "KKT violation", "kernel columns"):
        assert label in text
