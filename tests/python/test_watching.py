"""Watching and stopping, for both solvers, on matrices that are held and on those that are not.

However a fit is stopped, the model is feasible, its certificate is true, and a second fit goes on
from it.
"""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import exactsvm
from exactsvm import SVC, NuSVC, NuSVR, OneClassSVM, verify
from exactsvm._progress import Progress
from exactsvm.exceptions import ConvergenceWarning
from generators import checkerboard, clouds

SOLVERS = ["cmu", "smo"]
# Problems on which either solver takes a second at least; the second does not fit in its cache.
HELD = {"C": 1e4, "gamma": 1.0, "tol": 1e-10}
LARGE = {"C": 1e3, "gamma": 1.0, "tol": 1e-8, "cache_size": 20}


@pytest.fixture(scope="module")
def held():
    return checkerboard(3000, flipped=0.2)


@pytest.fixture(scope="module")
def large():
    return checkerboard(6000, flipped=0.05)


@pytest.fixture(params=[(s, size) for s in SOLVERS for size in ("held", "large")], ids="-".join)
def hard(request, held, large):
    """A solver's estimator and a problem that it does not solve at once."""
    solver, size = request.param
    parameters, data = (HELD, held) if size == "held" else (LARGE, large)
    return SVC(solver=solver, n_jobs=2, **parameters), data


def fit(model, X, y):
    """Fit; a warning about the limit that the test sets is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def assert_feasible_and_true(model, X, y):
    """Assert the constraints, and that the certificate is that of the coefficients."""
    verified, certificate = verify(model, X, y), model.certificate_
    assert verified.box_residual == 0.0
    assert verified.equality_residual <= 1e-12 * max(1.0, np.abs(model.dual_coef_).sum())
    if np.isnan(certificate.dual_objective):  # stopped before anything was known
        assert len(model.support_) == 0
        return
    assert certificate.dual_objective == pytest.approx(verified.dual_objective, rel=1e-12)
    assert certificate.primal_objective == pytest.approx(verified.primal_objective, rel=1e-9)
    close = 4 * certificate.precision_floor
    assert certificate.kkt_violation == pytest.approx(verified.kkt_violation, rel=1e-9, abs=close)
    assert certificate.duality_gap >= 0.0


def test_max_time(hard):
    model, (X, y) = hard
    begin = time.perf_counter()
    fit(model.set_params(max_time=0.3), X, y)
    spent = time.perf_counter() - begin
    if model.certificate_.status == "max_time":
        # a stalled machine must not fail the test, a limit that is not looked at must
        assert spent < 0.3 + 1.0
    else:
        assert model.certificate_.is_optimal
    assert_feasible_and_true(model, X, y)


@pytest.mark.parametrize("max_time", [1e-9, 1e-3, 0.02, 0.08])
def test_very_short_times(hard, max_time):
    model, (X, y) = hard
    fit(model.set_params(max_time=max_time), X, y)
    assert model.certificate_.status == "max_time"
    assert model.predict(X[:3]).shape == (3,)
    assert_feasible_and_true(model, X, y)


def test_max_iter(hard):
    model, (X, y) = hard
    limit = {"cmu": 2, "smo": 200}[model.solver]
    fit(model.set_params(max_iter=limit), X, y)
    assert model.certificate_.status == "max_iter"
    assert model.n_iter_[0] == limit
    assert_feasible_and_true(model, X, y)
    first = model.certificate_.dual_objective
    fit(model.set_params(max_iter=2 * limit), X, y)
    assert model.certificate_.dual_objective > first > 0.0


def test_callback_stops(hard):
    model, (X, y) = hard
    seen = []

    def stop_at_the_third(record):
        seen.append(record)
        return len(seen) == 3

    fit(model.set_params(callback=stop_at_the_third), X, y)
    if model.certificate_.is_optimal:  # a very fast machine
        return
    assert model.certificate_.status == "stopped"
    assert len(seen) == 3
    assert {record["solver"] for record in seen} == {model.solver}
    assert [r["n_iter"] for r in seen] == sorted(r["n_iter"] for r in seen)
    assert_feasible_and_true(model, X, y)


def fit_and_wait(model, X, y):
    fit(model, X, y)
    time.sleep(5)  # on a very fast machine the signal comes here


def test_keyboard_interrupt(hard):
    model, (X, y) = hard
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.perf_counter()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fit_and_wait(model, X, y)
    finally:
        timer.join()
    assert time.perf_counter() - begin < 2.0
    if model.certificate_.is_optimal:
        return
    assert model.certificate_.status == "interrupted"
    assert_feasible_and_true(model, X, y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cache_size", [1000, 20])
def test_a_second_fit_goes_on(solver, cache_size):
    X, y = clouds(6000 if cache_size == 20 else 2000)
    # A smooth kernel and a small C: SMO computes columns again and again where they do not fit.
    parameters = {"solver": solver, "tol": 1e-8, "cache_size": cache_size, "n_jobs": 2}
    if cache_size == 20 and solver == "smo":
        parameters |= {"gamma": 0.03, "C": 0.3, "tol": 1e-6}
    whole = SVC(**parameters).fit(X, y)
    assert whole.fit_status_ == 0
    steps = int(whole.n_iter_[0])
    model = SVC(**parameters, warm_start=True, max_iter=max(1, steps // 2))
    fit(model, X, y)
    assert model.certificate_.status == "max_iter"
    assert_feasible_and_true(model, X, y)
    half = model.certificate_.dual_objective
    model.set_params(max_iter=-1).fit(X, y)
    assert model.fit_status_ == 0
    assert model.n_iter_[0] < steps
    assert half <= model.certificate_.dual_objective
    assert_feasible_and_true(model, X, y)
    assert model.certificate_.dual_objective == pytest.approx(
        whole.certificate_.dual_objective, rel=parameters["tol"] / 10
    )
    # from the solution itself there is nothing left to do
    again = model.fit(X, y).n_iter_[0]
    assert again <= max(1, steps // 10)
    assert model.fit_status_ == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_resume_with_another_solver_bound_and_tolerance(solver):
    X, y = clouds(1500)
    model = SVC(solver=solver, tol=1e-3, warm_start=True).fit(X, y)
    for change in ({"tol": 1e-9}, {"C": 10.0}, {"C": 0.1}, {"solver": "cmu"}, {"solver": "smo"}):
        model.set_params(**change).fit(X, y)
        assert model.fit_status_ == 0
        fresh = SVC(C=model.C, tol=1e-9).fit(X, y).certificate_
        assert model.certificate_.dual_objective == pytest.approx(fresh.dual_objective, rel=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_cache_size_changes_nothing_but_the_time(solver):
    # up to 3,000 rows the matrix is held if 72 MB may be used, and beyond 50 MB it is not
    X, y = clouds(3000)
    parameters = {"solver": solver, "tol": 1e-9, "n_jobs": 2}
    much, little = (SVC(cache_size=c, **parameters).fit(X, y) for c in (1000, 50))
    a, b = much.certificate_, little.certificate_
    assert a.status == b.status == "optimal"
    assert b.n_kernel_columns != a.n_kernel_columns
    assert a.dual_objective == pytest.approx(b.dual_objective, rel=1e-12)
    assert (a.n_free, a.n_bounded) == (b.n_free, b.n_bounded)
    np.testing.assert_allclose(
        much.decision_function(X[:200]), little.decision_function(X[:200]), atol=1e-7
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cache_size", [1000, 20])
def test_n_jobs_changes_no_bit(solver, cache_size):
    X, y = clouds(3000)
    parameters = {"solver": solver, "cache_size": cache_size, "tol": 1e-7}
    one = SVC(n_jobs=1, **parameters).fit(X, y)
    for n_jobs in (2, 3, 8):
        many = SVC(n_jobs=n_jobs, **parameters).fit(X, y)
        np.testing.assert_array_equal(many.dual_coef_, one.dual_coef_)
        np.testing.assert_array_equal(many.intercept_, one.intercept_)
        assert many.certificate_.duality_gap == one.certificate_.duality_gap
        assert many.n_iter_ == one.n_iter_
        np.testing.assert_array_equal(many.decision_function(X), one.decision_function(X))


def test_many_fits_at_once_equal_serial_ones():
    X, y = clouds(600)
    jobs = [
        {"solver": solver, "C": C, "cache_size": cache_size, "n_jobs": n_jobs}
        for solver in SOLVERS
        for C in (0.5, 5.0)
        for cache_size in (1000, 2)
        for n_jobs in (1, 2)
    ]
    serial = [SVC(**job).fit(X, y) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(lambda job: SVC(**job).fit(X, y), jobs))
    for a, b in zip(serial, threaded, strict=True):
        np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
        np.testing.assert_array_equal(a.intercept_, b.intercept_)


def threads_in_a_worker(X, y):
    """Start a fit and count the threads of the process."""
    from exactsvm._threads import resolve_n_jobs

    SVC(n_jobs=None).fit(X, y)
    names = []
    for task in os.listdir("/proc/self/task") if sys.platform == "linux" else []:
        with open(f"/proc/self/task/{task}/comm", encoding="utf-8") as comm:
            names.append(comm.read().strip())
    ours = sum(name.startswith("exactsvm") for name in names)
    return resolve_n_jobs(None), ours, multiprocessing.parent_process() is not None


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_one_thread_in_a_worker_process(backend):
    X, y = clouds(1500)
    with joblib.parallel_config(backend, n_jobs=2):
        answers = joblib.Parallel()(joblib.delayed(threads_in_a_worker)(X, y) for _ in range(2))
    assert answers == [(1, 0, True)] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cache_size", [1000, 10])
def test_memory_stays_flat(solver, cache_size):
    """Fifty fits in a process of their own: what is left of each must be nothing."""
    script = f"""
        import sys
        sys.path[:0] = {sys.path!r}
        from exactsvm import SVC
        from generators import clouds

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        X, y = clouds(2200)
        model = SVC(solver={solver!r}, cache_size={cache_size}, tol=1e-3, n_jobs=2)
        for _ in range(5):
            model.fit(X, y)
        before = resident()
        for _ in range(50):
            model.fit(X, y)
        print(resident() - before)
    """
    run = [sys.executable, "-c", textwrap.dedent(script)]
    # glibc keeps what is freed for itself up to a size that it adapts, which is no growth but looks
    # like it; with a fixed size buffers go back at once.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(run, check=True, capture_output=True, text=True, env=environment)
    # One kernel matrix is 39 MB, one column 18 kB.
    assert int(done.stdout) < 4e6


@pytest.mark.parametrize("solver", SOLVERS)
def test_progress_bar_of_a_long_fit(solver, capfd):
    pytest.importorskip("tqdm")
    # long enough for every solver to be met at work several times
    X, y = checkerboard(16000, flipped=0.3)
    records = []
    model = SVC(solver=solver, **LARGE, n_jobs=2, verbose=1, max_time=1.0, callback=records.append)
    fit(model, X, y)
    out, err = capfd.readouterr()
    assert err == ""
    assert f"[{solver}] {model.certificate_.status}" in out.splitlines()[-1]
    shown = [int(p) for p in re.findall(r"\|\s*(\d+)%", out)]
    assert shown
    assert shown == sorted(shown)
    assert all(0 <= p <= 100 for p in shown)
    assert all(np.isfinite(r["dual_objective"]) for r in records)


@pytest.mark.parametrize("violations", [[1e3, 1.0, 1e-3], [1.0, 5.0, 0.1, 0.3], [1e-12], [1.0]])
def test_bar_shows_decades_of_the_violation(violations, capfd):
    pytest.importorskip("tqdm")
    tol = 1e-6
    record = {"solver": "smo", "n_iter": 10**9, "n_free": 1, "dual_objective": 1.0}
    with Progress(1, None, tol) as progress:
        for violation in (float("inf"), float("nan"), *violations):
            assert not progress.observer({**record, "kkt_violation": violation})
        bar = progress._view._bar
        expected = 0.0
        if violations[0] > tol:
            expected = np.log10(violations[0] / min(violations))
        assert bar.n == pytest.approx(expected, abs=1e-2)
        assert 0 <= bar.n <= bar.total
    capfd.readouterr()


LIMITS = {"max_time": {"max_time": 1e-9}, "stopped": {"callback": lambda record: True}}


@pytest.mark.parametrize("status", LIMITS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [NuSVC, NuSVR, OneClassSVM])
def test_stopped_before_the_first_gradient(kind, solver, status):
    """These begin with many support vectors, whose columns nobody has time for."""
    X, y = clouds(8000, n_features=400)
    model = kind(solver=solver, kernel="laplacian", gamma=0.1, n_jobs=2, **LIMITS[status])
    with pytest.warns(ConvergenceWarning) as warned:
        model.fit(X, y)
    assert len(warned) == 1
    certificate = model.certificate_
    assert certificate.status == status
    assert np.isfinite(model.predict(X[:3])).all()
    assert certificate.box_residual == 0.0
    assert certificate.equality_residual <= 1e-12 * len(X)
    if kind is NuSVR:  # the two variables of a point cancel: no column is needed
        assert certificate.duality_gap > 0.0
        return
    assert len(model.support_) >= 3999
    assert certificate.n_kernel_columns < len(model.support_)
    assert np.isnan([certificate.kkt_violation, certificate.duality_gap]).all()
    assert "before anything was known" in str(warned[0].message)


def test_solve_dual_stops_too():
    X, y = checkerboard(2500, flipped=0.2)
    K = exactsvm.pairwise_kernel(X, gamma=1.0)
    for solver in SOLVERS:
        with pytest.warns(ConvergenceWarning, match="callback"):
            solution = exactsvm.solve_dual(
                K, y, upper=1e5, solver=solver, tol=1e-12, callback=lambda record: True
            )
        assert solution.certificate.status == "stopped"
        assert solution.certificate.box_residual == 0.0
        assert abs(solution.x @ y) <= 1e-12 * solution.x.sum()
