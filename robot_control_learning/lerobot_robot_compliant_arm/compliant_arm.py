"""A compliant arm as a LeRobot robot."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from lerobot.cameras import make_cameras_from_configs
from lerobot.robots import Robot
from lerobot.utils.errors import DeviceAlreadyConnectedError, DeviceNotConnectedError

from robot_control_ros import Robot as Arm
from robot_control_ros import load_robot

from .config_compliant_arm import CompliantArmConfig
from .features import POSE, STIFFNESS, observation_names, observation_numbers, pose_numbers, pose_of


class CompliantArm(Robot):
    """Leads an arm under a controller of robot_control_ros, or a simulated arm.

    An action is a target of the tip. The arm follows it softly, within its limits. :mod:`.features`
    has the names and units.

    Args:
        config: Configuration of the arm.

    Attributes:
        arm: The ``robot_control_ros.Robot``; None while it isn't connected.
    """

    config_class = CompliantArmConfig
    name = "compliant_arm"

    def __init__(self, config: CompliantArmConfig) -> None:
        super().__init__(config)
        self.config = config
        self.cameras = make_cameras_from_configs(config.cameras)
        self.arm: Arm | None = None
        self._names = observation_names(load_robot(config.robot).joints)

    @cached_property
    def observation_features(self) -> dict[str, Any]:
        images = {name: (camera.height, camera.width, 3) for name, camera in self.cameras.items()}
        return {**dict.fromkeys(self._names, float), **images}

    @cached_property
    def action_features(self) -> dict[str, Any]:
        return dict.fromkeys(POSE + (STIFFNESS if self.config.stiffness else ()), float)

    @property
    def is_connected(self) -> bool:
        return self.arm is not None and all(camera.is_connected for camera in self.cameras.values())

    @property
    def is_calibrated(self) -> bool:
        return True

    def calibrate(self) -> None:
        """Do nothing: the arm's own joint angles are used."""

    def connect(self, calibrate: bool = True) -> None:
        """Find the controller, or begin to simulate. Then open the cameras."""
        if self.arm is not None:
            raise DeviceAlreadyConnectedError(f"{self} is already connected")
        config = self.config
        if config.simulated:
            self.arm = Arm.simulated(config.robot, scene=config.scene or None, real_time=True)
        else:
            self.arm = Arm(
                config.robot,
                namespace=config.namespace,
                controller=config.controller,
                domain=config.domain,
            )
        try:
            for camera in self.cameras.values():
                camera.connect()
            self.configure()
        except BaseException:
            self.disconnect()
            raise

    def configure(self) -> None:
        """Change to the law of the configuration."""
        if self.config.law:
            self._connected().set_law(self.config.law)

    def get_observation(self) -> dict[str, Any]:
        """The newest state and images."""
        state = self._connected().state
        values = observation_numbers(state.q, state.v, state.pose, state.wrench).tolist()
        images = {name: camera.async_read() for name, camera in self.cameras.items()}
        return {**dict(zip(self._names, values, strict=True)), **images}

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Send a target and return it: within the workspace, and with orthogonal axes."""
        arm = self._connected()
        bounds = arm.settings
        pose = pose_of(action)
        pose[:3, 3] = np.clip(pose[:3, 3], bounds["workspace.lower"], bounds["workspace.upper"])
        stiffness = [float(action[name]) for name in STIFFNESS] if self.config.stiffness else None
        arm.set_target(pose, stiffness)
        return {**action, **dict(zip(POSE, pose_numbers(pose).tolist(), strict=True))}

    def disconnect(self) -> None:
        """Close arm and cameras. The arm holds its last target."""
        arm = self._connected()
        self.arm = None
        for camera in self.cameras.values():
            if camera.is_connected:
                camera.disconnect()
        arm.close()

    def _connected(self) -> Arm:
        """The arm, if it is connected."""
        if self.arm is None:
            raise DeviceNotConnectedError(f"{self} is not connected: call connect() first")
        return self.arm
