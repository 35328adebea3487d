"""Text that commands print."""

import sys

import pytest

from dpfit.cli.printing import program


@pytest.mark.parametrize(("is_found", "expected"), [(True, "dpfit"), (False, "bin/dpfit")])
def test_suggested_commands_name_the_program_as_it_was_called(
    monkeypatch, tmp_path, is_found, expected
):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "dpfit"
    script.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin") if is_found else "")
    monkeypatch.setattr(sys, "argv", ["bin/dpfit", "demo"])
    assert program() == expected
    monkeypatch.setattr(sys, "argv", ["cli/__main__.py", "demo"])
    assert program() == "dpfit"
