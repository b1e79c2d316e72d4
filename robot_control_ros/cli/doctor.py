"""`robot_control doctor`: says what works or is wrong in a robot's system, and what to do next."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import PurePosixPath

from ..core.errors import ConfigError
from ..core.types import CommandMode
from ..laws.running_law import RunningLaw
from ..robot.configuration import load_robot
from ..robot.implausible import torque_problem
from ..robot.model import RobotModel
from ..robot.profile import HardwareProfile
from ..robot.workcell import MARK
from ..ros.findings import Finding, Level, errors
from ..ros.process_environment import environment

# s: Fast DDS announces a participant every 3 s, and the first announcements may get lost
DISCOVERY = 4.0
WIDTH = 100  # columns; commands, which are to be copied, may be longer
MARKS = {Level.OK: "  ok  ", Level.WARNING: " warn ", Level.ERROR: " FAIL "}


def doctor(
    robot: str, profile: str, law: str, seconds: float, namespace: str = "", prefix: str = ""
) -> int:
    """Examine a running system, and print the findings.

    Args:
        robot: Robot whose system is examined: a name, or the path of a YAML file.
        profile: Hardware profile of the robot.
        law: Law that is to run. Empty takes `impedance`, or `admittance` where the profile takes no
            efforts or the description gives no torques.
        seconds: Time of listening [s].
        namespace: Namespace of the robot's nodes; empty takes the arm's name for an arm of a work
            cell.
        prefix: Prefix of joints and frames; empty takes the robot's.

    Returns:
        The exit status: 1 where the robot can't be controlled like this.

    Raises:
        ConfigError: The robot, the profile or the law is unknown, they don't fit together, or
            `seconds` is too short.
    """
    if not DISCOVERY <= seconds < float("inf"):
        message = (
            f"seconds = {seconds:g}: must be {DISCOVERY:g} or more, or else some nodes aren't seen"
        )
        raise ConfigError(message, name="seconds", value=seconds, bound=DISCOVERY)
    config = load_robot(robot, profile, prefix)
    namespace = namespace.strip("/") or robot.partition(MARK)[2]
    takes_efforts = CommandMode.EFFORT in config.profile.commands
    takes_efforts = takes_efforts and torque_problem(RobotModel.of(config)) == ""
    running = RunningLaw(config, law or ("impedance" if takes_efforts else "admittance"))
    os.environ.update(
        environment({"ROS_DOMAIN_ID": "0", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", **os.environ})
    )
    from ..nodes.doctor.node import examine

    system = config.profile.description or profile
    name = config.description or config.name
    print(
        f"{name}, profile {profile} ({system}), law {running.name}: listening for {seconds:g} s …"
    )
    findings = examine(config, running, robot, seconds, namespace)
    for finding in findings:
        _print_wrapped(MARKS[finding.level], finding.text)
        if finding.remedy:
            _print_wrapped("       ->", finding.remedy + ":" * bool(finding.command))
        if finding.command:
            print(f"          {_runnable(finding.command)}")
    _print_profile(config.profile, namespace)
    _print_next(findings)
    return 1 if errors(findings) else 0


def _print_profile(profile: HardwareProfile, namespace: str) -> None:
    topics = {
        mode.value: PurePosixPath("/", namespace, profile.command_topic(mode))
        for mode in profile.commands
    }
    commands = ", ".join(f"{mode} on {topic}" for mode, topic in topics.items())
    print()
    for note in (
        f"It takes {commands}.",
        f"It compensates {' and '.join(profile.compensated_by_robot) or 'neither gravity nor friction'} itself.",
        *profile.all_notes,
    ):
        _print_wrapped("  -", note)


def _print_wrapped(mark: str, text: str) -> None:
    """Print a text after a mark, in lines that fit."""
    lines = textwrap.wrap(
        text, WIDTH - len(mark) - 1, break_long_words=False, break_on_hyphens=False
    )
    print(f"\n{' ' * len(mark)} ".join([f"{mark} {lines[0]}", *lines[1:]]))


def _runnable(command: str) -> str:
    """Command in a form that runs on this machine, as wheels of ROS bring no `ros2`."""
    node = command.removeprefix("ros2 run robot_control_ros ")
    if not command.startswith("ros2 ") or shutil.which("ros2"):
        return command
    if node != command:
        return f"{sys.executable} -m robot_control_ros.nodes {node}"
    return f"{command}  # in a terminal with a sourced ROS installation"


def _print_next(findings: list[Finding]) -> None:
    """Print the one thing to do first: the remedy of an error comes before that of a warning."""
    pending = [
        finding
        for level in (Level.ERROR, Level.WARNING)
        for finding in findings
        if finding.level is level
    ]
    advice = [_runnable(finding.command) or finding.remedy for finding in pending if finding.advice]
    if advice:
        print(f"\nNext: {advice[0]}")
    elif not pending:
        print("\nAll is well.")
