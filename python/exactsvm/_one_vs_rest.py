"""Several problems at a time, one a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from exactsvm._progress import Callback

Observer = Callable[[dict[str, Any]], bool]
T = TypeVar("T", bound=Any)


def solve_all(
    one: Callable[[int, Observer], T], count: int, n_threads: int, callback: Callback | None
) -> list[T]:
    """Return one(0, observer), ..., one(count - 1, observer).

    The observer halts every problem once the user's callback or Ctrl-C asked for it. What the
    callback raises is raised here, except for KeyboardInterrupt, which marks the results as
    interrupted.
    """
    halt = threading.Event()
    lock = threading.Lock()
    errors: list[BaseException] = []

    def observe(record: dict[str, Any]) -> bool:
        if callback is not None and not halt.is_set():
            with lock:
                try:
                    if callback(record):
                        halt.set()
                except BaseException as error:
                    errors.append(error)
                    halt.set()
        return halt.is_set()

    interrupted = False
    with ThreadPoolExecutor(n_threads) as pool:
        tasks = [pool.submit(one, k, observe) for k in range(count)]
        try:
            results = [task.result() for task in tasks]
        except KeyboardInterrupt:
            halt.set()
            interrupted = True
            results = [task.result() for task in tasks]
    if errors and not isinstance(errors[0], KeyboardInterrupt):
        raise errors[0]
    if interrupted or errors:
        results = [result._replace(interrupted=True) for result in results]
    return results
