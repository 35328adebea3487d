"""A fitted model as JSON, for ``--json``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfit.models.model import Model

__all__ = ["model_as_json"]

# Confidence of the intervals, as in the summary.
_CONFIDENCE = 0.95


def model_as_json(estimator: Any) -> dict[str, Any]:
    """Return a fitted model as a dictionary that can be written as JSON.

    Privacy
    -------
    Every value was released, or is public.
    """
    model: Model = estimator.model_
    record, summary, variance = model.privacy, estimator.summary(), model.residual_variance
    return {
        "class": model.estimator,
        "status": model.status,
        "epsilon": record.epsilon,
        "delta": record.delta,
        "mu": record.mu,
        "neighbors": record.neighbors,
        "max_rows": record.max_rows,
        "unit_name": record.unit_name,
        "private": not record.insecure_seed,
        "fitted_at": getattr(model.provenance, "fitted_at", None),
        "dataset": getattr(model.provenance, "dataset", None),
        "ledger_entry": getattr(model.provenance, "ledger_entry", None),
        "rows_as_released": model.rows,
        "rounds": model.rounds,
        "residual_std": None if variance is None else math.sqrt(variance),
        "target_range": _finite(model.target_range),
        "intercept": model.intercept,
        **(_curves(model) if model.errors is None else _coefficients(model)),
        "warning": summary.warning or None,
        "notes": list(summary.notes),
        "statement": record.statement(),
    }


def _coefficients(model: Model) -> dict[str, Any]:
    """Return the coefficients and the intercept, with their errors and intervals."""
    terms = model.coefficients
    parts = terms.errors.by_cause()
    errors: list[dict[str, Any]] = [
        {
            **{name: _number(part[place]) for name, part in parts.items()},
            "interval": _finite(ends),
        }
        for place, ends in enumerate(terms.interval(_CONFIDENCE))
    ]
    found = []
    for name, coef, estimate, error, ends in zip(
        terms.names,
        terms.estimates[:-1],
        terms.errors.estimates[:-1],
        errors[:-1],
        terms.ranges,
        strict=True,
    ):
        # Nothing is known about a term without a range, such as a slope of a mean-only model.
        known = {"estimate": _number(estimate), **error}
        known = known if _finite(ends) else dict.fromkeys(known)
        found.append({"name": name, "coef": float(coef), **known, "range": _finite(ends)})
    intercept = {f"intercept_{name}": value for name, value in errors[-1].items()}
    return {**intercept, "interval_level": _CONFIDENCE, "coefficients": found}


def _curves(model: Model) -> dict[str, Any]:
    """Return the curves of an additive model."""
    found = []
    for place, name in enumerate(model.column_names):
        x, height = model.curve(place)
        ends = _finite(model.column_ranges[place])
        found.append(
            {
                "name": name,
                "range": None if isinstance(x, list) else ends,
                "importance": float(height.max() - height.min()) if ends else None,
                **({"levels": x} if isinstance(x, list) else {"x": x.tolist()}),
                "height": height.tolist(),
            }
        )
    return {"curves": found}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _finite(ends: Iterable[float]) -> list[float] | None:
    """Return two ends, None if they are not known."""
    found = [float(end) for end in ends]
    return found if all(map(math.isfinite, found)) else None
