"""`robot_control new`: a robot from its description or its name, simulated once, with a report."""

from __future__ import annotations

import argparse
import importlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, ModelError, missing_extra, refused, unknown
from ..core.input_files import read_text
from ..core.output_files import write_text
from ..robot.configuration import RobotConfig, load_robot, robot_names
from ..robot.description import parse_description
from ..robot.model import RobotModel
from ..simulation.mjcf import MjcfArm, check_same, read_mjcf
from .init_robot import write_robot
from .robot_report import write_report

FILES = (".urdf", ".xml", ".mjcf", ".xacro", ".sdf")
MJCF_ROOTS = ("mujoco", "mujocoinclude")
ROTORS = re.compile(r"^# rotor_inertia:.*$", re.MULTILINE)
REPORT = "report.md"
WORKSPACE = "workspace.png"

_EXTENDED = """# Made by `robot_control new`. It says what differs from the package's {name}.
extends: {name}
name: my_{name}
# payload: {{ mass: 1.0, center: [0, 0, 0.05] }} # kg, m: what you mount on the tip
"""


@dataclass(frozen=True)
class Source:
    """A description that a robot is made from.

    Attributes:
        path: File of the description.
        name: Name of the robot's files.
        is_copied: True where the folder of the new robot gets the description.
    """

    path: Path
    name: str
    is_copied: bool


def new_robot(source: str, output: Path | None, base: str = "", tip: str = "") -> list[Path]:
    """Make the files of a robot in a folder of its own; returns their paths, the robot's file
    first.

    Args:
        source: Path of a URDF or MJCF file, the name of a robot of the package, or a name of the
            library robot_descriptions.
        output: The folder, which must be empty or not there; by default one named as the robot.
        base: Fixed link; by default the root.
        tip: Controlled link; by default the last one of the chain with the most moving joints.

    Raises:
        ConfigError: the folder has files; an unknown name; a library that is missing, or can't load
            the description.
        ModelError: see :func:`.init_robot.write_robot` and :func:`..simulation.mjcf.read_mjcf`.
    """
    if source in robot_names():
        folder = _empty_folder(output or Path(f"my_{source}"))
        file = folder / f"my_{source}.yaml"
        write_text(file, _EXTENDED.format(name=source), ".yaml")
        return [file, *_reported(load_robot(str(file)), folder, ())]
    found = _find(source)
    left_out: tuple[str, ...] = ()
    arm = read_mjcf(found.path) if _root(found.path) in MJCF_ROOTS else None
    folder = _empty_folder(output or Path(found.name))
    urdf = found.path
    made: list[Path] = []
    try:
        if arm is not None or found.is_copied:
            urdf = folder / f"{found.name}.urdf"
            text = read_text("urdf", found.path) if arm is None else arm.urdf
            made.append(write_text(urdf, text, ".urdf"))
        file = folder / f"{found.name}.yaml"
        robot = write_robot(urdf, file, base, tip)
        made.insert(0, file)
        if arm is not None:
            left_out = arm.left_out
            robot = _with_rotors(file, robot, arm)
            check_same(arm, RobotModel.of(robot), found.path)
    except BaseException:
        for path in made:
            path.unlink()
        folder.rmdir()
        raise
    return [*made, *_reported(robot, folder, left_out)]


def _reported(robot: RobotConfig, folder: Path, left_out: Iterable[str]) -> list[Path]:
    """Simulate a robot, and write its report and its workspace; returns their paths."""
    return write_report(robot, folder / REPORT, folder / WORKSPACE, left_out)


def _with_rotors(file: Path, robot: RobotConfig, arm: MjcfArm) -> RobotConfig:
    """Write the armature of MuJoCo's joints into a robot's file, and load it."""
    values = ", ".join(f"{arm.rotor_inertia[name]:.9g}" for name in robot.joints)
    line = f"rotor_inertia: [{values}] # kg·m², the file's armature"
    text = read_text("robot", file)
    changed = ROTORS.sub(line, text) if ROTORS.search(text) else f"{text}{line}\n"
    write_text(file, changed, ".yaml")
    return load_robot(str(file))


def _empty_folder(folder: Path) -> Path:
    """A folder that is there afterwards, and empty.

    Raises:
        ConfigError: it can't be made, or has files.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        reason = error.strerror or str(error)
        raise refused("folder", str(folder), f"must be a folder to write in: {reason}") from error
    if not is_empty:
        raise refused("folder", str(folder), "must be empty: name another one by --output")
    if not os.access(folder, os.W_OK):
        raise refused("folder", str(folder), "must be a folder to write in")
    return folder


def _root(path: Path) -> str:
    """Tag of a file's first element; empty where it is no XML, as the reader of URDF will say."""
    try:
        return parse_description(read_text("urdf", path)).tag
    except (ConfigError, ModelError):
        return ""


def _find(source: str) -> Source:
    """The description of a path or of a name of robot_descriptions.

    Raises:
        ConfigError: there is neither.
    """
    path = Path(source)
    if path.suffix.lower() in FILES or os.path.exists(source):
        return Source(path, path.stem.partition(".")[0], is_copied=False)
    module = _library_module(source)
    for kind in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(module, kind):
            name = re.sub(r"(_mj)?_description$", "", source)
            return Source(Path(getattr(module, kind)), name, is_copied=True)
    rule = "has only xacro there: expand it, and name the URDF"
    raise refused("robot", source, rule)


def _library_module(name: str) -> Any:
    """The module of robot_descriptions that has a robot; it loads the files by git.

    Raises:
        ConfigError: the library is missing or doesn't know the name; it can't load the files.
    """
    try:
        import robot_descriptions
    except ImportError as error:
        ways = "or name a file, as in robot_control new arm.urdf; or install "
        extra = missing_extra("another name", "robot_descriptions", "descriptions")
        raise unknown("robot", name, robot_names(), hint=f", {ways}more: {extra}") from error
    known = sorted(robot_descriptions.DESCRIPTIONS)
    wanted = (name, f"{name}_description", f"{name}_mj_description")
    module = next((each for each in wanted if each in known), "")
    if not module:
        hint = "; robot_descriptions has others: python -m robot_descriptions list"
        raise unknown("robot", name, robot_names(), hint=hint)
    try:
        return importlib.import_module(f"robot_descriptions.{module}")
    except Exception as error:  # its code loads files by git: anything may go wrong in it
        text = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"robot_descriptions can't load {module}: {text or type(error).__name__}. It needs git and "
            "the network once; without them name a file that you have",
            name="robot",
            value=name,
        ) from error


def run(options: argparse.Namespace) -> int:
    """Make the robot, and say what is where and what to type next."""
    file, *others = new_robot(options.source, options.output, options.base, options.tip)
    print(read_text("report", next(path for path in others if path.name == REPORT)), end="")
    print(f"\nWritten: {', '.join(str(path) for path in (file, *others))}")
    print(f"Next: robot_control simulate --robot {file}")
    return 0
