"""Systems on the drivers of real arms, or on their mock hardware; config/drivers has all names of a driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..core.errors import ConfigError
from ..core.types import CommandMode
from ..laws import law_class, law_names
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig, load_robot
from ..robot.files import read_config, share_directory
from .package_nodes import CONTROL, SWITCH, active, control, file_rate, node_parameters, running_law, switch
from .ros2_control import spawner
from .system import Argument, LaunchFile, Setup, System, stages

UR_TYPES = ("ur5", "ur5e")
DEFAULT_LAWS = {"real": "admittance", "mock": "position_domain_pd"}  # by profile: mock hardware has no wrench
MOCK_HARDWARE = Argument("use_mock_hardware", "false", "Let the driver run on ros2_control's mock hardware.", SWITCH)


def ur(
    ur_type: str,
    robot_ip: str,
    law: str = "",
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
    profile, rate = _profile(ur_type, use_mock_hardware, gains)
    given = {"ur_type": ur_type, "robot_ip": robot_ip, "use_mock_hardware": use_mock_hardware}
    config = load_robot(ur_type, profile)
    law = law or DEFAULT_LAWS[profile]
    running = checked_law(config, law, gains)
    forward = config.profile.controllers[running.mode]
    ours = control(ur_type, law, gains, watchdog, dashboard, profile, rate=rate, vital=False, forward_follows=True)
    started = [launch_file("ur_robot_driver", given | {"headless_mode": headless_mode})]
    return stages(
        [*(started if switch("driver", driver) else []), *ours, active(vital=False)],
        [spawner(None, forward, vital=False, optional=True)],  # it fails where the controller is active already
    )


def gen3(
    robot_ip: str,
    law: str = "",
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
    profile, rate = _profile("gen3", use_mock_hardware, gains)
    file = share_directory() / "config" / "ros2_control" / "gen3_forward_position.yaml"
    given = {"robot_ip": robot_ip, "use_mock_hardware": use_mock_hardware, "controllers_file": str(file)}
    law = law or DEFAULT_LAWS[profile]
    # The file of the controllers has positions only, on mock hardware as well.
    config = load_robot("gen3", profile)
    checked_law(replace(config, profile=replace(config.profile, commands=(CommandMode.POSITION,))), law, gains)
    ours = control("gen3", law, gains, watchdog, dashboard, profile, rate=rate, vital=False)
    if not switch("driver", driver):
        return stages(ours)
    return stages([launch_file("ros2_kortex", given), *ours], plugins=_packages_of_controllers(file))


def launch_file(driver: str, given: Mapping[str, str]) -> LaunchFile:
    """A driver's launch file with its arguments by their own names, as config/drivers/<driver>.yaml has them.

    Args:
        driver: name of the file.
        given: values of our arguments by name.
    """
    _, names = read_config("driver", driver)
    (path,) = names["launch_file"]
    values = {name: row["value"] for name, row in names["arguments"].items() if "value" in row}
    return LaunchFile(names["package"], path, {name: value.format_map(given) for name, value in values.items()})


def _packages_of_controllers(file: Path) -> tuple[str, ...]:
    """The packages of all controllers in a parameter file of the controller manager."""
    (parameters,) = filter(None, node_parameters("controllers_file", file, "controller_manager"))
    types = [entry["type"] for entry in parameters.values() if isinstance(entry, dict)]
    return tuple(sorted({each.partition("/")[0] for each in types}))


def checked_law(config: RobotConfig, law: str, gains: str) -> RunningLaw:
    """The law on a driver. The hints of a refusal are the laws that the same check accepts with their defaults.

    Raises:
        ConfigError: unknown law or file, or a law whose commands or wrench the driver doesn't have.
    """
    law_class(law)  # an unknown law is refused with all names
    hint = f"Use one of: {', '.join(name for name in law_names() if name != law and _runs(config, name))}."
    config = replace(config, profile=replace(config.profile, remedy=hint))
    running = running_law(config, law, gains)
    if _lacks_wrench(config, running):
        text = f"law {running.name} needs a wrench, which the driver's mock hardware doesn't have. {hint}"
        raise ConfigError(text, name="law", value=law)
    return running


def _runs(config: RobotConfig, law: str) -> bool:
    """Whether a driver takes a law with its default gains."""
    try:
        return not _lacks_wrench(config, running_law(config, law, ""))
    except ConfigError:
        return False


def _lacks_wrench(config: RobotConfig, law: RunningLaw) -> bool:
    """The driver's mock hardware has no wrench, or has it as NaN."""
    return config.profile_name == "mock" and law.needs_wrench


def _profile(robot: str, use_mock_hardware: str, gains: str) -> tuple[str, float]:
    """The profile, and the rate: of the file of the gains, or the driver's, which is the same on mock hardware."""
    rate = file_rate(gains) or load_robot(robot, "real").profile.rate
    return ("mock" if switch("use_mock_hardware", use_mock_hardware) else "real"), rate


LAW = Argument("law", "", f"{CONTROL[0].text[:-1]}; empty for admittance, on mock hardware position_domain_pd.")
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
