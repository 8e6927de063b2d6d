"""The problems of tests/data with a proven optimum, and what may be asked of float64 on each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True)
class Case:
    """One problem and its optimum; tests/data/README.md explains the fields."""

    name: str
    problem: str
    n: int
    n_distinct: int
    n_features: int
    kernel: str
    gamma: float
    degree: int
    coef0: float
    C: float
    dual_objective: str
    sum_alpha: str
    n_free: int
    n_bounded: int
    intercept_interval: tuple[float, float]
    min_free_slack_over_C: float | None
    min_free_alpha_over_C: float | None
    min_bounded_multiplier: float | None
    proof_violation: float
    proof_relative_gap: float
    float64_kernel_noise: float

    @property
    def kernel_arguments(self):
        return {
            "kernel": self.kernel,
            "gamma": self.gamma,
            "degree": self.degree,
            "coef0": self.coef0,
        }

    @property
    def estimator_parameters(self):
        """As an SVC takes them; gamma and degree are stored as 0 where the kernel has none."""
        arguments = {"gamma": self.gamma or 1.0, "degree": self.degree or 3}
        return {**self.kernel_arguments, **arguments, "C": self.C}

    @property
    def minimum(self):
        """The optimal value of 1/2 a'Ha - e'a, rounded to float64."""
        return float(self.dual_objective)

    @property
    def objective_tolerance(self):
        """Relative to max(1, |minimum|): a rounded kernel moves the optimum by about the noise."""
        return max(1e-12, 10 * self.float64_kernel_noise)

    def load(self):
        """The rows X and the labels y in {-1.0, +1.0}."""
        return _load(self.problem)

    def optimal_alpha(self):
        return _alphas()[self.name]

    def counts_are_fragile(self, floor):
        """Whether rounding alone may move a variable from one set to another.

        Two ways to change sets. A free variable may be so near to its bound that the solution of
        the rounded problem lies on it: an objective known to a relative `noise` leaves the solution
        uncertain by much more than that, and four further decades are granted, relative to the
        largest alpha. A bounded variable may be freed when its multiplier is within the error of
        the gradient; a hundred floors are granted, since the other variables move too.
        """
        alpha = self.optimal_alpha()
        slack = np.inf
        if self.n_free and self.min_free_slack_over_C is not None:
            slack = (
                min(self.min_free_slack_over_C, self.min_free_alpha_over_C or np.inf)
                * self.C
                / alpha.max()
            )
        multiplier = np.inf if self.min_bounded_multiplier is None else self.min_bounded_multiplier
        return slack < max(1e-9, 1e4 * self.float64_kernel_noise) or multiplier < 100 * max(
            1e-9, floor
        )


@cache
def _load(problem):
    with np.load(DATA / "problems" / f"{problem}.npz") as arrays:
        X, y = arrays["X"], arrays["y"].astype(np.float64)
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y


@cache
def _alphas():
    with np.load(DATA / "alpha.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@cache
def cases():
    """All cases in the order of the file."""
    records = json.loads((DATA / "reference.json").read_text(encoding="utf-8"))
    return tuple(
        Case(**{**r, "intercept_interval": tuple(r["intercept_interval"])}) for r in records
    )


def case(name):
    return next(c for c in cases() if c.name == name)


def counts(alpha, X, y, C):
    """Numbers of free and of bounded variables after merging equal rows of one class.

    Copies of a row share one alpha between them in any way they like; only their sum is determined,
    and it is bounded by C times the number of copies.
    """
    _, group = np.unique(np.column_stack([y, X]), axis=0, return_inverse=True)
    copies = np.bincount(group.ravel())
    merged = np.bincount(group.ravel(), weights=alpha)
    rounding = (
        1e-13 * C * copies * (copies > 1)
    )  # a sum of several C may miss the multiple in its last bits
    bounded = merged >= C * copies - rounding
    return int(np.sum((merged > rounding) & ~bounded)), int(np.sum(bounded))
