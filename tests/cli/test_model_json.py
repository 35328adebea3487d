"""JSON of models, and notes on models that are a mean or noise."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import dpfit
from dpfit.cli.model_json import model_as_json

from .tool import dpfit as run


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with rows and with full models, means and noise of either class.

    Noise can make more or less of a few rows than there is: then fit again.
    """
    place = tmp_path_factory.mktemp("models")
    x = np.random.default_rng(0).uniform(0, 10, 4000)
    table = pa.table({"x": x, "y": 3.0 * x})
    pc.write_csv(table, place / "rows.csv")
    known = dpfit.Schema({"x": dpfit.Numeric(0, 10)}, target=dpfit.Numeric(0, 30))
    settings = {
        "full": (table, 1.0, None),
        "mean": (table.slice(0, 8), 1.0, known),
        "nothing": (table.slice(0, 5), 0.1, None),
    }
    for letter, kind in (
        ("l", dpfit.PrivateLinearRegression),
        ("a", dpfit.PrivateAdditiveRegression),
    ):
        for name, (rows, epsilon, schema) in settings.items():
            model = kind(epsilon=epsilon, schema=schema)
            for _ in range(40):
                if model.fit(rows, "y").status_ == name:
                    break
            model.save(place / f"{letter}-{name}.json")
    return place


@pytest.mark.parametrize("name", ["full", "mean", "nothing"])
def test_a_linear_model_in_json_has_what_the_text_has(models, name):
    model = dpfit.load(models / f"l-{name}.json")
    found, summary = model_as_json(model), model.summary()
    json.dumps(found, allow_nan=False)
    assert found["status"] == name
    assert found["notes"] == list(summary.notes)
    assert found["rounds"] == model.n_rounds_
    known = name != "nothing"
    assert found["target_range"] == (list(model.target_range_) if known else None)
    interval = model.coef_interval()
    assert found["intercept_interval"] == (interval[-1].tolist() if known else None)
    (slope,) = found["coefficients"]
    if name != "full":
        # A slope that was not estimated has no interval.
        assert slope["coef"] == 0.0
        assert {slope[key] for key in ("std_error", "noise", "interval", "range")} == {None}
        return
    assert slope["interval"] == interval[0].tolist()
    assert slope["noise"] == math.sqrt(model.coef_noise_[0, 0])
    assert slope["std_error"] >= math.hypot(slope["noise"], slope["sampling"]) * (1 - 1e-12)
    assert slope["estimate"] == pytest.approx(np.mean(slope["interval"]))
    # The quantile is that of a t distribution.
    assert 1.9599 < np.ptp(slope["interval"]) / (2 * slope["std_error"]) < 2.5


@pytest.mark.parametrize("name", ["full", "mean", "nothing"])
def test_an_additive_model_in_json_has_what_the_text_has(models, name):
    model = dpfit.load(models / f"a-{name}.json")
    found = model_as_json(model)
    json.dumps(found, allow_nan=False)
    assert found["status"] == name
    assert found["notes"] == list(model.summary().notes)
    (curve,) = found["curves"]
    if name == "full":
        assert curve["importance"] == max(curve["height"]) - min(curve["height"])
    else:
        assert curve["importance"] is None
        assert curve["range"] is None


@pytest.mark.parametrize(
    ("name", "words"), [("full", ""), ("mean", "mean-only model"), ("nothing", "not informative")]
)
def test_predictions_of_a_mean_or_of_noise_get_a_note(models, quick, name, words):
    done = run(models, f"predict l-{name}.json rows.csv -o -", program=quick)
    assert done.returncode == 0
    assert (words in done.stderr.decode()) if words else done.stderr == b""
    line = f"predict l-{name}.json rows.csv -o p-{name}.csv --json"
    assert json.loads(run(models, line, program=quick).stdout)["status"] == name


def test_predicting_from_noise_is_not_suggested(models, quick):
    (models / "few.csv").write_text("x,y\n1,2\n2,4\n")
    # In one fit of 50, noise looks like a target that can be seen. Ten in a row do not happen.
    for _ in range(10):
        done = run(models, "fit few.csv -t y -e 0.1 -o m.json", program=quick)
        printed, status = done.stdout.decode(), dpfit.load(models / "m.json").status_
        assert "The model was written to m.json." in printed
        assert ("Next" in printed) == (status != "nothing")
        if status == "nothing":
            break
    assert status == "nothing"
