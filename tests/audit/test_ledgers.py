"""An audit fits made-up rows: no ledger pays for them, wherever in the estimator it is."""

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpfit import Ledger, PrivateLinearRegression
from dpfit.audit import audit


@pytest.mark.parametrize("wrapped", [False, True])
def test_no_ledger_pays_for_an_audit(tmp_path, wrapped):
    ledger = Ledger.create(tmp_path / "study.dpl", mu=1.0, dataset="x")
    estimator = PrivateLinearRegression(mu=0.01, ledger=ledger, n_jobs=1)
    audited = make_pipeline(FunctionTransformer(), estimator) if wrapped else estimator
    audit(audited, n_fits=20, method="transcript", mu=0.01)
    assert ledger.history() == ()
    # That of the caller's estimator stays.
    assert estimator.ledger is ledger
