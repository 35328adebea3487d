"""The projects run, and their pages are what they print."""

import re
import subprocess
import sys

import notebooks
import pytest

from . import pages
from .test_code import shape

SOURCES = sorted(notebooks.PROJECTS.glob("*.py"))
# Numbers differ between runs, and with them the width of lines: text is compared as words.
RUN = """
import pathlib, sys
sys.path[:0] = {paths!r}
import notebooks, same_noise
same_noise.patch()
text = pathlib.Path({source!r}).read_text("utf-8")
page = notebooks.execute({name!r}, text, pathlib.Path())
pathlib.Path("page.md").write_text(page, "utf-8")
"""


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_page_is_what_the_project_prints(source, tmp_path):
    paths = [str(pages.ROOT / "tools"), str(pages.ROOT / "tests" / "site")]
    code = RUN.format(paths=paths, source=str(source), name=source.stem)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    # If they differ: make notebooks
    committed = source.with_suffix(".md").read_text("utf-8")
    assert shape((tmp_path / "page.md").read_text("utf-8")) == shape(committed)
    drawn = {file.name for file in tmp_path.glob("*.png")}
    assert drawn == set(re.findall(r"figures/(.*?\.png)", committed))
    assert drawn <= {file.name for file in (notebooks.PROJECTS / "figures").iterdir()}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_project_says_that_its_data_are_simulated(source):
    assert "data are simulated" in source.read_text("utf-8")


def test_cells_are_markdown_or_code():
    text = "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\n# A comment.\nx = 1\n"
    found = notebooks.cells(text)
    assert [cell.is_code for cell in found] == [False, True]
    assert found[0].text == "# Title\n\nText."
    assert found[1].text == "# A comment.\nx = 1"
    with pytest.raises(ValueError, match="begins with a cell"):
        notebooks.cells("x = 1\n# %%\ny = 2\n")
