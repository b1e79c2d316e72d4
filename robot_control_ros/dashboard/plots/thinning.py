"""A curve reduced to the points that a plot can show, with its extremes and its gaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.types import Array
from ..chart import Chart

MAX_POINTS = 600
LATE = 8.0  # times the usual period: a later sample leaves a gap


def thin(t: Array, values: Array, span: float) -> tuple[Array, Array]:
    """The points to draw of N samples, over the `span` up to the newest.

    Bins have fixed places in time, so that a moving curve keeps its shape. Of each bin with more than two samples the
    extremes of each column remain.

    Args:
        t: (N,) rising [s], over the span at most.
        values: (N, k); NaN is a gap.
        span: [s].

    Returns:
        (m,) times relative to the newest, from -span to 0 [s], and (m, k) values, with m ≤ MAX_POINTS; NaN at gaps.
    """
    if not len(t):
        return np.array([-span, 0.0]), np.full((2, values.shape[1]), np.nan)
    width = span / (MAX_POINTS // 2 - 2)
    starts = np.flatnonzero(np.diff(np.floor(t / width), prepend=np.nan))
    ends = np.append(starts[1:], len(t)) - 1
    pairs = np.stack([values[starts], values[ends]], axis=1)
    crowded = ends > starts + 1
    low, high = np.fmin.reduceat(values, starts)[crowded], np.fmax.reduceat(values, starts)[crowded]
    rises = (pairs[:, 1] >= pairs[:, 0])[crowded]
    pairs[crowded] = np.stack([np.where(rises, low, high), np.where(rises, high, low)], axis=1)
    chosen = np.stack([np.ones(len(starts), bool), ends > starts], axis=1).ravel()
    times = np.stack([t[starts], t[ends]], axis=1).ravel()[chosen] - t[-1]
    drawn = pairs.reshape(-1, values.shape[1])[chosen]
    times, drawn = with_gaps(times, drawn, max(longest_step(t), 2.0 * width))
    if times[0] > -span:
        times, drawn = np.insert(times, 0, -span), np.insert(drawn, 0, np.nan, axis=0)
    return times, drawn


def longest_step(t: Array) -> float:
    """The longest time [s] between two samples (N,) that is no gap."""
    return LATE * float(np.median(np.diff(t))) if len(t) > 1 else np.inf


def with_gaps(t: Array, values: Array, longest: float) -> tuple[Array, Array]:
    """The same points (m,) and (m, k), with NaN in the middle of each step longer than `longest` [s]."""
    pauses = np.flatnonzero(np.diff(t) > longest) + 1
    return np.insert(t, pauses, (t[pauses - 1] + t[pauses]) / 2.0), np.insert(values, pauses, np.nan, axis=0)


def chart_with_gaps(chart: Chart) -> Chart:
    """All samples of a chart, over the time before the newest, with its gaps."""
    t, values = with_gaps(chart.x - chart.x[-1:], chart.values, longest_step(chart.x))
    curves = (replace(curve, values=column) for curve, column in zip(chart.curves, values.T, strict=True))
    return replace(chart, x=t, curves=tuple(curves))
