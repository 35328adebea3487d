"""How large effects are expected to be, before and after the data say something.

Coefficients of functions with variance one have a normal prior with mean zero. Before anything is
known, half of the target's variance is divided evenly among the columns, and bends of a curve get
less the rougher they are. Later the variances follow from the estimates (empirical Bayes): a column
without effect goes to zero, and a curve bends only where the data show it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from dpfit._typing import Array, Floats
from dpfit.engine.solve import diagonal, product

__all__ = ["Prior", "water_filling"]

# The share of the target's variance that a model is expected to explain.
EXPLAINED = 0.5
# The variance of the k-th bend, relative to that of its line, is this divided by k squared: so the
# coefficients of a function fall whose slope is bounded.
_BEND = 0.5
_SMOOTHNESS = 2.0
# No variance falls below this share of what it was: nothing is excluded for good.
_LEAST = 1e-3
_ITERATIONS = 10


@dataclass(frozen=True, eq=False)
class Prior:
    """Independent normal priors of coefficients.

    Parameters
    ----------
    variances : array of shape (p,)
        Their variances.
    blocks : tuple of arrays of integers
        Coefficients whose variances change together: the bends of a curve. All others are alone.
    fixed : int
        The first coefficients, whose variances never change: the constant.
    """

    variances: Floats
    blocks: tuple[Array, ...] = ()
    fixed: int = 1

    @staticmethod
    def of_bends(number: int) -> Floats:
        """Return the variances of bends, relative to that of the line."""
        return _BEND / np.arange(1.0, number + 1.0) ** _SMOOTHNESS

    def kept(self, places: Array) -> Prior:
        """Return the prior of some of the coefficients, in their order."""
        new = {int(old): place for place, old in enumerate(places)}
        blocks = [[new[int(i)] for i in block if int(i) in new] for block in self.blocks]
        found = tuple(np.array(block) for block in blocks if block)
        return replace(self, variances=self.variances[places], blocks=found)

    def learned(self, inverse: Floats, estimates: Floats, noise: Floats) -> tuple[Prior, Floats]:
        """Return the prior with the variances that estimates show, and what it expects after them.

        Parameters
        ----------
        inverse : array of shape (q, p)
            Maps coefficients to the coordinates that were estimated.
        estimates, noise : arrays of shape (q,)
            The estimates, and the variances of their errors.
        """
        evidence = _Evidence.of(inverse, estimates, noise)
        variances = self.variances
        for _ in range(_ITERATIONS):
            mean, variance = evidence.posterior(variances)
            ratio = (np.square(mean) + variance) / variances
            for block in self.blocks:
                ratio[block] = ratio[block].mean()
            ratio[: self.fixed] = 1.0
            variances = variances * np.maximum(ratio, _LEAST)
        return replace(self, variances=variances), evidence.posterior(variances)[0]

    def posterior(self, inverse: Floats, estimates: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Return means and variances of the coefficients, given the estimates."""
        return _Evidence.of(inverse, estimates, noise).posterior(self.variances)


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What estimates say about coefficients, whatever is expected of them.

    Parameters
    ----------
    precision : array of shape (p, p)
        The inverse of the covariance of errors, mapped to coefficients.
    weighted : array of shape (p,)
        The estimates, weighted by it.
    """

    precision: Floats
    weighted: Floats

    @classmethod
    def of(cls, inverse: Floats, estimates: Floats, noise: Floats) -> _Evidence:
        """Return the evidence of estimates of coordinates with independent errors."""
        scaled = inverse / np.sqrt(noise)[:, None]
        return cls(product(scaled.T, scaled), inverse.T @ (estimates / noise))

    def posterior(self, variances: Floats) -> tuple[Floats, Floats]:
        """Return means and variances of coefficients with these prior variances.

        In units of their prior standard deviations, the inverse of their covariance is the identity
        plus something positive, so that inverting its root is stable.
        """
        size = np.sqrt(variances)
        # Symmetric, so that the order of a matrix for LAPACK costs no copy.
        total = (size[:, None] * self.precision * size).T
        diagonal(total)[:] += 1.0
        factor, failed = dpotrf(total, lower=1, overwrite_a=1)
        root, singular = dtrtri(factor, lower=1, overwrite_c=1)
        if failed or singular:
            raise np.linalg.LinAlgError("the precision of coefficients is not positive")
        mean = size * (root.T @ (root @ (size * self.weighted)))
        return mean, variances * np.square(root).sum(axis=0)


def water_filling(variances: Floats, noise: float) -> Floats:
    """Return the shares of the squared norm that coordinates get, so that the error is least.

    A coordinate with share g has an error of variance noise / g. Shrunk as well as can be, what
    remains of a coefficient of variance v is v noise / (noise + g v). The sum of all is least for
    g = max(0, c - noise / v): coordinates that are worth it get nearly equal shares, others none.
    """
    with np.errstate(over="ignore"):
        cost = noise / np.maximum(variances, 1e-300)
    # Only differences matter, and the least cost may be so large that adding one changes nothing.
    cost -= cost.min()
    ordered = np.sort(cost)
    number = np.arange(1, len(ordered) + 1)
    level = (1.0 + np.cumsum(ordered)) / number
    used = int(np.flatnonzero(level > ordered)[-1])
    result: Floats = np.maximum(level[used] - cost, 0.0)
    return result
