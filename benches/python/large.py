"""Problems of 5,000 to 100,000 rows, next to scikit-learn-intelex and scikit-learn.

    python benches/python/large.py --data FOLDER [--suite easy|hard|growth]

One fit a row, each in a process of its own that may be killed; answers are judged in float64 from
alpha alone (kernel and sums by NumPy). The column `limit` is what the machine must do at least: the
kernel columns of the support vectors once, at the speed measured for a block of this problem, and
one Cholesky factorisation of the final free block, at the speed measured for 2,000 rows.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import geometric_mean

import numpy as np
from problems import load

HERE = Path(__file__).resolve().parent
EASY = [
    ("magic", 1),
    ("magic", 100),
    ("letter", 10),
    ("higgs10k", 1),
    ("spambase", 1),
    ("ring", 1),
    ("mnist5k", 10),
    ("banana", 1),
    ("classification:50000", 1),
]
HARD = [
    ("magic", 1e4),
    ("letter", 1e4),
    ("higgs10k", 1e4),
    ("spambase", 1e4),
    ("ring", 1e4),
    ("mnist5k", 1e4),
    ("banana", 1e4),
    ("classification:5000", 1e4),
]
GROWTH = [(f"classification:{n}", 1) for n in (12500, 25000, 50000, 100000)]


def fit_here(request):
    """In the child: fit, judge, print one line."""
    import resource
    import warnings

    warnings.simplefilter("ignore")
    X, y, gamma = load(request["name"], request["data"])
    parameters = {
        "C": request["C"],
        "gamma": gamma,
        "tol": request["tol"],
        "cache_size": request["cache"],
    }
    if request["library"] == "exactsvm":
        from exactsvm import SVC
    elif request["library"] == "sklearnex":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    if request["library"] != "sklearn":
        parameters["n_jobs"] = request["threads"]
    SVC(gamma="scale").fit(X[:60] + np.arange(60)[:, None], np.arange(60) % 2)
    print("started", flush=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = SVC(**parameters).fit(X, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("fitted", flush=True)
    answer = {"seconds": seconds, "peak_mb": peak / 1024, "added_mb": (peak - before) / 1024}
    if request["library"] == "exactsvm":
        c = model.certificate_
        answer |= {"status": c.status, "floor": c.precision_floor, "phases": c.seconds}
        answer |= {k: getattr(c, k) for k in ("n_cycles", "n_newton_steps", "n_deletes", "n_free")}
        answer["columns"] = c.n_kernel_columns
        answer["limit"] = limit(X, gamma, len(model.support_), c.n_free)
    answer |= judge(X, y, request["C"], gamma, model)
    print(json.dumps(answer), flush=True)


def limit(X, gamma, n_support, n_free):
    import exactsvm

    part = X[:: max(1, len(X) // 2000)][:2000]
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        exactsvm.pairwise_kernel(part, part[:1000], kernel="rbf", gamma=gamma, n_jobs=2)
        best = min(best, time.perf_counter() - start)
    columns = best / (len(part) * 1000) * len(X) * n_support
    K = exactsvm.pairwise_kernel(part, kernel="rbf", gamma=gamma) + np.eye(len(part))
    start = time.perf_counter()
    np.linalg.cholesky(K)
    factor = (time.perf_counter() - start) * (n_free / len(part)) ** 3
    return columns + factor


def judge(X, y, C, gamma, model):
    """Violation and relative gap, in float64."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(np.ravel(model.dual_coef_))
    support = np.flatnonzero(alpha)
    S, coefficients = X[support], (alpha * y)[support]
    square, f = (S * S).sum(axis=1), np.empty(len(y))
    for first in range(0, len(y), 500):
        part = X[first : first + 500]
        K = (part * part).sum(axis=1)[:, None] + square[None, :] - 2 * part @ S.T
        f[first : first + 500] = np.exp(-gamma * np.maximum(K, 0)) @ coefficients
    v = y - f
    rise = np.where(y > 0, alpha < C, alpha > 0)
    fall = np.where(y > 0, alpha > 0, alpha < C)
    dual = alpha.sum() - 0.5 * (alpha * y) @ f
    b = float(np.ravel(model.intercept_)[0])
    primal = 0.5 * (alpha * y) @ f + C * np.maximum(0, 1 - y * (f + b)).sum()
    return {
        "violation": float(v[rise].max() - v[fall].min()),
        "gap": float((primal - dual) / max(1, dual)),
        "n_support": len(support),
        "n_rows": len(y),
    }


def run(request, cap):
    """One fit in a process of its own, killed after `cap` seconds of fitting."""
    foreign = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    environment = {k: v for k, v in os.environ.items() if k not in foreign}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    child = subprocess.Popen(
        [sys.executable, __file__, "--child", json.dumps(request)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    import threading

    fitting = threading.Event()
    killed = threading.Event()

    def guard():
        fitting.wait(300)
        if not done.wait(cap):
            killed.set()
            child.kill()

    done = threading.Event()
    threading.Thread(target=guard, daemon=True).start()
    answer = None
    for line in child.stdout:
        if line.startswith("started"):
            fitting.set()
        elif line.startswith("fitted"):
            done.set()
        elif line.startswith("{"):
            answer = json.loads(line)
    child.wait()
    done.set()
    if killed.is_set():
        return {"seconds": float(cap), "unfinished": True}
    return answer or {"error": f"ended with code {child.returncode}"}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=".")
    parser.add_argument("--suite", choices=("easy", "hard", "growth"), default="easy")
    parser.add_argument("--tol", type=float, nargs="*", default=[1e-9, 1e-3])
    parser.add_argument("--libraries", default="exactsvm,sklearnex,sklearn")
    parser.add_argument("--filter", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", type=float, default=1000)
    parser.add_argument("--cap", type=float, default=120)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        fit_here(json.loads(options.child))
        return
    suite = {"easy": EASY, "hard": HARD, "growth": GROWTH}[options.suite]
    rows = []
    for tol in [1e-9] if options.suite == "hard" else options.tol:
        for name, C in suite:
            if options.filter and not any(f in name for f in options.filter.split(",")):
                continue
            row = {"name": name, "C": C, "tol": tol}
            for library in options.libraries.split(","):
                # scikit-learn cannot reach 1e-9 and is a rival at its own tolerance alone.
                if library == "sklearn" and tol < 1e-3:
                    continue
                request = {"name": name, "C": C, "tol": tol, "library": library}
                request |= {"data": options.data, "threads": options.threads}
                row[library] = run(request | {"cache": options.cache}, options.cap)
                a = row[library]
                print(
                    f"{name:22} C {C:<8g} tol {tol:<6g} {library:10} {a.get('seconds', -1):8.2f} s",
                    f"violation {a.get('violation', np.nan):8.1e} gap {a.get('gap', np.nan):8.1e}",
                    f"added {a.get('added_mb', -1):6.0f} MB",
                    f"limit {a['limit']:.2f}" if "limit" in a else "",
                    a.get("error", "unfinished" if a.get("unfinished") else ""),
                    flush=True,
                )
            rows.append(row)
        ours = [r for r in rows if r["tol"] == tol and "exactsvm" in r]
        rivals = [x for x in ("sklearnex", "sklearn") if all(x in r for r in ours)]
        if ours and rivals:
            ratio = [
                min(r[x]["seconds"] for x in rivals if "error" not in r[x])
                / r["exactsvm"]["seconds"]
                for r in ours
            ]
            print(
                f"tol {tol:g}: fastest of {', '.join(rivals)} / exactsvm: geometric mean "
                f"{geometric_mean(ratio):.2f}, least {min(ratio):.2f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
