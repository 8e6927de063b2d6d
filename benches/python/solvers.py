"""The kernel solvers of this package against one another: the measurement behind `solver="auto"`.

Prints a table of seconds, iterations and outcomes of one run; `make bench-solvers` runs it. All
problems are those of the tests, so that nothing has to be fetched.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))

import exactsvm
from generators import checkerboard, clouds
from reference import cases


def problems(every):
    """Name, X, y and the parameters of each problem."""
    for c in cases()[::every]:
        X, y = c.load()
        yield c.name, X, y, c.estimator_parameters
    for n in (2000, 6000, 20000):
        X, y = clouds(n)
        for C in (1.0, 100.0) if n < 20000 else (1.0,):
            yield f"clouds{n}-rbf-C{C:g}", X, y, {"C": C}
    for n in (2000, 6000):
        X, y = clouds(n)
        yield f"clouds{n}-rbf-narrow-C1", X, y, {"C": 1.0, "gamma": 1.0}
    for C in (1.0, 1e4):
        X, y = checkerboard(4000, flipped=0.1)
        yield f"checkerboard4000-rbf-C{C:g}", X, y, {"C": C, "gamma": 1.0}


def fit(X, y, parameters, solver, tol, cap):
    """Seconds (median of three where it is short) and certificate."""
    seconds = []
    while not seconds or (len(seconds) < 3 and sum(seconds) < 0.5):
        begin = time.perf_counter()
        model = exactsvm.SVC(**parameters, solver=solver, tol=tol, max_time=cap, n_jobs=2)
        model.fit(X, y)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds)), model.certificate_


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=4, help="of the reference problems")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds for one fit")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3, 1e-9])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for tol in arguments.tol:
        print(f"\ntol = {tol:g}\n")
        print("| problem | n | free | cmu | smo | smo/cmu | pair steps | smo ended |")
        print("| --- | --: | --: | --: | --: | --: | --: | --- |")
        ratios = []
        for name, X, y, parameters in problems(arguments.every):
            cmu, c = fit(X, y, parameters, "cmu", tol, arguments.cap)
            smo, s = fit(X, y, parameters, "smo", tol, arguments.cap)
            ratios.append(smo / cmu)
            print(
                f"| {name} | {len(y)} | {c.n_free} | {cmu:.3f} | {smo:.3f} | {ratios[-1]:.2f} "
                f"| {s.n_pair_steps} | {s.status} |",
                flush=True,
            )
        mean = math.exp(np.mean(np.log(ratios)))
        faster = sum(r < 1 for r in ratios)
        print(f"\nGeometric mean smo/cmu {mean:.2f}, from {min(ratios):.2f} to {max(ratios):.1f};")
        print(f"smo the faster in {faster} of {len(ratios)}.")


if __name__ == "__main__":
    main()
