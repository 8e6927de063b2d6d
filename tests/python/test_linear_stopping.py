"""Watching and stopping the linear solvers: signals, limits, early stopping, progress."""

import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from exactsvm import LinearSVC, LinearSVR
from generators import clouds
from linear_problems import primal

SOLVERS = ["auto", "cmu", "ipm", "dcd", "gd", "sgd"]
# Every solver takes several seconds at least to this tolerance; with 1500 features the
# interior-point method too.
LONG = {"loss": "hinge", "C": 1e4, "tol": 1e-14, "n_jobs": 2}


def long_problem(solver):
    return clouds(10000, n_features=1500 if solver in ("auto", "ipm") else 300)


def fit(model, X, y):
    """Fit; a warning about what ended the run is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


INTERRUPTED = """
    import os, signal, sys, threading, time, warnings
    sys.path[:0] = {path!r}
    warnings.simplefilter("ignore")
    from exactsvm import LinearSVC
    from test_linear_stopping import LONG, long_problem

    X, y = long_problem({solver!r})
    if {classes} == 3:
        y = y + (X[:, 0] > 1)
    model = LinearSVC(solver={solver!r}, **LONG)
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.7, interrupt).start()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print(time.perf_counter() - sent[0], model.certificate_.status)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c_ends_a_fit_soon(solver, classes):
    script = INTERRUPTED.format(path=sys.path, solver=solver, classes=classes)
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    seconds, status = run.stdout.split()
    assert status == "interrupted"
    # The certificate of what was reached is computed before the exception comes.
    assert float(seconds) < 2.0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_max_time_is_for_the_whole_fit(solver, classes):
    X, y = long_problem(solver)
    y = y + (X[:, 0] > 1) if classes == 3 else y
    begin = time.perf_counter()
    model = fit(LinearSVC(solver=solver, max_time=0.5, **LONG), X, y)
    # A busy machine must not fail the test, a limit that is not looked at must.
    assert time.perf_counter() - begin < 0.5 + 2.0
    assert model.certificate_.status == "max_time"
    assert {c.status for c in model.certificates_} == {"max_time"}
    assert np.isfinite(model.coef_).all()
    if classes == 2:
        value = primal(X, y, model.coef_[0], model.intercept_[0], np.full(len(y), model.C))
        assert model.certificate_.primal_objective == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("max_time", [1e-9, 1e-3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_very_short_times(solver, max_time):
    X, y = clouds(5000, n_features=100)
    model = fit(LinearSVC(solver=solver, max_time=max_time, **LONG), X, y)
    assert model.certificate_.status == "max_time"
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.relative_gap > model.tol


class TestEarlyStopping:
    @pytest.fixture
    def slow(self):
        """A problem and parameters with which the gap creeps."""
        return clouds(600, n_features=40), {"loss": "hinge", "C": 100.0, "tol": 1e-12}

    @pytest.mark.parametrize("solver", ["gd", "sgd", "dcd"])
    def test_a_run_stops_when_the_gap_falls_slowly(self, solver, slow):
        (X, y), parameters = slow
        model = LinearSVC(solver=solver, early_stopping=True, max_time=20.0, **parameters)
        model.fit(X, y)  # a warning would be an error
        certificate, n_iter = model.certificate_, model.n_iter_
        assert certificate.status == "early_stopped"
        assert model.fit_status_ == 1
        assert not certificate.is_optimal
        assert certificate.relative_gap > model.tol
        value = primal(X, y, model.coef_[0], model.intercept_[0], np.full(len(y), model.C))
        assert certificate.primal_objective == pytest.approx(value, rel=1e-9)

        def gap_after(epochs):
            other = LinearSVC(solver=solver, max_iter=epochs, **parameters)
            return fit(other, X, y).certificate_.relative_gap

        # It was slow over what the last looks at the gap, a quarter of the epochs apart, could
        # see; a fifth is granted, since the end of a run is one more look for a better gap.
        assert n_iter >= 11
        window = max(10, int(0.3 * n_iter))
        slow = 0.9 ** (window / 10)
        assert gap_after(n_iter) == pytest.approx(certificate.relative_gap, rel=0.1)
        assert 0.8 * slow * gap_after(n_iter - window) < certificate.relative_gap
        # Without it the run goes on and gets further.
        assert gap_after(3 * n_iter) < certificate.relative_gap

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_a_run_that_gets_there_is_not_stopped(self, solver):
        X, y = clouds(300)
        options = {"loss": "hinge", "C": 1e-3, "solver": solver, "tol": 3e-2}
        model = LinearSVC(early_stopping=True, **options).fit(X, y)
        assert model.fit_status_ == 0
        assert model.certificate_.status == "optimal"
        np.testing.assert_array_equal(model.coef_, LinearSVC(**options).fit(X, y).coef_)

    @pytest.mark.parametrize("solver", ["auto", "cmu", "ipm"])
    def test_it_changes_nothing_for_the_exact_solvers(self, solver, slow):
        (X, y), parameters = slow
        options = parameters | {"solver": solver, "tol": 1e-9}
        model = LinearSVC(early_stopping=True, **options).fit(X, y)
        np.testing.assert_array_equal(model.coef_, LinearSVC(**options).fit(X, y).coef_)

    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    def test_auto_on_many_features_is_descent_that_stops(self, loss, slow):
        (X, y), parameters = slow
        X = csr_array(X)
        # Of 6000 columns the same 40 are in use: no method that needs all pairs of them will do.
        X = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], 6000))
        options = parameters | {"loss": loss, "max_time": 20.0}
        model = LinearSVC(early_stopping=True, **options).fit(X, y)  # a warning would be an error
        assert model.certificate_.status == "early_stopped"
        assert model.certificate_.solver == "dcd"
        assert model.certificate_.relative_gap > model.tol
        alone = LinearSVC(solver="dcd", early_stopping=True, **options).fit(X, y)
        np.testing.assert_array_equal(model.coef_, alone.coef_)
        longer = LinearSVC(max_iter=3 * model.n_iter_, **options)
        assert fit(longer, X, y).n_iter_ > model.n_iter_
        assert longer.certificate_.relative_gap < model.certificate_.relative_gap

    def test_other_ends_still_warn(self, slow):
        (X, y), parameters = slow
        model = LinearSVC(solver="gd", early_stopping=True, max_iter=2, **parameters)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, y)

    def test_regression(self):
        X, _ = clouds(400, n_features=20)
        y = X[:, 0] + np.random.default_rng(0).standard_normal(400)
        model = LinearSVR(C=100.0, solver="sgd", tol=1e-12, early_stopping=True).fit(X, y)
        assert model.certificate_.status == "early_stopped"


@pytest.mark.parametrize("verbose", [1, 2])
@pytest.mark.parametrize("classes", [2, 4])
def test_progress_is_shown_for_any_number_of_classes(verbose, classes, capsys):
    pytest.importorskip("tqdm")
    X, y = clouds(3000, n_features=100)
    y = y if classes == 2 else np.random.default_rng(0).integers(0, classes, len(y))
    options = LONG | {"solver": "gd", "max_time": 1.0}
    model = fit(LinearSVC(verbose=verbose, **options), X, y)
    out, err = capsys.readouterr()
    assert err == ""
    assert f"[gd] {model.certificate_.status}: " in out.splitlines()[-1]
    reports = out.count("iterations=")
    assert reports >= 3
    if verbose == 2:
        lines = [line for line in out.splitlines() if line.startswith("[gd] iterations=")]
        assert len(lines) == reports
    quiet = fit(LinearSVC(**options), X, y)
    assert capsys.readouterr().out == ""
    assert len(quiet.certificates_) == len(model.certificates_)


def test_a_callback_sees_the_sum_of_the_classes():
    X, _ = clouds(3000, n_features=100)
    y = np.random.default_rng(0).integers(0, 4, len(X))
    records = []
    fit(LinearSVC(solver="gd", callback=records.append, **(LONG | {"max_time": 1.0})), X, y)
    assert len(records) > 3
    assert {r["n_problems"] for r in records} == {4}
    solved = [r["n_solved"] for r in records]
    assert solved == sorted(solved)
    assert all(0 <= s <= 4 for s in solved)
    epochs = [r["n_iter"] for r in records]
    assert epochs == sorted(epochs)
    assert [r["elapsed"] for r in records] == sorted(r["elapsed"] for r in records)
