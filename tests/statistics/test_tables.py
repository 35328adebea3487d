"""Tables: passes over the rows, parts, and what a new statistic needs."""

import os
import pathlib
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from dpfit import ParameterError, _native
from dpfit.exceptions import Code
from dpfit.release import Releaser
from dpfit.statistics import (
    ClippedGradients,
    EqualBins,
    Gradient,
    Gram,
    Histograms,
    MappedGram,
    Relation,
    ResidualCounts,
    ResidualSums,
    RowCount,
    RowMap,
    Scale,
    SmallestEigenvalue,
    SquaredResiduals,
    Statistic,
    Table,
)
from dpfit.statistics.statistic import Batches, Blocks, merged
from dpfit.statistics.table import LocalBatches, bytes_of_row

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(500, 3)), RNG.normal(size=500)
SCALE = Scale(2.0**-12, 2.0)
COLUMN = (0.0, 1.0, [(-2.0, 2.0, 0.25)])
ROW_MAP = RowMap([COLUMN] * 3, (0.0, 1.0), SCALE, 0.2)
THETA = np.array([0.5, -0.25, 0.0, 1.0])
OF_NUMBERS = [
    RowCount(),
    Histograms((EqualBins(-1.0, 1.0, 4), None, EqualBins(0.0, 2.0, 3), EqualBins(-2.0, 2.0, 5))),
    ClippedGradients(THETA, 0.5),
    Gram(ROW_MAP),
    SmallestEigenvalue(ROW_MAP),
]
MATRIX = RNG.normal(size=(4, 6))
OF_STORED = [
    Gradient(THETA, 1000, SCALE),
    SquaredResiduals(THETA, 1000, SCALE),
    ResidualCounts(THETA, (100, 1000), SCALE),
    ResidualSums(THETA, 1000, ((-500, 0, 900), (), (1,), ()), SCALE),
    MappedGram(MATRIX),
]
JOINT = Gradient(THETA, 1000, SCALE, 2**22)


class Passes:
    """Batches that count how often they were read, and remember that they were freed."""

    def __init__(self, batches=((X, Y),)):
        self.batches, self.passes, self.freed = batches, 0, 0

    def __call__(self):
        self.passes += 1
        return iter(self.batches)

    def table(self, **options):
        return Table(LocalBatches(self, "error", 1, free=self.free, **options))

    def free(self):
        self.freed += 1


def name(statistic):
    return type(statistic).__name__


@pytest.mark.parametrize("statistic", [*OF_NUMBERS, *OF_STORED, JOINT], ids=name)
def test_parts_and_bytes_change_no_bit(statistic):
    def part(rows):
        if statistic in OF_NUMBERS:
            return Batches([(X[rows], Y[rows])], "error", 1)
        stored = _native.Rows(ROW_MAP.native())
        stored.extend(X[rows], Y[rows])
        return Blocks([stored], 1)

    whole = statistic.sum(part(slice(None)))
    parts = [statistic.sum(part(slice(i, i + 130))) for i in range(0, 500, 130)]
    total = merged(statistic.read(part.to_bytes()) for part in parts)
    assert total.to_bytes() == whole.to_bytes()
    assert statistic.sum(Batches([], "error", 1)) is None


@pytest.mark.parametrize("statistic", [*OF_NUMBERS, *OF_STORED, JOINT], ids=name)
def test_sensitivities_grow_with_the_rows_of_a_unit(statistic):
    for neighbors in ("add_remove", "replace"):
        one, three = (statistic.sensitivity(Relation(neighbors, rows)) for rows in (1, 3))
        assert three == pytest.approx(3 * one, rel=1e-12)
    added, replaced = (statistic.sensitivity(Relation(n)) for n in ("add_remove", "replace"))
    factor = dict.fromkeys(["Gram", "MappedGram", "Histograms", "ResidualCounts"], 2**0.5)
    factor |= {"Gradient": 2, "ClippedGradients": 2, "ResidualSums": 2}
    assert replaced == pytest.approx(factor.get(name(statistic), 1) * added, rel=1e-12)


def test_x_x_is_computed_in_the_pass_that_stores_the_rows():
    source = Passes()
    stored = source.table().store(ROW_MAP)
    assert (source.passes, source.freed) == (1, 1)
    for statistic in (Gram(ROW_MAP), SmallestEigenvalue(ROW_MAP)):
        alone = statistic.sum(Batches([(X, Y)], "error", 1))
        assert stored.sum(statistic).to_bytes() == alone.to_bytes()
    stored.sum(OF_STORED[0])
    assert source.passes == 1


def test_rows_can_be_stored_again():
    source = Passes()
    table = source.table()
    first = table.store(ROW_MAP, free=False)
    assert (source.passes, source.freed) == (1, 0)
    before = first.sum(OF_STORED[0]).to_bytes()
    second = table.store(ROW_MAP, gram=False)
    assert (source.passes, source.freed) == (2, 1)
    assert second.sum(OF_STORED[0]).to_bytes() == before
    # The rows that were stored first are gone.
    with pytest.raises(ParameterError):
        first.sum(OF_STORED[0])


def test_a_statistic_that_is_released_twice_takes_one_pass():
    source, releaser = Passes(), Releaser(_native.Entropy(), "add_remove")
    table = source.table()
    first, second = (releaser.release(table, RowCount(), 1e-9).value for _ in range(2))
    assert source.passes == 1
    assert {first, second} != {500.0}
    assert [event.count for event in releaser.events] == [2]
    table.sum(OF_NUMBERS[1])
    table.sum(RowCount())
    assert source.passes == 3


@pytest.mark.parametrize("end", [Table.free, lambda table: table.store(ROW_MAP)])
def test_no_sum_is_kept_longer_than_the_rows(end):
    table = Passes().table()
    total = table.sum(RowCount())
    references = sys.getrefcount(total)
    end(table)
    assert sys.getrefcount(total) < references


@pytest.mark.parametrize("statistic", [Gram, SmallestEigenvalue])
def test_x_x_of_another_row_map_is_refused(statistic):
    """The sensitivity of the eigenvalue depends on the number of features."""
    stored = Passes().table().store(ROW_MAP)
    for other in (
        RowMap([COLUMN] * 2, (0.0, 1.0), SCALE, 0.2),
        RowMap([(0.5, 1.0, [(-2.0, 2.0, 0.25)])] * 3, (0.0, 1.0), SCALE, 0.2),
    ):
        with pytest.raises(ValueError, match="row maps differ"):
            stored.sum(statistic(other))


@pytest.mark.parametrize("batches", [(), ((X[:0], Y[:0]),)], ids=len)
def test_a_table_without_rows_is_refused(batches):
    with pytest.raises(ParameterError) as caught:
        Passes(batches).table().sum(RowCount())
    assert caught.value.code == Code.NO_ROWS


@pytest.mark.parametrize(("limit", "in_files"), [(None, False), (10**6, False), (1000, True)])
def test_stored_rows_beyond_the_limit_are_in_files(limit, in_files, monkeypatch, tmp_path):
    directories, rows = [], _native.Rows

    def opened(row_map, *, directory, memory):
        directories.append(directory)
        return rows(row_map, directory=directory, memory=memory)

    monkeypatch.setattr(_native, "Rows", opened)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Passes().table(memory_limit=limit).store(ROW_MAP)
    assert directories == [str(tmp_path) if in_files else None]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_stores_use_the_memory_of_freed_ones_and_give_it_back():
    def resident():
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    rows = 500_000
    size, slack = rows * (bytes_of_row(4) + bytes_of_row(6)), 4 << 20
    source = Passes([(np.tile(X, (rows // 500, 1)), np.tile(Y, rows // 500))])
    table, before = source.table(), resident()
    stored = table.store(ROW_MAP, free=False)
    stored.mapped(MATRIX).free()
    two = resident()
    assert two - before > size - slack
    # One in the memory of the mapped rows, then two in that of the first ones.
    stored.mapped(MATRIX)
    assert resident() - two < slack
    table.store(ROW_MAP).mapped(MATRIX)
    assert resident() - two < slack
    table.free()
    assert resident() - before < slack


def test_rows_are_mapped_to_rows():
    stored = Passes().table().store(ROW_MAP)
    mapped = stored.mapped(MATRIX)
    twice = mapped.mapped(np.eye(6))
    gram = stored.sum(MappedGram(MATRIX)).insecure_exact()
    assert mapped.sum(MappedGram(np.eye(6))).insecure_exact() == gram
    statistic = Gradient(np.ones(6), 1000, Scale(SCALE.step), 2**20)
    exact = mapped.sum(statistic).insecure_exact()
    assert twice.sum(statistic).insecure_exact() == exact
    # A table that is mapped can still be used, unless it was freed.
    stored.sum(OF_STORED[0])
    freed = stored.mapped(MATRIX, free=True)
    assert freed.sum(statistic).insecure_exact() == exact
    with pytest.raises(ParameterError) as caught:
        stored.sum(OF_STORED[0])
    assert caught.value.code == Code.NO_ROWS


def test_a_table_forgets_its_mapped_rows():
    table = Passes().table()
    stored = table.store(ROW_MAP)
    mapped = stored.mapped(MATRIX, free=True)
    twice = mapped.mapped(np.eye(6))
    table.free()
    statistic = Gradient(np.ones(6), 1000, Scale(SCALE.step))
    for rows in (mapped, twice):
        with pytest.raises(ParameterError) as caught:
            rows.sum(statistic)
        assert caught.value.code == Code.NO_ROWS


@pytest.mark.parametrize(
    ("limit", "in_files"), [(None, False), (10**6, False), (500 * 13, True), (500 * 40, False)]
)
def test_mapped_rows_beyond_the_limit_are_in_files(limit, in_files, monkeypatch, tmp_path):
    # Four features and six, two bytes each, and two targets of four bytes.
    directories, rows = [], _native.Rows

    class Spy:
        def __init__(self, row_map, *, directory, memory):
            self.rows = rows(row_map, directory=directory, memory=memory)

        def __getattr__(self, name):
            return getattr(self.rows, name)

        def mapped(self, matrix, *, directory, n_jobs):
            directories.append(directory)
            return self.rows.mapped(matrix, directory=directory, n_jobs=n_jobs)

    monkeypatch.setattr(_native, "Rows", Spy)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Passes().table(memory_limit=limit).store(ROW_MAP).mapped(MATRIX)
    assert directories == [str(tmp_path) if in_files else None]


@dataclass(frozen=True)
class AboveZero(Statistic[_native.Histogram, float]):
    """Rows whose target is above zero: all that a new statistic needs."""

    name = "rows above zero"
    native = _native.Histogram

    def bins(self):
        return [None, None, None, _native.Bins.equal(0.0, 1.0, 1)]

    def sum(self, part):
        return part.added(lambda _: _native.Histogram(self.bins()))

    def read(self, packed):
        return _native.Histogram.from_bytes(self.bins(), packed)

    def sensitivity(self, relation):
        return 2.0 * relation.rows

    def noisy(self, total, noise):
        return float(total.release(noise.sigma, noise.entropy)[1:].sum())


def test_a_new_statistic_is_one_class():
    releaser = Releaser(_native.Entropy(), "replace", rows_per_unit=2)
    table = Passes(tuple((X[i : i + 100], Y[i : i + 100]) for i in range(0, 500, 100))).table()
    found = releaser.release(table, AboveZero(), 1e3)
    assert found.value == np.sum(Y > 0.0)
    (event,) = releaser.events
    assert (event.statistic, event.sensitivity, event.mu) == ("rows above zero", 8.0, 1e3)
    assert found.sigma == event.sigma == 8e-3


def test_names_of_events_are_distinct():
    relation = Relation("add_remove")
    names = [
        component.name
        for statistic in (*OF_NUMBERS, *OF_STORED)
        for component in statistic.components(relation)
    ]
    assert len(names) == len(set(names)) == 11
