"""LIBSVM's text format of models, both ways."""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from exactsvm._certificate import Certificate
from exactsvm._classification import SVC, NuSVC
from exactsvm._data import as_array
from exactsvm._outlier import OneClassSVM
from exactsvm._regression import SVR, NuSVR

Floats = NDArray[np.float64]

_TYPES = {"c_svc": SVC, "nu_svc": NuSVC, "epsilon_svr": SVR, "nu_svr": NuSVR}
_TYPES["one_class"] = OneClassSVM
_KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}
_KERNELS["precomputed"] = "precomputed"
_LARGEST_INDEX = 1 << 31


def save_libsvm(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model in LIBSVM's text format, with 17 digits, which lose nothing.

    Parameters
    ----------
    model : estimator
        Fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM with a kernel of LIBSVM's: not "laplacian", not
        a callable. Labels must be integers.
    path : str or path
        Where to write.

    Notes
    -----
    svm-predict reads the file. Its features are numbered from 1.

    OneClassSVM calls points on the border of its region, to within the precision of the solution,
    inside. LIBSVM takes the sign of the value as rounding leaves it: there it may call such points
    (support vectors strictly between their bounds above all) outside.

    Examples
    --------
    >>> import tempfile
    >>> from exactsvm import SVC, load_libsvm, save_libsvm
    >>> model = SVC(kernel="linear").fit([[0.0], [2.0]], [1, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_libsvm(model, folder + "/model")
    ...     load_libsvm(folder + "/model").predict([[0.5], [1.5]]).tolist()
    [1, 5]
    """
    names = [name for name, cls in _TYPES.items() if cls is type(model)]
    if not names:
        raise TypeError(f"model must be a kernel estimator; got {type(model).__name__}")
    check_is_fitted(model)
    kernels = [name for name, ours in _KERNELS.items() if ours == model.kernel]
    if not kernels:
        raise ValueError(f"kernel must be one of LIBSVM's to be written; got {model.kernel!r}")
    dual_coef, rho = as_array(model.dual_coef_), -model.intercept_
    lines = [f"svm_type {names[0]}", f"kernel_type {kernels[0]}"]
    if model.kernel == "poly":
        lines.append(f"degree {model.degree}")
    if model.kernel in ("poly", "rbf", "sigmoid"):
        lines.append(f"gamma {model._gamma:.17g}")
    if model.kernel in ("poly", "sigmoid"):
        lines.append(f"coef0 {model.coef0:.17g}")
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == 2:  # there positive values speak for the first
        dual_coef, rho = -dual_coef, -rho
    lines.append(f"nr_class {2 if classes is None else len(classes)}")
    lines.append(f"total_sv {dual_coef.shape[1]}")
    lines.append("rho " + _joined(rho))
    if classes is not None:
        numbers = np.asarray(classes)
        if numbers.dtype.kind not in "biuf" or (numbers != numbers.astype(np.int32)).any():
            raise ValueError(f"classes_ must be integers for LIBSVM's format; got {classes!r}")
        lines.append("label " + " ".join(str(int(label)) for label in numbers))
        lines.append("nr_sv " + " ".join(str(int(n)) for n in model.n_support_))
    lines.append("SV")
    with Path(path).open("w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
        for k in range(dual_coef.shape[1]):
            file.write(f"{_joined(dual_coef[:, k])} {_features(model, k)}\n")


def load_libsvm(path: str | PathLike[str], *, n_features: int | None = None) -> Any:
    """Read a model in LIBSVM's text format.

    Parameters
    ----------
    path : str or path
        Where to read.
    n_features : int, default=None
        Number of features; None means the largest that a support vector has. For a precomputed
        kernel, the number of training points.

    Returns
    -------
    estimator
        A fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM that predicts. What the file does not have,
        C and certificate among it, keeps its default or is not known.

    Examples
    --------
    >>> import tempfile
    >>> from exactsvm import SVC, load_libsvm, save_libsvm
    >>> model = SVC(kernel="linear").fit([[0.0], [2.0]], [1, 5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_libsvm(model, folder + "/model")
    ...     load_libsvm(folder + "/model").predict([[0.5], [1.5]]).tolist()
    [1, 5]
    """
    with Path(path).open(encoding="ascii") as file:
        header: dict[str, list[str]] = {}
        for line in file:
            words = line.split()
            if words == ["SV"]:
                break
            if words:
                header[words[0]] = words[1:]
        else:
            raise ValueError("the file has no line 'SV': it is not a model of LIBSVM")
        rows = [line.split() for line in file if line.strip()]
    try:
        return _restore(header, rows, n_features)
    except (KeyError, IndexError) as error:
        raise ValueError(f"the file is not a model of LIBSVM: {error} is missing") from error


def _restore(header: dict[str, list[str]], rows: list[list[str]], n_features: int | None) -> Any:
    cls, kernel = _TYPES[header["svm_type"][0]], _KERNELS[header["kernel_type"][0]]
    gamma = float(header.get("gamma", ["0"])[0])
    parameters: dict[str, Any] = {"kernel": kernel, "gamma": gamma}
    parameters["degree"] = int(header.get("degree", ["3"])[0])
    parameters["coef0"] = float(header.get("coef0", ["0"])[0])
    model: Any = cls(**parameters)
    model._check_parameters()
    is_classifier = cls in (SVC, NuSVC)
    n_classes = int(header["nr_class"][0])
    n_coefficients = n_classes - 1 if is_classifier else 1
    m = int(header["total_sv"][0])
    rho = np.array([float(word) for word in header["rho"]])
    _check(m == len(rows), "total_sv")
    _check(n_classes >= 2 and (is_classifier or n_classes == 2), "nr_class")
    _check(len(rho) == n_classes * (n_classes - 1) // 2, "rho")
    dual_coef = np.array([[float(w) for w in row[:n_coefficients]] for row in rows])
    dual_coef = np.ascontiguousarray(dual_coef.reshape(m, n_coefficients).T)
    _check(np.isfinite(dual_coef).all() and np.isfinite(rho).all(), "numbers")
    entries = [[_entry(word) for word in row[n_coefficients:]] for row in rows]
    intercept = -rho
    n_support = np.array([m])
    order = np.arange(m)
    if is_classifier:
        labels = np.array([int(word) for word in header["label"]])
        n_support = np.array([int(word) for word in header["nr_sv"]])
        _check(len(labels) == n_classes == len(np.unique(labels)), "label")
        _check(len(n_support) == n_classes and (n_support >= 0).all(), "nr_sv")
        _check(n_support.sum() == m, "nr_sv")
        dual_coef, intercept, order = _sorted(labels, n_support, dual_coef, intercept)
        model.classes_ = np.sort(labels)
        n_support = n_support[np.argsort(labels)]
        model.class_weight_ = np.ones(n_classes)
    entries = [entries[k] for k in order]
    vectors: Any = np.empty((0, 0))
    support = np.arange(m)
    if kernel == "precomputed":
        support = np.array([int(row[0][1]) - 1 for row in entries], dtype=np.int64)
        width = n_features or int(support.max(initial=0)) + 1
        _check(m == 0 or (support.min() >= 0 and support.max() < width), "serial numbers")
    else:
        width = n_features or max((i for row in entries for i, _ in row), default=1)
        vectors = np.zeros((m, width))
        for k, row in enumerate(entries):
            for index, value in row:
                _check(1 <= index <= width, "index of a feature")
                vectors[k, index - 1] = value
        _check(np.isfinite(vectors).all(), "numbers")
    model.n_features_in_ = width
    model._adopt(
        support=support,
        vectors=vectors,
        n_support=n_support,
        dual_coef=dual_coef,
        intercept=intercept,
        gamma=gamma,
        shape=(max(m, width if kernel == "precomputed" else m), width),
        certificates=(Certificate.unknown(),),
        fit_status=0,
    )
    model._describe(np.zeros(len(intercept), np.int32), math.nan)
    return model


def _sorted(
    labels: NDArray[np.int64], n_support: NDArray[np.int64], dual_coef: Floats, intercept: Floats
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """From the order of the file to that of the labels, pair by pair and row by row."""
    n_classes = len(labels)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    rank = np.argsort(labels)  # the c-th smallest label is the rank[c]-th of the file
    order = np.concatenate([np.arange(ends[c], ends[c + 1]) for c in rank])
    owner = np.repeat(np.arange(n_classes), n_support)
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    given = {pair: k for k, pair in enumerate(pairs)}
    new_coef, new_intercept = np.zeros_like(dual_coef), np.zeros_like(intercept)
    for k, (a, b) in enumerate(pairs):
        i, j = int(rank[a]), int(rank[b])
        sign = 1.0 if i < j else -1.0
        new_intercept[k] = sign * intercept[given[min(i, j), max(i, j)]]
        for new_row, old_row, c in ((b - 1, _row(j, i), i), (a, _row(i, j), j)):
            mine = owner == c
            new_coef[new_row, mine] = sign * dual_coef[old_row, mine]
    if n_classes == 2:  # here positive values speak for the second
        new_coef, new_intercept = -new_coef, -new_intercept
    return np.ascontiguousarray(new_coef[:, order]), new_intercept + 0.0, order


def _row(opponent: int, own: int) -> int:
    """Row of the coefficients of a class against another."""
    return opponent - 1 if opponent > own else opponent


def _check(condition: object, what: str) -> None:
    if not condition:
        raise ValueError(f"the file is not a model of LIBSVM: its {what} is not valid")


def _entry(word: str) -> tuple[int, float]:
    index, _, value = word.partition(":")
    number = int(index)
    _check(0 <= number < _LARGEST_INDEX, "index of a feature")
    return number, float(value)


def _joined(values: Floats) -> str:
    return " ".join(f"{value:.17g}" for value in values)


def _features(model: Any, k: int) -> str:
    if model.kernel == "precomputed":
        return f"0:{int(model.support_[k]) + 1}"
    row = as_array(model.support_vectors_[[k]])[0]
    return " ".join(f"{i + 1}:{row[i]:.17g}" for i in np.flatnonzero(row))
