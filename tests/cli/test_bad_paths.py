"""Errors are one line each, with the right exit code and no value of the data."""

import json
import re
import sys

import pytest

from dpfit import Binary, Schema

from .tool import PROGRAM, SECRET_NUMBER, SECRET_TEXT, dpfit, error_of, files_in

FIT = "-t price -e 1 --without cut"
# These start a new process, as a user would; the others are forked from a server.
FROM_NOTHING = (
    "a missing file",
    "a wrong column",
    "epsilon below zero",
    "strings without levels",
    "unwritable",
)
# A command, its exit code, and what the line must contain.
CASES = {
    # Files.
    "a missing file": (f"fit nope.csv {FIT} -o m.json", 1, ["no file 'nope.csv'", "hint"]),
    "an unknown ending": (f"fit s.json {FIT} -o m.json", 2, ["--format"]),
    "not Parquet": (f"fit data.csv --format parquet {FIT} -o m.json", 1, ["Parquet"]),
    "two kinds of numbers": (f"fit mixed.csv {FIT} -o m.json", 1, ["column", "'depth'"]),
    "a row too long": (f"fit long.csv {FIT} -o m.json", 1, ["more or fewer values"]),
    "an empty file": (f"fit empty.csv {FIT} -o m.json", 1, ["'empty.csv' is empty"]),
    "an empty input": (f"fit - {FIT} -o m.json", 1, ["CSV with a header"]),
    "a word among numbers": (f"fit word.csv {FIT} -o m.json", 2, ["'depth'", "a single word"]),
    "another encoding": (
        "fit latin.csv -t price -e 1 --schema s.json -o m.json",
        1,
        ["column 'cut' is not UTF-8", "iconv"],
    ),
    "a header in another encoding": (f"fit name.csv {FIT} -o m.json", 1, ["header", "iconv"]),
    "no rows": (f"fit none.csv {FIT} -o m.json", 2, ["no rows"]),
    "a missing value": (f"fit gap.csv {FIT} -o m.json", 1, ["--missing drop"]),
    "a wrong choice": (
        f"fit data.csv {FIT} --missing empty -o m.json",
        2,
        ["Invalid value for '--missing': 'empty' is not one of"],
    ),
    # Columns.
    "a wrong column": ("fit data.csv -t prise -e 1 -o m.json", 2, ["did you mean 'price'"]),
    "a column in other letters": ("fit data.csv -t PRICE -e 1 -o m.json", 2, ["mean 'price'"]),
    "a unit that is left out": (
        "fit visits.csv -t cost -e 1 --unit patient --max-rows 2 --without patient -o m.json",
        2,
        ["'patient' is given by --unit and by --without"],
    ),
    "columns in a list": (
        "fit visits.csv -t cost -e 1 --without patient,cost -o m.json",
        2,
        ["no column 'patient,cost' (--without) (hint: --without patient --without cost)"],
    ),
    "another delimiter": ("fit semicolons.csv -t price -e 1 -o m.json", 2, ["--delimiter"]),
    "a column of nobody": (f"fit data.csv {FIT} --without zzz -o m.json", 2, ["'zzz'"]),
    "strings without levels": (
        "fit data.csv -t price -e 1 -o m.json",
        2,
        ["string columns without levels: 'cut'", "dpfit schema infer data.csv", "--without"],
    ),
    "a target of strings": (
        "fit data.csv -t cut -e 1 -o m.json",
        2,
        ["'cut' contains strings", "yes and no as 1 and 0", "decimal comma"],
    ),
    "a schema with a target of strings": ("schema infer data.csv -t cut", 2, ["decimal comma"]),
    "semicolons and commas": (
        "fit commas.csv -t price -e 1 -o m.json",
        1,
        ["more or fewer values", "--delimiter ';'"],
    ),
    "a schema of semicolons and commas": ("schema infer commas.csv", 1, ["--delimiter ';'"]),
    "strings where the schema has numbers": (
        "fit data.csv -t price -e 1 --schema numbers.json -o m.json",
        2,
        ["'cut' contains strings", "dpfit schema infer", "--without"],
    ),
    "strings where the fit had numbers": (
        "predict model.json word.csv -o p.csv",
        2,
        ["'depth' contains strings", "in the fit"],
    ),
    "levels not listed": (
        "fit data.csv -t price -e 1 --schema begun.json -o m.json",
        2,
        ["'cut'", "--unit"],
    ),
    "a schema of another table": (
        "fit visits.csv -t cost -e 1 --unit patient --max-rows 2 --schema begun2.json -o m.json",
        2,
        ["no columns 'cut', 'note' (in 'begun2.json')"],
    ),
    "nothing to guess from": ("schema infer none.csv", 1, ["no rows to guess types from"]),
    "an empty name": ("predict model.json new.csv --name '' -o p.csv", 2, ["--name"]),
    "a model as the schema": (
        f"fit data.csv {FIT} --schema model.json -o m.json",
        2,
        ["dpfit_schema"],
    ),
    # Budgets.
    "no epsilon": ("fit data.csv -t price -o m.json", 2, ["--epsilon 1"]),
    "epsilon below zero": (
        "fit data.csv -t price -e -1 -o m.json",
        2,
        ["epsilon must be", "got -1.0"],
    ),
    "epsilon in words": ("fit data.csv -t price -e one -o m.json", 2, ["--epsilon"]),
    "delta too large": (
        "fit data.csv -t price -e 1 --delta 2 -o m.json",
        2,
        ["delta must be", "got 2.0"],
    ),
    "a unit without rows": ("fit data.csv -t price -e 1 --unit x -o m.json", 2, ["--max-rows"]),
    "no threads": (f"fit data.csv {FIT} --jobs 0 -o m.json", 2, ["--jobs"]),
    "no rows of a unit": (
        "fit visits.csv -t cost -e 1 --unit patient --max-rows 0 -o m.json",
        2,
        ["--max-rows"],
    ),
    "delta alone": ("budget --delta 1e-6", 2, ["two of"]),
    "mu too large": ("budget --mu 100 --delta 1e-6", 2, ["mu must be", "got 100.0"]),
    "nothing to add": ("budget add", 2, ["nothing"]),
    "a list of words": ("budget add --fit one,two", 2, ["--fit 'one,two'"]),
    "delta for times": ("budget add --fit 1,10", 2, ["got 10.0", "EPSILON,DELTA[,TIMES]"]),
    "another delta for times": ("budget add --other 1,9", 2, ["got 9.0", "EPSILON[,DELTA"]),
    "infinite times": ("budget add --fit 1,1e-6,inf", 2, ["TIMES must be an integer"]),
    "different units": ("budget add model.json unit.json", 2, ["do not add up"]),
    # Outputs.
    "a folder as output": (f"fit data.csv {FIT} -o folder", 2, ["'folder' is a folder"]),
    "no such folder": (f"fit data.csv {FIT} -o nowhere/m.json", 2, ["'nowhere'", "mkdir -p nowh"]),
    "a file as a folder": (
        "predict model.json new.csv -o s.json/p.csv",
        2,
        ["'s.json' is not a folder"],
    ),
    "a folder that is not there": (f"fit data.csv {FIT} -o nofolder/", 2, ["is a folder"]),
    "an output without a name": (f"fit data.csv {FIT} -o ''", 2, ["output is empty"]),
    "an input without a name": (f"fit '' {FIT} -o m.json", 2, ["input is empty"]),
    "a demo nowhere": ("demo -o /proc/demo", 1, ["cannot write to '/proc/demo'"]),
    "a schema too deep": (f"fit data.csv {FIT} --schema deep.json -o m.json", 2, ["not JSON"]),
    "unwritable": ("show model.json --plot /proc/m.png", 1, ["cannot write"]),
    "a plot of no known format": ("show model.json --plot m.docx", 2, [".png"]),
    "two outputs": ("show model.json --json --sql t", 2, ["choose one"]),
    "a report and JSON": ("show model.json --json --html -", 2, ["choose one"]),
    "a report in a plot": ("show model.json --plot m.png --html m.png", 2, ["same name"]),
    "a ledger without a report": ("show model.json --ledger study.dpl", 2, ["--html FILE"]),
    "a report with no ledger": ("show model.json --html - --ledger nope.dpl", 1, ["nope.dpl"]),
    "a demo in a file": ("demo -o s.json", 2, ["not a folder"]),
    # Models and rows to predict.
    "no model": ("show nope.json", 1, ["no file 'nope.json'"]),
    "something else": ("show s.json", 1, ["'s.json'", "model"]),
    "a changed model": ("show changed.json", 1, ["checksum"]),
    "a column too few": (
        "predict model.json visits.csv -o p.csv",
        2,
        ["no columns 'carat', 'cut'", "needed by the model"],
    ),
    "a gap to predict for": ("predict model.json gap.csv -o p.csv", 1, ["--missing"]),
    "a name that is taken": ("predict model.json data.csv --keep --name cut -o p.csv", 2, ["cut"]),
    "data before the model": (
        "predict new.csv model.json -o p.csv",
        2,
        ["MODEL comes before DATA"],
    ),
    "a sheet": ("predict model.json new.csv -o p.xlsx", 2, ["CSV or Parquet", "--output-format"]),
    "a compressed file": ("predict model.json new.csv -o p.csv.gz", 2, ["gzip"]),
    # Inputs are not overwritten.
    "data as the output": (
        "fit data.csv -t price -e 1 --schema s.json -o data.csv",
        2,
        ["is an input"],
    ),
    "the schema as output": (
        "fit data.csv -t price -e 1 --schema s.json -o s.json",
        2,
        ["is an input"],
    ),
    "the model as output": ("predict model.json new.csv -o model.json", 2, ["is an input of this"]),
    "rows as the output": ("predict model.json new.csv -o new.csv", 2, ["is an input of this"]),
    "a schema that is there": ("schema infer data.csv -o s.json", 2, ["exists already", "--force"]),
    # Everything else.
    "a wrong command": ("fitt data.csv", 2, ["fitt"]),
    "a command of other programs": ("plot model.json", 2, ["show MODEL --plot"]),
    "a wrong option": ("show model.json --nonsense", 2, ["--nonsense"]),
}


@pytest.fixture(scope="module")
def outcomes(folder, quick, tmp_path_factory):
    place = tmp_path_factory.mktemp("bad")
    for name in ("data.csv", "new.csv", "visits.csv", "s.json", "model.json"):
        (place / name).write_bytes((folder / name).read_bytes())
    (place / "folder").mkdir()
    header, first, *rest = (folder / "data.csv").read_text().splitlines()
    wrong = {
        # Types are guessed from the first megabytes.
        "mixed.csv": [header, *[first] * 120_000, f'1,"{SECRET_TEXT}",{SECRET_TEXT},1,1,1,1,1'],
        "word.csv": [header, first, first.replace("61", SECRET_TEXT, 1), *rest],
        "long.csv": [header, first, f"{first},{SECRET_NUMBER},{SECRET_TEXT}"],
        "gap.csv": [header, f',"{SECRET_TEXT}",{SECRET_NUMBER},1,1,1,1,1', *rest],
        "empty.csv": [],
        "semicolons.csv": ["carat;price", f"{SECRET_NUMBER};1"],
        "commas.csv": ["carat;cut;price", f"1;{SECRET_TEXT}, {SECRET_NUMBER};1"],
        "none.csv": [header],
    }
    for name, lines in wrong.items():
        (place / name).write_text("".join(f"{line}\n" for line in lines))
    (place / "latin.csv").write_bytes(
        "\n".join([header, first, *rest]).encode().replace(b"Ideal", b"Id\xe9al")
    )
    (place / "name.csv").write_bytes(f"{header}\n{first}\n".encode().replace(b"depth", b"d\xe9pth"))
    begun = '{"dpfit_schema": 1, "columns": [{"name": "cut", "kind": "categorical", "levels": []}]}'
    (place / "deep.json").write_text("[" * 100_000)
    (place / "begun.json").write_text(begun)
    (place / "numbers.json").write_text(Schema({"cut": Binary()}).to_json())
    others = begun.replace("]}]}", ']}, {"name": "note", "kind": "binary"}]}')
    (place / "begun2.json").write_text(others)
    model = json.loads((folder / "model.json").read_text())
    model["model"]["intercept"] += 1.0
    (place / "changed.json").write_text(json.dumps(model))
    line = "fit visits.csv -t cost -e 1 --unit patient --max-rows 2 -q -o unit.json"
    dpfit(place, line, program=quick)
    before = files_in(place)
    found = {
        name: dpfit(place, line, program=PROGRAM if name in FROM_NOTHING else quick)
        for name, (line, *_) in CASES.items()
    }
    # None of them leaves a file.
    assert files_in(place) == before
    assert files_in(place / "folder") == set()
    return found


@pytest.mark.parametrize("name", CASES)
def test_an_error_is_one_line(outcomes, name):
    _, code, words = CASES[name]
    line = error_of(outcomes[name], code)
    for word in words:
        assert word in line


def test_hints_are_not_for_python(outcomes):
    for done in outcomes.values():
        assert not re.search(
            r"Schema|schema=|Categorical|delimiter=|missing=|from_json|X\b", done.stderr.decode()
        )


def test_a_wrong_delimiter_gets_a_note(quick, tmp_path):
    (tmp_path / "semicolons.csv").write_text("age;sex;cost\n1;2;3\n")
    done = dpfit(tmp_path, "schema infer semicolons.csv -o s.json", program=quick)
    assert done.returncode == 0
    assert b"Did you mean --delimiter ';'?" in done.stderr
    good = dpfit(tmp_path, "schema infer semicolons.csv --delimiter ';' -o t.json", program=quick)
    assert good.stderr == b""


def test_no_arguments_print_the_help(folder, quick):
    done = dpfit(folder, "", program=quick)
    assert done.returncode == 2
    assert b"Usage: dpfit" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("command", ["", "fit", "schema infer", "budget add"])
def test_flags_have_no_type_in_the_help(folder, quick, command):
    shown = dpfit(folder, f"{command} -h", program=quick).stdout.decode()
    assert "--help" in shown
    assert "<bool>" not in shown
    assert dpfit(folder, f"{command} --help", program=quick).stdout.decode() == shown


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named(folder, missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from dpfit.cli import main;"
        "sys.exit(main(['show', 'model.json']))"
    )
    done = dpfit(folder, "", program=[sys.executable, "-c", code])
    assert error_of(done, 1).endswith('pip install "dpfit[cli]"')


def test_a_plot_without_matplotlib_names_the_extra(folder, tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; from dpfit.cli import main;"
        f"sys.exit(main(['show', 'model.json', '--plot', {str(tmp_path / 'm.png')!r}]))"
    )
    done = dpfit(folder, "", program=[sys.executable, "-c", code])
    assert 'pip install "dpfit[plot]"' in error_of(done, 1)
    assert files_in(tmp_path) == set()


def test_an_unreadable_input_is_a_failure(folder, tmp_path):
    # Tests may be run by root, who can read every file.
    code = (
        "import os, sys; from dpfit.cli import main; true = os.access;"
        "os.access = lambda path, mode: str(path) != 'data.csv' and true(path, mode);"
        "sys.exit(main(sys.argv[1:]))"
    )
    line = f"fit data.csv {FIT} -o {tmp_path}/m.json"
    done = dpfit(folder, line, program=[sys.executable, "-c", code])
    assert "cannot read 'data.csv': permission denied" in error_of(done, 1)
    assert files_in(tmp_path) == set()
