"""Systems on the drivers of real arms, or on their mock hardware; config/drivers has
all names of a driver.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..core.errors import ConfigError
from ..core.types import CommandMode
from ..laws import law_class, law_names
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig, equipped, load_robot
from ..robot.files import read_config, share_directory
from .package_nodes import CONTROL, GRIPPER, PREFIX, SWITCH, active, control, file_rate, running_law
from .parameter_files import node_parameters, with_prefix
from .ros2_control import spawner
from .system import Argument, Given, LaunchFile, Setup, System

UR_TYPES = ("ur3e", "ur5", "ur5e", "ur10e", "ur16e", "ur20", "ur30")
# by profile: mock hardware has no wrench
DEFAULT_LAWS = {"real": "admittance", "mock": "position_domain_pd"}
MOCK_HARDWARE = Argument(
    "use_mock_hardware", "false", "Let the driver run on ros2_control's mock hardware.", SWITCH
)


def ur(given: Given) -> System:
    """System of ur_robot_driver with our controller in front of it.

    The driver loads its forward controllers inactive. The one that the law needs is activated when
    ours is active.

    Raises:
        ConfigError: unknown law or file, or a law whose commands the robot doesn't take.
    """
    robot = given["ur_type"]
    given = {**given, "prefix": given["tf_prefix"]}
    config, given = _on_driver(given, robot)
    forward = config.profile.controllers[checked_law(config, given["law"], given["gains"]).mode]
    ours = control(given, config.profile_name, rate=_rate(given, robot), forward_follows=True)
    driver = _driver(given, "ur_robot_driver")
    return System((*driver, *ours, active(), spawner(None, forward)), forward=forward)


def gen3(given: Given) -> System:
    """System of ros2_kortex and its forward_position_controller with our controller in front of it.

    Raises:
        ConfigError: unknown law or file; a law that doesn't command positions; on mock hardware, a
            law that needs a wrench.
    """
    file = with_prefix(
        share_directory() / "config/ros2_control/gen3_forward_position.yaml", given["prefix"]
    )
    config, given = _on_driver(given, "gen3")
    # The file of the controllers has positions only, on mock hardware as well.
    positions = replace(config, profile=replace(config.profile, commands=(CommandMode.POSITION,)))
    checked_law(positions, given["law"], given["gains"])
    ours = control(given, config.profile_name, rate=_rate(given, "gen3"))
    driver = _driver(given | {"controllers_file": str(file)}, "ros2_kortex")
    return System((*driver, *ours), plugins=_packages_of_controllers(file) if driver else ())


def _on_driver(given: Given, robot: str) -> tuple[RobotConfig, dict[str, str]]:
    """The robot under the profile of the driver or of its mock hardware; the arguments with
    that robot and a law.
    """
    profile = "mock" if given["use_mock_hardware"] == "true" else "real"
    robot = equipped(robot, given.get("gripper", ""))
    return load_robot(robot, profile), {
        **given,
        "robot": robot,
        "law": given["law"] or DEFAULT_LAWS[profile],
    }


def _rate(given: Given, robot: str) -> float:
    """Rate in the file of the gains, or the driver's, which is the same on mock hardware [Hz]."""
    return file_rate(given["gains"]) or load_robot(robot, "real").profile.rate


def _driver(given: Given, driver: str) -> list[LaunchFile]:
    """A driver's launch file, unless it runs already; its arguments are those of
    config/drivers/<driver>.yaml.
    """
    if given["driver"] == "false":
        return []
    _, names = read_config("driver", driver)
    (path,) = names["launch_file"]
    values = {name: row["value"] for name, row in names["arguments"].items() if "value" in row}
    return [
        LaunchFile(
            names["package"],
            path,
            {name: value.format_map(given) for name, value in values.items()},
        )
    ]


def _packages_of_controllers(file: Path) -> tuple[str, ...]:
    """The packages of all controllers in a parameter file of the controller manager."""
    parameters = node_parameters("controllers_file", file, "controller_manager", needed=False)
    return tuple(
        sorted(
            {kind.partition("/")[0] for name, kind in parameters.items() if name.endswith(".type")}
        )
    )


def checked_law(config: RobotConfig, law: str, gains: str) -> RunningLaw:
    """The law on a driver. The hints of a refusal are the laws that the same check accepts with
    their defaults.

    Raises:
        ConfigError: unknown law or file, or a law whose commands or wrench the driver doesn't have.
    """
    law_class(law)  # an unknown law is refused with all names
    hint = f"Use one of: {', '.join(name for name in law_names() if name != law and _runs(config, name))}."
    return _running(replace(config, profile=replace(config.profile, remedy=hint)), law, gains)


def _runs(config: RobotConfig, law: str) -> bool:
    """True where a driver takes a law with its default gains."""
    try:
        _running(config, law, "")
    except ConfigError:
        return False
    return True


def _running(config: RobotConfig, law: str, gains: str) -> RunningLaw:
    running = running_law(config, law, gains)
    if config.profile_name == "mock" and running.needs_wrench:
        text = f"law {law} needs a wrench, but the driver's mock hardware measures none. {config.profile.remedy}"
        raise ConfigError(text, name="law", value=law)
    return running


LAW = Argument(
    "law", "", f"{CONTROL[0].text[:-1]}; empty for admittance, on mock hardware position_domain_pd."
)
DRIVER = Argument("driver", "true", "Start the driver; false where it runs already.", SWITCH)
UR = Setup(
    (
        Argument("ur_type", None, "Type of the arm.", UR_TYPES),
        Argument("robot_ip", None, "Address of the control box; any with mock hardware."),
        GRIPPER,
        LAW,
        *CONTROL[1:],
        MOCK_HARDWARE,
        Argument(
            "tf_prefix",
            "",
            "In front of the names of joints and frames, for the driver and for our nodes.",
        ),
        Argument(
            "headless_mode", "false", "Start the program from here, not on the pendant.", SWITCH
        ),
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
        replace(
            PREFIX,
            text="In front of the names of joints and frames, for the driver and for our nodes.",
        ),
        DRIVER,
    ),
    gen3,
)
