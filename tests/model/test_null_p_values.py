"""P-values of coefficients that are zero are uniform."""

import numpy as np
import pytest

from .test_fuzz import load_bench

bench = load_bench("null_p_values")


def test_the_distance_of_uniform_values_is_small_and_that_of_others_is_not():
    rng = np.random.default_rng(0)
    assert bench.distance(rng.uniform(size=500)) < bench.limit(500)
    assert bench.distance(rng.uniform(size=500) ** 1.5) > bench.limit(500)


@pytest.mark.slow
@pytest.mark.parametrize("design", bench.DESIGNS)
def test_they_are_uniform(design):
    p = bench.p_values(bench.DESIGNS[design], 500)
    # In a few fits the noise hides a column, and it is not in the model.
    assert len(p) > 480
    assert bench.distance(p) < bench.limit(len(p))
