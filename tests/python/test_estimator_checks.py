"""scikit-learn's conformance suite."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from exactsvm import SVC, LinearSVC, LinearSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]


def expected_failures(estimator):
    if getattr(estimator, "kernel", None) == "rbf" and estimator.gamma == "scale":
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "gamma='scale' takes the plain variance of X, as scikit-learn's SVC does, so "
                "repeating rows changes the kernel; passes for any fixed kernel"
            ),
        }
    return {}


@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="linear"),
        SVC(gamma="auto", class_weight="balanced"),
        SVC(kernel="precomputed"),
        # Repeated rows and weights give one model, as exactly as it is solved.
        LinearSVC(tol=1e-11),
        LinearSVC(loss="hinge", tol=1e-11),
        LinearSVR(tol=1e-11),
    ],
    expected_failed_checks=expected_failures,
)
def test_conforms(estimator, check):
    check(estimator)
