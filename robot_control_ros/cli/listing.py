"""`robot_control list`: robots, laws, scenes and so on, a line each, with those that fit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from .options import show_json

Entries = Iterator[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class Kind:
    """One list.

    Attributes:
        entries: Function that yields the names, each with what is told of it.
        text: Function that puts into words what is told of a name.
    """

    entries: Callable[[], Entries]
    text: Callable[[Mapping[str, Any]], str]


def command_modes(law: Any) -> tuple[str, ...]:
    """The modes that a law (class) commands in, the default one first."""
    choices = next((spec.choices for spec in gain_specs(law.Gains) if spec.name == "output"), ())
    return (law.mode.value, *(word for word in choices if word != law.mode.value))


def _profiles_of(robot: str) -> list[str]:
    return sorted(read_extended("robot", robot)[1]["profiles"])


def _robots() -> Entries:
    for name in robot_names():
        robot = load_robot(name)
        yield (
            name,
            {
                "description": robot.description,
                "joints": list(robot.joints),
                "profiles": _profiles_of(name),
            },
        )


def _robot_text(robot: Mapping[str, Any]) -> str:
    profiles = ", ".join(robot["profiles"])
    return f"{robot['description']}, {len(robot['joints'])} joints; profiles: {profiles}"


def _laws() -> Entries:
    for name in law_names():
        law = law_class(name)
        is_of_joints = getattr(law, "reference", Reference) is JointSpaceReference
        yield (
            name,
            {
                "commands": list(command_modes(law)),
                "targets": "joint" if is_of_joints else "tip",
                "needs_wrench": bool(getattr(law, "needs_wrench", False)),
            },
        )


def _law_text(law: Mapping[str, Any]) -> str:
    wrench = "; needs a wrench" if law["needs_wrench"] else ""
    return f"commands {' or '.join(law['commands'])}; {law['targets']} targets{wrench}"


def _profiles() -> Entries:
    laws = {name: command_modes(law_class(name)) for name in law_names()}
    for robot in robot_names():
        for name in _profiles_of(robot):
            profile = load_robot(robot, name).profile
            taken = [mode.value for mode in CommandMode if mode in profile.commands]
            fitting = [law for law, modes in laws.items() if set(modes) & set(taken)]
            told = {"robot": robot, "profile": name, "commands": taken, "laws": fitting}
            yield f"{robot} {name}", told


def _profile_text(profile: Mapping[str, Any]) -> str:
    return f"takes {', '.join(profile['commands'])}; laws: {', '.join(profile['laws'])}"


def _described(names: Callable[[], Sequence[str]], load: Callable[[str], Any]) -> Kind:
    """Kind of files of which only the description is told.

    Args:
        names: Function that returns their names.
        load: Function that reads the file of a name.
    """

    def entries() -> Entries:
        for name in names():
            yield name, {"description": load(name).description}

    return Kind(entries, lambda entry: str(entry["description"]))


KINDS = {
    "robots": Kind(_robots, _robot_text),
    "laws": Kind(_laws, _law_text),
    "workcells": _described(workcell_names, load_workcell),
    "scenes": _described(lambda: config_names("scenes"), load_scene),
    "grippers": _described(lambda: config_names("grippers"), load_gripper),
    "imperfections": _described(imperfection_names, load_imperfections),
    "profiles": Kind(_profiles, _profile_text),
}


def run(options: argparse.Namespace) -> int:
    """Print one list, or all of them under their names; or write them as JSON."""
    kinds = [options.kind] if options.kind else list(KINDS)
    lists = {kind: dict(KINDS[kind].entries()) for kind in kinds}
    if options.json:
        show_json(options.json, lists[options.kind] if options.kind else lists)
        return 0
    for kind, entries in lists.items():
        if not options.kind:
            print(f"{kind}:")
        width = max(map(len, entries))
        for name, entry in entries.items():
            indent = "" if options.kind else "  "
            print(f"{indent}{name:<{width}}  {KINDS[kind].text(entry)}")
    return 0
