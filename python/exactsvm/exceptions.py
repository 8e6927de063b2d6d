"""Warnings and errors that this package raises beyond the built-in ones.

They are scikit-learn's own classes, so that code which already handles them keeps working.
"""

from sklearn.exceptions import ConvergenceWarning, NotFittedError

__all__ = ["ConvergenceWarning", "NotFittedError"]
