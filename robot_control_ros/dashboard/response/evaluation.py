"""The result of an experiment: the motion and the ideal on one axis of time or frequency."""

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
from ..chart import TIME, csv
from .figures import FrequencyFigures, StepFigures, measured_response, phase
from .plan import Plan
from .second_order import SecondOrder

FINE = 0.002  # s between two points of a step response
BEFORE = 0.1  # s that are shown before the step
FINAL = 0.2  # s at the end, whose mean is the final value
NEAR = 25  # samples to each side that show how long a command took
MAX_LAG = 0.15  # s that a command may take, if it is fitted to the motion
SAME = 2e-7  # N, N·m
POINTS = 28  # of a frequency response
COHERENT = 0.9  # from which a measured point is shown


@dataclass(frozen=True, eq=False)
class Recording:
    """One run."""

    plan: Plan  # of the run
    band: tuple[float, float]  # (2,) lowest and highest frequency of a chirp [Hz]
    begin: float  # when the step or chirp was sent, on the page's clock [s]
    ideal: SecondOrder  # to compare with
    base: Array  # (4, 4) pose at rest
    sent: Array  # (k, 2) times [s, the page's clock] and commands [N, N·m]
    states: Sequence[Mapping[str, Array]]  # blocks of ~/state
    shown: Array  # (m,) the wrench along the axis in each of these; NaN if it has none
    ahead: float  # least difference of the robot's clock and the page's [s]


@dataclass(frozen=True, eq=False)
class ResponseResult:
    """A step response, or the frequency response to a chirp."""

    x: Array  # (m,) time since the step took effect [s], or frequency [Hz]
    measured: Array  # (m,) [m, rad]; or complex [m/N, rad/(N·m)], NaN where noise prevails
    ideal: Array  # (m,) the same, without NaN
    measured_figures: StepFigures | FrequencyFigures
    ideal_figures: StepFigures | FrequencyFigures
    message: str  # how the time was found, and warnings


def evaluate(recording: Recording) -> ResponseResult:
    """Compare with the ideal.

    A command is taken to act when the states show it. If they show no wrench, all commands act a constant time after
    they were sent: the time with which the ideal fits best.
    """
    axis, begin = recording.plan.axis, recording.begin
    times = np.array([state["time"][0] for state in recording.states])
    times, order = np.unique(times, return_index=True)
    states = [recording.states[i] for i in order]
    moved = np.array([pose_error(pose_from_rows(state["pose"]), recording.base)[axis] for state in states])
    effect, message = _effect(recording, times, recording.shown[order], moved)
    moved = moved - moved[times < effect[np.searchsorted(recording.sent[:, 0], begin)]].mean()
    if any(state["saturated"].any() for state in states if "saturated" in state):
        message += "; a joint was at its torque limit: the ideal has none"
    if recording.plan.chirp:
        return _frequencies(recording, times, moved, effect, message)
    return _step(recording, times, moved, np.array([state["twist"][axis] for state in states]), effect, message)


def _step(
    recording: Recording, times: Array, moved: Array, speed: Array, effect: Array, message: str
) -> ResponseResult:
    size = recording.plan.size
    exerted = np.flatnonzero(recording.sent[:, 1] > 0.5 * size)
    begin, end = effect[exerted[0]], np.append(effect, times[-1])[exerted[-1] + 1]
    times = times - begin
    inside = (times > -2.0 * BEFORE) & (times <= end - begin)
    curve = CubicHermiteSpline(times[inside], moved[inside], speed[inside])
    shown = np.arange(-BEFORE, times[inside][-1], FINE)
    measured, ideal = curve(shown), recording.ideal.step(shown, size)
    since, settled = shown >= 0.0, shown > shown[-1] - FINAL
    figures = StepFigures.of(shown[since], measured[since], float(measured[settled].mean()))
    wanted = StepFigures.of(shown[since], ideal[since], recording.ideal.compliance * size)
    return ResponseResult(shown, measured, ideal, figures, wanted, message)


def _frequencies(recording: Recording, times: Array, moved: Array, effect: Array, message: str) -> ResponseResult:
    low, high = recording.band
    edge = (high / low) ** (0.5 / POINTS)
    frequencies = np.geomspace(low * edge, high / edge, POINTS)
    measured, coherence = measured_response(frequencies, times, moved, effect, recording.sent[:, 1])
    ideal = recording.ideal.frequency_response(frequencies)
    good = coherence >= COHERENT
    figures = FrequencyFigures.of(frequencies[good], measured[good])
    measured[~good] = np.nan
    return ResponseResult(frequencies, measured, ideal, figures, FrequencyFigures.of(frequencies, ideal), message)


# --- when the commands acted ---


def _effect(recording: Recording, times: Array, shown: Array, moved: Array) -> tuple[Array, str]:
    """Times (k,) on the robot's clock, and a message how they were found."""
    begun = recording.sent[:, 0]
    if (_which(recording.sent, shown) >= 0).any():
        effect, errors = effect_shown(recording.sent, times, shown)
        error = np.median(errors) if recording.plan.chirp else errors[np.searchsorted(begun, recording.begin)]
        return effect, f"force timed to ±{math.ceil(1e3 * error)} ms, by the torques in ~/state"
    lag = _best_lag(recording, times, moved)
    message = f"the law shows no torques of the force: taken to act {1e3 * lag:.0f} ms late, by the best fit"
    return begun + recording.ahead + lag, message


def effect_shown(sent: Array, times: Array, shown: Array) -> tuple[Array, Array]:
    """When each command acted, on the samples' clock.

    A command acts between the last sample that shows an earlier one and the first that shows it or a later one. Several
    such bounds give the difference of the two clocks, far closer than the time between two samples. If a clock is not
    steady, a command's own two bounds prevail.

    Args:
        sent: (k, 2) times on the sender's clock, and values; all values differ.
        times, shown: (m,) samples; those that show none of the values are ignored.

    Returns:
        (k,) [s], and the error bound of each (k,) [s].
    """
    which = _which(sent, shown)
    times, which = times[which >= 0], which[which >= 0]
    begun = sent[:, 0] * np.polyfit(sent[which, 0], times, 1)[0]  # a simulation may be slow
    earliest = np.concatenate((begun, [np.inf]))
    latest_start, earliest_end = times - earliest[which], times - earliest[which + 1]
    bounds = np.concatenate(([-np.inf], times, [np.inf]))
    effect, errors = np.empty(len(sent)), np.empty(len(sent))
    for k, when in enumerate(begun):
        first = int(np.searchsorted(which, k))
        near = slice(max(first - NEAR, 0), first + NEAR)
        upper, lower = latest_start[near].min(), earliest_end[near].max()
        guess = when + 0.5 * (lower + upper)
        effect[k] = min(max(guess, bounds[first]), bounds[first + 1])
        errors[k] = abs(effect[k] - guess) + 0.5 * max(upper - lower, 0.0)
    return effect, errors


def _which(sent: Array, shown: Array) -> NDArray[np.int64]:
    """Index of the command that each sample (m,) shows; -1 if none."""
    error = np.abs(np.where(np.isfinite(shown), shown, np.inf)[:, None] - sent[:, 1])
    return np.where(error.min(1) < SAME, error.argmin(1), -1)


def _best_lag(recording: Recording, times: Array, moved: Array) -> float:
    """The lag [s] with which the ideal fits the measurement best."""
    begun, forces = recording.sent[:, 0] + recording.ahead, recording.sent[:, 1]
    grid = np.arange(times[0] - MAX_LAG, times[-1], FINE)
    ideal = recording.ideal.response(grid, begun, forces)
    before = times < begun[np.searchsorted(recording.sent[:, 0], recording.begin)]
    moved = moved - moved[before].mean()

    def misfit(lag: float) -> float:
        return float(np.square(moved - np.interp(times - lag, grid, ideal)).sum())

    return float(minimize_scalar(misfit, bounds=(0.0, MAX_LAG), method="bounded").x)


# --- as a file ---


def result_csv(result: ResponseResult) -> bytes:
    """As CSV, in SI units."""
    if not np.iscomplexobj(result.measured):
        return csv({TIME: result.x, "measured [m or rad]": result.measured, "ideal [m or rad]": result.ideal})
    columns = {"frequency [Hz]": result.x}
    for name, curve in (("measured", result.measured), ("ideal", result.ideal)):
        columns[f"{name} gain [m/N or rad/(N m)]"] = np.abs(curve)
        columns[f"{name} phase [deg]"] = degrees(curve)
    return csv(columns)


def degrees(response: Array) -> Array:
    """Phase (m,) [°] of a complex response (m,), NaN where that is NaN."""
    found = np.full(len(response), np.nan)
    good = np.isfinite(response)
    found[good] = phase(response[good])
    return found
