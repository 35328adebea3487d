"""The facts of a privacy record under the names that others use for them.

Two vocabularies are covered: the terms of NIST SP 800-226, *Guidelines for Evaluating Differential
Privacy Guarantees* (March 2025), and the fields of the Differential Privacy Deployments Registry
(``schemas/deployments-schema.yaml`` of opendp/deployments-registry-data).
``docs/reference/certificate.md`` has the correspondence.

Privacy
-------
A certificate is computed from a checked record alone.
"""

from __future__ import annotations

import importlib.resources
import json
from typing import TYPE_CHECKING, Any

from dpfit.accounting.events import Release

if TYPE_CHECKING:
    from dpfit.accounting.record import PrivacyRecord

__all__ = ["as_certificate", "record_schema"]

_SCHEMA = "privacy_record.schema.json"
_NOT_PRIVATE = (
    "NOT PRIVATE: the noise came from a fixed seed. What is stated would hold with a random seed."
)
_POST_PROCESSING = (
    "Everything that is published was computed from the released numbers and from public settings, "
    "without another look at the data."
)
_ARITHMETIC = (
    "Sensitivities are bounds on sums of integers. The noise is rounded to integers exactly; "
    "neither uses floating-point numbers."
)
_GENERATOR = "ChaCha20, with a new key from the operating system for each release"


def as_certificate(record: PrivacyRecord) -> dict[str, Any]:
    """Return the facts of a record in the terms of NIST SP 800-226 and of the registry."""
    return {"nist_sp_800_226": _nist(record), "dp_deployments_registry": _registry(record)}


def record_schema() -> dict[str, Any]:
    """Return the JSON Schema of what ``PrivacyRecord.to_json`` writes."""
    file = importlib.resources.files("dpfit.accounting") / _SCHEMA
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema


def _nist(record: PrivacyRecord) -> dict[str, Any]:
    return {
        "privacy_definition": _definition(record),
        "privacy_parameters": {
            "epsilon": record.epsilon,
            "delta": record.delta,
            "mu": record.mu,
        },
        "unit_of_privacy": record.unit_label,
        "neighboring_datasets": {
            "model": "bounded" if record.neighbors == "replace" else "unbounded",
            "description": _neighbours(record),
        },
        "mechanisms": _mechanisms(record),
        "bounds": {
            "rows_per_unit": record.max_rows or 1,
            "sensitivities": [
                {
                    "statistic": event.statistic,
                    "sensitivity": event.sensitivity if isinstance(event, Release) else None,
                    "releases": event.count if isinstance(event, Release) else 1,
                }
                for event in record.events
            ],
        },
        "composition": {"accountant": _accountant(record), "releases": _count(record)},
        "post_processing": _POST_PROCESSING,
        "trust_model": "central",
        "randomness": {
            "seeded": record.insecure_seed,
            "generator": "a fixed seed" if record.insecure_seed else _GENERATOR,
        },
        "floating_point": _ARITHMETIC,
        "side_channels": "The duration of a fit is not protected.",
    }


def _registry(record: PrivacyRecord) -> dict[str, Any]:
    """Return a part of ``deployment``; the rest is known to the publisher alone."""
    parameters = {
        name: value
        for name, value in (("epsilon", record.epsilon), ("delta", record.delta))
        if value is not None
    }
    details = "" if record.mu is None else f"Gaussian differential privacy with mu = {record.mu!r}."
    mechanisms = f"{', '.join(_mechanisms(record))}; library: dpfit. {_ARITHMETIC}"
    if record.insecure_seed:
        details, mechanisms = f"{_NOT_PRIVATE} {details}".rstrip(), f"{_NOT_PRIVATE} {mechanisms}"
    public = "Names and types of columns, bounds, lists of levels and all settings."
    if record.neighbors == "replace":
        public += f" The number of {'rows' if record.max_rows is None else 'units'}."
    return {
        "dp_variant": {"variant_name": _variant(record), "unprotected_quantities": public},
        "privacy_loss": {
            "privacy_unit": record.unit_label,
            "privacy_unit_details": _neighbours(record),
            "privacy_parameters": parameters,
            "privacy_parameters_details": details,
        },
        "deployment_model": {
            "model_name": "Central",
            "release_type": "One release",
            "access_type": "Non-interactive",
        },
        "accounting": {"post_processing": _POST_PROCESSING, "composition": _accountant(record)},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": (
                "The distributions of columns were looked at with a part of the budget. The "
                "guarantee assumes that bounds and other settings were chosen without looking at "
                "the data, which dpfit cannot check."
            ),
            "mechanisms": mechanisms,
        },
    }


def _definition(record: PrivacyRecord) -> str:
    if record.epsilon is None:
        return "Gaussian differential privacy"
    pure = record.delta == 0.0
    return "pure differential privacy" if pure else "(epsilon, delta)-differential privacy"


def _variant(record: PrivacyRecord) -> str:
    if record.epsilon is None:
        return "Custom"
    return "Pure DP" if record.delta == 0.0 else "Approximate DP"


def _neighbours(record: PrivacyRecord) -> str:
    whose = "one row" if record.max_rows is None else f"all rows of one {record.unit_label}"
    if record.neighbors == "replace":
        other = "another row" if record.max_rows is None else "other rows"
        text = f"One table is the other with {whose} replaced by {other}."
    else:
        text = f"One table is the other without {whose}."
    if record.max_rows is not None:
        rows = "row" if record.max_rows == 1 else "rows"
        text += f" At most {record.max_rows} {rows} of each {record.unit_label} are used."
    return text


def _mechanisms(record: PrivacyRecord) -> list[str]:
    """Return the names of the mechanisms, in the order of their first use."""
    return list(dict.fromkeys(f"{event.mechanism} mechanism" for event in record.events))


def _accountant(record: PrivacyRecord) -> str:
    gaussian = [isinstance(event, Release) for event in record.events]
    if all(gaussian):
        return "Gaussian differential privacy, exact composition: the square root of the sum of mu²"
    if any(gaussian):
        return (
            "Gaussian differential privacy for the Gaussian releases; epsilon and delta of the "
            "other releases are added"
        )
    return "basic composition: sums of epsilon and delta"


def _count(record: PrivacyRecord) -> int:
    return sum(event.count if isinstance(event, Release) else 1 for event in record.events)
