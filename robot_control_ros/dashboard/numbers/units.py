"""The units of the numbers on the page, and poses and joints as rows of numbers in them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.errors import refused
from ...core.spatial import (
    make_pose,
    quaternion_to_rotation,
    rotation_from_rpy,
    rotation_to_quaternion,
    rotation_to_rpy,
)
from ...core.types import Array

LENGTHS = {"m": 1.0, "mm": 1e3}  # per metre
ANGLES = {"rad": 1.0, "deg": 180.0 / math.pi}  # per radian
ORIENTATIONS = {"roll, pitch, yaw": False, "quaternion": True}


@dataclass(frozen=True)
class Units:
    """Units and form of the numbers that are shown and typed.

    Attributes:
        length: Unit of lengths, a key of LENGTHS.
        angle: Unit of angles, a key of ANGLES.
        quaternion: True where an orientation is (x, y, z, w); else it is roll, pitch and yaw about
            the fixed axes of the base.
    """

    length: str = "m"
    angle: str = "rad"
    quaternion: bool = False

    def unit(self, si: str) -> str:
        """The name of a unit such as m, rad, m/s or rad/s in these units."""
        head, slash, rest = si.partition("/")
        return {"m": self.length, "rad": self.angle}.get(head, head) + slash + rest

    def factors(self, si: Sequence[str]) -> Array:
        """Numbers in these units per number in each of the units of SI."""
        factors = {"m": LENGTHS[self.length], "rad": ANGLES[self.angle]}
        return np.array([factors.get(unit.partition("/")[0], 1.0) for unit in si])

    def orientation(self, pose: Array) -> Array:
        """Orientation (3,) or (4,) of a pose (4, 4)."""
        rotation = pose[:3, :3]
        return (
            rotation_to_quaternion(rotation)
            if self.quaternion
            else rotation_to_rpy(rotation) * ANGLES[self.angle]
        )

    def row(self, pose: Array) -> Array:
        """A pose (4, 4) as the position and the orientation, (6,) or (7,)."""
        return np.concatenate((pose[:3, 3] * LENGTHS[self.length], self.orientation(pose)))

    def pose(self, row: Array) -> Array:
        """The inverse of :meth:`row`; seven numbers have a quaternion, whatever is chosen.

        Raises:
            ConfigError: the length of the quaternion is not 1.
        """
        rest = row[3:]
        rotation = (
            quaternion_to_rotation(rest)
            if rest.size == 4
            else rotation_from_rpy(*(rest / ANGLES[self.angle]))
        )
        return make_pose(row[:3] / LENGTHS[self.length], rotation)


def read_row(name: str, text: str, counts: Sequence[int]) -> Array:
    """The numbers of a text, with commas or spaces between them, in brackets or not.

    Raises:
        ConfigError: it has something else, a number that is not finite, or too many or too few;
            names the counts.
    """
    rule = f"must be {' or '.join(map(str, counts))} finite numbers"
    try:
        row = np.array(
            [float(part) for part in re.split(r"[\s,;]+", text.strip(" []()\t\n")) if part]
        )
    except ValueError:
        raise refused(name, text, rule, tuple(counts)) from None
    if row.size not in counts or not np.isfinite(row).all():
        raise refused(name, text, rule, tuple(counts))
    return row


def write_row(row: Array) -> str:
    """A line that can be pasted into Python, YAML and the page."""
    return f"[{', '.join(f'{round(float(number), 6) + 0.0:.7g}' for number in row)}]"
