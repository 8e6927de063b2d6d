"""Where Python meets the compiled module: arrays, callbacks, signals, threads."""

import os
import re
import signal
import sys
import threading
import time

import joblib
import numpy as np
import pytest

from exactsvm import SVC
from exactsvm._threads import resolve_n_jobs
from exactsvm.exceptions import ConvergenceWarning


@pytest.fixture(scope="module")
def hard():
    """Noise that takes much longer than the tests let it."""
    rng = np.random.default_rng(5)
    return rng.normal(size=(3000, 10)), rng.integers(0, 2, size=3000)


HARD = {"C": 1e6, "gamma": 0.02}


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.hstack([X, X])[:, :3],
        lambda X: X[::-1].copy()[::-1],
        read_only,
        np.ndarray.tolist,
        lambda X: X.astype(">f8"),
    ],
    ids=["fortran", "strided", "columns", "backwards", "read-only", "list", "big-endian"],
)
def test_any_form_of_the_same_numbers(blobs, form):
    X, y = blobs
    before = X.copy()
    model = SVC().fit(form(X), y)
    reference = SVC().fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, reference.dual_coef_)
    np.testing.assert_array_equal(model.decision_function(form(X)), reference.decision_function(X))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_any_dtype(blobs, dtype):
    X, y = blobs
    converted = np.round(X).astype(dtype)
    np.testing.assert_array_equal(
        SVC().fit(converted, y).dual_coef_, SVC().fit(converted.astype(float), y).dual_coef_
    )


def test_empty_prediction_is_refused(blobs):
    with pytest.raises(ValueError, match="0 sample"):
        SVC().fit(*blobs).predict(np.empty((0, 3)))


def test_max_iter_keeps_a_feasible_model_and_warns(hard):
    X, y = hard[0][:200], hard[1][:200]
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*KKT violation.*gap.*Raise max_iter"):
        model = SVC(max_iter=1, **HARD).fit(X, y)
    assert model.fit_status_ == 1
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.duality_gap > 0
    alpha = np.abs(model.dual_coef_)
    assert (alpha <= model.C).all()
    assert abs(model.dual_coef_.sum()) <= 1e-9 * alpha.sum()


def test_max_time(hard):
    begin = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(max_time=0.2, **HARD).fit(*hard)
    assert time.perf_counter() - begin < 5.0
    assert model.certificate_.status == "max_time"


def test_callback_sees_progress_and_stops(hard):
    records = []

    def stop(record):
        records.append(record)
        return True

    with pytest.warns(ConvergenceWarning, match="callback"):
        model = SVC(callback=stop, **HARD).fit(*hard)
    assert len(records) == 1
    assert model.certificate_.status == "stopped"
    assert model.predict(hard[0][:5]).shape == (5,)
    assert set(records[0]) >= {
        "solver",
        "n_iter",
        "dual_objective",
        "kkt_violation",
        "n_free",
        "n_bounded",
        "n_kernel_columns",
        "elapsed",
    }


def test_exception_of_a_callback_propagates(hard):
    class Mine(Exception):
        pass

    def fail(record):
        raise Mine("from the callback")

    model = SVC(callback=fail, **HARD)
    with pytest.raises(Mine, match="from the callback"):
        model.fit(*hard)
    assert not hasattr(model, "support_")


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_keeps_the_model(hard):
    model = SVC(**HARD)
    timer = interrupt_after(0.5)
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*hard)
    timer.join()
    assert time.perf_counter() - begin < 1.5
    assert model.certificate_.status == "interrupted"
    assert model.fit_status_ == 1
    assert model.predict(hard[0][:5]).shape == (5,)


def test_ctrl_c_inside_a_callback_keeps_the_model(hard):
    def interrupt(record):
        raise KeyboardInterrupt

    model = SVC(callback=interrupt, **HARD)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*hard)
    assert model.certificate_.status == "interrupted"


def test_other_threads_run_during_fit(hard):
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    clock = threading.Thread(target=tick)
    clock.start()
    try:
        with pytest.warns(ConvergenceWarning):
            SVC(max_time=0.5, **HARD).fit(*hard)
    finally:
        done.set()
        clock.join()
    assert len(ticks) > 20
    assert np.diff(ticks).max() < 0.3


def test_fits_in_parallel_threads_agree(blobs):
    X, y = blobs
    results = [None] * 4

    def work(i):
        results[i] = SVC().fit(X, y).dual_coef_

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_n_jobs():
    cores = resolve_n_jobs(None)
    assert cores >= 1
    assert resolve_n_jobs(-1) == cores
    assert resolve_n_jobs(3) == 3
    assert resolve_n_jobs(-1000) == 1


def test_one_thread_in_a_worker_process():
    jobs = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(resolve_n_jobs)(None) for _ in "ab"
    )
    assert jobs == [1, 1]


@pytest.mark.parametrize("verbose", [1, 2])
@pytest.mark.parametrize("tqdm", [True, False])
def test_verbose_writes_to_stdout_and_calls_back(hard, capfd, monkeypatch, verbose, tqdm):
    if not tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    else:
        pytest.importorskip("tqdm")
    calls = []

    def third_stops(record):
        calls.append(record)
        return len(calls) == 3

    with pytest.warns(ConvergenceWarning, match="callback"):
        SVC(verbose=verbose, callback=third_stops, **HARD).fit(*hard)
    out, err = capfd.readouterr()
    assert err == ""
    assert len(calls) == 3
    assert "stopped" in out.splitlines()[-1]
    if verbose == 2:
        assert len(re.findall(r"^\[cmu\] iterations=", out, re.MULTILINE)) == 3
    elif not tqdm:
        header, *rows = out.splitlines()
        assert header.split()[:2] == ["iterations", "dual"]
        assert len(rows) == 4


def test_silent_by_default(blobs, capfd):
    SVC().fit(*blobs)
    assert capfd.readouterr() == ("", "")


def test_unaligned_rows_are_read():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(X.shape)
    unaligned[...] = X
    assert not unaligned.flags.aligned
    expected = SVC().fit(X, y)
    model = SVC().fit(unaligned, y)
    assert model.certificate_.dual_objective == expected.certificate_.dual_objective
    assert np.array_equal(model.decision_function(unaligned), expected.decision_function(X))


def test_overflowing_squares_are_refused():
    X, y = np.array([[0.0], [1e200], [3e199], [-1e200]]), [0, 1, 0, 1]
    for kernel in ("rbf", "sigmoid", "linear"):
        with pytest.raises(ValueError, match="overflow"):
            SVC(kernel=kernel, gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="gamma='scale'"):
        SVC().fit(X, y)


def test_decisions_of_a_linear_model_far_from_the_origin():
    rng = np.random.default_rng(0)
    # on a grid, so that the shift is exact
    near = np.round(rng.standard_normal((80, 4)) * 1024) / 1024
    y = np.where(near[:, 0] + 0.5 * rng.standard_normal(80) > 0, 1, -1)
    expected = SVC(kernel="linear").fit(near, y).decision_function(near)
    far = near + 2.0**23
    model = SVC(kernel="linear").fit(far, y)
    assert np.abs(model.decision_function(far) - expected).max() < 1e-7
