"""Real data sets of tests/data by name; tests/data/README.md says where they come from."""

from __future__ import annotations

from functools import cache

import numpy as np

from reference import DATA

# Two classes, y in {-1.0, +1.0}; rows in random order.
BINARY = ("heart", "ionosphere", "german", "pima", "breast_cancer", "tictactoe", "wine")
BINARY += ("spambase800", "magic1200", "higgs600", "digits800", "splice600")
REGRESSION = ("diabetes", "winequality600", "casp600", "puma500")
CLASSES = ("letter800",)


@cache
def load(name):
    """The rows X and the labels or targets y, both float64 and read-only."""
    folder = "problems"
    if name in REGRESSION:
        folder = "regression"
    elif name in CLASSES:
        folder = "classes"
    with np.load(DATA / folder / f"{name}.npz") as arrays:
        X, y = arrays["X"], arrays["y"].astype(np.float64)
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y
