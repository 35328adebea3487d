"""Files that are there as a whole or not at all, and who may read them."""

import os
import stat
import sys

import pytest

from dpfit._atomic_file import whole_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions of Unix")


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize(("mask", "usual"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_nobody_else_reads_what_is_not_whole_yet(tmp_path, mask, usual):
    """A copy of personal data was open to all while it was written."""
    before = os.umask(mask)
    try:
        with whole_file(tmp_path / "new") as file:
            assert mode_of(file.name) == 0o600
            file.write(b"rows")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new") == usual


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o400])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(mode)
    with whole_file(path) as file:
        assert mode_of(file.name) == 0o600
        file.write(b"new")
    assert mode_of(path) == mode
    assert path.read_bytes() == b"new"
