"""Rounds of boosting on weighted rows, and the law of the noise that stays in their mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg

from dpfit.solve import noise_norm

__all__ = ["Averaged", "Boosting"]

Floats: TypeAlias = npt.NDArray[np.float64]
Gradient: TypeAlias = Callable[[Floats], tuple[Floats, float]]

# The smallest eigenvalue that is inverted, as a share of the noise's spectral norm.
_FLOOR = 0.3
# No coefficient needs more: features and targets are of size one.
_LARGEST = 1e6


@dataclass(frozen=True)
class Averaged:
    """The mean of the last rounds.

    Parameters
    ----------
    theta : array
        Coefficients of all features.
    directions : array
        An orthonormal basis of the coefficients that the model can have.
    noise : array
        The covariance, in `directions`, of the noise of the rounds.
    sampling : array
        The covariance that errors of variance one in the rows would add.
    """

    theta: Floats
    directions: Floats
    noise: Floats
    sampling: Floats


class Boosting:
    """theta moves by a fixed matrix times the noisy gradient; the gradient's zero is the answer.

    X'X has noise, but it only decides how fast the rounds converge: where they converge to depends
    on gradients alone. The gradients' noises are independent, so the mean of the last rounds keeps
    little of them.

    Parameters
    ----------
    gram : array of shape (p, p)
        Released X'X.
    sigma : float
        The standard deviation of its diagonal's noise.
    directions : array of shape (p, k)
        Orthonormal; theta moves in their span.
    held_back : array of shape (p, p), optional
        Added to X'X in the steps: directions that should move slowly.

    Privacy
    -------
    Nothing here sees rows; `gradient` releases.
    """

    def __init__(
        self,
        gram: Floats,
        sigma: float,
        directions: Floats,
        held_back: Floats | None = None,
    ) -> None:
        self._gram = gram
        self._sigma = sigma
        self._held_back = held_back
        self.theta: Floats = np.zeros(len(gram))
        self._state: _Noise | None = None
        self.restrict(directions)

    def restrict(self, directions: Floats) -> None:
        """Let theta move in the span of other `directions`."""
        gram = directions.T @ self._gram @ directions
        norm = noise_norm(len(gram), self._sigma)
        steered = gram
        if self._held_back is not None:
            steered = gram + directions.T @ self._held_back @ directions
        values, vectors = scipy.linalg.eigh(steered)
        step = (vectors / np.maximum(values + norm, _FLOOR * norm)) @ vectors.T
        self._step: Floats = step
        previous = None if self._state is None else (self._directions, self._state)
        self._directions = directions
        self._small = gram
        self._norm = norm
        self._state = _Noise.start(np.eye(len(gram)) - step @ gram, previous, directions)
        self.theta = directions @ (directions.T @ self.theta)

    @property
    def norm(self) -> float:
        """The spectral norm that the noise of X'X has among the directions."""
        return self._norm

    def round(self, gradient: Gradient) -> Floats:
        """Do one round; return X'y as this round shows it, for the choice of directions."""
        noisy, sigma = gradient(self.theta)
        moments = noisy + self._gram @ self.theta
        step = self._directions @ (self._step @ (self._directions.T @ noisy))
        # Public numbers, kept finite so that a wild round cannot end the fit.
        moved = np.nan_to_num(self.theta + step, posinf=_LARGEST, neginf=-_LARGEST)
        self.theta = np.clip(moved, -_LARGEST, _LARGEST)
        assert self._state is not None
        self._state.advance(sigma * self._step)
        result: Floats = moments
        return result

    def average(self, gradient: Gradient, rounds: int, counter: Iterator[int]) -> Averaged:
        """Do the last rounds, as the counter goes on; return their mean."""
        assert self._state is not None
        total = np.zeros_like(self.theta)
        self._state.begin_mean()
        for _ in counter:
            self.round(gradient)
            total += self.theta
        theta = total / rounds
        return Averaged(
            theta, self._directions, self._state.mean_covariance(rounds), self._sampling(rounds)
        )

    def _sampling(self, rounds: int) -> Floats:
        """Return the covariance that errors of variance one in the rows would add."""
        assert self._state is not None
        values, vectors = scipy.linalg.eigh(self._small)
        inverse = (vectors / np.maximum(values, _FLOOR * self._norm)) @ vectors.T
        reached = np.eye(len(inverse)) - self._state.mean_decay(rounds)
        result: Floats = reached @ inverse @ reached.T
        return result


class _Noise:
    """The covariance of theta's error and of the sum of the last errors, as rounds go on.

    A round multiplies the error by `decay` and adds the step times the gradient's noise.
    """

    def __init__(self, decay: Floats, covariance: Floats) -> None:
        self._decay = decay
        self._power = np.eye(len(decay))
        self._powers: list[Floats] = []
        self._error = covariance
        self._cross = np.zeros_like(covariance)
        self._sum = np.zeros_like(covariance)
        self._counting = False

    @classmethod
    def start(
        cls, decay: Floats, previous: tuple[Floats, _Noise] | None, directions: Floats
    ) -> _Noise:
        if previous is None:
            return cls(decay, np.zeros_like(decay))
        old, noise = previous
        change = directions.T @ old
        return cls(decay, change @ noise._error @ change.T)

    def begin_mean(self) -> None:
        self._counting = True

    def advance(self, step: Floats) -> None:
        self._error = self._decay @ self._error @ self._decay.T + step @ step.T
        self._power = self._decay @ self._power
        if self._counting:
            self._cross = self._decay @ self._cross + self._error
            self._sum = self._sum + self._cross + self._cross.T - self._error
            self._powers.append(self._power)

    def mean_covariance(self, rounds: int) -> Floats:
        result: Floats = self._sum / rounds**2
        return result

    def mean_decay(self, rounds: int) -> Floats:
        result: Floats = sum(self._powers, np.zeros_like(self._decay)) / rounds
        return result
