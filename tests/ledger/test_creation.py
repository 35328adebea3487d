"""A ledger is created once, and nothing that is written meanwhile takes its place."""

import os
import sys
import threading

import pytest

from dpfit import Ledger, LedgerError
from dpfit._atomic_file import whole_file
from dpfit.accounting import _ledger_file
from dpfit.accounting import _ledger_tables as tables
from dpfit.exceptions import Code

from .settings import whole


@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.parametrize("linked", [True, False])
def test_a_ledger_that_is_created_while_a_file_is_written_is_not_replaced(
    tmp_path, monkeypatch, existed, linked
):
    if not linked:
        # Some file systems have no hard links.
        monkeypatch.setattr("dpfit._atomic_file._linked", lambda *_: False)
    place = tmp_path / "study"
    if existed:
        place.write_text("a model")

    def write():
        with whole_file(place) as file:
            file.write(b"another model")
            place.unlink(missing_ok=True)
            Ledger.create(place, mu=1.0, dataset="x").add("paid", mu=0.5)

    with pytest.raises(FileExistsError, match="it is a ledger"):
        write()
    assert [entry.what for entry in Ledger(place).history()] == ["paid"]
    assert os.listdir(tmp_path) == ["study"]


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked")
def test_a_file_waits_for_the_ledger_that_is_being_created(tmp_path):
    """Before it is complete, nothing shows that it is a ledger."""
    place, answers = tmp_path / "study", []

    def save():
        try:
            with whole_file(place) as file:
                begun.set()
                may_end.wait()
                file.write(b"a model")
        except FileExistsError as error:
            answers.append(str(error))

    begun, may_end = threading.Event(), threading.Event()
    saving = threading.Thread(target=save)
    saving.start()
    begun.wait()

    def fill(connection):
        may_end.set()
        saving.join(0.3)
        assert saving.is_alive()
        tables.insert_settings(connection, str(place), whole())

    _ledger_file.create(str(place), fill)
    saving.join()
    assert "it is a ledger" in answers[0]
    assert Ledger(place).mu == 1.0


def test_of_two_that_create_a_ledger_one_does(tmp_path):
    """At the same moment: the system decides, not a look at the folder before."""
    for attempt in range(20):
        place, start = tmp_path / f"{attempt}.dpl", threading.Barrier(4)
        made, refused = [], []

        def create(number, place=place, start=start, made=made, refused=refused):
            start.wait()
            try:
                made.append(Ledger.create(place, mu=1.0, dataset=f"{number}").dataset)
            except LedgerError as error:
                refused.append(error.code)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Ledger(place).dataset]
        assert refused == [Code.EXISTS] * 3
