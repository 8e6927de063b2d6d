"""Checks of single arguments: each error names the argument, what was expected and what came."""

import math
import reprlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

# Largest weight of an error, the compiled module's too.
LARGEST_WEIGHT = 1e100

KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian")


def refuse(
    name: str, expected: str, value: object, error: type[Exception] = ValueError
) -> NoReturn:
    """Raise the error of a bad argument."""
    came = reprlib.repr(value)
    if error is TypeError:
        came += f" of type {type(value).__name__}"
    raise error(f"{name} must be {expected}; got {came}")


def check_number(
    name: str,
    value: object,
    expected: str,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    infinite: bool = False,
) -> float:
    """Return a real number > above and >= least as a float; booleans are not numbers."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        refuse(name, expected, value, TypeError)
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        refuse(name, expected, value)
    # Written so that NaN, too, is refused.
    if not (number > above and number >= least) or (number == math.inf and not infinite):
        refuse(name, expected, value)
    return number


def check_weight(name: str, value: object, *, infinite: bool) -> None:
    """Check the weight of errors: above the largest the terms of the objective overflow."""
    kind, ending = ("number", ", or infinity") if infinite else ("finite number", "")
    expected = f"a {kind} > 0 and at most {LARGEST_WEIGHT:g}{ending}"
    number = check_number(name, value, expected, above=0.0, infinite=infinite)
    if LARGEST_WEIGHT < number < math.inf:
        refuse(name, expected, value)


def check_integer(name: str, value: object, expected: str, *, least: int | None = None) -> int:
    """Return an integer >= least that 64 bits hold; booleans are not integers."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        refuse(name, expected, value, TypeError)
    number = int(value)
    if not -(2**63) <= number < 2**63:
        refuse(name, f"{expected}, in 64 bits", value)
    if least is not None and number < least:
        refuse(name, expected, value)
    return number


def check_flag(name: str, value: object) -> bool:
    """Return a boolean."""
    if not isinstance(value, (bool, np.bool_)):
        refuse(name, "True or False", value, TypeError)
    return bool(value)


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        expected = "one of " + ", ".join(repr(choice) for choice in choices)
        refuse(name, expected, value, ValueError if isinstance(value, str) else TypeError)
    return value


def check_gamma(gamma: object) -> None:
    """Check gamma: 'scale', 'auto' or a finite number that is not negative."""
    expected = "'scale', 'auto' or a finite number >= 0"
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            refuse("gamma", expected, gamma)
    else:
        check_number("gamma", gamma, expected, least=0.0)


def check_kernel_parameters(gamma: object, degree: object, coef0: object) -> None:
    """Check the parameters that every kernel function takes."""
    check_gamma(gamma)
    check_integer("degree", degree, "an integer >= 0", least=0)
    check_number("coef0", coef0, "a finite number")


def check_limits(tol: object, max_iter: object, max_time: object) -> None:
    """Check the tolerance and the limits of a solver."""
    check_number("tol", tol, "a finite number > 0", above=0.0)
    if check_integer("max_iter", max_iter, "an integer >= 1, or -1 for no limit", least=-1) == 0:
        refuse("max_iter", "an integer >= 1, or -1 for no limit", max_iter)
    if max_time is not None:
        expected = "a number of seconds > 0, or None for no limit"
        check_number("max_time", max_time, expected, above=0.0, infinite=True)


def check_seed(random_state: Any) -> None:
    """Check random_state: what scikit-learn takes as a seed."""
    try:
        check_random_state(random_state)
    except ValueError:
        expected = "None, an integer from 0 to 2**32 - 1 or a RandomState"
        refuse("random_state", expected, random_state)


def seconds_or_none(max_time: float | None) -> float | None:
    """Return a limit of time as the compiled module takes it."""
    return None if max_time is None or max_time == math.inf else float(max_time)


def check_vector(name: str, values: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return n finite numbers."""
    if np.asarray(values).ndim == 0:
        refuse(name, f"an array of shape ({n},)", values)
    with named(name):
        vector: NDArray[np.float64] = check_array(
            values, dtype=np.float64, order="C", ensure_2d=False, input_name=name
        )
    if vector.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},); got {vector.shape}")
    return vector


@contextmanager
def named(name: str) -> Iterator[None]:
    """Put the name of an argument in front of errors that do not have it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if name in str(error):
            raise
        raise type(error)(f"{name}: {error}") from error


def check_verbose(verbose: object) -> int:
    """Return the level of reporting, 0, 1 or 2."""
    if isinstance(verbose, (bool, np.bool_)):
        return int(verbose)
    return min(2, check_integer("verbose", verbose, "an integer >= 0 or a boolean", least=0))


def check_callback(callback: Any) -> None:
    """Check a progress callback."""
    if callback is not None and not callable(callback):
        refuse("callback", "None or a callable of one argument", callback, TypeError)
