"""A run goes on from the published files of another."""

import csv
import json
import shutil

import pytest
from tests.experiments.folders import SOIL, folder_of_tables, soil

from dpfit.experiments import reproduce, work
from dpfit.experiments.store import Store, StoreMismatchError

OPTIONS = {
    "epsilons": [0.5, 5.0],
    "trials": 2,
    "seeds": 2,
    "methods": ["adassp", "tukey_em", "linear", "least_squares"],
    "figures": "none",
    "jobs": 1,
}
SAME = ("results.csv", "results.json", "trials.csv.gz", "tables.csv", "summary.json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    base = tmp_path_factory.mktemp("whole")
    data = folder_of_tables(base / "data", rows=400)
    reproduce(data=data, out=base / "out", say=str, **OPTIONS)
    return data, base / "out"


def report_of(whole, folder, keep=lambda row: True):
    """Copy a report, with some of its fits."""
    shutil.copytree(whole[1], folder, ignore=shutil.ignore_patterns("*.sqlite"))
    with (folder / "results.csv").open(newline="") as lines:
        reader = csv.DictReader(lines)
        rows, names = [row for row in reader if keep(row)], reader.fieldnames
    with (folder / "results.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return folder


def same_files(one, other):
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in SAME)


def test_what_is_whole_is_not_done_again(whole, tmp_path, monkeypatch):
    earlier = report_of(whole, tmp_path / "earlier")
    facts = [{"processor": "another"}]
    (earlier / "machines.json").write_text(json.dumps(facts))
    monkeypatch.setattr(work, "_error", None)  # a fit would fail
    said = []
    reproduce(data=whole[0], out=tmp_path / "out", adopted=earlier, say=said.append, **OPTIONS)
    # For each table: four, three and one settings of three methods at two levels, and one more.
    assert said[0] == f"taken over: {2 * (2 * (4 + 3 + 1) + 1)} pieces of work"
    assert same_files(tmp_path / "out", whole[1])
    # The report tells where its numbers come from.
    assert json.loads((tmp_path / "out" / "machines.json").read_text())[0] == facts[0]
    assert "another" in (tmp_path / "out" / "results.md").read_text("utf-8")


def test_half_a_piece_of_work_is_done_again(whole, tmp_path):
    def keep(row):
        half_a_unit = row["method"] == "adassp" and row["seed"] == "1"
        return not half_a_unit and row["setting"] != "scaled"

    earlier = report_of(whole, tmp_path / "earlier", keep)
    said = []
    reproduce(data=whole[0], out=tmp_path / "out", adopted=earlier, say=said.append, **OPTIONS)
    assert said[0] == f"taken over: {2 * (2 * (2 + 1) + 1)} pieces of work"
    assert same_files(tmp_path / "out", whole[1])


def test_results_with_other_settings_are_refused(whole, tmp_path):
    earlier = report_of(whole, tmp_path / "earlier")
    with pytest.raises(StoreMismatchError, match="delta"):
        reproduce(data=whole[0], out=tmp_path / "out", adopted=earlier, delta=1e-5, say=str)
    summary = json.loads((earlier / "summary.json").read_text("utf-8"))
    del summary["settings"]
    (earlier / "summary.json").write_text(json.dumps(summary), "utf-8")
    with pytest.raises(StoreMismatchError, match="do not mix"):
        reproduce(data=whole[0], out=tmp_path / "other", adopted=earlier, say=str)


def test_results_of_other_tables_are_refused(whole, tmp_path):
    earlier = report_of(whole, tmp_path / "earlier")
    data = folder_of_tables(tmp_path / "data", rows=400)
    soil(400, seed=9).to_parquet(data / f"{SOIL}_visualizing_soil.parquet")
    with pytest.raises(StoreMismatchError, match=f"table {SOIL} is not the one"):
        reproduce(data=data, out=tmp_path / "out", adopted=earlier, say=str)


def test_a_report_that_does_not_tell_its_machines_is_refused_as_a_whole(whole, tmp_path):
    earlier = report_of(whole, tmp_path / "earlier")
    (earlier / "machines.json").unlink()
    with pytest.raises(FileNotFoundError):
        reproduce(data=whole[0], out=tmp_path / "out", adopted=earlier, say=str, **OPTIONS)
    assert Store(tmp_path / "out" / "results.sqlite").all_results() == []
