import os
import signal

import hypothesis
import numpy as np
import pytest

# A shell starts background jobs with SIGINT ignored, and children would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.register_profile("slow", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture
def rng():
    return np.random.default_rng(20250313)


@pytest.fixture
def blobs(rng):
    """Two overlapping clouds of 60 points: free and bounded support vectors in both classes."""
    y = np.repeat([0, 1], [25, 35])
    X = rng.normal(size=(60, 3)) + 0.8 * y[:, None]
    order = rng.permutation(60)
    return np.ascontiguousarray(X[order]), y[order]
