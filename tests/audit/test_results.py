"""What comes out of an audit, what goes in, and errors."""

import io
import json
import math

import numpy as np
import pytest

from dpfit import AdaSSP, BoostedMean, PrivateLinearRegression
from dpfit.audit import Neighbours, audit, worst_cases
from dpfit.audit.likelihood import Path
from dpfit.audit.outputs import as_matrix
from dpfit.audit.result import AuditResult, PairResult
from dpfit.audit.run import _coordinates
from dpfit.audit.transcripts import PUBLIC
from dpfit.exceptions import ParameterError

from .faults import Mean, MuAsSigma

PAIR = Neighbours.adding(np.zeros((4, 1)), np.zeros(4), [0.0], 1.0, name="one")
ESTIMATOR = AdaSSP(mu=2.0, n_jobs=1)
# Of tests that expect nothing to be found: false alarms are rarer.
CONFIDENCE = 1.0 - 1e-9


@pytest.fixture(scope="module")
def transcripts():
    return audit(
        ESTIMATOR, ["whole", "gram"], n_fits=64, method="transcript", confidence=CONFIDENCE
    )


def test_text(transcripts):
    text = str(transcripts)
    assert text == transcripts.summary()
    assert max(map(len, text.splitlines())) <= 80
    for part in (
        "Privacy audit of AdaSSP",
        "99.9999999 %",
        "claimed",
        "whole",
        "gram",
        "X'X",
        "X'g",
    ):
        assert part in text


def test_json(transcripts):
    found = json.loads(transcripts.to_json())
    assert found == transcripts.to_dict()
    assert found["claimed_mu"] == 2.0
    assert found["mu"] == transcripts.mu == max(pair["mu"] for pair in found["pairs"])
    assert found["exceeds"] is False
    assert [pair["name"] for pair in found["pairs"]] == ["whole", "gram"]
    assert {"mu", "epsilon"} == {test["bound"] for test in found["pairs"][0]["tests"]}
    assert found["pairs"][0]["statistics"][0]["statistic"] == "X'X"


def test_json_of_what_is_not_finite():
    pair = PairResult(
        name="a", mu=math.inf, epsilon=math.inf, tests=(), largest_mu=math.inf, problems=("b",)
    )
    found = AuditResult(
        estimator="E",
        method="transcript",
        confidence=0.9,
        n_fits=16,
        claimed_mu=1.0,
        claimed_epsilon=None,
        delta=0.0,
        pairs=(pair,),
    )
    assert json.loads(found.to_json())["mu"] is None
    assert found.exceeds
    assert "NOT AS PRIVATE AS CLAIMED: b." in str(found)


def test_a_plot_shows_claim_and_bound(transcripts):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for found in (transcripts, audit(Mean(), PAIR, n_fits=32, epsilon=1.0, delta=0.01)):
        ax = found.plot()
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert any(label.startswith("claimed") for label in labels)
        assert any(label.startswith("lower bound") for label in labels)
        figure = ax.get_figure()
        figure.savefig(io.BytesIO(), format="png")
        assert found.plot(ax) is ax
        pyplot.close(figure)


def test_progress_counts_all_fits(capsys):
    seen = []
    audit(Mean(), [PAIR, PAIR], n_fits=25, progress=lambda *state: seen.append(state))
    assert seen[-1] == (100, 100)
    assert seen == sorted(seen)
    audit(Mean(), PAIR, n_fits=16, progress=True)
    assert capsys.readouterr().err.endswith("fit 32/32\n")
    audit(Mean(), PAIR, n_fits=16)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("method", ["black_box", "transcript"])
def test_several_processes_do_the_same_work(method):
    found = audit(ESTIMATOR, "whole", n_fits=45, n_jobs=2, method=method, confidence=CONFIDENCE)
    assert found.pairs[0].tests[0].trials == 27
    assert not found.exceeds


def test_claims_are_those_of_the_record_unless_given():
    found = audit(BoostedMean(epsilon=1.0, n_rounds=1, n_jobs=1), "whole", n_fits=16)
    assert (found.claimed_epsilon, found.delta) == (1.0, 1e-6)
    assert found.claimed_mu == pytest.approx(0.2367, rel=1e-3)
    found = audit(Mean(mu=0.5), PAIR, n_fits=16)
    assert found.claimed_mu == 0.5
    found = audit(Mean(mu=0.5), PAIR, n_fits=16, epsilon=3.0, delta=0.01)
    assert (found.claimed_mu, found.claimed_epsilon, found.delta) == (None, 3.0, 0.01)
    found = audit(Mean(mu=0.5), PAIR, n_fits=16, mu=7.0)
    assert found.claimed_mu == 7.0

    class Silent(Mean):
        mu = property(lambda self: 0.25, lambda self, value: None)

        def fit(self, X, y):
            super().fit(X, y)
            return _Quiet(self.sum_)

    found = audit(Silent(), PAIR, n_fits=16)
    assert found.claimed_mu is None
    assert not found.exceeds
    assert "Nothing is claimed" in str(found)


class _Quiet:
    def __init__(self, value):
        self.sum_ = value


def test_outputs_are_attributes_predictions_or_what_a_function_returns():
    class Hidden(MuAsSigma):
        def fit(self, X, y):
            super().fit(X, y)
            self.found = self.sum_
            del self.sum_
            return self

        def predict(self, X):
            return np.full(len(X), self.found)

    for options in (
        {"outputs": lambda fitted: [fitted.found]},
        {"outputs": ["found"]},
        {"outputs": "found"},
        {"points": np.zeros((2, 1))},
    ):
        assert audit(Hidden(), PAIR, n_fits=400, **options).exceeds
    with pytest.raises(ParameterError, match="no outputs"):
        audit(Hidden(), PAIR, n_fits=16)


def test_the_length_of_an_attribute_is_an_output():
    class Kept(Mean):
        def fit(self, X, y):
            super().fit(X, y)
            self.residuals_ = np.zeros(len(y))
            return self

    found = audit(Kept(), PAIR, n_fits=200)
    assert found.exceeds
    assert found.pairs[0].tests[0].score == "length of residuals_"


class Knots(Mean):
    """How many numbers it publishes is left to chance, and one may be an attribute or not."""

    fault = 0.0

    def fit(self, X, y):
        super().fit(X, y)
        rng = np.random.default_rng()
        self.knots_ = rng.normal(size=rng.integers(3, 6))
        self.knots_[2] += self.fault * np.sum(y)
        if rng.integers(2):
            self.sometimes_ = rng.normal()
        return self


class LeakingKnots(Knots):
    fault = 20.0


def test_values_of_attributes_whose_length_differs_between_fits_are_outputs():
    """The length alone would not show that one of them is not private."""
    assert audit(LeakingKnots(mu=1.0), PAIR, n_fits=300).exceeds
    assert not audit(Knots(mu=1.0), PAIR, n_fits=300, confidence=CONFIDENCE).exceeds


def test_outputs_as_a_matrix():
    fits = [{"a": np.array([1.0, 2.0]), "b": np.array([5.0])}, {"a": np.array([1.0])}]
    first, second, names = as_matrix(fits, [{"a": np.array([1.0]), "c": np.zeros(0)}])
    assert names == ["length of a", "a[1]", "length of b", "b"]
    nan = math.nan
    np.testing.assert_array_equal(first, [[2.0, 2.0, 1.0, 5.0], [1.0, nan, 0.0, nan]])
    np.testing.assert_array_equal(second, [[1.0, nan, 0.0, nan]])
    # One number for each row is not padded to all rows, and hides nothing that comes after it.
    long = [{"rows": np.zeros(size), "z": np.ones(1) * size} for size in (5000, 5001)]
    names = as_matrix(long[:1], long[1:])[2]
    assert names == ["length of rows", "z"]
    # Values that are NaN in all fits show nothing.
    empty = [{"n": np.array([nan]), "z": np.full(1, place)} for place in (0.0, 1.0)]
    assert as_matrix(empty[:1], empty[1:])[2] == ["z"]


def path_with(layout, numbers):
    values = np.arange(numbers) + 1.0
    return Path(1.0, 0.5, 1.0, values, values == 2.0, layout, (), ())


def test_releases_that_only_some_transcripts_have_shift_no_others():
    values, names = _coordinates(
        [
            path_with((("a", 1), (PUBLIC, 1), ("b", 2), ("c", 1)), 4),
            path_with((("a", 1), ("b", 1), ("b", 1), ("c", 1)), 4),
        ]
    )
    assert names == [
        "likelihood ratio",
        "b (release 1, entry 1)",
        "a (release 1, entry 1)",
        "b (release 1, entry 2)",
        "c (release 1, entry 1)",
        "b (release 2, entry 1)",
    ]
    np.testing.assert_array_equal(
        values, [[0.5, 2.0, 1.0, 3.0, 4.0, 0.0], [0.5, 2.0, 1.0, 0.0, 4.0, 3.0]]
    )


def test_tables_may_be_keyword_arguments():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    unit = np.arange(60) // 2
    pair = Neighbours(
        {"X": X[:-2], "y": y[:-2], "unit": unit[:-2]}, {"X": X, "y": y, "unit": unit}, "person"
    )
    estimator = PrivateLinearRegression(mu=2.0, max_rows=2, n_jobs=1)
    found = audit(estimator, pair, n_fits=16, method="transcript", confidence=CONFIDENCE)
    assert not found.exceeds
    assert 0.0 < found.pairs[0].largest_mu <= 2.0
    # Two persons are not one.
    pair = Neighbours({"X": X[:-4], "y": y[:-4], "unit": unit[:-4]}, pair.second, "persons")
    found = audit(estimator, pair, n_fits=16, method="transcript")
    assert found.exceeds


def test_pairs_replace_a_row_where_neighbours_do():
    pairs = worst_cases(BoostedMean(mu=1.0, neighbors="replace"))
    for pair in pairs.values():
        (_, first), (_, second) = pair.first, pair.second
        assert len(first) == len(second)
        assert (first != second).sum() == 1
    for pair in worst_cases(BoostedMean(mu=1.0)).values():
        assert len(pair.second[1]) == len(pair.first[1]) + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbours": "nothing"}, "neighbours must be"),
        ({"neighbours": []}, "neighbours must be"),
        ({"neighbours": 3}, "neighbours must be"),
        ({"n_fits": 3}, "n_fits must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"confidence": 0.0}, "confidence must be"),
        ({"method": "white_box"}, "method must be"),
        ({"n_jobs": 0.5}, "n_jobs must be"),
        ({"outputs": [3]}, "outputs must be"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"delta": 2.0}, "delta must be"),
        ({"mu": 1.0, "epsilon": 1.0}, "not both"),
        ({"method": "transcript"}, "no transcript"),
    ],
    ids=lambda case: str(case) if isinstance(case, dict) else "",
)
def test_wrong_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        audit(Mean(), **{"neighbours": PAIR, "n_fits": 16, **options})


def test_an_object_without_fit():
    with pytest.raises(ParameterError, match="method fit"):
        audit(object())
