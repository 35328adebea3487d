"""A fitted model as one immutable value, from which everything that users see is computed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np

from dpfit._parameters import one_of
from dpfit._typing import Array, Floats, Missing
from dpfit.accounting import PrivacyRecord, Provenance
from dpfit.exceptions import Code, NotFiniteError, ParameterError
from dpfit.models.coefficients import CoefficientErrors, Coefficients
from dpfit.models.effects import Curve, Effect, Levels, Line, NoEffect, effect_from_dict
from dpfit.models.json_numbers import decode, encode
from dpfit.schema import Kind, Level, Schema

__all__ = ["Assembled", "Model"]

# What an estimator makes of the engine's result: intercept, effects, and errors of coefficients.
Assembled: TypeAlias = tuple[float, tuple[Effect, ...], CoefficientErrors | None]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A fitted model.

    Parameters
    ----------
    estimator : str
        The name of the class that was fitted.
    names : tuple of str or None
        Names of the columns, if they have any.
    kinds : tuple of Kind
        Kinds of the columns.
    not_features : tuple of str
        Names of other columns of the table: the target and the unit.
    intercept : float
        The prediction where all effects are zero.
    effects : tuple of Effect
        One for each column.
    errors : CoefficientErrors or None
        Errors of the coefficients; None if the model is not linear.
    target_range : tuple of two floats
        The range of most target values; infinite if the noise hides it.
    prediction_range : tuple of two floats
        What predictions are clipped to: the range of the target, widened by its width at either
        end, and its public bounds; infinite if neither is known.
    residual_variance : float or None
        The variance of the residuals, estimated from clipped ones; None for a mean-only model.
    rows : float
        The number of rows (noisy, unless `rows_are_public`).
    rounds : int
        The number of boosting rounds.
    missing : {"error", "drop"}
        What `predict` does with rows that contain NaN or infinity.
    privacy : PrivacyRecord
        The releases of the fit and their privacy cost.
    provenance : Provenance or None
        When the model was fitted and, with a ledger, the data set and the entry; None if that is
        not known.

    Privacy
    -------
    Every field is released with noise, computed from such releases, or public.
    """

    estimator: str
    names: tuple[str, ...] | None
    kinds: tuple[Kind, ...]
    not_features: tuple[str, ...]
    intercept: float
    effects: tuple[Effect, ...]
    errors: CoefficientErrors | None
    target_range: tuple[float, float]
    prediction_range: tuple[float, float]
    residual_variance: float | None
    rows: float
    rounds: int
    missing: Missing
    privacy: PrivacyRecord
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        """Check that columns, effects and errors match."""
        if self.names is not None and len(self.names) != len(self.kinds):
            raise ValueError(f"got {len(self.names)} names for {len(self.kinds)} columns")
        if len(self.effects) != len(self.kinds):
            raise ValueError(f"got {len(self.effects)} effects for {len(self.kinds)} columns")
        for kind, effect in zip(self.kinds, self.effects, strict=True):
            levels = effect.levels if isinstance(effect, Levels) else ()
            if levels != kind.levels:
                raise ValueError("a column and its effect have different levels")
        if self.errors is not None and (
            len(self.errors.estimates) != len(self.coefficients.estimates)
            or any(isinstance(effect, Curve) for effect in self.effects)
        ):
            raise ValueError("errors and coefficients do not match")

    @property
    def column_names(self) -> list[str]:
        """The names of the columns; x0, x1, ... if they have none."""
        return [f"x{i}" for i in range(len(self.kinds))] if self.names is None else list(self.names)

    @property
    def status(self) -> Literal["full", "mean", "nothing"]:
        """What the data allowed: a full model, the mean only, or nothing."""
        if not math.isfinite(self.target_range[0]):
            return "nothing"
        return "mean" if self.residual_variance is None else "full"

    @property
    def rows_are_public(self) -> bool:
        """Whether the number of rows is exact, because all neighbouring tables have the same."""
        record = self.privacy
        same = record.neighbors == "replace" and record.max_rows is None
        return same and self.missing == "error"

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients of a linear model."""
        if self.errors is None:
            raise TypeError("only linear models have coefficients")
        names: list[str] = []
        is_level: list[bool] = []
        estimates: list[float] = []
        ranges: list[tuple[float, float]] = []
        for name, effect in zip(self.column_names, self.effects, strict=True):
            if isinstance(effect, Levels):
                names += [f"{name}={level}" for level in effect.levels]
                estimates += effect.effects
                ranges += [(0.0, 1.0) if one else NoEffect.range for one in effect.seen]
            else:
                names.append(name)
                estimates.append(effect.slope if isinstance(effect, Line) else 0.0)
                ranges.append(effect.range)
            is_level += [isinstance(effect, Levels)] * (len(names) - len(is_level))
        return Coefficients(
            names,
            np.array(is_level),
            np.array([*estimates, self.intercept]),
            np.array(ranges).reshape(-1, 2),
            self.errors,
        )

    @property
    def column_ranges(self) -> Floats:
        """The range of each column's effect, 0 to 1 for levels; infinite if it has none."""
        levels = NoEffect.range if self.residual_variance is None else (0.0, 1.0)
        return np.array([levels if isinstance(e, Levels) else e.range for e in self.effects])

    def curve(self, column: int) -> tuple[Floats | list[Level], Floats]:
        """Return the points, or levels, of a column and the height of its effect there."""
        effect = self.effects[column]
        if isinstance(effect, Levels):
            return list(effect.levels), np.array(effect.effects)
        return np.array(effect.points), np.array(effect.heights)

    def position(self, feature: int | str) -> int:
        """Return the position of a column that is given by its name or position."""
        names = self.column_names
        if isinstance(feature, str):
            if feature in names:
                return names.index(feature)
        elif isinstance(feature, int | np.integer) and 0 <= feature < len(names):
            return int(feature)
        some = ", ".join(names[:20])
        raise ParameterError(
            f"no feature {feature!r}", code=Code.NO_COLUMN, hint=f"use one of {some}"
        )

    def predict(self, columns: Sequence[Array]) -> Floats:
        """Return predictions from columns of numbers, in which levels are their positions."""
        numbers = [np.asarray(column) for column in columns]
        if self.missing == "error" and not all(np.isfinite(column).all() for column in numbers):
            raise NotFiniteError(
                "X contains NaN or infinity",
                code=Code.NOT_FINITE,
                hint='with missing="drop", predictions for such rows are NaN',
            )
        total = np.full(len(numbers[0]), self.intercept)
        for column, effect in zip(numbers, self.effects, strict=True):
            total += effect(column)
            # Even if it has no effect, because whether it has one depends on the noise.
            total[np.isnan(column)] = np.nan
        result: Floats = np.clip(total, *self.prediction_range)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the model as a dictionary that can be written as JSON."""
        return {
            "estimator": self.estimator,
            "names": None if self.names is None else list(self.names),
            "kinds": json.loads(Schema(dict(enumerate(self.kinds))).to_json()),
            "not_features": list(self.not_features),
            "intercept": encode(self.intercept),
            "effects": [effect.to_dict() for effect in self.effects],
            "errors": None if self.errors is None else self.errors.to_dict(),
            "target_range": encode(self.target_range),
            "prediction_range": encode(self.prediction_range),
            "residual_variance": encode(self.residual_variance),
            "rows": encode(self.rows),
            "rounds": self.rounds,
            "missing": self.missing,
            "privacy": self.privacy.to_dict(),
            **({} if self.provenance is None else {"provenance": self.provenance.to_dict()}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the model that :meth:`to_dict` wrote.

        Raises
        ------
        DpfitError, KeyError, TypeError, ValueError, and others
            If the dictionary does not describe a model.
        """
        if wrong := (data.keys() | {"provenance"}) ^ {field.name for field in fields(cls)}:
            raise ValueError(f"missing or unknown field {min(wrong)!r}")
        kinds = Schema.from_json(json.dumps(data["kinds"]))
        names, variance, errors = data["names"], data["residual_variance"], data["errors"]
        low, high = data["target_range"]
        least, most = data["prediction_range"]
        model = cls(
            estimator=str(data["estimator"]),
            names=None if names is None else tuple(map(str, names)),
            kinds=tuple(kinds[column] for column in range(len(kinds))),
            not_features=tuple(map(str, data["not_features"])),
            intercept=decode(data["intercept"]),
            effects=tuple(map(effect_from_dict, data["effects"])),
            errors=None if errors is None else CoefficientErrors.from_dict(errors),
            target_range=(decode(low), decode(high)),
            prediction_range=(decode(least), decode(most)),
            residual_variance=None if variance is None else decode(variance),
            rows=decode(data["rows"]),
            rounds=int(data["rounds"]),
            missing=cast(Missing, one_of("missing", data["missing"], ("error", "drop"))),
            privacy=PrivacyRecord.from_dict(data["privacy"]),
            provenance=Provenance.from_dict(data["provenance"]) if "provenance" in data else None,
        )
        # The statement is not compared: it is derived from the checked record by this version.
        if {**model.to_dict(), "privacy": None} != {**data, "privacy": None}:
            raise ValueError("unknown fields, or values of the wrong type")
        return model
