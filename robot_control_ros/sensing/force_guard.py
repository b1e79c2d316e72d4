"""A guard of motions: it finds the sample in which the tip's force has changed by so much."""

from __future__ import annotations

import math

import numpy as np

from ..core.types import Array, RobotState
from .contact_detector import GUARD, DetectedContact

SMOOTHING = 0.05  # s: time constant of the force before a motion
LASTS = 1.0  # s that a motion is guarded after its reference has come to rest


class ForceGuard:
    """Watches the force at the tip while the arm moves.

    Before a motion the force is low-passed to F_0, with 0.05 s: what a sensor's offset and a
    carried weight are. From the motion's first sample on, until 1 s after its end, the guard finds
    the first sample with |F - F_0| >= `limit`. It finds one contact in each motion.

    Any measured wrench does, from a wrist sensor or from joint torques. A tool that turns in the
    motion changes its weight in the sensor's axes: tell the payload.

    Args:
        tip: Name of the link that is touched.
    """

    def __init__(self, tip: str) -> None:
        self._tip = tip
        self._before: Array | None = None  # F_0 [N]; None before the first sample
        self._rested = math.inf  # s since the reference came to rest
        self._armed = False

    def restart(self) -> None:
        """Forget the force and the motion."""
        self._before = None
        self._rested = math.inf
        self._armed = False

    def look(
        self, limit: float, moving: bool, state: RobotState, dt: float
    ) -> DetectedContact | None:
        """The contact of a sample; None where there is none.

        Args:
            limit: Largest change of the force [N].
            moving: True where the reference moves.
            state: Sample with a wrench at the tip.
            dt: Time since the last sample [s].
        """
        assert state.wrench_on_tip is not None
        force = state.wrench_on_tip[:3]
        if self._before is None:
            self._before = force.copy()
        if moving:
            self._armed = self._armed or self._rested > 0.0
            self._rested = 0.0
        else:
            self._rested += dt
        if self._rested > LASTS:
            self._armed = False
            self._before = self._before + dt / (SMOOTHING + dt) * (force - self._before)
            return None
        size = float(np.linalg.norm(force - self._before))
        if not self._armed or size < limit:
            return None
        self._armed = False
        return DetectedContact(GUARD, False, "", self._tip, state.time, state.time, size, limit)
