"""How good a model is on other rows: released numbers with their errors, and a privacy record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from dpfit._parameters import real
from dpfit.accounting import PrivacyRecord
from dpfit.accounting.statement import rounded_up
from dpfit.models.numbers import NONE, number_text
from dpfit.models.tables import Summary
from dpfit.statistics import RowCount

__all__ = ["CalibrationBin", "Evaluation", "MeasuredNumber"]

_NOT_PRIVATE = "NOT PRIVATE: the noise came from a fixed seed (random_state)."
_LEVEL = 0.95


@dataclass(frozen=True)
class MeasuredNumber:
    """A released number and its standard errors.

    Parameters
    ----------
    value : float
        The number; NaN if the noise hides it.
    noise : float
        The standard error due to the noise added for privacy: how far the number is from the exact
        one of these rows.
    sampling : float
        The standard error due to the rows being a sample of a population.
    possible : tuple of two floats, default (-inf, inf)
        The smallest and the largest possible value, where intervals are cut off: R² is at most 1,
        and the RMSE is not negative.
    """

    value: float
    noise: float
    sampling: float
    possible: tuple[float, float] = (-math.inf, math.inf)

    @classmethod
    def unless_hidden(cls, value: float, noise: float, sampling: float) -> MeasuredNumber:
        """Return a number, which is NaN if its noise is infinite."""
        return cls(value if math.isfinite(noise) else math.nan, noise, sampling)

    @property
    def error(self) -> float:
        """Both standard errors together."""
        return math.hypot(self.noise, self.sampling)

    def interval(self, level: float = _LEVEL, *, sampling: bool = True) -> tuple[float, float]:
        """Return a confidence interval.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level.
        sampling : bool, default True
            Whether the interval is for the population that the rows are a sample of. If False, it
            is for the exact number of these rows.
        """
        level = real("level", level, 0.0, 1.0 - 1e-15)
        width = NormalDist().inv_cdf((1.0 + level) / 2) * (self.error if sampling else self.noise)
        least, most = self.possible
        low, high = self.value - width, self.value + width
        return min(max(low, least), most), min(max(high, least), most)

    def to_dict(self) -> dict[str, float | None]:
        """Return the number and its errors for JSON; None for what is not known."""
        found = {"value": self.value, "noise": self.noise, "sampling": self.sampling}
        return {name: each if math.isfinite(each) else None for name, each in found.items()}


@dataclass(frozen=True)
class CalibrationBin:
    """The rows whose predictions are in an interval.

    Parameters
    ----------
    low, high : float
        The interval.
    predicted : float
        The mean prediction, to the width of a bin of the released histogram.
    observed : MeasuredNumber
        The mean of the target.
    rows : float
        The number of rows (noisy).
    """

    low: float
    high: float
    predicted: float
    observed: MeasuredNumber
    rows: float

    def to_dict(self) -> dict[str, Any]:
        """Return the bin for JSON."""
        ends = {"low": self.low, "high": self.high, "predicted": self.predicted}
        known = {name: each if math.isfinite(each) else None for name, each in ends.items()}
        return {**known, "observed": self.observed.to_dict(), "rows": self.rows}


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How good a model is on other rows: text with `str`, HTML in a notebook.

    Parameters
    ----------
    estimator : str
        The name of the class that was fitted.
    rows : float
        The number of rows; noisy, unless it is public.
    rmse, r2, mean_residual : MeasuredNumber
        The root of the mean squared residual, the coefficient of determination, and the mean of
        target minus prediction.
    residual_quantiles : tuple of (float, MeasuredNumber)
        Shares of the rows, and the residual that this share does not exceed.
    calibration : tuple of CalibrationBin
        The mean of the target where predictions are low, ..., high.
    clipped : tuple of two floats
        Residuals, and distances of the target from its mean, were clipped to these sizes.
    beyond : float
        The share of residuals that were clipped (noisy).
    privacy : PrivacyRecord
        The releases and their privacy cost, for the rows that were evaluated.
    max_weight : float or None
        The largest weight, if rows have weights: all numbers but `rows` are weighted then.
    """

    estimator: str
    rows: float
    rmse: MeasuredNumber
    r2: MeasuredNumber
    mean_residual: MeasuredNumber
    residual_quantiles: tuple[tuple[float, MeasuredNumber], ...]
    calibration: tuple[CalibrationBin, ...]
    clipped: tuple[float, float]
    beyond: float
    privacy: PrivacyRecord
    max_weight: float | None = None

    def statement(self) -> str:
        """Return the privacy guarantee of the evaluated rows in plain English."""
        return self.privacy.statement().replace("This model protects", "This evaluation protects")

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers for JSON; None for what is not known."""
        return {
            "estimator": self.estimator,
            "rows": self.rows,
            "rmse": self.rmse.to_dict(),
            "r2": self.r2.to_dict(),
            "mean_residual": self.mean_residual.to_dict(),
            "residual_quantiles": [
                {"share": share, **found.to_dict()} for share, found in self.residual_quantiles
            ],
            "calibration": [each.to_dict() for each in self.calibration],
            "clipped": {"residual": self.clipped[0], "target": self.clipped[1]},
            "beyond": self.beyond,
            **({} if self.max_weight is None else {"max_weight": self.max_weight}),
            "privacy": self.privacy.to_dict(),
        }

    def summary(self) -> Summary:
        """Return all numbers as a table."""
        record = self.privacy
        if record.epsilon is None or record.delta is None:
            budget = f"mu {rounded_up(record.mu or 0.0)}"
        else:
            budget = f"epsilon {rounded_up(record.epsilon)}, delta {rounded_up(record.delta)}"
        is_noisy = any(event.statistic == RowCount.name for event in record.events)
        facts: tuple[tuple[str, str], ...] = (
            ("Budget", budget),
            ("Rows (noisy)" if is_noisy else "Rows", f"{self.rows:.0f}"),
            ("Neighbors", record.neighbors),
            ("Protects", record.protects),
        )
        if self.max_weight is not None:
            facts += (("Weights", f"at most {number_text(self.max_weight)}"),)
        named = [("R²", self.r2), ("RMSE", self.rmse), ("mean residual", self.mean_residual)]
        named += [(f"{100 * share:g} % residual", each) for share, each in self.residual_quantiles]
        named += [
            (f"target at {number_text(each.predicted)}", each.observed) for each in self.calibration
        ]
        rows = tuple((name, *map(_text, _numbers(each))) for name, each in named)
        notes = [
            "noise is the standard error due to the noise added for privacy, sampling that due to "
            "the rows being a sample; the interval has both. A residual is target minus "
            "prediction. `target at` is the mean of the target where predictions have this mean.",
            f"Residuals were clipped to ±{number_text(self.clipped[0])}: "
            f"{100 * min(max(self.beyond, 0.0), 1.0):.2g} % of them (noisy).",
        ]
        if not math.isfinite(self.rmse.value):
            notes.append(
                "Most numbers are not known: the noise hides how large residuals are. More rows or "
                "a larger budget help."
            )
        elif not math.isfinite(self.r2.value):
            notes.append(
                "R² is not known: the noise hides the variance of the target. More rows or a "
                "larger budget help."
            )
        warning = _NOT_PRIVATE if record.insecure_seed else ""
        columns = ("", "estimate", "noise", "sampling", "[0.025", "0.975]")
        return Summary(
            f"Evaluation of {self.estimator}", warning, facts, columns, rows, tuple(notes)
        )

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _numbers(found: MeasuredNumber) -> tuple[float, ...]:
    return (found.value, found.noise, found.sampling, *found.interval())


def _text(value: float) -> str:
    return number_text(value) if math.isfinite(value) else NONE
