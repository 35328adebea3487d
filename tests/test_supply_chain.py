"""Dependencies: licences and sources of crates, the audit's command, and the SBOM's settings."""

import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[1]
DENY = tomllib.loads((ROOT / "deny.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def crates():
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return json.loads(done.stdout)["packages"]


def is_allowed(expression, allowed):
    """Return whether a licence expression can be met with licences of a list."""
    # An older form of OR.
    expression = expression.replace("/", " OR ")
    words = re.findall(r"\(|\)|AND|OR|[\w.+-]+(?: WITH [\w.-]+)?", expression)
    plain = {"(": "(", ")": ")", "AND": "and", "OR": "or"}
    return bool(eval(" ".join(plain.get(word) or str(word in allowed) for word in words)))


def test_expressions_of_licences():
    allowed = ["MIT", "Apache-2.0 WITH LLVM-exception"]
    assert is_allowed("MIT OR GPL-3.0", allowed)
    assert is_allowed("GPL-3.0/MIT", allowed)
    assert is_allowed("Apache-2.0 WITH LLVM-exception", allowed)
    assert not is_allowed("Apache-2.0", allowed)
    assert not is_allowed("(MIT OR GPL-3.0) AND Unicode-3.0", allowed)


def test_licences_of_crates_are_allowed(crates):
    allowed = DENY["licenses"]["allow"]
    wrong = {c["name"]: c["license"] for c in crates if not is_allowed(c["license"], allowed)}
    assert wrong == {}
    # A licence in the list that no crate needs is a mistake.
    for licence in allowed:
        rest = [other for other in allowed if other != licence]
        needed = [c["name"] for c in crates if not is_allowed(c["license"], rest)]
        assert needed or licence == "Apache-2.0", licence


def test_crates_come_from_one_registry(crates):
    sources = {f"registry+{registry}" for registry in DENY["sources"]["allow-registry"]}
    assert {crate["source"] for crate in crates if crate["source"]} <= sources
    own = {crate["name"] for crate in crates if crate["source"] is None}
    assert own == {"dpfit-core", "dpfit-py"}


def test_the_audit_says_what_it_cannot_check(tmp_path):
    """Without tools, nothing is checked and nothing is claimed."""
    script = ROOT / "tools" / "audit_dependencies.py"
    hidden = "import sys; sys.modules['pip_audit'] = None; import runpy;"
    code = f"{hidden} sys.argv[0] = 'audit'; runpy.run_path({str(script)!r}, run_name='__main__')"
    for options, expected in (([], 0), (["--strict"], 1)):
        done = subprocess.run(
            [sys.executable, "-c", code, *options],
            env={**os.environ, "PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expected, done.stderr
        assert done.stdout.count("not checked") == 3
        assert "passed" not in done.stdout


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ([{"name": "a", "vulns": []}], True),
        ([{"name": "a", "vulns": []}, {"name": "dpfit", "skip_reason": "not on PyPI"}], True),
        ([{"name": "a", "vulns": [{"id": "PYSEC-1"}]}, {"name": "b", "skip_reason": "?"}], False),
        ([{"name": "a", "skip_reason": "not found"}], None),
        ([{"name": "a", "vulns": []}, {"name": "b", "skip_reason": "not found"}], None),
        ([], None),
    ],
)
def test_packages_that_were_not_checked_have_not_passed(packages, expected):
    """pip-audit succeeds if its database knows no package at all."""
    audit = runpy.run_path(str(ROOT / "tools" / "audit_dependencies.py"))
    assert audit["verdict"](packages) is expected


def test_the_wheel_is_built_with_a_bill_of_materials():
    assert PROJECT["tool"]["maturin"]["sbom"] == {"rust": True}


def test_cargo_deny_accepts_the_crates():
    """The licences above are read from metadata, here also from the texts."""
    if shutil.which("cargo-deny") is None:
        pytest.skip("cargo-deny is not installed: cargo install --locked cargo-deny")
    command = ["cargo", "deny", "--offline", "check", "licenses", "bans", "sources"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Settings that no crate needs, and duplicate versions, would be warnings.
    assert "warning" not in done.stderr


def test_the_audit_calls_cargo_deny_with_options_that_it_has(tmp_path, monkeypatch, capfd):
    """Of a stand-in that takes the arguments of cargo-deny 0.20 and no others."""
    script = runpy.run_path(str(ROOT / "tools" / "audit_dependencies.py"))
    tool = tmp_path / "cargo-deny"
    tool.write_text(
        """#!/bin/sh
shift
case "$*" in
    "fetch db" | "check advisories" | "check licenses bans sources") echo "$*" ;;
    *) exit 2 ;;
esac
"""
    )
    tool.chmod(0o755)
    cargo = tmp_path / "cargo"
    cargo.write_text('#!/bin/sh\nexec cargo-deny "$@"\n')
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert script["rust"]() == {"Rust licences and sources": True, "Rust advisories": True}
    assert capfd.readouterr().out.split("\n")[:3] == [
        "check licenses bans sources",
        "fetch db",
        "check advisories",
    ]
