"""Conversion of fitted models to ONNX, by skl2onnx.

After `register()`, `skl2onnx.to_onnx` converts the estimators of this package, alone or in a
pipeline. The graphs consist of elementary operators and compute in double precision whatever the
type of the input; ONNX's own operator for support vector machines has single precision only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactsvm._classification import SVC, NuSVC
from exactsvm._linear_classification import LinearSVC
from exactsvm._linear_regression import LinearSVR
from exactsvm._onnx_graph import INT64, Graph, affine, values_of_one, values_of_pairs, votes
from exactsvm._outlier import OneClassSVM
from exactsvm._regression import SVR, NuSVR

__all__ = ["register"]

_CLASSIFIERS = (SVC, NuSVC, LinearSVC)
_REGRESSORS = (SVR, NuSVR, LinearSVR)


def register() -> None:
    """Tell skl2onnx how to convert the estimators of this package.

    Needs skl2onnx: ``pip install exactsvm[onnx]``. To call it again changes nothing.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    Notes
    -----
    Outputs of a classifier are `label` of shape (n,), int64 or string, and `scores`, the values of
    `decision_function`; of two classes, as skl2onnx has it and `CalibratedClassifierCV` needs it,
    a column each, -f and f. OneClassSVM has the `label` 1 or -1 and `scores` of shape (n,), a
    regressor `variable` of shape (n, 1). Scores and targets are float32 if the input is, else
    float64.

    The graph computes in double precision. For float64 input its values agree with the model's to
    1e-12 of the largest one: sums are formed in another order, no more. For
    float32 input they are rounded to that at the end, which is an error of 6e-8 relative to each
    value; what comes before it in a pipeline has the precision that skl2onnx gives it.

    Labels that are booleans or whole numbers become int64. A callable kernel cannot be converted.
    The rows of a precomputed kernel are the kernel values with all training points.

    Examples
    --------
    >>> from exactsvm import SVC
    >>> from exactsvm.onnx import register
    >>> X, y = [[-1.0], [1.0]], [0, 1]
    >>> register()  # doctest: +SKIP
    >>> skl2onnx.to_onnx(SVC().fit(X, y), np.array(X))  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "exactsvm.onnx.register needs skl2onnx; pip install exactsvm[onnx]"
        ) from error
    for cls, convert in _CONVERTERS.items():
        update_registered_converter(
            cls, f"Exactsvm{cls.__name__}", _set_types, convert, parser=_parse
        )


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs; without skl2onnx's parser, which would turn scores into a map."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType

    operator = scope.declare_local_operator(f"Exactsvm{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    regression = isinstance(model, _REGRESSORS)
    if not regression:
        operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    name = "variable" if regression else "scores"
    operator.outputs.append(scope.declare_local_variable(name, DoubleTensorType()))
    return operator.outputs


def _set_types(operator: Any) -> None:
    """Set element types and shapes of the outputs."""
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    model = operator.raw_operator
    single = all(isinstance(variable.type, FloatTensorType) for variable in operator.inputs)
    kind = FloatTensorType if single else DoubleTensorType
    rows = operator.inputs[0].get_first_dimension()
    if isinstance(model, _REGRESSORS):
        operator.outputs[0].type = kind([rows, 1])
        return
    words = isinstance(model, _CLASSIFIERS) and _labels(model).dtype.kind == "U"
    operator.outputs[0].type = (StringTensorType if words else Int64TensorType)([rows])
    shape = [rows]
    if isinstance(model, _CLASSIFIERS):
        k = len(model.classes_)
        shape.append(k * (k - 1) // 2 if k > 2 and _by_pairs(model) else k)
    operator.outputs[1].type = kind(shape)


def _by_pairs(model: Any) -> bool:
    return not isinstance(model, LinearSVC) and model.decision_function_shape == "ovo"


def _labels(model: Any) -> np.ndarray[Any, Any]:
    """Return the labels as ONNX has them: integers or strings."""
    labels: np.ndarray[Any, Any] = np.asarray(model.classes_)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(np.str_)
    if labels.dtype.kind == "U":
        return labels
    if labels.dtype.kind not in "biuf" or (labels != labels.astype(np.int64)).any():
        raise ValueError(f"classes_ must be whole numbers, booleans or strings; got {labels!r}")
    return labels.astype(np.int64)


def _start(scope: Any, operator: Any, container: Any) -> tuple[Graph, Any, str]:
    model = operator.raw_operator
    if callable(getattr(model, "kernel", None)):
        raise ValueError("kernel is a callable, which is code: it cannot be converted to ONNX")
    graph = Graph(scope, operator, container)
    return graph, model, graph.rows()


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    graph, model, rows = _start(scope, operator, container)
    if isinstance(model, LinearSVR):
        values = affine(graph, rows, np.atleast_2d(model.coef_), model.intercept_)
    else:
        values = values_of_one(graph, model, rows)
    graph.finish(values, 0, shape=[-1, 1])


def _convert_outliers(scope: Any, operator: Any, container: Any) -> None:
    graph, model, rows = _start(scope, operator, container)
    values = values_of_one(graph, model, rows)
    near = graph.node("LessOrEqual", graph.node("Abs", values), graph.constant([model._border]))
    values = graph.node("Where", near, graph.constant([0.0]), values)
    inside = graph.node("GreaterOrEqual", values, graph.constant([0.0]))
    inside = graph.node("Cast", inside, to=INT64)
    label = graph.node("Mul", inside, graph.constant([2]))
    graph.finish(graph.node("Sub", label, graph.constant([1])), 0, shape=[-1])
    graph.finish(values, 1, shape=[-1])


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph, model, rows = _start(scope, operator, container)
    n_classes = len(model.classes_)
    if isinstance(model, LinearSVC):
        values = scores = affine(graph, rows, model.coef_, model.intercept_)
    elif n_classes == 2:
        values = values_of_one(graph, model, rows)
    else:
        pairs = values_of_pairs(graph, model, rows)
        count, scores = votes(graph, pairs, n_classes)
        values = scores if model.break_ties else count
        scores = pairs if _by_pairs(model) else scores
    if n_classes == 2:  # ties are the first one's, here and there
        values = scores = graph.node("Concat", graph.node("Neg", values), values, axis=1)
    winner = graph.node("ArgMax", values, axis=1, keepdims=0)
    graph.finish(graph.node("Gather", graph.constant(_labels(model)), winner), 0)
    graph.finish(scores, 1)


_CONVERTERS = {
    **dict.fromkeys(_CLASSIFIERS, _convert_classifier),
    **dict.fromkeys(_REGRESSORS, _convert_regressor),
    OneClassSVM: _convert_outliers,
}
