"""Looks at the measured efforts while the controller runs, as the doctor does once."""

from __future__ import annotations

from ...core.types import RobotState
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...ros.effort_findings import check_efforts, resting
from ...ros.findings import Level, describe

SAMPLES = 5  # at rest, one a second


class EffortCheck:
    """Takes joint states from time to time, and tells once what their efforts look like.

    The doctor can't tell while the arm moves, or where gravity acts little at its posture. This
    check goes on until it can tell. It changes nothing.

    Args:
        robot: Configuration under the profile that is checked.
        model: Model of the robot.

    Attributes:
        text: What the efforts look like, with the advice; empty until that is known.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel) -> None:
        self._robot = robot
        self._model = model
        self._rested: list[RobotState] = []
        self.text = ""

    def look(self, state: RobotState | None) -> str:
        """Take a joint state as it was sent, until enough of them at rest have been judged.

        Returns:
            A warning, once, where the efforts contradict the profile; else an empty text.
        """
        if self.text or state is None or self._robot.profile.joint_effort == "none":
            return ""
        self._rested = resting([*self._rested, state])
        if len(self._rested) < SAMPLES:
            return ""
        findings = check_efforts(self._robot, self._model, self._rested)
        self._rested = []
        self.text = describe(findings)
        return self.text if any(finding.level is not Level.OK for finding in findings) else ""
