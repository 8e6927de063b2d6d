"""Parts of docstrings that the kernel estimators share."""

from typing import TypeVar

T = TypeVar("T", bound=type)

_PARTS = {
    "kernel_parameters": """\
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid" or "laplacian", see `pairwise_kernel`. With
        "precomputed", X is the kernel matrix. A callable takes two arrays of points and returns
        the matrix of their kernel values.
    degree : int, default=3
        Degree of "poly", ignored by the others.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in all kernels but "linear"; "scale" is 1 / (n_features * X.var()), "auto" is
        1 / n_features.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether SMO leaves variables out that look settled, until the rest is solved. It changes
        nothing but the time. CMU works without.
    tol : float, default=1e-8
        Largest violation of the optimality conditions, in units of the decision function.
        scikit-learn's default is 1e-3.
    cache_size : float, default=1000
        Megabytes for kernel values.
    verbose : int or bool, default=0
        1 shows a progress bar (a table if tqdm is not installed), 2 a line for each report.
    max_iter : int, default=-1
        Largest number of iterations, cycles for "cmu" and pair steps for "smo"; -1 for no limit:
        CMU ends by itself, SMO does too but may take very long.""",
    "own_parameters": """\
    solver : {"auto", "cmu", "smo"}, default="auto"
        Method. "cmu" goes to the optimum in exact steps; "smo" moves one pair of variables after
        another and may stall far from it on ill-conditioned problems. "auto" is "cmu". Not in
        scikit-learn.
    max_time : float, default=None
        Seconds after which the best model so far is kept. The certificate holds NaN where they
        were too few to know anything of it. Not in scikit-learn.
    n_jobs : int, default=None
        Threads of one fit or prediction; None means all available cores, or one in a worker
        process of joblib. The result does not depend on it. Not in scikit-learn.
    callback : callable, default=None
        Called some times a second with a dict of `solver`, `n_iter`, `dual_objective`,
        `kkt_violation`, `n_free`, `n_bounded`, `n_kernel_columns` and `elapsed`. Returning True
        stops the run and keeps the best model. Not in scikit-learn.
    warm_start : bool, default=False
        Start `fit` from the coefficients of the last one, if it had as many rows. Not in
        scikit-learn.""",
    "class_attributes": """\
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors, grouped by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        Support vectors, empty for a precomputed kernel, sparse if X was.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        Dual coefficients of the support vectors, with the sign of their side. Row k holds those
        against the k-th of the other classes. For two classes the first one is the negative side.
    coef_ : ndarray of shape (n_pairs, n_features)
        Weights of the features, one row a pair of classes; only for a linear kernel.
    intercept_ : ndarray of shape (n_pairs,)
        Constant of the decision function of each pair of classes, in the order (0, 1), (0, 2), ...
    classes_ : ndarray of shape (n_classes,)
        Labels. Of two, positive decision values speak for the second.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class.
    n_iter_ : ndarray of shape (n_pairs,)
        Number of iterations of each pair.""",
    "other_attributes": """\
    support_ : ndarray of shape (n_SV,)
        Row numbers of the support vectors.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        Support vectors, empty for a precomputed kernel, sparse if X was.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        Coefficients of the support vectors in the decision function.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; only for a linear kernel.
    intercept_ : ndarray of shape (1,)
        Constant of the decision function.
    n_iter_ : int
        Number of iterations.""",
    "fit_attributes": """\
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if X had names that are all strings.
    fit_status_ : int
        0 if the solution is optimal, 1 if a `ConvergenceWarning` was given.
    shape_fit_ : tuple of int
        Shape of the training data.
    certificate_ : Certificate
        Objectives, duality gap and violation of the solution; of the pair of classes with the
        largest relative gap, if there are several. Not in scikit-learn.
    certificates_ : sequence of Certificate
        One for each problem solved, in the order of `intercept_`. Not in scikit-learn.""",
    "notes": """\
    Rows of weight zero are as good as absent. After Ctrl-C the best model so far is kept, and
    `KeyboardInterrupt` is raised. No other thread may write into X while `fit` runs. X is worked
    on in double precision: C-contiguous float64 is used as it is, everything else, float32
    included, is copied. Sparse X is made dense if that takes no more than `cache_size`, if need
    be without the columns that no row has; else the kernel matrix is, from sparse products.""",
    "references": """\
    .. [1] F. Jarre, "A Rank-One-Update Method for the Training of Support Vector Machines",
       arXiv 2503.10482.""",
}


def documented(cls: T) -> T:
    """Put the shared parts where the docstring of a class names them."""
    if cls.__doc__:  # none with python -OO
        for name, text in _PARTS.items():
            cls.__doc__ = cls.__doc__.replace(f"    <{name}>", text)
    return cls
