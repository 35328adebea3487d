"""The next trial follows from those before it."""

import math

import pytest

from paper.design import Design
from paper.methods import METHODS, OURS, PEERS, Choice
from paper.seeds import seed_of
from paper.tuning import Trial, finalists, propose


@pytest.mark.parametrize("name", PEERS)
def test_tuning_starts_from_the_fixed_setting_and_stays_within_its_ranges(name):
    method = METHODS[name]
    history = []
    for number in range(14):
        parameters = propose(method.fixed, method.space, history, seed_of(name, number))
        if number == 0:
            assert parameters == dict(method.fixed)
        for key, values in method.space.items():
            if isinstance(values, Choice):
                assert parameters[key] in values.values
            else:
                assert values.low <= parameters[key] <= values.high
        history.append(Trial(parameters, math.inf if number == 3 else float(number % 5)))
    assert finalists(history)[:3] == [0, 5, 10]


def test_a_study_goes_on_as_if_it_had_not_been_stopped():
    method = METHODS["boosted_adassp"]

    def study(history, until):
        while len(history) < until:
            parameters = propose(
                method.fixed, method.space, history, seed_of("study", len(history))
            )
            error = abs(math.log10(parameters["tau"]) - 1) + abs(math.log10(parameters["x_bound"]))
            history.append(Trial(parameters, error))
        return history

    whole = study([], 16)
    assert study(study([], 12), 16) == whole
    assert study([Trial(dict(t.parameters), t.error) for t in whole[:13]], 16) == whole


def test_the_best_few_and_the_fixed_setting_are_looked_at_again():
    errors = [9.0, 5.0, 1.0, 1.0, 2.0, 3.0, math.inf]
    trials = [Trial({"tau": float(i)}, error) for i, error in enumerate(errors)]
    trials[3] = Trial({"tau": 2.0}, 1.0)
    assert finalists(trials) == [2, 4, 5, 0]
    assert finalists(trials[:1]) == [0]


def test_the_papers_ranges_and_fixed_hyperparameters():
    boosted = METHODS["boosted_adassp"]
    assert (boosted.fixed["x_bound"], boosted.fixed["tau"], boosted.fixed["n_rounds"]) == (
        1,
        1,
        100,
    )
    assert boosted.fixed["learning_rate"] == "constant"
    for key in ("x_bound", "tau"):
        assert (boosted.space[key].low, boosted.space[key].high) == (1e-5, 1e5)
    for name, key in (("boosted_adassp", "n_rounds"), ("tukey_em", "n_models")):
        assert (METHODS[name].space[key].low, METHODS[name].space[key].high) == (1, 4000)
    leaves = METHODS["dp_ebm"].space["max_leaves"]
    assert (leaves.low, leaves.high) == (1, 1000)


def test_the_range_of_rounds_of_dp_ebm_may_be_shortened_and_no_other():
    design = Design(ebm_rounds=500)
    assert design.space_of(METHODS["dp_ebm"])["max_rounds"].high == 500
    for name in PEERS:
        assert Design().space_of(METHODS[name]) == dict(METHODS[name].space)
        if name != "dp_ebm":
            assert design.space_of(METHODS[name]) == dict(METHODS[name].space)


def test_ours_have_nothing_to_tune():
    assert all(not METHODS[name].space and not METHODS[name].fixed for name in OURS)


def test_seeds_depend_on_the_whole_key():
    keys = [
        ("fit", 1, 0.1),
        ("fit", 1, 1.0),
        ("trial", 1, 0.1),
        ("fit", 2, 0.1),
        ("fit", 1, 0.1, 0),
    ]
    assert len({seed_of(*key) for key in keys}) == len(keys)
    assert all(0 <= seed_of(*key) < 2**31 for key in keys)
