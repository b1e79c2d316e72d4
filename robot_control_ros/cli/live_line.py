"""What a robot does, as one line in the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

import numpy as np

from ..client.robot import Robot
from ..core.types import Array

DRAWN = 0.1  # s between two drawings in a terminal
PRINTED = 1.0  # s between two lines elsewhere


class LiveLine:
    """A line in the terminal that shows error and force; elsewhere a new line each second.

    Args:
        robot: Robot that is shown.
        namespace: Namespace of its controller.
        live: False prints nothing.
    """

    def __init__(self, robot: Robot, namespace: str, live: bool) -> None:
        self._robot = robot
        self._loop = f"{namespace}/controller: control loop".lstrip("/")
        self._live = live
        self._began = robot.time
        self._shown_at = -np.inf  # by the steady clock [s]

    def begin(self) -> None:
        """Count the time from now on."""
        self._began = self._robot.time

    @property
    def elapsed(self) -> float:
        """Time since the beginning, by the robot's clock [s]."""
        return self._robot.time - self._began

    @property
    def timing(self) -> str:
        """Rate of the control loop and its missed joint states, as the controller reports them."""
        values = self._values()
        missed = values.get("missed deadlines", "0")
        return f"{_rate(values)} Hz, {missed} late or lost joint states"

    def show(self, note: str = "") -> None:
        """Show the newest state with a note, where it is time to."""
        terminal = sys.stdout.isatty()
        now = time.monotonic()
        if not self._live or now - self._shown_at < (DRAWN if terminal else PRINTED):
            return
        self._shown_at = now
        state = self._robot.state
        distance = np.linalg.norm(state.pose_error[:3]) * 1e3
        angle = np.degrees(np.linalg.norm(state.pose_error[3:]))
        line = (
            f"{self.elapsed:6.1f} s  {_rate(self._values()):>4} Hz  "
            f"error {distance:5.1f} mm {angle:5.2f} deg  {force_text(state.wrench)}  {note}"
        )
        if terminal:
            print(f"\r{line:<78}", end="", flush=True)
        else:
            print(line, flush=True)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._live:
            print()

    def _values(self) -> Mapping[str, str]:
        """Values of the control loop's diagnosis by name; none before the first."""
        diagnosis = self._robot.diagnostics.get(self._loop)
        return {} if diagnosis is None else diagnosis.values


def force_text(wrench: Array) -> str:
    """Size of the force of a wrench (6,), which is NaN where there is no sensor."""
    if np.isnan(wrench).any():
        return "no sensor"
    return f"force {np.linalg.norm(wrench[:3]):5.1f} N"


def _rate(values: Mapping[str, str]) -> str:
    """Rate of the control loop [Hz], as its diagnosis has it; a dash before the first."""
    rate = values.get("rate [Hz]")
    return "-" if rate is None else f"{float(rate):.0f}"
