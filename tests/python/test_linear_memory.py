"""Peak memory of the linear solvers: no copy of X, and few numbers a row beside it."""

import os
import subprocess
import sys
import textwrap

import pytest

MEMORY = """
    import resource
    import sys
    import numpy as np
    from exactsvm import LinearSVC

    def peak():
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

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

# Bytes a row: the vectors of the solver, all in float64, with the problem and the labels. (The
# interior-point method has ten for the hinge, and the best dual point.)
A_ROW = {"auto": 40, "cmu": 75, "ipm": 95, "dcd": 40, "gd": 40, "sgd": 40}
# Matrices over features, rows packed for them, what threads and allocator take.
FIXED = 4e6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read as on Linux")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", A_ROW)
def test_memory_beside_the_samples(solver, loss):
    rows = 200_000
    script = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(MEMORY)]
    run = subprocess.run(
        [*script, str(rows), "250", solver, loss],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    size, grown = map(int, run.stdout.split())
    assert size == 200_000_000
    # An eighth of X at most; a copy would be all of it.
    assert grown < A_ROW[solver] * rows + FIXED
