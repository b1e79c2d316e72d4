"""The result of an experiment: the motion and the ideal on one axis of time or frequency."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from ...core.spatial import pose_error, pose_from_rows
from ...core.types import Array
from ..chart import TIME, csv
from .figures import FrequencyFigures, StepFigures, measured_response, phase
from .plan import BAND, Plan
from .second_order import SecondOrder

FINE = 0.002  # s between two points of a step response
BEFORE = 0.1  # s that are shown before the step
FINAL = 0.2  # s at the end, whose mean is the final value
NEAR = 25  # samples to each side that show how long a command took
SAME = 2e-7  # N, N·m
POINTS = 28  # of a frequency response
COHERENT = 0.9  # from which a measured point is shown


@dataclass(eq=False)
class Recording:
    """One run, as far as it went."""

    plan: Plan  # of the run
    ideal: SecondOrder  # to compare with
    base: Array  # (4, 4) pose at rest
    begin: float = math.inf  # when the step or chirp was sent, on the page's clock [s]
    # times [s, the page's clock], commands [N, N·m]
    sent: list[tuple[float, float]] = field(default_factory=list)
    states: list[Mapping[str, Array]] = field(default_factory=list)  # blocks of ~/state


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
    """Compare with the ideal. A command acts when the states show it."""
    plan = recording.plan
    sent = np.array(recording.sent)
    times, order = np.unique([state["time"][0] for state in recording.states], return_index=True)
    states = [recording.states[index] for index in order]
    moved = np.array(
        [pose_error(pose_from_rows(state["pose"]), recording.base)[plan.axis] for state in states]
    )
    effect, errors = effect_shown(
        sent, times, np.array([state["target_wrench"][plan.axis] for state in states])
    )
    begin = np.searchsorted(sent[:, 0], recording.begin)
    moved = moved - moved[times < effect[begin]].mean()
    error = np.median(errors) if plan.chirp else errors[begin]
    message = f"force timed to ±{math.ceil(1e3 * error)} ms"
    if any(state["saturated"].any() for state in states if "saturated" in state):
        message += "; a joint was at its torque limit: the ideal has none"
    if plan.chirp:
        return _frequencies(recording, times, moved, effect, message)
    return _step(
        recording,
        times,
        moved,
        np.array([state["twist"][plan.axis] for state in states]),
        effect,
        message,
    )


def _step(
    recording: Recording, times: Array, moved: Array, speed: Array, effect: Array, message: str
) -> ResponseResult:
    size = recording.plan.size
    exerted = np.flatnonzero(np.array(recording.sent)[:, 1] > 0.5 * size)
    begin = effect[exerted[0]]
    end = np.append(effect, times[-1])[exerted[-1] + 1]
    times = times - begin
    inside = (times > -2.0 * BEFORE) & (times <= end - begin)
    curve = CubicHermiteSpline(times[inside], moved[inside], speed[inside])
    shown = np.arange(-BEFORE, times[inside][-1], FINE)
    measured = curve(shown)
    ideal = recording.ideal.step(shown, size)
    since = shown >= 0.0
    settled = shown > shown[-1] - FINAL
    figures = StepFigures.of(shown[since], measured[since], float(measured[settled].mean()))
    wanted = StepFigures.of(shown[since], ideal[since], recording.ideal.compliance * size)
    return ResponseResult(shown, measured, ideal, figures, wanted, message)


def _frequencies(
    recording: Recording, times: Array, moved: Array, effect: Array, message: str
) -> ResponseResult:
    low, high = BAND
    edge = (high / low) ** (0.5 / POINTS)
    frequencies = np.geomspace(low * edge, high / edge, POINTS)
    measured, coherence = measured_response(
        frequencies, times, moved, effect, np.array(recording.sent)[:, 1]
    )
    ideal = recording.ideal.frequency_response(frequencies)
    good = coherence >= COHERENT
    figures = FrequencyFigures.of(frequencies[good], measured[good])
    measured[~good] = np.nan
    return ResponseResult(
        frequencies, measured, ideal, figures, FrequencyFigures.of(frequencies, ideal), message
    )


def effect_shown(sent: Array, times: Array, shown: Array) -> tuple[Array, Array]:
    """Time when each command acted, on the samples' clock.

    A command acts between the last sample that shows an earlier one and the first that shows it or
    a later one. Several such bounds give the difference of the two clocks, far closer than the time
    between two samples. If a clock is not steady, a command's own two bounds prevail.

    Args:
        sent: (k, 2) times on the sender's clock, and values; all values differ.
        times, shown: (m,) samples; those that show none of the values are ignored.

    Returns:
        (k,) [s], and the error bound of each (k,) [s].
    """
    error = np.abs(shown[:, None] - sent[:, 1])
    known = error.min(1) < SAME
    times = times[known]
    which = error.argmin(1)[known]
    begun = sent[:, 0] * np.polyfit(sent[which, 0], times, 1)[0]  # a simulation may be slow
    earliest = np.concatenate((begun, [np.inf]))
    latest_start = times - earliest[which]
    earliest_end = times - earliest[which + 1]
    bounds = np.concatenate(([-np.inf], times, [np.inf]))
    effect = np.empty(len(sent))
    errors = np.empty(len(sent))
    for k, when in enumerate(begun):
        first = int(np.searchsorted(which, k))
        near = slice(max(first - NEAR, 0), first + NEAR)
        upper = latest_start[near].min()
        lower = earliest_end[near].max()
        guess = when + 0.5 * (lower + upper)
        effect[k] = min(max(guess, bounds[first]), bounds[first + 1])
        errors[k] = abs(effect[k] - guess) + 0.5 * max(upper - lower, 0.0)
    return effect, errors


def result_csv(result: ResponseResult) -> bytes:
    """The curves of a result as CSV, in SI units."""
    if not np.iscomplexobj(result.measured):
        return csv(
            {
                TIME: result.x,
                "measured [m or rad]": result.measured,
                "ideal [m or rad]": result.ideal,
            }
        )
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
