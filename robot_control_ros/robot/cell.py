"""Solids around a robot that it must not touch: the entry `cell` of a robot or a work cell."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..core.errors import refused
from .schema import entry
from .solids import Shape

SOLIDS = ("sphere", "box", "capsule", "cylinder", "plane")


@dataclass(frozen=True, eq=False, kw_only=True)
class CellObject:
    """A solid that stands still; `shape.pose` is in the world, where `mount` is given as well."""

    name: str = ""
    shape: Shape = entry(inline=True, doc="The solid.")
    margin: float | None = entry(
        None,
        lower=0.0,
        unit="m",
        doc="What the arm keeps from it, where that isn't `clearance.margin`.",
    )

    def __post_init__(self) -> None:
        if self.shape.kind not in SOLIDS:
            raise refused("shape", self.shape.kind, f"must be one of: {', '.join(SOLIDS)}", SOLIDS)


def named_objects(objects: dict[str, CellObject]) -> dict[str, CellObject]:
    """The objects of a cell, each with its name.

    Raises:
        ConfigError: a name isn't a letter, then letters, digits and _.
    """
    for name in objects:
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
            raise refused(
                "name", name, "must be a letter, then letters, digits and _", where="cell: "
            )
    return {name: replace(each, name=name) for name, each in objects.items()}


def checked_bodies(bodies: dict[str, tuple[Shape, ...]]) -> dict[str, tuple[Shape, ...]]:
    """The bodies of links, as they are given.

    Raises:
        ConfigError: one is a plane or waves.
    """
    for shapes in bodies.values():
        for shape in shapes:
            shape.check_movable()
    return bodies
