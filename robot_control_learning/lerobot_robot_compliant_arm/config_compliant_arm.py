"""The configuration of the robot `compliant_arm` on LeRobot's command line."""

from __future__ import annotations

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots import RobotConfig


@RobotConfig.register_subclass("compliant_arm")
@dataclass(kw_only=True)
class CompliantArmConfig(RobotConfig):
    """Arm, controller or simulation, and cameras.

    Attributes:
        robot: Name of the arm, such as ``ur5e``, or path of its YAML file.
        namespace, controller, domain: Place of the running controller, as
            ``robot_control_ros.Robot`` takes it.
        simulated: True simulates the arm in this process, without ROS, at the pace of the clock.
        scene: Scene of the simulation, or an empty text.
        law: Law of the arm. An empty text leaves the present law.
        stiffness: True adds six stiffnesses to an action [N/m, N·m/rad].
        cameras: Cameras by name.
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
