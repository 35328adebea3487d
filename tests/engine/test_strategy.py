"""The ranges of lines: where the residuals of a first model show that a relation is a line."""

from dataclasses import replace

import numpy as np
import pytest

from dpfit import Binary, Categorical, Numeric
from dpfit.engine.covariance import Covariance
from dpfit.engine.estimate import Estimate
from dpfit.engine.features.basis import Basis, Column
from dpfit.engine.features.functions import Knots
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.stage import _correlations
from dpfit.engine.strategy import Bends, Curves, Lines, Pieces, _nearest
from dpfit.engine.whitening import Coordinates
from dpfit.release import Released

KNOTS = Knots.at_quantiles(Marginal.uniform(0.0, 10.0), Lines().positions, 0.01)
LAST = len(KNOTS.places) - 1
# Rows of a uniform column, far more than there are knots.
ROWS = (np.arange(10_000) + 0.5) / 1000.0
STEP = 2.0**-15
# The correlations of the only column.
ALONE = np.ones(1)


def bends(curve, *, noise=1e-9, sampling=1e-9, residual=0.0, pieces=None, draw=None, related=ALONE):
    """Return how the residuals of a line depend on a column whose relation is a given curve."""
    pieces = np.arange(LAST + 1) if pieces is None else pieces
    line = np.interp(ROWS, KNOTS.places, KNOTS.lines([(0, LAST)])[:, 0])
    values = curve(ROWS)
    coefficient = np.mean(line * (values - values.mean()))
    residuals = values - values.mean() - coefficient * line
    places = np.searchsorted(KNOTS.places[pieces[1:-1]], ROWS, side="right")
    sums = np.bincount(places, residuals, len(pieces) - 1) / len(ROWS)
    if draw is not None:
        coefficient += draw.normal(0.0, np.sqrt(sampling))
        sums += draw.normal(0.0, np.sqrt(noise), len(sums))
    return Bends(coefficient, related, pieces, sums, noise, sampling, residual)


def nearest(found):
    """Return the line that is nearest to one curve."""
    (line,) = _nearest([(KNOTS, found)])
    return line


def ends(found):
    """Return the ends of the line that is chosen."""
    (column,) = Lines().chosen([Column(Numeric(), KNOTS)], [found])
    assert len(column.knots.places) == 2
    return tuple(column.knots.places)


def straight(x):
    return 0.3 * x


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_straight_relation_has_a_line_over_the_whole_range(sign):
    assert ends(bends(lambda x: sign * straight(x))) == (KNOTS.places[0], KNOTS.places[-1])


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("low", "high"), [(0, 6), (4, 11), (3, 8), (2, 9)])
def test_a_kinked_relation_has_a_line_between_its_kinks(low, high, sign):
    """Ends of the range may be missed by the outermost piece, which has 3 % of the rows."""
    wanted = KNOTS.places[low], KNOTS.places[high]
    found = ends(bends(lambda x: sign * np.clip(x, *wanted)))
    if low == 0:
        assert found[0] in KNOTS.places[:2]
    else:
        assert found[0] == wanted[0]
    if high == LAST:
        assert found[1] in KNOTS.places[-2:]
    else:
        assert found[1] == wanted[1]


@pytest.mark.parametrize(("low", "high"), [(5, 6), (0, 2), (9, 10), (4, 6)])
def test_a_line_goes_over_half_of_the_rows_at_least(low, high):
    wanted = KNOTS.places[low], KNOTS.places[high]
    found = ends(bends(lambda x: np.clip(x, *wanted)))
    assert np.mean((found[0] <= ROWS) & (found[1] >= ROWS)) >= 0.48
    assert found != (KNOTS.places[0], KNOTS.places[-1])


def kinked(x):
    return np.minimum(x, KNOTS.places[8])


def gain():
    """Return how much more a line up to the ninth knot explains than one over the whole range."""
    lines = np.column_stack(
        [np.interp(ROWS, KNOTS.places, heights) for heights in KNOTS.lines([(0, LAST), (0, 8)]).T]
    )
    whole, shorter = np.square(lines.T @ (kinked(ROWS) - kinked(ROWS).mean()) / len(ROWS))
    return shorter - whole


def test_residuals_show_how_much_a_shorter_line_explains():
    found, lines = bends(kinked), KNOTS.lines([(0, LAST), (0, 8)])
    shared = KNOTS.covariances(lines, lines[:, 0])
    whole, shorter = np.square(found.coefficient * shared + found.covariances(KNOTS, lines)[0])
    # Residuals are taken to be constant within a piece.
    assert gain() == pytest.approx(0.106, abs=0.001)
    assert shorter - whole == pytest.approx(gain(), rel=0.3)


@pytest.mark.parametrize("share", ["noise", "sampling", "residual"])
def test_a_kink_within_the_error_or_small_against_residuals_does_not_shorten_the_line(share):
    """Four variances of the error, or 2 % of the residual variance, decide."""
    factor = {"noise": 4.0 * LAST, "sampling": 4.0, "residual": 0.02}[share]
    for part, last in ((0.5, 8), (2.0, LAST)):
        found = ends(bends(kinked, **{share: part * gain() / factor}))
        assert found[1] == KNOTS.places[last]
        assert found[0] in KNOTS.places[: 2 if last < LAST else 1]


def test_the_evidence_is_the_larger_of_error_and_material_share():
    def evidence(noise, sampling, residual):
        nothing = np.zeros(3)
        found = Bends(0.0, np.ones(1), np.arange(4), nothing, 1.0, sampling, residual)
        return found.evidence(np.array(noise)).tolist()

    assert evidence([3.0, 0.0], 0.5, 1.0) == pytest.approx([14.0, 2.0])
    assert evidence([3.0, 6.0], 0.5, 1000.0) == pytest.approx([20.0, 26.0])
    assert evidence([0.0, 0.0], 0.0, 1.0) == pytest.approx([0.02, 0.02])


def test_the_noise_of_a_line_is_that_of_its_covariance_with_residuals():
    rng, lines = np.random.default_rng(0), KNOTS.lines([(0, LAST), (LAST - 1, LAST), (3, 8)])
    plain = bends(straight, noise=0.25)
    drawn = [
        replace(plain, sums=rng.normal(0.0, 0.5, LAST)).covariances(KNOTS, lines)[0]
        for _ in range(4000)
    ]
    claimed = plain.covariances(KNOTS, lines)[1]
    # The variance of 4,000 draws is off by 2 %; eight times that once in 1e15.
    assert np.var(drawn, axis=0) == pytest.approx(claimed, rel=0.18)


def test_noise_does_not_shorten_a_line_to_a_few_rows():
    """Without an effect, and without a material share, one column in ten is shortened at most."""
    rng, plain = np.random.default_rng(1), bends(lambda x: 0.0 * x, noise=1.0)
    short = [nearest(replace(plain, sums=rng.normal(size=LAST))).gain > 0.0 for _ in range(2000)]
    # 0.0725 with this seed; 2,000 draws have a standard error of 0.006.
    assert np.mean(short) < 0.1


def test_the_gain_of_a_line_is_what_it_explains_beyond_the_whole_one_and_the_evidence():
    found = bends(kinked, residual=1.0)
    line = nearest(found)
    lines = KNOTS.lines([(0, LAST), line.ends])
    shared = KNOTS.covariances(lines, lines[:, 0])
    whole, shorter = np.square(found.coefficient * shared + found.covariances(KNOTS, lines)[0])
    assert line.ends[1] == 8
    assert line.gain == pytest.approx(shorter - whole - 0.02)
    assert line.gain > 0.0
    # The whole line explains what it explains, and has the evidence against it.
    same = nearest(bends(straight, residual=1.0))
    assert same.ends == (0, LAST)
    assert same.gain == pytest.approx(-0.02)


# Three columns: all bends are of the first kind, less and less of them.
STRENGTHS = (1.0, 0.7, 0.4)


def shortened(correlations, order=(0, 1, 2)):
    """Return which of three columns have shorter lines, by their correlations.

    In `order` are the columns from the one with the strongest bend to the one with the weakest.
    """
    parts = [None] * 3
    for column, strength in zip(order, STRENGTHS, strict=True):
        parts[column] = bends(
            lambda x, strength=strength: strength * kinked(x), related=correlations[column]
        )
    chosen = Lines().chosen([Column(Numeric(), KNOTS)] * 3, parts)
    return [bool(column.knots.places[-1] < KNOTS.places[-1]) for column in chosen]


def correlated(*, first_second=0.0, first_third=0.0, second_third=0.0):
    found = np.eye(3)
    found[0, 1] = found[1, 0] = first_second
    found[0, 2] = found[2, 0] = first_third
    found[1, 2] = found[2, 1] = second_third
    return found


def test_unrelated_columns_are_all_shortened():
    assert shortened(np.eye(3)) == [True] * 3
    weak = correlated(first_second=0.49, first_third=-0.49, second_third=0.49)
    assert shortened(weak) == [True] * 3


@pytest.mark.parametrize("correlation", [0.51, 0.9, 1.0, -0.51, -0.9])
def test_of_two_related_columns_only_the_one_that_explains_more_is_shortened(correlation):
    related = correlated(first_second=correlation)
    assert shortened(related) == [True, False, True]
    # The order of the columns does not matter.
    assert shortened(related, order=(1, 0, 2)) == [False, True, True]
    assert shortened(related, order=(2, 1, 0)) == [False, True, True]


def test_a_column_that_was_left_alone_does_not_hold_others_back():
    """The second one is related to both others; these are not related to each other."""
    chain = correlated(first_second=0.8, second_third=0.8, first_third=0.3)
    assert shortened(chain) == [True, False, True]
    assert shortened(chain, order=(1, 0, 2)) == [False, True, False]


def test_a_column_without_a_bend_does_not_hold_related_ones_back():
    everything = np.ones((2, 2))
    parts = [bends(straight, related=everything[0]), bends(kinked, related=everything[1])]
    chosen = Lines().chosen([Column(Numeric(), KNOTS)] * 2, parts)
    assert chosen[0].knots.places.tolist() == [KNOTS.places[0], KNOTS.places[-1]]
    assert chosen[1].knots.places[-1] == KNOTS.places[8]


@pytest.mark.parametrize(("slope", "most"), [(0.0, 0.3), (0.01, 0.25), (0.1, 0.25), (0.3, 0.1)])
def test_noise_on_a_straight_relation_rarely_shortens_the_line(slope, most):
    """Even if residuals are so small that the noise alone decides; weak slopes are hit most."""
    rng = np.random.default_rng(0)
    whole = KNOTS.places[0], KNOTS.places[-1]
    found = [
        ends(bends(lambda x: slope * x, noise=1e-5, sampling=1e-6, draw=rng)) for _ in range(200)
    ]
    assert np.mean([pair != whole for pair in found]) < most


def test_a_piece_may_contain_several_knots():
    """Where stored rows do not tell knots apart, their pieces are one."""
    wanted = KNOTS.places[3], KNOTS.places[8]
    some = np.array([0, 2, 3, 5, 8, 10, LAST])
    assert ends(bends(lambda x: np.clip(x, *wanted), pieces=some)) == wanted
    assert ends(bends(straight, pieces=some)) == (KNOTS.places[0], KNOTS.places[-1])


def table_of(*columns):
    """Return columns, and the basis that a linear model has first."""
    return columns, Basis.curves(Lines().first(columns))


COLUMNS, FIRST = table_of(
    Column(Categorical(["a", "b"])),
    Column(Numeric(), KNOTS),
    Column(Numeric()),
    Column(Binary()),
    Column(Numeric(), KNOTS),
)


def test_at_first_all_lines_are_whole():
    assert [(f.column, f.level) for f in FIRST.functions] == [
        (-1, 0), (0, 0), (0, 1), (1, 0), (3, 0), (4, 0),
    ]  # fmt: skip
    assert not any(f.is_bend for f in FIRST.functions)
    for place in (1, 4):
        found = FIRST.columns[place].knots
        assert found.places.tolist() == [KNOTS.places[0], KNOTS.places[-1]]


def test_correlations_are_those_of_lines_by_column():
    """The fourth function is the line of column 1, the last one that of column 4."""
    p = len(FIRST.functions)
    moments = np.diag([1.0, 0.2, 0.3, 1.1, 0.5, 0.9])
    moments[3, 5] = moments[5, 3] = -0.6
    moments[3, 4] = moments[4, 3] = 0.2
    prior, rows = FIRST.prior(1.0), 1000.0
    expected = np.array([function.variance for function in FIRST.functions])
    found = Coordinates.start(np.ones(p), expected, np.zeros(p, dtype=bool))
    gram = rows * found.matrix.T @ moments @ found.matrix / found.bound**2
    found = found.again(Released(gram, (1e-9,)), rows, prior, 1e-9)
    nothing = np.zeros((p, p))
    covariance = Covariance(*[nothing] * 5)
    estimate = Estimate(
        FIRST, np.zeros(p), np.zeros(p), lambda: covariance, None, 1, coordinates=found
    )
    expected = np.zeros((5, 5))
    expected[1, 1] = expected[4, 4] = 1.0
    expected[1, 4] = expected[4, 1] = -0.6 / np.sqrt(1.1 * 0.9)
    assert _correlations(estimate, 5) == pytest.approx(expected, abs=1e-6)


def test_columns_that_are_looked_at_together_have_the_lines_that_each_has_alone():
    """With as many knots or fewer, and with as many pieces or fewer."""
    few = Knots.of(Marginal.uniform(0.0, 10.0), KNOTS.places[::2])
    rng, columns = np.random.default_rng(0), []
    for place in range(9):
        curve = np.minimum(ROWS, rng.uniform(3.0, 9.0))
        own = bends(lambda x, curve=curve: curve, sampling=1e-4, draw=rng)
        rare = np.array([0, 3, 4, 9, LAST])
        rarely = bends(lambda x, curve=curve: curve, pieces=rare, residual=0.01)
        alone = few, replace(own, knots=np.arange(len(few.places)), sums=own.sums[1::2])
        columns.append([(KNOTS, own), (KNOTS, rarely), alone][place % 3])
    together = _nearest(columns)
    for found, column in zip(together, columns, strict=True):
        (line,) = _nearest([column])
        assert found.ends == line.ends
        assert found.gain == pytest.approx(line.gain, rel=1e-9)
    assert len({line.ends for line in together}) > 3


def test_lines_flags_and_levels_stay_in_the_order_of_columns():
    shorter = bends(lambda x: np.minimum(x, KNOTS.places[7]), related=np.zeros(len(COLUMNS)))
    chosen = Lines().chosen(COLUMNS, [None, bends(straight), None, None, shorter])
    basis = Basis.curves(chosen)
    assert [(f.column, f.level) for f in basis.functions] == [
        (-1, 0), (0, 0), (0, 1), (1, 0), (3, 0), (4, 0),
    ]  # fmt: skip
    assert [column.kind for column in chosen] == [column.kind for column in COLUMNS]
    assert chosen[1].knots.places[-1] == KNOTS.places[-1]
    assert chosen[4].knots.places[-1] == KNOTS.places[7]
    assert not basis.stores_as(FIRST)
    same = Basis.curves(Lines().chosen(COLUMNS, [None, bends(straight), None, None, None]))
    assert same.stores_as(FIRST)


def test_a_line_is_standardised_under_the_marginal_of_all_knots():
    """What two knots know of the column follows from what all knots know."""
    found = KNOTS.between(2, 8)
    assert found.places.tolist() == [KNOTS.places[2], KNOTS.places[8]]
    (line,) = found.functions().T
    values = np.interp(ROWS, found.places, line)
    assert values.mean() == pytest.approx(0.0, abs=1e-3)
    assert values.var() == pytest.approx(1.0, abs=1e-2)
    on_knots = np.interp(KNOTS.places, found.places, line)
    np.testing.assert_allclose(on_knots, KNOTS.lines([(2, 8)])[:, 0], atol=1e-9)


def test_pieces_are_between_knots_in_steps_of_stored_rows():
    pieces = Pieces.of(FIRST, COLUMNS, STEP)
    assert [None if knots is None else knots.tolist() for knots in pieces.knots] == [
        None, list(range(LAST + 1)), None, None, list(range(LAST + 1)),
    ]  # fmt: skip
    assert (pieces.columns, pieces.most) == (2, LAST)
    # Two levels, a line, a flag, a line and the constant.
    assert [len(edges) for edges in pieces.edges] == [0, 0, LAST - 1, 0, LAST - 1, 0]
    assert len(pieces.edges) == len(FIRST.matrix())
    for column in (1, 4):
        steps = np.array(pieces.edges[FIRST.place(column)])
        exact = FIRST.gain / STEP * KNOTS.places[1:-1] / 10.0
        assert np.all((steps >= exact) & (steps < exact + 1.0))


def test_knots_closer_than_a_step_are_one():
    places = np.array([0.0, 1e-9, 2e-9, 4.0, 4.0 + 1e-9, 10.0])
    columns, basis = table_of(Column(Numeric(), Knots.of(Marginal.uniform(0.0, 10.0), places)))
    pieces = Pieces.of(basis, columns, STEP)
    (knots,) = pieces.knots
    assert np.all(np.diff(pieces.edges[0]) > 0)
    assert len(pieces.edges[0]) == len(knots) - 2
    assert len(np.unique(np.round(places[knots]))) == 3
    assert (knots[0], knots[-1]) == (0, 5)


def test_columns_with_two_knots_have_no_pieces():
    two = Knots.of(Marginal.uniform(0.0, 1.0), np.array([0.0, 1.0]))
    columns, basis = table_of(Column(Numeric(), two), Column(Binary()))
    pieces = Pieces.of(basis, columns, STEP)
    assert pieces.knots == (None, None)
    assert pieces.edges == ((), (), ())
    assert (pieces.columns, pieces.most) == (0, 0)


def test_knots_of_lines_are_closer_to_each_other_near_the_ends():
    """Lines mostly end there; curves have as many rows between any two knots."""
    for strategy in (Lines(), Curves(), Curves(5)):
        assert len(strategy.positions) == strategy.knots
        assert (strategy.positions[0], strategy.positions[-1]) == (0.0, 1.0)
        np.testing.assert_allclose(strategy.positions, 1.0 - strategy.positions[::-1], atol=1e-15)
    apart = np.diff(Lines().positions)
    assert np.all(np.diff(apart)[:5] > 0.0)
    np.testing.assert_allclose(np.diff(Curves().positions), 1.0 / 11.0)


def test_additive_models_have_all_curves_and_do_not_look():
    assert not Curves().looks
    assert Lines().looks
    assert Curves().first(COLUMNS) == list(COLUMNS)
    assert Curves().chosen(COLUMNS, [None] * len(COLUMNS)) == list(COLUMNS)
