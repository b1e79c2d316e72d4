"""The source's table: a step of 10 deg under its joint callback, and its curves by their
difference equation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.types import Array
from .response import DURATION, STEP, T


@dataclass(frozen=True)
class SourceLine:
    """One line of the source's table, each figure as there: times [s], overshoot [%], velocities
    [deg/s].

    Attributes:
        pid: P, I, D.
        limit: Limit of the velocity [deg/s]; None: none.
        rise: Times when 10 % and 90 % are reached [s]; the first is None where the source gives
            none.
        t95: Time when 95 % are reached [s].
        overshoot: Overshoot [%], and the time when it is largest [s]; that is None where there is
            none.
        settled: Times from which the angle stays within 5 % and 2 % [s].
        peak: Largest command [deg/s].
        samples: Angles [deg] by time [s].
    """

    pid: tuple[float, float, float]
    limit: float | None
    rise: tuple[float | None, float]
    t95: float
    overshoot: tuple[float, float | None]
    settled: tuple[float, float]
    peak: float
    samples: Mapping[float, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        p, i, d = self.pid
        return f"({p:g}, {i:g}, {d:g}), " + (
            "no limit" if self.limit is None else f"{self.limit:g} deg/s"
        )

    @property
    def gains(self) -> dict[str, Any]:
        gains: dict[str, Any] = {"variant": "legacy", **dict(zip("pid", self.pid, strict=True))}
        return (
            gains if self.limit is None else {**gains, "velocity_limit": math.radians(self.limit)}
        )


SAMPLES = {0.005: 1.1, 0.05: 9.2453, 0.1: 12.9199, 0.3: 9.5349, 1.0: 9.9997}
LINES = (
    SourceLine(
        (0.1, 2.0, 0.0), None, (0.005, 0.050), 0.055, (30.72, 0.115), (0.215, 0.365), 220.0, SAMPLES
    ),
    SourceLine((0.1, 2.0, 0.0), 90.0, (0.015, 0.100), 0.110, (59.51, None), (0.430, 0.465), 90.0),
    SourceLine(
        (0.1, 0.0, 0.0),
        None,
        (0.005, 0.110),
        0.145,
        (0.0, None),
        (0.145, 0.190),
        200.0,
        {0.05: 6.5132, 0.1: 8.7842},
    ),
    SourceLine((0.1, 0.0, 0.0), 90.0, (0.015, 0.135), 0.170, (0.0, None), (0.170, 0.210), 90.0),
    SourceLine((1.0, 0.0, 0.0), None, (0.005, 0.005), 0.005, (0.0, None), (0.005, 0.005), 2000.0),
    SourceLine((1.0, 0.0, 0.0), 360.0, (None, 0.025), 0.030, (0.0, None), (0.030, 0.030), 360.0),
)


def reference(
    line: SourceLine, size: float = STEP, duration: float = DURATION
) -> tuple[Array, Array]:
    """Time (k + 1,) [s] and angle (k + 1,) [deg] of a step under a line of the table, steps of T.

    P e + I T Σ e, limited, is what the angle grows by per step; every line has D = 0.
    """
    p, i, _ = line.pid
    largest = math.inf if line.limit is None else line.limit * T
    angles = [0.0]
    total = 0.0
    for _ in range(round(duration / T)):
        error = size - angles[-1]
        total += error
        angles.append(angles[-1] + min(max(p * error + i * T * total, -largest), largest))
    return np.asarray(T * np.arange(len(angles)), dtype=float), np.array(angles)
