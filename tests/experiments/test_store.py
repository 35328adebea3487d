"""What is kept, and what is refused."""

import dataclasses
import math

import pytest
from tests.experiments.folders import folder_of_tables

from paper.catalogue import open_catalogue
from paper.design import Design
from paper.store import Result, Store, StoreMismatchError, TrialRow


def result(**changes):
    row = Result(1, "adassp", 0.1, "fixed", 0, 0, 80, {"x_bound": 1.0}, 2.0, 0.5, "", 0.01)
    return dataclasses.replace(row, **changes)


def test_what_is_kept_comes_back_exactly(tmp_path):
    store = Store(tmp_path / "a.sqlite")
    rows = [result(mse=0.1 + 0.2), result(seed=1, mse=math.inf, relative=math.inf, note="failed")]
    for row in rows:
        store.add_result(row)
    assert Store(tmp_path / "a.sqlite").all_results() == rows
    assert store.seeds(1, "adassp", 0.1, "fixed", 0) == {0, 1}


def test_the_first_result_stays(tmp_path):
    store = Store(tmp_path / "a.sqlite")
    store.add_result(result(mse=1.0))
    store.add_result(result(mse=2.0))
    assert [row.mse for row in store.all_results()] == [1.0]


def test_trials_after_a_gap_do_not_count(tmp_path):
    store = Store(tmp_path / "a.sqlite")
    for number in (0, 1, 3):
        store.add_trial(TrialRow(1, "adassp", 0.1, number, 60, {"x_bound": 1.0}, 1.0, 0.1))
    assert len(store.trials(1, "adassp", 0.1)) == 2


def test_other_settings_and_other_tables_are_refused(tmp_path):
    store = Store(tmp_path / "a.sqlite")
    store.agree(Design().must_agree())
    store.agree(Design(trials=40, epsilons=(3.0,)).must_agree())
    with pytest.raises(StoreMismatchError, match="delta"):
        store.agree(Design(delta=1e-5).must_agree())
    entry = open_catalogue(folder_of_tables(tmp_path / "data")).entries[0]
    store.add_table(entry)
    store.add_table(entry)
    with pytest.raises(StoreMismatchError, match="not the one"):
        store.add_table(dataclasses.replace(entry, checksum="other"))
