"""The officer's statement, and the certificate for programs and for people."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from dpfit.accounting import PrivacyRecord
from dpfit.accounting.certificate import as_certificate
from dpfit.models.report.markup import Child, Html, element, name_of, preformatted
from dpfit.models.report.tables import facts_grid

if TYPE_CHECKING:
    from dpfit.accounting import Provenance

__all__ = ["certificate_section", "statement_section"]

_PUBLIC = "unprotected_quantities"


def statement_section(record: PrivacyRecord) -> Html:
    """Return the privacy statement, and lines to sign on paper."""
    # A number and its percent sign stay on one line.
    paragraphs = record.statement().replace(" %", "\xa0%").split("\n\n")
    return element(
        "section",
        element("h2", "Privacy statement"),
        element(
            "blockquote",
            *(element("p", text) for text in paragraphs),
            class_="alarm" if record.insecure_seed else None,
        ),
        element(
            "div",
            *(element("span", name) for name in ("Name", "Date", "Signature")),
            class_="sign",
        ),
        id="statement",
    )


def certificate_section(record: PrivacyRecord, provenance: Provenance | None) -> Html:
    """Return the facts of the record in the terms of NIST SP 800-226, and the record as JSON."""
    certificate = as_certificate(record)
    terms = certificate["nist_sp_800_226"]
    text = record.to_json()
    content = base64.b64encode(text.encode()).decode()
    facts: list[tuple[str, Child]] = [
        ("Definition", terms["privacy_definition"]),
        ("Unit of privacy", name_of(terms["unit_of_privacy"])),
        ("Neighbouring tables", terms["neighboring_datasets"]["description"]),
        # The NIST guide has no name for it.
        ("Not protected", certificate["dp_deployments_registry"]["dp_variant"][_PUBLIC]),
        ("Mechanisms", ", ".join(terms["mechanisms"])),
        ("Composition", terms["composition"]["accountant"]),
        ("Releases", str(terms["composition"]["releases"])),
        ("Trust model", f"{terms['trust_model']}: whoever ran the fit could read all rows"),
        ("Randomness", terms["randomness"]["generator"]),
        ("Arithmetic", terms["floating_point"]),
        ("Side channels", terms["side_channels"]),
    ]
    if provenance is not None:
        facts.append(("Fitted (UTC)", provenance.fitted_at.replace("T", " ").rstrip("Z")))
        facts.append(("Data set", provenance.dataset and name_of(provenance.dataset)))
        facts.append(("Ledger entry", provenance.ledger_entry))
    return element(
        "section",
        element("h2", "Certificate"),
        element("p", "In the terms of NIST SP 800-226:"),
        facts_grid(facts),
        element(
            "details",
            element("summary", "The whole record as JSON"),
            element(
                "p",
                element(
                    "a",
                    "Save as privacy.json",
                    download="privacy.json",
                    href=f"data:application/json;base64,{content}",
                ),
                "; PrivacyRecord.from_json checks it again.",
            ),
            preformatted(text),
        ),
        id="certificate",
    )
