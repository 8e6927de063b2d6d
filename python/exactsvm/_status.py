"""From the status of a solver to a warning that says what was reached and what to try."""

import math
import warnings

from sklearn.exceptions import ConvergenceWarning

from exactsvm._certificate import Certificate

_REASON_AND_ADVICE = {
    "max_iter": ("max_iter was reached", "Raise max_iter, or set it to -1 for no limit."),
    "max_time": ("max_time was reached", "Raise max_time, or set it to None for no limit."),
    "interrupted": ("the run was interrupted", "Fit again to go on."),
    "stopped": ("the callback asked to stop", "Let it return False to go on to the optimum."),
    "stalled": (
        "no step improves the solution any more",
        "Scale the features, lower C, or raise tol to what was reached.",
    ),
    "diverged": (
        "the steps are too long and the objective grows",
        "Lower eta0, or use learning_rate='optimal'.",
    ),
    "unbounded": (
        "the dual problem is unbounded: no hyperplane separates the classes",
        "Use a finite C, or a kernel that separates them.",
    ),
    "stationary": (
        "the kernel is not positive semidefinite: the solution satisfies the optimality "
        "conditions, but no global optimum can be claimed",
        "Use a positive semidefinite kernel.",
    ),
}


def warn_unless_optimal(certificate: Certificate, tol: float, *, stacklevel: int) -> None:
    """Warn with the reached violation and gap unless the certificate says optimal.

    `stacklevel` counts from the caller of this function, as in `warnings.warn`.
    """
    if certificate.is_optimal:
        return
    reason, advice = _REASON_AND_ADVICE.get(
        certificate.status, (f"the solver ended with status {certificate.status!r}", "")
    )
    small = certificate.kkt_violation <= tol
    if certificate.status == "stalled" and small and certificate.relative_gap > 1.0:
        reason = "with bounds as large as these the violation that is left means a gap this large"
        advice = "Lower C, or use C=inf for a hard margin."
    reached = (
        "before anything was known of the solution"
        if math.isnan(certificate.kkt_violation)
        else f"(KKT violation {certificate.kkt_violation:.3g} for tol={tol:.3g}, "
        f"relative duality gap {certificate.relative_gap:.3g})"
    )
    warnings.warn(
        f"Not optimal: {reason} {reached}. {advice}".rstrip(),
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )
