"""Intervals of predictions: their form in every kind of table, and how often they hold."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpfit import (
    Categorical,
    HiddenTargetWarning,
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    Schema,
    scan_csv,
)

from .tables import every, seeded

SCHEMA = Schema({"group": Categorical(["a", "b"])}, target=Numeric(-20, 20))


def draw(seed=0, rows=4000):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"x": rng.uniform(-2, 2, rows), "group": rng.choice(["a", "b"], rows)},
        index=np.arange(rows) + 7,
    )
    mean = 1.5 * frame.x + (frame.group == "b")
    return frame, mean.to_numpy(), mean.to_numpy() + rng.normal(size=rows)


def fitted(cls, seed=0, **options):
    frame, _, y = draw(seed)
    return seeded(cls, frame, y, seed=seed, schema=SCHEMA, epsilon=5.0, **options)


@every
@pytest.mark.parametrize("kind", ["mean", "observation"])
def test_every_kind_of_table(cls, kind, tmp_path):
    model, (frame, _, y) = fitted(cls), draw()
    found = model.predict(frame, 0.9, kind=kind)
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == ["prediction", "lower", "upper"]
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(found["prediction"], model.predict(frame))
    assert (found.lower <= found.prediction).all()
    assert (found.prediction <= found.upper).all()
    numbers = found.to_numpy()
    assert isinstance(model.predict(pl.from_pandas(frame), 0.9, kind=kind), pl.DataFrame)
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        other = model.predict(table, 0.9, kind=kind)
        columns = [np.asarray(other[name]) for name in ("prediction", "lower", "upper")]
        np.testing.assert_array_equal(np.column_stack(columns), numbers)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    scanned = model.predict(scan_csv(tmp_path / "rows.csv"), 0.9, kind=kind)
    np.testing.assert_array_equal(scanned, numbers)
    array = np.column_stack([frame.x, frame.group == "b"]).astype(float)
    plain = Schema({1: Categorical([0, 1])}, target=SCHEMA.target)
    of_arrays = seeded(cls, array, y, schema=plain, epsilon=5.0)
    np.testing.assert_array_equal(of_arrays.predict(array, 0.9, kind=kind), numbers)
    nothing = model.predict(frame[:0], 0.9, kind=kind)
    assert nothing.shape == (0, 3)


@every
def test_what_is_wider(cls):
    model, (frame, _, _) = fitted(cls), draw()

    def width(*args, **options):
        found = model.predict(frame, *args, **options)
        return (found.upper - found.lower).to_numpy()

    assert (width(0.99) > width(0.95)).all()
    assert (width(0.95) > width(0.95, inference="sample")).all()
    assert (width(0.95, kind="observation") > width(0.95)).all()
    # Far from the mean of x, the slope counts: but no further than its range.
    far = frame.assign(x=np.where(frame.x > 0, 1e6, -1e6))
    ends = model.predict(far, 0.95)
    assert np.isfinite(ends.to_numpy()).all()
    # New observations have the residual's variance, too.
    mean, one = (model.predict(frame, 0.95, kind=kind) for kind in ("mean", "observation"))
    sigma = np.sqrt(model.residual_variance_)
    assert np.median(one.upper - one.lower) == pytest.approx(2 * 1.96 * sigma, rel=0.1)
    assert np.median(mean.upper - mean.lower) < 0.7 * sigma


@every
def test_observations_are_inside_as_often_as_stated(cls):
    """4,000 normal observations: the share inside 95 % intervals is within 0.03 of 0.95."""
    model = fitted(cls)
    frame, _, y = draw(99)
    for level in (0.5, 0.95):
        found = model.predict(frame, level, kind="observation")
        inside = np.mean((found.lower <= y) & (y <= found.upper))
        # The residual variance is from counts in wide bins.
        assert inside == pytest.approx(level, abs=0.05)


@every
def test_means_are_inside_as_often_as_stated(cls):
    """60 fits, 8 rows each: 95 % intervals of means hold in 80 % to all cases, as do others."""
    rows = pd.DataFrame({"x": [-1.8, -0.5, 0.6, 1.8] * 2, "group": ["a"] * 4 + ["b"] * 4})
    truth = (1.5 * rows.x + (rows.group == "b")).to_numpy()
    held = []
    for seed in range(60):
        found = fitted(cls, seed).predict(rows, 0.95)
        held.append((found.lower <= truth) & (truth <= found.upper))
    assert np.mean(held) > 0.85
    assert not np.all(held)


def test_a_linear_interval_is_that_of_its_coefficients():
    model, (frame, _, _) = fitted(PrivateLinearRegression), draw()
    found = model.predict(frame[:5], 0.95)
    rows = np.column_stack(
        [
            np.clip(frame.x[:5], *model.feature_range_[0]),
            np.zeros(5),
            frame.group[:5] == "b",
            np.ones(5),
        ]
    ).astype(float)
    total = model.coef_noise_ + model.coef_sampling_
    error = np.sqrt(np.einsum("ij,jk,ik->i", rows, total, rows))
    middle = rows @ model.coef_estimates_
    width = (found.upper - found.lower).to_numpy()
    assert (width >= 2 * 1.9599 * error * (1 - 1e-9)).all()
    assert (width < 2.5 * 2 * error).all()
    assert (found.lower <= middle).all()
    assert (middle <= found.upper).all()


@every
def test_missing_values_and_levels_that_are_not_known(cls):
    frame, _, y = draw()
    schema = Schema({"group": Categorical(["a", "b", "rare"])}, target=SCHEMA.target)
    model = seeded(cls, frame, y, schema=schema, epsilon=5.0, missing="drop")
    rows = pd.DataFrame({"x": [0.0, np.nan, 0.0, 0.0], "group": ["a", "a", "rare", "other"]})
    found = model.predict(rows, 0.95)
    assert found.isna().all(axis=1).tolist() == [False, True, False, False]
    assert np.isfinite(found.iloc[0]).all()
    # Nothing is known of the level without rows, but something is predicted.
    assert np.isfinite(found.prediction[2])
    assert np.isnan([found.lower[2], found.upper[2]]).all()
    # A level that is not listed is an average one.
    assert np.isfinite(found.iloc[3]).all()


@every
def test_a_mean_has_intervals(cls):
    frame, _, y = draw(rows=150)
    model = seeded(cls, frame, y, schema=SCHEMA, epsilon=0.1, neighbors="replace")
    assert model.status_ == "mean"
    mean, one = (model.predict(frame, 0.95, kind=kind) for kind in ("mean", "observation"))
    assert (mean.lower < mean.prediction).all()
    assert (one.upper - one.lower > mean.upper - mean.lower).all()


@every
def test_a_target_that_the_noise_hides(cls):
    """Predictions are zero or the middle of public bounds, with a warning, and no interval."""
    frame, _, y = draw(rows=50)
    model = seeded(cls, frame, 1000.0 + y, schema=Schema({1: SCHEMA["group"]}), epsilon=0.01)
    assert model.status_ == "nothing"
    with pytest.warns(HiddenTargetWarning, match="the noise hides where the target lies"):
        predictions = model.predict(frame)
    assert not predictions.any()
    assert model.intercept_ == 0.0
    with pytest.warns(HiddenTargetWarning):
        found = model.predict(frame, 0.95, kind="observation")
    assert found[["lower", "upper"]].isna().all(axis=None)
    assert not found.prediction.any()
    assert "-" in dict(model.summary().facts).values()


@every
def test_a_model_that_saw_its_target_does_not_warn(cls):
    model = fitted(cls)
    model.predict(draw()[0])


@pytest.mark.parametrize(
    "options",
    [
        {"interval": 1.0},
        {"interval": 95},
        {"interval": "0.95"},
        {"interval": 0.95, "kind": "means"},
        {"interval": 0.95, "inference": "all"},
    ],
)
def test_options_that_are_wrong(options):
    with pytest.raises(ParameterError, match=list(options)[-1]):
        fitted(PrivateLinearRegression).predict(draw()[0], **options)


@every
def test_dask_has_no_intervals(cls):
    dd = pytest.importorskip("dask.dataframe")
    frame, _, _ = draw()
    table = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ParameterError, match="read by this process"):
        fitted(cls).predict(table, 0.95)
