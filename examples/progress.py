"""Watch a fit, and stop it when it is good enough.

The best model so far is kept, and its certificate says how good it is.
"""

import warnings

from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from exactsvm import SVC

X, y = make_classification(3000, 20, n_informative=8, flip_y=0.05, class_sep=0.5, random_state=0)


def watch(record):
    """Print one line; the answer True ends the fit."""
    line = "{elapsed:6.2f} s  cycle {n_iter:4}  violation {kkt_violation:9.2e}  free {n_free:5}"
    print(line.format_map(record))
    return record["kkt_violation"] < 1e-3


with warnings.catch_warnings():
    # A fit that was stopped warns, which is right in general and expected here.
    warnings.simplefilter("ignore", ConvergenceWarning)
    model = SVC(C=100, callback=watch).fit(X, y)

print(model.certificate_)
