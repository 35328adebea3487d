"""Model files: readable JSON, written atomically and checked when read.

A file contains the parameters and the :class:`~dpfit.models.model.Model`: released and public
numbers and the privacy record. Numbers are written with all digits that are needed to read the same
double again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit._atomic_file import whole_file
from dpfit._parameters import budget
from dpfit._printable import printable
from dpfit.accounting import Ledger
from dpfit.exceptions import DpfitError, ModelFileError, ParameterError
from dpfit.models.effects import Curve, Line
from dpfit.models.model import Model
from dpfit.schema import Schema

if TYPE_CHECKING:
    from dpfit.models.base import PrivateModel

__all__ = ["from_json", "load", "save", "to_json"]


# Version 2 distinguished dates from numbers and added the bias of coefficients; version 3 had the
# fields of `Model`; version 4 has errors of all parameters, also of curves, and `provenance`, which
# may be missing.
_VERSION = 4
_FIELDS = {"dpfit_model", "library", "parameters", "model", "checksum"}
# Parameters that are not saved, because they do not describe the model.
_NOT_KEPT = {"ledger", "n_jobs", "verbose", "random_state"}
# What reading may raise, whatever the file contains: the last for deeply nested lists.
_BAD_CONTENT = (
    DpfitError,
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


def to_json(model: PrivateModel) -> str:
    """Return a fitted estimator as JSON.

    Raises
    ------
    ParameterError
        If parameters were changed after the fit and contradict its record, or if the estimator's
        class is not dpfit's, so that it could not be loaded again.

    Privacy
    -------
    The text contains only fitted attributes and parameters, which are released or public.
    """
    if type(model) is not _estimator(type(model).__name__):
        raise ParameterError("only dpfit's own estimators can be saved, not subclasses of them")
    if problem := _contradiction(model):
        raise ParameterError(problem, hint="restore the parameters of the fit, or fit again")
    parameters = {k: _number(v) for k, v in model.get_params().items() if k not in _NOT_KEPT}
    if isinstance(parameters["schema"], Schema):
        parameters["schema"] = json.loads(parameters["schema"].to_json())
    content = {
        "dpfit_model": _VERSION,
        "library": version("dpfit"),
        "parameters": parameters,
        "model": model.model_.to_dict(),
    }
    content["checksum"] = _checksum(content)
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str) -> PrivateModel:
    """Return the estimator that :func:`to_json` wrote.

    Raises
    ------
    ModelFileError
        If the text is not a dpfit model, was changed, or was written by another version.
    """
    problem = None
    try:
        return _model(_read(text))
    except ModelFileError:
        raise
    except _BAD_CONTENT as error:
        problem = f"missing field {error}" if isinstance(error, KeyError) else str(error)
    raise ModelFileError(f"not a dpfit model file: {printable(problem)}")


def save(model: PrivateModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file, completely or not at all; its ledger gets a checksum."""
    content = to_json(model).encode()
    with whole_file(path) as file:
        file.write(content)
    provenance = model.model_.provenance
    if model.ledger is not None and provenance is not None and provenance.ledger_entry is not None:
        name = os.path.basename(os.fspath(path))
        Ledger.of(model.ledger).add_checksum(provenance.ledger_entry, name, content)


def load(path: str | os.PathLike[str]) -> PrivateModel:
    """Load an estimator from a file that ``model.save`` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    PrivateLinearRegression or PrivateAdditiveRegression
        The fitted estimator; every fitted attribute has the same bits.

    Raises
    ------
    ModelFileError
        If the file is not a dpfit model file, was changed, or was written by another version.
    OSError
        If the file cannot be read.

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
        problem = error
    raise ModelFileError(f"{os.fspath(path)!r}: {problem.message}", hint=problem.hint)


def _number(value: Any) -> Any:
    """Return a parameter as JSON can represent it: numbers may be of NumPy's and other types."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _checksum(content: Mapping[str, Any]) -> str:
    """Return a hash of all other fields, to detect accidental changes, not forgery."""
    fields = {name: value for name, value in content.items() if name != "checksum"}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _read(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=_without_duplicates)
    except ModelFileError:
        raise
    except (ValueError, RecursionError):
        # Not JSON, or a number with thousands of digits.
        content = None
    written = content.get("dpfit_model") if isinstance(content, dict) else None
    # True is an integer in Python.
    if not isinstance(content, dict) or type(written) is not int or written < 1:
        raise ModelFileError("not a dpfit model file")
    if written != _VERSION:
        newer = written > _VERSION
        raise ModelFileError(
            f"the model file was written by {'a newer' if newer else 'an older'} dpfit "
            f"({_shown(content.get('library'))}) in format {_shown(str(written))}; this version "
            f"reads format {_VERSION}",
            hint="pip install --upgrade dpfit" if newer else "read it with that dpfit or fit again",
        )
    if missing := _FIELDS - content.keys():
        raise ModelFileError(f"the model file has no field {min(missing)!r}")
    if unknown := content.keys() - _FIELDS:
        raise ModelFileError(f"the model file has an unknown field {min(unknown)!r}")
    if content["checksum"] != _checksum(content):
        raise ModelFileError("the model file was changed after it was written: wrong checksum")
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse duplicate fields, of which some readers use the first value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("not a dpfit model file: a field occurs twice")
    return found


def _estimator(name: Any) -> type[PrivateModel] | None:
    """Return dpfit's estimator class with a name, None if there is none."""
    import dpfit
    from dpfit.models.base import PrivateModel

    found = getattr(dpfit, name) if name in dpfit.__all__ else None
    return found if isinstance(found, type) and issubclass(found, PrivateModel) else None


def _model(content: Mapping[str, Any]) -> PrivateModel:
    value = Model.from_dict(content["model"])
    cls = _estimator(value.estimator)
    other = Curve if hasattr(cls, "coef_") else Line
    if cls is None or any(isinstance(effect, other) for effect in value.effects):
        raise ValueError("unknown estimator, or effects that do not match it")
    parameters = dict(content["parameters"])
    if parameters["schema"] is not None:
        parameters["schema"] = Schema.from_json(json.dumps(parameters["schema"]))
    model: PrivateModel = cls(**parameters)
    model.model_, model.privacy_ = value, value.privacy
    if value.provenance is not None:
        model.provenance_ = value.provenance
    model.n_features_in_ = len(value.kinds)
    if value.names is not None:
        model.feature_names_in_ = np.array(value.names, dtype=object)
    if problem := _contradiction(model):
        raise ValueError(problem)
    return model


def _contradiction(model: PrivateModel) -> str | None:
    """Return how the parameters contradict the fitted model, None if they do not.

    Privacy
    -------
    The record states what holds, but people look at parameters first.
    """
    record = model.privacy_
    if record.max_rows != model.max_rows or record.neighbors != model.neighbors:
        return "the parameters and the privacy record protect different units"
    asked = budget(model.epsilon, model.delta, model.mu)
    # The record has no delta if epsilon would exceed its limit.
    stated = {**asked.named(), **({} if record.delta is not None else {"delta": None})}
    if any(getattr(record, name) != value for name, value in stated.items() if value is not None):
        return "the parameters and the privacy record have different budgets"
    if model.missing != model.model_.missing:
        return "the parameters and the model treat missing values differently"
    return None


def _shown(text: Any) -> str:
    """Return a string from a file that may not be dpfit's, for a message."""
    return printable(text)[:40] if isinstance(text, str) else "unknown"
