"""What is recorded of a motion that identifies an arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.types import Array, Command, CommandMode, RobotState


@dataclass(frozen=True, eq=False)
class ArmRecording:
    """Time series of k control cycles of a robot with n joints.

    Attributes:
        mode: Mode of the commands.
        start: Start of the motion, by the stamps [s].
        stamp: (k,) Stamps of the states [s].
        received: (k,) Times when a state arrived and its command was sent, by the same clock [s].
        q, v, effort: (k, n) States as measured [rad, rad/s, N·m or as the driver sends it].
        wrench: (k, 6) Wrenches as measured [N, N·m]; NaN where there was none.
        command: (k, n) Commands as sent.
    """

    mode: CommandMode
    start: float
    stamp: Array
    received: Array
    q: Array
    v: Array
    effort: Array
    wrench: Array
    command: Array


class Recorder:
    """Room for a number of cycles, taken once.

    Args:
        cycles: Largest number of cycles; later ones are not recorded.
        n: Number of joints.
    """

    def __init__(self, cycles: int, n: int) -> None:
        self.count = 0
        self._rows = np.full((cycles, 4 * n + 8), np.nan)
        self._n = n

    def add(self, state: RobotState, received: float, command: Command) -> None:
        """Record a cycle: `received` [s] is when the state arrived."""
        if self.count == len(self._rows):
            return
        row = self._rows[self.count]
        n = self._n
        row[0] = state.time
        row[1] = received
        row[2 : 2 + n] = state.q
        row[2 + n : 2 + 2 * n] = state.v
        row[2 + 2 * n : 2 + 3 * n] = state.effort
        if state.wrench is not None:
            row[2 + 3 * n : 5 + 3 * n] = state.wrench.force
            row[5 + 3 * n : 8 + 3 * n] = state.wrench.torque
        row[8 + 3 * n :] = command.values
        self.count += 1

    def recording(self, mode: CommandMode, start: float) -> ArmRecording:
        """What was recorded of a motion that began at `start` [s]."""
        n = self._n
        widths = np.cumsum([1, 1, n, n, n, 6])
        stamp, received, *rest = np.split(self._rows[: self.count], widths, axis=1)
        return ArmRecording(mode, start, stamp[:, 0], received[:, 0], *rest)
