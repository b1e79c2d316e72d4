"""The curves of a joint's step, for the plots of the page and for files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.types import Array
from ...dashboard.chart import TIME, Chart, Curve, csv
from ...dashboard.theme import CURVE_GREY, OWN_CURVE, SOURCE_CURVE
from ..joint_step.response import STEP, Step, StepRun, T
from ..joint_step.source import SourceLine, reference

TICK = 1e-3  # s between two moments that are drawn; all physics steps are multiples of it
MAX_ERROR = 3.0  # steps from the target, up to which a response is drawn
OWN = OWN_CURVE
REFERENCE = SOURCE_CURVE
TARGET = CURVE_GREY


@dataclass(frozen=True, eq=False)
class Curves:
    """A run, and a line of the source's table beside it, from the same start."""

    title: str  # law and gains in a line
    step: Step  # of the joint
    run: StepRun  # the joint's
    line: SourceLine | None  # of the source, or None

    @property
    def drawn(self) -> int:
        """Number of samples that are drawn: those before it goes far away."""
        far = np.flatnonzero(
            np.abs(self.run.angle - self.run.size) > MAX_ERROR * abs(self.run.size)
        )
        return int(far[0]) if far.size else self.run.time.size

    @property
    def beside(self) -> tuple[Array, Array] | None:
        """Time [s] and angle [deg] of the source's line, scaled to this step."""
        if self.line is None:
            return None
        time, way = reference(self.line, self.step.size, self.step.duration)
        return np.round(time, 9), self.step.start + way

    @property
    def figures(self) -> dict[float, float]:
        """Angles [deg] that the source prints, by time [s]; none for steps other than its own."""
        if self.line is None or self.step.size != STEP:
            return {}
        figures = dict(self.line.samples)
        overshoot, top = self.line.overshoot
        if top is not None:
            figures[top] = STEP * (1.0 + overshoot / 100.0)
        return {
            t: self.step.start + angle for t, angle in figures.items() if t <= self.step.duration
        }

    def angles(self) -> tuple[Array, ...]:
        """Time [s], the run, the target, and the curve and figures of a source's line [deg];
        NaN if there is none.
        """
        time = _times(self._ticks())
        run = self.run
        drawn = self.drawn
        own = np.interp(
            time, np.round(run.time[:drawn], 9), self.step.start + run.angle[:drawn], right=np.nan
        )
        goal = np.full(time.size, self.step.start + self.step.size)
        if self.beside is None:
            return time, own, goal
        dots = np.full(time.size, np.nan)
        for moment, angle in self.figures.items():
            dots[round(moment / TICK)] = angle
        return time, own, goal, np.interp(time, *self.beside), dots

    def commands(self) -> tuple[Array, ...]:
        """Time [s], the command, and that of a source's line [deg/s], each held for its step."""
        ticks = self._ticks()
        rows = [_held(ticks, self.step.dt, self.run.command[: max(self.drawn - 1, 0)])]
        if self.beside is not None:
            rows.append(_held(ticks, T, np.diff(self.beside[1]) / T))
        return _times(ticks), *rows

    def csv(self) -> bytes:
        """Every sample: time, angle, and the command from then on; with the source's
        line at the same times.
        """
        run = self.run
        columns = {
            TIME: run.time,
            "angle [deg]": self.step.start + run.angle,
            "command [deg/s]": np.append(run.command, np.nan),
        }
        if self.line is not None and self.beside is not None:
            columns[f"reference {self.line.name} [deg]".replace(",", "")] = np.interp(
                run.time, *self.beside
            )
        return csv(columns)

    def charts(self) -> tuple[Chart, Chart]:
        """The angle and the command, each beside that of the source's line."""
        time, own, goal, *source = self.angles()
        moments, command, *other = self.commands()
        angles = [
            Curve("this joint", own, OWN, 2.0),
            Curve("target", goal, TARGET, 1.0, dashed=True),
        ]
        commands = [Curve("this joint", command, OWN, 2.0)]
        if self.line is not None:
            name = f"source {self.line.name}"
            angles.append(Curve(name, source[0], REFERENCE, 2.0, dashed=True))
            angles.append(Curve("as printed there", source[1], REFERENCE, 0.0, dots=8.0))
            commands.append(Curve(name, other[0], REFERENCE, 2.0, dashed=True))
        return Chart("angle [deg]", time, tuple(angles)), Chart(
            "command [deg/s]", moments, tuple(commands)
        )

    def _ticks(self) -> NDArray[np.int64]:
        """Numbers (k,) of the moments that are drawn, also of those after an
        early end of the run.
        """
        return np.arange(round(self.step.duration / TICK) + 1)


def _times(ticks: NDArray[np.int64]) -> Array:
    return np.asarray(TICK * ticks, dtype=float)


def _held(ticks: NDArray[np.int64], dt: float, values: Array) -> Array:
    """Values (k,), each held for dt [s], at ticks; NaN after the last."""
    return np.append(values, np.nan)[np.minimum(ticks // round(dt / TICK), values.size)]
