"""The report of a fitted model as one HTML page."""

from __future__ import annotations

import importlib.resources
from importlib.metadata import version
from typing import TYPE_CHECKING

from dpfit.models.report.attacker import attacker_section
from dpfit.models.report.budget import budget_section
from dpfit.models.report.certificate import certificate_section, statement_section
from dpfit.models.report.citation import citation_section
from dpfit.models.report.curves import curves_section
from dpfit.models.report.diagnostics import diagnostics_section
from dpfit.models.report.markup import Child, Html, element, joined, name_of
from dpfit.models.report.tables import facts_grid
from dpfit.models.report.terms import has_coefficients, terms_section

if TYPE_CHECKING:
    from dpfit.accounting import Ledger
    from dpfit.models.evaluation import Evaluation
    from dpfit.models.model import Model
    from dpfit.models.tables import Summary

__all__ = ["report_html"]

# A page that may not load or run anything: browsers refuse even if a name got through unescaped.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"
_LINKS = {
    "coefficients": "Coefficients",
    "curves": "Curves",
    "accuracy": "Accuracy",
    "attacker": "Attackers",
    "budget": "Budget",
    "statement": "Statement",
    "certificate": "Certificate",
    "cite": "Citation",
}


def report_html(
    model: Model,
    summary: Summary,
    of_rows: Summary,
    *,
    title: str | None = None,
    ledger: Ledger | None = None,
    evaluation: Evaluation | None = None,
) -> str:
    """Return a report for people as one HTML file that loads nothing.

    Parameters
    ----------
    model : Model
        The fitted model.
    summary : Summary
        Its summary for the population.
    of_rows : Summary
        Its summary with ``inference="sample"``.
    title : str, optional
        The heading; the name of the estimator by default.
    ledger : Ledger, optional
        The ledger that paid for the fit, whose history is shown.
    evaluation : Evaluation, optional
        How good the model is on other rows.

    Raises
    ------
    ParameterError
        If the ledger did not pay for the fit.

    Privacy
    -------
    Everything is a field of the frozen model, a cost or a public setting, or computed from them.
    """
    record = model.privacy
    effects = (
        terms_section(summary, of_rows)
        if has_coefficients(summary)
        else curves_section(model, summary)
    )
    sections = [
        effects,
        None if evaluation is None else diagnostics_section(evaluation),
        attacker_section(record),
        budget_section(record, ledger, model.provenance),
        statement_section(record),
        certificate_section(record, model.provenance),
        citation_section(model.estimator, record),
    ]
    shown = [section for section in sections if section is not None]
    heading = title or model.estimator
    page = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="generator", content=f"dpfit {version('dpfit')}"),
            element("title", heading),
            element("style", Html(_style())),
        ),
        element(
            "body",
            _header(model, summary, title),
            _links(shown),
            element("main", *shown),
            element(
                "footer",
                f"Written by dpfit {version('dpfit')}. This page loads nothing from elsewhere "
                "and runs no scripts.",
            ),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def _header(model: Model, summary: Summary, title: str | None) -> Html:
    """Return what was fitted, and the facts at the top of the summary."""
    facts: list[tuple[str, Child]] = list(summary.facts)
    if model.provenance is not None and model.provenance.dataset is not None:
        facts.insert(0, ("Data set", name_of(model.provenance.dataset)))
    # What is protected is among the facts.
    names = [name for name in model.not_features if name != model.privacy.unit_name]
    others: list[Child] = []
    for name in names:
        others += [", " if others else None, name_of(name)]
    if others:
        facts.insert(0, ("Target and weight" if len(names) > 1 else "Target", joined(*others)))
    count = len(model.kinds)
    return element(
        "header",
        element("h1", title or model.estimator),
        element("p", summary.warning, class_="alarm") if summary.warning else None,
        element(
            "p",
            f"A differentially private {_what(summary)} with {count} "
            f"feature{'' if count == 1 else 's'}"
            + (f" ({model.estimator})" if title else "")
            + ". All numbers in this report were released with random noise, computed from such "
            "numbers, or public. No row of the data is in this file.",
        ),
        facts_grid(facts),
    )


def _what(summary: Summary) -> str:
    return "linear model" if has_coefficients(summary) else "additive model"


def _links(sections: list[Html]) -> Html:
    present = [
        element("a", text, href=f"#{key}")
        for key, text in _LINKS.items()
        if any(section.startswith(f'<section id="{key}"') for section in sections)
    ]
    return element("nav", *present, aria_label="Sections")


def _style() -> str:
    file = importlib.resources.files("dpfit.models.report") / "style.css"
    return file.read_text(encoding="utf-8")
