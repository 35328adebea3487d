"""Stored features and functions of them: what the matrix says is what the rows hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import Binary, Categorical, Numeric, _native
from dpfit.engine.features.basis import Basis, Column
from dpfit.engine.features.functions import Knots
from dpfit.engine.shrinkage import EXPLAINED
from dpfit.statistics import RowMap, Scale

from ..core.stored import stored_rows
from .marginals import marginals, of_values

quick = settings(max_examples=60, deadline=None)
ONE = 2.0**15


@st.composite
def bases(draw):
    """Draw columns of all kinds, the functions of them, and rows."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    rows, columns, values = 20, [], []
    for kind in draw(st.lists(st.sampled_from("nnbck"), min_size=1, max_size=6)):
        if kind == "n":
            marginal = draw(marginals())
            columns.append(
                Column(
                    Numeric(),
                    Knots.at_quantiles(
                        marginal, np.linspace(0.0, 1.0, draw(st.integers(2, 12))), 0.01
                    ),
                )
            )
            middle, width = marginal.edges.mean(), np.ptp(marginal.edges)
            column = rng.normal(middle, width / 2, rows)
            column[0] = middle + 1e9 * width
        elif kind == "b":
            columns.append(Column(Binary()))
            column = rng.integers(0, 2, rows).astype(float)
        elif kind == "c":
            number = draw(st.integers(1, 5))
            columns.append(Column(Categorical([f"level {i}" for i in range(number)])))
            column = rng.integers(-1, number, rows).astype(float)
        else:
            columns.append(Column(Numeric()))
            column = rng.normal(size=rows)
        values.append(column)
    return Basis.curves(columns), np.column_stack(values)


def stored(basis, X):
    """Return what the core stores of rows, in units of one."""
    row_map = RowMap(basis.row_map_columns(), (0.0, 1.0), Scale(2.0**-14), basis.constant_share)
    rows = _native.Rows(row_map.native())
    rows.extend(X, np.full(len(X), 0.25))
    features, targets = stored_rows(rows, row_map.native().features)
    return features[: len(X)] / ONE, targets[: len(X)] * 2.0**-14


def direct(basis, X):
    """Return the functions' values, computed from the rows."""
    found = []
    for function in basis.functions:
        if function.column < 0:
            found.append(np.ones(len(X)))
            continue
        column, values = basis.columns[function.column], X[:, function.column]
        if function.heights is not None:
            found.append(np.interp(values, column.knots.places, function.heights))
        elif isinstance(column.kind, Binary):
            found.append(values)
        else:
            found.append((values == function.level).astype(float))
    return np.column_stack(found)


@quick
@given(bases())
def test_the_matrix_gives_the_values_of_functions(drawn):
    basis, X = drawn
    features, _ = stored(basis, X)
    matrix = basis.matrix()
    assert matrix.shape == (features.shape[1], len(basis.functions))
    # Features are truncated by at most a step each.
    slack = np.abs(matrix).sum(axis=0) / ONE + 1e-9
    assert np.all(np.abs(features @ matrix - direct(basis, X)) <= slack)


@quick
@given(bases())
def test_no_row_is_longer_than_one_so_none_is_weighted_down(drawn):
    basis, X = drawn
    features, targets = stored(basis, X)
    assert np.square(features).sum(axis=1).max() <= 1.0
    # A row that is weighted down would take its target and its constant along.
    assert np.all(targets == 0.25)
    assert np.all(np.abs(features[:, -1] - basis.gain) <= 1.0 / ONE)


@quick
@given(bases(), st.data())
def test_kept_functions_are_columns_of_the_matrix(drawn, data):
    basis, _ = drawn
    places = sorted(data.draw(st.sets(st.integers(0, len(basis.functions) - 1), min_size=1)))
    assert np.array_equal(basis.kept(np.array(places)).matrix(), basis.matrix()[:, places])


@quick
@given(bases(), st.floats(1e-3, 1.0))
def test_priors_expect_lines_to_explain_half_of_the_target(drawn, variance):
    basis, _ = drawn
    prior = basis.prior(variance)
    assert len(prior.variances) == len(basis.functions)
    assert np.all(prior.variances > 0.0)
    lines = [i for i, f in enumerate(basis.functions) if f.heights is not None and not f.is_bend]
    flags = [i for i, f in enumerate(basis.functions) if f.heights is None and f.column >= 0]
    if lines and not flags:
        assert prior.variances[lines].sum() == pytest.approx(EXPLAINED * variance)
    bends = [i for i, f in enumerate(basis.functions) if f.is_bend]
    assert sorted(i for block in prior.blocks for i in block) == bends
    for block in prior.blocks:
        # One block for each curve; its bends fall, and all are below the line before them.
        assert len({basis.functions[i].column for i in block}) == 1
        assert np.all(np.diff(prior.variances[block]) < 0.0)
        assert prior.variances[block[0]] < prior.variances[block[0] - 1]


def test_two_curves_next_to_each_other_have_a_block_each():
    knots = Knots.at_quantiles(
        of_values(np.random.default_rng(0).normal(size=5000)), np.linspace(0.0, 1.0, 5), 0.01
    )
    prior = Basis.curves([Column(Numeric(), knots)] * 2).prior(1.0)
    assert [block.tolist() for block in prior.blocks] == [[2, 3, 4], [6, 7, 8]]


def test_a_table_without_features_has_the_constant():
    basis = Basis.curves([Column(Numeric())])
    assert len(basis.functions) == 1
    features, _ = stored(basis, np.ones((3, 1)))
    assert features @ basis.matrix() == pytest.approx(np.ones((3, 1)), abs=1e-4)
