"""The command line: ``robot_control demo|simulate|reproduce|…``, all of them by ``--help``."""

from __future__ import annotations

import argparse
import os
import select
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import __version__
from ..core.errors import ConfigError, ModelError, RobotControlError, missing_extra, refused
from .completion import complete
from .ethercat import add_ethercat
from .identify import add_identify
from .lead import LEADING
from .options import (
    FINITE,
    GRIPPER,
    IMPERFECTIONS,
    LAW,
    NOT_NEGATIVE,
    OUTPUT_FOLDER,
    POSITIVE,
    ROBOT,
    SCENE,
    SCHEDULER,
    VALUES,
    WORKCELL,
    WORKERS,
    CommandParser,
    add_command,
    gain_value,
    output_file,
    picture,
    run_of,
)
from .pages import add_page_options, add_pages
from .tune import add_tune

TURN = 5.0  # s, of a circle
CHECKED_POSES = 40  # along a circle
CHECKOUT = Path(__file__).resolve().parents[2]  # where evidence/ stands beside the package, unless it is installed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status, which is 2 for what is refused. An error is printed in one line."""
    parser = command_parser()
    complete(parser)
    options = parser.parse_args(arguments)
    if "" not in sys.path:
        sys.path.append("")  # laws of the user's own, in the folder where the command is given
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except (RobotControlError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _reader_has_gone():
            return 1
        print(f"robot_control: {error}", file=sys.stderr)
        return 2 if isinstance(error, (ConfigError, ModelError)) else 1
    except KeyboardInterrupt:
        return 130


def _reader_has_gone() -> bool:
    """Whether nobody reads what is printed, as where `head` has read enough; the rest of it is thrown away then."""
    output = sys.stdout.fileno()
    state = select.poll()
    state.register(output, 0)
    gone = any(event & select.POLLERR for _, event in state.poll(0))
    if gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return gone


def command_parser() -> CommandParser:
    """The parser of the whole command line."""
    parser = CommandParser(prog="robot_control", description="Compliant control of robot arms.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    evidence = (_add_reproduce, _add_bench, _add_stability, _add_contact)
    for add in (
        _add_demo,
        _add_simulate,
        *evidence,
        *LEADING,
        _add_replay,
        add_identify,
        add_tune,
        add_pages,
        _add_list,
        _add_init_robot,
        _add_init_law,
        _add_doctor,
        add_ethercat,
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
    text = "instead: a circle and a push, or in a scene what the terminal's keys lead; and a summary, plot and CSV"
    add("--no-page", action="store_true", help=text)
    add("--headless", action="store_true", help="no live line")
    add("--seconds", type=NOT_NEGATIVE, help="length; 0 runs until Ctrl-C (default: 0 with the page or keys, else 20)")
    add("--output", type=OUTPUT_FOLDER, default="demo-output", metavar="FOLDER", help="for plot and CSV")
    add_page_options(add)


def _demo(options: argparse.Namespace) -> int:
    from ..experiments.demo import demo
    from ..robot.configuration import equipped

    _need_ros("demo")
    if options.workcell and options.gripper:
        raise refused("gripper", options.gripper, "must be empty: the work cell's file says which arm has a gripper")
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
    add = add_command(commands, "simulate", "the same in one process, without ROS, faster than real time", _simulate)
    add("--robot", **ROBOT)
    add("--law", **LAW)
    add("--seconds", type=POSITIVE, default=10.0, help="length (default: 10)")
    add("--scene", **SCENE)
    add("--imperfections", **IMPERFECTIONS)
    add("--rate", type=POSITIVE, default=1000.0, help="of control, in Hz (default: 1000)")
    add("--set", action="append", default=[], metavar="GAIN=VALUE", help=f"a gain: {VALUES}; may be repeated")
    add("--circle", type=NOT_NEGATIVE, default=0.0, metavar="RADIUS", help="follow a circle, in m")
    add("--push", type=FINITE, nargs=3, metavar=("X", "Y", "Z"), help="force on the tip in base axes, in N")
    add("--push-from", type=NOT_NEGATIVE, default=1.0, help="start of the push, in s (default: 1)")
    add("--push-for", type=POSITIVE, default=1.0, help="length of the push, in s (default: 1)")
    add("--csv", type=output_file(".csv"), metavar="FILE", help="write the log")
    add("--record", type=output_file(".mcap"), metavar="FILE", help="write all control cycles, for replay")
    add("--plot", type=picture, metavar="FILE", help="write a picture")


def _simulate(options: argparse.Namespace) -> int:
    import numpy as np

    from ..simulation.in_process import Push, simulate
    from ..simulation.trouble import GainsWarning

    push = Push(options.push, start=options.push_from, duration=options.push_for) if options.push else None
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", GainsWarning)
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
    print(f"{options.seconds:g} s of {options.robot} under {options.law} in {spent:.2f} s ({speed:.1f} x real time)")
    rms = np.sqrt(np.mean(error**2))
    print(f"  position error rms {rms:.2f} mm, max {error.max():.2f} mm, last {error[-1]:.3f} mm")
    if log.losses is not None:
        force = np.linalg.norm(log.contact[:, :3], axis=1)
        print(f"  contact force max {force.max():.1f} N, last {force[-1]:.1f} N, contact lost {log.losses} times")
    for path, write in ((options.csv, log.to_csv), (options.plot, log.plot)):
        if path:
            print(f"  {write(path)}")
    for warning in warned:
        if issubclass(warning.category, GainsWarning):
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
            q = solve_pose(model, np.asarray(circle.sample(time_).pose), q, np.array(robot.axes), tolerance=1e-3)
    except ConfigError as error:
        rule = f"the arm must reach all of the circle: {error}"
        raise refused("--circle", options.circle, rule, error.bound, unit="m") from error
    return circle


# --- what produces evidence ---


def _add_evidence_files(add: Callable[..., Any], output: str) -> None:
    add("--output", default=output, type=OUTPUT_FOLDER, metavar="FOLDER", help="for figures and CSV files")
    add(
        "--page", type=output_file(".md"), metavar="FILE", help="write a Markdown page, too, with its figures beside it"
    )


def _add_reproduce(commands: Any) -> None:
    text = "the laws' sources, run again: measured beside reference"
    commands.add_parser("reproduce", help=text, fill=_fill_reproduce).set_defaults(run=_reproduce)


def _fill_reproduce(parser: argparse.ArgumentParser) -> None:
    from ..experiments.reproduce import CASES

    parser.add_argument("name", choices=("all", *CASES), help="which one")
    _add_evidence_files(parser.add_argument, "reproduction")


def _reproduce(options: argparse.Namespace) -> int:
    from ..experiments.reproduce import CASES, reproduce

    return reproduce(CASES if options.name == "all" else (options.name,), options.output, options.page)


def _add_stability(commands: Any) -> None:
    text = "the largest stable stiffness by rate and delay; takes minutes"
    add = add_command(commands, "stability", text, _stability)
    add("--robot", action="append", default=[], help="name, or path of a YAML file; may be repeated")
    add("--wall", action="store_true", help="instead: press every law into a wall, and print how the contact holds")
    text = "instead: compute how stiff and how light each law may be at home, by rate and delay of a profile (sim)"
    add("--gains", nargs="?", const="sim", default="", metavar="PROFILE", help=text)
    text = "the same, with delay, friction and rotor inertia of a file of imperfections (a name or a path)"
    add("--measured", default="", metavar="FILE", help=text)
    text = "instead: each law with its default gains, at rest, pushed and at a wall, on the ideal and the imperfect arm"
    add("--defaults", action="store_true", help=text)
    add(
        "--workers",
        **{**WORKERS, "default": os.cpu_count() or 1, "help": "processes that measure (default: all cores)"},
    )
    add("--scheduler", **SCHEDULER)
    _add_evidence_files(add, "stability")


def _stability(options: argparse.Namespace) -> int:
    from ..experiments.stability import default_gains_table, gain_table, press_table, stability

    if options.gains or options.measured:
        return gain_table(options.robot, options.gains or "sim", options.measured)
    if options.wall:
        return press_table(options.robot)
    if options.defaults:
        return default_gains_table(options.robot)
    where = {"workers": options.workers, "scheduler": options.scheduler}
    return stability(options.robot, options.output, options.page, **where)


def _add_contact(commands: Any) -> None:
    text = "contact: pressed, released and pushed arms beside their bounds; status 1 where one fails; takes minutes"
    add = add_command(commands, "contact", text, _contact)
    add("--robot", action="append", default=[], help="name, or path of a YAML file; may be repeated")
    add("--workers", **WORKERS)
    add("--scheduler", **SCHEDULER)


def _contact(options: argparse.Namespace) -> int:
    from ..experiments.contact import contact_table

    return contact_table(options.robot, workers=options.workers, scheduler=options.scheduler)


def _add_bench(commands: Any) -> None:
    text = "how fast it all is, as ratios within one run; only in a checkout"
    commands.add_parser("bench", help=text, fill=_fill_bench).set_defaults(run=_bench)


def _fill_bench(parser: argparse.ArgumentParser) -> None:
    if _in_checkout():
        import_module("evidence.speed.report").add_arguments(parser)


def _bench(options: argparse.Namespace) -> int:
    if not _in_checkout():
        raise ConfigError("bench is part of the repository and is not installed: run it in a checkout", name="bench")
    report: Any = import_module("evidence.speed.report")
    return int(report.run(options))


def _in_checkout() -> bool:
    """Whether the programs of the repository are there, which may be imported then."""
    found = (CHECKOUT / "evidence" / "speed").is_dir()
    if found and str(CHECKOUT) not in sys.path:
        sys.path.insert(0, str(CHECKOUT))
    return found


# --- lists, a robot of one's own, doctor, docs ---


def _add_list(commands: Any) -> None:
    text = "robots, laws, scenes, imperfections, profiles and topics, and which go together"
    commands.add_parser("list", help=text, fill=_fill_list).set_defaults(run=run_of(".listing"))


def _fill_list(parser: argparse.ArgumentParser) -> None:
    from .listing import KINDS

    parser.add_argument("kind", nargs="?", choices=tuple(KINDS), help="only these (default: all)")


def _add_init_robot(commands: Any) -> None:
    add = add_command(commands, "init-robot", "write a robot's YAML file from its URDF", run_of(".init_robot"))
    add("urdf", type=Path, metavar="URDF", help="the robot description")
    add("--output", type=output_file(".yaml", ".yml"), metavar="FILE", help="the YAML file (default: beside the URDF)")
    add("--base", default="", help="link that is fixed (default: the root)")
    add("--tip", default="", help="link that is controlled (default: the last one)")


def _add_replay(commands: Any) -> None:
    text = "run the law of recorded cycles again: the same gains give the same commands, others show what they would do"
    add = add_command(commands, "replay", text, run_of(".replay"))
    add("file", type=Path, metavar="FILE.mcap", help="of record --last, of the controller, or of simulate --record")
    add("--set", action="append", type=gain_value, default=[], metavar="GAIN=VALUE", help=f"a gain: {VALUES}")
    add("--csv", type=output_file(".csv"), metavar="FILE", help="write recorded and replayed commands")


def _add_init_law(commands: Any) -> None:
    add = add_command(
        commands, "init-law", "write a law that runs, and its test, as files to change", run_of(".init_law")
    )
    add("name", metavar="NAME", help="of the law's file and module, such as my_spring")
    text = "a law over records, which Numba compiles: more lines, and several times faster"
    add("--compiled", action="store_true", help=text)


def _add_doctor(commands: Any) -> None:
    add = add_command(commands, "doctor", "what a running system has, lacks, and what to type next", _doctor)
    add("--robot", **ROBOT)
    add("--law", default="", help="that is to run (default: impedance, or admittance where no effort is taken)")
    add("--profile", default="sim", help="what is in front of the robot (default: sim)")
    add("--namespace", default="", help="of the robot's nodes (default: that of an arm of a work cell)")
    add("--prefix", default="", help="of joints and frames (default: the robot's)")
    add("--seconds", type=POSITIVE, default=5.0, help="of listening, 4 at least (default: 5)")


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import doctor

    _need_ros("doctor")
    return doctor(options.robot, options.profile, options.law, options.seconds, options.namespace, options.prefix)


def _add_docs(commands: Any) -> None:
    add = add_command(commands, "docs", "print docs/laws.md, made from the laws' own declarations", _docs)
    add("--law", metavar="LAW", help="only this one, which may be package.module:Class")
    add(
        "--entries",
        metavar="KIND",
        help="entries of a robot, workcell, profile, scene, imperfections, drive or topology",
    )
    add("--cycle", action="store_true", help="the table of docs/records.md: what is recorded of a control cycle")
    add("--schemas", type=OUTPUT_FOLDER, metavar="FOLDER", help="write the JSON Schema of each kind of YAML file there")


def _docs(options: argparse.Namespace) -> int:
    from ..robot.schema import choice
    from .reference_docs import TABLES, cycle_table, entries_table, law_section, laws_page, write_schemas

    if options.schemas:
        write_schemas(options.schemas)
    elif options.cycle:
        print(cycle_table(), end="")
    elif options.entries:
        print(entries_table(choice("--entries", options.entries, TABLES)), end="")
    else:
        print(law_section(options.law) if options.law else laws_page(), end="")
    return 0
