"""Graphs of fitted models for ONNX: kernel values, decisions, votes in elementary operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactsvm._core import SAFE_EXPONENT
from exactsvm._data import Floats, as_array
from exactsvm._outlier import OneClassSVM

# ReduceSum and Squeeze take their axes as an input from here on.
LEAST_OPSET = 13
# Element types of TensorProto; onnx itself may be missing.
_DOUBLE, INT64 = 11, 7


class Graph:
    """Nodes and constants added to the container of one conversion."""

    def __init__(self, scope: Any, operator: Any, container: Any) -> None:
        if container.target_opset < LEAST_OPSET:
            raise ValueError(
                f"target_opset must be at least {LEAST_OPSET}; got {container.target_opset}"
            )
        self._scope = scope
        self._operator = operator
        self._container = container

    def node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name: str = output or self._scope.get_unique_variable_name(kind.lower())
        self._container.add_node(
            kind,
            list(inputs),
            [name],
            name=self._scope.get_unique_operator_name(kind),
            **attributes,
        )
        return name

    def constant(self, values: Any) -> str:
        """Add an array of doubles, integers or strings and return its name."""
        from onnx import TensorProto, numpy_helper

        array = np.asarray(values)
        name: str = self._scope.get_unique_variable_name("constant")
        content: Any
        if array.dtype.kind == "U":
            content = [str(word).encode() for word in array]
            kind = TensorProto.STRING
        else:
            array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
            content = numpy_helper.from_array(array)
            kind = content.data_type
        self._container.add_initializer(name, kind, list(array.shape), content)
        return name

    def scan(self, body: Any, state: str, rows: str) -> str:
        """Run a graph for every row; its state stays as it is."""
        same, name = (self._scope.get_unique_variable_name(n) for n in ("state", "scan"))
        self._container.add_node(
            "Scan",
            [state, rows],
            [same, name],
            name=self._scope.get_unique_operator_name("Scan"),
            body=body,
            num_scan_inputs=1,
        )
        return str(name)

    def rows(self) -> str:
        """Return the input rows, in double precision; several inputs are columns of one."""
        parts = [
            self.node("Cast", variable.full_name, to=_DOUBLE) for variable in self._operator.inputs
        ]
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)

    def finish(self, name: str, k: int, *, shape: list[int] | None = None) -> None:
        """Make a value the k-th output, in that one's precision."""
        output = self._operator.outputs[k]
        if shape is not None:
            name = self.node("Reshape", name, self.constant(np.array(shape, np.int64)))
        kind = _ELEMENT_TYPES.get(type(output.type).__name__)
        if kind is None:
            self.node("Identity", name, output=output.full_name)
        else:
            self.node("Cast", name, output=output.full_name, to=kind)

    def sum_of_rows(self, name: str, axis: int, *, keep: bool = False) -> str:
        """Sum over an axis."""
        return self.node("ReduceSum", name, self.constant([axis]), keepdims=int(keep))


_ELEMENT_TYPES = {"FloatTensorType": 1, "DoubleTensorType": _DOUBLE, "Int64TensorType": INT64}


class Support:
    """The support vectors and coefficients of a model; at least one vector, be it of weight 0."""

    def __init__(self, model: Any) -> None:
        self.coefficients = as_array(model.dual_coef_)
        self.vectors = as_array(model.support_vectors_)
        self.rows = np.asarray(model.support_, dtype=np.int64)
        self.counts = [int(n) for n in model.n_support_]
        if sum(self.counts) == 0:
            self.coefficients = np.zeros((len(self.coefficients), 1))
            self.vectors = np.zeros((1, model.n_features_in_))
            self.rows = np.zeros(1, np.int64)
            self.counts[0] = 1

    def centre(self) -> Floats:
        """Return an origin amid the vectors, of so few digits that subtracting it loses none."""
        middle = self.vectors.mean(axis=0)
        spread = np.abs(self.vectors - middle).max(axis=0)
        unit = np.exp2(np.floor(np.log2(np.where(spread > 0.0, spread, 1.0))) - 4.0)
        centre: Floats = np.round(middle / unit) * unit
        return centre


def kernel_values(graph: Graph, model: Any, support: Support, rows: str) -> str:
    """Kernel values of the rows with the support vectors, of shape (n, n_SV)."""
    kernel = model.kernel
    if kernel == "precomputed":
        return graph.node("Gather", rows, graph.constant(support.rows), axis=1)
    if kernel == "laplacian":
        return _decayed(graph, model._gamma, _differences(graph, support.vectors, rows, "Abs"))
    if kernel == "rbf":
        return _decayed(graph, model._gamma, _squared_distances(graph, support, rows, model._gamma))
    values = graph.node("MatMul", rows, graph.constant(support.vectors.T))
    if kernel == "linear":
        return values
    values = graph.node("Mul", values, graph.constant([model._gamma]))
    values = graph.node("Add", values, graph.constant([float(model.coef0)]))
    if kernel == "sigmoid":
        return graph.node("Tanh", values)
    return graph.node("Pow", values, graph.constant([float(model.degree)]))


def _decayed(graph: Graph, gamma: float, distances: str) -> str:
    return graph.node("Exp", graph.node("Mul", distances, graph.constant([-gamma])))


def _squared_distances(graph: Graph, support: Support, rows: str, gamma: float) -> str:
    """From norms and products about an origin amid the data, or where those lose digits as sums."""
    centre = support.centre()
    moved = support.vectors - centre
    rows = graph.node("Sub", rows, graph.constant(centre))
    if gamma * (moved * moved).sum(axis=1).max() > SAFE_EXPONENT:
        return _differences(graph, moved, rows, "Square")
    norms = graph.sum_of_rows(graph.node("Mul", rows, rows), 1, keep=True)
    products = graph.node("MatMul", rows, graph.constant(-2.0 * moved.T))
    both = graph.node("Add", norms, graph.constant((moved * moved).sum(axis=1)))
    return graph.node("Max", graph.node("Add", both, products), graph.constant([0.0]))


def _differences(graph: Graph, vectors: Floats, rows: str, size: str) -> str:
    """Sum the sizes of differences ("Abs" or "Square"), row by row.

    All differences at a time would take n x n_SV x n_features numbers.
    """
    from onnx import TensorProto, helper

    shape = list(vectors.shape)
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["vectors"], ["same"]),
            helper.make_node("Sub", ["vectors", "row"], ["difference"]),
            # ONNX has no square.
            helper.make_node("Mul", ["difference", "difference"], ["size"])
            if size == "Square"
            else helper.make_node(size, ["difference"], ["size"]),
            helper.make_node("ReduceSum", ["size", "axis"], ["distance"], keepdims=0),
        ],
        "distances",
        [
            helper.make_tensor_value_info("vectors", TensorProto.DOUBLE, shape),
            helper.make_tensor_value_info("row", TensorProto.DOUBLE, shape[1:]),
        ],
        [
            helper.make_tensor_value_info("same", TensorProto.DOUBLE, shape),
            helper.make_tensor_value_info("distance", TensorProto.DOUBLE, shape[:1]),
        ],
        [helper.make_tensor("axis", TensorProto.INT64, [1], [1])],
    )
    return graph.scan(body, graph.constant(vectors), rows)


def values_of_one(graph: Graph, model: Any, rows: str) -> str:
    """Decision values of a model that is one problem, of shape (n, 1)."""
    support = Support(model)
    intercept = float(model.intercept_[0])
    if model.kernel == "linear":
        centre = np.zeros(model.n_features_in_)
        if not isinstance(model, OneClassSVM):  # whose origin has a meaning
            centre = support.centre()
        weights = support.coefficients[0] @ (support.vectors - centre)
        weights += math.fsum(support.coefficients[0]) * centre
        moved = math.fsum([*(weights * centre), intercept])
        return affine(
            graph, graph.node("Sub", rows, graph.constant(centre)), weights[None], [moved]
        )
    return affine(
        graph, kernel_values(graph, model, support, rows), support.coefficients, [intercept]
    )


def affine(graph: Graph, rows: str, weights: Floats, constants: Any) -> str:
    """Rows times the transposed weights, plus the constants."""
    product = graph.node("MatMul", rows, graph.constant(weights.T))
    return graph.node("Add", product, graph.constant(np.asarray(constants, dtype=np.float64)))


def values_of_pairs(graph: Graph, model: Any, rows: str) -> str:
    """Decision values of every pair of classes, of shape (n, n_pairs)."""
    support = Support(model)
    values = kernel_values(graph, model, support, rows)
    k = len(support.counts)
    parts, first = [], 0
    for count in support.counts:
        # A class without a support vector borrows another's, with weight 0.
        place, width = (first, count) if count else (0, 1)
        weights = support.coefficients[:, place : place + width] * bool(count)
        columns = graph.constant(np.arange(place, place + width))
        part = graph.node("Gather", values, columns, axis=1)
        parts.append(graph.node("MatMul", part, graph.constant(weights.T)))
        first += count
    sums = graph.node("Concat", *parts, axis=1)  # of class c against its o-th opponent: c (k-1) + o
    a, b = np.triu_indices(k, 1)
    mine = graph.node("Gather", sums, graph.constant(a * (k - 1) + b - 1), axis=1)
    other = graph.node("Gather", sums, graph.constant(b * (k - 1) + a), axis=1)
    both = graph.node("Add", mine, other)
    return graph.node("Add", both, graph.constant(np.asarray(model.intercept_, np.float64)))


def votes(graph: Graph, values: str, n_classes: int) -> tuple[str, str]:
    """Votes of each class, and votes with ties broken by the sums of its decision values."""
    pair, sign = _opponents(n_classes)
    signs, pairs = graph.constant(sign), graph.constant(pair)
    won = graph.node("Cast", graph.node("Greater", values, graph.constant([0.0])), to=_DOUBLE)
    won = graph.node("Mul", graph.node("Gather", won, pairs, axis=1), signs)
    won = graph.node("Add", won, graph.constant(0.5 * (1.0 - sign)))  # 1 - won for the second
    count = graph.sum_of_rows(won, 2)
    total = graph.node("Mul", graph.node("Gather", values, pairs, axis=1), signs)
    total = graph.sum_of_rows(total, 2)
    size = graph.node("Add", graph.node("Abs", total), graph.constant([1.0]))
    share = graph.node("Div", total, graph.node("Mul", size, graph.constant([3.0])))
    return count, graph.node("Add", count, share)


def _opponents(n_classes: int) -> tuple[NDArray[np.int64], Floats]:
    """For each class and opponent the number of their pair, and whether the class is its first."""
    a, b = np.triu_indices(n_classes, 1)
    number = np.zeros((n_classes, n_classes), np.int64)
    number[a, b] = number[b, a] = np.arange(len(a))
    others = ~np.eye(n_classes, dtype=bool)
    shape = (n_classes, n_classes - 1)
    sign = np.where(np.triu(others), 1.0, -1.0)
    return number[others].reshape(shape), sign[others].reshape(shape)
