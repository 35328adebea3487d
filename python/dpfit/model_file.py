"""Models as files: JSON that a person can read, whole or not at all, and checked when read.

A file holds what was released, what is public, and the privacy record. Numbers are written with as
many digits as it takes to read the same double again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit._parameters import budget
from dpfit._printable import printable
from dpfit.accounting import PrivacyRecord
from dpfit.exceptions import DpfitError, ModelFileError, ParameterError
from dpfit.schema import Schema
from dpfit.whole_file import whole_file

if TYPE_CHECKING:
    from dpfit._private import PrivateModel

__all__ = ["from_json", "load", "numbers", "save", "to_json"]

Floats: TypeAlias = npt.NDArray[np.float64]

# Since 2 the kinds of columns tell dates from numbers, and errors of slopes have a bias.
_VERSION = 2
_FIELDS = {
    "dpfit_model",
    "library",
    "class",
    "parameters",
    "columns",
    "released",
    "privacy",
    "checksum",
}
_OF_COLUMNS = {"names", "kinds", "aside"}
# Neither says anything about the model.
_NOT_KEPT = {"n_jobs", "verbose", "random_state"}
# What a file may raise, whatever is in it: the last for lists in lists in lists.
_OF_CONTENT = (
    DpfitError,
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_STRANGE = {math.inf: "inf", -math.inf: "-inf"}


def to_json(model: PrivateModel) -> str:
    """Return a fitted model as text.

    Parameters
    ----------
    model : PrivateModel
        A fitted model.

    Privacy
    -------
    Everything in it is an attribute of the fitted model, and so released or public.

    Raises
    ------
    ParameterError
        If parameters were set anew after the fit, so that they say something else than its record,
        or if the model is of a class of somebody else, which could not be read again.
    """
    if type(model) not in _classes().values():
        raise ParameterError(
            f"only models of {' and '.join(_classes())} can be saved, and no subclass of theirs"
        )
    if problem := _contradiction(model):
        raise ParameterError(f"{problem}: set the parameters of the fit, or fit again")
    parameters = {k: _number(v) for k, v in model.get_params().items() if k not in _NOT_KEPT}
    if isinstance(parameters["schema"], Schema):
        parameters["schema"] = json.loads(parameters["schema"].to_json())
    names = getattr(model, "feature_names_in_", None)
    content = {
        "dpfit_model": _VERSION,
        "library": version("dpfit"),
        "class": next(name for name, cls in _classes().items() if cls is type(model)),
        "parameters": parameters,
        "columns": {
            "names": None if names is None else [str(name) for name in names],
            "kinds": json.loads(Schema(dict(enumerate(model._kinds))).to_json()),
            "aside": list(model._aside),
        },
        "released": _plain(model._released()),
        "privacy": model.privacy_.to_dict(),
    }
    content["checksum"] = _checksum(content)
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str) -> PrivateModel:
    """Return the model that :func:`to_json` wrote.

    Parameters
    ----------
    text : str
        The file's text.

    Raises
    ------
    ModelFileError
        If the text is something else, was changed, or is of a newer version.
    """
    problem = None
    try:
        return _model(_read(text))
    except ModelFileError:
        raise
    except _OF_CONTENT as error:
        problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
    raise ModelFileError(f"the file is not of a model of dpfit: {printable(problem)}")


def save(model: PrivateModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which is there as a whole or not at all."""
    text = to_json(model)
    with whole_file(path) as file:
        file.write(text.encode())


def load(path: str | os.PathLike[str]) -> PrivateModel:
    """Read a model that was saved.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    PrivateLinearRegression or PrivateAdditiveRegression
        The model: every attribute is the same, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is something else, was changed, or is of a newer version of dpfit.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import dpfit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, size=(20_000, 2))
    >>> model = dpfit.PrivateLinearRegression(epsilon=1.0).fit(X, X @ [3, -1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     again = dpfit.load(os.path.join(folder, "model.json"))
    >>> bool(np.all(again.coef_ == model.coef_))
    True
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        text = ""
    try:
        return from_json(text)
    except ModelFileError as error:
        problem = str(error)
    raise ModelFileError(f"{os.fspath(path)!r}: {problem}")


def numbers(value: Any) -> Floats:
    """Return an array from lists of numbers, as they are in a file."""
    return np.array(_numbers(value), dtype=np.float64)


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(part) for part in value]
    if isinstance(value, str):
        found = {text: number for number, text in _STRANGE.items()}.get(value)
        if found is None:
            raise ValueError("a number is not one")
        return found
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number is not one")
    return float(value)


def _number(value: Any) -> Any:
    """Return a number as one that JSON has words for, anything else as it is.

    A fit takes numbers of NumPy's and other types, and leaves parameters as they were given.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _plain(value: Any) -> Any:
    """Return what JSON has words for."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return _STRANGE[value]
    return value


def _checksum(content: Mapping[str, Any]) -> str:
    """Return a hash of all fields but itself: it tells of accidents, not of forgery."""
    fields = {name: value for name, value in content.items() if name != "checksum"}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _read(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=_once)
    except ModelFileError:
        raise
    except (ValueError, RecursionError):
        # Of text that is no JSON, and of numbers with thousands of digits.
        content = None
    written = content.get("dpfit_model") if isinstance(content, dict) else None
    # True is an integer in Python.
    if not isinstance(content, dict) or type(written) is not int or written < 1:
        raise ModelFileError("the file is not of a model of dpfit")
    if written > _VERSION:
        raise ModelFileError(
            f"the file was written by a newer dpfit ({_shown(content.get('library'))}): "
            "pip install --upgrade dpfit"
        )
    if written < _VERSION:
        # None of those was in a release.
        raise ModelFileError(
            f"the file was written by an older dpfit ({_shown(content.get('library'))}), "
            "which alone can read it"
        )
    if missing := _FIELDS - content.keys():
        raise ModelFileError(f"the file has no field {min(missing)!r}")
    if unknown := content.keys() - _FIELDS:
        raise ModelFileError(f"the file has an unknown field {min(unknown)!r}")
    if content["checksum"] != _checksum(content):
        raise ModelFileError("the file was changed after it was written: its checksum is wrong")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, whose fields may not be there twice.

    Readers differ in which of two they take, so that two people would see two models.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("the file is not of a model of dpfit: a field is there twice")
    return found


def _classes() -> dict[str, type[PrivateModel]]:
    """Return the classes that files are of."""
    import dpfit

    return {
        "PrivateLinearRegression": dpfit.PrivateLinearRegression,
        "PrivateAdditiveRegression": dpfit.PrivateAdditiveRegression,
    }


def _model(content: Mapping[str, Any]) -> PrivateModel:
    cls = _classes()[content["class"]]
    parameters = dict(content["parameters"])
    if parameters["schema"] is not None:
        parameters["schema"] = Schema.from_json(json.dumps(parameters["schema"]))
    model: PrivateModel = cls(**parameters)
    columns = content["columns"]
    if unknown := columns.keys() - _OF_COLUMNS:
        raise ValueError(f"the columns have an unknown field {min(unknown)!r}")
    kinds = Schema.from_json(json.dumps(columns["kinds"]))
    model._kinds = [kinds[place] for place in range(len(kinds))]
    model._aside = [str(name) for name in columns["aside"]]
    model.n_features_in_ = len(kinds)
    if columns["names"] is not None:
        if len(columns["names"]) != len(kinds):
            raise ValueError("there are not as many names as columns")
        model.feature_names_in_ = np.array(columns["names"], dtype=object)
    model._restore(content["released"])
    if _plain(model._released()) != content["released"]:
        raise ValueError("what was released has unknown fields, or values of another type")
    model.privacy_ = PrivacyRecord.from_dict(content["privacy"])
    if problem := _contradiction(model):
        raise ValueError(problem)
    return model


def _contradiction(model: PrivateModel) -> str | None:
    """Return what the parameters say otherwise than the record, None if nothing.

    Privacy
    -------
    The record is what holds. But parameters are what people look at first.
    """
    record = model.privacy_
    if record.unit != model._protected() or record.neighbors != model.neighbors:
        return "the record and the parameters do not protect the same"
    asked = budget(model.epsilon, model.delta, model.mu)
    # A delta for which only a hopeless epsilon holds is not in the record.
    stated = {**asked.named(), **({} if record.delta is not None else {"delta": None})}
    if any(getattr(record, name) != value for name, value in stated.items() if value is not None):
        return "the record and the parameters do not have the same budget"
    return None


def _shown(text: Any) -> str:
    """Return a word of a file that is not known to be one of dpfit's."""
    return printable(text)[:40] if isinstance(text, str) else "unknown"
