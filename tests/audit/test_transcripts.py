"""Transcripts hold every release of a fit, and likelihood ratios have the distribution they should.

Statistical tests have a false-alarm rate of 1e-7 each.
"""

import math
import pathlib
import re

import numpy as np
import pytest
from scipy import stats

import dpfit
from dpfit import AdaSSP, BoostedMean, DPGradientDescent, PrivateLinearRegression
from dpfit.audit import worst_cases
from dpfit.audit.fits import Transcript, sampled
from dpfit.audit.likelihood import gaussian_bound
from dpfit.audit.outputs import reader
from dpfit.audit.transcripts import Diverged, recorded, replayed
from dpfit.release import Watch, watched

PACKAGE = pathlib.Path(dpfit.__file__).parent
FALSE_ALARMS = 1e-7
ESTIMATORS = [
    AdaSSP(mu=2.0, n_jobs=1),
    BoostedMean(mu=2.0, n_rounds=4, n_jobs=1),
    DPGradientDescent(mu=2.0, n_rounds=4, n_jobs=1, neighbors="replace"),
    PrivateLinearRegression(mu=2.0, n_jobs=1),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


@every_estimator
def test_a_transcript_costs_what_the_record_says(estimator):
    pair = worst_cases(estimator)["whole"]
    transcript = recorded(estimator, pair.first)
    cost = math.sqrt(sum(entry.cost for entry in transcript))
    assert cost == pytest.approx(estimator.privacy_.mu, rel=1e-12)
    # The same table has the same exact sums, and ends in the same model.
    before = reader(None, None)(estimator)
    again = replayed(estimator, pair.first, transcript)
    assert all(not any(a.moved(b)) for a, b in zip(transcript, again, strict=True))
    after = reader(None, None)(estimator)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_shorter_or_longer_fit_diverges():
    pair = worst_cases(ESTIMATORS[1])["whole"]
    transcript = recorded(BoostedMean(mu=2.0, n_rounds=4), pair.first)
    for rounds in (3, 5):
        with pytest.raises(Diverged):
            replayed(BoostedMean(mu=2.0, n_rounds=rounds), pair.first, transcript)


def paths(estimator, fits):
    pair = worst_cases(estimator)["whole"]
    return sampled(estimator, pair, Transcript(reader(None, None)), fits, None, lambda _: None)


def standardised(first, second):
    """Return likelihood ratios minus their means, in standard deviations."""
    return np.array(
        [
            (path.ratio - sign * path.spread**2 / 2) / path.spread
            for side, sign in ((first, 1.0), (second, -1.0))
            for path in side
        ]
    )


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda e: type(e).__name__)
def test_likelihood_ratios_are_normal(estimator):
    found = standardised(*paths(estimator, 300))
    total = float(found @ found)
    assert min(stats.chi2.cdf(total, 600), stats.chi2.sf(total, 600)) > FALSE_ALARMS / 2
    assert abs(found.sum()) / math.sqrt(600) < stats.norm.isf(FALSE_ALARMS / 2)
    # With half or twice the noise, the same check would fail.
    assert stats.chi2.cdf(total / 4, 600) < FALSE_ALARMS / 2
    assert stats.chi2.sf(4 * total, 600) < FALSE_ALARMS / 2


def test_the_bound_grows_with_the_number_of_fits_and_stays_below():
    found = [gaussian_bound(*paths(ESTIMATORS[0], fits), 1e-6) for fits in (64, 400)]
    assert 0.0 <= found[0] < found[1] < 2.0


def test_a_watch_ends_with_its_block():
    class Refuses(Watch):
        def sum(self, statistic, total, mus):
            raise LookupError

    X, y = np.ones((3, 1)), np.ones(3)
    with pytest.raises(LookupError), watched(Refuses()):
        AdaSSP(mu=1.0).fit(X, y)
    AdaSSP(mu=1.0).fit(X, y)


def test_nothing_but_the_auditor_sees_exact_sums():
    """The door that the auditor uses is not used elsewhere in the package."""
    door = re.compile(r"insecure_exact|insecure_smallest_eigenvalue|\bwatched\b")
    users = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if door.search(path.read_text("utf-8"))
    }
    assert users == {"release.py", "audit/transcripts.py"}
