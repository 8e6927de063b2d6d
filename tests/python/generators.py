"""Seeded problems on which decomposition methods struggle. Labels are -1.0 or +1.0."""

from __future__ import annotations

import numpy as np


def checkerboard(n, *, fields=4, flipped=0.0, seed=0):
    """Points of a board of `fields` x `fields` unit squares, classes alternating, some flipped."""
    rng = np.random.default_rng(seed)
    X = fields * rng.random((n, 2))
    y = np.where(np.floor(X).sum(axis=1) % 2 == 0, 1.0, -1.0)
    wrong = rng.random(n) < flipped
    return X, np.where(wrong, -y, y)


def clouds(n, *, n_features=8, distance=1.5, flipped=0.05, seed=0):
    """Two overlapping normal clouds, the means `distance` apart along a random direction."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    direction = rng.standard_normal(n_features)
    direction *= distance / (2 * np.linalg.norm(direction))
    X = rng.standard_normal((n, n_features)) + y[:, None] * direction
    wrong = rng.random(n) < flipped
    return X, np.where(wrong, -y, y)


def one_wide_column(n, *, scale=1e5, seed=0):
    """Clouds in which one column is measured in a unit that makes its numbers larger by `scale`."""
    X, y = clouds(n, seed=seed)
    X[:, 0] *= scale
    return X, y


def contradictions(n_distinct, copies, *, contradicting=0.2, seed=0):
    """Rows that occur several times, some copies with the other label: a singular kernel matrix."""
    X, y = clouds(n_distinct, seed=seed)
    X, y = np.repeat(X, copies, axis=0), np.repeat(y, copies)
    rng = np.random.default_rng(seed + 1)
    y = np.where(rng.random(len(y)) < contradicting, -y, y)
    order = rng.permutation(len(y))
    return X[order], y[order]


def three_clusters(spread, n=400):
    """Three clusters `spread` apart; within each the label is a smooth function and noise."""
    rng = np.random.default_rng(0)
    X = np.c_[spread * rng.integers(0, 3, n), rng.standard_normal((n, 2))]
    field = np.sin(2 * X[:, 1]) + X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, np.where(field > 0, 1.0, -1.0)
