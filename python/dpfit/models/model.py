"""A fitted model as one immutable value, from which everything that users see is computed."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias, cast, get_args

import numpy as np

from dpfit._parameters import one_of
from dpfit._typing import Array, Floats, Missing
from dpfit.accounting import PrivacyRecord, Provenance
from dpfit.exceptions import Code, NotFiniteError, ParameterError
from dpfit.models.coefficients import Coding, Coefficients
from dpfit.models.effects import Effect, Levels, NoEffect, effect_from_dict
from dpfit.models.estimates import Estimates, Inference, Inferred
from dpfit.models.json_numbers import decode, encode
from dpfit.models.prediction import Columns, infer, is_worth_it, predict
from dpfit.schema import Indicators, Kind, Level, Schema

__all__ = ["Assembled", "Kinds", "Model"]

# What an estimator makes of the engine's result: intercept, effects, and estimates with errors.
Assembled: TypeAlias = tuple[float, tuple[Effect, ...], Estimates]
# What intervals of predictions are about.
Kinds: TypeAlias = Literal["mean", "observation"]

# Rows whose errors are computed at a time: their parameters need memory.
_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class Model:
    """A fitted model.

    Parameters
    ----------
    estimator : str
        The name of the class that was fitted.
    names : tuple of str or None
        Names of the columns of the table, if they have any.
    kinds : tuple of Kind
        Kinds of the columns of the table.
    not_features : tuple of str
        Names of other columns of the table: the target and the unit.
    intercept : float
        The prediction where all effects are zero.
    effects : tuple of Effect
        One for each of `columns`: the columns of the table and, with ``missing="indicator"``, flags
        of missing values.
    estimates : Estimates
        The parameters of all effects and, last, the prediction where columns are at their means,
        before shrinkage, with their errors.
    target_range : tuple of two floats
        The range of most target values; infinite if the noise hides it.
    prediction_range : tuple of two floats
        What predictions are clipped to: the range of the target, widened by its width at either
        end, and its public bounds; infinite if neither is known.
    residual_variance : float or None
        The variance of the residuals, estimated from clipped ones; None for a mean-only model.
    r_squared : tuple of two floats or None
        The share of the target's variance that the model explains, and its standard error; None if
        the engine did not release what it needs.
    rows : float
        The number of rows (noisy, unless `rows_are_public`).
    rounds : int
        The number of boosting rounds.
    missing : {"error", "drop", "indicator"}
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
    estimates: Estimates
    target_range: tuple[float, float]
    prediction_range: tuple[float, float]
    residual_variance: float | None
    r_squared: tuple[float, float] | None
    rows: float
    rounds: int
    missing: Missing
    privacy: PrivacyRecord
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        """Check that columns, effects and errors match."""
        if self.names is not None and len(self.names) != len(self.kinds):
            raise ValueError(f"got {len(self.names)} names for {len(self.kinds)} columns")
        columns = self.columns
        if len(self.effects) != len(columns):
            raise ValueError(f"got {len(self.effects)} effects for {len(columns)} columns")
        for kind, effect in zip(columns, self.effects, strict=True):
            levels = effect.levels if isinstance(effect, Levels) else ()
            if levels != kind.levels:
                raise ValueError("a column and its effect have different levels")
        if len(self.estimates.values) != self.size:
            raise ValueError("estimates and parameters of effects do not match")

    @property
    def indicators(self) -> Indicators | None:
        """Which columns and levels indicate missing values; None if there are none."""
        return Indicators(self.kinds) if self.missing == "indicator" else None

    @property
    def columns(self) -> tuple[Kind, ...]:
        """The kinds of the columns that have effects."""
        return self.kinds if self.indicators is None else self.indicators.columns

    @property
    def column_names(self) -> list[str]:
        """The names of these columns; x0, x1, ... if those of the table have no names."""
        names = [f"x{i}" for i in range(len(self.kinds))] if self.names is None else self.names
        return list(names) if self.indicators is None else self.indicators.names(names)

    def middle(self, column: int) -> float:
        """Return the number that a missing value of a column counts as."""
        low, high = self.effects[column].range
        return (low + high) / 2 if math.isfinite(high - low) else 0.0

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
    def starts(self) -> list[int]:
        """The place of each effect's first parameter, and last that of the constant."""
        return [0, *itertools.accumulate(effect.size for effect in self.effects)]

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.starts[-1] + 1

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients of a linear model, with levels relative to their references."""
        return Coefficients.of(self)

    def coded(self, coding: Coding) -> Coefficients:
        """Return the coefficients with another coding, and those of levels that are not listed."""
        return Coefficients.of(self, coding, others=True)

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

    def band(self, column: int, level: float, inference: Inference = "population") -> Floats:
        """Return lower and upper ends of intervals for the heights of :meth:`curve`.

        They are centred at heights before shrinkage, and widened to contain those after it. NaN
        where nothing is known.
        """
        effect, start = self.effects[column], self.starts[column]
        if isinstance(effect, Levels):
            inside = effect.design(np.arange(effect.size)) - np.array(effect.baseline)
        else:
            inside = effect.design(np.array(effect.points))
        functions = np.zeros((len(inside), self.size))
        functions[:, start : start + effect.size] = inside
        found = self.estimates.of(functions, inference)
        if not inside.any():
            # Nothing of the column is in the model.
            found.known[:] = False
        return _containing(found.interval(level), self.curve(column)[1])

    def is_seen(self, column: int) -> Array:
        """Return which heights of :meth:`curve` have an interval: all or none, or some levels."""
        found: Any = np.isfinite(self.band(column, 0.95)).all(axis=1)
        is_levels = isinstance(self.effects[column], Levels)
        return np.asarray(found if is_levels else np.full(len(found), found.all()))

    def importance(self, column: int) -> float:
        """Return the largest minus the smallest height that has an interval; 0 if none has."""
        heights = self.curve(column)[1][self.is_seen(column)]
        return float(np.ptp(heights)) if len(heights) else 0.0

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

    def predict(self, columns: Columns) -> Floats:
        """Return predictions from columns of numbers, in which levels are their positions.

        A row with a missing value has none, even if its column has no effect: whether it has one
        depends on the noise.
        """
        try:
            return predict(
                self.intercept,
                self.effects,
                self.prediction_range,
                self._completed(columns),
                finite=self.missing == "error",
            )
        except NotFiniteError:
            problem = NotFiniteError(
                "X contains NaN or infinity",
                code=Code.NOT_FINITE,
                hint='with missing="drop", predictions for such rows are NaN',
            )
        raise problem

    def _completed(self, columns: Columns) -> Columns:
        """Return the columns of the model, without missing values if they have indicators.

        All values of a row are NaN if one is missing in a column without an indicator.
        """
        if self.indicators is None:
            return columns
        numbers = list(columns.T) if isinstance(columns, np.ndarray) else list(columns)
        numbers = [np.asarray(column) for column in numbers]
        found = self.indicators.added_to(numbers)
        for place in self.indicators.flagged:
            there = np.isfinite(numbers[place])
            found[place] = np.where(there, numbers[place], self.middle(place))
        unexpected = self.indicators.unexpected(numbers)
        if unexpected.any():
            found = [np.where(unexpected, np.nan, column) for column in found]
        return found

    def predict_with_interval(
        self,
        columns: Columns,
        level: float,
        kind: Kinds = "mean",
        inference: Inference = "population",
    ) -> Floats:
        """Return predictions and the ends of their intervals, as three columns.

        Intervals are centred at predictions before shrinkage, and widened to contain the others.
        NaN where nothing is known.
        """
        predictions = self.predict(columns)
        found = np.column_stack([predictions] * 3)
        for part, inferred in self._inferred(self._completed(columns), len(found), inference):
            if kind == "observation":
                inferred = inferred.plus(self.observation_variance)
            found[part, 1:] = _containing(inferred.interval(level), predictions[part])
        found[np.isnan(predictions)] = np.nan
        return found

    @property
    def observation_variance(self) -> float:
        """The variance of observations about their means: of residuals, or of the target.

        A model that is a mean has no residual variance, but its sampling error is that of a mean.
        """
        if self.residual_variance is not None:
            return self.residual_variance
        return float(self.estimates.sampling[-1, -1]) * self.rows

    def _inferred(
        self, columns: Columns, rows: int, inference: Inference
    ) -> Iterator[tuple[slice, Inferred]]:
        """Return what is inferred about the mean of rows, some at a time."""
        if is_worth_it(self.effects, rows):
            yield slice(None), infer(self.effects, self.estimates, columns, inference)
            return
        separate = columns.T if isinstance(columns, np.ndarray) else columns
        numbers = [np.asarray(column) for column in separate]
        for start in range(0, rows, _ROWS):
            part = slice(start, start + _ROWS)
            pairs = zip(numbers, self.effects, strict=True)
            parts = [effect.design(column[part]) for column, effect in pairs]
            functions = np.column_stack([*parts, np.ones(len(numbers[0][part]))])
            yield part, self.estimates.of(np.nan_to_num(functions), inference)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as a dictionary that can be written as JSON."""
        return {
            "estimator": self.estimator,
            "names": None if self.names is None else list(self.names),
            "kinds": json.loads(Schema(dict(enumerate(self.kinds))).to_json()),
            "not_features": list(self.not_features),
            "intercept": encode(self.intercept),
            "effects": [effect.to_dict() for effect in self.effects],
            "estimates": self.estimates.to_dict(),
            "target_range": encode(self.target_range),
            "prediction_range": encode(self.prediction_range),
            "residual_variance": encode(self.residual_variance),
            "r_squared": encode(self.r_squared),
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
        names, variance, r_squared = data["names"], data["residual_variance"], data["r_squared"]
        low, high = data["target_range"]
        least, most = data["prediction_range"]
        model = cls(
            estimator=str(data["estimator"]),
            names=None if names is None else tuple(map(str, names)),
            kinds=tuple(kinds[column] for column in range(len(kinds))),
            not_features=tuple(map(str, data["not_features"])),
            intercept=decode(data["intercept"]),
            effects=tuple(map(effect_from_dict, data["effects"])),
            estimates=Estimates.from_dict(data["estimates"]),
            target_range=(decode(low), decode(high)),
            prediction_range=(decode(least), decode(most)),
            residual_variance=None if variance is None else decode(variance),
            r_squared=None if r_squared is None else (decode(r_squared[0]), decode(r_squared[1])),
            rows=decode(data["rows"]),
            rounds=int(data["rounds"]),
            missing=cast(Missing, one_of("missing", data["missing"], get_args(Missing))),
            privacy=PrivacyRecord.from_dict(data["privacy"]),
            provenance=Provenance.from_dict(data["provenance"]) if "provenance" in data else None,
        )
        # The statement is not compared: it is derived from the checked record by this version.
        if {**model.to_dict(), "privacy": None} != {**data, "privacy": None}:
            raise ValueError("unknown fields, or values of the wrong type")
        return model


def _containing(ends: Floats, values: Floats) -> Floats:
    """Return intervals widened to contain values; NaN stays NaN."""
    return np.column_stack([np.minimum(ends[:, 0], values), np.maximum(ends[:, 1], values)])
