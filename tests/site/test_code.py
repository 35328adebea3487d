"""The code on every page runs, and prints what the page shows."""

import doctest
import os
import re
import sys

import pytest

from . import pages

# Blocks that are marked as not run, by page: each is a decision, so each is counted here.
NOT_RUN = {
    "CONTRIBUTING.md": ["a fragment, which needs a statistic of your own"],
    "README.md": ["needs a network, or builds the package"],
    "docs/explanation/comparison.md": ["needs other packages, and takes minutes"],
    "docs/index.md": ["needs a network", "builds the package"],
    "docs/start/ten_minutes.md": ["needs a network"],
}
# Pages whose blocks another test runs.
ELSEWHERE = {"docs/reference/command_line.md": "tests/cli/test_examples.py"}
SPARK = {"docs/how_to/engines.md"}
RUN = [
    name
    for name in pages.names()
    if name not in ELSEWHERE and any(block.is_run for block in pages.blocks(name))
]


def shape(text):
    """Return the words of an output without numbers and rules, which differ between runs."""
    text = re.sub(r"<?-?\d[\d.,]*(e[+-]?\d+)?", "#", text)
    return re.sub(r"[-=]{3,}", " ", text).split()


def contains(printed, shown):
    """Return whether the parts of an output, separated by "...", were printed in this order."""
    words, place = shape(printed), 0
    for part in shown.split("..."):
        wanted = shape(part)
        places = range(place, len(words) - len(wanted) + 1)
        found = next((at for at in places if words[at : at + len(wanted)] == wanted), None)
        if found is None:
            return False
        place = found + len(wanted)
    return True


@pytest.fixture
def environment(tmp_path_factory):
    """An environment whose shell finds the program dpfit."""
    programs = tmp_path_factory.mktemp("programs")
    program = programs / "dpfit"
    code = pages.ROOT / "tests" / "site" / "same_noise.py"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}" "$@"\n')
    program.chmod(0o755)
    # As in an activated virtual environment: Spark starts its workers with `python3`.
    path = os.pathsep.join([str(programs), os.path.dirname(sys.executable), os.environ["PATH"]])
    return {**os.environ, "COLUMNS": "80", "MPLBACKEND": "Agg", "PATH": path}


@pytest.mark.parametrize("name", RUN)
def test_the_code_of_a_page_runs_and_prints_what_it_shows(name, tmp_path, environment):
    steps, wanted = pages.steps(name)
    warnings = ["-W", "error"]
    if name in SPARK:
        # PySpark warns of the versions of pandas and NumPy, and of sockets.
        warnings += ["-W", "ignore::FutureWarning", "-W", "ignore::ResourceWarning"]
    results = pages.run(sys.executable, steps, tmp_path, environment, warnings)
    for (language, code), shown, (printed, problem) in zip(steps, wanted, results, strict=False):
        assert not problem, f"{code}\n{problem}"
        if language == "python":
            assert contains(printed, shown), f"{code}\nprinted:\n{printed}"
        else:
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(shown, printed, flags), (
                f"$ {code}\nprinted:\n{printed}"
            )
    assert len(results) == len(steps)


def test_what_is_not_run_is_listed_here():
    found = {}
    for name in pages.names():
        reasons = [block.reason for block in pages.blocks(name) if block.reason]
        if reasons:
            found[name] = reasons
    assert found == NOT_RUN


def test_every_block_has_a_known_language():
    for name in pages.names():
        assert {block.language for block in pages.blocks(name)} <= pages.LANGUAGES, name
        # The blocks were all found: each has two fences, and none is indented.
        fences = re.findall(r"^ *```", pages.text(name), re.MULTILINE)
        outputs = sum(
            bool(block.shown)
            for block in pages.blocks(name)
            if block.language in ("python", "console")
        )
        assert len(fences) == 2 * (len(pages.blocks(name)) + outputs), name
        assert all(fence == "```" for fence in fences), name


def test_outputs_are_compared_word_by_word():
    printed = "carat   9,610.3  reference\n----\nmean"
    assert contains(printed, "carat 1 ... mean")
    assert not contains(printed, "mean ... carat 1")
    assert not contains(printed, "carat 1 referent")


def test_the_readme_shows_six_lines_and_their_output():
    (block,) = [block for block in pages.blocks("README.md") if block.is_run]
    assert len([line for line in block.code.splitlines() if line]) == 6
    assert block.shown
