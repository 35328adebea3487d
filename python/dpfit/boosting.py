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
# What is assumed of X'X where its noise hides it, as a share of the noise's spectral norm.
_UNSEEN = 0.3
# The least that is assumed of X'X for the bias of rounds that do not converge.
_LEAST = 0.05
# The last rounds are for the constant if less than this share of the predictions is signal.
_CONSTANT_BELOW = 0.9
_CONSTANT_ROUNDS = 3
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
    shrinkage : array
        Squares and products, in `directions`, of how far theta may be off because it starts at
        zero and the rounds may not have come to their end, or because it was shrunk.
    """

    theta: Floats
    directions: Floats
    noise: Floats
    sampling: Floats
    shrinkage: Floats


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
        self._directions = directions
        nothing = np.zeros((directions.shape[1], directions.shape[1]))
        self._state = _Noise(nothing, nothing)
        self._rounds = 0
        # What stays, whatever the rounds do.
        self._fixed: Floats = np.zeros(len(gram))
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
        change = directions.T @ self._directions
        self._directions = directions
        self._small = gram
        self._norm = norm
        self._true = _without_noise(gram, norm)
        self._state = self._state.moved(np.eye(len(gram)) - step @ self._true, change)
        self.theta = self._fixed + directions @ (directions.T @ (self.theta - self._fixed))

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
        self._state.advance(sigma * self._step)
        self._rounds += 1
        result: Floats = moments
        return result

    def average(
        self, gradient: Gradient, counter: Iterator[int], rounds: int, variance: float
    ) -> Averaged:
        """Do the last rounds, as the counter goes on; return their mean.

        `variance` is that of residuals. If a good part of what varies in the predictions turns out
        to be noise, the slopes are shrunk and the last few rounds find the constant that goes with
        them.
        """
        total = np.zeros_like(self.theta)
        self._state.begin_mean()
        for done in range(1, rounds + 1):
            next(counter, None)
            self.round(gradient)
            total += self.theta
            if done == rounds - _CONSTANT_ROUNDS:
                noise = self._state.mean_covariance(done)
                factor = self._signal_share(total / done, noise + variance * self._sampling(done))
                if factor < _CONSTANT_BELOW:
                    return self._constant(gradient, counter, factor, total / done, noise, done)
        noise = self._state.mean_covariance(rounds)
        theta = total / rounds
        sampling = self._sampling(rounds)
        factor = self._signal_share(theta, noise + variance * sampling)
        shrinkage = self._not_reached(theta, factor, rounds)
        theta = self._shrunk(theta, factor)
        return Averaged(theta, self._directions, noise, sampling, shrinkage)

    def _signal_share(self, theta: Floats, noise: Floats) -> float:
        """Return the share of what varies in the predictions that is not noise.

        James and Stein's factor: one less the expected square of what is noise (added for privacy,
        or of the rows as a sample), over the square of all that varies. With ample data it is one;
        with too little it is zero.
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
        self,
        gradient: Gradient,
        counter: Iterator[int],
        factor: float,
        theta: Floats,
        noise: Floats,
        done: int,
    ) -> Averaged:
        """Shrink the slopes and find the constant anew."""
        sampling, directions = self._sampling(done), self._directions
        shrinkage = self._not_reached(theta, factor, done)
        self.theta = self._shrunk(theta, factor)
        self._fixed = self.theta.copy()
        self._fixed[-1] = 0.0
        self.restrict(np.eye(len(theta))[:, -1:])
        total, rounds = np.zeros_like(theta), 0
        self._state.begin_mean()
        for _ in counter:
            self.round(gradient)
            total += self.theta
            rounds += 1
        noise = noise * factor**2
        noise[-1, :] = noise[:, -1] = 0.0
        noise[-1, -1] = self._state.mean_covariance(rounds)[0, 0]
        # The constant was found anew.
        shrinkage[-1, :] = shrinkage[:, -1] = 0.0
        return Averaged(total / rounds, directions, noise, sampling, shrinkage)

    def _not_reached(self, theta: Floats, factor: float, rounds: int) -> Floats:
        """Return squares of what is missing of theta, before it is multiplied by `factor`.

        A round leaves a share of the way to go, which along an eigenvector of X'X follows from the
        true eigenvalue. That is as much below the noisy one as the noise can make it; where that
        leaves nothing, as good as nothing is known of how far there is to go.
        """
        values, vectors = scipy.linalg.eigh(self._small)
        true = np.maximum(values - self._norm, _LEAST * self._norm)
        # Of the step, along these eigenvectors; it has them as its own unless it is held back.
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
        inverse = (vectors / np.maximum(values, _FLOOR * self._norm)) @ vectors.T
        reached = np.eye(len(inverse)) - self._state.mean_decay(rounds)
        result: Floats = reached @ inverse @ reached.T
        return result


def _without_noise(gram: Floats, radius: float) -> Floats:
    """Return what X'X is likely to be along the eigenvectors of the noisy one.

    By the law of spiked matrices, an eigenvector with eigenvalue l of a matrix with noise of
    spectral radius r has sqrt(l^2 - r^2) in the matrix without noise. Where l < r nothing can be
    told apart; a small share of the radius stands for what may be there.
    """
    values, vectors = scipy.linalg.eigh(gram)
    likely = np.sqrt(np.maximum(np.square(values) - radius**2, 0.0)) * (values > 0.0)
    likely = np.maximum(likely, _UNSEEN * radius)
    result: Floats = (vectors * likely) @ vectors.T
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
