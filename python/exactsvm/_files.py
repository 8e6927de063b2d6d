"""Fitted models as files of arrays: nothing in them is executed."""

from __future__ import annotations

import json
import math
import zipfile
from os import PathLike, fspath
from pathlib import Path as FilePath
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from exactsvm._certificate import ARRAY_FORMS, Certificate, Certificates
from exactsvm._classification import SVC, NuSVC
from exactsvm._outlier import OneClassSVM
from exactsvm._regression import SVR, NuSVR

Path: TypeAlias = str | PathLike[str] | BinaryIO

SCHEMA = 2  # 1 had the certificate of one pair of classes only
_CLASSES = {cls.__name__: cls for cls in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}
_LARGEST_HEADER = 1 << 24
# Name, kinds of dtype and number of dimensions of every array that a file may hold.
_ARRAYS = {
    "support": ("i", 1),
    "n_support": ("i", 1),
    "dual_coef": ("f", 2),
    "intercept": ("f", 1),
    "vectors": ("f", 2),
    "vectors_data": ("f", 1),
    "vectors_indices": ("i", 1),
    "vectors_indptr": ("i", 1),
    "classes": ("biufUS", 1),
    "class_weight": ("f", 1),
    "n_iter": ("i", 1),
    "feature_names": ("U", 1),
    **{f"certificate_{name}": form for name, form in ARRAY_FORMS.items()},
}


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a file (npz) that `load` reads, without pickle.

    Parameters
    ----------
    model : estimator
        Fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM. A callable kernel and a callback cannot be
        written; neither can labels that are Python objects other than strings.
    path : str, path or binary file
        Where to write.

    Examples
    --------
    >>> import io
    >>> from exactsvm import SVC, load, save
    >>> model, file = SVC().fit([[0.0], [1.0]], [0, 1]), io.BytesIO()
    >>> save(model, file)
    >>> load(io.BytesIO(file.getvalue())).predict([[0.9]]).tolist()
    [1]
    """
    name = type(model).__name__
    if _CLASSES.get(name) is not type(model):
        raise TypeError(f"model must be one of {', '.join(_CLASSES)}; got {name}")
    if not hasattr(model, "support_"):
        raise ValueError("model must be fitted")
    parameters = model.get_params(deep=False)
    parameters["callback"] = parameters["random_state"] = None
    if callable(model.kernel):
        raise ValueError("model has a callable kernel, which is code: it cannot be saved")
    if name not in ("SVC", "NuSVC"):
        del parameters["random_state"]
    elif isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = None  # class_weight_ has the numbers
    header = {
        "format": "exactsvm",
        "schema": SCHEMA,
        "class": name,
        "parameters": {key: _plain(value) for key, value in parameters.items()},
        "gamma": model._gamma,
        "shape_fit": [int(n) for n in model.shape_fit_],
        "n_features_in": int(model.n_features_in_),
        "fit_status": int(model.fit_status_),
        "epsilon": _plain(getattr(model, "epsilon_", None)),
    }
    many = model.certificates_
    if isinstance(many, Certificates):
        header["phases"] = many.phases
    else:
        header["certificate"] = _plain(vars(model.certificate_))
    arrays: dict[str, NDArray[Any]] = {
        "support": model.support_,
        "n_support": model.n_support_,
        "dual_coef": _dense(model.dual_coef_),
        "intercept": model.intercept_,
        "n_iter": np.atleast_1d(np.asarray(model.n_iter_, dtype=np.int32)),
    }
    if isinstance(many, Certificates):
        arrays |= {f"certificate_{name}": values for name, values in many.arrays().items()}
    if sparse.issparse(model.support_vectors_):
        vectors = model.support_vectors_
        arrays |= {f"vectors_{part}": getattr(vectors, part) for part in _SPARSE_PARTS}
    else:
        arrays["vectors"] = model.support_vectors_
    if hasattr(model, "classes_"):
        classes = model.classes_
        if classes.dtype == object:
            if not all(isinstance(label, str) for label in classes):
                raise ValueError("classes_ must be numbers, booleans or strings to be saved")
            header["object_labels"] = True
            classes = classes.astype(np.str_)
        arrays |= {"classes": classes, "class_weight": model.class_weight_}
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names"] = np.asarray(model.feature_names_in_, dtype=np.str_)
    text = json.dumps(header).encode()
    np.savez(path, header=np.frombuffer(text, dtype=np.uint8), **arrays)  # type: ignore[arg-type]


def load(path: Path) -> Any:
    """Read a model written by `save`.

    Safe for files of unknown origin: nothing in the file is executed, and what does not have the
    right names, types, shapes and ranges is refused.

    Parameters
    ----------
    path : str, path or binary file
        Where to read; ".npz" is added to a name that is not there without it, as `save` does.

    Returns
    -------
    estimator
        The fitted model.

    Examples
    --------
    >>> import io
    >>> from exactsvm import SVR, load, save
    >>> model, file = SVR(epsilon=0.0, C=9.0).fit([[0.0], [1.0]], [2.0, 3.0]), io.BytesIO()
    >>> save(model, file)
    >>> load(io.BytesIO(file.getvalue())).predict([[1.0]]).round(6).tolist()
    [3.0]
    """
    if isinstance(path, (str, PathLike)) and not FilePath(path).exists():
        path = f"{fspath(path)}.npz"
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(archive)
        if hasattr(path, "seek"):
            path.seek(0)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        _check(isinstance(header, dict) and header.get("format") == "exactsvm", "header")
        _check(header.get("schema") in range(1, SCHEMA + 1), f"schema, at most {SCHEMA},")
        return _restore(header, arrays)
    except _UNREADABLE as error:
        raise ValueError(f"the file is not a model saved by exactsvm: {error}") from error


_UNREADABLE = (
    zipfile.BadZipFile,
    json.JSONDecodeError,
    UnicodeDecodeError,
    KeyError,
    TypeError,
    OverflowError,
    EOFError,
)
_SPARSE_PARTS = ("data", "indices", "indptr")


def _check(condition: object, what: str) -> None:
    if not condition:
        raise ValueError(f"the file is not a model saved by exactsvm: its {what} is not valid")


def _check_members(archive: zipfile.ZipFile) -> None:
    """Refuse what would unpack to more than is there."""
    names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
    _check("header" in names and len(set(names)) == len(names), "list of arrays")
    _check(set(names) <= {"header", *_ARRAYS}, "list of arrays")
    for info in archive.infolist():
        _check(info.compress_type == zipfile.ZIP_STORED, "compression")
        _check(info.file_size == info.compress_size, "compression")
        _check(info.filename != "header.npy" or info.file_size < _LARGEST_HEADER, "header")


def _restore(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    for name, array in arrays.items():
        kinds, ndim = _ARRAYS[name]
        _check(array.dtype.kind in kinds and array.ndim == ndim, f"array {name!r}")
        unknown = name.startswith("certificate_")  # where no gap is claimed it is NaN
        _check(array.dtype.kind != "f" or unknown or np.isfinite(array).all(), f"array {name!r}")
    cls = _CLASSES[header["class"]]
    parameters = {key: _number(value) for key, value in header["parameters"].items()}
    model: Any = cls(**parameters)
    model._check_parameters()
    n, d = (int(size) for size in header["shape_fit"])
    support, n_support, dual_coef = arrays["support"], arrays["n_support"], arrays["dual_coef"]
    classes = arrays.get("classes")
    n_classes = 1 if classes is None else len(classes)
    n_pairs = max(1, n_classes * (n_classes - 1) // 2)
    is_classifier = cls in (SVC, NuSVC)
    m = len(support)
    _check(
        (classes is not None) == is_classifier and (n_classes != 1 or not is_classifier), "classes"
    )
    _check(int(header["n_features_in"]) == d and n >= 0 and d >= 0, "shape")
    _check(m == 0 or (support.min() >= 0 and support.max() < n), "array 'support'")
    _check(len(n_support) == n_classes and (n_support >= 0).all(), "array 'n_support'")
    _check(n_support.sum() == m, "array 'n_support'")
    _check(dual_coef.shape == (max(1, n_classes - 1), m), "array 'dual_coef'")
    _check(arrays["intercept"].shape == (n_pairs,), "array 'intercept'")
    _check(arrays["n_iter"].shape == (n_pairs,), "array 'n_iter'")
    gamma = _number(header["gamma"])
    _check(isinstance(gamma, float) and 0.0 <= gamma < math.inf, "gamma")

    vectors: Any
    if "vectors" in arrays:
        vectors = np.ascontiguousarray(arrays["vectors"], dtype=np.float64)
        _check(vectors.shape == ((0, 0) if model._is_precomputed else (m, d)), "array 'vectors'")
    else:
        parts = tuple(arrays[f"vectors_{part}"] for part in _SPARSE_PARTS)
        vectors = sparse.csr_matrix(parts, shape=(m, d), dtype=np.float64)
        vectors.check_format(full_check=True)
    certificates: Certificates | tuple[Certificate]
    if "certificate" in header:
        certificates = (Certificate.from_record(_numbers(header["certificate"])),)
    else:
        certificates = _certificates(header, arrays, n_pairs)
    model.n_features_in_ = d
    model._adopt(
        support=support,
        vectors=vectors,
        n_support=n_support,
        dual_coef=dual_coef.astype(np.float64),
        intercept=arrays["intercept"].astype(np.float64),
        gamma=gamma,
        shape=(n, d),
        certificates=certificates,
        fit_status=int(header["fit_status"]),
    )
    epsilon = math.nan if header["epsilon"] is None else float(_number(header["epsilon"]))
    model._describe(arrays["n_iter"].astype(np.int32), epsilon)
    if classes is not None:
        _check(arrays["class_weight"].shape == (n_classes,), "array 'class_weight'")
        _check(len(np.unique(classes)) == n_classes, "array 'classes'")
        model.classes_ = classes.astype(object) if header.get("object_labels") else classes
        model.class_weight_ = arrays["class_weight"]
    if "feature_names" in arrays:
        _check(arrays["feature_names"].shape == (d,), "array 'feature_names'")
        model.feature_names_in_ = arrays["feature_names"].astype(object)
    return model


def _certificates(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], n_pairs: int
) -> Certificates:
    """Read the certificates of many pairs."""
    found = {name: arrays[f"certificate_{name}"] for name in ARRAY_FORMS}
    phases = [str(phase) for phase in header["phases"]]
    for name, array in found.items():
        shape = array.shape[:1] if name != "seconds" else array.shape[1:]
        _check(shape == (n_pairs,), f"array 'certificate_{name}'")
    _check(found["seconds"].shape[0] == len(phases) == len(set(phases)), "phases")
    _check(found["bias_interval"].shape[2] == 2, "array 'certificate_bias_interval'")
    return Certificates.from_arrays(found, phases)


def _dense(matrix: Any) -> NDArray[Any]:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _plain(value: Any) -> Any:
    """Turn into what JSON knows; numbers without a JSON form become their hexadecimal text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _number(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) and set(value) == {"float"} else value


def _numbers(value: Any) -> Any:
    value = _number(value)
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return [_numbers(item) for item in value] if isinstance(value, list) else value
