"""The wheel, installed where there is neither Rust nor this repository."""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

from .site import pages

ROOT = pathlib.Path(__file__).parents[1]

FIT = """
import numpy as np, dpfit, pathlib, sys
assert not any(pathlib.Path(part) == pathlib.Path({root!r}) / "python" for part in sys.path)
rng = np.random.default_rng(0)
X = rng.uniform(size=(5000, 2))
model = dpfit.PrivateLinearRegression(epsilon=5.0).fit(X, X @ [1.0, 2.0])
model.save("model.json")
again = dpfit.load("model.json")
assert (again.predict(X) == model.predict(X)).all()
print(again.summary())
print(again.privacy_.statement())
try:
    model.plot_coefficients()
except ImportError as error:
    print(error)
"""

USER = """
import numpy as np
from dpfit import Binary, Categorical, PrivateLinearRegression, Schema

X = np.ones((100, 3))
schema = Schema({0: Binary(), 1: Categorical([0, 1]), 2: Categorical(range(3))})
model = PrivateLinearRegression(epsilon=1.0, schema=schema).fit(X, X[:, 0])
print(model.coef_.sum(), model.privacy_.statement(), model.summary())
"""


def run(*command, cwd):
    # Without the path to Cargo and without the environment that runs the tests.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PATH")
    }
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    maturin = pathlib.Path(sys.executable).with_name("maturin")
    command = [maturin, "build", "--release", "--quiet", "--out", folder]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_is_for_every_python_and_contains_only_the_package(wheel):
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert "dpfit/py.typed" in names
    assert "dpfit/_native.pyi" in names
    assert not [name for name in names if "test" in name or name.endswith(".rs")]
    # The paper's experiments are in benches/paper.
    assert not [name for name in names if "experiments" in name or "benches" in name]
    assert "dpfit/accounting/privacy_record.schema.json" in names
    assert "dpfit/models/report/style.css" in names
    assert wheel.stat().st_size < 3_000_000


def test_the_wheel_has_a_bill_of_materials(wheel):
    """CycloneDX, with all crates that are compiled into it."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if ".dist-info/sboms/" in name)
        bill = json.loads(file.read(name))
    assert bill["bomFormat"] == "CycloneDX"
    parts = {part["name"]: part for part in bill["components"]}
    assert {"chacha20", "dpfit-core", "pyo3", "rayon", "zeroize"} <= parts.keys()
    assert all(part["version"] and part["licenses"] for part in parts.values())


@pytest.fixture(scope="module")
def alone(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return python


def test_the_wheel_fits_predicts_and_prints(alone, tmp_path):
    printed = run(alone, "-W", "error", "-c", FIT.format(root=str(ROOT)), cwd=tmp_path)
    assert "std err" in printed
    assert "epsilon = 5" in printed
    assert 'pip install "dpfit[plot]"' in printed


def test_importing_is_quiet_and_light(alone, tmp_path):
    """Heavy libraries are imported when they are used."""
    script = (
        "import sklearn.linear_model, sys; before = set(sys.modules); import dpfit;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    added = run(alone, "-W", "error", "-c", script, cwd=tmp_path).split()
    heavy = {"pyarrow", "pandas", "polars", "dask", "pyspark", "matplotlib", "typer", "rich"}
    assert "dpfit" in added
    assert not heavy & set(added)


def test_the_types_are_strict(alone, tmp_path):
    """A user's script passes mypy's strictest checks."""
    (tmp_path / "script.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", alone, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


COMMANDS = """\
fit data.csv --target cost --epsilon 1 -o model.json
predict model.json new.csv -o predictions.csv
show model.json --plot model.png --html model.html
demo -o demo
"""


def test_the_wheel_has_commands(wheel, alone, tmp_path):
    program = alone.with_name("dpfit")
    bare = subprocess.run([program, "demo"], cwd=tmp_path, capture_output=True, text=True)
    assert bare.returncode == 1
    assert 'pip install "dpfit[cli]"' in bare.stderr
    run(alone, "-m", "pip", "install", "--quiet", f"{wheel}[cli,plot]", cwd=tmp_path)
    rows = [f"{age},{10 * age}" for age in range(20, 80)] * 50
    (tmp_path / "data.csv").write_text("\n".join(["age,cost", *rows]))
    (tmp_path / "new.csv").write_text("age\n30\n50\n")
    for line in COMMANDS.splitlines():
        assert run(program, *line.split(), cwd=tmp_path)
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 3
    assert (tmp_path / "model.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "model.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "demo" / "comparison.png").is_file()


# Other interpreters to try, separated by spaces: DPFIT_PYTHONS="python3.14 python3.15".
PYTHONS = [sys.executable, *os.environ.get("DPFIT_PYTHONS", "").split()]


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: pathlib.Path(path).name)
def test_the_start_page_needs_the_wheel_alone(python, wheel, tmp_path):
    """Every command of the tutorial, after the installation that it describes."""
    folder = tmp_path / "venv"
    run(python, "-m", "venv", folder, cwd=tmp_path)
    programs = folder / "bin"
    run(
        programs / "python",
        *("-m", "pip", "install", "--quiet", "--only-binary", ":all:"),
        *(f"{wheel}[cli,plot]", "pandas"),
        cwd=tmp_path,
    )
    steps, _ = pages.steps("docs/start/ten_minutes.md")
    environment = {
        "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(tmp_path),
        "MPLBACKEND": "Agg",
    }
    work = tmp_path / "work"
    work.mkdir()
    results = pages.run(programs / "python", steps, work, environment)
    assert [problem for _, problem in results if problem] == []
    assert len(results) == len(steps)
    made = {"coefficients.png", "table.tex", "privacy.json", "model.json", "predictions.csv"}
    assert made <= {path.name for path in work.iterdir()}


@pytest.mark.slow
def test_the_source_distribution_builds(tmp_path):
    maturin = pathlib.Path(sys.executable).with_name("maturin")
    command = [maturin, "sdist", "--out", tmp_path]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path / "sources", filter="data")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", archive]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert list(tmp_path.glob("dpfit-*.whl"))
