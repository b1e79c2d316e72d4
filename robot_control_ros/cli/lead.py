"""The commands that lead a running robot, with methods of :class:`~..client.robot.Robot`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..core.bounded import Bounded
from ..core.errors import refused
from .options import (
    VALUES,
    add_command,
    add_json,
    add_number,
    gain_value,
    option_type,
    output_file,
    show_json,
)

# s; all is done by then, so a middleware that hangs at its end is no failure of the command
CLOSED_WITHIN = 2.0

Action = Callable[[Any, argparse.Namespace], str]  # leads a Robot; returns the text to print


def _command(
    name: str, sentence: str, action: Action, *examples: str, details: str = ""
) -> Callable[[Any], Callable[..., Any]]:
    """Return a function that adds a command: it connects, runs the action, and prints its text.

    Args:
        name: Name of the command.
        sentence: Sentence that says what the command does.
        action: Function that leads the robot.
        examples: Command lines to type.
        details: More sentences for the command's help.
    """

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
            # a robot whose closing hangs doesn't keep the command
            cancel_exit = exit_after(CLOSED_WITHIN, 0)
        cancel_exit()
        return 0

    def add_to(commands: Any) -> Callable[..., Any]:
        add = add_command(commands, name, sentence, run, *examples, details=details)
        add("--namespace", default="", help="namespace of the controller (default: none)")
        text = "name of the controller's node (default: controller)"
        add("--controller", default="controller", metavar="NAME", help=text)
        domain = Bounded(lower=0, upper=232, whole=True, doc="domain of ROS")
        add_number(add, "--domain", domain, default="ROS_DOMAIN_ID")
        within = Bounded(default=10.0, above=0.0, unit="s", doc="time to find the controller")
        add_number(add, "--within", within)
        meaning = "time of silence, after which the controller counts as gone"
        silence = Bounded(default=0.4, above=0.0, unit="s", doc=meaning)
        add_number(add, "--lost-after", silence)
        return add

    return add_to


def _add_status(commands: Any) -> None:
    sentence = "Print the law, pose, force, joints and fault of the running robot."
    example = "robot_control status --json"
    add = _command("status", sentence, _status, "robot_control status", example)(commands)
    add_json(add, "status")


def _status(robot: Any, options: argparse.Namespace) -> str:
    import numpy as np

    from ..core.spatial import rotation_to_rpy

    state = robot.state
    config = robot.config
    rpy = rotation_to_rpy(state.pose[:3, :3])
    has_wrench = not np.isnan(state.wrench).any()
    if options.json:
        status = {
            "robot": config.name,
            "profile": config.profile_name,
            "law": robot.law,
            "position": state.pose[:3, 3],
            "rpy": rpy,
            "error": state.pose_error[:3],
            "force": state.wrench[:3] if has_wrench else None,
            "joints": dict(zip(config.joints, state.q.tolist(), strict=True)),
            "moving": bool(state.moving),
            "fault": robot.fault or None,
        }
        show_json(options.json, status)
        return ""
    lines = {
        "robot": f"{config.name}, profile {config.profile_name}, law {robot.law}",
        "tip": f"{numbers(state.pose[:3, 3], 3)} m, rpy {numbers(rpy, 3)} rad",
        "error": f"{numbers(state.pose_error[:3] * 1e3, 3)} mm",
        "force": f"{numbers(state.wrench[:3], 1)} N" if has_wrench else "no sensor",
        "joints": _joints_text(robot),
        "reference": "moves" if state.moving else "rests",
        "fault": robot.fault or "none",
    }
    return "\n".join(f"{name:<10} {text}" for name, text in lines.items())


def numbers(values: Any, decimals: int) -> str:
    """Numbers with so many decimals, with spaces between them; none of them is a negative zero."""
    rounded = (round(float(value), decimals) + 0.0 for value in values)
    return " ".join(f"{value:.{decimals}f}" for value in rounded)


def _joints_text(robot: Any) -> str:
    """Joint angles and ways of a robot, with their unit, or with one each where these differ."""
    units = [unit.position for unit in robot.model.limits.units]
    if len(set(units)) == 1:
        return f"{numbers(robot.q, 3)} {units[0]}"
    each = (f"{numbers([q], 3)} {unit}" for q, unit in zip(robot.q, units, strict=True))
    return ", ".join(each)


def _add_get(commands: Any) -> None:
    sentence = "Print gains and settings of the running robot."
    add = _command("get", sentence, _get, "robot_control get stiffness", "robot_control get")(
        commands
    )
    add("gain", nargs="*", metavar="GAIN", help="gain or setting to print (default: all)")
    add_json(add, "gains and settings")


def _get(robot: Any, options: argparse.Namespace) -> str:
    from ..core.errors import unknown
    from ..core.gains import short_names

    known = {**robot.gains, **robot.settings}
    names = list(short_names(robot.law, dict.fromkeys(options.gain), known))
    for name in names:
        if name not in known:
            raise unknown("gain", name, known)
    if options.json:
        show_json(options.json, {name: known[name] for name in names or known})
        return ""
    return "\n".join(f"{name} = {_text(known[name])}" for name in names or known)


def _add_set(commands: Any) -> None:
    sentence = "Change gains and settings of the running robot, all or none."
    example = "robot_control set stiffness=400 damping_ratio=0.7"
    add = _command("set", sentence, _set, example)(commands)
    text = f"gain and its value: {VALUES}"
    add("gain", nargs="+", type=option_type(gain_value), metavar="GAIN=VALUE", help=text)


def _set(robot: Any, options: argparse.Namespace) -> str:
    robot.set_gains(dict(options.gain))
    return ""


def _add_law(commands: Any) -> None:
    add = _command(
        "law",
        "Let the running robot go on under another law.",
        lambda robot, options: robot.set_law(options.law),
        "robot_control law joint_impedance",
    )(commands)
    add("law", metavar="LAW", help="law: name, or package.module:Class")


def _add_move(commands: Any) -> None:
    add = _command(
        "move",
        "Move the tip of the running robot to a point, or its joints to angles.",
        _move,
        "robot_control move --by 0 0 0.05   # 50 mm up",
        "robot_control move 0.4 0.1 0.5",
        "robot_control move --joints 0 -1.57 1.57 0 0 0",
        details="It returns when the arm is there.",
    )(commands)
    values = Bounded(doc="x y z of the tip in m, or with --joints one number for each joint")
    add_number(add, "values", values, nargs="+", metavar="NUMBER")
    add("--joints", action="store_true", help="move the joints, to angles in rad")
    text = "count from where the reference is; with --joints, from where the joints are"
    add("--by", action="store_true", help=text)
    seconds = Bounded(default=30.0, above=0.0, unit="s", doc="longest time, after which it holds")
    add_number(add, "--seconds", seconds)


def _move(robot: Any, options: argparse.Namespace) -> str:
    import numpy as np

    target = np.array(options.values)
    if options.by:
        start = robot.q if options.joints else robot.state.reference_pose[:3, 3]
        if target.shape == start.shape:  # another size is refused
            target = target + start
    state = robot.move_to(**{"q" if options.joints else "pose": target}, timeout=options.seconds)
    error = 1e3 * float(np.linalg.norm(state.pose_error[:3]))
    return f"{numbers(state.pose[:3, 3], 3)} m, error {error:.1f} mm"


def _add_gripper(commands: Any) -> None:
    add = _command(
        "gripper",
        "Open, close or move the gripper of the running robot, or print its state.",
        _gripper,
        "robot_control gripper close --force 20",
        "robot_control gripper 0.04   # 40 mm between the fingers",
    )(commands)
    text = "WIDTH between the fingers in m (default: print the state only)"
    add("target", nargs="?", default="", metavar="open|close|WIDTH", help=text)
    force = Bounded(above=0.0, unit="N", doc="largest force of each finger")
    add_number(add, "--force", force, default="the gripper's")
    seconds = Bounded(default=10.0, above=0.0, unit="s", doc="longest time of the motion")
    add_number(add, "--seconds", seconds)


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
        "record",
        "Write the states of the running robot as CSV, or all its topics as MCAP.",
        _record,
        "robot_control record --csv states.csv",
        "robot_control record session.mcap --seconds 0   # until Ctrl-C",
        "robot_control record cycles.mcap --last 10   # what has just happened, for replay",
    )(commands)
    text = "MCAP file for all topics of the controller, and for its states"
    add("file", type=output_file(".mcap"), nargs="?", metavar="FILE.mcap", help=text)
    length = Bounded(default=10.0, lower=0.0, unit="s", doc="length; 0 goes on until Ctrl-C")
    add_number(add, "--seconds", length)
    text = "size of one file, after which the next one begins: FILE_1 and so on"
    size = Bounded(default=1000.0, above=0.0, unit="MB", doc=text)
    add_number(add, "--split", size)
    text = "write the last control cycles in place of what comes, 60 s of them at most"
    add_number(add, "--last", Bounded(above=0.0, unit="s", doc=text))
    text = "CSV file for the states, where no MCAP file is named (default: record.csv)"
    add("--csv", type=output_file(".csv"), default="record.csv", metavar="FILE", help=text)


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


def _went_home(robot: Any) -> str:
    robot.go_home()
    return _joints_text(robot)


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
    _command(
        "hold",
        "Let the running robot hold where it is.",
        lambda robot, _: robot.hold(),
        "robot_control hold",
    ),
    _command(
        "home",
        "Move the joints of the running robot home.",
        lambda robot, _: _went_home(robot),
        "robot_control home",
    ),
    _command(
        "zero-wrench",
        "Make the present wrench of the running robot zero.",
        lambda robot, _: str(robot.zero_wrench()),
        "robot_control zero-wrench",
        details="Nothing may touch the tool meanwhile.",
    ),
    _add_gripper,
    _add_record,
)
