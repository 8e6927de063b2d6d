"""Progress of a running solver: user callback, progress bar, table.

Everything is written through `sys.stdout`, so it shows in notebooks and can be redirected.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from exactsvm._certificate import Certificate
from exactsvm._solvers import n_steps

Record = dict[str, Any]
Callback = Callable[[Record], Any]

_COLUMNS = (
    ("n_iter", "iterations", 12, "d"),
    ("dual_objective", "dual objective", 20, ".12g"),
    ("kkt_violation", "violation", 11, ".2e"),
    ("n_free", "free", 8, "d"),
    ("n_bounded", "bounded", 8, "d"),
    ("n_kernel_columns", "columns", 9, "d"),
    ("elapsed", "seconds", 9, ".2f"),
)


class _Table:
    """One fixed-width row a report."""

    def __init__(self) -> None:
        self._headed = False

    def update(self, record: Record) -> None:
        if not self._headed:
            self._headed = True
            self._write("".join(f"{title:>{width}}" for _, title, width, _ in _COLUMNS))
        self._write("".join(f"{record[key]:>{width}{form}}" for key, _, width, form in _COLUMNS))

    def close(self) -> None:
        sys.stdout.flush()

    @staticmethod
    def _write(line: str) -> None:
        sys.stdout.write(line + "\n")


class _Lines:
    """One self-explaining line a report."""

    def update(self, record: Record) -> None:
        fields = (f"{title}={record[key]:{form}}" for key, title, _, form in _COLUMNS)
        sys.stdout.write(f"[{record.get('solver', 'exactsvm')}] {', '.join(fields)}\n")

    def close(self) -> None:
        sys.stdout.flush()


class _Bar:
    """A bar over the decades between the first violation and the tolerance."""

    def __init__(self, tqdm: Any, tol: float) -> None:
        self._tqdm = tqdm
        self._tol = tol
        self._bar: Any = None
        self._first = 0.0

    def update(self, record: Record) -> None:
        # Of several problems the violation is that of those at work: their number is shown instead.
        if "n_problems" in record:
            left, first = float(record["n_problems"] - record["n_solved"]), record["n_problems"]
        elif math.isfinite(record["kkt_violation"]):
            left = math.log10(max(record["kkt_violation"], self._tol) / self._tol)
            first = max(left, 1e-3)
        else:  # not known yet
            return
        if self._bar is None:
            self._first = float(first)
            self._bar = self._tqdm(
                total=self._first,
                desc=str(record.get("solver", "fit")),
                file=sys.stdout,
                leave=False,
                bar_format="{desc} |{bar}| {percentage:3.0f}% [{elapsed}{postfix}]",
            )
        # The violation may rise for a while: the bar shows the best so far.
        self._bar.n = min(max(self._bar.n, self._first - left), self._first)
        self._bar.set_postfix(
            violation=f"{record['kkt_violation']:.1e}",
            iterations=record["n_iter"],
            free=record["n_free"],
        )

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _steps(certificate: Certificate) -> str:
    unit = "pair steps" if certificate.solver == "smo" else "cycles"
    return f"{n_steps(certificate)} {unit}"


def _make_view(verbose: int, tol: float) -> _Table | _Lines | _Bar | None:
    if verbose == 0:
        return None
    if verbose >= 2:
        return _Lines()
    try:
        return _Bar(importlib.import_module("tqdm.auto").tqdm, tol)
    except ImportError:
        return _Table()


class Progress:
    """Observer of one run: shows its progress, calls the user, remembers an interruption.

    Use as a context manager around the run and give `observer` to the compiled module.
    """

    def __init__(self, verbose: int, callback: Callback | None, tol: float) -> None:
        self._view = _make_view(verbose, tol)
        self._callback = callback
        self.interrupted = False

    @property
    def observer(self) -> Callable[[Record], bool] | None:
        """What the compiled module calls; None if nobody listens."""
        return None if self._view is None and self._callback is None else self._observe

    def _observe(self, record: Record) -> bool:
        try:
            if self._view is not None:
                self._view.update(record)
            return self._callback is not None and bool(self._callback(record))
        except KeyboardInterrupt:
            # Ctrl-C while Python code runs here: stop as if it had come a moment later, so that
            # the best model is kept.
            self.interrupted = True
            return True

    def conclude(self, certificate: Certificate) -> None:
        """Say how the run ended."""
        if self._view is not None:
            self._view.close()
            sys.stdout.write(
                f"[{certificate.solver}] {certificate.status}: {_steps(certificate)}, "
                f"violation {certificate.kkt_violation:.2e}, "
                f"relative gap {certificate.relative_gap:.2e}\n"
            )
            self._view = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._view is not None:
            self._view.close()
