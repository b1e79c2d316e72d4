"""A joint's step as curves: for the plots of the page, and as files."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from ...core.types import Array
from ...simulation.joint_step.response import STEP, Step, StepRun, T
from ...simulation.joint_step.source import SourceLine, reference
from ...simulation.log import figure_class

ROOM = 3.0  # steps beyond the target up to which a response is drawn
OWN, REFERENCE, TARGET = "#1c6fc4", "#f08c00", "#868e96"


@dataclass(frozen=True, eq=False)
class Curves:
    """A run, and a line of the source's table beside it, from the same start.

    Attributes:
        title: law and gains in a line.
        step: that was asked for.
        run: the joint's.
        line: of the source; None: nothing beside it.
    """

    title: str
    step: Step
    run: StepRun
    line: SourceLine | None

    @property
    def drawn(self) -> int:
        """How many samples of the run are drawn: all, but for those after it went far away."""
        far = np.flatnonzero(np.abs(self.run.angle - self.run.size) > ROOM * abs(self.run.size))
        return int(far[0]) if far.size else self.run.time.size

    @property
    def beside(self) -> tuple[Array, Array] | None:
        """Time [s] and angle [deg] of the source's line; it goes as far as the joint has to."""
        if self.line is None:
            return None
        time, way = reference(self.line, self.step.size, self.step.duration)
        return np.round(time, 9), self.step.start + way

    @property
    def figures(self) -> dict[float, float]:
        """Angles [deg] that the source itself gives, by time [s]; none for other steps than its own."""
        if self.line is None or self.step.size != STEP:
            return {}
        figures = dict(self.line.samples)
        overshoot, top = self.line.overshoot
        if top is not None:
            figures[top] = STEP * (1.0 + overshoot / 100.0)
        return {t: self.step.start + angle for t, angle in figures.items() if t <= self.step.duration}

    def angles(self) -> tuple[Array, ...]:
        """Time [s], the run, the target, and beside a line its curve and its figures [deg]; NaN where there is none."""
        edges = self._edges()
        run, drawn = self.run, self.drawn
        own = np.interp(edges, np.round(run.time[:drawn], 9), self.step.start + run.angle[:drawn], right=np.nan)
        goal = np.full(edges.size, self.step.start + self.step.size)
        if self.beside is None:
            return edges, own, goal
        dots = np.full(edges.size, np.nan)
        for time, angle in self.figures.items():
            dots[np.searchsorted(edges, time)] = angle
        return edges, own, goal, np.interp(edges, *self.beside), dots

    def commands(self) -> tuple[Array, ...]:
        """Time [s], the command, and that of the line beside it [deg/s], each value twice: from when to when."""
        edges = self._edges()
        middles = (edges[:-1] + edges[1:]) / 2.0
        drawn = max(self.drawn - 1, 0)
        rows = [_held(middles, self.step.dt, self.run.command[:drawn])]
        if self.beside is not None:
            rows.append(_held(middles, T, np.diff(self.beside[1]) / T))
        return np.repeat(edges, 2)[1:-1], *(np.repeat(row, 2) for row in rows)

    def csv(self) -> str:
        """Every sample: time, angle, and the command from then on; with the line beside it at the same times."""
        run = self.run
        columns = {
            "time [s]": run.time,
            "angle [deg]": self.step.start + run.angle,
            "command [deg/s]": np.append(run.command, np.nan),
        }
        if self.line is not None and self.beside is not None:
            columns[f"reference {self.line.name} [deg]".replace(",", "")] = np.interp(run.time, *self.beside)
        text = io.StringIO()
        np.savetxt(text, np.column_stack(list(columns.values())), "%.9g", ",", header=",".join(columns), comments="")
        return text.getvalue()

    def png(self) -> bytes:
        """Both plots.

        Raises:
            ConfigError: matplotlib is not installed.
        """
        figure = figure_class()(figsize=(9.6, 6.4), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        time, own, goal, *beside = self.angles()
        if self.line is not None:
            upper.plot(time, beside[0], color=REFERENCE, linestyle="--", label=f"source {self.line.name}")
            upper.plot(time, beside[1], "o", color=REFERENCE, markersize=5)
        upper.plot(time, own, color=OWN, label=self.title)
        upper.plot(time, goal, color=TARGET, linestyle=":", label="target")
        upper.set(ylabel="angle [deg]")
        upper.legend(fontsize="small", loc="lower right")
        moments, command, *other = self.commands()
        for row in other:
            lower.plot(moments, row, color=REFERENCE, linestyle="--")
        lower.plot(moments, command, color=OWN)
        lower.set(ylabel="command [deg/s]", xlabel="time [s]", xlim=(0.0, self.step.duration))
        for axes in (upper, lower):
            axes.grid(alpha=0.3)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=110)
        return file.getvalue()

    def _edges(self) -> Array:
        """Times of all samples (k,) [s], also of those that the run didn't reach."""
        edges = np.round(self.step.dt * np.arange(round(self.step.duration / self.step.dt) + 1), 9)
        return edges if self.beside is None else np.union1d(edges, self.beside[0])


def _held(times: Array, dt: float, values: Array) -> Array:
    """What of values (k,), each held for dt [s], is there at times; NaN after the last."""
    index = np.floor(times / dt).astype(int)
    return np.append(values, np.nan)[np.minimum(index, values.size)]
