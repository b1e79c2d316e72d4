"""`robot_control doctor`: says what works or is wrong in a robot's system, and what to do next."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError
from ..core.types import CommandMode
from ..laws.running_law import RunningLaw
from ..robot.configuration import RobotConfig, load_robot
from ..robot.implausible import torque_problem
from ..robot.model import RobotModel
from ..robot.profile import HardwareProfile
from ..robot.workcell import arm_namespace
from ..ros.findings import Finding, Level, errors
from ..ros.process_environment import environment
from .options import STANDARD_OUTPUT, show_json

if TYPE_CHECKING:
    from ..nodes.doctor.running_controllers import RunningController

# s: Fast DDS announces a participant every 3 s, and the first announcements may get lost
DISCOVERY = 4.0
WIDTH = 100  # columns; commands, which are to be copied, may be longer
MARKS = {Level.OK: "  ok  ", Level.WARNING: " warn ", Level.ERROR: " FAIL "}


def doctor(
    robot: str = "",
    profile: str = "",
    law: str = "",
    seconds: float = DISCOVERY,
    namespace: str = "",
    prefix: str = "",
    json: Path | None = None,
) -> int:
    """Examine a running system, and print the findings.

    What isn't named is that of the controllers that run. Each of them is examined, as in a work
    cell. Where none runs, the robot is a ur5 under the profile sim.

    Args:
        robot: Robot whose system is examined: a name, or the path of a YAML file.
        profile: Hardware profile of the robot.
        law: Law that is to run. Empty takes that of the running controller. Where none runs, it is
            `impedance`, or `admittance` where the profile takes no efforts or the description
            gives no torques.
        seconds: Time of listening [s].
        namespace: Namespace of the robot's nodes; empty takes the arm's name for an arm of a work
            cell.
        prefix: Prefix of joints and frames; empty takes the robot's.
        json: File for the findings as JSON, or the standard output in place of the text. None
            writes no JSON.

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
    asked = Patient(namespace.strip("/"), robot, profile, prefix, law)
    named = replace(asked, robot=robot or "ur5", profile=profile or "sim")
    named = replace(named, namespace=named.namespace or arm_namespace(named.robot))
    config = load_robot(named.robot, named.profile, named.prefix)
    if law:
        RunningLaw(config, law)  # refuses what doesn't fit, before anything is looked for
    os.environ.update(
        environment({"ROS_DOMAIN_ID": "0", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", **os.environ})
    )
    patients = [named]
    if not (robot and law):
        from ..nodes.doctor.running_controllers import find_controllers

        patients = _patients(asked, named, find_controllers(DISCOVERY))
    prints = json != STANDARD_OUTPUT
    examinations = [_examine(each, seconds, prints) for each in patients]
    if json is not None:
        show_json(json, [each.data() for each in examinations])
    return 1 if any(errors(each.findings) for each in examinations) else 0


@dataclass(frozen=True)
class Patient:
    """A system that is examined.

    Attributes:
        namespace: Namespace of its nodes.
        robot, profile, prefix, law: Names; empty where nobody says.
    """

    namespace: str
    robot: str
    profile: str
    prefix: str
    law: str


def _patients(
    asked: Patient, named: Patient, running: Sequence[RunningController]
) -> list[Patient]:
    """Systems to examine: those of the controllers that run, where they fit what is asked for.

    Args:
        asked: System that is asked for; what is empty is to be filled in.
        named: System that is examined where no controller runs.
        running: Controllers that run.
    """
    fitting = []
    for each in running:
        if asked.namespace not in ("", each.namespace) or asked.profile not in ("", each.profile):
            continue
        if asked.robot and (each.robot, each.namespace) != (named.robot, named.namespace):
            continue
        fitting.append(
            Patient(
                each.namespace,
                each.robot,
                each.profile,
                asked.prefix or each.prefix,
                asked.law or each.law,
            )
        )
    return fitting or [named]


@dataclass(frozen=True)
class Examination:
    """What was looked at, and what was seen.

    Attributes:
        patient: System that was examined.
        law: Name of the law that runs, or is to run.
        profile: Hardware profile of the robot.
        findings: Results of the checks.
    """

    patient: Patient
    law: str
    profile: HardwareProfile
    findings: Sequence[Finding]

    def data(self) -> dict[str, Any]:
        """The examination for programs: names, findings, and what to do first."""
        return {
            "robot": self.patient.robot,
            "profile": self.patient.profile,
            "namespace": self.patient.namespace,
            "prefix": self.patient.prefix,
            "law": self.law,
            "findings": [
                {
                    "level": each.level.value,
                    "text": each.text,
                    "remedy": each.remedy,
                    "command": _runnable(each.command),
                }
                for each in self.findings
            ],
            "commands": command_topics(self.profile, self.patient.namespace),
            "next": first_advice(self.findings),
        }


def _examine(patient: Patient, seconds: float, prints: bool) -> Examination:
    """Examine one system for some seconds.

    Args:
        patient: System to examine.
        seconds: Time of listening [s].
        prints: True prints the findings.
    """
    from ..nodes.doctor.node import examine

    config = load_robot(patient.robot, patient.profile, patient.prefix)
    running = RunningLaw(config, patient.law or _usual_law(config))
    if prints:
        system = config.profile.description or patient.profile
        name = config.description or config.name
        where = f" in namespace {patient.namespace}" if patient.namespace else ""
        _print_wrapped(
            "",
            f"{name}{where}, profile {patient.profile} ({system}), law {running.name}: "
            f"listening for {seconds:g} s …",
        )
    findings = examine(config, running, patient.robot, seconds, patient.namespace)
    if prints:
        _print_findings(findings)
        _print_profile(config.profile, patient.namespace)
        _print_next(findings)
    return Examination(patient, running.name, config.profile, findings)


def _print_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        _print_wrapped(MARKS[finding.level], finding.text)
        if finding.remedy:
            _print_wrapped("       ->", finding.remedy + ":" * bool(finding.command))
        if finding.command:
            print(f"          {_runnable(finding.command)}")


def _usual_law(config: RobotConfig) -> str:
    """Law for a robot that no controller runs for."""
    takes_efforts = CommandMode.EFFORT in config.profile.commands
    if takes_efforts and torque_problem(RobotModel.of(config)) == "":
        return "impedance"
    return "admittance"


def command_topics(profile: HardwareProfile, namespace: str) -> dict[str, str]:
    """Topics (by mode) that a robot under a profile takes its commands from."""
    return {
        mode.value: str(PurePosixPath("/", namespace, profile.command_topic(mode)))
        for mode in profile.commands
    }


def _print_profile(profile: HardwareProfile, namespace: str) -> None:
    topics = command_topics(profile, namespace)
    commands = ", ".join(f"{mode} on {topic}" for mode, topic in topics.items())
    print()
    for note in (
        f"It takes {commands}.",
        f"It compensates {' and '.join(profile.compensated_by_robot) or 'neither gravity nor friction'} itself.",
        *profile.all_notes,
    ):
        _print_wrapped("  -", note)


def _print_wrapped(mark: str, text: str) -> None:
    """Print a text after a mark, where there is one, in lines that fit."""
    begin = f"{mark} " if mark else ""
    print(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=begin,
            subsequent_indent=" " * len(begin),
            break_long_words=False,
            break_on_hyphens=False,
        ),
        flush=True,
    )


def _runnable(command: str) -> str:
    """Command in a form that runs on this machine, as wheels of ROS bring no `ros2`."""
    node = command.removeprefix("ros2 run robot_control_ros ")
    if not command.startswith("ros2 ") or shutil.which("ros2"):
        return command
    if node != command:
        return f"{sys.executable} -m robot_control_ros.nodes {node}"
    return f"{command}  # in a terminal with a sourced ROS installation"


def _pending(findings: Sequence[Finding]) -> list[Finding]:
    """Findings that ask for something: errors come before warnings."""
    return [
        finding
        for level in (Level.ERROR, Level.WARNING)
        for finding in findings
        if finding.level is level
    ]


def first_advice(findings: Sequence[Finding]) -> str:
    """The one thing to do first: a command where there is one, or words; empty for nothing."""
    for finding in _pending(findings):
        if finding.advice:
            return _runnable(finding.command) or finding.remedy
    return ""


def _print_next(findings: Sequence[Finding]) -> None:
    """Print the one thing to do first, or that all is well."""
    advice = first_advice(findings)
    if advice:
        print(f"\nNext: {advice}")
    elif not _pending(findings):
        print("\nAll is well.")
