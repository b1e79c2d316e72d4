"""What came of an experiment: measured against the ideal, on one time axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import minimize_scalar

from ...core.spatial import pose_error, pose_from_rows
from ...core.types import Array
from .figures import FrequencyFigures, StepFigures, measured_response, phase
from .second_order import SecondOrder

FINE = 0.002  # s between two points of a step response
BEFORE = 0.1  # s of it that are shown before the step
LAST = 0.2  # s, at its end, whose mean counts as the final value
NEAR = 25  # samples to each side that tell how long a command was under way
LATEST = 0.15  # s that a command may be under way, where only the motion tells
SAME = 2e-7  # N, N·m
POINTS = 28  # of a frequency response
COHERENT = 0.9  # from which a measured point is shown


@dataclass(frozen=True, eq=False)
class Recording:
    """Of one run.

    Attributes:
        axis: 0 to 5.
        size: of the step, or amplitude of the chirp [N, N·m].
        band: (2,) lowest and highest frequency of the chirp [Hz]; None for a step.
        begin: when the step or chirp was sent, on the page's clock [s].
        ideal: see :class:`SecondOrder`.
        base: (4, 4) pose at rest.
        sent: (k, 2) when [s, the page's clock] and what [N, N·m].
        states: blocks of ~/state.
        shown: (m,) the wrench along the axis that each of these shows; NaN where it shows none.
        ahead: robot's clock minus the page's, at least [s].
    """

    axis: int
    size: float
    band: tuple[float, float] | None
    begin: float
    ideal: SecondOrder
    base: Array
    sent: Array
    states: Sequence[Mapping[str, Array]]
    shown: Array
    ahead: float


@dataclass(frozen=True, eq=False)
class StepResult:
    """A step response.

    Attributes:
        times: (m,) since the step took effect [s].
        measured, ideal: (m,) [m, rad].
        measured_figures, ideal_figures: of these.
        words: what to know about it.
    """

    times: Array
    measured: Array
    ideal: Array
    measured_figures: StepFigures
    ideal_figures: StepFigures
    words: str


@dataclass(frozen=True, eq=False)
class FrequencyResult:
    """A frequency response.

    Attributes:
        frequencies: (m,) [Hz].
        measured, ideal: (m,) complex [m/N, rad/(N·m)]; measured is NaN where noise prevails.
        measured_figures, ideal_figures: of these.
        words: what to know about it.
    """

    frequencies: Array
    measured: Array
    ideal: Array
    measured_figures: FrequencyFigures
    ideal_figures: FrequencyFigures
    words: str


Result = StepResult | FrequencyResult


def evaluate(recording: Recording) -> Result:
    """Compare with the ideal.

    The commands are taken to act when the states show them; where these show no wrench, all a constant time after they
    were sent, with which the ideal fits the measurement best.
    """
    times = np.array([state["time"][0] for state in recording.states])
    _, order = np.unique(times, return_index=True)
    times = times[order]
    poses = [pose_from_rows(recording.states[i]["pose"]) for i in order]
    moved = np.array([pose_error(pose, recording.base)[recording.axis] for pose in poses])
    speed = np.array([recording.states[i]["twist"][recording.axis] for i in order])
    begun, forces = recording.sent[:, 0], recording.sent[:, 1]
    effect, words = _effect(recording, times, recording.shown[order], moved)
    moved = moved - moved[times < effect[np.searchsorted(begun, recording.begin)]].mean()
    torques = any(state["saturated"].any() for state in recording.states if "saturated" in state)
    words += "; a joint was at its torque limit: the ideal knows none" if torques else ""
    if recording.band is None:
        exerted = np.flatnonzero(forces > 0.5 * recording.size)
        begin, end = effect[exerted[0]], np.append(effect, times[-1])[exerted[-1] + 1]
        return _step(recording, times - begin, moved, speed, end - begin, words)
    return _frequencies(recording, times, moved, effect, forces, words)


def _step(recording: Recording, times: Array, moved: Array, speed: Array, end: float, words: str) -> StepResult:
    inside = (times > -2.0 * BEFORE) & (times <= end)
    curve = CubicHermiteSpline(times[inside], moved[inside], speed[inside])
    shown = np.arange(-BEFORE, times[inside][-1], FINE)
    measured, ideal = curve(shown), recording.ideal.step(shown, recording.size)
    since, settled = shown >= 0.0, shown > shown[-1] - LAST
    figures = StepFigures.of(shown[since], measured[since], float(measured[settled].mean()))
    wanted = StepFigures.of(shown[since], ideal[since], recording.ideal.compliance * recording.size)
    return StepResult(shown, measured, ideal, figures, wanted, words)


def _frequencies(
    recording: Recording, times: Array, moved: Array, effect: Array, forces: Array, words: str
) -> FrequencyResult:
    assert recording.band is not None
    low, high = recording.band
    edge = (high / low) ** (0.5 / POINTS)
    frequencies = np.geomspace(low * edge, high / edge, POINTS)
    measured, coherence = measured_response(frequencies, times, moved, effect, forces)
    ideal = recording.ideal.frequency_response(frequencies)
    good = coherence >= COHERENT
    figures = FrequencyFigures.of(frequencies[good], measured[good])
    measured[~good] = np.nan
    return FrequencyResult(frequencies, measured, ideal, figures, FrequencyFigures.of(frequencies, ideal), words)


# --- when the commands acted ---


def _effect(recording: Recording, times: Array, shown: Array, moved: Array) -> tuple[Array, str]:
    """Times (k,) on the robot's clock, and how they are known."""
    begun = recording.sent[:, 0]
    if (_which(recording.sent, shown) >= 0).any():
        effect, doubts = effect_shown(recording.sent, times, shown)
        doubt = doubts[np.searchsorted(begun, recording.begin)] if recording.band is None else np.median(doubts)
        return effect, f"force timed to ±{math.ceil(1e3 * doubt)} ms, by the torques in ~/state"
    lag = _best_lag(recording, times, moved)
    return (
        begun + recording.ahead + lag,
        f"the law shows no torques of the force: taken to act {1e3 * lag:.0f} ms late, by the best fit",
    )


def effect_shown(sent: Array, times: Array, shown: Array) -> tuple[Array, Array]:
    """When each command acted, by the samples' clock, from what was seen to act when.

    A command acts between the last sample that shows an earlier one and the first that shows it or a later one. Several
    such bounds close in on the difference of the two clocks, far closer than the time between two samples; but where
    one clock goes unsteadily, a command's own two bounds prevail.

    Args:
        sent: (k, 2) time, by the sender's clock, and value; all values differ.
        times, shown: (m,) samples; those that show none of the values tell nothing.

    Returns:
        (k,) [s], and the doubt about each (k,) [s].
    """
    which = _which(sent, shown)
    times, which = times[which >= 0], which[which >= 0]
    begun = sent[:, 0] * np.polyfit(sent[which, 0], times, 1)[0]  # a simulation may be slow
    earliest = np.concatenate((begun, [np.inf]))
    latest_start, earliest_end = times - earliest[which], times - earliest[which + 1]
    bounds = np.concatenate(([-np.inf], times, [np.inf]))
    effect, doubts = np.empty(len(sent)), np.empty(len(sent))
    for k, when in enumerate(begun):
        first = int(np.searchsorted(which, k))
        near = slice(max(first - NEAR, 0), first + NEAR)
        upper, lower = latest_start[near].min(), earliest_end[near].max()
        guess = when + 0.5 * (lower + upper)
        effect[k] = min(max(guess, bounds[first]), bounds[first + 1])
        doubts[k] = abs(effect[k] - guess) + 0.5 * max(upper - lower, 0.0)
    return effect, doubts


def _which(sent: Array, shown: Array) -> NDArray[np.int64]:
    """Which command each sample (m,) shows; -1 where it is none of them."""
    away = np.abs(np.where(np.isfinite(shown), shown, np.inf)[:, None] - sent[:, 1])
    which = away.argmin(1)
    return np.where(away.min(1) < SAME, which, -1)


def _best_lag(recording: Recording, times: Array, moved: Array) -> float:
    """With which the ideal fits the measurement best [s]."""
    begun, forces = recording.sent[:, 0] + recording.ahead, recording.sent[:, 1]
    grid = np.arange(times[0] - LATEST, times[-1], FINE)
    ideal = recording.ideal.response(grid, begun, forces)
    before = times < begun[np.searchsorted(recording.sent[:, 0], recording.begin)]
    moved = moved - moved[before].mean()

    def misfit(lag: float) -> float:
        return float(np.square(moved - np.interp(times - lag, grid, ideal)).sum())

    return float(minimize_scalar(misfit, bounds=(0.0, LATEST), method="bounded").x)


# --- as a file ---


def table(result: Result) -> str:
    """As CSV, in SI units."""
    if isinstance(result, StepResult):
        head = "time [s],measured [m or rad],ideal [m or rad]"
        columns = [result.times, result.measured, result.ideal]
    else:
        head = "frequency [Hz],measured gain [m/N or rad/(N m)],measured phase [deg],ideal gain,ideal phase [deg]"
        columns = [result.frequencies]
        for curve in (result.measured, result.ideal):
            columns += [np.abs(curve), degrees(curve)]
    lines = [",".join(f"{value:.8g}" for value in row) for row in np.column_stack(columns)]
    return "\n".join((head, *lines, ""))


def degrees(response: Array) -> Array:
    """Phase (m,) [°] of a complex response (m,), NaN where that is NaN."""
    found = np.full(len(response), np.nan)
    good = np.isfinite(response)
    found[good] = phase(response[good])
    return found
