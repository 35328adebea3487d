"""Evaluations are charged like fits."""

import numpy as np
import pytest

from dpfit import (
    BudgetExceeded,
    InsecureSeedWarning,
    Ledger,
    ParameterError,
    PrivateLinearRegression,
)
from dpfit.release import Releaser


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "study.dpl", epsilon=4, delta=1e-6, dataset="NHANES")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=5_000)
    return PrivateLinearRegression(epsilon=10.0).fit(X, y), X, y


def test_an_evaluation_is_charged_what_its_record_says(fitted, ledger):
    model, X, y = fitted
    found = model.evaluate(X, y, epsilon=1.0, ledger=ledger)
    (entry,) = ledger.history()
    assert entry.what == "evaluation of PrivateLinearRegression"
    assert entry.mu == found.privacy.mu
    assert (entry.epsilon, entry.delta) == (1.0, 1e-6)


def test_nothing_is_released_that_the_ledger_cannot_pay(fitted, ledger, monkeypatch):
    model, X, y = fitted
    monkeypatch.setattr(Releaser, "release", lambda *_: pytest.fail("something was released"))
    with pytest.raises(BudgetExceeded):
        model.evaluate(X, y, epsilon=5.0, ledger=ledger.path)
    assert ledger.history() == ()


def test_a_ledger_that_cannot_pay_is_found_before_rows_are_looked_at(fitted, ledger):
    model, X, y = fitted
    rows = X.astype(object)
    rows[7, 0] = "a string"
    with pytest.raises(BudgetExceeded):
        model.evaluate(rows, y, epsilon=5.0, ledger=ledger)
    with pytest.raises(ParameterError):
        model.evaluate(rows, y, epsilon=1.0, ledger=ledger)
    assert ledger.history() == ()


@pytest.mark.filterwarnings(f"ignore::{InsecureSeedWarning.__module__}.InsecureSeedWarning")
def test_a_seeded_evaluation_cannot_be_charged(fitted, ledger):
    model, X, y = fitted
    with pytest.raises(ParameterError, match="random_state"):
        model.evaluate(X, y, epsilon=1.0, ledger=ledger, random_state=0)
    assert ledger.history() == ()


def test_an_evaluation_that_fails_after_it_was_charged_says_so(fitted, ledger, monkeypatch):
    model, X, y = fitted
    kept = Releaser.release

    def release(self, table, statistic, *mus):
        if self.events:
            raise MemoryError
        return kept(self, table, statistic, *mus)

    monkeypatch.setattr(Releaser, "release", release)
    with pytest.raises(MemoryError) as caught:
        model.evaluate(X, y, epsilon=1.0, ledger=ledger)
    assert "charged" in caught.value.__notes__[0]
    assert len(ledger.history()) == 1
