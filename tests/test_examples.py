"""The examples and the code in the README and the docs run."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda s: s.name)
def test_an_example_runs(script):
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "epsilon" in done.stdout


def blocks(page):
    """Return the Python blocks of a page, each with the output that is shown after it."""
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"```python\n(.*?)```(?:\s+```\n(.*?)```)?", text, re.DOTALL)


def shape(text):
    """Return the words of an output without numbers and rules, which differ between runs."""
    text = re.sub(r"<?-?\d[\d.]*(e[+-]?\d+)?", "#", text)
    return re.sub(r"[-=]{3,}", " ", text).split()


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            f"docs/{name}.md"
            for name in ("audit", "evaluation", "inference", "report", "scikit_learn", "tables")
        ),
    ],
)
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page, tmp_path):
    assert blocks(page)
    for code, shown in blocks(page):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
        printed = shape(done.stdout)
        for part in shown.split("..."):
            wanted = shape(part)
            places = range(len(printed) - len(wanted) + 1)
            assert any(printed[place : place + len(wanted)] == wanted for place in places), part


def test_the_readme_shows_output():
    assert any(shown for _, shown in blocks("README.md"))
