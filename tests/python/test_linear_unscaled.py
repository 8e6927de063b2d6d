"""Unscaled samples and extreme C: finite weights, and a status that says what the gap is."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from exactsvm import LinearSVC
from generators import one_wide_column
from linear_problems import primal


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("solver", ["auto", "ipm", "dcd", "gd", "sgd"])
def test_unscaled_data_are_never_silently_wrong(solver, C):
    X, y = one_wide_column(200)
    model = LinearSVC(loss="hinge", C=C, solver=solver, max_time=0.5)
    with np.errstate(all="raise"):
        if solver in ("auto", "ipm"):
            model.fit(X, y)
            assert model.certificate_.is_optimal
        else:
            try:
                model.fit(X, y)
            except ConvergenceWarning:
                model.set_params(max_time=0.5)
                with pytest.warns(ConvergenceWarning, match="relative duality gap"):
                    model.fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    c = model.certificate_
    value = primal(X, y, model.coef_[0], model.intercept_[0], np.full(len(y), C))
    assert c.primal_objective == pytest.approx(value, rel=1e-9)
    assert c.is_optimal == (c.relative_gap <= max(model.tol, c.precision_floor))
    assert (model.fit_status_ == 0) == c.is_optimal
