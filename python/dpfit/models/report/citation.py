"""The section on how to cite: a sentence for a methods section, the software and the paper."""

from __future__ import annotations

from importlib.metadata import version

from dpfit.accounting import PrivacyRecord
from dpfit.accounting.statement import rounded_up
from dpfit.models.report.markup import Html, element, preformatted

__all__ = ["citation_section"]

# CITATION.cff has the same, for programs.
SOFTWARE = """\
@software{{dpfit,
  author  = {{{{The dpfit developers}}}},
  title   = {{dpfit: differentially private regression without tuning}},
  version = {{{version}}},
  url     = {{https://github.com/dpfit/dpfit}}
}}"""
PAPER = """\
@misc{tang2023improved,
  author = {Shuai Tang and Sergul Aydore and Michael Kearns and Saeyoung Rho and
            Aaron Roth and Yichen Wang and Yu-Xiang Wang and Zhiwei Steven Wu},
  title  = {Improved Differentially Private Regression via Gradient Boosting},
  year   = {2023},
  eprint = {2303.03451},
  archivePrefix = {arXiv}
}"""


def citation_section(estimator: str, record: PrivacyRecord) -> Html:
    """Return a sentence for a methods section, and entries for a bibliography."""
    return element(
        "section",
        element("h2", "How to cite"),
        element("p", "For a methods section:"),
        element("blockquote", element("p", _methods(estimator, record))),
        element("p", "The software, and the paper whose method it builds on, as BibTeX:"),
        preformatted(f"{SOFTWARE.format(version=version('dpfit'))}\n\n{PAPER}"),
        id="cite",
    )


def _methods(estimator: str, record: PrivacyRecord) -> str:
    if record.epsilon is None or record.delta is None:
        budget = f"mu-Gaussian differential privacy with mu = {rounded_up(record.mu or 0.0)}"
    else:
        budget = (
            "(epsilon, delta)-differential privacy with epsilon = "
            f"{rounded_up(record.epsilon)} and delta = {rounded_up(record.delta)}"
        )
    change = "replacing" if record.neighbors == "replace" else "adding or removing"
    whose = "one row" if record.max_rows is None else f"all rows of one {record.unit_label}"
    seed = (
        " The noise came from a fixed seed, so the guarantee does not hold."
        if record.insecure_seed
        else ""
    )
    return (
        f"The model was fitted with {estimator} of dpfit {version('dpfit')} under {budget}, for "
        f"tables that differ by {change} {whose}.{seed} Confidence intervals account for the "
        "privacy noise and for sampling."
    )
