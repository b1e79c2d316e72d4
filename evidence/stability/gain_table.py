"""Bounds of each law's gains on a robot, at home: computed, not simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_control_ros.control.gain_report import gain_report
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.laws import law_names
from robot_control_ros.laws.law import command_mode, law_class
from robot_control_ros.laws.running_law import RunningLaw
from robot_control_ros.robot.configuration import RobotConfig, load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.imperfections import (
    Imperfections,
    load_imperfections,
    per_joint,
)


def gain_table(names: Sequence[str], profile: str, measured: str = "") -> int:
    """Print the bounds of each law's gains, with the robot's own gains.

    Laws that the profile refuses are left out.

    Args:
        names: Names of robots; all where empty.
        profile: Hardware profile that gives the rate and, without `measured`, the delay.
        measured: Name or path of imperfections; delay, viscous friction and rotor inertia are
            theirs.

    Returns:
        The exit status: 1 if gains are beyond their bounds.

    Raises:
        ConfigError: unknown robot, profile or imperfections; imperfections of an arm with another
            number of joints.
    """
    arm = load_imperfections(measured) if measured else None
    warned = False
    for name in names or robot_names():
        robot = load_robot(name, profile)
        if arm is not None:
            arm.check(robot)
        for law in law_names():
            try:
                lines, warning = _bounds(robot, law, arm)
            except ConfigError:
                continue
            for line in lines:
                print(f"{name} {law} {line}")
            if warning:
                print(f"{name} {warning}")
                warned = True
    return int(warned)


def _bounds(robot: RobotConfig, law: str, arm: Imperfections | None) -> tuple[list[str], str]:
    """The bounds of a law's gains, a line each, and its warning."""
    friction = None
    if arm is not None:
        friction = per_joint(arm.friction.viscous, robot.n)
        running = RunningLaw(robot, law)
        late = _delay(arm, command_mode(law_class(law), running.gains.target))
        robot = replace(robot, profile=replace(robot.profile, delay=late))
        if arm.rotor_inertia:
            robot = replace(
                robot, rotor_inertia=tuple(per_joint(arm.rotor_inertia, robot.n).tolist())
            )
    kin = RobotModel.of(robot).at(np.array(robot.home))
    report = gain_report(RunningLaw(robot, law), kin, friction=friction)
    return [f"{gain}: {bound}" for gain, bound in report.bounds.items()], report.warning


def _delay(arm: Imperfections, mode: CommandMode) -> float:
    """The longest time from a sample to the effect of its command [s]."""
    late = arm.commands.delay
    if mode is not CommandMode.EFFORT and arm.commands.position_delay > 0.0:
        late = arm.commands.position_delay
    return arm.states.delay + arm.states.jitter + late + arm.commands.jitter
