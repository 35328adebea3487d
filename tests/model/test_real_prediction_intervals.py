"""Prediction intervals for new observations, on real tables.

The intervals assume normal residuals of equal variance, so they do not hold everywhere.
`benches/python/prediction_intervals.py` prints their coverage on all tables, and NOTES.md beside it
has the figures. The tables below are among those on which linear models meet the claim.
"""

import importlib.util
import pathlib

import numpy as np
import pytest

from dpfit import PrivateLinearRegression

ROOT = pathlib.Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
TABLES = ["361072_cpu_act", "361074_elevators", "361090_fifa"]


@pytest.fixture(scope="module")
def bench():
    path = ROOT / "benches" / "python" / "prediction_intervals.py"
    spec = importlib.util.spec_from_file_location("prediction_intervals", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the real tables in ../shared/data")
@pytest.mark.parametrize("name", TABLES)
def test_they_contain_95_per_cent_of_other_rows(bench, name):
    table = bench.read(DATA / f"{name}.parquet")
    fits = [bench.measured(PrivateLinearRegression, table, 1.0, seed) for seed in range(10)]
    assert 0.94 <= np.mean([inside for _, inside, _, _ in fits]) <= 0.965
