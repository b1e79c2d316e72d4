"""Thresholds of contact detection, learnt from an arm's own motion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from ..core.errors import refused
from ..core.types import Array

LONGEST = 600.0  # s of samples that are learnt from
SHORTEST = 30.0  # s
WINDOW = 0.02  # s, of which the sample with the largest value counts
FACTOR = 2.5  # of the fitted slopes
MARGIN = 1.5  # of the largest value seen
RIDGE = 1e-9  # of the regressors' squares: a joint that never moves has no slopes


class ThresholdLearning:
    """Collects values with the motion at which they came, and fits thresholds ε = ε0 + a |q̇_ref| +
    b |q̈_ref|.

    For each joint, the slopes a and b are 2.5 times those of a least-squares fit in which nothing
    is negative. ε0 is at least 2.5 times that of the fit. It is also so large that 1.5 times every
    value seen is below ε. So nothing seen would have been an alarm: where friction changes its
    sign, values are many times the fit.

    Attributes:
        seconds: Duration of the samples so far [s].
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        # by quantity, (3, n) each: value, velocity, acceleration
        self._windows: dict[str, list[Array]] = {}
        self._largest: dict[str, Array] = {}
        self._left = WINDOW

    def add(self, values: Mapping[str, Array], motion: tuple[Array, Array], dt: float) -> None:
        """Take a sample.

        Args:
            values: Values (n,) by quantity.
            motion: Velocities q̇_ref and accelerations q̈_ref (n,) of the reference.
            dt: Duration of the sample [s].
        """
        if self.seconds >= LONGEST:
            return
        self.seconds += dt
        self._left -= dt
        for name, value in values.items():
            sample = np.abs((value, *motion))
            largest = self._largest.get(name, sample)
            self._largest[name] = np.where(sample[0] >= largest[0], sample, largest)
        if self._left <= 0.0:
            for name, largest in self._largest.items():
                self._windows.setdefault(name, []).append(largest)
            self._largest = {}
            self._left = WINDOW

    def thresholds(self) -> dict[str, Array]:
        """Thresholds ε0, a and b (3, n), by quantity.

        Raises:
            ConfigError: less than 30 s of samples.
        """
        if self.seconds < SHORTEST:
            rule = f"must be at least {SHORTEST:g} s of the motion that the arm shall make"
            raise refused("learning time", round(self.seconds, 1), rule, SHORTEST, unit="s")
        return {name: _fitted(np.array(windows)) for name, windows in self._windows.items()}


def _fitted(samples: Array) -> Array:
    """Fit ε0, a and b (3, n) to samples (k, 3, n)."""
    return np.stack([_joint(*samples[:, :, joint].T) for joint in range(samples.shape[2])], axis=1)


def _joint(values: Array, speeds: Array, accelerations: Array) -> Array:
    regressors = np.stack((np.ones_like(speeds), speeds, accelerations), axis=1)
    square = regressors.T.dot(regressors)
    square.flat[::4] += RIDGE * np.trace(square)
    root = np.linalg.cholesky(square)  # |A x - b|² is |Rᵀ x - R⁻¹ Aᵀ b|² and a constant
    fit = FACTOR * nnls(root.T, solve_triangular(root, regressors.T.dot(values), lower=True))[0]
    fit[0] = max(fit[0], float((MARGIN * values - regressors[:, 1:].dot(fit[1:])).max()))
    return np.asarray(fit)
