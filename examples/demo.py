"""The main job on real data: train, see the certificate, predict; then scikit-learn, judged alike.

Run it with `make demo`.
"""

import time
from pathlib import Path

import numpy as np
import sklearn.svm
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import exactsvm

DATA = Path(__file__).parent / "data" / "spambase.csv.gz"
# A smooth kernel and a large C, where a loose stopping rule and single precision begin to cost.
PARAMETERS = {"kernel": "rbf", "gamma": 0.001, "C": 1e4}


def load():
    """Standardised training and test rows, labels as words."""
    table = np.loadtxt(DATA, delimiter=",")
    X, y = table[:, :-1], np.where(table[:, -1] == 1, "spam", "mail")
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=0, stratify=y
    )
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def train(model, X, y):
    """Fit and return the seconds that took."""
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def main():
    X_train, X_test, y_train, y_test = load()
    print(f"spambase: {len(X_train)} e-mails to learn from, {len(X_test)} held out, {PARAMETERS}\n")

    ours = exactsvm.SVC(**PARAMETERS)
    ours_seconds = train(ours, X_train, y_train)
    print(f"exactsvm {exactsvm.__version__}: the certificate of the fit\n")
    print(ours.certificate_)

    theirs = sklearn.svm.SVC(**PARAMETERS)
    theirs_seconds = train(theirs, X_train, y_train)

    print("\nBoth answers, judged by exactsvm.verify on the training data")
    print(f"{'':26}{'exactsvm':>16}{'scikit-learn':>16}")
    models = (ours, theirs)
    judged = [exactsvm.verify(m, X_train, y_train) for m in models]
    rows = [
        ("tolerance asked for", [f"{m.tol:.0e}" for m in models]),
        ("violation reached", [f"{c.kkt_violation:.1e}" for c in judged]),
        ("relative duality gap", [f"{c.relative_gap:.1e}" for c in judged]),
        ("dual objective", [f"{c.dual_objective:.3f}" for c in judged]),
        ("support vectors", [f"{len(m.support_)}" for m in models]),
        ("held-out accuracy", [f"{m.score(X_test, y_test):.4f}" for m in models]),
        ("seconds", [f"{s:.3f}" for s in (ours_seconds, theirs_seconds)]),
    ]
    for name, (a, b) in rows:
        print(f"{name:26}{a:>16}{b:>16}")


if __name__ == "__main__":
    main()
