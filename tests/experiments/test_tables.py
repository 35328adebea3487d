"""Tables: encoding, splitting, finding them."""

import os
import pathlib

import numpy as np
import pandas as pd
import pytest
from tests.experiments.folders import SOIL, SUPREME, folder_of_tables, soil

from paper import catalogue, openml_source
from paper.catalogue import load, open_catalogue
from paper.registry import registry
from paper.tables import encode


def test_levels_become_columns_of_zeros_and_ones():
    table = encode(soil(50))
    assert table.X.shape == (50, 4)
    assert table.binary.tolist() == [False, False, True, True]
    assert np.array_equal(table.X[:, 2:].sum(axis=1), np.ones(50))


def test_truth_values_and_text_are_levels():
    frame = pd.DataFrame({"a": [True, False, True], "b": ["x", "y", "z"], "target": [1.0, 2, 3]})
    assert encode(frame).X.shape == (3, 5)


def test_rows_with_missing_values_are_dropped():
    frame = soil(50)
    frame.loc[3, "north"] = np.nan
    frame.loc[7, "wet"] = None
    frame.loc[9, "target"] = np.nan
    assert len(encode(frame).y) == 47


def test_the_last_column_is_the_target_if_none_is_named_so():
    frame = pd.DataFrame({"a": [1.0, 2.0], "price": [3.0, 5.0]})
    assert encode(frame).y.tolist() == [3.0, 5.0]


def test_the_split_is_four_fifths_to_one_and_always_the_same():
    table = encode(soil(100))
    one, two = table.split(), table.split()
    assert (len(one.y), len(one.y_test)) == (80, 20)
    assert np.array_equal(one.X, two.X)
    assert sorted([*one.y, *one.y_test]) == sorted(table.y)
    assert len(table.split(50).y) == 40


def test_rows_held_out_for_tuning_are_never_test_rows():
    split = encode(soil(200)).split()
    part = split.held_out(3, most_rows=100)
    assert (len(part.y), len(part.y_test)) == (80, 20)
    test = {tuple(row) for row in split.X_test}
    assert not test & {tuple(row) for row in np.vstack([part.X, part.X_test])}


def test_scaled_features_fit_into_the_unit_ball():
    split = encode(soil(200)).split().scaled()
    assert np.linalg.norm(split.X, axis=1).max() <= 1 + 1e-12
    assert split.X.min() >= 0


def test_a_folder_is_checked_against_the_registry(tmp_path):
    found = open_catalogue(folder_of_tables(tmp_path))
    assert [entry.number for entry in found.entries] == [SUPREME, SOIL]
    assert "n 600, paper 8641" in found.entries[1].note
    assert len(found.missing) == 31
    assert load(found.entries[0]).X.shape == (600, 4)


def test_tables_in_the_folder_extra_are_apart(tmp_path):
    folder_of_tables(tmp_path)
    (tmp_path / "extra").mkdir()
    name = "361091_year.parquet"
    soil(80).to_parquet(tmp_path / "extra" / name)
    groups = {e.number: e.group for e in open_catalogue(tmp_path, extra=True).entries}
    assert groups == {SUPREME: "headline", SOIL: "headline", 361091: "extra"}
    assert 361091 not in {e.number for e in open_catalogue(tmp_path).entries}


def test_an_empty_folder_is_an_error_and_not_a_demonstration(tmp_path):
    with pytest.raises(FileNotFoundError, match="no table of the paper"):
        open_catalogue(tmp_path)


def test_the_folder_may_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DPFIT_DATA", str(folder_of_tables(tmp_path)))
    assert len(open_catalogue(None).entries) == 2


def test_tables_are_fetched_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("DPFIT_DATA", raising=False)
    asked, said = [], []

    def fetch(number):
        asked.append(number)
        if number == SUPREME and len(asked) > 1:
            raise TimeoutError
        return soil(60)

    monkeypatch.setattr(openml_source, "_fetch", fetch)
    options = {"tasks": {SOIL, SUPREME, 361072}, "cache": tmp_path / "cache", "say": said.append}
    first = open_catalogue(None, **options)
    assert [entry.number for entry in first.entries] == [361072, SOIL]
    assert asked == [361072, SUPREME, SOIL]
    assert any("cannot download" in line for line in said)
    monkeypatch.setattr(openml_source, "_fetch", lambda number: soil(70))
    second = open_catalogue(None, **options)
    assert [entry.n for entry in second.entries] == [60, 70, 60]
    assert not list((tmp_path / "cache").glob("*.partial"))


def test_what_openml_gives_becomes_a_table(monkeypatch):
    import sys
    import types

    class Data:
        default_target_attribute = "y"

        def get_data(self, dataset_format, target):
            frame = soil(40)
            y = frame.pop("target").astype(str)
            frame["wet"] = (frame["wet"] == "yes").astype(int)
            return frame, y, [False, False, True], list(frame.columns)

    task = types.SimpleNamespace(get_dataset=Data)
    fake = types.SimpleNamespace(tasks=types.SimpleNamespace(get_task=lambda *a, **k: task))
    monkeypatch.setitem(sys.modules, "openml", fake)
    table = encode(openml_source._fetch(SOIL))
    assert table.X.shape == (40, 4)
    assert table.binary.sum() == 2


def test_without_folder_and_network_there_is_a_demonstration(tmp_path, monkeypatch):
    monkeypatch.delenv("DPFIT_DATA", raising=False)

    def fetch(number):
        raise ConnectionError("no route")

    monkeypatch.setattr(openml_source, "_fetch", fetch)
    found = open_catalogue(None, cache=tmp_path / "cache")
    assert {entry.group for entry in found.entries} == {"generated"}
    assert "DEMONSTRATION" in found.message
    assert "--data FOLDER" in found.message
    assert "DPFIT_DATA" in found.message
    assert "ConnectionError" in found.message


@pytest.mark.skipif("DPFIT_DATA" not in os.environ, reason="DPFIT_DATA names no folder of tables")
def test_real_tables_agree_with_the_registry():
    found = open_catalogue(pathlib.Path(os.environ["DPFIT_DATA"]))
    for entry in found.entries:
        task = registry()[entry.number]
        exact = entry.n == task.n and entry.d == task.d
        assert exact or entry.note
        assert catalogue.load(entry).binary.sum() <= entry.d
