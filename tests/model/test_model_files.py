"""Models as files: the same bits again, or a clear error."""

import errno
import json
import math
import os
import pickle
import re
import stat
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpfit
from dpfit import (
    Binary,
    Categorical,
    ModelFileError,
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    Schema,
)
from dpfit.models.file import _checksum, from_json, to_json

from .tables import every, seeded

SCHEMA = Schema(
    {"city": Categorical(["Oslo", "Ås", 'a "b"']), "flag": Binary(), "age": Numeric(0, 120)},
    target=Numeric(-50, 50),
)


def frame(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(0, 120, rows),
            "city": rng.choice(["Oslo", "Ås", 'a "b"', "elsewhere"], rows),
            "flag": rng.random(rows) < 0.5,
            "size": rng.normal(size=rows),
            "same": np.ones(rows),
        }
    )
    table["price"] = 0.1 * table.age + 3.0 * (table.city == "Ås") + table["size"]
    return table


def fitted(cls, **options):
    return seeded(cls, frame(), "price", **{"epsilon": 5.0, "schema": SCHEMA, **options})


def plain(model):
    """Return all fitted attributes, with the bits of every number."""
    names = (name for name in dir(model) if name.endswith("_") and not name.startswith("_"))
    return {
        name: (
            value.dtype,
            value.shape,
            value.tolist() if value.dtype == object else value.tobytes(),
        )
        if isinstance(value := getattr(model, name), np.ndarray)
        else value
        for name in names
    }


@every
@pytest.mark.parametrize(
    "options",
    [{}, {"mu": 1.0, "epsilon": None}, {"neighbors": "replace"}, {"epsilon": 1e-3}],
    ids=["plain", "mu", "replace", "mean"],
)
def test_a_file_gives_back_every_bit(cls, options, tmp_path):
    model = fitted(cls, **options)
    model.save(tmp_path / "model.json")
    again = dpfit.load(tmp_path / "model.json")
    assert type(again) is cls
    assert plain(again) == plain(model)
    assert again.model_ == model.model_
    assert again.privacy_ is again.model_.privacy
    assert again.privacy_ == model.privacy_
    assert str(again.summary()) == str(model.summary())
    others = frame(seed=1)
    np.testing.assert_array_equal(again.predict(others), model.predict(others))
    assert to_json(again) == to_json(model)
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


@every
def test_a_model_of_arrays(cls, tmp_path):
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    model = seeded(cls, X, X @ [1.0, 2.0, 3.0], epsilon=5.0)
    model.save(tmp_path / "m.json")
    again = dpfit.load(str(tmp_path / "m.json"))
    assert not hasattr(again, "feature_names_in_")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params()["random_state"] is None


@every
def test_a_model_of_units_says_so_again(cls, tmp_path):
    table = frame()
    table["who"] = np.arange(len(table)) // 2
    model = seeded(cls, table, "price", unit="who", max_rows=2, epsilon=5.0, schema=SCHEMA)
    model.save(tmp_path / "m.json")
    again = dpfit.load(tmp_path / "m.json")
    assert again.privacy_.statement() == model.privacy_.statement()
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


@every
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": np.int64(5)},
        {"epsilon": np.float32(0.7), "delta": np.float32(1e-5)},
        {"epsilon": Fraction(5, 2)},
        {"epsilon": None, "mu": np.float32(0.3)},
        {"max_rows": np.int64(3)},
    ],
    ids=["int64", "float32", "fraction", "mu", "max_rows"],
)
def test_numbers_of_every_type_are_saved(cls, options, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    if cls is dpfit.PrivateAdditiveRegression:
        options = {**options, "knots": np.int64(5)}
    unit = np.arange(300) // 3 if "max_rows" in options else None
    model = cls(**options).fit(X, X[:, 0], unit=unit)
    model.save(tmp_path / "m.json")
    again = dpfit.load(tmp_path / "m.json")
    assert again.get_params() == model.get_params()
    assert {type(v) for v in again.get_params().values()} <= {int, float, str, bool, type(None)}
    assert again.privacy_ == model.privacy_
    # Parameters of an estimator stay what they were given as.
    assert all(model.get_params()[name] is value for name, value in options.items())


def test_a_class_of_somebody_else_is_not_saved(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    for name in ("Mine", "PrivateLinearRegression"):
        model = type(name, (PrivateLinearRegression,), {})().fit(X, X[:, 0])
        with pytest.raises(ParameterError, match="not subclasses"):
            model.save(tmp_path / "m.json")
    assert not list(tmp_path.iterdir())


def changed(text, change):
    content = json.loads(text)
    change(content)
    return json.dumps(content)


def resigned(text, change):
    """Return a file that was changed by somebody who knows of the checksum."""
    content = json.loads(text)
    change(content)
    content["checksum"] = _checksum(content)
    return json.dumps(content)


def field(name, value):
    return lambda content: content["model"].__setitem__(name, value)


def effect(**fields):
    """Change the effect of the first column, a line."""
    return lambda content: content["model"]["effects"][0].update(fields)


def estimates(name, value):
    return lambda content: content["model"]["estimates"].__setitem__(name, value)


ACCIDENTS = {
    "a number": field("intercept", 1.0),
    "a digit": effect(slope=0.5),
    "a level": lambda content: content["model"]["kinds"]["columns"][1]["levels"].reverse(),
    "the budget": lambda content: content["model"]["privacy"].__setitem__("epsilon", 0.1),
    "the class": field("estimator", "PrivateAdditiveRegression"),
    "the checksum": lambda content: content.__setitem__("checksum", "sha256:0"),
}


@pytest.mark.parametrize("change", ACCIDENTS.values(), ids=ACCIDENTS)
def test_a_changed_file_is_refused(change):
    with pytest.raises(ModelFileError, match="changed after it was written"):
        from_json(changed(to_json(fitted(PrivateLinearRegression)), change))


FIELDS = ["library", "parameters", "model", "checksum"]


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field(field):
    text = to_json(fitted(PrivateLinearRegression))
    with pytest.raises(ModelFileError, match=f"no field {field!r}"):
        from_json(changed(text, lambda content: content.pop(field)))


# Clears a terminal.
SIGNAL = "\x1b[2Jall is well"


def nested(depth):
    found = 1.0
    for _ in range(depth):
        found = [found]
    return found


STRANGE = {
    "another class": field("estimator", "Pickle"),
    "a class that is no model": field("estimator", "Schema"),
    "a class without coefficients": lambda content: content["model"].update(
        estimator="PrivateAdditiveRegression"
    ),
    "too few effects": lambda content: content["model"]["effects"].pop(),
    "another effect": effect(effect="spline"),
    "a line without a slope": lambda content: content["model"]["effects"][0].pop("slope"),
    "a line with more": effect(more=1.0),
    "a line of levels": lambda content: content["model"]["effects"].reverse(),
    "a word for a number": effect(slope="many"),
    "true for a number": effect(slope=True),
    "no effects": lambda content: content["model"].pop("effects"),
    "other levels": lambda content: content["model"]["effects"][1]["levels"].reverse(),
    "too few levels": lambda content: content["model"]["effects"][1]["effects"].pop(),
    "a number for what was seen": lambda content: content["model"]["effects"][1].update(
        seen=[1.5] * 3
    ),
    "flat covariance": estimates("noise", [1.0]),
    "ragged covariance": estimates("sampling", [[0.0, 1.0], [1.0]]),
    "half of a covariance": lambda content: content["model"]["estimates"]["spread"].pop(),
    "too few estimates": lambda content: content["model"]["estimates"]["values"].pop(),
    "a number for what is known": estimates("known", [1.5] * 8),
    "a number for R-squared": field("r_squared", 0.5),
    "a parameter": lambda content: content["parameters"].__setitem__("secret", 1),
    "too few names": lambda content: content["model"]["names"].pop(),
    "a kind": lambda content: content["model"]["kinds"]["columns"].pop(0),
    "a record that does not add up": lambda content: content["model"]["privacy"].update(mu=1e-9),
    "a list": lambda content: content.__setitem__("model", []),
    "endless rounds": field("rounds", math.inf),
    "lists in lists": estimates("values", nested(900)),
    "other neighbours": lambda content: content["parameters"].update(neighbors="replace"),
    "another epsilon": lambda content: content["parameters"].update(epsilon=0.001),
    "another delta": lambda content: content["parameters"].update(delta=1e-9),
    "mu for epsilon": lambda content: content["parameters"].update(epsilon=None, mu=0.001),
    "other units": lambda content: content["parameters"].update(max_rows=7),
    "other missing values": lambda content: content["parameters"].update(missing="drop"),
    "an unknown word for missing values": field("missing", "fill"),
    "a field of no model": field("more", 1),
    "a text for a number": field("intercept", "1.0"),
    "a signal in a note": lambda content: content["model"]["privacy"].update(notes=[SIGNAL]),
    "a signal in a unit": lambda content: content["model"]["privacy"].update(unit=SIGNAL),
    "a signal in an event": lambda content: content["model"]["privacy"]["events"][0].update(
        statistic=SIGNAL
    ),
    "a signal in a class": field("estimator", SIGNAL),
    "a signal in a field": field(SIGNAL, 1),
    "a signal in a parameter": lambda content: content["parameters"].__setitem__(SIGNAL, 1),
    "a signal in a kind": lambda content: content["model"]["kinds"].update(format=SIGNAL),
}


@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE)
def test_a_file_of_something_else(change):
    with pytest.raises(ModelFileError, match="not a dpfit model file") as error:
        from_json(resigned(to_json(fitted(PrivateLinearRegression)), change))
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "budget", [{"mu": 0.3}, {"mu": 0.3, "delta": 1e-7}, {"mu": 1e6, "delta": 1e-6}, {"epsilon": 3}]
)
def test_parameters_that_say_what_the_record_says(budget, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = PrivateLinearRegression(**budget).fit(X, X[:, 0])
    model.save(tmp_path / "m.json")
    assert dpfit.load(tmp_path / "m.json").get_params() == model.get_params()
    for change in ({"neighbors": "replace"}, {"epsilon": 0.5, "mu": None}, {"max_rows": 2}):
        with pytest.raises(ParameterError, match="fit again"):
            clone_of(model).set_params(**change).save(tmp_path / "n.json")
    assert not (tmp_path / "n.json").exists()


def clone_of(model):
    """Return a fitted model again, by another way than a file."""
    return pickle.loads(pickle.dumps(model))


def test_an_additive_model_needs_its_curves():
    text = to_json(fitted(dpfit.PrivateAdditiveRegression))
    for change in (
        lambda content: content["model"]["effects"].pop(),
        lambda content: content["model"]["effects"][0]["heights"].pop(),
        lambda content: content["model"]["effects"][0].update(points=[0.0], heights=[0.0]),
    ):
        with pytest.raises(ModelFileError, match="not a dpfit model file"):
            from_json(resigned(text, change))


DIGITS = '{"dpfit_model": ' + "9" * 5000 + "}"


VERSIONS = [f'{{"dpfit_model": {version}}}' for version in ('"1"', "0", "-1", "true", "1.0")]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", *VERSIONS, "[" * 100_000, "1", DIGITS])
def test_no_model_at_all(text, tmp_path):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ModelFileError, match=r"m\.json': not a dpfit model file"):
        dpfit.load(tmp_path / "m.json")


@pytest.mark.parametrize("field", ["epsilon", "estimator"])
def test_a_field_that_is_there_twice(field):
    """Python takes the last one, others the first: the checksum does not tell."""
    text = to_json(fitted(PrivateLinearRegression))
    twice = text.replace(f'"{field}":', f'"{field}": null,\n "{field}":', 1)
    assert json.loads(twice) == json.loads(text)
    with pytest.raises(ModelFileError, match="occurs twice"):
        from_json(twice)


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "m.json").write_bytes(b"\x80\x04\x95")
    with pytest.raises(ModelFileError):
        dpfit.load(tmp_path / "m.json")
    with pytest.raises(FileNotFoundError):
        dpfit.load(tmp_path / "other.json")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_older_version(version):
    text = to_json(fitted(PrivateLinearRegression))
    older = resigned(text, lambda c: c.update(dpfit_model=version))
    with pytest.raises(
        ModelFileError,
        match=rf"older dpfit \({re.escape(dpfit.__version__)}\) in format {version}; .* format 4",
    ):
        from_json(older)


def test_a_file_of_a_newer_version():
    text = to_json(fitted(PrivateLinearRegression))
    newer = resigned(text, lambda c: c.update(dpfit_model=5, library="9.0", more=1))
    with pytest.raises(ModelFileError, match=r"newer dpfit \(9\.0\).*upgrade"):
        from_json(newer)
    loud = resigned(text, lambda c: c.update(dpfit_model=5, library=SIGNAL))
    with pytest.raises(ModelFileError, match=r"newer dpfit \(\\x1b\[2Jall is well\)"):
        from_json(loud)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    model = fitted(PrivateLinearRegression)
    path = tmp_path / "m.json"
    path.write_text("before")

    def full(_):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"no space left: .*m\.json'$"):
        model.save(path)
    monkeypatch.undo()
    assert path.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1
    model.save(path)
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    with pytest.raises(FileNotFoundError, match=r"nowhere.m\.json'$"):
        model.save(tmp_path / "nowhere" / "m.json")
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        model.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_model_that_is_not_fitted(tmp_path):
    from sklearn.exceptions import NotFittedError

    model = PrivateLinearRegression()
    for act in (lambda: model.save(tmp_path / "m"), model.to_sklearn, lambda: model.to_sql("t")):
        with pytest.raises(NotFittedError):
            act()
    assert not list(tmp_path.iterdir())


def test_a_file_has_nothing_of_the_size_of_the_table():
    small = len(to_json(seeded(PrivateLinearRegression, frame(2000), "price", schema=SCHEMA)))
    large = len(to_json(seeded(PrivateLinearRegression, frame(40_000), "price", schema=SCHEMA)))
    assert large < 1.3 * small
