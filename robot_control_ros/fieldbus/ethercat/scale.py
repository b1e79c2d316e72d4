"""Scale between a drive's counts and SI units at its joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array

# What one unit of 0x606C, 0x60FF and 0x60B1 is worth, in revolutions per minute of the shaft the
# encoder is on. "counts/s": position counts per second.
VELOCITY_UNITS = {
    "counts/s": math.nan,
    "rpm": 1.0,
    "0.1 rpm": 0.1,
    "0.01 rpm": 1e-2,
    "0.001 rpm": 1e-3,
    "0.0001 rpm": 1e-4,
}
TORQUE_UNITS = {"N·m": 1.0, "mN·m": 1e-3, "µN·m": 1e-6}  # of 0x6076

_RPM = 60.0 / (2.0 * math.pi)  # min^-1 per rad/s
_I16 = (1 << 15) - 1
_I32 = (1 << 31) - 1


@dataclass(frozen=True)
class Scale:
    """Counts of a drive per SI unit at its joint. All three carry the sign.

    A position count c is the joint angle c / position + offset.

    Attributes:
        joint: Name of the joint, for errors.
        position: Position counts per angle of the joint [1/rad].
        offset: Joint angle at count 0 [rad].
        velocity: Velocity units of the drive per rad/s of the joint.
        torque: Thousandths of the motor's rated torque per N·m at the joint.
    """

    joint: str
    position: float
    offset: float
    velocity: float
    torque: float

    @classmethod
    def of_drive(
        cls,
        joint: str,
        *,
        counts_per_revolution: float,
        velocity_unit: str,
        rated_torque: float,
        gear_ratio: float = 1.0,
        sign: float = 1.0,
        offset: float = 0.0,
        encoder_on_joint: bool = False,
    ) -> Scale:
        """Scale from a drive's units and what is between motor and joint.

        Args:
            counts_per_revolution: Counts per revolution of the shaft that the encoder is on.
            velocity_unit: Velocity unit at that shaft, one of VELOCITY_UNITS.
            rated_torque: Rated torque of the motor, to which thousandths refer: 0x6076 [N·m].
            gear_ratio: Revolutions of the motor per revolution of the joint; losses in the gear
                aren't modelled.
            sign: 1, or -1 where the motor turns the other way.
            encoder_on_joint: True where positions and velocities are those of the joint's shaft,
                behind the gear.
        """
        turns = sign * (1.0 if encoder_on_joint else gear_ratio)
        position = turns * counts_per_revolution / (2.0 * math.pi)
        unit = VELOCITY_UNITS[velocity_unit]
        velocity = position if math.isnan(unit) else turns * _RPM / unit
        return cls(joint, position, offset, velocity, sign * 1000.0 / (rated_torque * gear_ratio))


class Scales:
    """Scales of a robot's joints, one each: between counts and SI units, all joints at once.

    Counts are whole numbers, and saturate: torques at 16 bits, others at 32. A value that isn't a
    finite number is refused with a ConfigError.

    Attributes:
        position, offset, velocity, torque: (n,) numbers of each joint, see :class:`Scale`.
    """

    def __init__(self, scales: Sequence[Scale]) -> None:
        self._joints = tuple(scale.joint for scale in scales)
        self.position, self.offset, self.velocity, self.torque = np.array(
            [(scale.position, scale.offset, scale.velocity, scale.torque) for scale in scales]
        ).T.copy()

    def position_counts(self, angles: Array) -> Array:
        """Counts (n,) of joint angles (n,) [rad]."""
        return self._whole("position", "rad", angles, (angles - self.offset) * self.position, _I32)

    def velocity_counts(self, velocities: Array) -> Array:
        """The drives' units (n,) of joint velocities (n,) [rad/s]."""
        return self._whole("velocity", "rad/s", velocities, velocities * self.velocity, _I32)

    def torque_counts(self, torques: Array) -> Array:
        """Thousandths (n,) of the rated torques, of joint torques (n,) [N·m]."""
        return self._whole("torque", "N·m", torques, torques * self.torque, _I16)

    def _whole(self, quantity: str, unit: str, values: Array, counts: Array, largest: int) -> Array:
        if not counts.dot(counts) <= largest * largest:  # one may be too large, or no number
            for joint, value in zip(self._joints, values.tolist(), strict=True):
                if not math.isfinite(value):
                    message = f"{joint}: {quantity} = {value} {unit}: must be a finite number"
                    raise ConfigError(message, name=joint, value=value)
            counts = np.clip(counts, -largest, largest)
        return np.rint(counts)
