"""Which kernel solver runs, and with which seed."""

from typing import Any

from sklearn.utils import check_random_state

from exactsvm._certificate import Certificate

SOLVERS = ("auto", "cmu", "smo")
SELECTIONS = ("greedy", "random")


def resolve_solver(solver: str) -> str:
    """Return the name of the solver that runs.

    "auto" is CMU. In the measurement of benches/README.md SMO is the faster on some problems, by
    up to 8 times, and the slower on most, by up to 300; docs/design.md has the reasons.
    """
    return "cmu" if solver == "auto" else solver


def resolve_seed(random_state: Any) -> int:
    """Return the seed of a run: 0 for None, an integer as it is, else a draw."""
    if random_state is None:
        return 0
    if isinstance(random_state, int) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def n_steps(certificate: Certificate) -> int:
    """Return the iterations of a run in its solver's unit: pair steps for SMO, cycles for CMU.

    At most what `n_iter_` can hold in scikit-learn's type.
    """
    smo = certificate.solver == "smo"
    return min(certificate.n_pair_steps if smo else certificate.n_cycles, 2**31 - 1)
