"""The two kernel solvers: one optimum, and the truth where one does not get there."""

import warnings

import numpy as np
import pytest

import exactsvm
from evaluate import alpha_of, evaluate, intercept_of
from exactsvm.exceptions import ConvergenceWarning
from generators import clouds, contradictions, one_wide_column
from machines import Machine
from optimality import kernel_matrix
from real_data import load
from reference import case, cases

TOL = 1e-8
# Pair steps: enough for all but the ill-conditioned problems, and over in a second.
STEPS = 300_000


def fit(X, y, **parameters):
    """Fit by SMO; a limit that comes first is no failure here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return exactsvm.SVC(solver="smo", tol=TOL, **parameters).fit(X, y)


def assert_true(model, X, y):
    """Assert that the certificate is that of the model's coefficients."""
    certificate, verified = model.certificate_, exactsvm.verify(model, X, y)
    floor = certificate.precision_floor
    assert verified.box_residual == 0.0
    assert verified.equality_residual <= 1e-12 * max(1.0, np.abs(model.dual_coef_).sum())
    scale = max(1.0, abs(certificate.dual_objective))
    assert abs(verified.dual_objective - certificate.dual_objective) <= 1e-12 * scale
    assert abs(verified.kkt_violation - certificate.kkt_violation) <= 4 * floor
    assert (verified.n_free, verified.n_bounded) == (certificate.n_free, certificate.n_bounded)
    return verified


@pytest.mark.parametrize("c", cases(), ids=lambda c: c.name)
def test_proven_optimum_or_the_truth(c):
    X, y = c.load()
    model = fit(X, y, **c.estimator_parameters, max_iter=STEPS)
    certificate = model.certificate_
    verified = assert_true(model, X, y)
    assert certificate.solver == "smo"
    assert model.n_iter_[0] == certificate.n_pair_steps <= STEPS
    assert model.n_iter_.dtype == np.int32
    error = abs(certificate.dual_objective + c.minimum)
    if certificate.is_optimal:
        assert model.fit_status_ == 0
        assert verified.kkt_violation <= max(TOL, 2 * certificate.precision_floor)
        # what a violation may cost: that much on every unit of alpha that is misplaced
        allowed = max(TOL, certificate.precision_floor) * c.C * c.n
        assert error <= max(allowed, c.objective_tolerance * max(1.0, abs(c.minimum)))
    else:
        assert certificate.status in ("max_iter", "stalled")
        assert model.fit_status_ == 1
        # below the optimum by no more than the gap that it states itself
        noise = c.objective_tolerance * max(1.0, abs(c.minimum))
        assert error <= certificate.duality_gap + noise
        assert certificate.dual_objective <= -c.minimum + noise


def test_both_solvers_reach_one_model():
    X, y = clouds(500)
    models = [exactsvm.SVC(solver=s, tol=1e-10).fit(X, y) for s in ("cmu", "smo", "auto")]
    cmu, smo, auto = (m.certificate_ for m in models)
    assert [c.solver for c in (cmu, smo, auto)] == ["cmu", "smo", "cmu"]
    assert smo.dual_objective == pytest.approx(cmu.dual_objective, rel=1e-13)
    np.testing.assert_array_equal(models[0].support_, models[1].support_)
    np.testing.assert_allclose(
        models[0].decision_function(X), models[1].decision_function(X), atol=1e-8
    )
    assert smo.n_pair_steps > 0
    assert smo.n_cycles == smo.n_sweeps == smo.n_appends == 0


TYPES = {
    "SVR": {"epsilon": 0.2},  # two variables a point
    "NuSVR": {"nu": 0.4},  # two groups of them
    "NuSVC": {"nu": 0.37},  # two groups
    "OneClassSVM": {"nu": 0.2},
}


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", TYPES)
def test_both_solvers_solve_every_type(name, weighted, kernel):
    """To the same objective, within what a violation of tol leaves of it."""
    for data in ("casp600", "winequality600") if "R" in name else ("heart", "ionosphere"):
        X, y = (part[:200] for part in load(data))
        n = len(y)
        weights = np.random.default_rng(8).uniform(0.2, 3.0, n) if weighted else np.ones(n)
        target = np.ones(n) if name == "OneClassSVM" else y
        machine = Machine(name, target, weights, **TYPES[name])
        setting = {"kernel": kernel, "gamma": 1 / X.shape[1], "degree": 2, "coef0": 1.0}
        K = kernel_matrix(X, X, **setting)
        cls = getattr(exactsvm, name)
        cmu, smo = (
            machine.fit(cls, X, weighted=weighted, tol=TOL, solver=s, **setting)
            for s in ("cmu", "smo")
        )
        assert [m.certificate_.solver for m in (cmu, smo)] == ["cmu", "smo"]
        assert smo.n_iter_ > 0
        best, other = (machine.objective(K, machine.coefficients(m)) for m in (cmu, smo))
        rounding = 1e-12 * max(1.0, abs(best))
        assert -rounding <= best - other <= machine.gap(TOL), data
        for model in (cmu, smo):
            assert model.certificate_.status == "optimal", data
            assert machine.breach(K, model) <= TOL + 1e-12, data
        if name == "NuSVR":
            assert smo.epsilon_ == pytest.approx(cmu.epsilon_, abs=1e-6)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_both_solvers_solve_every_pair(name):
    X, y = load("letter800")
    few = y < 6
    own = {"C": 10.0} if name == "SVC" else {"nu": 0.3}
    cmu, smo = (
        getattr(exactsvm, name)(solver=s, tol=1e-10, gamma=0.05, **own).fit(X[few], y[few])
        for s in ("cmu", "smo")
    )
    for a, b in zip(cmu.certificates_, smo.certificates_, strict=True):
        assert (a.status, b.status) == ("optimal", "optimal")
        assert b.dual_objective == pytest.approx(a.dual_objective, rel=1e-9)
    np.testing.assert_allclose(
        cmu.decision_function(X[few]), smo.decision_function(X[few]), atol=1e-6
    )


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_repeated_rows_with_contradicting_labels(C):
    X, y = contradictions(60, 4)
    model = fit(X, y, gamma=0.1, C=C)
    assert model.certificate_.is_optimal
    assert_true(model, X, y)


def test_ill_conditioned_problems_end_by_themselves():
    """Without any limit: at the tolerance, at the floor, or where no step helps any more."""
    for X, y, parameters in (
        (*one_wide_column(200), {"kernel": "rbf", "C": 1e4}),
        (*case("gauss800-rbf-g9.37e-08-C1e+08").load(), {"gamma": 9.37e-08, "C": 1e8}),
        (np.array([[1.0, 99999.0], [2.0, 99999.0]]), np.array([-1, 1]), {"kernel": "poly"}),
    ):
        model = fit(X, y, **parameters)
        assert model.certificate_.status in ("optimal", "optimal_to_precision", "stalled")
        assert_true(model, X, y)


@pytest.mark.parametrize("cache_size", [0.01, 0.5, 3])
def test_cache_size_changes_no_bit(cache_size):
    X, y = clouds(700)
    whole, part = fit(X, y), fit(X, y, cache_size=cache_size)
    np.testing.assert_array_equal(part.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(part.support_, whole.support_)
    assert part.n_iter_ == whole.n_iter_
    assert part.certificate_.duality_gap == whole.certificate_.duality_gap


def test_shrinking_changes_nothing_but_the_steps():
    X, y = clouds(1500)
    on, off = fit(X, y, C=10.0), fit(X, y, C=10.0, shrinking=False)
    assert on.certificate_.status == off.certificate_.status == "optimal"
    assert on.certificate_.dual_objective == pytest.approx(
        off.certificate_.dual_objective, rel=1e-12
    )


def test_indefinite_kernel_is_stationary():
    X, y = clouds(200)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = exactsvm.SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, solver="smo").fit(X, y)
    assert model.certificate_.status == "stationary"
    assert np.isnan(model.certificate_.duality_gap)
    assert model.certificate_.most_negative_curvature < 0


def test_hard_margin_on_overlapping_classes_is_unbounded():
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="unbounded"):
        model = exactsvm.SVC(kernel="linear", C=np.inf, solver="smo").fit(X, y)
    assert model.certificate_.status == "unbounded"


@pytest.mark.parametrize("selection", ["greedy", "random"])
@pytest.mark.parametrize("shrinking", [True, False])
def test_general_problem(selection, shrinking):
    X, y = clouds(300)
    K = exactsvm.pairwise_kernel(X, gamma=0.1)
    settings = {"solver": "smo", "selection": selection, "shrinking": shrinking}
    best = exactsvm.solve_dual(K, y, upper=2.0, solver="cmu")
    solution = exactsvm.solve_dual(K, y, upper=2.0, **settings)
    assert solution.certificate.solver == "smo"
    assert solution.certificate.dual_objective == pytest.approx(
        best.certificate.dual_objective, rel=1e-12
    )
    judged = evaluate(X, y, 2.0, solution.x, None, kernel="rbf", gamma=0.1)
    assert judged.violation <= 1e-10 + 2 * solution.certificate.precision_floor
    assert judged.box_residual == 0


def test_seed_of_the_random_selection():
    X, y = clouds(200)
    K = exactsvm.pairwise_kernel(X)

    def solve(random_state):
        return exactsvm.solve_dual(
            K, y, upper=1.0, solver="smo", selection="random", random_state=random_state
        )

    first, again, other = solve(3), solve(3), solve(np.random.RandomState(4))
    np.testing.assert_array_equal(first.x, again.x)
    assert first.certificate.n_pair_steps != other.certificate.n_pair_steps
    assert first.certificate.dual_objective == pytest.approx(
        other.certificate.dual_objective, rel=1e-9
    )


def test_model_is_judged_by_an_evaluator_of_its_own():
    X, y = clouds(400, n_features=5)
    model = fit(X, y, gamma=0.2, C=3.0)
    alpha, b = alpha_of(model, len(y)), intercept_of(model)
    judged = evaluate(X, y, 3.0, alpha, b, kernel="rbf", gamma=0.2)
    assert judged.violation <= TOL
    assert judged.relative_gap <= 1e-9
    assert judged.equality_residual <= 1e-12 * alpha.sum()


@pytest.mark.parametrize(
    ("name", "value"), [("solver", "sgd"), ("selection", "best"), ("shrinking", 1)]
)
def test_bad_settings_of_the_general_solver(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        exactsvm.solve_dual(np.eye(2), [-1, 1], upper=1.0, **{name: value})
