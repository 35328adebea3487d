"""Rounds of boosting, and the distribution of the noise that remains in their average."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg

from dpfit._typing import Floats
from dpfit.engine.constants import RoundConstants
from dpfit.engine.solve import noise_norm
from dpfit.release import Released

__all__ = ["Averaged", "Boosting"]

# Releases X'g at theta.
Gradient: TypeAlias = Callable[[Floats], Released[Floats]]


@dataclass(frozen=True)
class Averaged:
    """The average of the last rounds.

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
    shrinkage : array
        Squares and products, in `directions`, of how far theta may be off because it starts at
        zero and the rounds may not have converged, or because it was shrunk.
    """

    theta: Floats
    directions: Floats
    noise: Floats
    sampling: Floats
    shrinkage: Floats


class Boosting:
    """Rounds in which theta moves by a fixed matrix times the noisy gradient.

    X'X has noise, but it only decides how fast the rounds converge: the limit depends on the
    gradients alone. The noise of the gradients is independent, so little of it remains in the
    average of the last rounds.

    Parameters
    ----------
    gram : Released
        X'X, of shape (p, p).
    directions : array of shape (p, k)
        Orthonormal; theta moves in their span.
    held_back : array of shape (p, p), optional
        Added to X'X in the steps, so that some directions move slowly.
    constants : RoundConstants, optional
        How the rounds move.

    Privacy
    -------
    Nothing here sees rows; `gradient` releases.
    """

    def __init__(
        self,
        gram: Released[Floats],
        directions: Floats,
        held_back: Floats | None = None,
        constants: RoundConstants | None = None,
    ) -> None:
        self._gram, self._sigma = gram.value, gram.sigma
        self._held_back = held_back
        self._constants = constants or RoundConstants()
        self.theta: Floats = np.zeros(len(self._gram))
        self._directions = directions
        nothing = np.zeros((directions.shape[1], directions.shape[1]))
        self._state = _Noise(nothing, nothing)
        self._rounds = 0
        # The part of theta that rounds do not change.
        self._fixed: Floats = np.zeros(len(self._gram))
        self.restrict(directions)

    def restrict(self, directions: Floats) -> None:
        """Let theta move in the span of other `directions`."""
        gram = directions.T @ self._gram @ directions
        norm = noise_norm(len(gram), self._sigma)
        steered = gram
        if self._held_back is not None:
            steered = gram + directions.T @ self._held_back @ directions
        values, vectors = scipy.linalg.eigh(steered)
        step = (vectors / np.maximum(values + norm, self._constants.floor * norm)) @ vectors.T
        self._step: Floats = step
        change = directions.T @ self._directions
        self._directions = directions
        self._small = gram
        self._norm = norm
        self._true = _without_noise(gram, norm, self._constants.unseen * norm)
        self._state = self._state.moved(np.eye(len(gram)) - step @ self._true, change)
        self.theta = self._fixed + directions @ (directions.T @ (self.theta - self._fixed))

    @property
    def norm(self) -> float:
        """The spectral norm that the noise of X'X has in the directions."""
        return self._norm

    def round(self, gradient: Gradient) -> Released[Floats]:
        """Do one round; return X'y according to this round, to choose directions."""
        noisy = gradient(self.theta)
        moments = noisy.value + self._gram @ self.theta
        step = self._directions @ (self._step @ (self._directions.T @ noisy.value))
        # Released numbers, kept finite so that a wild round cannot end the fit.
        largest = self._constants.largest
        moved = np.nan_to_num(self.theta + step, posinf=largest, neginf=-largest)
        self.theta = np.clip(moved, -largest, largest)
        self._state.advance(noisy.sigma * self._step)
        self._rounds += 1
        return Released(moments, noisy.sigmas)

    def average(self, gradient: Gradient, rounds: int, variance: float) -> Averaged:
        """Do the last rounds; return their average.

        `variance` is that of residuals. If a good part of the variance of predictions turns out to
        be noise, the slopes are shrunk and the last few rounds find the constant that goes with
        them.
        """
        total = np.zeros_like(self.theta)
        self._state.begin_mean()
        for done in range(1, rounds + 1):
            self.round(gradient)
            total += self.theta
            if done == rounds - self._constants.constant_rounds:
                noise = self._state.mean_covariance(done)
                factor = self._signal_share(total / done, noise + variance * self._sampling(done))
                if factor < self._constants.constant_below:
                    return self._constant(gradient, factor, total / done, noise, done)
        noise = self._state.mean_covariance(rounds)
        theta = total / rounds
        sampling = self._sampling(rounds)
        factor = self._signal_share(theta, noise + variance * sampling)
        shrinkage = self._not_reached(theta, factor, rounds)
        theta = self._shrunk(theta, factor)
        return Averaged(theta, self._directions, noise, sampling, shrinkage)

    def _signal_share(self, theta: Floats, noise: Floats) -> float:
        """Return the share of the variance of predictions that is not noise.

        This is James and Stein's factor: one minus the expected square of the noise (added for
        privacy, or of the rows as a sample) over the square of all that varies. It is one with
        ample data and zero with too little.
        """
        _, spread = self._centred()
        slopes = (self._directions.T @ theta)[:-1]
        varies = float(slopes @ spread @ slopes)
        noisy = float(np.sum(spread * noise[:-1, :-1]))
        return min(max(0.0, 1.0 - noisy / varies), 1.0) if varies > 0.0 else 0.0

    def _centred(self) -> tuple[Floats, Floats]:
        """Return the means of the features, relative to the constant, and X'X around them."""
        rows = max(self._true[-1, -1], 1e-300)
        mean = self._true[:-1, -1] / rows
        return mean, self._true[:-1, :-1] - rows * np.outer(mean, mean)

    def _shrunk(self, theta: Floats, factor: float) -> Floats:
        """Return theta with smaller slopes and the same mean prediction."""
        mean, _ = self._centred()
        small = self._directions.T @ theta
        slopes = small[:-1]
        small = np.append(factor * slopes, small[-1] + (1.0 - factor) * (mean @ slopes))
        result: Floats = self._directions @ small
        return result

    def _constant(
        self, gradient: Gradient, factor: float, theta: Floats, noise: Floats, done: int
    ) -> Averaged:
        """Shrink the slopes and find the constant that goes with them."""
        sampling, directions = self._sampling(done), self._directions
        shrinkage = self._not_reached(theta, factor, done)
        self.theta = self._shrunk(theta, factor)
        self._fixed = self.theta.copy()
        self._fixed[-1] = 0.0
        self.restrict(np.eye(len(theta))[:, -1:])
        total, rounds = np.zeros_like(theta), self._constants.constant_rounds
        self._state.begin_mean()
        for _ in range(rounds):
            self.round(gradient)
            total += self.theta
        noise = noise * factor**2
        noise[-1, :] = noise[:, -1] = 0.0
        noise[-1, -1] = self._state.mean_covariance(rounds)[0, 0]
        # These rounds found the constant, whatever was missing of it before.
        shrinkage[-1, :] = shrinkage[:, -1] = 0.0
        return Averaged(total / rounds, directions, noise, sampling, shrinkage)

    def _not_reached(self, theta: Floats, factor: float, rounds: int) -> Floats:
        """Return squares of what is missing of theta, before it is multiplied by `factor`.

        A round leaves a share of the way to go. Along an eigenvector of X'X, the share depends on
        the true eigenvalue, which the noise can put at most its norm below the noisy one. Where
        that leaves nothing, almost nothing is known about the way to go.
        """
        values, vectors = scipy.linalg.eigh(self._small)
        true = np.maximum(values - self._norm, self._constants.least * self._norm)
        # The step along these eigenvectors, which are its own unless it is held back.
        step = np.einsum("ij,ik,kj->j", vectors, self._step, vectors)
        left = np.clip(1.0 - step * true, 0.0, 1.0)
        times = np.arange(self._rounds - rounds + 1, self._rounds + 1)
        left = np.mean(left[:, None] ** times, axis=1)
        small = self._directions.T @ theta
        missing = (vectors.T @ small) * left / (1.0 - left)
        slopes = np.append((1.0 - factor) * small[:-1], 0.0)
        result: Floats = (vectors * np.square(missing)) @ vectors.T + np.outer(slopes, slopes)
        return result

    def _sampling(self, rounds: int) -> Floats:
        """Return the covariance that errors of variance one in the rows would add."""
        values, vectors = scipy.linalg.eigh(self._small)
        inverse = (vectors / np.maximum(values, self._constants.floor * self._norm)) @ vectors.T
        reached = np.eye(len(inverse)) - self._state.mean_decay(rounds)
        result: Floats = reached @ inverse @ reached.T
        return result


def _without_noise(gram: Floats, radius: float, unseen: float) -> Floats:
    """Return what X'X is likely to be along the eigenvectors of the noisy one.

    By the law of spiked matrices, an eigenvector with eigenvalue l of a matrix with noise of
    spectral radius r has sqrt(l^2 - r^2) in the matrix without noise. Where l < r the noise hides
    the eigenvalue; `unseen` stands for what may be there.
    """
    values, vectors = scipy.linalg.eigh(gram)
    likely = np.sqrt(np.maximum(np.square(values) - radius**2, 0.0)) * (values > 0.0)
    likely = np.maximum(likely, unseen)
    result: Floats = (vectors * likely) @ vectors.T
    return result


class _Noise:
    """The covariance of theta's error and of the sum of the last errors, round by round.

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

    def moved(self, decay: Floats, change: Floats) -> _Noise:
        """Return the same error in other directions, before any sum."""
        return _Noise(decay, change @ self._error @ change.T)

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
