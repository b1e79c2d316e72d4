"""The delay from a command to its effect: measured torques are laid over commanded ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..core.errors import refused
from ..core.types import Array
from .estimates import Estimate, Z
from .recording import ArmRecording

MAX_DELAY = 0.06  # s
# of a period: where jitter moves a command over the edge of a period, the model is not linear
EDGE = 0.05
GAP = 3.5  # periods between two samples, beyond which the recording may have lost commands as well
SKIPPED = 0.2  # s at the beginning, in which the first command has no effect yet


@dataclass(frozen=True, eq=False)
class Alignment:
    """Measured efforts as a delayed copy of the commands: e(t) = s u(t - L) + b g(q) + o + noise.

    Attributes:
        delay: Mean L from a command to its effect [s].
        jitter: Width of the uniform distribution that L is drawn from [s].
        noise: (n,) Standard deviations of the efforts.
        scale: (n,) Effort per commanded torque, s.
        offset: (n,) Offsets of the efforts, o.
        predicted: (k, n) Delayed command u(t - L), the mean over the period before each stamp
            [N·m].
    """

    delay: Estimate
    jitter: Estimate
    noise: Estimate
    scale: Estimate
    offset: Estimate
    predicted: Array


def align(recording: ArmRecording, gravity: Array | None) -> Alignment:
    """Find the delay, and what remains of the efforts.

    A command acts from its arrival to that of the next. An effort is the mean torque of the period
    before its stamp, so the model is exact between samples, too. L minimises the residuals, each
    joint weighted by its own variance. Jitter is what they have beyond noise where the command
    jumps: E r² = σ² + var(L) (s du/dL)².

    Args:
        recording: Recording of torques that were commanded and measured.
        gravity: (k, n) Gravity g(q) of the model [N·m], where efforts may lack it. With None, b is
            0.

    Raises:
        ConfigError: The efforts stand still, or follow no command within 60 ms.
    """
    used = (recording.stamp > recording.stamp[0] + SKIPPED) & ~_after_gaps(recording)
    effort = recording.effort[used]
    if not (np.ptp(effort, axis=0) > 0.0).any():
        raise refused("effort", effort[0], "must be measured: it never changes")
    fit = _Fit(recording, used, effort, gravity)
    grid = np.arange(0.0, MAX_DELAY, fit.period / 2.0)
    costs = [fit.cost(each) for each in grid]
    best = float(grid[int(np.argmin(costs))])
    bounds = (max(best - fit.period, 0.0), best + fit.period)
    delay = float(
        minimize_scalar(fit.cost, bounds=bounds, method="bounded", options={"xatol": 1e-7}).x
    )
    residual, weights, covariance = fit.residuals(delay)
    slope = weights[0] * fit.slope(delay)
    slope -= np.stack(
        [x @ np.linalg.lstsq(x, y, rcond=None)[0] for x, y in fit.pairs(delay, slope)], axis=1
    )
    variance = residual.var(axis=0)
    information = (slope**2 / variance).sum()
    spread = np.sqrt(((slope * residual / variance).sum(axis=1) ** 2).sum()) / information
    if not delay < MAX_DELAY or spread > MAX_DELAY:
        raise refused(
            "delay",
            delay,
            f"efforts must follow commands within {MAX_DELAY:g} s",
            MAX_DELAY,
            unit="s",
        )
    noise, jitter = _noise_and_jitter(residual, slope)
    predicted, _ = fit.predict(recording.stamp, delay)
    deviation = Z * np.sqrt(covariance)
    return Alignment(
        delay=Estimate(np.array(delay), np.array(Z * spread + EDGE * fit.period)),
        jitter=jitter,
        noise=noise,
        scale=Estimate(weights[0], deviation[0]),
        offset=Estimate(weights[-1], deviation[-1]),
        predicted=predicted,
    )


def _after_gaps(recording: ArmRecording) -> Any:
    """Mask (k,) of samples that follow a gap so soon that they may show commands
    that weren't recorded.
    """
    stamp = recording.stamp
    gaps = np.diff(stamp)
    gap_ends = np.flatnonzero(gaps > GAP * np.median(gaps)) + 1
    late_samples = np.zeros(len(stamp), dtype=bool)
    for index in gap_ends:
        late_samples |= (stamp >= stamp[index]) & (stamp < stamp[index] + MAX_DELAY)
    return late_samples


class _Fit:
    """Residuals of efforts (m, n) for each delay."""

    def __init__(
        self, recording: ArmRecording, used: Array, effort: Array, gravity: Array | None
    ) -> None:
        self._effort = effort
        self._gravity = np.zeros_like(effort) if gravity is None else gravity[used]
        self._times = recording.received
        self._commands = recording.command
        lasting = np.diff(self._times)[:, None]
        start = np.zeros((1, self._commands.shape[1]))
        self._integral = np.vstack((start, np.cumsum(lasting * self._commands[:-1], axis=0)))
        self.period = float(np.median(np.diff(recording.stamp)))
        self._stamp = recording.stamp[used]

    def predict(self, stamp: Array, delay: float) -> tuple[Array, Array]:
        """Mean command (m, n) over the period that ends `delay` before each stamp, and its
        change by the delay.
        """
        end_integral, end_command = self._at(stamp - delay)
        begin_integral, begin_command = self._at(stamp - delay - self.period)
        mean = (end_integral - begin_integral) / self.period
        return mean, (begin_command - end_command) / self.period

    def _at(self, t: Array) -> tuple[Array, Array]:
        """Integral of the commands until times t (m,), and the commands then."""
        index = np.clip(np.searchsorted(self._times, t, side="right") - 1, 0, None)
        since = np.maximum(t - self._times[index], 0.0)[:, None]
        return self._integral[index] + since * self._commands[index], self._commands[index]

    def slope(self, delay: float) -> Array:
        return self.predict(self._stamp, delay)[1]

    def pairs(self, delay: float, values: Array) -> list[tuple[Array, Array]]:
        """For each joint its regressors (m, 3) and the values (m,) that they explain."""
        predicted, _ = self.predict(self._stamp, delay)
        one = np.ones(len(predicted))
        columns = zip(predicted.T, self._gravity.T, values.T, strict=True)
        return [(np.column_stack((u, g, one)), y) for u, g, y in columns]

    def residuals(self, delay: float) -> tuple[Array, Array, Array]:
        """Residuals (m, n), the coefficients s, b, o (3, n), and their variances (3, n).

        The variances are White's: residuals are larger where the command jumps.
        """
        rest = []
        coefficients = []
        variances = []
        for x, y in self.pairs(delay, self._effort):
            inverse = np.linalg.pinv(x.T @ x, rcond=1e-9, hermitian=True)
            best = inverse @ (x.T @ y)
            rest.append(np.asarray(y - x @ best))
            coefficients.append(best)
            variances.append(_white(np.asarray(inverse), rest[-1][:, None] * x))
        return np.stack(rest, axis=1), np.stack(coefficients, axis=1), np.stack(variances, axis=1)

    def cost(self, delay: float) -> float:
        return float(np.log(self.residuals(delay)[0].var(axis=0) + 1e-18).sum())


def _noise_and_jitter(residual: Array, slope: Array) -> tuple[Estimate, Estimate]:
    """Standard deviations (n,) of the noise, and the width of the delay's distribution [s].

    Jitter that takes a command over the edge of a period shows at the neighbouring samples, too. So
    the noise is what is left beside the slopes there.
    """
    variances = []
    spreads = []
    jitters = []
    weights = []
    for r, d in zip(residual.T, slope.T, strict=True):
        y = r**2
        own = d**2
        one = np.ones(len(d))
        fit, spread = _variances(np.column_stack((one, own)), y)
        jitters.append(fit[1])
        weights.append(1.0 / max(spread[1], 1e-300))
        fit, spread = _variances(np.column_stack((one, own, np.roll(own, 1), np.roll(own, -1))), y)
        variances.append(fit[0])
        spreads.append(np.sqrt(spread[0]))
    noise = np.sqrt(np.array(variances))
    noise_width = Z * np.array(spreads) / (2.0 * np.maximum(noise, 1e-12))
    variance = np.average(jitters, weights=weights)
    deviation = Z / np.sqrt(np.sum(weights))
    low, high = np.sqrt(12.0 * np.maximum([variance - deviation, variance + deviation], 0.0))
    width = np.sqrt(12.0 * variance) if variance > deviation else 0.0
    return Estimate(noise, noise_width), Estimate(
        np.array(width), np.array(max(high - width, width - low))
    )


def _variances(x: Array, y: Array) -> tuple[Array, Array]:
    """Coefficients (p,) of squared residuals y (m,) by regressors x (m, p), and their variances
    (p,).

    The first regressor is 1.
    """
    fit = np.zeros(x.shape[1])
    fit[0] = y.mean()
    for _ in range(5):  # the variance of r² is 2 (E r²)²
        w = 1.0 / np.maximum(x @ fit, 1e-3 * y.mean() + 1e-18) ** 2
        inverse = np.linalg.pinv(x.T @ (w[:, None] * x), rcond=1e-15)
        fit = np.maximum(inverse @ (x.T @ (w * y)), 0.0)
    return fit, _white(inverse, (w * (y - x @ fit))[:, None] * x)


def _white(inverse: Array, score: Array) -> Array:
    """White's variances (p,) of regression coefficients: the residuals' variance needn't be the
    same everywhere.

    Source: H. White, A heteroskedasticity-consistent covariance matrix estimator and a direct test
    for heteroskedasticity, Econometrica 48(4), 1980.

    Args:
        inverse: (p, p) Inverse of the regressors' squares.
        score: (m, p) Residual times regressor, in each sample.
    """
    return np.asarray((inverse @ (score.T @ score) @ inverse).diagonal())
