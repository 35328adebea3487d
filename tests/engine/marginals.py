"""Marginals that the tests of the engine share."""

import numpy as np
from hypothesis import strategies as st

from dpfit.engine.ranges.marginal import Marginal

POINTS = 8


def marginals(fewest=2, most=40):
    """Draw marginals with empty bins and bins of unequal width."""
    weights = st.lists(st.just(0.0) | st.floats(0.01, 1e4), min_size=fewest, max_size=most)

    @st.composite
    def drawn(draw):
        found = np.array(draw(weights))
        found[[0, -1]] = np.maximum(found[[0, -1]], 1.0)
        widths = draw(st.lists(st.floats(0.1, 10), min_size=len(found), max_size=len(found)))
        start, scale = draw(st.floats(-100, 100)), draw(st.sampled_from([1e-6, 1.0, 1e6]))
        return Marginal((start + np.concatenate([[0.0], np.cumsum(widths)])) * scale, found)

    return drawn()


def rows_of(marginal):
    """Return points that stand for the rows of a marginal, and their shares."""
    inside = (np.arange(POINTS) + 0.5) / POINTS
    points = marginal.edges[:-1, None] + np.diff(marginal.edges)[:, None] * inside
    return points.ravel(), np.repeat(marginal.weights / marginal.weights.sum(), POINTS) / POINTS


def of_values(values, bins=64):
    """Return the exact marginal of a column."""
    counts, edges = np.histogram(values, bins)
    return Marginal(edges, counts.astype(float))
