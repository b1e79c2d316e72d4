"""The configuration of the robot `compliant_arm`, as LeRobot's command line has it."""

from __future__ import annotations

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots import RobotConfig


@RobotConfig.register_subclass("compliant_arm")
@dataclass(kw_only=True)
class CompliantArmConfig(RobotConfig):
    """Which arm, and what of it.

    Attributes:
        robot: name of the arm, such as ``ur5e``, or path of its YAML file.
        namespace, controller, domain: of the running controller, as of ``robot_control_ros.Robot``.
        simulated: whether to simulate the arm in this process, without ROS, at the pace of the clock.
        scene: of the simulation; empty for none.
        law: that the arm shall be under; empty leaves it.
        stiffness: whether an action has six stiffnesses [N/m, N·m/rad] as well.
        cameras: by name.
    """

    robot: str = "ur5e"
    namespace: str = ""
    controller: str = "controller"
    domain: int | None = None
    simulated: bool = False
    scene: str = ""
    law: str = ""
    stiffness: bool = False
    cameras: dict[str, CameraConfig] = field(default_factory=dict)
