"""`robot_control doctor`: what is there for a robot, what is missing or wrong, and what to type next."""

from __future__ import annotations

import os

from .bringup import environment
from .errors import ConfigError
from .findings import Finding, Level, errors
from .profiles import Profile
from .robots import load_robot
from .running_law import RunningLaw

MARKS = {Level.OK: "  ok  ", Level.WARNING: " warn ", Level.ERROR: " FAIL "}


def doctor(robot: str, profile: str, law: str, seconds: float) -> int:
    """Look, and print.

    Args:
        robot, profile: whose system is looked at.
        law: that is to run.
        seconds: of listening.

    Returns:
        The exit status: 1 where the robot can't be controlled like this.

    Raises:
        ConfigError: unknown robot, profile or law, or a pairing that is refused.
    """
    if not 0.0 < seconds < float("inf"):
        raise ConfigError(f"seconds = {seconds}: must be above 0")
    config = load_robot(robot, profile)
    running = RunningLaw(config, law)
    os.environ.update(environment({"ROS_DOMAIN_ID": "0", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", **os.environ}))
    from .nodes.doctor import examine

    system = config.profile.description or profile
    print(
        f"{config.description or config.name}, profile {profile} ({system}), law {law}: listening for {seconds:g} s …"
    )
    findings = examine(config, running, seconds)
    for finding in findings:
        print(f"{MARKS[finding.level]} {finding.text}")
        if finding.remedy:
            print(f"        -> {finding.remedy}")
    _print_profile(config.profile)
    _print_next(findings)
    return 1 if errors(findings) else 0


def _print_profile(profile: Profile) -> None:
    commands = ", ".join(f"{mode.value} on {profile.command_topic(mode)}" for mode in profile.commands)
    own = [
        name for name, yes in (("gravity", profile.gravity_by_robot), ("friction", profile.friction_by_robot)) if yes
    ]
    print(f"\ntakes {commands}; compensates {' and '.join(own) or 'neither gravity nor friction'} itself")
    for note in profile.notes:
        print(f"  - {note}")


def _print_next(findings: list[Finding]) -> None:
    pending = [finding for level in (Level.ERROR, Level.WARNING) for finding in findings if finding.level is level]
    remedies = [finding.remedy for finding in pending if finding.remedy]
    if remedies:
        print(f"\nNext: {remedies[0]}")
    elif not pending:
        print("\nAll is well.")
