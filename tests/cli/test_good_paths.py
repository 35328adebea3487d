"""Every command does what its help says."""

import io
import json
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import dpfit
from dpfit.accounting import gdp_mu

from .tool import ENVIRONMENT, PROGRAM, error_of, files_in
from .tool import dpfit as run


def quickly(program, folder, line, input=None):
    return run(folder, line, input, program)


def good(done):
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode()


def test_fit_predict_and_show(folder, tmp_path):
    model_file, output = tmp_path / "m.json", tmp_path / "p.parquet"
    printed = good(run(folder, f"fit data.parquet -t price -e 1 -o {model_file}"))
    model = dpfit.load(tmp_path / "m.json")
    # The file contains what was printed.
    assert printed.startswith(str(model.summary()))
    assert "This model protects each row" in printed
    assert files_in(tmp_path) == {"m.json"}

    good(run(folder, f"predict {model_file} new.parquet -o {output}"))
    rows = pq.read_table(folder / "new.parquet")
    predictions = pq.read_table(output)
    assert predictions.column_names == ["prediction"]
    known = model.predict(rows.select([str(name) for name in model.feature_names_in_]))
    np.testing.assert_array_equal(predictions["prediction"], known)

    shown = run(folder, f"show {model_file} --plot {tmp_path}/m.png")
    assert shown.returncode == 0
    assert shown.stdout.decode().startswith(str(model.summary()))
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert files_in(tmp_path) == {"m.json", "p.parquet", "m.png"}


def test_every_option_of_fit_arrives(folder, quick, tmp_path):
    printed = good(
        quickly(
            quick,
            folder,
            "fit visits.csv --target cost --mu 0.5 --additive --unit patient --max-rows 3 --jobs 1 "
            "--neighbors replace --missing drop --memory-limit 2MB --json "
            f"--output {tmp_path}/m.json",
        )
    )
    found, model = json.loads(printed), dpfit.load(tmp_path / "m.json")
    assert isinstance(model, dpfit.PrivateAdditiveRegression)
    assert found["model"] == str(tmp_path / "m.json")
    assert found["mu"] == model.privacy_.mu == 0.5
    assert found["max_rows"] == model.privacy_.max_rows == 3
    assert found["unit_name"] == model.privacy_.unit_name == "patient"
    assert found["neighbors"] == "replace"
    assert (model.missing, model.max_rows) == ("drop", 3)
    assert [curve["name"] for curve in found["curves"]] == ["age"]
    assert found["statement"] == model.privacy_.statement()


def test_a_schema_gives_levels_and_bounds(folder, quick, tmp_path):
    schema = json.loads(good(quickly(quick, folder, "schema infer data.csv --json")))
    assert schema["needs_levels"] == ["cut"]
    assert "price" in schema["open"]
    columns = schema["schema"]["columns"]
    for column in columns:
        if column["name"] == "cut":
            column["levels"] = ["Ideal", "Premium"]
        if column["name"] == "carat":
            column.update(low=0, high=5)
        # The target, which `schema infer` did not know.
        if column["name"] == "price":
            column.update(low=0, high=20_000)
    (tmp_path / "s.json").write_text(json.dumps(schema["schema"]))
    line = f"fit data.csv -t price -e 1 --schema {tmp_path}/s.json -q -o {tmp_path}/m.json"
    assert good(quickly(quick, folder, line)) == ""
    model = dpfit.load(tmp_path / "m.json")
    assert model.schema["carat"] == dpfit.Numeric(0, 5)
    assert model.schema["cut"] == dpfit.Categorical(("Ideal", "Premium"))
    assert model.schema.target == dpfit.Numeric(0, 20_000)
    assert "price" not in model.schema


def test_standard_input_and_output(folder, quick):
    data, new = (folder / "data.csv").read_bytes(), (folder / "new.csv").read_bytes()
    model = quickly(quick, folder, "fit - -t price -e 1 --without cut -o -", data)
    assert model.stderr == b""
    loaded = json.loads(model.stdout)
    assert loaded["model"]["estimator"] == "PrivateLinearRegression"
    shown = quickly(quick, folder, "show - --json", model.stdout)
    assert json.loads(shown.stdout)["intercept"] == loaded["model"]["intercept"]
    # CSV in and out; all columns are copied.
    kept = quickly(quick, folder, "predict model.json - --keep -o -", new)
    rows, before = pc.read_csv(io.BytesIO(kept.stdout)), pc.read_csv(io.BytesIO(new))
    assert rows.drop_columns(["prediction"]).equals(before)
    # Parquet in, recognised by its first bytes, and out.
    new = (folder / "new.parquet").read_bytes()
    done = quickly(quick, folder, "predict model.json - -o -", new)
    again = pq.read_table(io.BytesIO(done.stdout))
    np.testing.assert_array_equal(again["prediction"], rows["prediction"])
    # And from one to the other.
    done = quickly(quick, folder, "predict model.json - -o - --output-format csv", new)
    np.testing.assert_array_equal(
        pc.read_csv(io.BytesIO(done.stdout))["prediction"], rows["prediction"]
    )


def test_show_writes_a_report(folder, quick, tmp_path):
    done = quickly(quick, folder, f"show model2.json --html {tmp_path}/m.html")
    assert done.stderr.decode() == f"The report was written to {tmp_path}/m.html.\n"
    expected = dpfit.load(folder / "model2.json").report_html()
    assert (tmp_path / "m.html").read_text("utf-8") == expected
    assert done.stdout.decode().startswith(str(dpfit.load(folder / "model2.json").summary()))
    content = (folder / "model2.json").read_bytes()
    piped = quickly(quick, folder, f"show - --html - --plot {tmp_path}/m.png", content)
    assert piped.stdout.decode() == expected
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_shows_the_ledger(folder, quick, tmp_path):
    account = dpfit.Ledger.create(tmp_path / "study.dpl", epsilon=3.0, dataset="Stones of 2024")
    X = np.arange(600.0).reshape(-1, 2)
    model = dpfit.PrivateLinearRegression(epsilon=1.0, ledger=account).fit(X, X[:, 0])
    model.save(tmp_path / "m.json")
    line = f"show {tmp_path}/m.json --html -"
    assert b"(this model)" not in quickly(quick, folder, line).stdout
    shown = quickly(quick, folder, f"{line} --ledger {tmp_path}/study.dpl")
    assert b"(this model)" in shown.stdout
    assert b"Stones of 2024" in shown.stdout
    other = quickly(quick, folder, f"show model.json --html - --ledger {tmp_path}/study.dpl")
    assert other.returncode == 2
    assert b"no entry of this model" in other.stderr


def test_show_writes_a_query(folder, quick):
    query = good(quickly(quick, folder, "show model.json --sql 'new rows'"))
    assert query.startswith("SELECT *")
    assert query.rstrip().endswith('FROM "new rows";')


def test_budgets_are_converted_and_added(folder, quick):
    found = json.loads(good(quickly(quick, folder, "budget --epsilon 1 --delta 1e-6 --json")))
    assert found == {"epsilon": 1.0, "delta": 1e-6, "mu": gdp_mu(1.0, 1e-6)}
    assert json.loads(good(quickly(quick, folder, "budget --epsilon 1 --json"))) == found
    back = json.loads(
        good(quickly(quick, folder, f"budget --mu {found['mu']} --delta 1e-6 --json"))
    )
    assert back["epsilon"] <= 1.0
    assert back["epsilon"] == pytest.approx(1.0)
    added = json.loads(good(quickly(quick, folder, "budget add model1.json model2.json --json")))
    fits = json.loads(good(quickly(quick, folder, "budget add --fit 1,1e-6,2 --json")))
    assert added["epsilon"] == fits["epsilon"] == pytest.approx(1.4547, abs=1e-4)
    assert [release["name"] for release in added["releases"]] == ["model1.json", "model2.json"]
    # If the distribution of the noise is not known, epsilons are added.
    others = json.loads(good(quickly(quick, folder, "budget add --other 1,1e-7,2 --json")))
    assert others["epsilon"] == 2.0
    assert others["mu"] is None


def test_the_program_prints_its_version_and_starts_quickly(folder):
    program = pathlib.Path(sys.executable).with_name("dpfit")
    if program.exists():
        assert good(run(folder, "--version", program=[program])) == f"dpfit {dpfit.__version__}\n"
    code = (
        "import sys; from dpfit.cli import main; main(['budget', '--mu', '1', '--delta', '1e-6']);"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'sklearn', 'matplotlib'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    good(run(folder, "", program=[sys.executable, "-W", "error", "-c", code]))


def test_the_shell_completes_commands(folder):
    # As typer's scripts do when TAB is pressed.
    words = {**ENVIRONMENT, "_DPFIT_COMPLETE": "complete_bash", "COMP_WORDS": "dpfit pre"}
    done = subprocess.run(
        [*PROGRAM], env={**words, "COMP_CWORD": "1"}, capture_output=True, check=False
    )
    assert done.stdout.split() == [b"predict"]


def test_a_device_is_written_to_and_not_replaced(folder, quick):
    line = "fit visits.csv -t cost -e 1 --without patient -o /dev/null --quiet"
    assert good(quickly(quick, folder, line)) == ""
    assert pathlib.Path("/dev/null").is_char_device()


def test_missing_values_and_unlisted_levels_get_a_note(folder, quick, tmp_path):
    table = pc.read_csv(folder / "new.csv").to_pylist()
    table[0]["cut"] = table[1]["cut"] = "Perfect"
    table[2]["carat"] = None
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "new.parquet")
    line = f"predict model.json {tmp_path}/new.parquet --missing empty -o {tmp_path}/p.csv"
    done = quickly(quick, folder, line)
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == [
        "1 of 100 predictions are empty because a value is missing.",
        "In 2 of 100 rows, column 'cut' has a level that the model does not list; it has no effect "
        "on the prediction.",
    ]
    found = json.loads(good(quickly(quick, folder, f"{line} --json")))
    assert (found["rows"], found["empty"], found["unlisted"]) == (100, 1, {"cut": 2})


@pytest.mark.parametrize("model", ["", "--additive "])
def test_missing_values_with_indicators(folder, quick, tmp_path, model):
    """The file has gaps in a column of numbers and in one of levels."""
    lines = ["size,town,price"]
    for row in range(3000):
        size, town = "" if row % 5 == 0 else str(row % 90), ["Bonn", "Ulm", "NA"][row % 3]
        price = 3 * (row % 90) + 100 * (row % 5 == 0) + 20 * (row % 3)
        lines.append(f"{size},{town},{'' if row == 7 else price}")
    (tmp_path / "gaps.csv").write_text("\n".join(lines) + "\n")
    schema = {"name": "town", "kind": "categorical", "levels": ["Bonn", "Ulm"]}
    content = {"dpfit_schema": 1, "columns": [schema]}
    (tmp_path / "schema.json").write_text(json.dumps(content))
    line = (
        f"fit {tmp_path}/gaps.csv -t price -e 20 {model}--missing indicator "
        f"--schema {tmp_path}/schema.json -o {tmp_path}/m.json"
    )
    done = quickly(quick, folder, line)
    assert done.returncode == 0, done.stderr
    assert "size (missing)" in done.stdout.decode()
    line = f"predict {tmp_path}/m.json {tmp_path}/gaps.csv -o {tmp_path}/p.csv"
    done = quickly(quick, folder, line)
    assert done.returncode == 0, done.stderr
    predictions = [float(word) for word in (tmp_path / "p.csv").read_text().split()[1:]]
    assert len(predictions) == 3000
    assert predictions[5] - predictions[6] > 30.0
    for policy in ("empty", "error"):
        told = error_of(quickly(quick, folder, f"{line} --missing {policy}"), 2)
        assert "--missing indicator" in told
    line = f"evaluate {tmp_path}/m.json {tmp_path}/gaps.csv -t price -e 5 --json"
    found = json.loads(good(quickly(quick, folder, line)))
    assert found["rows"] == pytest.approx(2999, abs=60)


def test_a_missing_header_gets_a_note(folder, quick, tmp_path):
    (tmp_path / "rows.csv").write_text("35,1.5,Ulm\n36,2.5,Bonn\n")
    line = f"schema infer {tmp_path}/rows.csv -o {tmp_path}/s.json"
    assert "no header" in good(quickly(quick, folder, line))
    assert "no header" not in good(
        quickly(quick, folder, f"schema infer data.csv -o {tmp_path}/t.json")
    )


def test_a_model_is_replaced_only_by_force(folder, quick, tmp_path):
    line = f"fit data.parquet -t price -e 1 -o {tmp_path}/m.json"
    (tmp_path / "m.json").write_text("something else")
    good(quickly(quick, folder, line))
    model = (tmp_path / "m.json").read_bytes()
    refused = quickly(quick, folder, line)
    assert refused.returncode == 2
    assert b"the record of its cost would be lost (hint: give another name; --force" in (
        refused.stderr
    )
    assert (tmp_path / "m.json").read_bytes() == model
    assert b"replaces an earlier model" in quickly(quick, folder, f"{line} --force").stderr
    assert (tmp_path / "m.json").read_bytes() != model
    # Of another version, or damaged: what it cost may still be read in it.
    for text in ('{"dpfit_model": 99', '{\n "dpfit_model": 1, "library": "0.0"}'):
        (tmp_path / "m.json").write_text(text)
        assert quickly(quick, folder, line).returncode == 2
