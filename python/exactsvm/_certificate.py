"""The certificate: what is known about a solution, recomputed from its coefficients alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

OPTIMAL = frozenset({"optimal", "optimal_to_precision"})


@dataclass(frozen=True)
class Certificate:
    """What a solution has been proved to be, and the work that it took.

    The dual problem is to minimise q(x) = 1/2 x'Hx - c'x over the box 0 <= x <= u with the sums
    z'x of each group fixed. Objectives, gap and violation are recomputed in double precision from
    the returned coefficients; nothing is taken over from the running values of the solver.

    Parameters
    ----------
    primal_objective : float
        Value P of the primal problem at the weights that the coefficients imply.
    dual_objective : float
        Value D = -q(x) of the dual problem in the sense of maximisation, so that D <= P.
    duality_gap : float
        P - D, at least the distance of either value from the optimum. NaN where no gap can be
        claimed (status "stationary").
    relative_gap : float
        The gap divided by max(1, |D|).
    kkt_violation : float
        Largest violation m - M of the optimality conditions, in units of the decision function;
        not positive at an exact optimum. LIBSVM's stopping quantity.
    equality_residual : float
        Largest deviation of a group's sum z'x from its fixed value.
    box_residual : float
        Largest distance of a coefficient from its box.
    precision_floor : float
        Size of the rounding errors in the gradient: a smaller violation has no meaning.
    bias_interval : tuple of (float, float)
        For each group the interval of intercepts (minus the multiplier) that fit the coefficients.
        A point as soon as one variable is free.
    most_negative_curvature : float
        Most negative curvature that was met; 0 for a positive semidefinite kernel.
    status : str
        "optimal", "optimal_to_precision", "max_iter", "max_time", "interrupted", "stopped",
        "stalled", "unbounded" or "stationary".
    solver : str
        Name of the method.
    n_cycles, n_sweeps, n_newton_steps, n_pair_steps : int
        Cycles of the method, and the steps they were made of.
    n_appends, n_deletes, n_dependent, n_refactorizations : int
        Changes of the Cholesky factor; `n_dependent` counts variables met whose pivot vanished.
    n_kernel_columns, n_cache_hits : int
        Kernel columns computed, and columns reused.
    n_free, n_bounded : int
        Coefficients strictly inside their box, and at their upper bound.
    seconds : dict of str to float
        Time by phase.

    See Also
    --------
    verify : The certificate of any fitted model.

    References
    ----------
    .. [1] F. Jarre, "A Rank-One-Update Method for the Training of Support Vector Machines",
       arXiv 2503.10482.

    Examples
    --------
    >>> from exactsvm import SVC
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    >>> model.certificate_.status
    'optimal'
    >>> model.certificate_.relative_gap < 1e-12
    True
    """

    primal_objective: float
    dual_objective: float
    duality_gap: float
    relative_gap: float
    kkt_violation: float
    equality_residual: float
    box_residual: float
    precision_floor: float
    bias_interval: tuple[tuple[float, float], ...]
    most_negative_curvature: float
    status: str
    solver: str
    n_cycles: int
    n_sweeps: int
    n_newton_steps: int
    n_pair_steps: int
    n_appends: int
    n_deletes: int
    n_dependent: int
    n_refactorizations: int
    n_kernel_columns: int
    n_cache_hits: int
    n_free: int
    n_bounded: int
    seconds: dict[str, float]

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Certificate:
        """Build a certificate from the record of the compiled module."""
        values = {name: record[name] for name in _FIELDS}
        values["bias_interval"] = tuple((float(a), float(b)) for a, b in values["bias_interval"])
        values["seconds"] = dict(values["seconds"])
        if values["status"] == "stationary":  # without convexity the dual bounds nothing
            values["duality_gap"] = values["relative_gap"] = math.nan
        return cls(**values)

    @classmethod
    def unknown(cls) -> Certificate:
        """Return the certificate of a model of which nothing is known."""
        record: dict[str, Any] = {field.name: math.nan for field in dataclasses.fields(cls)}
        record |= {name: 0 for name in record if name.startswith("n_")}
        return cls(
            **{**record, "bias_interval": (), "seconds": {}, "status": "unknown", "solver": "none"}
        )

    def __eq__(self, other: object) -> bool:
        """Compare all fields; NaN, which says that nothing is known, equals NaN."""
        if not isinstance(other, Certificate):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in _FIELDS)

    @property
    def is_optimal(self) -> bool:
        """True if the status is "optimal" or "optimal_to_precision"."""
        return self.status in OPTIMAL

    def __str__(self) -> str:
        intervals = ", ".join(f"[{a:.10g}, {b:.10g}]" for a, b in self.bias_interval)
        times = ", ".join(f"{phase} {spent:.3g}" for phase, spent in self.seconds.items())
        rows = {
            "primal objective": f"{self.primal_objective:.15g}",
            "dual objective": f"{self.dual_objective:.15g}",
            "duality gap": f"{self.duality_gap:.3g} (relative {self.relative_gap:.3g})",
            "KKT violation": f"{self.kkt_violation:.3g} (rounding {self.precision_floor:.3g})",
            "feasibility": f"equality {self.equality_residual:.3g}, box {self.box_residual:.3g}",
            "intercepts": intervals or "none",
            "curvature": f"at least {self.most_negative_curvature:.3g}",
            "support vectors": f"{self.n_free} free, {self.n_bounded} at the bound",
            "cycles": f"{self.n_cycles} ({self.n_sweeps} sweeps, {self.n_newton_steps} Newton "
            f"steps, {self.n_pair_steps} pair steps)",
            "factor": f"{self.n_appends} appends, {self.n_deletes} deletes, {self.n_dependent} "
            f"dependent, {self.n_refactorizations} refactorisations",
            "kernel columns": f"{self.n_kernel_columns} computed, {self.n_cache_hits} reused",
            "seconds": times or "none",
        }
        head = f"{self.status} ({self.solver})"
        return "\n".join([head, *(f"  {label:<18}{text}" for label, text in rows.items())])


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a field are equal, or both NaN."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other or (one != one and other != other))


_FIELDS = tuple(field.name for field in dataclasses.fields(Certificate))
# Kinds of dtype and number of dimensions of the arrays of many certificates.
ARRAY_FORMS = {name: ("iu" if name.startswith("n_") else "f", 1) for name in _FIELDS}
ARRAY_FORMS |= {"status": ("U", 1), "solver": ("U", 1), "bias_interval": ("f", 3)}
ARRAY_FORMS |= {"seconds": ("f", 2)}


def worst_of(certificates: Sequence[Certificate]) -> Certificate:
    """Return the one with the largest relative gap; what claims no gap counts as infinite."""
    many = certificates
    return many.worst() if isinstance(many, Certificates) else many[0]


class Certificates(Sequence[Certificate]):
    """The certificates of many problems, kept as arrays and made when asked for."""

    def __init__(self, records: Mapping[str, Any]) -> None:
        self._records = dict(records)
        n = len(self._records["status"])
        self._records["bias_interval"] = np.reshape(self._records["bias_interval"], (n, -1, 2))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], phases: Sequence[str]) -> Certificates:
        """Build them from what `arrays` returned, and the names of the phases."""
        seconds = dict(zip(phases, arrays["seconds"], strict=True))
        return cls({**{name: arrays[name] for name in _FIELDS}, "seconds": seconds})

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return an array for each field; the seconds have a row for each phase."""
        records = {**self._records, "seconds": list(self._records["seconds"].values())}
        arrays = {name: np.asarray(values) for name, values in records.items()}
        arrays["seconds"] = arrays["seconds"].reshape(-1, len(self))
        for name, values in arrays.items():
            if values.dtype.kind == "i":
                arrays[name] = values.astype(np.min_scalar_type(values.max()))
        return arrays

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases whose seconds are known."""
        return tuple(self._records["seconds"])

    def __len__(self) -> int:
        return len(self._records["status"])

    @overload
    def __getitem__(self, index: int) -> Certificate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Certificate, ...]: ...
    def __getitem__(self, index: int | slice) -> Certificate | tuple[Certificate, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} certificates; got index {index}")
        record = {
            name: values[index] for name, values in self._records.items() if name != "seconds"
        }
        record = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in record.items()
        }
        seconds = self._records["seconds"]
        record["seconds"] = {phase: float(spent[index]) for phase, spent in seconds.items()}
        return Certificate.from_record(record)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificates) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(len(self))

    def __repr__(self) -> str:
        return f"<{len(self)} certificates>"

    def worst(self) -> Certificate:
        """Return the one with the largest relative gap; what claims no gap counts as infinite."""
        gaps = self._records["relative_gap"]
        return self[int(np.argmax(np.where(np.isnan(gaps), np.inf, gaps)))]

    def numbers(self, field: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a field of all certificates."""
        return np.asarray(self._records[field], dtype=np.float64)

    def not_optimal(self) -> list[int]:
        """Return the numbers of the problems that were not solved."""
        return [k for k, status in enumerate(self._records["status"]) if status not in OPTIMAL]

    @property
    def n_steps(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Iterations of each problem, in the solver's unit."""
        name = "n_pair_steps" if "smo" in self._records["solver"] else "n_cycles"
        steps: np.ndarray[Any, np.dtype[np.int64]] = self._records[name]
        return steps
