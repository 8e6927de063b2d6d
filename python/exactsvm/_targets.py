"""Labels and weights: what came as y, sample_weight and class_weight, as signs and factors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from exactsvm._parameters import LARGEST_WEIGHT, check_number, check_vector, refuse

Floats = NDArray[np.float64]
Kept = NDArray[np.intp] | slice

_EVERY_ROW = slice(None)


def check_sample_weight(sample_weight: ArrayLike | None, n: int) -> Floats | None:
    """Return one finite weight >= 0 for each of n rows."""
    if sample_weight is None:
        return None
    weights = check_vector("sample_weight", sample_weight, n)
    if weights.min() < 0.0:
        raise ValueError(f"sample_weight must not be negative; got {weights.min():g}")
    return weights


def rows_of_weight(weights: Floats | None) -> Kept:
    """Return the rows of positive weight, as a slice if they are all there: nothing is copied."""
    if weights is None or weights.all():
        return _EVERY_ROW
    kept = np.flatnonzero(weights)
    if len(kept) == 0:
        raise ValueError("sample_weight must not be zero everywhere: no row or class is left")
    return kept


def find_classes(y: NDArray[Any], weights: Floats | None) -> tuple[NDArray[Any], Kept]:
    """Return the labels, two or more, and the rows of positive weight.

    Rows of weight zero may have any label; theirs is no class.
    """
    if y.dtype.kind not in "biuUS":  # the others are labels whatever their values
        check_classification_targets(y)
    kept = rows_of_weight(weights)
    classes = np.unique(y[kept])
    if len(classes) < 2:
        where = "y" if weights is None else "y, where sample_weight is positive,"
        raise ValueError(
            f"{where} must hold two classes or more; got 1 class, {classes.tolist()[0]!r}. In "
            "a grid search or cross-validation a fold may have lost the others"
        )
    return classes, kept


def encode_classes(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of each row's label; of one that is no class it means nothing."""
    return np.minimum(np.searchsorted(classes, y), len(classes) - 1).astype(np.int64)


def check_nu(nu: float, sums: Floats) -> None:
    """Check that every pair of classes has room for nu, given the sum of weights of each class.

    A pair puts nu / 2 of its weight on either class, and no class takes more than its own.
    """
    largest = 2.0 * float(sums.min()) / float(sums.min() + sums.max())
    if nu > largest * (1.0 + 1e-12):
        raise ValueError(
            f"nu={nu:g} is infeasible for classes of such different weight: nu must be at most "
            f"{largest!r}, twice the share of the smallest class among itself and the largest"
        )


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
    codes: NDArray[np.int64],
    weights: Floats | None,
) -> Floats:
    """Return the weight of each class; "balanced" counts sample weights as repeated rows."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        counts = np.bincount(codes, weights, minlength=len(classes))
        balanced: Floats = counts.sum() / (len(classes) * counts)
        return balanced
    by_class: Floats = compute_class_weight(class_weight, classes=classes, y=classes)
    return by_class


def upper_bounds(
    C: float, by_class: Floats, codes: NDArray[np.integer[Any]], weights: Floats | None
) -> Floats:
    """Return C times class weight times sample weight for each row.

    In LIBSVM's order of factors, so that its bounds and ours are equal to the last bit.
    """
    with np.errstate(over="ignore"):
        upper: Floats = (C * by_class)[codes]
    return weighted(upper, weights)


def weighted(upper: Floats, weights: Floats | None) -> Floats:
    """Return the bounds times the weights."""
    if weights is None:
        return upper
    # A weight of zero gives zero also for C = inf.
    with np.errstate(over="ignore"):
        return np.multiply(upper, weights, out=np.zeros(len(upper)), where=weights > 0.0)


def check_bounds(upper: Floats, C: float = 1.0) -> None:
    """Check that no product of C and weights has vanished or is too large for the objective."""
    if not upper.all():
        raise ValueError("C times the weights must be > 0; a product of them is too small")
    if not np.isinf(C) and upper.max(initial=0.0) > LARGEST_WEIGHT:
        raise ValueError(
            f"C times the weights must be at most {LARGEST_WEIGHT:g}; "
            "a product of them is too large"
        )
