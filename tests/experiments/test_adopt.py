"""A run goes on from the published files of another."""

import csv
import json
import pathlib
import shutil

import pytest
from tests.experiments.folders import SOIL, folder_of_tables, soil

from paper import Options, reproduce, work
from paper.store import Store, StoreMismatchError

PUBLISHED = pathlib.Path(__file__).parents[2] / "docs" / "experiments"
OPTIONS = {
    "epsilons": [0.5, 5.0],
    "trials": 2,
    "seeds": 2,
    "methods": ["adassp", "tukey_em", "linear", "least_squares"],
    "figures": "none",
    "jobs": 1,
}
SAME = ("results.csv", "results.json", "tables.csv", "summary.json")


def run(data, out, say=str, **more):
    return reproduce(Options(data=data, out=out, **{**OPTIONS, **more}), say=say)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    base = tmp_path_factory.mktemp("whole")
    data = folder_of_tables(base / "data", rows=400)
    run(data, base / "out")
    return data, base / "out"


def report_of(whole, folder, keep=lambda row: True):
    """Copy a report, with some of its fits."""
    folder.mkdir()
    for name in ("results.csv", "run.json"):
        shutil.copy(whole[1] / name, folder)
    with (folder / "results.csv").open(newline="") as lines:
        reader = csv.DictReader(lines)
        rows, names = [row for row in reader if keep(row)], reader.fieldnames
    with (folder / "results.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return folder


def edit(folder, **values):
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


def same_files(one, other):
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in SAME)


def test_what_is_whole_is_not_done_again(whole, tmp_path, monkeypatch):
    earlier = report_of(whole, tmp_path / "earlier")
    facts = {"processor": "another"}
    edit(earlier, machines=[facts])
    monkeypatch.setattr(work, "_error", None)  # a fit would fail
    said = []
    run(whole[0], tmp_path / "out", adopt=earlier, say=said.append)
    # For each table: four, three and one settings of three methods at two levels, and one more.
    assert said[0] == f"reused: {2 * (2 * (4 + 3 + 1) + 1)} work items"
    assert same_files(tmp_path / "out", whole[1])
    # The report tells where its numbers come from.
    assert json.loads((tmp_path / "out" / "run.json").read_text())["machines"][0] == facts
    assert "another" in (tmp_path / "out" / "results.md").read_text("utf-8")


def test_half_a_piece_of_work_is_done_again(whole, tmp_path):
    def keep(row):
        half_a_unit = row["method"] == "adassp" and row["seed"] == "1"
        return not half_a_unit and row["setting"] != "scaled"

    earlier = report_of(whole, tmp_path / "earlier", keep)
    said = []
    run(whole[0], tmp_path / "out", adopt=earlier, say=said.append)
    assert said[0] == f"reused: {2 * (2 * (2 + 1) + 1)} work items"
    assert same_files(tmp_path / "out", whole[1])


def test_results_with_other_settings_are_refused(whole, tmp_path):
    earlier = report_of(whole, tmp_path / "earlier")
    with pytest.raises(StoreMismatchError, match="delta"):
        run(whole[0], tmp_path / "out", adopt=earlier, delta=1e-5)


def test_results_of_other_tables_are_refused(whole, tmp_path):
    earlier = report_of(whole, tmp_path / "earlier")
    data = folder_of_tables(tmp_path / "data", rows=400)
    soil(400, seed=9).to_parquet(data / f"{SOIL}_visualizing_soil.parquet")
    with pytest.raises(StoreMismatchError, match=f"table {SOIL} is not the one"):
        run(data, tmp_path / "out", adopt=earlier)


@pytest.mark.parametrize("name", ["results.csv", "run.json"])
def test_a_report_without_one_of_its_files_is_refused_as_a_whole(whole, tmp_path, name):
    earlier = report_of(whole, tmp_path / "earlier")
    (earlier / name).unlink()
    with pytest.raises(FileNotFoundError):
        run(whole[0], tmp_path / "out", adopt=earlier)
    store = Store(tmp_path / "out" / "results.sqlite")
    assert store.all_results() == []
    assert store.machines() == []


def test_the_published_report_can_be_adopted():
    text = (PUBLISHED / "run.json").read_text("utf-8")
    assert json.loads(text)["settings"] == Options(ebm_rounds=1000).design().must_agree()
    with (PUBLISHED / "results.csv").open(newline="") as lines:
        tasks = {row["task"] for row in csv.DictReader(lines)}
    assert tasks == set(json.loads(text)["tables"])
