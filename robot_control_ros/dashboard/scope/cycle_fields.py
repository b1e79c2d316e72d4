"""The fields of a cycle's record for people: their numbers by name, in groups
that have one unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ...core.cycle import COMMAND, CYCLE
from ...core.gains import AXES
from ...core.record import JOINTS, Field

FIELDS = {field.name: field for field in CYCLE.kept}
ALL_JOINTS = "all joints"
LINEAR = "x, y, z"
ANGULAR = "rx, ry, rz"
ROTATION = "rotation matrix"


@dataclass(frozen=True)
class Component:
    """One number of a field."""

    name: str
    place: int  # in the field
    unit: str


def components(
    field: Field, joints: Sequence[str], command_unit: str = COMMAND
) -> dict[str, tuple[Component, ...]]:
    """Numbers of a field that can be shown in one chart, by name.

    Groups of numbers come first, then each number.

    Args:
        field: Field of the cycle's record.
        joints: Names of the joints.
        command_unit: Unit of what the joints get; it depends on the law.
    """
    unit = command_unit if field.unit == COMMAND else field.unit
    singles: list[Component]
    groups: dict[str, tuple[Component, ...]] = {}
    if field.shape == ():
        singles = [Component(field.name.replace("_", " "), 0, unit)]
    elif field.shape == (JOINTS,):
        singles = [Component(name, place, unit) for place, name in enumerate(joints)]
        groups[ALL_JOINTS] = tuple(singles)
    elif field.shape == (6,):
        linear, _, angular = unit.partition(", ")
        singles = [
            Component(axis, place, linear if place < 3 else angular)
            for place, axis in enumerate(AXES)
        ]
        groups = {LINEAR: tuple(singles[:3]), ANGULAR: tuple(singles[3:])}
    elif field.shape == (4, 4):
        linear = unit.partition(", ")[0]
        position = [Component(axis, 4 * place + 3, linear) for place, axis in enumerate(AXES[:3])]
        rotation = [
            Component(f"{AXES[row]}{AXES[column]}", 4 * row + column, "")
            for row, column in product(range(3), repeat=2)
        ]
        groups = {LINEAR: tuple(position), ROTATION: tuple(rotation)}
        singles = position + rotation
    else:
        sizes = field.sizes(len(joints))
        singles = [
            Component(", ".join(map(str, place)), number, unit)
            for number, place in enumerate(product(*map(range, sizes)))
        ]
    return groups | {each.name: (each,) for each in singles}
