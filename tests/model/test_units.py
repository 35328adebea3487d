"""All rows of one person: a few are kept at most, and which ones depends on that person alone."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import ParameterError
from dpfit.sources.units import _FACTORS, _MIXERS, Units, _content, _mix, _words

from .tables import every, seeded, state, uniform

quick = settings(max_examples=100, deadline=None)
numbers = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e300, 5e-324, math.nan, math.inf])
rows = st.lists(
    st.tuples(st.integers(0, 6), numbers | st.floats(), numbers, numbers | st.floats()), max_size=40
)
most_rows = st.integers(1, 5)


def kept_rows(unit, X, y, max_rows):
    """Return the places of the rows that are kept, which come in two batches of columns or one."""
    whole, parts = Units(max_rows), Units(max_rows)
    whole.add(unit, X, y)
    whole.decide()
    half = len(y) // 2
    for rows in (slice(0, half), slice(half, None)):
        parts.add(unit[rows], list(X[rows].T), y[rows])
    parts.decide()
    np.testing.assert_array_equal(whole._is_kept, parts._is_kept)
    return np.flatnonzero(whole._is_kept)


def arrays(table):
    """Return units, X and y of a list of rows."""
    units = np.array([row[0] for row in table], dtype=np.int64)
    numbers = np.array([row[1:] for row in table], dtype=np.float64).reshape(-1, 3)
    return units, numbers[:, :2], numbers[:, 2]


def contents(table, max_rows):
    """Return what is kept: for every unit its rows, as bytes, in any order."""
    units, X, y = arrays(table)
    kept = kept_rows(units, X, y, max_rows)
    assert (np.diff(kept) > 0).all()
    found = {}
    for place in kept:
        # All NaN are the same, and both zeros.
        row = np.append(X[place], y[place]) + 0.0
        row = np.where(np.isnan(row), np.nan, row).tobytes()
        found.setdefault(int(units[place]), []).append(row)
    return {unit: sorted(part) for unit, part in found.items()}


@quick
@given(rows.filter(len), most_rows)
def test_no_unit_has_more_rows_than_are_allowed(table, max_rows):
    found = contents(table, max_rows)
    have = {unit: sum(row[0] == unit for row in table) for unit, *_ in table}
    assert {unit: len(part) for unit, part in found.items()} == {
        unit: min(count, max_rows) for unit, count in have.items()
    }


@quick
@given(rows.filter(len), rows, most_rows)
def test_what_is_kept_of_a_unit_depends_on_no_other(table, others, max_rows):
    present = {unit for unit, *_ in table}
    # Units that are new, at the end, and some that are gone.
    more = [*table, *((unit + 100, *numbers) for unit, *numbers in others)]
    found = contents(table, max_rows)
    with_others = contents(more, max_rows)
    assert {unit: with_others[unit] for unit in present} == found
    for unit in present:
        alone = [row for row in table if row[0] == unit]
        assert contents(alone, max_rows) == {unit: found[unit]}


@quick
@given(rows.filter(len), most_rows, st.randoms(use_true_random=False))
def test_the_order_of_the_table_does_not_matter(table, max_rows, random):
    shuffled = list(table)
    random.shuffle(shuffled)
    assert contents(shuffled, max_rows) == contents(table, max_rows)


def rows_with_the_same_hash(count):
    """Return X and y of different rows whose first hash is the same: it can be solved for."""
    (factor, _), (mixer, _) = _FACTORS, _MIXERS
    y = np.arange(1.0, 4000.0)
    started = _mix(_words(y), mixer) * factor
    X = (started ^ started[0] ^ _words(np.ones(1))).view(np.float64)
    # Not all bits are doubles that differ from all others.
    usable = np.flatnonzero(np.isfinite(X) & (X != 0.0))[:count]
    X, y = X[usable, None], y[usable]
    hashes, others = _content(X, y)
    assert len(set(hashes)) == 1
    assert len(set(others)) == len(X) == count
    return X, y


def test_rows_with_the_same_hash_are_told_apart():
    """Their order in the table would decide otherwise."""
    X, y = rows_with_the_same_hash(20)
    one = np.zeros(20, dtype=np.int64)
    kept = kept_rows(one, X, y, 5)
    turned = 19 - kept_rows(one, X[::-1], y[::-1], 5)
    assert set(kept) == set(turned)
    # Not the first, as if there were no second hash.
    assert list(kept) != list(range(5))


def test_units_with_rows_of_the_same_hash_are_not_one():
    X, y = rows_with_the_same_hash(20)
    owners = np.arange(20) % 2
    assert np.bincount(owners[kept_rows(owners, X, y, 3)]).tolist() == [3, 3]
    # Equal rows, too.
    same = np.zeros((20, 1)), np.zeros(20)
    assert np.bincount(owners[kept_rows(owners, *same, 3)]).tolist() == [3, 3]


@quick
@given(rows.filter(len), most_rows)
def test_names_of_units_do_not_matter(table, max_rows):
    units, X, y = arrays(table)
    expected = kept_rows(units, X, y, max_rows)
    others = units * -7, units.astype(str), units.astype(object), units.astype(np.uint8)
    for names in (*others, units.tolist(), pd.Series(units, dtype="category")):
        np.testing.assert_array_equal(kept_rows(names, X, y, max_rows), expected)
    words = np.array([f"person {unit}" for unit in units], dtype=object)
    np.testing.assert_array_equal(kept_rows(words, X, y, max_rows), expected)
    np.testing.assert_array_equal(kept_rows(list(words), X, y, max_rows), expected)


def test_which_rows_are_kept_is_not_the_first_or_the_largest():
    """So that a model is of the whole table: the mean of what is kept is the mean of all."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 2)), np.tile(np.arange(20.0), 2000)
    kept = kept_rows(np.arange(40_000) // 20, X, y, 5)
    assert len(kept) == 10_000
    # Seven standard deviations of a mean of 10,000: one wrong alarm in 1e11.
    assert abs(y[kept].mean() - 9.5) < 7 * y.std() / 100
    assert np.abs(X[kept].mean(axis=0)).max() < 7 / 100


@pytest.mark.parametrize(
    "unit",
    [
        [[1], [2], [3]],
        [1, 2],
        [1, 2, 3, 4],
        7,
        [1.0, math.nan, 2.0],
        [1.0, complex(math.nan, 0.0), 2.0],
        ["a", None, "b"],
        [1, None, 2],
        ["a", 1, object()],
        np.array([1.0, math.nan, 1.0], dtype=object),
        np.array(["a", math.nan, "a"], dtype=object),
        np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="datetime64[D]"),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([1.0, math.nan, 2.0], dtype=object),
        np.ma.masked_array([1, 2, 3], [False, True, False]),
        # Among numbers with a fraction, large whole ones are not told apart.
        [2**53, 2**53 + 1, 0.5],
        [{1}, {2}, {1, 2}],
    ],
    # Without addresses of objects, which differ from process to process.
    ids=lambda unit: re.sub(r" at 0x\w+", "", " ".join(repr(unit).split())),
)
def test_wrong_units(unit):
    with pytest.raises(ParameterError, match="unit") as error:
        kept_rows(unit, np.ones((3, 2)), np.ones(3), 1)
    assert "nan" not in str(error.value).lower()


def test_missing_values_among_objects_do_not_split_a_unit():
    """Sorting stumbles over NaN, and what is not sorted has each unit many times."""
    owners = np.array([1.0, math.nan, 1.0, 2.0] * 50, dtype=object)
    try:
        kept = kept_rows(owners, np.arange(200.0)[:, None], np.zeros(200), 2)
    except ParameterError:
        return
    assert sum(owner == 1.0 for owner in owners[kept]) <= 2
    assert sum(owner == 2.0 for owner in owners[kept]) <= 2


def owned(count=3000, each=4):
    X, y = uniform(count)
    return X, y, np.random.default_rng(5).permutation(np.arange(count) // each)


@every
def test_unit_and_max_rows_come_together(cls):
    X, y, owners = owned(60)
    with pytest.raises(ParameterError, match="unit and max_rows"):
        cls().fit(X, y, unit=owners)
    with pytest.raises(ParameterError, match="unit and max_rows"):
        cls(max_rows=3).fit(X, y)
    model = cls(max_rows=3)
    with pytest.raises(ParameterError, match="one value for each row"):
        model.fit(X, y, unit=owners[:-1])
    with pytest.raises(ParameterError, match="'person'"):
        model.fit(X, y, unit="person")
    with pytest.raises(ParameterError, match="'person'"):
        model.fit(pd.DataFrame(X, columns=list("abc")), y, unit="person")
    assert set(vars(model)) == set(model.get_params())


@every
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_fit_is_one_of_the_rows_that_are_kept(cls, relation):
    X, y, owners = owned()
    options = {"max_rows": 2, "neighbors": relation}
    kept = kept_rows(owners, X, y, 2)
    assert len(kept) == 1500
    model = seeded(cls, X, y, unit=owners, **options)
    other = seeded(cls, X[kept], y[kept], unit=owners[kept], **options)
    assert state(model) == state(other)
    order = np.random.default_rng(1).permutation(len(y))
    assert state(seeded(cls, X[order], y[order], unit=owners[order], **options)) == state(model)
    assert not hasattr(model, "_unit")


@every
def test_the_record_says_whose_rows_are_protected(cls):
    X, y, owners = owned()
    model = seeded(cls, X, y, unit=owners, max_rows=2)
    assert (model.privacy_.max_rows, model.privacy_.unit_name) == (2, None)
    assert "each unit (at most 2 rows of each are used)" in model.privacy_.statement()
    assert seeded(cls, X, y, unit=owners, max_rows=1).privacy_.max_rows == 1
    assert seeded(cls, X, y).privacy_.max_rows is None
    assert not hasattr(model, "_unit")


@every
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_sensitivities_are_those_of_all_rows_of_a_unit(cls, relation):
    X, y, owners = owned(each=1)
    with_thresholds = (
        "X'g",
        "sums of residuals",
        "products of scores",
        "sum of squared residuals",
    )
    plain, units = (
        seeded(cls, X, y, epsilon=80.0, neighbors=relation, max_rows=most, unit=owners)
        for most in (1, 3)
    )
    one, three = (
        {
            event.statistic: event.sensitivity
            for event in model.privacy_.events
            if event.statistic not in with_thresholds
        }
        for model in (plain, units)
    )
    assert {
        "number of rows",
        "histogram of the target",
        "X'X of mapped rows",
    } <= one.keys() & three.keys()
    for name in one.keys() & three.keys():
        assert three[name] == pytest.approx(3 * one[name], rel=1e-12)


@every
def test_a_column_of_a_frame_says_whose_rows_they_are(cls):
    X, y, owners = owned()
    names = np.array([f"person {owner}" for owner in owners])
    frame = pd.DataFrame(X, columns=["age", "pay", "rent"])
    with_owner = frame.assign(person=names)[["age", "person", "pay", "rent"]]
    model = seeded(cls, with_owner, y, unit="person", max_rows=2)
    assert model.feature_names_in_.tolist() == ["age", "pay", "rent"]
    assert "This model protects each person" in model.privacy_.statement()
    # The values of an array have no name.
    found = state(model, record={"unit_name": None}, not_features=())
    assert found == state(seeded(cls, frame, y, unit=names, max_rows=2))
    assert list(with_owner) == ["age", "person", "pay", "rent"]
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame))


@every
def test_fewer_rows_of_each_are_fewer_rows(cls):
    """With each unit kept whole, n_rows_ is the table's; with one row of each, the units'."""
    X, y, owners = owned()
    whole, ones = (seeded(cls, X, y, unit=owners, max_rows=most, epsilon=500.0) for most in (4, 1))
    assert whole.n_rows_ == pytest.approx(3000, abs=60)
    assert ones.n_rows_ == pytest.approx(750, abs=60)
