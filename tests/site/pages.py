"""The pages of the documentation, and the code blocks on them."""

import json
import pathlib
import re
import subprocess
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Reports that programs write. `tests/experiments` tests the programs.
REPORTS = {"docs/experiments/results.md"}
# Pages that `make notebooks` writes: test_projects.py.
PROJECTS = "docs/projects/"
# Languages of blocks: the first two are run, the others are shown, "" is output or a drawing.
LANGUAGES = {"python", "console", "", "json", "sql", "html"}

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.*?) -->\n+)?"
    r"^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$"
    r"(?P<output>\n+```\n(?P<shown>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block; with the output that follows it, and why it is not run, if it is not."""

    language: str
    code: str
    shown: str
    reason: str

    @property
    def is_run(self):
        return self.language in ("python", "console") and not self.reason

    def commands(self):
        """Return pairs of commands of a console block and what they print."""
        assert self.code.startswith("$ ")
        for part in re.split(r"^\$ ", self.code, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:[^\n]*\\\n)*[^\n]*", part)[0]
            yield command, part[len(command) + 1 :]


def names():
    """Return the paths of all pages in the repository that have code blocks."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
    paths = [path.relative_to(ROOT).as_posix() for path in found]
    return [path for path in paths if path not in REPORTS and not path.startswith(PROJECTS)]


def text(name):
    return (ROOT / name).read_text("utf-8")


def blocks(name):
    """Return all blocks of a page, in order."""
    found = []
    for match in _BLOCK.finditer(text(name)):
        language = match["language"].strip()
        found.append(Block(language, match["code"], match["shown"] or "", match["reason"] or ""))
        if match["output"] and language not in ("python", "console"):
            # Two drawings, one after the other.
            found.append(Block("", match["shown"], "", ""))
    return found


def steps(name):
    """Return the blocks of a page that are run, and what each of them shows."""
    found, shown = [], []
    for block in blocks(name):
        if block.is_run and block.language == "python":
            found.append(("python", block.code))
            shown.append(block.shown)
        elif block.is_run:
            for command, output in block.commands():
                found.append(("console", command))
                shown.append(output)
    return found, shown


def run(python, found, folder, environment, warnings=("-W", "error")):
    """Run steps in a folder; return what each of them printed, and how it failed."""
    done = subprocess.run(
        [python, *warnings, ROOT / "tests" / "site" / "run_page.py"],
        input=json.dumps(found),
        capture_output=True,
        text=True,
        timeout=600,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])
