"""Peak memory of the linear solvers: no copy of X."""

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

    rows, columns, solver = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rng = np.random.default_rng(0)
    X = np.empty((rows, columns), dtype=np.float32)
    for start in range(0, rows, 1000):
        X[start : start + 1000] = rng.standard_normal((len(X[start : start + 1000]), columns))
    y = X[:, 0] > 0
    LinearSVC(loss="hinge", max_iter=1, solver=solver).fit(X[:100], y[:100])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    LinearSVC(loss="hinge", C=1e-3, solver=solver, max_iter=3, tol=1e-12).fit(X, y)
    print(X.nbytes, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read as on Linux")
@pytest.mark.parametrize("solver", ["ipm", "dcd", "gd", "sgd"])
def test_the_samples_are_not_copied(solver):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(MEMORY), "100000", "500", solver],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    size, grown = map(int, run.stdout.split())
    assert size == 200_000_000
    # The solvers' own vectors and matrices; a copy of X would be 200 MB, one in float64 400.
    assert grown < 0.35 * size
