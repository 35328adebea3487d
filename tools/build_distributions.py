"""Build a wheel and a source distribution, and check what PyPI would refuse: `make wheel`.

On Linux the wheel is linked by Zig against the glibc of manylinux2014, whatever glibc this system
has, and auditwheel confirms from the compiled library that no newer symbol is used.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The oldest glibc that Rust supports; also in .github/workflows/release.yml.
MANYLINUX = "manylinux2014"
GLIBC = (2, 17)


def build(out: Path) -> None:
    """Build both into an empty folder."""
    command = ["build", "--release", "--locked", "--sdist", "--out", str(out)]
    if sys.platform == "linux":
        command += ["--zig", "--compatibility", MANYLINUX]
    maturin = Path(sys.executable).with_name("maturin")
    # Maturin looks for Zig, which is a Python package, in the active environment.
    path = os.pathsep.join([str(maturin.parent), os.environ["PATH"]])
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix, "PATH": path}
    environment.setdefault("CARGO_TARGET_DIR", str(ROOT / "target"))
    subprocess.run([str(maturin), *command], cwd=ROOT, env=environment, check=True)


def problems(out: Path) -> list[str]:
    """Return what is wrong with the distributions in a folder."""
    wheels, sources = sorted(out.glob("*.whl")), sorted(out.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1 or len(list(out.iterdir())) != 2:
        return ["the folder must contain one wheel and one source distribution"]
    (wheel,), (source,) = wheels, sources
    found = [*_of_names(wheel, source), *_of_contents(wheel, source)]
    if sys.platform == "linux":
        found += _of_symbols(wheel)
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return found if done.returncode == 0 else [*found, f"twine: {done.stdout}{done.stderr}"]


def _of_names(wheel: Path, source: Path) -> list[str]:
    found = []
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = manifest["workspace"]["package"]["version"]
    if source.name != f"dpfit-{version}.tar.gz":
        found.append(f"{source.name} does not have version {version}")
    if not wheel.name.startswith(f"dpfit-{version}-cp311-abi3-"):
        found.append(f"{wheel.name} is not for version {version} and every Python from 3.11 on")
    return found


def _of_contents(wheel: Path, source: Path) -> list[str]:
    found = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        if (bad := archive.testzip()) is not None:
            found.append(f"{bad} in the wheel is damaged")
    for needed in ("dpfit/py.typed", "dpfit/models/report/style.css"):
        if needed not in names:
            found.append(f"the wheel lacks {needed}")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        found.append("the wheel lacks the licence")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    found += [
        f"the source distribution lacks {name}"
        for name in ("Cargo.lock", "LICENSE", "README.md", "pyproject.toml", "PKG-INFO")
        if name not in inside
    ]
    return found


def _of_symbols(wheel: Path) -> list[str]:
    """Compare the name with the versions of symbols in the compiled library."""
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"auditwheel: {done.stdout}{done.stderr}"]
    tag = json.loads(done.stdout)["overall_tag"]
    match = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", tag)
    if match is None or (int(match[1]), int(match[2])) > GLIBC:
        return [f"the wheel needs {tag}, and should need {MANYLINUX}"]
    return [] if tag in wheel.name else [f"{wheel.name} is not named after {tag}"]


def main() -> int:
    """Build, check and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="a folder, emptied first")
    parser.add_argument("--check-only", action="store_true", help="check what is in the folder")
    arguments = parser.parse_args()
    if not arguments.check_only:
        shutil.rmtree(arguments.out, ignore_errors=True)
        build(arguments.out)
    found = problems(arguments.out)
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print("PyPI would take:", *sorted(path.name for path in arguments.out.iterdir()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
