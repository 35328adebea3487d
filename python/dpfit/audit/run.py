"""The audit of an estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dpfit._parameters import integer, one_of, real
from dpfit._progress import rounds_done
from dpfit.audit.bounds import epsilon_of_mu
from dpfit.audit.claim import Claim, claim_of
from dpfit.audit.distinguish import Findings, distinguish
from dpfit.audit.fits import BlackBox, Transcript, copied, fit_once, sampled
from dpfit.audit.likelihood import Path, Share, gaussian_bound
from dpfit.audit.neighbours import Neighbours
from dpfit.audit.outputs import as_matrix, reader
from dpfit.audit.result import AuditResult, PairResult
from dpfit.audit.transcripts import PUBLIC
from dpfit.audit.worst_cases import worst_cases
from dpfit.exceptions import ParameterError

__all__ = ["audit"]

# Coordinates of a transcript that are looked at one by one.
_MOST_COORDINATES = 150
# A mu that was computed in floating point is above another one if it is by more than this share.
_TOLERANCE = 1e-9

Given = str | Neighbours | Sequence["str | Neighbours"] | None


def audit(
    estimator: Any,
    neighbours: Given = None,
    *,
    n_fits: int = 1000,
    confidence: float = 0.999,
    method: Literal["black_box", "transcript"] = "black_box",
    outputs: Callable[[Any], Any] | Sequence[str] | None = None,
    points: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> AuditResult:
    """Measure how private an estimator is, and compare that with what it claims.

    The estimator is fitted many times to two neighbouring tables. A test that distinguishes them by
    the outputs proves a lower bound on mu and epsilon.

    Parameters
    ----------
    estimator : object with a method `fit`
        What to audit. It may be from another library.
    neighbours : str, Neighbours, or list of them; optional
        Pairs of tables: built-in ones by name (see :func:`worst_cases`), or others. By default, all
        built-in pairs.
    n_fits : int, default 1000
        Fits of each table of a pair.
    confidence : float, default 0.999
        The probability with which all bounds hold together.
    method : {"black_box", "transcript"}, default "black_box"
        ``"black_box"`` looks at the outputs of fits. ``"transcript"`` looks at all releases on the
        way to them, and at the exact sums behind these; it needs one of dpfit's estimators with
        Gaussian noise, finds more, and needs fewer fits.
    outputs : callable or list of str, optional
        What is an output: a function from the fitted object to numbers, or names of attributes. By
        default, all attributes that are numbers and whose names end with an underscore, and all
        numbers in the model file of a model of dpfit.
    points : array-like, optional
        Rows to predict for. The predictions are outputs, too.
    epsilon, delta, mu : float, optional
        What to compare with: `epsilon` and `delta`, or `mu`. By default, what the fitted object
        claims in `privacy_`, or in attributes of these names.
    n_jobs : int, optional
        Number of processes. By default one, which is the only way to see noise that is kept in
        memory from fit to fit.
    progress : bool or callable, default False
        Whether to draw a bar on standard error, or a function that is called with the number of
        fits done and of all fits.

    Returns
    -------
    AuditResult
        The bounds, with the claim. Its `exceeds` is True if the claim is refuted.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or if there is no transcript.

    Notes
    -----
    An audit can refute a claim, but not prove it. ``docs/privacy/audit.md`` explains the bounds.

    *Privacy.*
    An audit fits made-up tables. Do not use the rows of real persons: bounds and scores are
    computed from exact sums, and nothing in the result is private.

    Examples
    --------
    >>> from dpfit import BoostedMean
    >>> from dpfit.audit import audit
    >>> estimator = BoostedMean(mu=2.0, n_rounds=2, n_jobs=1)
    >>> found = audit(estimator, "whole", n_fits=200, method="transcript", confidence=1 - 1e-9)
    >>> found.exceeds
    False
    >>> 0.5 < found.mu <= 2.0
    True
    """
    if not hasattr(estimator, "fit"):
        raise ParameterError(
            f"estimator must have a method fit, got {type(estimator).__name__}", subject="estimator"
        )
    n_fits = integer("n_fits", n_fits, 16, 10_000_000)
    confidence = real("confidence", confidence, 0.0, 1.0 - 1e-12)
    method_ = one_of("method", method, ("black_box", "transcript"))
    if n_jobs is not None:
        integer("n_jobs", n_jobs, 1, 1024)
    pairs = _pairs(estimator, neighbours)
    read = reader(outputs, points)
    claim = claim_of(
        fit_once(copied(estimator), pairs[0].first), epsilon=epsilon, delta=delta, mu=mu
    )
    risk = (1.0 - confidence) / len(pairs)
    report = _reporter(progress, 2 * n_fits * len(pairs))
    found = []
    for pair in pairs:
        if method_ == "transcript":
            paths = sampled(estimator, pair, Transcript(read), n_fits, n_jobs, report)
            found.append(_of_transcripts(pair, paths, claim, risk))
        else:
            seen = sampled(estimator, pair, BlackBox(read), n_fits, n_jobs, report)
            first, second, names = as_matrix(*seen)
            tests = distinguish(first, second, names, delta=claim.delta, risk=risk)
            found.append(_of_outputs(pair, tests))
    return AuditResult(
        estimator=type(estimator).__name__,
        method=method_,
        confidence=confidence,
        n_fits=n_fits,
        claimed_mu=claim.mu,
        claimed_epsilon=claim.epsilon,
        delta=claim.delta,
        pairs=tuple(found),
    )


def _pairs(estimator: Any, given: Given) -> list[Neighbours]:
    built_in = worst_cases(estimator)
    if given is None:
        return list(built_in.values())
    if isinstance(given, str | Neighbours):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise _wrong(built_in)
    found = []
    for each in given:
        if isinstance(each, Neighbours):
            found.append(each)
        elif isinstance(each, str) and each in built_in:
            found.append(built_in[each])
        else:
            raise _wrong(built_in)
    if not found:
        raise _wrong(built_in)
    return found


def _wrong(built_in: Mapping[str, Neighbours]) -> ParameterError:
    names = ", ".join(map(repr, built_in))
    return ParameterError(
        f"neighbours must be of class Neighbours, or one or several of {names}",
        subject="neighbours",
    )


def _reporter(progress: bool | Callable[[int, int], None], total: int) -> Callable[[int], None]:
    """Return a function that is called with the number of further fits."""
    if callable(progress):
        show = progress
    else:
        show = rounds_done(show=bool(progress), name="audit", what="fit")
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        show(done, total)

    return report


def _of_outputs(pair: Neighbours, tests: Findings) -> PairResult:
    return PairResult(
        name=pair.name,
        mu=tests.mu.value,
        epsilon=tests.epsilon.value,
        tests=(tests.mu, tests.epsilon),
        scores=tests.scores,
    )


def _of_transcripts(
    pair: Neighbours, paths: tuple[list[Path], list[Path]], claim: Claim, risk: float
) -> PairResult:
    """Return the bounds that transcripts give, and what they prove without statistics."""
    whole = [*paths[0], *paths[1]]
    problems = dict.fromkeys(problem for path in whole for problem in path.problems)
    largest = max(path.mu for path in whole)
    if claim.mu is not None and largest > claim.mu * (1.0 + _TOLERANCE):
        problems["the releases of a fit together have a mu above the claim"] = None
    # Fits that cannot be compared are problems already; the others must still be enough.
    usable = [[path for path in side if math.isfinite(path.mu)] for side in paths]
    count = min(map(len, usable))
    shares = _largest_shares(whole)
    if count < 16:
        return PairResult(
            name=pair.name,
            mu=0.0,
            epsilon=0.0,
            tests=(),
            scores=(np.zeros(0), np.zeros(0)),
            largest_mu=largest,
            shares=shares,
            problems=tuple(problems),
        )
    first, second = (side[:count] for side in usable)
    gaussian = gaussian_bound(first, second, risk / 2)
    values, names = _coordinates([*first, *second])
    tests = distinguish(values[:count], values[count:], names, delta=claim.delta, risk=risk / 2)
    return PairResult(
        name=pair.name,
        mu=max(gaussian, tests.mu.value),
        epsilon=max(epsilon_of_mu(gaussian, claim.delta), tests.epsilon.value),
        tests=(tests.mu, tests.epsilon),
        scores=tests.scores,
        largest_mu=largest,
        shares=shares,
        problems=tuple(problems),
    )


def _coordinates(paths: list[Path]) -> tuple[Any, list[str]]:
    """Return likelihood ratios and noise by release, in columns that mean the same in all paths.

    What is released may depend on what was released before. A release that some transcripts do not
    have, or with fewer numbers, counts as one without noise there.
    """
    parts = [_by_release(path) for path in paths]
    lengths: dict[tuple[str, int], int] = {}
    for part in parts:
        for key, (noise, _) in part.items():
            lengths[key] = max(lengths.get(key, 0), len(noise))
    names = [
        f"{name} (release {place}, entry {entry + 1})"
        for (name, place), length in lengths.items()
        for entry in range(length)
    ]
    values = np.zeros((len(paths), len(names)))
    moved = np.zeros(len(names), dtype=bool)
    for row, part in zip(values, parts, strict=True):
        start = 0
        for key, length in lengths.items():
            if key in part:
                noise, differs = part[key]
                row[start : start + len(noise)] = noise
                moved[start : start + len(noise)] |= differs
            start += length
    # Those that differ first; the others may show noise that is used twice.
    order = np.argsort(~moved, kind="stable")[:_MOST_COORDINATES]
    ratios = np.array([[path.ratio] for path in paths])
    return np.hstack([ratios, values[:, order]]), [
        "likelihood ratio",
        *(names[place] for place in order),
    ]


def _by_release(path: Path) -> dict[tuple[str, int], tuple[Any, Any]]:
    """Return the noise of each release, and what differs, by its name and its place among them."""
    found, counts, start = {}, dict[str, int](), 0
    for name, size in path.layout:
        if name == PUBLIC:
            continue
        counts[name] = counts.get(name, 0) + 1
        part = slice(start, start + size)
        found[name, counts[name]] = path.residuals[part], path.moved[part]
        start += size
    return found


def _largest_shares(paths: list[Path]) -> tuple[Share, ...]:
    """Return, for each statistic, the transcript in which it distinguishes most."""
    best: dict[str, Share] = {}
    noise: dict[str, list[float]] = {}
    for path in paths:
        for share in path.shares:
            noise.setdefault(share.statistic, []).append(share.noise)
            if share.statistic not in best or share.found > best[share.statistic].found:
                best[share.statistic] = share
    return tuple(
        Share(
            name,
            share.releases,
            share.claimed,
            share.found,
            math.sqrt(float(np.mean(np.square(noise[name])))),
        )
        for name, share in best.items()
    )
