"""The payload of a robot: the rigid body that its tip carries and that the robot
description hasn't.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.errors import refused
from ..core.gains import OTHER, TENSOR, VECTOR, check_gain, gain, gain_specs
from ..core.types import Array

FARTHEST = 1.0  # m from the tip, of the centre of gravity; also of the radius of gyration
# of the largest moment of inertia: figures of a data sheet have two or three digits
ROUNDING = 0.01


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body on the tip; without arguments it is none.

    The figures are those of ``set_target_payload`` of Universal Robots and ``setLoad`` of Franka,
    in the tip's frame. One number stands for all coordinates of the centre, and for the three
    moments of inertia.

    Attributes:
        mass: Mass [kg].
        center: (3,) centre of gravity in the tip's frame [m].
        inertia: (6,) about the centre of gravity along the tip's axes: xx, yy, zz, xy, xz, yz
            [kg·m²]. Those with two letters that differ are elements of the matrix, as in URDF.

    Raises:
        ConfigError: no body is like that, or its centre is farther than 1 m from the tip. Names the
            figure, its value and the bound.
    """

    mass: float = gain(
        0.0,
        unit="kg",
        upper=100.0,
        role=OTHER,
        doc="Mass of what the tip carries; 0 is no payload.",
    )
    center: Array = gain(
        0.0,
        size=VECTOR,
        unit="m",
        lower=-FARTHEST,
        upper=FARTHEST,
        doc="Its centre of gravity in the tip's frame.",
    )
    inertia: Array = gain(
        0.0,
        size=TENSOR,
        unit="kg·m²",
        lower=-10.0,
        upper=10.0,
        role=OTHER,
        doc="Its inertia about the centre of gravity, along the tip's axes; 0 is a point mass.",
    )

    def __post_init__(self) -> None:
        for spec in gain_specs(Payload):
            object.__setattr__(self, spec.name, check_gain(spec, getattr(self, spec.name), 0))
        self._check_center()
        self._check_inertia()

    @property
    def tensor(self) -> Array:
        """The inertia as a matrix (3, 3) [kg·m²]."""
        xx, yy, zz, xy, xz, yz = self.inertia
        return np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))

    @property
    def row(self) -> Array:
        """All figures (10,): mass, centre, inertia."""
        return np.concatenate(((self.mass,), self.center, self.inertia))

    @classmethod
    def of_row(cls, row: Array) -> Payload:
        """The payload with figures (10,), see :attr:`row`."""
        return cls(float(row[0]), row[1:4].copy(), row[4:].copy())

    def __str__(self) -> str:
        if self.mass == 0.0:
            return "no payload"
        center = ", ".join(f"{x:.4g}" for x in self.center)
        return f"{self.mass:.4g} kg at ({center}) m"

    def _check_center(self) -> None:
        distance = float(np.linalg.norm(self.center))
        if distance > FARTHEST:
            rule = f"must be at most {FARTHEST:g} m from the tip"
            raise refused("center", distance, rule, FARTHEST, where="payload: ", unit="m")

    def _check_inertia(self) -> None:
        """Principal moments of a body aren't negative, and none is above the
        sum of the two others.
        """
        least, middle, largest = np.linalg.eigvalsh(self.tensor).tolist()
        tolerance = ROUNDING * max(largest, -least)
        where = "payload: principal moment of "
        if least < -tolerance:
            raise refused(
                "inertia",
                least,
                "must not be below 0: no body is like that",
                0.0,
                where=where,
                unit="kg·m²",
            )
        if largest > least + middle + tolerance:
            rule = f"must be at most {least + middle:.4g} kg·m², the sum of the two others: no body is like that"
            raise refused("inertia", largest, rule, least + middle, where=where, unit="kg·m²")
        bound = self.mass * FARTHEST**2
        if largest > bound + tolerance:
            rule = f"must be at most {bound:.4g} kg·m²: a mass of {self.mass:.4g} kg, {FARTHEST:g} m from its centre"
            raise refused("inertia", largest, rule, bound, where=where, unit="kg·m²")
