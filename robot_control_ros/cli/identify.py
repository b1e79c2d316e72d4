"""The command that identifies an arm."""

from __future__ import annotations

import argparse
from typing import Any

from .options import OUTPUT_FILE, POSITIVE, ROBOT, add_command, picture


def add_identify(commands: Any) -> None:
    """Add it to the subcommands of a parser."""
    text = "delay, noise, friction and payload of a simulated arm, from a slow motion; without ROS"
    add = add_command(commands, "identify", text, _identify)
    add("--robot", **ROBOT)
    text = "the arm to identify: name of imperfections, or path of a YAML file"
    add("--simulated", required=True, metavar="NAME", help=text)
    add("--joints", nargs="+", default=[], metavar="JOINT", help="that move (default: all)")
    add("--speed", type=POSITIVE, default=0.4, help="of the fastest strokes, in rad/s (default: 0.4)")
    add("--amplitude", type=POSITIVE, default=0.25, help="of the strokes, in rad (default: 0.25)")
    add("--rate", type=POSITIVE, default=500.0, help="of control, in Hz (default: 500)")
    add("--out", type=OUTPUT_FILE, metavar="FILE", help="write the arm as imperfections, YAML")
    add("--plot", type=picture, metavar="FILE", help="write a picture")
    add("--yes", action="store_true", help="don't ask before the motion")


def _identify(options: argparse.Namespace) -> int:
    import numpy as np

    from ..experiments.identify.identified_file import plot, table, write_file
    from ..experiments.identify.motion_plan import MotionBounds, plan_motion
    from ..experiments.identify.simulated import identify_plan
    from ..robot.configuration import load_robot
    from ..robot.model import RobotModel
    from ..simulation.imperfections import load_imperfections

    robot = load_robot(options.robot).at_rate(options.rate)
    arm = load_imperfections(options.simulated)
    arm.check(robot)
    bounds = MotionBounds(options.amplitude, options.speed, tuple(options.joints))
    plan = plan_motion(robot, RobotModel.of(robot), np.array(robot.home), bounds)
    print(plan.describe(robot.joints))
    if not (options.yes or input("Move within these bounds? [y/N] ").strip().lower() == "y"):
        return 1
    found, recording = identify_plan(robot, arm, plan)
    print(table(robot, found))
    if options.out:
        print(write_file(options.out, robot, found))
    if options.plot:
        print(plot(options.plot, robot, found, recording))
    return 0
