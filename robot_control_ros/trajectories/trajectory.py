"""What a trajectory is, and the simplest one."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..types import Array, Reference


class Trajectory(Protocol):
    """A reference for every time."""

    def sample(self, t: float) -> Reference:
        """The reference at time t [s], the clock of RobotState.time."""


class Hold:
    """Rest at one pose and one posture.

    Args:
        pose: (4, 4) tip in base.
        q: (n,) joint angles that go with it.
    """

    def __init__(self, pose: Array, q: Array) -> None:
        still = np.zeros(6)
        self._reference = Reference(pose, still, still, None, q, np.zeros_like(q), np.zeros_like(q))

    def sample(self, t: float) -> Reference:
        return self._reference
