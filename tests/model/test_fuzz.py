"""Fits of generated tables: no exception, nothing that is not finite, plausible predictions.

The tables are those of ``benches/python/fuzz.py``: constants, zeros, heavy tails, copies, levels
without rows, wrong bounds, 1 to 50,000 rows. Tables and noise have seeds, so nothing here fails by
chance.
"""

import importlib.util
import pathlib

import numpy as np
import pytest

from .tables import CLASSES, seeded

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")


def load_bench(name):
    """Load a benchmark by its path: the folder is not a package."""
    path = pathlib.Path(__file__).parents[2] / "benches" / "python" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz = load_bench("fuzz")


def problems(seed):
    """Return what is wrong with the models of a table, as descriptions."""
    found = [f"{name}: {kind}: {text}" for name, kind, text in fuzz.check(seed)[0]]
    X, y, schema, epsilon = fuzz.table(seed)
    for cls in CLASSES:
        model = seeded(cls, X, y, epsilon=epsilon, schema=schema, seed=seed)
        found += [f"{cls.__name__}: {text}" for text in implausible(model, X, schema)]
    return found


def implausible(model, X, schema):
    """Yield what is wrong with predictions, for rows of the fit and for rows far from all."""
    least, most = model.prediction_range_
    low, high = model.target_range_
    if not least <= most:
        yield "the prediction range is empty"
    if schema.target.bounds is not None:
        public = schema.target.bounds
        if not public[0] <= least <= most <= public[1]:
            yield "the prediction range is not between public bounds"
        if not public[0] <= low <= high <= public[1]:
            yield "the target range is not between public bounds"
    for rows in (X, -1e3 * X):
        predicted = model.predict(rows)
        if not np.isfinite(predicted).all():
            yield "a prediction is not finite"
        if not (least <= predicted.min() and predicted.max() <= most):
            yield "a prediction is outside of the prediction range"
        width = high - low
        slack = 1e-9 * max(abs(low), abs(high)) if np.isfinite(width) else 0.0
        if not low - width - slack <= predicted.min() <= predicted.max() <= high + width + slack:
            yield "a prediction is more than a width outside of the target range"


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_generated_tables_have_plausible_models(first):
    found = {seed: problems(seed) for seed in range(first, first + 10)}
    assert {seed: texts for seed, texts in found.items() if texts} == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 2060, 100))
def test_many_generated_tables_have_plausible_models(first):
    found = {seed: problems(seed) for seed in range(first, first + 100)}
    assert {seed: texts for seed, texts in found.items() if texts} == {}
