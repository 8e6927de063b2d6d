"""How many threads a call may use."""

import multiprocessing
import os
from functools import lru_cache

import joblib

from exactsvm._parameters import check_integer, refuse

_EXPECTED = "None or an integer other than 0 (negative counts from the number of cores)"


@lru_cache(maxsize=1)
def _machine_cores() -> int:
    # joblib knows container quotas, but reads files to learn them: ask once.
    return int(joblib.cpu_count())


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # may change during the life of a process, and is cheap
        return max(1, min(_machine_cores(), len(os.sched_getaffinity(0))))
    return _machine_cores()


def check_n_jobs(n_jobs: object) -> None:
    """Check n_jobs without resolving it."""
    if n_jobs is not None and check_integer("n_jobs", n_jobs, _EXPECTED) == 0:
        refuse("n_jobs", _EXPECTED, n_jobs)


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads of one call.

    None is every available core, but one in a worker process (joblib, loky, multiprocessing),
    where the other cores belong to the other workers. Negative numbers count as in joblib.
    """
    if n_jobs is None:
        return 1 if multiprocessing.parent_process() is not None else _available_cores()
    if n_jobs < 0:
        return max(1, _available_cores() + 1 + int(n_jobs))
    return int(n_jobs)
