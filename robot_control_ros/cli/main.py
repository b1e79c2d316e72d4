"""The command line: ``robot_control demo|simulate|move|…``, all of them by ``--help``."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import __version__
from ..core.bounded import Bounded
from ..core.errors import ConfigError, missing_extra, refused
from .can_commands import add_can
from .command_runner import run_command
from .completion import complete
from .ethercat import add_ethercat
from .identify import add_identify
from .lead import LEADING
from .options import (
    GRIPPER,
    IMPERFECTIONS,
    LAW,
    OUTPUT_FOLDER,
    ROBOT,
    SCENE,
    VALUES,
    WORKCELL,
    CommandParser,
    add_command,
    add_number,
    gain_value,
    output_file,
    picture,
    run_of,
)
from .pages import add_page_options, add_pages
from .tune import add_tune

TURN = 5.0  # s, of a circle
CHECKED_POSES = 40  # along a circle
# Commands of version 0.1 that are programs of `python -m evidence` now. Version 0.3 forgets them.
MOVED = {
    ("reproduce",): "reproduce",
    ("bench",): "speed",
    ("stability",): "stability",
    ("contact",): "contact",
    ("ethercat", "demo"): "contour",
    ("ethercat", "faults"): "ethercat-faults",
}
TOPIC_PAGES = (
    "docs/controller.md, docs/simulator.md, docs/teleop.md, docs/watchdog.md, docs/ethercat.md, "
    "docs/can.md"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status, which is 2 for what is refused. An error is
    printed in one line.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    for moved, name in MOVED.items():
        if tuple(words[: len(moved)]) == moved:
            line = " ".join(["python -m evidence", name, *words[len(moved) :]])
            print(
                f"robot_control: {' '.join(moved)} is now, in a checkout of the repository: {line}",
                file=sys.stderr,
            )
            return 2
    if words[:2] == ["list", "topics"]:  # a command of version 0.1; version 0.3 forgets it
        print(
            f"robot_control: the topics of a node are in the table of its page: {TOPIC_PAGES}",
            file=sys.stderr,
        )
        return 2
    parser = command_parser()
    complete(parser)
    if "" not in sys.path:
        sys.path.append("")  # laws of the user's own, in the folder where the command is given
    return run_command(parser, "robot_control", arguments)


def command_parser() -> CommandParser:
    """The parser of the whole command line."""
    parser = CommandParser(prog="robot_control", description="Compliant control of robot arms.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for add in (
        _add_demo,
        _add_simulate,
        *LEADING,
        _add_replay,
        add_identify,
        add_tune,
        add_pages,
        _add_list,
        _add_new,
        _add_init_robot,
        _add_init_law,
        _add_doctor,
        add_ethercat,
        add_can,
        _add_docs,
    ):
        add(commands)
    return parser


def _need_ros(command: str) -> None:
    if find_spec("rclpy") is None:
        raise missing_extra(f"{command} without a sourced ROS 2", "rclpy", "ros,sim")


# --- demo and simulate ---


def _add_demo(commands: Any) -> None:
    text = "simulator and controller over ROS 2, and the page to drag, push and tune"
    add = add_command(commands, "demo", text, _demo)
    add("--robot", **ROBOT)
    add("--gripper", **GRIPPER)
    add("--law", **LAW)
    add("--gains", default="", metavar="FILE", help="ROS parameter file")
    add("--scene", **SCENE)
    add("--imperfections", **IMPERFECTIONS)
    add("--workcell", **WORKCELL)
    text = "instead: a circle and a push, in a scene the push alone; and a summary, plot and CSV"
    add("--no-page", action="store_true", help=text)
    add("--headless", action="store_true", help="no live line")
    length = Bounded(lower=0.0, unit="s", doc="length; 0 runs until Ctrl-C")
    add_number(add, "--seconds", length, default="0 with the page, else 20")
    add(
        "--output",
        type=OUTPUT_FOLDER,
        default="demo-output",
        metavar="FOLDER",
        help="for plot and CSV",
    )
    add_page_options(add)


def _demo(options: argparse.Namespace) -> int:
    from ..robot.configuration import equipped
    from .demo import demo

    _need_ros("demo")
    if options.workcell and options.gripper:
        raise refused(
            "gripper",
            options.gripper,
            "must be empty: the work cell's file says which arm has a gripper",
        )
    return demo(
        equipped(options.robot, options.gripper),
        options.law,
        gains=options.gains,
        live=not options.headless,
        seconds=options.seconds,
        output=options.output,
        scene=options.scene,
        imperfections=options.imperfections,
        workcell=options.workcell,
        browser=not options.no_page,
        page_parameters={"host": options.host, "port": options.port, "open_browser": options.open},
    )


def _add_simulate(commands: Any) -> None:
    add = add_command(
        commands,
        "simulate",
        "the same in one process, without ROS, faster than real time",
        _simulate,
    )
    add("--robot", **ROBOT)
    add("--law", **LAW)
    add_number(add, "--seconds", Bounded(default=10.0, above=0.0, unit="s", doc="length"))
    add("--scene", **SCENE)
    add("--imperfections", **IMPERFECTIONS)
    add_number(add, "--rate", Bounded(default=1000.0, above=0.0, unit="Hz", doc="of control"))
    add(
        "--set",
        action="append",
        default=[],
        metavar="GAIN=VALUE",
        help=f"a gain: {VALUES}; may be repeated",
    )
    radius = Bounded(default=0.0, lower=0.0, unit="m", doc="follow a circle")
    add_number(add, "--circle", radius, default="", metavar="RADIUS")
    force = Bounded(unit="N", doc="force on the tip in base axes")
    add_number(add, "--push", force, nargs=3, metavar=("X", "Y", "Z"))
    start = Bounded(default=1.0, lower=0.0, unit="s", doc="start of the push")
    add_number(add, "--push-from", start)
    duration = Bounded(default=1.0, above=0.0, unit="s", doc="length of the push")
    add_number(add, "--push-for", duration)
    add("--csv", type=output_file(".csv"), metavar="FILE", help="write the log")
    add(
        "--record",
        type=output_file(".mcap"),
        metavar="FILE",
        help="write all control cycles, for replay",
    )
    add("--plot", type=picture, metavar="FILE", help="write a picture")


def _simulate(options: argparse.Namespace) -> int:
    import numpy as np

    from ..simulation.in_process import Push, simulate
    from ..simulation.trouble import DescriptionWarning, GainsWarning

    push = (
        Push(options.push, start=options.push_from, duration=options.push_for)
        if options.push
        else None
    )
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", GainsWarning)
        warnings.simplefilter("always", DescriptionWarning)
        log = simulate(
            options.robot,
            options.law,
            dict(map(gain_value, options.set)),
            partial(_circle, options) if options.circle > 0.0 else None,
            options.seconds,
            push,
            rate=options.rate,
            scene=options.scene or None,
            imperfections=options.imperfections or None,
            record=options.record,
        )
    spent = time.perf_counter() - began
    error = np.linalg.norm(log.pose_error[:, :3], axis=1) * 1e3
    speed = options.seconds / spent
    print(
        f"{options.seconds:g} s of {options.robot} under {options.law} in {spent:.2f} s ({speed:.1f} x real time)"
    )
    rms = np.sqrt(np.mean(error**2))
    print(f"  position error rms {rms:.2f} mm, max {error.max():.2f} mm, last {error[-1]:.3f} mm")
    if log.losses is not None:
        force = np.linalg.norm(log.contact[:, :3], axis=1)
        print(
            f"  contact force max {force.max():.1f} N, last {force[-1]:.1f} N, contact lost {log.losses} times"
        )
    for path, write in ((options.csv, log.to_csv), (options.plot, log.plot)):
        if path:
            print(f"  {write(path)}")
    for warning in warned:
        if issubclass(warning.category, (GainsWarning, DescriptionWarning)):
            print(f"robot_control: warning: {warning.message}", file=sys.stderr)
    for trouble in log.trouble:
        print(f"robot_control: {trouble.message}", file=sys.stderr)
    return 1 if log.trouble else 0


def _circle(options: argparse.Namespace, start: Any) -> Any:
    """The circle from a start pose (4, 4); ConfigError where the arm can't reach all of it."""
    import numpy as np

    from ..references import Circle
    from ..robot.configuration import load_robot
    from ..robot.inverse_kinematics import solve_pose
    from ..robot.model import RobotModel

    circle = Circle(start, options.circle, period=TURN, normal=(0.0, 0.0, 1.0))
    robot = load_robot(options.robot)
    model = RobotModel.of(robot)
    q = np.array(robot.home)
    try:
        for time_ in np.linspace(0.0, min(options.seconds, 1.5 * TURN), CHECKED_POSES):
            q = solve_pose(
                model,
                np.asarray(circle.sample(time_).pose),
                q,
                np.array(robot.axes),
                tolerance=1e-3,
            )
    except ConfigError as error:
        rule = f"the arm must reach all of the circle: {error}"
        raise refused("--circle", options.circle, rule, error.bound, unit="m") from error
    return circle


# --- lists, a robot of one's own, doctor, docs ---


def _add_list(commands: Any) -> None:
    text = "robots, laws, scenes, imperfections and profiles, and which go together"
    commands.add_parser("list", help=text, fill=_fill_list).set_defaults(run=run_of(".listing"))


def _fill_list(parser: argparse.ArgumentParser) -> None:
    from .listing import KINDS

    parser.add_argument("kind", nargs="?", choices=tuple(KINDS), help="only these (default: all)")


def _add_new(commands: Any) -> None:
    text = "make a robot from a URDF, an MJCF or a name: its file, a first simulation, and a report"
    add = add_command(commands, "new", text, run_of(".new_robot"))
    help_text = "URDF or MJCF file, robot of the package, or name of robot_descriptions"
    add("source", metavar="NAME|URDF|MJCF", help=help_text)
    help_text = "for all files, empty or new (default: named as the robot)"
    add("--output", type=OUTPUT_FOLDER, metavar="FOLDER", help=help_text)
    add("--base", default="", help="link that is fixed (default: the root)")
    add("--tip", default="", help="link that is controlled (default: the last one)")


def _add_init_robot(commands: Any) -> None:
    add = add_command(
        commands, "init-robot", "write a robot's YAML file from its URDF", run_of(".init_robot")
    )
    add("urdf", type=Path, metavar="URDF", help="the robot description")
    add(
        "--output",
        type=output_file(".yaml", ".yml"),
        metavar="FILE",
        help="the YAML file (default: beside the URDF)",
    )
    add("--base", default="", help="link that is fixed (default: the root)")
    add("--tip", default="", help="link that is controlled (default: the last one)")


def _add_replay(commands: Any) -> None:
    text = "run the law of recorded cycles again: the same gains give the same commands, others show what they would do"
    add = add_command(commands, "replay", text, run_of(".replay"))
    add(
        "file",
        type=Path,
        metavar="FILE.mcap",
        help="of record --last, of the controller, or of simulate --record",
    )
    add(
        "--set",
        action="append",
        type=gain_value,
        default=[],
        metavar="GAIN=VALUE",
        help=f"a gain: {VALUES}",
    )
    add(
        "--csv",
        type=output_file(".csv"),
        metavar="FILE",
        help="write recorded and replayed commands",
    )


def _add_init_law(commands: Any) -> None:
    add = add_command(
        commands,
        "init-law",
        "write a law that runs, and its test, as files to change",
        run_of(".init_law"),
    )
    add("name", metavar="NAME", help="of the law's file and module, such as my_spring")
    text = "a law over records, which Numba compiles: more lines, and several times faster"
    add("--compiled", action="store_true", help=text)


def _add_doctor(commands: Any) -> None:
    add = add_command(
        commands, "doctor", "what a running system has, lacks, and what to type next", _doctor
    )
    add("--robot", **ROBOT)
    add(
        "--law",
        default="",
        help="that is to run (default: impedance, or admittance where no effort is taken)",
    )
    add("--profile", default="sim", help="what is in front of the robot (default: sim)")
    add(
        "--namespace",
        default="",
        help="of the robot's nodes (default: that of an arm of a work cell)",
    )
    add("--prefix", default="", help="of joints and frames (default: the robot's)")
    seconds = Bounded(default=5.0, above=0.0, unit="s", doc="of listening, 4 at least")
    add_number(add, "--seconds", seconds)


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import doctor

    _need_ros("doctor")
    return doctor(
        options.robot,
        options.profile,
        options.law,
        options.seconds,
        options.namespace,
        options.prefix,
    )


def _add_docs(commands: Any) -> None:
    add = add_command(
        commands, "docs", "print docs/laws.md, made from the laws' own declarations", _docs
    )
    add("--law", metavar="LAW", help="only this one, which may be package.module:Class")
    add(
        "--entries",
        metavar="KIND",
        help="entries of a robot, workcell, profile, scene, imperfections, drive or topology",
    )
    add(
        "--cycle",
        action="store_true",
        help="the table of docs/records.md: what is recorded of a control cycle",
    )
    add(
        "--schemas",
        type=OUTPUT_FOLDER,
        metavar="FOLDER",
        help="write the JSON Schema of each kind of YAML file there",
    )


def _docs(options: argparse.Namespace) -> int:
    from ..robot.schema import choice
    from .reference_docs import (
        TABLES,
        cycle_table,
        entries_table,
        law_section,
        laws_page,
        write_schemas,
    )

    if options.schemas:
        write_schemas(options.schemas)
    elif options.cycle:
        print(cycle_table(), end="")
    elif options.entries:
        print(entries_table(choice("--entries", options.entries, TABLES)), end="")
    else:
        print(law_section(options.law) if options.law else laws_page(), end="")
    return 0
