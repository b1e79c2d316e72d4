"""Systems on the drivers of real arms, or on their mock hardware.

Names and arguments: Universal_Robots_ROS2_Driver (ur_robot_driver/launch/ur_control.launch.py, branches jazzy and
kilted), ros2_kortex (kortex_bringup/launch/gen3.launch.py, main).
"""

from __future__ import annotations

from ..core.errors import ConfigError
from ..laws.running_law import RunningLaw
from ..robot.configuration import load_robot
from ..robot.files import share_directory
from .package_nodes import CONTROL, SWITCH, active, control, running_law, switch
from .ros2_control import spawner
from .system import Argument, LaunchFile, Setup, System, stages

UR_TYPES = ("ur5", "ur5e")
MOCK_HARDWARE = Argument("use_mock_hardware", "false", "Let the driver run on ros2_control's mock hardware.", SWITCH)


def ur(
    ur_type: str,
    robot_ip: str,
    law: str = "admittance",
    gains: str = "",
    watchdog: str = "true",
    dashboard: str = "false",
    use_mock_hardware: str = "false",
    headless_mode: str = "false",
    driver: str = "true",
) -> System:
    """ur_robot_driver, our controller in front of it.

    The driver loads its forward controllers inactive. Ours waits for the one that the law needs, and then has it
    activated. Where ours ends, driver and watchdog go on.

    Raises:
        ConfigError: unknown type, law or file, or a law whose commands the robot doesn't take.
    """
    if ur_type not in UR_TYPES:
        raise ConfigError(f"ur_type = {ur_type!r}; choices: {', '.join(UR_TYPES)}")
    profile, rate = _profile(ur_type, use_mock_hardware)
    arguments = {
        "ur_type": ur_type,
        "robot_ip": robot_ip,
        "use_mock_hardware": use_mock_hardware,
        "headless_mode": headless_mode,
        "verify_robot_model": "true",  # off by default before Lyrical; a wrong ur_type is a wrong model
        "activate_joint_controller": "false",  # forward_effort_controller isn't a choice of initial_joint_controller
        "launch_rviz": "false",
    }
    config = load_robot(ur_type, profile)
    running = running_law(config, law, gains)
    _check_wrench(running, profile, f"mock.launch.py robot:={ur_type}")
    forward = config.profile.controllers[running.mode]
    started = (
        [LaunchFile("ur_robot_driver", "launch/ur_control.launch.py", arguments)] if switch("driver", driver) else []
    )
    return stages(
        [
            *started,
            *control(ur_type, law, gains, watchdog, dashboard, profile, rate=rate, vital=False, forward_follows=True),
            active(vital=False),
        ],
        [spawner(None, forward, vital=False, optional=True)],  # it fails where the controller is active already
    )


def gen3(
    robot_ip: str,
    law: str = "admittance",
    gains: str = "",
    watchdog: str = "true",
    dashboard: str = "false",
    use_mock_hardware: str = "false",
    driver: str = "true",
) -> System:
    """ros2_kortex with a forward_position_controller, our controller in front of it.

    Raises:
        ConfigError: unknown law or file, a law that doesn't command positions, or one that needs the wrench that
            mock hardware doesn't have.
    """
    profile, rate = _profile("gen3", use_mock_hardware)
    file = share_directory() / "config" / "ros2_control" / "gen3_forward_position.yaml"
    arguments = {
        "robot_ip": robot_ip,
        "use_fake_hardware": use_mock_hardware,
        "controllers_file": str(file),
        "robot_controller": "forward_position_controller",  # stands still until ours commands
        "robot_pos_controller": "joint_trajectory_controller",  # loaded, inactive: the watchdog's fallback
        "launch_rviz": "false",
    }
    running = running_law(load_robot("gen3", "real"), law, gains)  # positions only, with mock hardware, too
    _check_wrench(running, profile, "mock.launch.py robot:=gen3")
    started = [LaunchFile("kortex_bringup", "launch/gen3.launch.py", arguments)] if switch("driver", driver) else []
    return stages([*started, *control("gen3", law, gains, watchdog, dashboard, profile, rate=rate, vital=False)])


def _check_wrench(law: RunningLaw, profile: str, instead: str) -> None:
    """Refuse a law whose wrench the driver's mock hardware doesn't have, or has as NaN."""
    if profile == "mock" and law.needs_wrench:
        remedy = f"use position_domain_pd here, or {instead}"
        raise ConfigError(f"law {law.name} needs a wrench, which the driver's mock hardware doesn't have: {remedy}")


def _profile(robot: str, use_mock_hardware: str) -> tuple[str, float]:
    """The profile, and the rate of the driver, which is the same on mock hardware."""
    rate = load_robot(robot, "real").profile.rate
    return ("mock" if switch("use_mock_hardware", use_mock_hardware) else "real"), rate


LAW = Argument("law", "admittance", CONTROL[0].text)
DRIVER = Argument("driver", "true", "Start the driver; false where it runs already.", SWITCH)
UR = Setup(
    (
        Argument("ur_type", None, "Type of the arm.", UR_TYPES),
        Argument("robot_ip", None, "Address of the control box; any with mock hardware."),
        LAW,
        *CONTROL[1:],
        MOCK_HARDWARE,
        Argument("headless_mode", "false", "Start the program from here, not on the pendant.", SWITCH),
        DRIVER,
    ),
    ur,
)
GEN3 = Setup(
    (
        Argument("robot_ip", None, "Address of the arm; any with mock hardware."),
        LAW,
        *CONTROL[1:],
        MOCK_HARDWARE,
        DRIVER,
    ),
    gen3,
)
