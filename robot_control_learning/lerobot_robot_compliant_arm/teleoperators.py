"""What leads the robot `compliant_arm` in LeRobot: a gamepad, a leader arm, a scripted expert."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from lerobot.teleoperators import Teleoperator
from lerobot.utils.errors import DeviceAlreadyConnectedError, DeviceNotConnectedError

from robot_control_ros import Robot as Arm
from robot_control_ros.core.errors import refused
from robot_control_ros.nodes.teleop.hand_input import Clutch

from .compliant_arm import CompliantArm
from .config_teleoperators import (
    ArmTeleoperatorConfig,
    CompliantArmExpertConfig,
    CompliantArmGamepadConfig,
    CompliantArmLeaderConfig,
)
from .connected_arms import connected_arm
from .features import GRIPPER, POSE

LONGEST = 0.2  # s between two readings of a gamepad that count; more is a pause


class ArmTeleoperator(Teleoperator):
    """Makes actions of the robot `compliant_arm`, which must be connected when one is asked for.

    Args:
        config: Configuration of the teleoperator.
    """

    config_class = ArmTeleoperatorConfig

    def __init__(self, config: ArmTeleoperatorConfig) -> None:
        super().__init__(config)
        self.config = config
        self._open = False

    @property
    def action_features(self) -> dict[str, Any]:
        """Features of the connected robot's actions; the pose of a tip where there is none yet."""
        try:
            return self._robot().action_features
        except DeviceNotConnectedError:
            return dict.fromkeys(POSE, float)

    @property
    def feedback_features(self) -> dict[str, Any]:
        return {}

    @property
    def is_connected(self) -> bool:
        return self._open

    @property
    def is_calibrated(self) -> bool:
        return True

    def connect(self, calibrate: bool = True) -> None:
        """Open the device."""
        if self._open:
            raise DeviceAlreadyConnectedError(f"{self} is already connected")
        self._begin()
        self._open = True

    def calibrate(self) -> None:
        """Do nothing: there is nothing to calibrate."""

    def configure(self) -> None:
        """Do nothing: there is nothing to configure."""

    def get_action(self) -> dict[str, Any]:
        """The action of this moment."""
        if not self._open:
            raise DeviceNotConnectedError(f"{self} is not connected: call connect() first")
        return self._action(self._robot())

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """Do nothing: the device shows no force."""

    def disconnect(self) -> None:
        """Close the device. The arm holds its last target."""
        if not self._open:
            raise DeviceNotConnectedError(f"{self} is not connected: call connect() first")
        self._open = False
        self._end()

    def _robot(self) -> CompliantArm:
        return connected_arm(self.config.arm_id)

    def _begin(self) -> None:
        """Open what the teleoperator reads."""

    def _end(self) -> None:
        """Close what the teleoperator reads."""

    def _action(self, robot: CompliantArm) -> dict[str, Any]:
        raise NotImplementedError


class CompliantArmGamepad(ArmTeleoperator):
    """A gamepad moves the target of the tip along the base's axes.

    LeRobot reads it: the left stick moves forward and to the left, the right one up. Its buttons
    open and close the gripper.
    """

    config_class = CompliantArmGamepadConfig
    name = "compliant_arm_gamepad"

    def __init__(self, config: CompliantArmGamepadConfig) -> None:
        super().__init__(config)
        self._speed = config.speed
        self._gamepad: Any = None
        self._read = 0.0  # time of the last reading [s]

    def _begin(self) -> None:
        from lerobot.teleoperators.gamepad.gamepad_utils import GamepadController

        gamepad = GamepadController()
        gamepad.start()
        if not gamepad.running:
            raise DeviceNotConnectedError("no gamepad is here: connect one, and start again")
        self._gamepad = gamepad
        self._read = time.monotonic()

    def _end(self) -> None:
        self._gamepad.stop()

    def _action(self, robot: CompliantArm) -> dict[str, Any]:
        self._gamepad.update()
        now = time.monotonic()
        elapsed = robot.period or min(now - self._read, LONGEST)
        self._read = now
        deflection = np.nan_to_num(np.array(self._gamepad.get_deltas(), dtype=float))
        pose = robot.target.copy()
        pose[:3, 3] += self._speed * elapsed * np.clip(deflection, -1.0, 1.0)
        action = robot.tip_action(pose)
        command = self._gamepad.gripper_command()
        if GRIPPER[0] in action and command in ("open", "close"):
            widths = robot.arm.gripper.config.widths if robot.arm is not None else (0.0, 0.0)
            action[GRIPPER[0]] = widths[0] if command == "open" else widths[-1]
        return action


class CompliantArmLeader(ArmTeleoperator):
    """An arm that a hand moves leads the tip of another arm. Where they begin, nothing jumps."""

    config_class = CompliantArmLeaderConfig
    name = "compliant_arm_leader"

    def __init__(self, config: CompliantArmLeaderConfig) -> None:
        super().__init__(config)
        if not (np.isfinite(config.scale) and config.scale > 0.0):
            raise refused("scale", config.scale, "must be above 0", (0.0, np.inf))
        self._leader_config = config
        self._clutch = Clutch(np.eye(3), config.scale)
        self._leader: Arm | None = None

    def lead_with(self, leader: Arm) -> None:
        """Let a robot lead that the caller has opened, in place of :meth:`connect`."""
        self._leader = leader
        self._open = True

    def _begin(self) -> None:
        config = self._leader_config
        self._leader = Arm(
            config.robot,
            namespace=config.namespace,
            controller=config.controller,
            domain=config.domain,
        )

    def _end(self) -> None:
        self._clutch.release()
        if self._leader is not None:
            self._leader.close()
            self._leader = None

    def _action(self, robot: CompliantArm) -> dict[str, Any]:
        assert self._leader is not None
        if self._leader.fault:
            return robot.present_action()
        hand = self._leader.pose
        if not self._clutch.gripped:
            self._clutch.grip(hand, robot.target)
        target = self._clutch.target(hand)
        assert target is not None
        return robot.tip_action(target)


class CompliantArmExpert(ArmTeleoperator):
    """A program that brings the tip into the ball of the task `reach`."""

    config_class = CompliantArmExpertConfig
    name = "compliant_arm_expert"

    def _action(self, robot: CompliantArm) -> dict[str, Any]:
        if robot.task is None:
            raise refused("task", robot.config.task, "must be reach: the expert knows no other")
        pose = robot.target.copy()
        pose[:3, 3] = robot.task.center
        return robot.tip_action(pose)
