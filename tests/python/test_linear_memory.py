"""Peak memory of the linear solvers: no copy of X, and few numbers a row beside it."""

import os
import subprocess
import sys
import textwrap

import pytest

MEMORY = """
    import sys
    import numpy as np
    from exactsvm import LinearSVC

    def peak():
        # of this program: ru_maxrss begins with that of the process that started it
        with open("/proc/self/status") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    rows, columns, solver, loss = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    rng = np.random.default_rng(0)
    X = np.empty((rows, columns), dtype=np.float32)
    for start in range(0, rows, 1000):
        X[start : start + 1000] = rng.standard_normal((len(X[start : start + 1000]), columns))
    y = X[:, 0] > 0
    LinearSVC(loss=loss, max_iter=1, solver=solver).fit(X[:100], y[:100])
    before = peak()
    LinearSVC(loss=loss, C=1e-3, solver=solver, max_iter=3, tol=1e-12, n_jobs=2).fit(X, y)
    print(X.nbytes, peak() - before)
"""

# Bytes a row: the vectors of the solver, all in float64, with the problem and the labels.
A_ROW = {
    ("auto", "hinge"): 42,
    ("cmu", "hinge"): 83,
    ("ipm", "hinge"): 89,
    ("dcd", "hinge"): 42,
    ("gd", "hinge"): 38,
    ("sgd", "hinge"): 42,
    ("auto", "squared_hinge"): 42,
    ("cmu", "squared_hinge"): 83,
    ("ipm", "squared_hinge"): 65,
    ("dcd", "squared_hinge"): 42,
    ("gd", "squared_hinge"): 38,
    ("sgd", "squared_hinge"): 42,
}


def peak(rows, columns, solver, loss):
    """Bytes of the samples, and what a fit adds to the peak."""
    script = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(MEMORY)]
    run = subprocess.run(
        [*script, str(rows), str(columns), solver, loss],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    size, grown = map(int, run.stdout.split())
    return size, grown


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read as on Linux")
@pytest.mark.parametrize(("solver", "loss"), A_ROW)
def test_memory_beside_the_samples(solver, loss):
    few, many = 300_000, 900_000
    _, small = peak(few, 20, solver, loss)
    _, large = peak(many, 20, solver, loss)
    # What does not grow with the rows: matrices over features, packed rows, threads.
    assert (large - small) / (many - few) < A_ROW[solver, loss]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read as on Linux")
@pytest.mark.parametrize(("solver", "loss"), A_ROW)
def test_no_copy_of_the_samples(solver, loss):
    size, grown = peak(200_000, 250, solver, loss)
    assert size == 200_000_000
    # An eighth of X at most; a copy would be all of it.
    assert grown < A_ROW[solver, loss] * 200_000 + 4e6
