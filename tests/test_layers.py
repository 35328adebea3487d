"""What import-linter does not see: who imports the compiled core, and who asks for a class."""

import ast
from pathlib import Path

import pytest

import dpfit
from dpfit.schema.kinds import KINDS

PACKAGE = Path(dpfit.__file__).parent
ENGINE = PACKAGE / "engine"
CORE = "dpfit._native"


def imported(source):
    """Yield the full names that a module imports, wherever the statement is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import starts in the engine, so that a dot or two lead to the package.
            package = "dpfit" if node.level else None
            parent = ".".join(filter(None, [package, node.module]))
            yield from (f"{parent}.{name.name}" for name in node.names)


def imports_core(source):
    return any(f"{name}.".startswith(f"{CORE}.") for name in imported(source))


def test_the_engine_does_not_import_the_core():
    modules = sorted(ENGINE.rglob("*.py"))
    assert ENGINE / "fit.py" in modules
    assert [path.name for path in modules if imports_core(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        "import dpfit._native",
        "from dpfit import _native as core",
        "from dpfit._native import Rows",
        "from .. import _native",
        "from .._native import Rows",
        "def late():\n    from dpfit import _native",
    ],
)
def test_every_way_to_import_it_is_seen(source):
    assert imports_core(source)
    assert not imports_core(source.replace("_native", "_native_like"))


def asks_for_a_kind(source):
    """Return whether a module asks if something is an instance of a certain kind of column."""
    names = {kind.__name__ for kind in KINDS.values()}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node.args[1]))
        for node in ast.walk(ast.parse(source))
    )


@pytest.mark.parametrize("package", ["engine", "models", "sources"])
def test_modules_ask_a_kind_for_its_attributes(package):
    modules = sorted((PACKAGE / package).rglob("*.py"))
    assert [path.name for path in modules if asks_for_a_kind(path.read_text("utf-8"))] == []
    assert asks_for_a_kind("isinstance(kind, Categorical | Date)")
