"""From a force-torque sensor's sample to the wrench at the tip.

Everything in this package speaks of the wrench exerted BY the environment ON the robot.
"""

from __future__ import annotations

import math

import numpy as np

from .errors import ConfigError, ModelError
from .model import Kinematics, RobotModel, unknown_frame
from .spatial import wrench_at
from .types import Array, RobotState, Wrench


def check_wrench(wrench: Wrench, model: RobotModel) -> None:
    """Refuse a sample that can't be used.

    Raises:
        ConfigError: not finite, or not of 3 + 3 numbers.
        ModelError: its frame is not one of the robot description's; lists them.
    """
    for name, values in (("force", wrench.force), ("torque", wrench.torque)):
        if values.shape != (3,) or not math.isfinite(values.dot(values)):
            raise ConfigError(f"wrench: {name} = {values.tolist()}: must be 3 finite numbers")
    if not model.has_frame(wrench.frame):
        raise ModelError("wrench: " + unknown_frame(wrench.frame, model.frames()))


class WrenchPipeline:
    """Tare in the sensor's own frame, so that it stays right when the arm turns; then frame change with lever arm."""

    def __init__(self) -> None:
        self._tare = np.zeros(6)
        self._raw: Array | None = None

    def on_tip(self, state: RobotState, kin: Kinematics) -> Array | None:
        """The tared wrench (6,) in base axes about the tip origin; None where there has been no sample."""
        if state.wrench is None:
            return None
        self._raw = np.concatenate((state.wrench.force, state.wrench.torque))
        sensor_in_base = kin.model.frame_pose(state.wrench.frame)
        sensor_in_base[:3, 3] -= kin.pose[:3, 3]  # now: axes of the base, origin of the tip
        return wrench_at(self._raw - self._tare, sensor_in_base)

    def zero(self) -> Array:
        """Take the last sample as the tare; returns it (6,), in the sensor's frame.

        Raises:
            ConfigError: there is no sample yet.
        """
        if self._raw is None:
            raise ConfigError("no wrench has arrived: nothing to zero")
        self._tare = self._raw.copy()
        return self._tare
