"""The commands that lead a running robot, with methods of :class:`~..client.robot.Robot`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..core.bounded import Bounded
from ..core.errors import refused
from .options import VALUES, add_command, add_number, gain_value, output_file

# s; all is done by then, so a middleware that hangs at its end is no failure of the command
CLOSED_WITHIN = 2.0

Action = Callable[[Any, argparse.Namespace], str]  # leads a Robot; returns the text to print


def _command(name: str, text: str, action: Action) -> Callable[[Any], Callable[..., Any]]:
    """Return a function that adds a command: it connects, runs the action, and prints its text."""

    def run(options: argparse.Namespace) -> int:
        from ..client.robot import Robot
        from ..ros.ending import exit_after

        chosen = {
            "namespace": options.namespace,
            "controller": options.controller,
            "domain": options.domain,
        }
        with Robot(**chosen, timeout=options.within, lost_after=options.lost_after) as robot:
            if text := action(robot, options):
                print(text, flush=True)
            prevent = exit_after(CLOSED_WITHIN, 0)
        prevent()
        return 0

    def add_to(commands: Any) -> Callable[..., Any]:
        add = add_command(commands, name, f"of a running robot: {text}", run)
        add("--namespace", default="", help="of the controller")
        add(
            "--controller",
            default="controller",
            metavar="NAME",
            help="of its node (default: controller)",
        )
        domain = Bounded(lower=0, upper=232, whole=True, doc="of ROS")
        add_number(add, "--domain", domain, default="ROS_DOMAIN_ID")
        within = Bounded(default=10.0, above=0.0, unit="s", doc="to find the controller")
        add_number(add, "--within", within, metavar="SECONDS")
        meaning = "of silence, after which the controller counts as gone"
        silence = Bounded(default=0.4, above=0.0, unit="s", doc=meaning)
        add_number(add, "--lost-after", silence, metavar="SECONDS")
        return add

    return add_to


def _add_status(commands: Any) -> None:
    _command("status", "law, pose, force, joints, fault", _status)(commands)


def _status(robot: Any, options: argparse.Namespace) -> str:
    import numpy as np

    from ..core.spatial import rotation_to_rpy

    state = robot.state
    config = robot.config
    force = "no sensor" if np.isnan(state.wrench).any() else f"{_text(state.wrench[:3])} N"
    lines = {
        "robot": f"{config.name}, profile {config.profile_name}, law {robot.law}",
        "tip": f"{_text(state.pose[:3, 3])} m, rpy {_text(rotation_to_rpy(state.pose[:3, :3]))} rad",
        "error": f"{_text(state.pose_error[:3] * 1e3)} mm",
        "force": force,
        "joints": f"{_text(state.q)} rad",
        "reference": "moves" if state.moving else "rests",
        "fault": robot.fault or "none",
    }
    return "\n".join(f"{name:<10} {text}" for name, text in lines.items())


def _add_get(commands: Any) -> None:
    add = _command("get", "its gains and settings", _get)(commands)
    add("gain", nargs="*", metavar="GAIN", help="only these")


def _get(robot: Any, options: argparse.Namespace) -> str:
    from ..core.errors import unknown
    from ..core.gains import short_names

    known = {**robot.gains, **robot.settings}
    names = list(short_names(robot.law, dict.fromkeys(options.gain), known))
    for name in names:
        if name not in known:
            raise unknown("gain", name, known)
    return "\n".join(f"{name} = {_text(known[name])}" for name in names or known)


def _add_set(commands: Any) -> None:
    add = _command("set", "change gains and settings, all or none", _set)(commands)
    add("gain", nargs="+", metavar="GAIN=VALUE", help=VALUES)


def _set(robot: Any, options: argparse.Namespace) -> str:
    robot.set_gains(dict(map(gain_value, options.gain)))
    return ""


def _add_law(commands: Any) -> None:
    add = _command(
        "law", "go on with another law", lambda robot, options: robot.set_law(options.law)
    )(commands)
    add("law", metavar="LAW", help="name, or package.module:Class")


def _add_move(commands: Any) -> None:
    add = _command("move", "move the tip, or the joints", _move)(commands)
    values = Bounded(doc="x y z of the tip in m, or angles in rad")
    add_number(add, "values", values, nargs="+", metavar="NUMBER")
    add("--joints", action="store_true", help="the numbers are joint angles")
    add(
        "--by",
        action="store_true",
        help="the numbers count from where the reference is; with --joints, the joints",
    )
    seconds = Bounded(default=30.0, above=0.0, unit="s", doc="after which it holds")
    add_number(add, "--seconds", seconds)


def _move(robot: Any, options: argparse.Namespace) -> str:
    import numpy as np

    target = np.array(options.values)
    if options.by:
        start = robot.q if options.joints else robot.state.reference_pose[:3, 3]
        with suppress(ValueError):  # of another size: it is refused
            target = target + start
    state = robot.move_to(**{"q" if options.joints else "pose": target}, timeout=options.seconds)
    return (
        f"{_text(state.pose[:3, 3])} m, error {np.linalg.norm(state.pose_error[:3]) * 1e3:.1f} mm"
    )


def _add_gripper(commands: Any) -> None:
    add = _command("gripper", "open, close or move its fingers, or print what they do", _gripper)(
        commands
    )
    add(
        "target",
        nargs="?",
        default="",
        metavar="open|close|WIDTH",
        help="WIDTH in m; nothing prints the state only",
    )
    force = Bounded(above=0.0, unit="N", doc="of each finger, at most")
    add_number(add, "--force", force, default="the gripper's")
    add_number(add, "--seconds", Bounded(default=10.0, above=0.0, unit="s", doc="for the motion"))


def _gripper(robot: Any, options: argparse.Namespace) -> str:
    from ..core.errors import NotReached
    from ..robot.gripper import describe_grip

    gripper = robot.gripper
    chosen = {"force": options.force, "timeout": options.seconds}
    if options.target in ("open", "close"):
        return describe_grip(getattr(gripper, options.target)(**chosen))
    if not options.target:
        with suppress(NotReached):  # they move
            robot.wait_until(lambda state: gripper.state.rests, timeout=1.0)
        return describe_grip(gripper.state)
    try:
        width = float(options.target)
    except ValueError as error:
        raise refused("target", options.target, "must be open, close, or a width in m") from error
    return describe_grip(gripper.move(width, **chosen))


def _add_record(commands: Any) -> None:
    add = _command(
        "record", "write its states as CSV, or all topics as MCAP; Ctrl-C ends it", _record
    )(commands)
    add(
        "file",
        type=output_file(".mcap"),
        nargs="?",
        metavar="FILE.mcap",
        help="all topics of the controller, and its states",
    )
    length = Bounded(default=10.0, lower=0.0, unit="s", doc="length; 0 goes on until Ctrl-C")
    add_number(add, "--seconds", length)
    text = "of one file, after which the next one begins: FILE_1 and so on"
    size = Bounded(default=1000.0, above=0.0, unit="MB", doc=text)
    add_number(add, "--split", size, metavar="MB")
    last = Bounded(above=0.0, unit="s", doc="instead: the last control cycles, of 60 s at most")
    add_number(add, "--last", last, metavar="SECONDS")
    add(
        "--csv",
        type=output_file(".csv"),
        default="record.csv",
        metavar="FILE",
        help="(default: record.csv)",
    )


def _record(robot: Any, options: argparse.Namespace) -> str:
    if options.last is not None:
        if options.file is None:
            raise refused("FILE.mcap", "", "must be given with --last")
        robot.save_cycles(options.file, options.last)
        return f"{options.file}: look at it with any tool for MCAP, or with: robot_control replay {options.file}"
    largest = round(1e6 * options.split)
    with (
        robot.record(options.file or options.csv, largest=largest) as recording,
        suppress(KeyboardInterrupt),
    ):
        recording.wait(options.seconds or None)  # not a wait of the robot's, which would hold it
    kind = "messages" if options.file else "states"
    return f"{recording.messages} {kind}, {recording.dropped} dropped: {', '.join(map(str, recording.paths))}"


def _text(value: Any) -> str:
    """Text of a value: numbers with four digits, joined by commas; words as they are."""
    if isinstance(value, (bool, str)):
        return str(value).lower() if isinstance(value, bool) else value
    return f"{value:.4g}" if isinstance(value, float) else ",".join(f"{each:.4g}" for each in value)


LEADING: tuple[Callable[[Any], Any], ...] = (
    _add_status,
    _add_get,
    _add_set,
    _add_law,
    _add_move,
    _command("hold", "hold it where it is", lambda robot, _: robot.hold()),
    _command("home", "move the joints home", lambda robot, _: _text(robot.go_home().q) + " rad"),
    _command(
        "zero-wrench", "make the present wrench zero", lambda robot, _: str(robot.zero_wrench())
    ),
    _add_gripper,
    _add_record,
)
