"""The command that identifies an arm, a running one or a simulated one."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .options import POSITIVE, ROBOT, add_command, option_type, picture


def add_identify(commands: Any) -> None:
    """Add it to the subcommands of a parser."""
    text = "delay, noise, friction and payload of an arm, from a slow motion: of the running one, or of a simulated one"
    add = add_command(commands, "identify", text, _identify)
    add("--controller", default="controller", metavar="NAME", help="the controller that runs (default: controller)")
    text = "identify a simulated arm in this process, without ROS: name of imperfections, or path of a YAML file"
    add("--simulated", metavar="NAME", help=text)
    add("--robot", **{**ROBOT, "help": f"{ROBOT['help']}; with --simulated"})
    add("--joints", nargs="+", default=[], metavar="JOINT", help="that move (default: all)")
    add("--speed", type=POSITIVE, default=0.4, help="of the fastest strokes, in rad/s (default: 0.4)")
    add("--amplitude", type=POSITIVE, default=0.25, help="of the strokes, in rad (default: 0.25)")
    text = "commands of the motion: effort or position (default: effort where the arm takes it)"
    add("--mode", choices=("effort", "position"), default="", help=text)
    add("--rate", type=POSITIVE, default=500.0, help="of control, in Hz, with --simulated (default: 500)")
    add("--out", type=_imperfections_file, metavar="FILE", help="write the arm as imperfections, YAML")
    add("--plot", type=picture, metavar="FILE", help="write a picture")
    add("--yes", action="store_true", help="don't ask before the motion")
    add("--json", action="store_true", help="for programs: print each step as a line of JSON; the answer is y")


def _identify(options: argparse.Namespace) -> int:
    from ..identification.motion_plan import MotionBounds

    bounds = MotionBounds(options.amplitude, options.speed, tuple(options.joints))
    return (_simulated if options.simulated else _running)(options, bounds)


def _simulated(options: argparse.Namespace, bounds: Any) -> int:
    import numpy as np

    from ..identification.motion_law import motion_mode
    from ..identification.motion_plan import plan_motion
    from ..identification.simulated import identify_plan
    from ..robot.configuration import load_robot
    from ..robot.model import RobotModel
    from ..simulation.imperfect.imperfections import load_imperfections

    robot = load_robot(options.robot).at_rate(options.rate)
    arm = load_imperfections(options.simulated)
    arm.check(robot)
    motion_mode(robot.profile, options.mode)
    plan = plan_motion(robot, RobotModel.of(robot), np.array(robot.home), bounds)
    if not _agreed(options, plan.as_step(robot.joints)):
        return 1
    return _report(options, robot, *identify_plan(robot, arm, plan, options.mode))


def _running(options: argparse.Namespace, bounds: Any) -> int:
    import os

    from ..core.errors import missing_extra
    from ..ros.process_environment import environment

    os.environ.update(environment())
    try:
        from ..nodes.identify.identification_operator import IdentificationOperator
        from ..ros.running import spinning
    except ImportError as error:
        raise missing_extra("a running arm", "rclpy", "ros") from error
    from ..identification.running_arm import RunningIdentification

    name = options.controller
    try:
        with spinning(lambda: IdentificationOperator(name)) as (operator, spin), contextlib.closing(operator):
            session = RunningIdentification(operator, spin, name, _printer(options), options.mode)
            plan = session.plan(bounds)
            if not _agreed(options, plan.as_step(session.robot.joints)):
                return 1
            found, recording = session.run(plan)
    except KeyboardInterrupt:
        _printer(options)({"state": "stopped", "text": "stopped"})
        return 130
    return _report(options, session.robot, found, recording)


def _printer(options: argparse.Namespace) -> Callable[[dict[str, Any]], None]:
    """What prints a step: all of it as JSON, or its text."""
    return lambda step: print(json.dumps(step) if options.json else step["text"], flush=True)


def _agreed(options: argparse.Namespace, plan: dict[str, Any]) -> bool:
    _printer(options)(plan)
    if options.yes:
        return True
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.default_int_handler) for number in signals]  # nothing spins meanwhile
    try:
        return input("" if options.json else "Move within these bounds? [y/N] ").strip().lower() == "y"
    except EOFError:  # nobody is there who could answer
        return False
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _report(options: argparse.Namespace, robot: Any, found: Any, recording: Any) -> int:
    from ..identification.identified_file import figures, plot, table, write_file

    step: dict[str, Any] = {"state": "done", "text": table(robot, found), "figures": figures(found)}
    try:
        if options.out:
            step["file"] = str(write_file(options.out, robot, found))
        if options.plot:
            step["picture"] = str(plot(options.plot, robot, found, recording))
    finally:  # also where the disk is full
        paths = (step[key] for key in ("file", "picture") if key in step)
        _printer(options)(step if options.json else step | {"text": "\n".join((step["text"], *paths))})
    return 0


@option_type
def _imperfections_file(text: str) -> Path:
    from ..identification.identified_file import imperfections_path

    return imperfections_path(text)
