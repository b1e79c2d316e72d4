"""A joint's step in figures and text, and as a lever that turns."""

from __future__ import annotations

import math

import numpy as np

from ...dashboard.markup import legend, span, table
from ...dashboard.theme import GREY, RED
from ..joint_step.response import STEP
from ..joint_step.source import SourceLine
from .curves import OWN, REFERENCE, TARGET, Curves

HEAD = (
    "t 10 % → 90 % [s]",
    "t 95 % [s]",
    "overshoot [%]",
    "settled to 5 % / 2 % [s]",
    "peak [deg/s]",
)
HEIGHT = 118  # px
SLOWED = 4.0  # times, of the lever
FRAMES = 80  # of the lever


def report(curves: Curves, notes: list[str], alarms: list[str]) -> str:
    """HTML: the lever, the figures beside those of the source, alarms and notes."""
    rows = [["", *(span(cell, GREY) for cell in HEAD)]] if curves.step.size else []
    if curves.step.size and curves.run.time.size > 1:
        rows.append(_row(curves.title, _measured(curves), OWN))
    if curves.step.size and curves.line is not None:
        other = "" if curves.step.size == STEP else f", {STEP:g} deg"
        rows.append(_row(f"source, {curves.line.name}{other}", _printed(curves.line), REFERENCE))
    lines = [*(span(alarm, RED, 600) for alarm in alarms), span("; ".join(notes), GREY)]
    style = f"height:{HEIGHT}px;overflow:auto;display:flex;align-items:center;gap:14px;padding:0 10px;font-size:13px"
    text = (
        f'<div style="flex:1;min-width:0;line-height:1.4">{table(rows)}{"<br>".join(lines)}</div>'
    )
    return f'<div tabindex="0" style="{style}">{_lever(curves)}{text}</div>'


def _row(name: str, cells: tuple[str, ...], colour: str) -> list[str]:
    return [legend(name, colour), *cells]


def _measured(curves: Curves) -> tuple[str, ...]:
    run = curves.run
    overshoot = f"{run.overshoot:.2f}" + (f" at {run.top:.3f} s" if run.overshoot > 0.005 else "")
    diverges = curves.drawn < run.time.size
    return (
        f"{_time(run.reached(10.0))} → {_time(run.reached(90.0))}",
        _time(run.reached(95.0)),
        "diverges" if diverges else overshoot,
        f"{_time(run.settled(5.0))} / {_time(run.settled(2.0))}",
        "diverges" if diverges else f"{run.peak:.0f}",
    )


def _printed(line: SourceLine) -> tuple[str, ...]:
    overshoot, top = line.overshoot
    low, high = line.rise
    return (
        f"{'' if low is None else _time(low)} → {_time(high)}",
        _time(line.t95),
        f"{overshoot:.2f}" + (f" at {top:.3f} s" if top is not None else ""),
        " / ".join(_time(each) for each in line.settled),
        f"{line.peak:.0f}",
    )


def _time(time: float) -> str:
    return f"{time:.3f}" if math.isfinite(time) else "not yet"


def _lever(curves: Curves) -> str:
    """A lever from above that plays the run slowly, and its target; angles count from the
    right, to the left.
    """
    run = curves.run
    start = curves.step.start
    drawn = max(curves.drawn, 1)
    times = np.linspace(0.0, curves.step.duration, FRAMES)
    angles = -(start + np.interp(times, run.time[:drawn], run.angle[:drawn]))
    values = ";".join(f"{angle:.2f}" for angle in angles)
    slow = SLOWED * curves.step.duration
    goal = -(start + curves.step.size)
    return (
        '<svg width="104" height="104" viewBox="-52 -52 104 104" style="flex:none">'
        f'<circle r="50" fill="none" stroke="{GREY}" stroke-opacity="0.35"/>'
        f'<line x2="50" stroke="{TARGET}" stroke-width="2" stroke-dasharray="3 3" transform="rotate({goal:.2f})"/>'
        f'<g transform="rotate({-start:.2f})"><rect x="-8" y="-4" width="54" height="8" rx="4" fill="{OWN}"/>'
        f'<animateTransform attributeName="transform" type="rotate" values="{values}" dur="{slow:g}s" '
        'repeatCount="indefinite"/></g>'
        f'<circle r="4" fill="white" stroke="{OWN}" stroke-width="2"/></svg>'
    )
