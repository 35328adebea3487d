"""Check the dependencies: licences, sources and known vulnerabilities. `make audit-deps` runs it.

Each check needs a tool, and two of them a database on the network. What cannot be checked here is
reported as such and does not count as a failure; with --strict it does.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# pip-audit asks it about each package.
PYPI = "https://pypi.org/pypi/pip/json"
PATIENCE = 15.0


def run(*command: str) -> bool:
    """Run a command in the project's folder, and return whether it succeeded."""
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def rust() -> dict[str, bool | None]:
    """Check the crates; None is a check that could not be made."""
    checks: dict[str, bool | None] = dict.fromkeys(("Rust licences and sources", "Rust advisories"))
    if shutil.which("cargo-deny") is None:
        print("cargo-deny is not installed: cargo install --locked cargo-deny")
        return checks
    checks["Rust licences and sources"] = run(
        "cargo", "deny", "check", "licenses", "bans", "sources"
    )
    if run("cargo", "deny", "fetch", "db"):
        checks["Rust advisories"] = run("cargo", "deny", "check", "advisories")
    else:
        print("the RustSec advisory database is out of reach")
    return checks


def python() -> dict[str, bool | None]:
    """Check the Python packages of this environment."""
    name = "Python advisories"
    if importlib.util.find_spec("pip_audit") is None:
        print("pip-audit is not installed: pip install --group audit")
        return {name: None}
    try:
        with urllib.request.urlopen(PYPI, timeout=PATIENCE):
            pass
    except (urllib.error.URLError, OSError):
        print("the advisory database of PyPI is out of reach")
        return {name: None}
    command = ("-m", "pip_audit", "--local", "--skip-editable", "--format", "json")
    done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (KeyError, TypeError, ValueError):
        print("pip-audit gave no answer")
        return {name: None}
    return {name: verdict(found)}


def verdict(packages: list[dict[str, Any]]) -> bool | None:
    """Return whether no package has a known vulnerability; None if some are not known."""
    vulnerable = {p["name"]: [v["id"] for v in p["vulns"]] for p in packages if p.get("vulns")}
    for package, ids in vulnerable.items():
        print(f"{package}: {', '.join(ids)}")
    # A mirror of PyPI may know packages and no vulnerabilities: then every package is skipped.
    unknown = [p["name"] for p in packages if "skip_reason" in p and p["name"] != "dpfit"]
    if unknown:
        print(f"no answer about {len(unknown)} of {len(packages)} packages")
    if vulnerable:
        return False
    return None if unknown or not packages else True


def main() -> int:
    """Run all checks; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="fail if a check cannot be made")
    strict: bool = parser.parse_args().strict
    checks = {**rust(), **python()}
    words = {True: "passed", False: "FAILED", None: "not checked"}
    for name, passed in checks.items():
        print(f"{name:<28}{words[passed]}")
    failed = False in checks.values() or (strict and None in checks.values())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
