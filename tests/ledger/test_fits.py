"""Every fit is charged before its first noise is drawn, and only then."""

import pathlib
import pickle
import threading

import joblib
import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostRegressor, BaggingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score

import dpfit
import dpfit.release
from dpfit import (
    AdaSSP,
    BoostedAdaSSP,
    BoostedMean,
    BudgetExceeded,
    DPGradientDescent,
    InsecureSeedWarning,
    Ledger,
    LedgerError,
    NotFiniteError,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    TukeyEM,
)
from dpfit.release import Releaser

MODELS = [PrivateLinearRegression, PrivateAdditiveRegression]
EVERY = [*MODELS, BoostedAdaSSP, AdaSSP, DPGradientDescent, TukeyEM, BoostedMean]
every = pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
# Delta is smaller than the ledger's, from which TukeyEM takes it.
COST = {"epsilon": 0.5, "delta": 1e-8}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(
        tmp_path / "study.dpl", epsilon=8, delta=1e-6, dataset="NHANES", unit="person"
    )


def table(rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, X @ [1.0, -1.0, 0.5] + rng.normal(size=rows)


def forbid(monkeypatch, *names):
    def called(*_, **__):
        pytest.fail("something was released")

    for name in names or ("release", "public_rows", "random"):
        monkeypatch.setattr(Releaser, name, called)


@every
@pytest.mark.parametrize("as_path", [str, pathlib.Path, Ledger])
def test_every_estimator_is_charged_what_its_record_says(cls, as_path, ledger):
    model = cls(**COST, ledger=as_path(ledger.path)).fit(*table())
    (entry,) = ledger.history()
    assert entry.what == cls.__name__
    assert entry.mu == model.privacy_.mu
    assert (entry.epsilon, entry.delta) == (model.privacy_.epsilon, model.privacy_.delta)
    assert model.provenance_.ledger_entry == entry.id
    assert model.provenance_.dataset == "NHANES"
    assert model.provenance_.fitted_at == entry.time
    assert entry.kind == "fit"


@every
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_entry_is_on_disk_before_noise_is_drawn(cls, neighbors, tmp_path, monkeypatch):
    path = tmp_path / "study.dpl"
    Ledger.create(path, epsilon=8, dataset="x", neighbors=neighbors)
    seen = []

    def look():
        # As another process would see it.
        seen.append(len(Ledger(path).history()))

    class Noise(dpfit.release.Noise):
        def __init__(self, *arguments):
            look()
            super().__init__(*arguments)

    class Random(dpfit.release.random.SystemRandom):
        def getrandbits(self, k):
            look()
            return super().getrandbits(k)

    monkeypatch.setattr(dpfit.release, "Noise", Noise)
    monkeypatch.setattr(dpfit.release.random, "SystemRandom", Random)
    options = {"n_models": 5} if cls is TukeyEM else {}
    cls(**COST, neighbors=neighbors, ledger=path, **options).fit(*table())
    assert len(seen) > 1
    assert set(seen) == {1}


@every
def test_a_fit_that_is_not_paid_for_looks_at_no_row(cls, tmp_path, monkeypatch):
    small = Ledger.create(tmp_path / "small.dpl", epsilon=0.1, delta=1e-6, dataset="x")
    forbid(monkeypatch)
    model = cls(**COST, ledger=small)
    with pytest.raises(BudgetExceeded, match=r"of 'x' has (mu|epsilon) = "):
        model.fit(*table())
    assert not hasattr(model, "privacy_")
    assert small.history() == ()


@every
def test_the_budget_is_checked_again_when_it_is_written(cls, ledger, monkeypatch):
    """Another process may have spent it while rows were read."""
    monkeypatch.setattr(Ledger, "check", lambda self, charge: None)
    monkeypatch.setattr(dpfit.release, "Noise", lambda *_: pytest.fail("noise was drawn"))
    ledger.add("another process", mu=ledger.remaining().mu)
    with pytest.raises(BudgetExceeded):
        cls(**COST, ledger=ledger).fit(*table())
    assert len(ledger.history()) == 1


def wrong_calls():
    X, y = table()
    holes = X.copy()
    holes[7, 1] = np.nan
    yield {"neighbors": "other"}, (X, y), ParameterError
    yield {"epsilon": -1.0}, (X, y), ParameterError
    yield {"n_jobs": 0}, (X, y), ParameterError
    yield {}, (X, y[1:]), ParameterError
    yield {}, ([["a"]], [1.0]), ParameterError
    yield {}, (X, np.where(y == y[3], np.inf, y)), NotFiniteError
    yield {}, (holes, y), NotFiniteError


@every
@pytest.mark.parametrize("place", range(7))
def test_a_fit_that_fails_before_it_releases_has_spent_nothing(cls, place, ledger):
    options, data, error = list(wrong_calls())[place]
    if cls is BoostedMean and place == 6:
        pytest.skip("BoostedMean does not look at X")
    with pytest.raises(error) as caught:
        cls(**{**COST, **options}, ledger=ledger).fit(*data)
    assert ledger.history() == ()
    assert not hasattr(caught.value, "__notes__")


def test_tukey_em_checks_its_parameters_first(ledger):
    with pytest.raises(ParameterError):
        TukeyEM(**COST, n_models=0, ledger=ledger).fit(*table())
    with pytest.raises(ParameterError):
        TukeyEM(epsilon=1e-9, ledger=ledger).fit(*table())
    assert ledger.history() == ()


@every
def test_a_fit_that_fails_later_has_spent_and_says_so(cls, ledger, monkeypatch):
    failing = "_record" if cls is not TukeyEM else "record"

    def fail(*_):
        raise OSError("the network is down")

    monkeypatch.setattr(Releaser, failing, fail)
    with pytest.raises(OSError, match="network") as error:
        cls(**COST, ledger=ledger).fit(*table())
    assert len(ledger.history()) == 1
    assert error.value.__notes__ == [
        f"the fit failed after it was charged: entry 1 of the ledger {ledger.path!r}"
    ]


def test_short_memory_after_the_charge_is_noted(ledger, monkeypatch):
    def fail(*_):
        raise MemoryError("(12345, 3)")

    monkeypatch.setattr(Releaser, "_record", fail)
    with pytest.raises(MemoryError, match="not enough") as error:
        AdaSSP(**COST, ledger=ledger).fit(*table())
    assert "12345" not in str(error.value)
    assert len(error.value.__notes__) == 1


def test_after_a_failed_charge_nothing_can_be_released():
    calls = []

    def refuse():
        calls.append(1)
        raise BudgetExceeded("no")

    releaser = Releaser(dpfit._native.Entropy(), "add_remove", reserve=refuse)
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            releaser.random()
        with pytest.raises(BudgetExceeded):
            releaser.record()
    assert len(calls) == 6


@every
def test_without_a_ledger_the_time_is_known(cls):
    found = cls(epsilon=5.0).fit(*table()).provenance_
    assert (found.dataset, found.ledger_entry) == (None, None)


def test_every_fit_is_charged_again(ledger):
    model = AdaSSP(**COST, ledger=ledger)
    for count in (1, 2, 3):
        model.fit(*table())
        assert len(ledger.history()) == count


def test_clones_and_pickles_charge_the_same_ledger(ledger):
    for parameter in (ledger, ledger.path):
        model = AdaSSP(**COST, ledger=parameter)
        for other in (clone(model), pickle.loads(pickle.dumps(model)), clone(clone(model))):
            other.fit(*table())
    assert len(ledger.history()) == 6


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_charges_every_fold(ledger, n_jobs):
    cross_val_score(AdaSSP(**COST, ledger=ledger.path), *table(), cv=3, n_jobs=n_jobs)
    assert len(ledger.history()) == 3


@pytest.mark.parametrize("parameter", ["path", "object"])
def test_a_grid_search_charges_every_fit_of_every_process(ledger, parameter):
    model = AdaSSP(delta=1e-8, ledger=ledger if parameter == "object" else ledger.path)
    search = GridSearchCV(model, {"epsilon": [0.1, 0.2, 0.3]}, cv=2, n_jobs=2)
    with joblib.parallel_config("loky"):
        search.fit(*table())
    entries = ledger.history()
    # Three candidates on two folds, and the best one on all rows.
    assert len(entries) == 7
    assert len({entry.process for entry in entries}) > 1


def test_a_search_that_cannot_be_paid_stops_within_the_budget(tmp_path):
    ledger = Ledger.create(tmp_path / "small.dpl", mu=0.3, dataset="x")
    model = AdaSSP(mu=0.2, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, *table(), error_score="raise", cv=5)
    assert len(ledger.history()) == 2


def test_threads_share_a_ledger(ledger):
    errors = []

    def work():
        try:
            for _ in range(5):
                AdaSSP(mu=0.05, ledger=ledger, n_jobs=1).fit(*table(30))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [entry.number for entry in ledger.history()] == list(range(1, 21))


@pytest.mark.parametrize(
    "fit",
    [
        lambda model: BaggingRegressor(model, n_estimators=2).fit(*table()),
        lambda model: BaggingRegressor(model, n_estimators=2, bootstrap=False).fit(*table()),
        lambda model: AdaBoostRegressor(model, n_estimators=2).fit(*table()),
        lambda model: model.set_params(random_state=0).fit(*table()),
    ],
)
def test_seeded_fits_are_refused_and_so_are_bootstraps(fit, ledger):
    """Ensembles that draw rows repeatedly seed their members, which is how they are noticed."""
    with pytest.raises(ParameterError, match=r"random_state.*BaggingRegressor"):
        fit(AdaSSP(**COST, ledger=ledger))
    assert ledger.history() == ()


def test_the_refusal_of_a_seed_does_not_use_it_up(ledger):
    seed = np.random.default_rng(0)
    with pytest.raises(ParameterError):
        AdaSSP(**COST, ledger=ledger, random_state=seed).fit(*table())
    assert seed.integers(1 << 60) == np.random.default_rng(0).integers(1 << 60)


@pytest.mark.parametrize("cls", MODELS)
def test_units_are_recorded(cls, ledger):
    X, y = table()
    people = np.arange(len(y)) // 3
    cls(**COST, max_rows=2, ledger=ledger).fit(X, y, unit=people)
    frame = pa.table({"a": X[:, 0], "y": y, "patient": people})
    cls(**COST, max_rows=2, ledger=ledger).fit(frame, "y", unit="patient")
    found = [(entry.unit_name, entry.max_rows) for entry in ledger.history()]
    assert found == [(None, 2), ("patient", 2)]


def test_a_fit_that_protects_rows_is_refused_where_units_are_required(tmp_path, monkeypatch):
    forbid(monkeypatch)
    ledger = Ledger.create(
        tmp_path / "a.dpl", epsilon=8, dataset="x", unit="person", rows_per_unit=None
    )
    with pytest.raises(ParameterError, match="protects each person"):
        PrivateLinearRegression(**COST, ledger=ledger).fit(*table())


def test_a_fit_with_units_is_refused_where_rows_are_protected(tmp_path, monkeypatch):
    forbid(monkeypatch)
    ledger = Ledger.create(tmp_path / "a.dpl", epsilon=8, dataset="x")
    X, y = table()
    with pytest.raises(ParameterError, match="protects units"):
        PrivateLinearRegression(**COST, max_rows=1, ledger=ledger).fit(X, y, unit=y)


@every
def test_another_neighbouring_relation_is_refused(cls, ledger, monkeypatch):
    forbid(monkeypatch)
    with pytest.raises(ParameterError, match="neighbors='add_remove'"):
        cls(**COST, neighbors="replace", ledger=ledger).fit(*table())


@every
def test_a_missing_ledger_ends_the_fit(cls, tmp_path, monkeypatch):
    forbid(monkeypatch)
    with pytest.raises(LedgerError, match=r"does not exist.*Ledger\.create"):
        cls(**COST, ledger=tmp_path / "none.dpl").fit(*table())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cls", MODELS)
def test_model_files_hold_the_data_set_the_time_and_the_entry(cls, ledger, tmp_path):
    model = cls(**COST, ledger=ledger).fit(*table())
    model.save(tmp_path / "m.json")
    again = dpfit.load(tmp_path / "m.json")
    assert again.provenance_ == model.provenance_ == again.model_.provenance
    # The path of a ledger is not the reader's business.
    assert again.ledger is None
    assert "study.dpl" not in (tmp_path / "m.json").read_text()
    (file,) = ledger.history()[0].files
    assert file.name == "m.json"
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_a_saved_model_whose_ledger_is_gone_is_complete(ledger, tmp_path):
    model = PrivateLinearRegression(**COST, ledger=ledger.path).fit(*table())
    pathlib.Path(ledger.path).unlink()
    with pytest.raises(LedgerError, match="does not exist"):
        model.save(tmp_path / "m.json")
    assert dpfit.load(tmp_path / "m.json").provenance_.dataset == "NHANES"


def test_seeds_still_warn_without_a_ledger():
    with pytest.warns(InsecureSeedWarning):
        AdaSSP(random_state=0).fit(*table())


def test_fits_on_a_cluster_are_charged(ledger):
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    rows = frames.from_pandas(frame, npartitions=3)
    PrivateLinearRegression(**COST, ledger=ledger).fit(rows, "y")
    assert len(ledger.history()) == 1
