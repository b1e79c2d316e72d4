"""Check that a law gets the wrench that it needs, from a sensor's topic or joint torques."""

from __future__ import annotations

from ..core.errors import ConfigError
from ..laws import law_names
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig


def check_wrench_supply(law: RunningLaw, source: str = "", topic: str = "") -> None:
    """Refuse a law that needs a wrench where its robot's profile names no source of one.

    Args:
        law: Law on its robot.
        source: Value of the setting `wrench.source`; the profile's where empty.
        topic: Topic of the wrench, where it is named elsewhere than in the profile.

    Raises:
        ConfigError: names the key and the file, and ways out that these rules accept; its `bound`
            are laws that run.
    """
    robot = law.robot
    source = source or str(robot.profile.wrench.get("source", "sensor"))
    if not law.needs_wrench or source != "sensor" or topic or robot.profile.wrench_topic:
        return
    key = f"profiles.{robot.profile_name}.wrench_topic"
    laws = laws_without_wrench(robot)
    other = f", or use one of the laws {', '.join(laws)}" if laws else ""
    text = f"law {law.name} needs a wrench, and {key} is empty in {robot.file or robot.name}. {ways_out(robot)}{other}"
    raise ConfigError(text, name=key, value="", bound=laws)


def ways_out(robot: RobotConfig) -> str:
    """Advice how the profile can have a wrench, in words."""
    return f"Name the sensor's topic there{estimate(robot)}"


def estimate(robot: RobotConfig) -> str:
    """Advice to estimate the wrench from the joint torques; empty where the robot measures none."""
    return ", or set wrench.source to joint_effort" if robot.profile.measures_torque else ""


def laws_without_wrench(robot: RobotConfig) -> tuple[str, ...]:
    """The laws that the robot runs with their defaults, and that need no wrench."""
    return tuple(name for name in law_names() if _runs(robot, name))


def _runs(robot: RobotConfig, name: str) -> bool:
    try:
        return not RunningLaw(robot, name).needs_wrench
    except ConfigError:
        return False
