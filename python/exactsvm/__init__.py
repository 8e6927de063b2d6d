"""Support vector machines trained to the exact optimum, with a certificate of it.

The estimators keep scikit-learn's names, parameters and attributes; `certificate_` is what they
add. The solver is CMU, the cycling method with updates (F. Jarre, arXiv 2503.10482).
"""

from exactsvm._certificate import Certificate
from exactsvm._classification import SVC, NuSVC
from exactsvm._core import __version__
from exactsvm._dual import DualSolution, solve_dual
from exactsvm._files import load, save
from exactsvm._kernels import pairwise_kernel
from exactsvm._libsvm_format import load_libsvm, save_libsvm
from exactsvm._linear_classification import LinearSVC
from exactsvm._linear_regression import LinearSVR
from exactsvm._outlier import OneClassSVM
from exactsvm._regression import SVR, NuSVR
from exactsvm._verify import verify

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "DualSolution",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "__version__",
    "load",
    "load_libsvm",
    "pairwise_kernel",
    "save",
    "save_libsvm",
    "solve_dual",
    "verify",
]
