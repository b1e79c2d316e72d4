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
    EXAMPLES,
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
    add_json,
    add_number,
    gain_value,
    output_file,
    picture,
    run_of,
)
from .pages import add_page_options, add_pages
from .progress import Progress
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
    parser = CommandParser(
        prog="robot_control",
        description="Control robot arms compliantly.",
        epilog=f"{EXAMPLES[0]}\n  robot_control simulate --circle 0.08 --plot circle.png\n"
        "  robot_control simulate --help   # all about one command",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_commands()
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
    add = add_command(
        commands,
        "demo",
        "Run a simulated arm and its controller over ROS 2, with a page to drag, push and tune it.",
        _demo,
        "robot_control demo --law impedance --scene table",
        "robot_control demo --no-page --seconds 12   # a circle and a push, with plot and CSV",
        details="It ends by Ctrl-C.",
    )
    add("--robot", **ROBOT)
    add("--gripper", **GRIPPER)
    add("--law", **LAW)
    add("--gains", default="", metavar="FILE", help="ROS parameter file with gains")
    add("--scene", **SCENE)
    add("--imperfections", **IMPERFECTIONS)
    add("--workcell", **WORKCELL)
    text = (
        "lead the arm along a circle and push it, in place of the page; in a scene only push it; "
        "print a summary, and write plot and CSV"
    )
    add("--no-page", action="store_true", help=text)
    add("--headless", action="store_true", help="print no live line")
    length = Bounded(lower=0.0, unit="s", doc="length of the run; 0 runs until Ctrl-C")
    add_number(add, "--seconds", length, default="0 with the page, else 20")
    add(
        "--output",
        type=OUTPUT_FOLDER,
        default="demo-output",
        metavar="FOLDER",
        help="folder for plot and CSV (default: demo-output)",
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
        "Simulate an arm under a law in one process, without ROS, faster than real time.",
        _simulate,
        "robot_control simulate --circle 0.08 --plot circle.png",
        "robot_control simulate --push 20 0 0 --set stiffness=400 --csv push.csv",
    )
    add("--robot", **ROBOT)
    add("--law", **LAW)
    add_number(
        add, "--seconds", Bounded(default=10.0, above=0.0, unit="s", doc="length of the run")
    )
    add("--scene", **SCENE)
    add("--imperfections", **IMPERFECTIONS)
    add_number(add, "--rate", Bounded(default=1000.0, above=0.0, unit="Hz", doc="rate of control"))
    add(
        "--set",
        action="append",
        default=[],
        metavar="GAIN=VALUE",
        help=f"gain and its value: {VALUES}; may be repeated",
    )
    radius = Bounded(
        default=0.0, lower=0.0, unit="m", doc="radius of a circle that the tip follows"
    )
    add_number(add, "--circle", radius, default="", metavar="RADIUS")
    force = Bounded(unit="N", doc="force on the tip in base axes")
    add_number(add, "--push", force, nargs=3, metavar=("X", "Y", "Z"))
    start = Bounded(default=1.0, lower=0.0, unit="s", doc="start of the push")
    add_number(add, "--push-from", start)
    duration = Bounded(default=1.0, above=0.0, unit="s", doc="length of the push")
    add_number(add, "--push-for", duration)
    add("--csv", type=output_file(".csv"), metavar="FILE", help="CSV file for the log")
    add(
        "--record",
        type=output_file(".mcap"),
        metavar="FILE",
        help="MCAP file for all control cycles, which replay reads",
    )
    add("--plot", type=picture, metavar="FILE", help="picture of errors, forces and commands")


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
    with (
        warnings.catch_warnings(record=True) as warned,
        Progress("simulate", options.seconds, "s") as progress,
    ):
        warnings.simplefilter("always", GainsWarning)
        warnings.simplefilter("always", DescriptionWarning)
        progress.show(0.0)
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
            progress=progress.show,
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
    add_command(
        commands,
        "list",
        "List robots, laws, scenes, imperfections and profiles, and which go together.",
        run_of(".listing"),
        "robot_control list laws",
        "robot_control list robots --json",
        fill=_fill_list,
    )


def _fill_list(parser: argparse.ArgumentParser) -> None:
    from .listing import KINDS

    parser.add_argument("kind", nargs="?", choices=tuple(KINDS), help="one list (default: all)")
    add_json(parser.add_argument, "lists")


def _add_new(commands: Any) -> None:
    add = add_command(
        commands,
        "new",
        "Make a robot from a URDF, an MJCF or a name: its file, a first simulation, and a report.",
        run_of(".new_robot"),
        "robot_control new my_arm.urdf --tip tool0 --output my_arm",
    )
    help_text = "URDF or MJCF file, robot of the package, or name of robot_descriptions"
    add("source", metavar="NAME|URDF|MJCF", help=help_text)
    help_text = "folder for all files, empty or new (default: named as the robot)"
    add("--output", type=OUTPUT_FOLDER, metavar="FOLDER", help=help_text)
    add("--base", default="", metavar="LINK", help="link that is fixed (default: the root)")
    add("--tip", default="", metavar="LINK", help="link that is controlled (default: the last one)")


def _add_init_robot(commands: Any) -> None:
    add = add_command(
        commands,
        "init-robot",
        "Write a robot's YAML file from its URDF.",
        run_of(".init_robot"),
        "robot_control init-robot my_arm.urdf --tip tool0",
    )
    add("urdf", type=Path, metavar="URDF", help="file of the robot description")
    add(
        "--output",
        type=output_file(".yaml", ".yml"),
        metavar="FILE",
        help="YAML file to write (default: beside the URDF)",
    )
    add("--base", default="", metavar="LINK", help="link that is fixed (default: the root)")
    add("--tip", default="", metavar="LINK", help="link that is controlled (default: the last one)")


def _add_replay(commands: Any) -> None:
    add = add_command(
        commands,
        "replay",
        "Run the law of recorded control cycles again, with the same gains or with others.",
        run_of(".replay"),
        "robot_control replay cycles.mcap --set stiffness=800",
        details="The same gains give the same commands. Others show what they would have done.",
    )
    add(
        "file",
        type=Path,
        metavar="FILE.mcap",
        help="record of control cycles, from record --last, the controller, or simulate --record",
    )
    add(
        "--set",
        action="append",
        type=gain_value,
        default=[],
        metavar="GAIN=VALUE",
        help=f"gain and its value: {VALUES}; may be repeated",
    )
    add(
        "--csv",
        type=output_file(".csv"),
        metavar="FILE",
        help="CSV file for recorded and replayed commands",
    )


def _add_init_law(commands: Any) -> None:
    add = add_command(
        commands,
        "init-law",
        "Write a law that runs, and its test, as files to change.",
        run_of(".init_law"),
        "robot_control init-law my_spring",
    )
    add("name", metavar="NAME", help="name of the law's file and module, such as my_spring")
    text = "write a law over records, which Numba compiles: more lines, and several times faster"
    add("--compiled", action="store_true", help=text)


def _add_doctor(commands: Any) -> None:
    add = add_command(
        commands,
        "doctor",
        "Say what a running system has, what it lacks, and what to type next.",
        _doctor,
        "robot_control doctor",
        "robot_control doctor --robot ur5e --profile real",
        "robot_control doctor --json",
        details="It listens only. Without options it looks at the controller that runs.",
    )
    text = "robot: name, or path of a YAML file (default: that of the running controller, or ur5)"
    add("--robot", default="", help=text)
    text = (
        "law that is to run (default: that of the running controller; else impedance, "
        "or admittance where no effort is taken)"
    )
    add("--law", default="", help=text)
    text = "hardware profile of the robot (default: that of the running controller, or sim)"
    add("--profile", default="", help=text)
    text = "namespace of the robot's nodes (default: that of the running controller or of the arm)"
    add("--namespace", default="", help=text)
    add("--prefix", default="", help="prefix of joints and frames (default: the robot's)")
    seconds = Bounded(default=5.0, above=0.0, unit="s", doc="time of listening, 4 s at least")
    add_number(add, "--seconds", seconds)
    add_json(add, "findings")


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
        options.json,
    )


def _add_docs(commands: Any) -> None:
    add = add_command(
        commands,
        "docs",
        "Print the page of the laws, or another table that is made from the code.",
        _docs,
        "robot_control docs --law impedance",
        "robot_control docs --entries robot",
    )
    add("--law", help="law to print alone: name, or package.module:Class (default: all laws)")
    text = "entries of a robot, workcell, profile, scene, imperfections, drive or topology"
    add("--entries", metavar="KIND", help=f"print the {text}")
    text = "print the table of docs/records.md: what is recorded of a control cycle"
    add("--cycle", action="store_true", help=text)
    text = "folder for the JSON Schemas of the YAML files, one for each kind"
    add("--schemas", type=OUTPUT_FOLDER, metavar="FOLDER", help=text)


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
