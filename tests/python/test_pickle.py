import copy
import pickle

import numpy as np
import pytest

from exactsvm import SVC, solve_dual


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_fitted_model(blobs, kernel, protocol):
    X, y = blobs
    data = X @ X.T if kernel == "precomputed" else X
    model = SVC(kernel=kernel).fit(data, y)
    again = pickle.loads(pickle.dumps(model, protocol=protocol))
    np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))
    assert again.certificate_ == model.certificate_
    assert again.get_params() == model.get_params()


def test_certificate_and_solution(blobs):
    solution = solve_dual(np.eye(4), [-1, 1, -1, 1], upper=1.0)
    for again in (pickle.loads(pickle.dumps(solution)), copy.deepcopy(solution)):
        assert again.certificate == solution.certificate
        np.testing.assert_array_equal(again.x, solution.x)
