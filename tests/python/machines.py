"""The problem types from their definitions: duals, objectives and optimality of fitted models.

Nothing here is shared with the package, and all that is read of a model are scikit-learn's
attributes, so that models of either library can be judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Machine:
    """One training problem: y are signs, targets, or ones; `parameter` is C, epsilon or nu."""

    name: str
    y: np.ndarray
    weights: np.ndarray
    C: float = 1.0
    epsilon: float = 0.1
    nu: float = 0.5

    @property
    def is_regression(self):
        return self.name in ("SVR", "NuSVR")

    @property
    def parameters(self):
        """As the estimator takes them."""
        names = {"SVC": ("C",), "SVR": ("C", "epsilon"), "NuSVR": ("C", "nu")}
        return {name: getattr(self, name) for name in names.get(self.name, ("nu",))}

    @property
    def upper(self):
        return self.weights * (self.C if self.name in ("SVC", "SVR", "NuSVR") else 1.0)

    def fit(self, cls, X, *, weighted=True, **parameters):
        target = () if self.name == "OneClassSVM" else (self.y,)
        weights = self.weights if weighted else None
        return cls(**self.parameters, **parameters).fit(X, *target, sample_weight=weights)

    def dual(self):
        """(z, c, u, groups, start) of: minimise 1/2 x'ZKZx - c'x, sums of z'x by group fixed."""
        n, u = len(self.y), self.upper
        zeros, ones = np.zeros(n), np.ones(n)
        if self.name == "SVC":
            return self.y, ones, u, None, None
        if self.name == "SVR":
            c = np.concatenate([self.y, -self.y]) - self.epsilon
            return np.repeat([1.0, -1.0], n), c, np.tile(u, 2), None, None
        if self.name == "NuSVR":
            c, z = np.concatenate([self.y, -self.y]), np.repeat([1.0, -1.0], n)
            start = np.tile(u * self.nu / 2, 2)
            return z, c, np.tile(u, 2), np.repeat([0, 1], n), start
        if self.name == "OneClassSVM":
            return ones, zeros, u, None, u * self.nu
        start = np.zeros(n)
        for side in (self.y > 0, self.y < 0):
            start[side] = u[side] * (self.nu * u.sum() / 2 / u[side].sum())
        return self.y, zeros, u, (self.y > 0).astype(np.int64), start

    def matrix(self, K):
        """The kernel matrix of the variables of `dual`."""
        return np.block([[K, K], [K, K]]) if self.is_regression else K

    def coefficients(self, model):
        beta = np.zeros(len(self.y))
        beta[model.support_] = np.asarray(model.dual_coef_)[0]
        return beta

    def margin(self, beta):
        """What NuSVC has divided its coefficients by."""
        if self.name != "NuSVC":
            return 1.0
        return self.nu * self.weights.sum() / np.abs(beta).sum()

    def values(self, K, model):
        """Decision values in the units of the dual, where NuSVC's are not divided."""
        beta = self.coefficients(model)
        return (K @ beta + model.intercept_[0]) * self.margin(beta)

    def gap(self, tol):
        """Most that a violation of tol leaves of the objective."""
        return tol * self.upper.sum() * (2 if self.is_regression else 1)

    def objective(self, K, beta):
        """Value of the maximised dual at the coefficients of a model."""
        beta = beta * self.margin(beta)
        half = 0.5 * beta @ K @ beta
        if self.name == "SVC":
            return np.abs(beta).sum() - half
        if self.name == "SVR":
            return self.y @ beta - self.epsilon * np.abs(beta).sum() - half
        return self.y @ beta - half if self.name == "NuSVR" else -half

    def noise(self, K, beta):
        """Most that rounding K to single precision may change the objective by."""
        size = np.abs(beta * self.margin(beta))
        return 2.0**-24 * 0.5 * size @ np.abs(K) @ size

    def breach(self, K, model):
        """Largest breach of the optimality conditions of the model, in units of its values."""
        beta = self.coefficients(model)
        f = K @ beta + model.intercept_[0]
        upper = self.upper / self.margin(beta)
        sides = [(beta * self.y, self.y * f - 1.0)]
        if self.name == "OneClassSVM":
            sides = [(beta, f)]
        if self.is_regression:
            tube = model.epsilon_ if self.name == "NuSVR" else self.epsilon
            sides = [(s * beta, tube - s * (self.y - f)) for s in (1.0, -1.0)]
        worst = 0.0
        for x, slack in sides:
            x = np.maximum(x, 0.0)
            assert (x <= upper * (1 + 1e-12)).all()
            below, above = x < upper * (1 - 1e-12), x > 0.0
            worst = max(worst, (-slack[below]).max(initial=0), slack[above].max(initial=0))
        return worst

    def optimum(self, K):
        """Bounds of the optimal objective by an interior-point method for quadratic programs."""
        z, c, u, groups, start = self.dual()
        n = len(z)
        H = self.matrix(K) * np.outer(z, z)
        groups = np.zeros(n, np.int64) if groups is None else groups
        equal = sp.csc_matrix((z, (groups, np.arange(n))))
        sums = equal @ (np.zeros(n) if start is None else start)
        A = sp.vstack([equal, -sp.eye(n), sp.eye(n)], format="csc")
        b = np.concatenate([sums, np.zeros(n), u])
        cones = [clarabel.ZeroConeT(equal.shape[0]), clarabel.NonnegativeConeT(2 * n)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        settings.max_threads = 1
        P = sp.triu(sp.csc_matrix(H), format="csc")
        found = clarabel.DefaultSolver(P, -c, A, b, cones, settings).solve()
        return sorted((-found.obj_val, -found.obj_val_dual))
