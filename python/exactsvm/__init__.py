"""Support vector machines trained to the exact optimum, with a certificate of it.

The estimators keep scikit-learn's names, parameters and attributes; `certificate_` is what they
add. The solver is CMU, the cycling method with updates (F. Jarre, arXiv 2503.10482).
"""

from exactsvm._certificate import Certificate
from exactsvm._classification import SVC
from exactsvm._core import __version__
from exactsvm._dual import DualSolution, solve_dual
from exactsvm._kernels import pairwise_kernel
from exactsvm._linear_classification import LinearSVC
from exactsvm._linear_regression import LinearSVR
from exactsvm._verify import verify

__all__ = [
    "SVC",
    "Certificate",
    "DualSolution",
    "LinearSVC",
    "LinearSVR",
    "__version__",
    "pairwise_kernel",
    "solve_dual",
    "verify",
]
