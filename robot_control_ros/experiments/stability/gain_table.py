"""What each law's gains may be on a robot, at home: computed, not simulated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...control.gain_report import gain_report
from ...core.errors import ConfigError
from ...laws import law_names
from ...laws.running_law import RunningLaw
from ...robot.configuration import load_robot, robot_names
from ...robot.model import RobotModel


def gain_table(names: Sequence[str], profile: str) -> int:
    """Print the bounds of each law's gains, with the robot's own gains; laws that the profile refuses are left out.

    Returns the exit status: 1 if gains are beyond their bounds.

    Raises:
        ConfigError: unknown robot or profile.
    """
    warned = False
    for name in names or robot_names():
        robot = load_robot(name, profile)
        kin = RobotModel.of(robot).at(np.array(robot.home))
        for law in law_names():
            try:
                report = gain_report(RunningLaw(robot, law), kin)
            except ConfigError:
                continue
            for gain, bound in report.bounds.items():
                print(f"{name} {law} {gain}: {bound}")
            if report.warning:
                print(f"{name} {report.warning}")
                warned = True
    return int(warned)
