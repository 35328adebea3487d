"""How much of the claimed mu an audit finds, and that it never finds more in honest estimators.

Tests of power fail by chance with a probability below 1e-6 each: the limits are six standard
deviations away from what is found on average. False alarms are rarer than 1e-9.
"""

import pytest

from dpfit import (
    AdaSSP,
    Binary,
    BoostedAdaSSP,
    BoostedMean,
    DPGradientDescent,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    TukeyEM,
)
from dpfit.audit import audit, worst_cases
from dpfit.exceptions import ParameterError

PAPER = [
    BoostedMean(mu=2.0, n_rounds=3, n_jobs=1),
    AdaSSP(mu=2.0, n_jobs=1),
    BoostedAdaSSP(mu=2.0, n_rounds=3, n_jobs=1),
    DPGradientDescent(mu=2.0, n_rounds=3, n_jobs=1),
]
MODELS = [PrivateLinearRegression(mu=2.0, n_jobs=1), PrivateAdditiveRegression(mu=2.0, n_jobs=1)]
# Nothing of their budget goes to the range of the feature, which outputs hardly show.
PUBLIC = [type(model)(mu=2.0, n_jobs=1, schema=Schema({0: Binary()})) for model in MODELS]
CONFIDENCE = 1.0 - 1e-9


def name(estimator):
    return type(estimator).__name__


def slow(*cases):
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


@pytest.mark.parametrize(
    ("estimator", "relation"),
    [
        *((estimator, relation) for estimator in PAPER for relation in ("add_remove", "replace")),
        (MODELS[0], "add_remove"),
        *slow((MODELS[0], "replace"), (MODELS[1], "add_remove"), (MODELS[1], "replace")),
    ],
    ids=lambda case: case if isinstance(case, str) else name(case),
)
def test_no_transcript_of_any_pair_is_above_the_claim(estimator, relation):
    estimator.set_params(neighbors=relation)
    found = audit(estimator, n_fits=16, method="transcript", confidence=CONFIDENCE)
    estimator.set_params(neighbors="add_remove")
    assert not found.exceeds, str(found)
    assert [pair.name for pair in found.pairs] == list(worst_cases(estimator))
    largest = {pair.name: pair.largest_mu for pair in found.pairs}
    assert max(largest.values()) <= 2.0 * (1 + 1e-9)
    if relation == "add_remove":
        # One row moves all statistics as far as any row can.
        assert largest["whole"] > 0.85 * 2.0
    if relation == "add_remove" and estimator in PAPER:
        # Every statistic is moved to its limit by some pair.
        for share in (share for pair in found.pairs for share in pair.shares):
            most = max(
                other.found / other.claimed
                for pair in found.pairs
                for other in pair.shares
                if other.statistic == share.statistic
            )
            assert 0.95 < most <= 1.0 + 1e-9, share.statistic


# AdaSSP is the fastest; the others are in the slow suite.
@pytest.mark.parametrize(
    "estimator",
    [PAPER[1], *slow(*((estimator,) for estimator in (PAPER[0], *PAPER[2:], *PUBLIC)))],
    ids=name,
)
def test_transcripts_find_85_percent(estimator):
    found = audit(estimator, "whole", n_fits=2000, method="transcript")
    assert found.mu >= 0.85 * 2.0


@pytest.mark.parametrize(
    ("estimator", "n_fits"),
    [
        (PAPER[3], 2500),
        *slow((PAPER[0], 6000), (PAPER[1], 6000), (PAPER[2], 6000)),
        *slow((PUBLIC[0], 10_000), (PUBLIC[1], 10_000)),
        *slow((MODELS[0], 12_000), (MODELS[1], 12_000)),
    ],
    ids=lambda case: name(case) if hasattr(case, "fit") else "",
)
def test_outputs_alone_show_60_percent(estimator, n_fits):
    found = audit(estimator, "whole", n_fits=n_fits)
    assert found.mu >= 0.6 * 2.0


def test_tukey_em_has_no_transcript_but_outputs():
    with pytest.raises(ParameterError, match="not Gaussian"):
        audit(TukeyEM(n_models=64, n_jobs=1), "whole", n_fits=16, method="transcript")
    estimator = TukeyEM(epsilon=2.0, n_models=64, n_jobs=1)
    found = audit(estimator, "whole", n_fits=64, confidence=CONFIDENCE)
    assert found.claimed_mu is None
    assert found.claimed_epsilon == 2.0
    assert not found.exceeds


@pytest.mark.slow
@pytest.mark.parametrize("estimator", PAPER, ids=name)
def test_false_alarms_of_transcripts_are_rare(estimator):
    """60 audits with a confidence of 90 %: more than 20 alarms have a probability below 1e-6."""
    alarms = sum(
        audit(estimator, "whole", n_fits=32, method="transcript", confidence=0.9).exceeds
        for _ in range(60)
    )
    assert alarms <= 20
