"""An estimator of another library, with a known fault."""

import numpy as np
import pytest

from dpfit.audit import Neighbours, audit

pytest.importorskip("diffprivlib", reason="diffprivlib is not installed")
try:
    from diffprivlib.models import LinearRegression
except ImportError as error:
    pytest.skip(f"diffprivlib does not import: {error}", allow_module_level=True)

# Version 0.6.6 computes the sensitivity of X'X from the lower bound alone, so X'X of columns with
# bounds (0, 1) gets no noise. Coefficients are divided by it. It is not zero in either table: the
# minimiser would take long to find that there is no minimum.
X = np.zeros((50, 1))
X[0] = 1e-3
PAIR = Neighbours.replacing(X, np.zeros(50), 0, [1.0], 0.0)


@pytest.mark.parametrize(("bounds", "leaks"), [((0, 1), True), ((-1, 1), False)])
@pytest.mark.filterwarnings("ignore")
def test_missing_noise_is_found(bounds, leaks):
    estimator = LinearRegression(epsilon=1.0, bounds_X=bounds, bounds_y=(0, 1), fit_intercept=False)
    # False alarms are rarer than 1e-9.
    found = audit(estimator, PAIR, n_fits=1000, confidence=1.0 - 1e-9)
    assert found.claimed_epsilon == 1.0
    assert found.exceeds == leaks
    assert (found.epsilon > 2.5) == leaks
