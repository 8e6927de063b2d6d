"""Several problems at a time, one a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from exactsvm._progress import Record

Observer = Callable[[dict[str, Any]], bool]
T = TypeVar("T", bound=Any)

_SUMMED = ("n_iter", "dual_objective", "n_free", "n_bounded", "n_kernel_columns")


class _Watch:
    """Sums the reports of several problems, and halts all of them once one is asked to stop."""

    def __init__(self, count: int, observer: Observer | None) -> None:
        self._observer = observer
        self._count = count
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._records: dict[int, Record] = {}
        self._solved = 0
        self._halt = threading.Event()
        self.errors: list[BaseException] = []

    def halt(self) -> None:
        self._halt.set()

    def note_solved(self) -> None:
        with self._lock:
            self._solved += 1

    def observe(self, k: int, record: Record) -> bool:
        """Take the report of problem k; True if it is to stop."""
        if self._observer is not None and not self._halt.is_set():
            with self._lock:
                self._records[k] = record
                try:
                    if self._observer(self._sum()):
                        self.halt()
                except BaseException as error:
                    self.errors.append(error)
                    self.halt()
        return self._halt.is_set()

    def _sum(self) -> Record:
        """One report of all problems that have reported: sums, and the largest violation."""
        records = self._records.values()
        total: Record = {key: sum(r[key] for r in records) for key in _SUMMED}
        total["solver"] = next(iter(records))["solver"]
        total["kkt_violation"] = max(r["kkt_violation"] for r in records)
        total["elapsed"] = time.monotonic() - self._begin
        return total | {"n_solved": self._solved, "n_problems": self._count}


def solve_all(
    one: Callable[[int, Observer], T], count: int, n_threads: int, observer: Observer | None
) -> list[T]:
    """Return one(0, observe), ..., one(count - 1, observe).

    `observer` gets the sum of the reports; once it or Ctrl-C asks for it, every problem halts. What
    it raises is raised here, except for KeyboardInterrupt, which marks the results as interrupted.
    """
    watch = _Watch(count, observer)

    def work(k: int) -> T:
        result = one(k, lambda record: watch.observe(k, record))
        watch.note_solved()
        return result

    interrupted = False
    with ThreadPoolExecutor(n_threads) as pool:
        tasks = [pool.submit(work, k) for k in range(count)]
        try:
            results = [task.result() for task in tasks]
        except KeyboardInterrupt:
            watch.halt()
            interrupted = True
            results = [task.result() for task in tasks]
    if watch.errors:
        raise watch.errors[0]
    return [result.as_interrupted() for result in results] if interrupted else results
