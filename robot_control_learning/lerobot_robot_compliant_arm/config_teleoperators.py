"""The configurations of the teleoperators on LeRobot's command line."""

from __future__ import annotations

from dataclasses import dataclass

from lerobot.teleoperators import TeleoperatorConfig


@dataclass(kw_only=True)
class ArmTeleoperatorConfig(TeleoperatorConfig):
    """A teleoperator of the robot `compliant_arm`.

    Attributes:
        arm_id: The id of the robot. None stands for the only one.
    """

    arm_id: str | None = None


@TeleoperatorConfig.register_subclass("compliant_arm_gamepad")
@dataclass(kw_only=True)
class CompliantArmGamepadConfig(ArmTeleoperatorConfig):
    """A gamepad, as LeRobot reads it.

    Attributes:
        speed: Speed of the target at full deflection [m/s].
    """

    speed: float = 0.1


@TeleoperatorConfig.register_subclass("compliant_arm_leader")
@dataclass(kw_only=True)
class CompliantArmLeaderConfig(ArmTeleoperatorConfig):
    """Another arm under a controller of robot_control_ros, which a hand moves.

    Attributes:
        robot, namespace, controller, domain: Place of the leader, as in CompliantArmConfig.
        scale: Displacement of the follower's tip over that of the leader's.
    """

    robot: str = "ur5e"
    namespace: str = ""
    controller: str = "controller"
    domain: int | None = None
    scale: float = 1.0


@TeleoperatorConfig.register_subclass("compliant_arm_expert")
@dataclass(kw_only=True)
class CompliantArmExpertConfig(ArmTeleoperatorConfig):
    """A program that does the task of a simulated arm, to record it."""
