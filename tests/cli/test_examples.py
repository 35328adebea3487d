"""Examples in the help and in docs/reference/command_line.md run, and print what the page shows."""

import doctest
import json
import pathlib
import re

import option_tables
import pyarrow.csv as pc
import pytest

from dpfit import Ledger
from dpfit.cli import run
from dpfit.cli.commands import (
    audit,
    budget,
    demo,
    evaluate,
    fit,
    ledger,
    plan,
    predict,
    schema,
    show,
)
from dpfit.demo import diamonds

from . import tool

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "command_line.md"
HELPS = {
    "": run.EXAMPLES,
    "fit": fit.EXAMPLES,
    "predict": predict.EXAMPLES,
    "evaluate": evaluate.EXAMPLES,
    "show": show.EXAMPLES,
    "plan": plan.EXAMPLES,
    "budget": budget.EXAMPLES,
    "budget add": budget.ADD_EXAMPLES,
    "schema infer": schema.EXAMPLES,
    "audit": audit.EXAMPLES,
    "demo": demo.EXAMPLES,
    "ledger create": ledger.EXAMPLES,
    "ledger show": ledger.SHOW_EXAMPLES,
    "ledger add": ledger.ADD_EXAMPLES,
    "ledger adopt": ledger.ADOPT_EXAMPLES,
}


def blocks():
    """Return pairs of commands and what they print, from all blocks of the page."""
    text = PAGE.read_text("utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            yield part.partition("\n")[::2]


@pytest.mark.parametrize("command", HELPS)
def test_examples_are_shown(folder, quick, command):
    done = tool.dpfit(folder, f"{command} --help", program=quick)
    assert done.returncode == 0
    lines = [line.strip() for line in done.stdout.decode().splitlines()]
    # Each on one line in a terminal of 80 columns, to be copied.
    assert set(HELPS[command]) <= set(lines)


@pytest.mark.parametrize(
    "line",
    sorted({line for lines in HELPS.values() for line in lines} - {line for line, _ in blocks()}),
)
def test_an_example_runs(in_a_shell, tmp_path, line):
    if line.startswith("dpfit fit"):
        # A model is not replaced.
        (tmp_path / "model.json").unlink()
    if "study.dpl" in line and "create" not in line:
        Ledger.create(tmp_path / "study.dpl", epsilon=2.0, dataset="x")
    done = in_a_shell(line)
    assert done.returncode == 0, done.stderr
    assert done.stdout or ">" in line


def test_the_page_shows_real_output(in_a_shell, tmp_path):
    table = diamonds()
    (tmp_path / "model.json").unlink()
    pc.write_csv(table, tmp_path / "data.csv")
    pc.write_csv(table.slice(0, 100).drop_columns(["price"]), tmp_path / "new.csv")
    found = list(blocks())
    assert len(found) > 10
    for line, wanted in found:
        done = in_a_shell(line)
        got = done.stdout + done.stderr
        # The width of a table depends on its numbers.
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(wanted, got, flags), f"$ {line}\n{got}"


def test_the_page_has_the_options_of_the_program():
    page = PAGE.read_text("utf-8")
    assert page.count("| `--") > 50
    # If it is not: python tools/option_tables.py
    assert option_tables.written(page) == page


def test_the_page_lists_every_field_of_the_json(in_a_shell):
    page = PAGE.read_text("utf-8")
    for line in (
        "dpfit show model1.json --json",
        "dpfit show model2.json --json",
        "dpfit predict model1.json new.csv -o p.csv --json",
        "dpfit evaluate model1.json data.csv -t price -e 1 --json",
        "dpfit schema infer data.csv --json",
        "dpfit budget -e 1 --json",
        "dpfit budget add model1.json --json",
        "dpfit ledger create new.dpl --epsilon 1 --dataset x --json",
        "dpfit audit AdaSSP --mu 2 --tables whole --fits 16 --json",
    ):
        names = list(json.loads(in_a_shell(line).stdout))
        assert [n for n in names if not (f"`{n}`" in page or n.startswith("intercept_"))] == []
