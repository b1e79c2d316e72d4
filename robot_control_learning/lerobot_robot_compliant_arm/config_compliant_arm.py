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
        lockstep: Frames in a second [Hz] of a simulation that waits for each action: an action
            simulates one frame. 0 follows the clock.
        scene: Scene of the simulation, or an empty text.
        law: Law of the arm. An empty text leaves the present law.
        action: Target of an action: ``pose`` of the tip, or angles of the ``joints``.
        stiffness: True adds six stiffnesses to an action and to an observation [N/m, N·m/rad].
        gripper: True adds the width between the fingers to both [m]. The robot's name must have
            a gripper then, such as ``ur5e+robotiq_2f85``.
        observed: Groups of numbers in an observation: position, velocity, pose, wrench.
        task: The text ``reach`` gives a simulated arm a ball to reach. An empty text gives none.
        seed: Seed of the task's random numbers.
        ball_time: Time of a ball [s], after which another one comes. A short time shows the arm on
            its way, from many places to many balls.
        cameras: Cameras by name.
    """

    robot: str = "ur5e"
    namespace: str = ""
    controller: str = "controller"
    domain: int | None = None
    simulated: bool = False
    lockstep: int = 0
    scene: str = ""
    law: str = ""
    action: str = "pose"
    stiffness: bool = False
    gripper: bool = False
    observed: list[str] = field(default_factory=lambda: ["position", "velocity", "pose", "wrench"])
    task: str = ""
    seed: int = 0
    ball_time: float = 4.0
    cameras: dict[str, CameraConfig] = field(default_factory=dict)
