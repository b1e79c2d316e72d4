"""`robot_control list`: robots, laws, scenes and so on, a line each, with those that fit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from ..core.gains import gain_specs
from ..core.types import CommandMode, JointSpaceReference, Reference
from ..laws import law_class, law_names
from ..robot.configuration import load_robot, robot_names
from ..robot.files import config_names, read_extended
from ..robot.gripper import load_gripper
from ..robot.workcell import load_workcell, workcell_names
from ..simulation.imperfect.imperfections import imperfection_names, load_imperfections
from ..simulation.scene import load_scene

Rows = Iterator[tuple[str, str]]


def command_modes(law: Any) -> tuple[str, ...]:
    """The modes that a law (class) commands in, the default one first."""
    choices = next((spec.choices for spec in gain_specs(law.Gains) if spec.name == "output"), ())
    return (law.mode.value, *(word for word in choices if word != law.mode.value))


def _profiles_of(robot: str) -> list[str]:
    return sorted(read_extended("robot", robot)[1]["profiles"])


def _robots() -> Rows:
    for name in robot_names():
        robot = load_robot(name)
        yield (
            name,
            f"{robot.description}, {robot.n} joints; profiles: {', '.join(_profiles_of(name))}",
        )


def _laws() -> Rows:
    for name in law_names():
        law = law_class(name)
        space = "joint" if getattr(law, "reference", Reference) is JointSpaceReference else "tip"
        wrench = "; needs a wrench" if getattr(law, "needs_wrench", False) else ""
        yield name, f"commands {' or '.join(command_modes(law))}; {space} targets{wrench}"


def _profiles() -> Rows:
    laws = {name: command_modes(law_class(name)) for name in law_names()}
    for robot in robot_names():
        for name in _profiles_of(robot):
            profile = load_robot(robot, name).profile
            taken = [mode.value for mode in CommandMode if mode in profile.commands]
            fitting = [law for law, modes in laws.items() if set(modes) & set(taken)]
            yield f"{robot} {name}", f"takes {', '.join(taken)}; laws: {', '.join(fitting)}"


KINDS: dict[str, Callable[[], Rows]] = {
    "robots": _robots,
    "laws": _laws,
    "workcells": lambda: ((name, load_workcell(name).description) for name in workcell_names()),
    "scenes": lambda: ((name, load_scene(name).description) for name in config_names("scenes")),
    "grippers": lambda: (
        (name, load_gripper(name).description) for name in config_names("grippers")
    ),
    "imperfections": lambda: (
        (name, load_imperfections(name).description) for name in imperfection_names()
    ),
    "profiles": _profiles,
}


def run(options: argparse.Namespace) -> int:
    """Print one list, or all of them under their names."""
    for kind in (options.kind,) if options.kind else KINDS:
        rows = list(KINDS[kind]())
        if not options.kind:
            print(f"{kind}:")
        width = max(len(name) for name, _ in rows)
        for name, text in rows:
            print(f"{'' if options.kind else '  '}{name:<{width}}  {text}")
    return 0
