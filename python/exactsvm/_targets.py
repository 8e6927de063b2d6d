"""Labels and weights: what came as y, sample_weight and class_weight, as signs and factors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from exactsvm._parameters import check_number, refuse

Floats = NDArray[np.float64]
Kept = NDArray[np.intp] | slice

_EVERY_ROW = slice(None)


def check_sample_weight(sample_weight: ArrayLike | None, n: int) -> Floats | None:
    """Return one finite weight >= 0 for each of n rows."""
    if sample_weight is None:
        return None
    weights: Floats = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
    )
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},); got {weights.shape}")
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight must not be negative; got {weights.min():g}")
    return weights


def encode_two_classes(
    y: NDArray[Any], weights: Floats | None
) -> tuple[NDArray[Any], Floats, Kept]:
    """Return the two labels, -1 and +1 for each row, and the rows of positive weight.

    The rows come as a slice if they are all there, so that nothing need be copied.
    """
    if y.dtype.kind not in "biuUS":  # the others are labels whatever their values
        check_classification_targets(y)
    kept: Kept = _EVERY_ROW
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        if len(kept) == 0:
            raise ValueError("sample_weight must not be zero everywhere: no class is left")
    classes = np.unique(y[kept])
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y must hold two classes; got {len(classes)} classes"
        )
    if len(classes) < 2:
        where = "y" if weights is None else "y, where sample_weight is positive,"
        raise ValueError(f"{where} must hold two classes; got 1 class, {classes[0]!r}")
    return classes, np.where(y == classes[1], 1.0, -1.0), kept


def check_class_weight(class_weight: object) -> None:
    """Check class_weight: None, "balanced", or a mapping from labels to numbers > 0."""
    expected = "None, 'balanced' or a dict from labels to numbers > 0"
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            refuse("class_weight", expected, class_weight)
    elif isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            check_number(f"class_weight[{label!r}]", weight, "a finite number > 0", above=0.0)
    elif class_weight is not None:
        refuse("class_weight", expected, class_weight, TypeError)


def class_weights(
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    signs: Floats,
    weights: Floats | None,
) -> Floats:
    """Return the weight of each class; "balanced" counts sample weights as repeated rows."""
    if class_weight is None:
        return np.ones(2)
    if isinstance(class_weight, str):
        counts = np.bincount((signs > 0.0).astype(np.intp), weights, minlength=2)
        balanced: Floats = counts.sum() / (2.0 * counts)
        return balanced
    by_class: Floats = compute_class_weight(class_weight, classes=classes, y=classes)
    return by_class


def upper_bounds(C: float, by_class: Floats, signs: Floats, weights: Floats | None) -> Floats:
    """Return C times class weight times sample weight for each row.

    In LIBSVM's order of factors, so that its bounds and ours are equal to the last bit.
    """
    upper: Floats = np.where(signs > 0.0, C * by_class[1], C * by_class[0])
    if weights is None:
        return upper
    # A weight of zero gives zero also for C = inf.
    return np.multiply(upper, weights, out=np.zeros(len(upper)), where=weights > 0.0)
