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
        "r_squared": None if model.r_squared is None else model.r_squared[0],
        "r_squared_std_error": None if model.r_squared is None else model.r_squared[1],
        "target_range": _finite(model.target_range),
        "intercept": model.intercept,
        **(_coefficients(model) if hasattr(estimator, "coef_") else _curves(model)),
        "warning": summary.warning or None,
        "notes": list(summary.notes),
        "statement": record.statement(),
    }


def _coefficients(model: Model) -> dict[str, Any]:
    """Return the coefficients and the intercept, with their errors and intervals."""
    # Here, because commands that need no model start without NumPy.
    import numpy as np

    found = model.coefficients
    inferred, ends = found.inferred(), found.interval(_CONFIDENCE)
    parts = {
        "std_error": inferred.std_error,
        "noise": np.sqrt(inferred.noise),
        "sampling": np.sqrt(inferred.sampling),
        "z": inferred.z,
        "p": inferred.p,
    }
    errors: list[dict[str, Any]] = [
        {
            **{name: _number(part[place]) if known else None for name, part in parts.items()},
            "interval": _finite(ends[place]),
        }
        for place, known in enumerate(inferred.known.tolist())
    ]
    terms = []
    for place, term in enumerate(found.terms):
        # Nothing is known about a term without an interval, such as a slope of a mean-only model.
        known = bool(inferred.known[place])
        terms.append(
            {
                "name": term.name,
                "coef": float(term.value),
                "is_reference": term.is_reference,
                "estimate": _number(inferred.estimate[place]) if known else None,
                **errors[place],
                "range": _finite(term.range),
            }
        )
    intercept = {f"intercept_{name}": value for name, value in errors[-1].items()}
    return {
        "intercept": found.intercept,
        **intercept,
        "interval_level": _CONFIDENCE,
        "coefficients": terms,
    }


def _curves(model: Model) -> dict[str, Any]:
    """Return the curves of an additive model."""
    from dpfit.models.significance import significance

    found, tests = [], significance(model)
    for place, name in enumerate(model.column_names):
        x, height = model.curve(place)
        ends, test = _finite(model.column_ranges[place]), tests[place]
        low, high = model.band(place, _CONFIDENCE).T
        found.append(
            {
                "name": name,
                "range": None if isinstance(x, list) else ends,
                "importance": float(height.max() - height.min()) if ends else None,
                "edf": _number(test.edf),
                "p_no_effect": _number(test.p_no_effect),
                "p_line": _number(test.p_line),
                **({"levels": x} if isinstance(x, list) else {"x": x.tolist()}),
                "height": height.tolist(),
                "low": [_number(value) for value in low],
                "high": [_number(value) for value in high],
            }
        )
    return {"interval_level": _CONFIDENCE, "curves": found}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _finite(ends: Iterable[float]) -> list[float] | None:
    """Return two ends, None if they are not known."""
    found = [float(end) for end in ends]
    return found if all(map(math.isfinite, found)) else None
