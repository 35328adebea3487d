"""What commands say of models: all of it in JSON, and that some of them say little."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import dpfit
from dpfit.cli.show import as_plain

from .tool import dpfit as run


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with rows and, of either class, models that say much, little and nothing."""
    place = tmp_path_factory.mktemp("models")
    x = np.random.default_rng(0).uniform(0, 10, 4000)
    table = pa.table({"x": x, "y": 3.0 * x})
    pc.write_csv(table, place / "rows.csv")
    known = dpfit.Schema({"x": dpfit.Numeric(0, 10)}, target=dpfit.Numeric(0, 30))
    settings = {
        "full": (table, 1.0, None),
        "mean": (table.slice(0, 50), 1.0, known),
        "nothing": (table.slice(0, 5), 0.1, None),
    }
    for letter, kind in (
        ("l", dpfit.PrivateLinearRegression),
        ("a", dpfit.PrivateAdditiveRegression),
    ):
        for name, (rows, epsilon, schema) in settings.items():
            model = kind(epsilon=epsilon, schema=schema).fit(rows, "y")
            model.save(place / f"{letter}-{name}.json")
    return place


@pytest.mark.parametrize("name", ["full", "mean", "nothing"])
def test_a_linear_model_in_json_has_what_the_text_has(models, name):
    model = dpfit.load(models / f"l-{name}.json")
    found, summary = as_plain(model), model.summary()
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
        # A slope of zero that nobody has looked for has no interval.
        assert slope["coef"] == 0.0
        assert {slope[key] for key in ("std_error", "noise", "interval", "range")} == {None}
        return
    assert slope["interval"] == interval[0].tolist()
    assert slope["noise"] == math.sqrt(model.coef_noise_[0, 0])
    assert slope["std_error"] >= math.hypot(slope["noise"], slope["sampling"]) * (1 - 1e-12)
    assert np.ptp(slope["interval"]) == pytest.approx(2 * 1.959964 * slope["std_error"], rel=1e-5)


@pytest.mark.parametrize("name", ["full", "mean", "nothing"])
def test_an_additive_model_in_json_has_what_the_text_has(models, name):
    model = dpfit.load(models / f"a-{name}.json")
    found = as_plain(model)
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
    ("name", "words"), [("full", ""), ("mean", "is a mean"), ("nothing", "is noise")]
)
def test_predictions_that_say_little_come_with_a_word(models, quick, name, words):
    done = run(models, f"predict l-{name}.json rows.csv -o -", program=quick)
    assert done.returncode == 0
    assert (words in done.stderr.decode()) if words else done.stderr == b""
    line = f"predict l-{name}.json rows.csv -o p-{name}.csv --json"
    assert json.loads(run(models, line, program=quick).stdout)["status"] == name


def test_nobody_is_sent_to_predict_from_noise(models, quick):
    (models / "few.csv").write_text("x,y\n1,2\n2,4\n")
    done = run(models, "fit few.csv -t y -e 0.1 -o m.json", program=quick)
    assert "The model is in m.json." in done.stdout.decode()
    assert "Next" not in done.stdout.decode()
