"""Work cells: several arms side by side, from config/workcells/<name>.yaml or a
file of the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import refused, unknown
from .cell import CellObject, named_objects
from .files import config_names, read_config
from .schema import entry, read

MARK = "#"  # between a work cell and one of its arms


def _named(arms: dict[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    for name in arms:
        if not re.fullmatch("[a-z][a-z0-9_]*", name):
            raise refused(
                "name",
                name,
                "must be a small letter, then small letters, digits and _",
                where="arms: ",
            )
    return arms


@dataclass(frozen=True, kw_only=True)
class Workcell:
    """Arms by name; the robot `<work cell>#<arm>` is one of them, see
    :func:`.configuration.load_robot`.
    """

    description: str = entry("", doc="The work cell, for people.")
    arms: Mapping[str, Mapping[str, Any]] = entry(
        convert=_named,
        doc="By namespace, entries of a robot: `extends` names the robot, `mount` says where it stands. `prefix` is "
        "the namespace and `_` where it is left out.",
    )
    cell: Mapping[str, CellObject] = entry(
        {},
        convert=named_objects,
        doc="By name, solids in the world that no arm must touch; see `cell` of a robot.",
    )


def workcell_names() -> list[str]:
    """Names of the work cells of this package."""
    return config_names("workcells")


def load_workcell(name: str) -> Workcell:
    """Read a work cell.

    Args:
        name: Name of a work cell of the package, or the path of a YAML file.

    Raises:
        ConfigError: unknown work cell, a missing, unknown or unusable entry; lists the valid ones.
    """
    path, data = read_config("workcell", name)
    return read(Workcell, data, str(path))


def read_arm(name: str, beside: Path | None) -> tuple[Path, dict[str, Any]]:
    """Place and entries of the robot `<work cell>#<arm>`; relative paths start from the folder
    `beside`.

    Raises:
        ConfigError: see :func:`load_workcell`; an unknown arm (lists the arms).
    """
    file, _, arm = name.partition(MARK)
    path, data = read_config("workcell", file, beside=beside)
    arms = read(Workcell, data, str(path)).arms
    if arm not in arms:
        raise unknown("arm", arm, arms)
    entries = {"prefix": f"{arm}_", **arms[arm]}
    own = entries.get("cell", {})
    if "cell" in data and isinstance(own, dict):  # null takes away what the robot has
        entries["cell"] = {**data["cell"], **own}
    return path.with_name(f"{path.name}{MARK}{arm}"), entries


def arm_namespace(robot: str) -> str:
    """The namespace of the robot `<work cell>#<arm>`, with a gripper or without;
    empty for other robots.
    """
    return robot.partition(MARK)[2].partition("+")[0]
