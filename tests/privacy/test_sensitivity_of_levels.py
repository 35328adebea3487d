"""Columns of levels, and rows in files: one row more, less or changed moves nothing further.

Rows of any numbers through row maps with levels, in integers; and pairs of fits to Parquet files
that differ by a row, compared release by release under the same transcript.
"""

import functools
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import (
    Categorical,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    _native,
    scan_parquet,
)
from dpfit.engine.features.basis import Basis, Column
from dpfit.release import Releaser
from dpfit.schema import Numeric
from dpfit.statistics import Histograms

from .transcript import claims, fitted, isometric, largest_share, replayed

quick = settings(max_examples=300, deadline=None)
ONE = 2**30
finite = st.floats(allow_nan=False, allow_infinity=False)
# Numbers of levels, numbers beside them, and any others.
values = st.integers(-2, 9).map(float) | st.sampled_from([0.5, -0.0, 1 + 2**-52, 1e300]) | finite
heights = st.sampled_from([1e-100, 2.0**-16, 0.5, 1.0, math.sqrt(0.5), 1e100]) | st.floats(0.01, 9)
level_columns = st.tuples(st.integers(1, 9), heights)
ramp_columns = st.tuples(
    st.floats(-5, 5),
    st.floats(0.01, 9),
    st.lists(st.tuples(st.floats(-3, 0), st.floats(0.1, 3), st.floats(0.01, 9)), max_size=2),
)


@st.composite
def maps(draw):
    """Draw a row map, at least one column of which has levels."""
    columns = [*draw(st.lists(level_columns | ramp_columns, max_size=4)), draw(level_columns)]
    intercept = draw(st.none() | st.floats(1e-6, 0.999))
    norm = draw(st.sampled_from(["clip", "weight"]))
    return columns, _native.RowMap(columns, step=2.0**-10, norm=norm, intercept=intercept)


def diagonal(upper, features):
    """Return the diagonal of an upper triangle."""
    rows, columns = np.triu_indices(features)
    return [value for value, i, j in zip(upper, rows, columns, strict=True) if i == j]


def exact(row_map, X, y, theta, tau):
    rows, gram = _native.Rows(row_map), _native.Gram(row_map)
    rows.extend(X, y, gram, n_jobs=1)
    gradient = _native.Gradient.of(rows, theta, tau, n_jobs=1)
    return (
        gram.insecure_exact(),
        gradient.insecure_exact(),
        _native.Energy.of(rows, theta, tau).insecure_exact(),
    )


@quick
@given(maps(), st.data())
def test_the_integers_of_a_row_are_never_too_long(drawn, data):
    columns, row_map = drawn
    row = np.array([data.draw(values) for _ in columns])
    gram, gradient, energy = exact(
        row_map, row[None, :], np.array([data.draw(finite)]), np.zeros(row_map.features), 2**20
    )
    assert sum(diagonal(gram, row_map.features)) <= ONE
    assert sum(g**2 for g in gradient) <= ONE * (2**20) ** 2
    assert 0 <= energy <= 2**40
    # Of the levels of a column one is set at most, and none if x is no level.
    squares, place = diagonal(gram, row_map.features), 0
    for x, column in zip(row, columns, strict=True):
        if len(column) == 2:
            part = squares[place : place + column[0]]
            known = x in range(column[0])
            assert sum(square > 0 for square in part) <= known
            assert not known or part[int(x)] == sum(part)
            place += column[0]
        else:
            place += len(column[2])


@quick
@given(maps(), st.integers(1, 2**20), st.data())
def test_a_row_moves_sums_by_no_more_than_is_claimed(drawn, tau, data):
    """Added to others, or in the place of another."""
    columns, row_map = drawn
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    base = rng.integers(-1, 9, size=(data.draw(st.integers(0, 4)), len(columns))).astype(float)
    tables = [np.vstack([base, [data.draw(values) for _ in columns]]) for _ in range(2)]
    y = np.append(rng.normal(size=len(base)), data.draw(st.sampled_from([1e300, -1e300, 0.0, 1.0])))
    theta = rng.normal(size=row_map.features) * 10.0 ** rng.uniform(-3, 3)
    less = exact(row_map, base, y[:-1], theta, tau)
    first, second = (exact(row_map, X, y, theta, tau) for X in tables)
    weights = np.round(isometric(row_map.features) ** 2).astype(int).tolist()

    def moved(a, b):
        gram = sum(w * (p - q) ** 2 for w, p, q in zip(weights, a[0], b[0], strict=True))
        gradient = sum((p - q) ** 2 for p, q in zip(a[1], b[1], strict=True))
        return gram, gradient, abs(a[2] - b[2])

    for a, b, factor in ((less, first, 1), (less, second, 1), (first, second, 2)):
        gram, gradient, energy = moved(a, b)
        assert gram <= factor * ONE**2
        assert gradient <= ONE * (factor * tau) ** 2
        assert energy <= tau**2


def test_the_claims_are_attained():
    row_map = _native.RowMap([(3, 1.0)], step=2.0**-10)
    gram, gradient, _ = exact(row_map, np.array([[1.0]]), np.array([1e9]), np.zeros(3), 2**20)
    # All but the last bit of full length.
    assert gram == [0, 0, 0, (2**15 - 1) ** 2, 0, 0]
    assert gradient == [0, (2**15 - 1) * 2**20, 0]
    opposite = exact(row_map, np.array([[2.0]]), np.array([-1e9]), np.zeros(3), 2**20)
    assert opposite[0] == [0, 0, 0, 0, 0, (2**15 - 1) ** 2]


def test_the_basis_gives_the_core_its_levels():
    basis = Basis.curves([Column(Numeric()), Column(Categorical(["a", "b", "c"]))])
    (_, _, none), (count, height) = basis.row_map_columns()
    assert none == []
    assert count == 3
    # A row has the constant and at most one level.
    assert height == basis.gain == pytest.approx(math.sqrt(0.5))
    assert basis.constant_share == pytest.approx(0.5)
    assert [(f.column, f.level) for f in basis.functions] == [(-1, 0), (1, 0), (1, 1), (1, 2)]


LEVELS = Schema({"town": Categorical(["u", "v"]), "grade": Categorical([1, 2, 7])})
PUBLIC = Schema({**LEVELS, "x": Numeric(-1, 1)}, target=Numeric(-3, 3))
MODELS = {
    "linear": functools.partial(PrivateLinearRegression, mu=3.0, schema=LEVELS),
    "additive": functools.partial(PrivateAdditiveRegression, mu=3.0, schema=LEVELS),
    "few rows": functools.partial(PrivateLinearRegression, mu=0.4, schema=LEVELS),
    "public": functools.partial(PrivateLinearRegression, mu=3.0, schema=PUBLIC),
}
TYPES = pa.schema(
    [("x", pa.float64()), ("town", pa.string()), ("grade", pa.float64()), ("y", pa.float64())]
)


def draw_row(rng):
    """Draw a row: ordinary, wild, of no level, or with a hole."""
    return {
        "x": rng.choice([rng.normal(), 1e300, -1e300, 5e-324, np.nan]),
        "town": rng.choice(["u", "v", "elsewhere", "", None]),
        "grade": rng.choice([1.0, 2.0, 7.0, 7.5, -1e300]),
        "y": rng.choice([rng.normal(), 1e300, -1e300]),
    }


def written(rows, path):
    """Write rows to a Parquet file, some to each row group; return what scans it."""
    pq.write_table(pa.Table.from_pylist(rows, TYPES), path, row_group_size=16)
    return scan_parquet(path, target="y")


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_a_file_moves_no_release_further_than_is_recorded(name, relation, tmp_path):
    """Given what was released before: the same rounds are walked through with either file."""
    estimator = MODELS[name](neighbors=relation, n_jobs=1, missing="drop")
    largest = 0.0
    for seed in range(12):
        rng = np.random.default_rng([seed, len(name)])
        base = [
            {"x": rng.normal(), "town": str(rng.choice(["u", "v", "w"])), "grade": 1.0, "y": x}
            for x in rng.normal(size=rng.integers(60, 90))
        ]
        place = int(rng.integers(len(base) + 1))
        more = [*base[:place], draw_row(rng), *base[place:]]
        other = base if relation == "add_remove" else [*base[:place], draw_row(rng), *base[place:]]
        transcript = fitted(estimator, written(more, tmp_path / "more.parquet"), None)
        claimed = claims(estimator.privacy_)
        with replayed(transcript) as again:
            estimator.fit(written(other, tmp_path / "other.parquet"))
        assert claims(estimator.privacy_) == claimed
        largest = max(largest, largest_share(transcript, again, estimator.privacy_))
    assert largest > 0.7


@pytest.mark.parametrize("kind", MODELS)
def test_levels_are_not_counted(kind, tmp_path, monkeypatch):
    """Columns of levels have no histogram, so that those of others have less noise."""
    counted, original = [], Releaser.release

    def release(self, table, statistic, *mus):
        if isinstance(statistic, Histograms):
            counted.append([part is not None for part in statistic.bins])
        return original(self, table, statistic, *mus)

    monkeypatch.setattr(Releaser, "release", release)
    rng = np.random.default_rng(1)
    rows = [{"x": rng.normal(), "town": "u", "grade": 2.0, "y": rng.normal()} for _ in range(200)]
    MODELS[kind]().fit(written(rows, tmp_path / "t.parquet"))
    assert counted or kind == "public"
    for _, *levels, _ in counted:
        assert levels == [False, False]


def test_a_model_of_a_file_depends_on_it_only_through_releases(tmp_path):
    """Another file with the same columns, under the same transcript: the same model."""
    rng = np.random.default_rng(2)
    estimator = PrivateLinearRegression(mu=3.0, schema=LEVELS, missing="drop", n_jobs=1)
    rows = [{"x": rng.normal(), "town": "u", "grade": 2.0, "y": rng.normal()} for _ in range(200)]
    transcript = fitted(estimator, written(rows, tmp_path / "a.parquet"), None)
    model = (estimator.coef_.tobytes(), estimator.intercept_, str(estimator.summary()))
    for count in (1, 30, 999):
        rows = [draw_row(rng) for _ in range(count)]
        with replayed(transcript):
            estimator.fit(written(rows, tmp_path / "b.parquet"))
        again = (estimator.coef_.tobytes(), estimator.intercept_, str(estimator.summary()))
        assert again == model
