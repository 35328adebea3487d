"""The section on the budget: what the fit spent it on, and the history of its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpfit.accounting import LedgerEntry, PrivacyRecord, Release
from dpfit.accounting.statement import rounded_down, rounded_up
from dpfit.exceptions import ParameterError
from dpfit.models.report.bars import Segment, share_bar, swatch
from dpfit.models.report.markup import Child, Html, element, joined, name_of
from dpfit.models.report.tables import table

if TYPE_CHECKING:
    from dpfit.accounting import Ledger, Provenance

__all__ = ["budget_section"]

# Styles of segments; later ones share the last.
_SHADES = 6


def budget_section(
    record: PrivacyRecord, ledger: Ledger | None, provenance: Provenance | None
) -> Html:
    """Return the budget of a fit and, with a ledger, that of the data set.

    Raises
    ------
    ParameterError
        If the ledger did not pay for the fit.

    Privacy
    -------
    Costs do not depend on the data. Costs are rounded up, and what is left down. Users, hosts and
    paths, which the ledger also has, are not shown.
    """
    return element(
        "section",
        element("h2", "Privacy budget"),
        *_of_fit(record),
        *([] if ledger is None else _of_ledger(ledger, provenance)),
        id="budget",
    )


def _of_fit(record: PrivacyRecord) -> list[Html]:
    """Return the releases of the fit, with their shares of its budget."""
    spent: dict[str, tuple[float, int]] = {}
    for event in record.events:
        if isinstance(event, Release):
            square, count = spent.get(event.statistic, (0.0, 0))
            spent[event.statistic] = square + event.mu**2 * event.count, count + event.count
    total = sum(square for square, _ in spent.values())
    if not total:
        return []
    order = sorted(spent, key=lambda name: -spent[name][0])
    shares = [spent[name][0] / total for name in order]
    segments = [
        Segment(share, f"shade-{min(i, _SHADES - 1)}", name)
        for i, (share, name) in enumerate(zip(shares, order, strict=True))
    ]
    rows: list[list[Child]] = [
        [joined(swatch(s.style), s.name), str(spent[s.name][1]), f"{100 * s.share:.1f} %"]
        for s in segments
    ]
    return [
        element("h3", "What this fit spent its budget on"),
        element(
            "p",
            f"The rows were used only through these noisy releases, which together cost "
            f"mu = {rounded_up(record.mu or 0.0)} in Gaussian differential privacy. The squares "
            "of the costs add up, so shares are those of mu².",
        ),
        share_bar(segments, "Shares of the budget by released statistic"),
        table(["released statistic", "releases", "share of mu²"], rows, style="small"),
    ]


# A copy may be older than the file that pays now.
_COPIED = (
    "The ledger file was copied, restored or moved. It does not contain what was spent in the "
    "other file since then."
)


def _of_ledger(ledger: Ledger, provenance: Provenance | None) -> list[Html]:
    """Return the history of the ledger, with the entry of this fit."""
    entries, left = ledger.history(), ledger.remaining()
    own = None if provenance is None else provenance.ledger_entry
    if own is None or own not in {entry.id for entry in entries}:
        raise ParameterError(
            "the ledger has no entry of this model",
            subject="ledger",
            hint="pass the ledger that paid for the fit, or none",
        )
    shares = _shares(entries, ledger.mu, left.mu)
    segments = [
        Segment(share, "own" if entry.id == own else f"entry-{i % 2}", str(entry.number))
        for i, (entry, share) in enumerate(zip(entries, shares, strict=True))
    ]
    whole = f"mu = {rounded_down(ledger.mu)}"
    if ledger.epsilon is not None:
        whole = f"epsilon = {rounded_down(ledger.epsilon)}, delta = {rounded_down(ledger.delta)}"
    rest = [f"mu = {rounded_down(left.mu)}"]
    if left.epsilon is not None:
        rest = [f"epsilon = {rounded_down(left.epsilon)}", f"delta = {rounded_down(left.delta)}"]
    unit = "row" if ledger.unit is None else ledger.unit
    rows: list[list[Child]] = []
    for entry, segment in zip(entries, segments, strict=True):
        what = joined(swatch(segment.style), name_of(entry.what))
        if entry.id == own:
            what = joined(what, element("strong", " (this model)"))
        percent = f"{100 * segment.share:.1f} %" if segment.share else "-"
        when = entry.time.replace("T", " ").rstrip("Z")
        rows.append([what, str(entry.number), when, _cost(entry), percent])
    by_rows = [str(e.number) for e in entries if e.kind == "fit" and e.max_rows is None]
    return [
        element("h3", "Ledger of the data set ", name_of(ledger.dataset)),
        element(
            "p",
            f"The releases below were paid from one budget, {whole}, which protects each ",
            name_of(unit),
            ". The ledger does not know of releases that nobody charged to it. A fit with ",
            element("strong", *_joined(rest, " at ")),
            " can still be paid for (the empty part of the bar).",
        ),
        *([element("p", element("strong", _COPIED))] if ledger.is_copy() else []),
        share_bar(segments, "Shares of the ledger's budget by entry"),
        table(["paid for", "entry", "when (UTC)", "cost", "share"], rows, style="small"),
        *([] if ledger.unit is None or not by_rows else [_charged_for_rows(ledger, by_rows)]),
    ]


def _joined(parts: Sequence[str], by: str) -> list[Child]:
    """Return parts with a separator, at which lines may break."""
    found: list[Child] = []
    for part in parts:
        found += [by if found else None, element("span", part, class_="unbroken")]
    return found


def _charged_for_rows(ledger: Ledger, numbers: Sequence[str]) -> Html:
    """Return a note on fits that protect rows in a ledger that protects units."""
    several, most = len(numbers) > 1, ledger.rows_per_unit or 1
    return element(
        "p",
        f"{'Entries' if several else 'Entry'} {', '.join(numbers)} "
        f"protect{'' if several else 's'} each row, and {'are' if several else 'is'} charged as if "
        "no ",
        name_of(ledger.unit or ""),
        f" had more than {most} row{'' if most == 1 else 's'}.",
    )


def _shares(entries: Sequence[LedgerEntry], whole: float, left: float) -> list[float]:
    """Return the shares of entries in the budget, as squares of mu.

    What releases that are not Gaussian take from it depends on all of them together: it is divided
    in proportion to their epsilons.
    """
    squares = [(entry.mu or 0.0) ** 2 * entry.times / whole**2 for entry in entries]
    others = [
        0.0 if entry.mu is not None else (entry.epsilon or 0.0) * entry.times for entry in entries
    ]
    rest = max(1.0 - (left / whole) ** 2 - sum(squares), 0.0)
    total = sum(others)
    return [
        square + (rest * other / total if total else 0.0)
        for square, other in zip(squares, others, strict=True)
    ]


def _cost(entry: LedgerEntry) -> str:
    if entry.epsilon is not None:
        text = f"epsilon {rounded_up(entry.epsilon)}"
        if entry.delta:
            text += f", delta {rounded_up(entry.delta)}"
    elif entry.mu is not None:
        text = f"mu {rounded_up(entry.mu)}"
    else:
        return "none"
    return f"{text}; {entry.times} times" if entry.times > 1 else text
