"""Solids in YAML files: what a simulated robot can touch, and what stands in a robot's cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.errors import refused
from ..core.spatial import make_pose, rotation_exp
from ..core.types import Array
from .schema import entry

SHAPES = {
    "sphere": ("radius",),
    "box": ("x", "y", "z"),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "waves": ("x", "y", "z", "height", "length"),
    "plane": (),
}
MOVABLE = ("sphere", "box", "capsule", "cylinder")
SIZED = tuple(kind for kind, size in SHAPES.items() if size)


@dataclass(frozen=True)
class Placement:
    """Place of a solid in the frame that it is attached to."""

    position: tuple[float, ...] = entry((0.0, 0.0, 0.0), size=3, unit="m", doc="x, y, z.")
    rotation: tuple[float, ...] = entry((0.0, 0.0, 0.0), size=3, unit="rad", doc="Rotation vector.")

    def pose(self) -> Array:
        """Pose (4, 4) of the solid."""
        return make_pose(np.array(self.position), rotation_exp(np.array(self.rotation)))


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid; `pose` is (4, 4) in the frame that it is attached to."""

    kind: str = entry(
        key="shape", choices=SHAPES, doc="Axes of symmetry are z; a plane's solid side is below it."
    )
    size: tuple[float, ...] = entry(
        above=0.0,
        unit="m",
        only_with=("shape", SIZED),
        doc="Radius of a sphere; x, y, z of a box; radius and length of a capsule (without its ends) or cylinder. For "
        "waves, a box with waves along y on top: x, y, mean z, height from trough to crest, length.",
    )
    pose: Array = entry(of=Placement, inline=True, convert=Placement.pose, doc="Where it is.")

    def __post_init__(self) -> None:
        meaning = SHAPES[self.kind]
        if len(self.size) != len(meaning):
            rule = (
                f"must be {len(meaning)} numbers ({self.kind}: {', '.join(meaning) or 'no size'})"
            )
            raise refused("size", list(self.size), rule, len(meaning))

    def check_movable(self) -> None:
        """Raise ConfigError for a plane or waves, which may not move."""
        if self.kind not in MOVABLE:
            raise refused("shape", self.kind, f"must be one of: {', '.join(MOVABLE)}", MOVABLE)
