"""What a robot under control measures and is set to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..control.requests import SETTINGS
from ..core.errors import ConfigError
from ..core.types import Array
from ..robot.configuration import RobotConfig
from ..robot.files import config_names
from ..robot.model import JointLimits, RobotModel
from ..robot.payload import Payload
from ..sensing.contact_detector import DetectedContact
from .backend import RobotBackend, told_payload
from .robot_gripper import Gripper
from .snapshot import Snapshot


class RobotReadings:
    """The present figures of a robot; take `state` where several must be of the same sample."""

    def __init__(self, backend: RobotBackend) -> None:
        self._backend = backend

    @property
    def config(self) -> RobotConfig:
        """The robot's configuration: joints, frames, home."""
        return self._backend.config

    @property
    def model(self) -> RobotModel:
        """Its kinematics and dynamics."""
        return self._backend.model

    @property
    def state(self) -> Snapshot:
        """The newest state, all of one sample; the last one where the robot has been lost."""
        newest = self._backend.feed.newest
        assert newest is not None  # a backend begins with one
        return newest

    @property
    def time(self) -> float:
        """Of the newest state, by the robot's clock [s]."""
        return self.state.time

    @property
    def pose(self) -> Array:
        """Tip in the base, a copy (4, 4)."""
        return self.state.pose.copy()

    @property
    def twist(self) -> Array:
        """Of the tip (6,), base axes [m/s, rad/s]."""
        return self.state.twist

    @property
    def wrench(self) -> Array:
        """By the environment on the tip (6,), base axes [N, N·m]; NaN where there is no fresh one."""
        return self.state.wrench

    @property
    def q(self) -> Array:
        """Joint angles (n,) [rad]."""
        return self.state.q

    @property
    def v(self) -> Array:
        """Joint velocities (n,) [rad/s]."""
        return self.state.v

    @property
    def effort(self) -> Array:
        """Joint torques (n,) [N·m]."""
        return self.state.effort

    @property
    def law(self) -> str:
        """Name of the law that runs."""
        return self._backend.law

    @property
    def gains(self) -> dict[str, Any]:
        """The gains of the law by name; arrays where they have several numbers."""
        return {name: value for name, value in self._plain().items() if not name.startswith(SETTINGS)}

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by name, such as ``wrench.…`` and ``workspace.…``."""
        return {name: value for name, value in self._plain().items() if name.startswith(SETTINGS)}

    @property
    def payload(self) -> Payload:
        """What the tip carries, as it was told."""
        return told_payload(self._backend.parameters())

    @property
    def limits(self) -> JointLimits:
        """Of the joints; those of the tip are `config.tip_speed` and `config.tip_acceleration`."""
        return self._backend.model.limits

    @property
    def gripper(self) -> Gripper:
        """The gripper on the tip; ConfigError where there is none."""
        fingers = self._backend.gripper
        names = config_names("grippers")
        if fingers is None:
            text = f"robot {self.config.name} has no gripper: start it with one; grippers: {', '.join(names)}"
            raise ConfigError(text, name="gripper", bound=tuple(names))
        return Gripper(self._backend, fingers)

    @property
    def fault(self) -> str:
        """Why the robot doesn't follow its targets; empty where it does."""
        return str(self._backend.feed.fault or "")

    @property
    def contact(self) -> DetectedContact | None:
        """The last contact that the controller has found: where, how hard, when. None before, and after a clear."""
        return self._backend.feed.contact

    def _plain(self) -> Mapping[str, Any]:
        values = self._backend.parameters()
        return {name: np.array(value) if isinstance(value, tuple) else value for name, value in values.items()}
