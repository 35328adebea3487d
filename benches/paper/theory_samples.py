"""Private means of simulated rows, for all figures of the theory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfit import BoostedMean, InsecureSeedWarning
from paper.seeds import seed_of

__all__ = [
    "DARK",
    "LIGHT",
    "MANY",
    "NO_NOISE",
    "ONE",
    "RHO",
    "Floats",
    "Sample",
    "estimates",
    "normal",
]

Floats = npt.NDArray[np.float64]
Sample = Callable[[Any], Floats]
# The paper's rho; its mechanism is sqrt(rho)-GDP if a row is replaced.
RHO = 1.0
# Colours of one round, of many, and of curves without noise; lighter and darker shades of many.
ONE, MANY, NO_NOISE = "#D55E00", "#0072B2", "0.35"
LIGHT, DARK = "#56B4E9", "#003A5C"


def private_mean(rows: Floats, tau: float, rounds: int, seed: int, rho: float) -> float:
    """Return the private mean of the paper's Algorithm 3."""
    model = BoostedMean(
        mu=rho**0.5, tau=tau, n_rounds=rounds, neighbors="replace", n_jobs=1, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return float(model.fit(np.zeros((len(rows), 1)), rows).mean_)


def normal(mean: float, n: int) -> Sample:
    """Return a function that draws n rows of N(mean, 1)."""
    return lambda rng: rng.normal(mean, 1.0, n)


def estimates(
    name: str, repeats: int, sample: Sample, tau: float, rounds: int, rho: float = RHO
) -> Floats:
    """Return estimates from independent rows and noise."""
    found = []
    for repeat in range(repeats):
        # Few digits, because the last ones of NumPy's spaced numbers differ between machines.
        seed = seed_of(name, f"{tau:.6g}", rounds, repeat)
        found.append(private_mean(sample(np.random.default_rng(seed)), tau, rounds, seed, rho))
    return np.array(found)
