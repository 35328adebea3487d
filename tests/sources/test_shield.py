"""Errors of other libraries are replaced, and nothing of them is attached."""

import copyreg

import pytest

from dpfit import ParameterError, SourceError
from dpfit.exceptions import Code
from dpfit.sources.shield import shielded, shielded_each

SECRET = "SECRET"


def problem(error):
    return SourceError(f"failed with {type(error).__name__}", code=Code.FAILED)


def failing(error, items=()):
    yield from items
    raise error


def check_nothing_is_attached(error):
    assert error.__context__ is None
    assert error.__cause__ is None
    assert SECRET not in repr(error) + repr(vars(error))
    # Neither do the frames of the traceback hold the old error.
    trace = error.__traceback__
    while trace is not None:
        held = trace.tb_frame.f_locals.values()
        assert not any(isinstance(value, KeyError) for value in held)
        trace = trace.tb_next


def test_an_error_is_replaced():
    def act():
        raise KeyError(SECRET)

    with pytest.raises(SourceError, match="failed with KeyError") as caught:
        shielded(act, problem)
    assert caught.value.code is Code.FAILED
    check_nothing_is_attached(caught.value)
    assert shielded(lambda: 7, problem) == 7


def test_an_error_of_dpfit_keeps_its_data_and_loses_what_led_to_it(monkeypatch):
    """Also if a library has taken over how exceptions are copied, as tblib does for Dask."""
    monkeypatch.setitem(copyreg.dispatch_table, ParameterError, lambda error: (lambda: error, ()))

    def act():
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise ParameterError("wrong", code=Code.NO_COLUMN, subject="b", hint="x") from error

    with pytest.raises(ParameterError, match="wrong; x") as caught:
        shielded(act, problem)
    assert (caught.value.code, caught.value.subject) == (Code.NO_COLUMN, "b")
    check_nothing_is_attached(caught.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), OSError()])
def test_other_errors_pass(error):
    with pytest.raises(type(error)):
        shielded(lambda: next(failing(error)), problem, (KeyError, ValueError))


def test_items_before_an_error_are_yielded():
    assert list(shielded_each(iter([1, None, 2]), problem)) == [1, None, 2]
    found = shielded_each(failing(KeyError(SECRET), [1]), problem)
    assert next(found) == 1
    with pytest.raises(SourceError) as caught:
        next(found)
    check_nothing_is_attached(caught.value)
