"""Problems for the linear estimators, their objective as defined, and a generic QP solver."""

from functools import cache

import clarabel
import numpy as np
import scipy.sparse as sp

from generators import checkerboard, clouds, contradictions
from reference import cases

# Name: (fit_intercept, intercept_scaling).
INTERCEPTS = {"none": (False, None), "free": (True, None), "penalised": (True, 1.0)}


@cache
def data_sets():
    """Twelve problems: the smaller half of the reference data, and four made ones."""
    found = {}
    for case in cases():
        if len(found) == 8:
            break
        name = case.name.split("|")[0].split(" ")[0].split("-")[0]
        X, y = case.load()
        if name not in found and X.shape[0] <= 800 and X.shape[0] != X.shape[1]:
            scale = np.abs(X).max(axis=0)
            found[name] = (X / np.where(scale > 0, scale, 1.0), y)
    found["clouds"] = clouds(300)
    found["checkerboard"] = checkerboard(300, flipped=0.1)
    found["contradictions"] = contradictions(60, 5)
    found["separable"] = clouds(200, distance=8.0, flipped=0.0)
    return found


def sample_weights(n, weighted):
    return np.random.default_rng(3).uniform(0.1, 3.0, n) if weighted else np.ones(n)


def regression_targets(X):
    """Targets that a linear function of X meets up to noise, with an offset."""
    rng = np.random.default_rng(5)
    return X @ rng.standard_normal(X.shape[1]) + 2.0 + 0.5 * rng.standard_normal(len(X))


def primal(X, y, w, b, u, *, squared=False, epsilon=None, scaling=None):
    """P from its definition, in extended precision."""
    w, f = w.astype(np.longdouble), X.astype(np.longdouble) @ w.astype(np.longdouble) + b
    v = np.maximum(1 - y * f if epsilon is None else np.abs(y - f) - epsilon, 0)
    penalty = 0 if scaling is None else (np.longdouble(b) / scaling) ** 2
    return float((w @ w + penalty) / 2 + u @ (v**2 if squared else v))


def clarabel_minimum(X, y, u, intercept, *, squared=False, epsilon=None):
    """P at the weights of a generic solver: its unknowns are w, b and one excess a term."""
    fit_intercept, scaling = INTERCEPTS[intercept]
    if epsilon is None:
        signs, offsets, rows, weights = y, np.ones(len(y)), X, u
    else:
        signs = np.r_[np.ones(len(y)), -np.ones(len(y))]
        offsets = np.r_[y - epsilon, -y - epsilon]
        rows, weights = np.vstack([X, X]), np.r_[u, u]
    n, d = rows.shape
    penalty = 0.0 if scaling is None else 1.0 / scaling**2
    on_excess = 2.0 * weights if squared else np.zeros(n)
    quadratic = sp.diags(np.r_[np.ones(d), penalty, on_excess]).tocsc()
    column = signs[:, None] if fit_intercept else np.zeros((n, 1))
    margins = sp.hstack([sp.csr_matrix(-signs[:, None] * rows), sp.csr_matrix(-column), -sp.eye(n)])
    # Only the linear loss needs the second half, excess >= 0: the square never goes below.
    excess = sp.hstack([sp.csr_matrix((n, d + 1)), -sp.eye(n)])
    half = [] if squared else [excess]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-12
    # As shipped it gives up at 1e-5 on some squared losses: its systems want more refinement.
    settings.iterative_refinement_max_iter = 50
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-15
    solution = clarabel.DefaultSolver(
        quadratic,
        np.r_[np.zeros(d + 1), np.zeros(n) if squared else weights],
        sp.vstack([margins, *half]).tocsc(),
        np.r_[-offsets, np.zeros(n * len(half))],
        [clarabel.NonnegativeConeT(n * (1 + len(half)))],
        settings,
    ).solve()
    w = np.array(solution.x[:d])
    b = solution.x[d] if fit_intercept else 0.0
    return primal(X, y, w, b, u, squared=squared, epsilon=epsilon, scaling=scaling)
