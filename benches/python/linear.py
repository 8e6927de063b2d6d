"""Seconds to a relative suboptimality of the linear hinge problem, next to other libraries.

Everybody minimises P(w) = 1/2 |w|^2 + C sum_i max(0, 1 - y_i w'x_i) on X with a column of ones,
without an intercept: the others regularise theirs. For every level (P - P*) / P* the table shows
the cheapest run that got there, of a series of runs at ever tighter settings, each timed in a
process of its own that is killed at the cap; P is recomputed here from the weights. P* is the least
value that any run found, and known to within the gap that its certificate states.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import scipy.sparse as sp

LEVELS = (1e-2, 1e-3, 1e-4, 1e-6)
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DATA = (
    "magic",
    "spambase",
    "higgs10k",
    "mnist5k",
    "news20",
    "census30k",
    "classif",
    "sparse_linear",
)

# For every library the runs, from loose to tight.
SERIES = {
    "exactsvm": [{"tol": t} for t in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)],
    "LinearSVC": [
        {"tol": t, "max_iter": k}
        for t, k in ((1e-1, 1000), (1e-3, 1000), (1e-5, 10_000), (1e-7, 100_000))
    ],
    "SGDClassifier": [
        {"tol": 1e-3},
        {"tol": 1e-6, "n_iter_no_change": 20, "max_iter": 1000},
        {"tol": 1e-6, "n_iter_no_change": 20, "max_iter": 1000, "average": True},
    ],
    "liblinear": [{"tol": t} for t in (1e-1, 1e-3, 1e-6)],
    "snapml": [{"tol": t, "threads": k} for k in (1, 2) for t in (1e-1, 1e-3, 1e-6, 1e-9)],
}
NEEDS = {"liblinear": "liblinear", "snapml": "snapml"}


def load(folder, name):
    """X with a column of ones, and y of -1.0 and +1.0."""
    sys.path.insert(0, str(folder))
    if name in ("classif", "sparse_linear"):
        import gen

        X, y = gen.classif(200_000, 50) if name == "classif" else gen.sparse_linear(200_000, 10_000)
    else:
        import problems

        X, y = problems.problem(name)
    ones = np.ones((X.shape[0], 1))
    X = sp.csr_matrix(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
    return X if sp.issparse(X) else np.ascontiguousarray(X), y.astype(np.float64)


def primal(X, y, w, C):
    w = np.asarray(w, dtype=np.float64).ravel()
    return 0.5 * float(w @ w) + C * float(np.maximum(0.0, 1.0 - y * (X @ w)).sum())


def fit(library, X, y, C, threads, setting):
    """Seconds, weights, certificate; only the fit is timed."""
    setting = dict(setting)
    certificate = None
    if library == "liblinear":
        from liblinear.liblinearutil import parameter, problem, train

        p = problem(y, X)  # its own form of the data, made beforehand
        start = time.perf_counter()
        model = train(p, parameter(f"-s 3 -c {C} -B -1 -e {setting['tol']} -q"))
        seconds = time.perf_counter() - start
        w, _ = model.get_decfun()
        return seconds, np.array(w) * (1 if model.get_labels()[0] == 1 else -1), None
    if library == "exactsvm":
        from exactsvm import LinearSVC

        model = LinearSVC(loss="hinge", C=C, fit_intercept=False, n_jobs=threads, **setting)
    elif library == "LinearSVC":
        from sklearn.svm import LinearSVC

        model = LinearSVC(loss="hinge", C=C, fit_intercept=False, **setting)
    elif library == "SGDClassifier":
        from sklearn.linear_model import SGDClassifier

        alpha = 1.0 / (C * len(y))
        model = SGDClassifier(alpha=alpha, fit_intercept=False, random_state=0, **setting)
    else:
        from snapml import SupportVectorMachine

        model = SupportVectorMachine(
            loss="hinge",
            regularizer=1.0 / C,
            fit_intercept=False,
            max_iter=100_000,
            n_jobs=setting.pop("threads"),
            **setting,
        )
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    if library == "exactsvm":
        c = model.certificate_
        certificate = {"relative_gap": c.relative_gap, "solver": c.solver, "status": c.status}
    return seconds, model.coef_, certificate


def worker(path):
    """One timed run, in a process of its own; a small fit before it warms the library up."""
    warnings.simplefilter("ignore")
    request = json.loads(Path(path).read_text())
    X, y = load(request["data_folder"], request["data"])
    common = (request["threads"], request["setting"])
    fit(request["library"], X[:50], np.where(np.arange(50) % 2, 1.0, -1.0), 1.0, *common)
    print("START", flush=True)
    seconds, w, certificate = fit(request["library"], X, y, request["C"], *common)
    value = primal(X, y, w, request["C"])
    print(json.dumps({"seconds": seconds, "primal": value, "certificate": certificate}), flush=True)


def run(request, cap):
    environment = dict(os.environ) | dict.fromkeys(THREAD_VARIABLES, str(request["threads"]))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(request))
        file.flush()
        process = subprocess.Popen(
            [sys.executable, __file__, "--worker", file.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        for line in process.stdout:
            if line.startswith("START"):
                break
        try:
            output, _ = process.communicate(timeout=cap)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return {"seconds": cap, "primal": None}
    answers = [line for line in output.splitlines() if line.startswith("{")]
    return json.loads(answers[-1]) if answers else {"error": f"exit {process.returncode}"}


def time_to(answers, least, level):
    """Seconds of the cheapest run within the level, None if there is none."""
    good = [
        a["seconds"]
        for a in answers
        if a.get("primal") is not None and a["primal"] - least <= level * least
    ]
    return min(good, default=None)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the data sets, with their loaders")
    parser.add_argument("--sets", default=",".join(DATA), help="which, separated by commas")
    parser.add_argument("--C", default="0.1,1,100")
    parser.add_argument("--libraries", default=",".join(SERIES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cap", type=float, default=60, help="seconds for a run (60)")
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parents[1] / "results" / "linear.json"
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser, parser.parse_args()


def main():
    parser, options = arguments()
    if options.worker:
        worker(options.worker)
        return
    if options.data is None:
        parser.error("--data is needed")
    libraries = [
        name
        for name in options.libraries.split(",")
        if name not in NEEDS or importlib.util.find_spec(NEEDS[name])
    ]
    print(f"load {os.getloadavg()[0]:.1f}, {options.threads} threads, cap {options.cap:.0f} s")
    head = "".join(f"{name:>16}" for name in libraries)
    print(f"{'data':16}{'C':>6}{'level':>8}{head}", flush=True)
    results, ratios = [], {(name, level): [] for name in libraries for level in LEVELS}
    for name in options.sets.split(","):
        for C in map(float, options.C.split(",")):
            answers = {}
            for library in libraries:
                answers[library] = []
                for setting in SERIES[library]:
                    request = {
                        "library": library,
                        "data_folder": str(options.data),
                        "data": name,
                        "C": C,
                        "threads": options.threads,
                        "setting": setting,
                    }
                    answer = run(request, options.cap)
                    answers[library].append(answer | {"setting": setting})
                    if answer.get("primal") is None and "threads" not in setting:
                        break  # tighter settings take longer
            found = [a["primal"] for runs in answers.values() for a in runs if a.get("primal")]
            least = min(found, default=float("nan"))
            results.append({"data": name, "C": C, "least": least, "answers": answers})
            for level in LEVELS:
                times = {k: time_to(v, least, level) for k, v in answers.items()}
                cells = "".join(f"{'-' if t is None else f'{t:.3f}':>16}" for t in times.values())
                print(f"{name:16}{C:>6g}{level:>8.0e}{cells}", flush=True)
                ours = times.get("exactsvm")
                for library, t in times.items():
                    if ours and library != "exactsvm":
                        ratios[library, level].append(t / ours if t else None)
    for level in LEVELS:
        for library in libraries:
            there = [r for r in ratios[library, level] if r is not None]
            if ratios[library, level]:
                mean = f"{geometric_mean(there):.2f}, least {min(there):.2f}" if there else "-"
                never = len(ratios[library, level]) - len(there)
                print(
                    f"{level:.0e} {library}: seconds over ours where it got there, geometric "
                    f"mean {mean}; never got there in {never}"
                )
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
