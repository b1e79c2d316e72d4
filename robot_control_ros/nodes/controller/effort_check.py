"""Whether the measured efforts are what the profile says, once the arm has rested for some seconds."""

from __future__ import annotations

import numpy as np

from ...core.types import RobotState
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...sensing.joint_effort import judge_effort
from ...sensing.sensor_drift import AT_REST

SAMPLES = 5  # at rest, one a second
MOVED = 1e-3  # rad


class EffortCheck:
    """Looks at joint states from time to time, and tells once what their efforts look like.

    It changes nothing. At postures with little gravity it can't tell, and looks on.

    Args:
        robot: its configuration.
        model: of it.

    Attributes:
        text: what was seen; empty before.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel) -> None:
        self._profile = robot.profile
        self._model = model
        self._rested: list[RobotState] = []
        self.text = ""

    def look(self, state: RobotState | None) -> str:
        """Take a joint state as it was sent; returns a warning the one time that the profile is contradicted."""
        if self.text or state is None or self._profile.joint_effort == "none":
            return ""
        first = self._rested[0] if self._rested else state
        if np.abs(state.v).max() > AT_REST or np.abs(state.q - first.q).max() > MOVED:
            self._rested = []
            return ""
        self._rested.append(state)
        if len(self._rested) < SAMPLES:
            return ""
        effort = np.mean([each.effort for each in self._rested], axis=0)
        self._rested = []
        found = (
            judge_effort(self._profile, effort, self._model.at(state.q).gravity) if np.isfinite(effort).all() else None
        )
        if found is None:
            return ""
        self.text = found.text
        return "" if found.expected else found.text
