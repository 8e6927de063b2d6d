"""Fits cases with one library, in a process of its own that may be killed.

Reads one JSON request a line and answers with one JSON line. Only `fit` is timed.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))

import numpy as np

from evaluate import alpha_of, intercept_of
from reference import case

COUNTERS = (
    "status",
    "n_cycles",
    "n_sweeps",
    "n_newton_steps",
    "n_pair_steps",
    "n_appends",
    "n_deletes",
    "n_dependent",
    "n_refactorizations",
    "n_kernel_columns",
    "n_cache_hits",
    "n_free",
    "n_bounded",
    "precision_floor",
    "kkt_violation",
    "relative_gap",
    "seconds",
)


def exactsvm_model(threads, tol, **parameters):
    import exactsvm

    return exactsvm.SVC(**parameters, tol=tol or 1e-9, n_jobs=threads)


def sklearnex_model(threads, tol, **parameters):
    from sklearnex.svm import SVC

    return SVC(**parameters, tol=tol or 1e-9, n_jobs=threads, cache_size=1000)


def sklearn_model(threads, tol, **parameters):
    from sklearn.svm import SVC

    # One thread is all it has; `tol` stays at its default unless one is asked for.
    return SVC(**parameters, cache_size=1000, **({"tol": tol} if tol else {}))


MODELS = {"exactsvm": exactsvm_model, "sklearnex": sklearnex_model, "sklearn": sklearn_model}


def version(library):
    """Of the library under test, as it says itself."""
    from importlib.metadata import version as installed

    names = {"sklearnex": "scikit-learn-intelex", "sklearn": "scikit-learn"}
    return installed(names.get(library, library))


def timed(make, X, y):
    model = make()
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start, model


def fit_case(library, request):
    c = case(request["case"])
    X, y = c.load()

    def make():
        return MODELS[library](request["threads"], request["tol"], **c.estimator_parameters)

    print(json.dumps({"started": True}), flush=True)
    seconds, model = timed(make, X, y)
    print(json.dumps({"first": seconds}), flush=True)
    times = [seconds]
    # Long fits vary little and short ones much.
    more = 0 if seconds > 5 else 2 if seconds > 0.5 else 4
    times += [timed(make, X, y)[0] for _ in range(more)]
    answer = {
        "seconds": median(times),
        "fastest": min(times),
        "fits": len(times),
        "alpha": alpha_of(model, c.n).tolist(),
        "intercept": intercept_of(model),
    }
    if library == "exactsvm":
        answer["work"] = {name: getattr(model.certificate_, name) for name in COUNTERS}
    if library == "sklearnex":
        answer["accelerated"] = hasattr(model, "_onedal_estimator")
    return answer


def fixed_cost(library, request):
    """Microseconds of a fit that has next to nothing to do: 100 points, 10 columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 10))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(100) > 0, 1.0, -1.0)

    def make():
        return MODELS[library](request["threads"], request["tol"], gamma="scale")

    print(json.dumps({"started": True}), flush=True)
    times = [timed(make, X, y)[0] for _ in range(300)]
    print(json.dumps({"first": times[0]}), flush=True)
    return {"microseconds": 1e6 * median(times), "fastest_microseconds": 1e6 * min(times)}


def main():
    library = sys.argv[1]
    warnings.simplefilter("ignore")
    # Imports, thread pools and code paths are warmed up before anything is timed.
    X = np.random.default_rng(1).standard_normal((60, 4))
    for _ in range(3):
        MODELS[library](2, None, gamma="scale").fit(X, np.where(X[:, 0] > 0, 1.0, -1.0))
    print(json.dumps({"ready": version(library)}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = (
                fixed_cost(library, request)
                if "case" not in request
                else fit_case(library, request)
            )
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
