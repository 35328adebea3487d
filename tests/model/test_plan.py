"""Plans: what they expect is what fits of simulated tables show."""

import math
import warnings

import numpy as np
import pytest

from dpfit import Categorical, InsecureSeedWarning, ParameterError, Schema, plan
from dpfit import PrivateLinearRegression as Linear
from dpfit.models.coefficients import Coefficients

FAST = [
    (20_000, 3, (), 1.0),
    (30_000, 4, (3,), 1.0),
    # Nothing can be said about most coefficients.
    (1_000, 3, (10,), 0.1),
]
SLOW = [
    (20_000, 9, (3, 5), 0.3),
    (20_000, 9, (3, 5), 1.0),
    (20_000, 9, (3, 5), 3.0),
    (5_000, 3, (), 1.0),
    (5_000, 10, (2,), 3.0),
    (100_000, 30, (), 0.3),
    (100_000, 2, (20,), 0.3),
    (50_000, 0, (4, 4), 0.5),
    (8_000, 5, ((0.7, 0.25, 0.05),), 1.0),
    (2_000, 10, (), 0.3),
    (3_000, 1, (30,), 0.3),
    (500, 5, (), 0.3),
]


def draw(rng, rows, columns, levels):
    """Draw columns that are related, unlike those of plans, and a target with R-squared 1/2."""
    shared = rng.normal(size=(rows, 1))
    X = 10.0 + 3.0 * (0.5 * shared + math.sqrt(0.75) * rng.normal(size=(rows, columns)))
    shown = [(X - 10.0) / 3.0]
    schema = {}
    for place, item in enumerate(levels, columns):
        shares = np.full(item, 1.0 / item) if isinstance(item, int) else np.array(item)
        codes = rng.choice(len(shares), size=rows, p=shares)
        X = np.column_stack([X, codes])
        shown.append(np.equal.outer(codes, np.arange(1, len(shares))).astype(float))
        schema[place] = Categorical(list(range(len(shares))))
    A = np.column_stack([*shown, np.ones(rows)])
    effect = A @ np.linspace(1.0, -0.5, A.shape[1])
    return X, effect + effect.std() * rng.normal(size=rows), A, Schema(schema)


def simulated(rows, columns, levels, epsilon, fits):
    """Return widths relative to least squares, of fits of whole tables, by coefficients."""
    found = []
    for seed in range(fits):
        X, y, A, schema = draw(np.random.default_rng((9, seed)), rows, columns, levels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureSeedWarning)
            model = Linear(epsilon=epsilon, schema=schema, random_state=1000 + seed, n_jobs=1).fit(
                X, y
            )
        coefficients = Coefficients.of(model.model_)
        low, high = coefficients.interval(0.95)[:-1].T
        kept = [not term.is_reference for term in coefficients.terms]
        scale = np.append(np.full(columns, 3.0), np.ones(A.shape[1] - 1 - columns))
        theta = np.linalg.lstsq(A, y, rcond=None)[0]
        variance = np.mean(np.square(y - A @ theta)) * np.linalg.inv(A.T @ A).diagonal()[:-1]
        found.append((high - low)[kept] * scale / (2 * 1.96 * np.sqrt(variance)))
    return np.array(found)


def check(rows, columns, levels, epsilon, fits):
    expected = plan(rows, columns, levels, epsilon=epsilon).widths
    ratios = simulated(rows, columns, levels, epsilon, fits)
    kinds = [("number", None)] * columns
    for item in levels:
        shares = [1.0 / item] * item if isinstance(item, int) else item
        kinds += [("level", share) for share in shares[1:]]
    for width in expected:
        kind = width.kind.split(",")[0], width.share
        own = ratios[:, [place for place, other in enumerate(kinds) if other == kind]]
        known = np.isfinite(own).mean()
        if width.width is None:
            assert known < 0.9
        elif width.width > 5.0:
            # Printed as "> 5": such intervals say little, and their widths vary widely.
            assert not known or np.nanmedian(own) > 0.75 * 5.0
        else:
            assert known > 0.6
            # Wide intervals vary more, and depend on where the columns are.
            rel = 0.25 if width.width <= 3.0 else 0.4
            assert width.width == pytest.approx(float(np.nanmedian(own)), rel=rel)
            assert abs(width.known - known) < 0.35


@pytest.mark.parametrize(("rows", "columns", "levels", "epsilon"), FAST)
def test_fits_have_the_expected_widths(rows, columns, levels, epsilon):
    # Seeded, so the outcome never changes by chance.
    check(rows, columns, levels, epsilon, fits=9)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns", "levels", "epsilon"), SLOW)
def test_fits_of_many_tables_have_the_expected_widths(rows, columns, levels, epsilon):
    # Fits of few rows vary more, and are fast.
    check(rows, columns, levels, epsilon, fits=min(max(16, 300_000 // rows), 60))


@pytest.fixture(scope="module")
def small():
    return plan(3_000, 2, [2], epsilon=[0.01, 5, 50], width=1.5)


def test_more_budget_gives_narrower_intervals(small):
    numbers = [width.width for width in small.widths if width.kind == "number"]
    assert numbers[0] is None
    assert numbers[1] > numbers[2] > 0.9


def test_it_prints_and_has_a_frame(small):
    text = str(small)
    assert text == repr(small)
    assert "epsilon 0.01" in text
    assert "level, 50 % of rows" in text
    assert "nothing can be said" in text
    frame = small.to_frame("pandas")
    assert frame.columns.tolist() == ["epsilon", "kind", "levels", "share", "width", "known"]
    assert len(frame) == 6
    assert frame["width"].isna().sum() == sum(width.width is None for width in small.widths)
    assert "epsilon 50" in small._repr_html_()


def test_the_smallest_epsilon_is_enough_and_less_is_not(small):
    epsilon = small.smallest_epsilon
    enough, less = (plan(3_000, 2, [2], epsilon=factor * epsilon) for factor in (1.05, 0.7))
    assert max(part.width for part in enough.widths) < 1.6
    assert max(part.width for part in less.widths) > 1.5
    assert f"Smallest epsilon for a width of 1.5: {epsilon:g}." in str(small)
    never = plan(100, 20, epsilon=1.0, delta=1e-9, width=1.001)
    assert never.smallest_epsilon is None
    assert "No epsilon up to 100" in str(never)


def test_it_is_reproducible_and_does_not_warn():
    assert plan(2_000, 2, epsilon=3.0) == plan(2_000, 2, epsilon=[3.0])


def test_units_cost_and_bounds_save():
    base = {"rows": 10_000, "columns": 6, "epsilon": 1.0}
    (plain,), (units,), (bounded,) = (
        plan(**base, **more).widths for more in ({}, {"max_rows": 4}, {"bounds": True})
    )
    assert units.width is None or units.width > 1.5 * plain.width
    assert bounded.width < 1.1 * plain.width


def test_shares_of_levels_are_kinds_of_their_own():
    found = plan(20_000, 0, [(0.6, 0.3, 0.1)], epsilon=3.0).widths
    assert [width.share for width in found] == pytest.approx([0.3, 0.1])
    assert [width.levels for width in found] == [3, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0, "columns": 1}, "rows"),
        ({"rows": 10}, "columns or levels"),
        ({"rows": 10, "columns": -1}, "columns"),
        ({"rows": 10, "levels": [1]}, "levels"),
        ({"rows": 10, "levels": [(0.5, 0.1)]}, "add up to 1"),
        ({"rows": 10, "columns": 1, "epsilon": []}, "epsilon"),
        ({"rows": 10, "columns": 1, "epsilon": -1.0}, "epsilon"),
        ({"rows": 10, "columns": 1, "width": 0.5}, "width"),
        ({"rows": 10, "columns": 1, "r_squared": 1.0}, "r_squared"),
        ({"rows": 10, "columns": 1, "neighbors": "x"}, "neighbors"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        plan(**options)
