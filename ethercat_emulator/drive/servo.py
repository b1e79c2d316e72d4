"""A drive's control loops: position, velocity, torque, current, and the sampling of its encoder."""

from __future__ import annotations

import math
from dataclasses import dataclass

_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class Motor:
    """Motor, gear, encoder and the drive's tuning.

    Attributes:
        rated_torque: of the motor [N·m]; 1000 per mille.
        max_torque: of the motor, in units of the rated one.
        counts: of the encoder, per turn of the shaft it is on.
        gear: turns of the motor per turn of the joint; negative where they turn against each other.
        encoder_at_joint: the encoder is on the joint, else on the motor.
        zero: counts where the joint's angle is 0.
        velocity_unit: what 1 in a velocity object is: 0 for a count per second, else so many
            revolutions per minute of the encoder's shaft; a power of ten.
        current_time: time constant of the current loop [s].
        inertia: of the load as the drive was tuned for it, at the joint [kg·m²].
        bandwidth: of the velocity loop [rad/s]; the position loop has a quarter of it.
    """

    rated_torque: float = 1.0
    max_torque: float = 3.0
    counts: int = 1 << 17
    gear: float = 100.0
    encoder_at_joint: bool = False
    zero: int = 0
    velocity_unit: float = 0.0
    current_time: float = 0.0005
    inertia: float = 0.1
    bandwidth: float = 200.0

    @property
    def encoder_gear(self) -> float:
        """Turns of the encoder per turn of the joint; with its sign."""
        return math.copysign(1.0, self.gear) if self.encoder_at_joint else self.gear

    @property
    def counts_per_radian(self) -> float:
        """Of the joint; with its sign."""
        return self.counts * self.encoder_gear / _TURN

    @property
    def velocity_per_radian(self) -> float:
        """Units of velocity per rad/s of the joint; with its sign."""
        if self.velocity_unit == 0.0:
            return self.counts_per_radian
        return self.encoder_gear * 60.0 / _TURN / self.velocity_unit

    @property
    def torque_per_mille(self) -> float:
        """N·m at the joint per thousandth of the rated torque; with its sign."""
        return self.rated_torque * self.gear / 1000.0


class Servo:
    """Cascaded loops of one axis, in the joint's units.

    The position loop is proportional, the velocity loop proportional and integral, and the current
    follows as a lag of first order. Targets are taken as they come: there is no interpolation
    between cycles.

    Args:
        motor: its parameters.

    Attributes:
        torque: at the joint, after the current loop [N·m].
        limit: of the torque that is asked of the motor [N·m].
        limited: whether the limit cut off the demand.
    """

    def __init__(self, motor: Motor) -> None:
        self._motor = motor
        self.limit = math.inf
        self._velocity_gain = motor.inertia * motor.bandwidth
        self._position_gain = motor.bandwidth / 4.0
        self._integral_gain = self._velocity_gain * motor.bandwidth / 8.0
        self._lag = (0.0, 0.0)  # (step, fraction of the difference that is left after it)
        self.reset()

    def reset(self) -> None:
        """Without current, and forget the past."""
        self.torque = 0.0
        self.limited = False
        self._integral = 0.0

    def release(self, dt: float) -> None:
        """No demand: the current decays."""
        self._integral = 0.0
        self.drive(0.0, dt)

    def hold_position(
        self, error: float, v: float, feedforward: tuple[float, float], dt: float
    ) -> None:
        """Close the position loop: error [rad], velocity [rad/s], velocity and torque
        offset [rad/s, N·m].
        """
        self.hold_velocity(self._position_gain * error + feedforward[0] - v, feedforward[1], dt)

    def hold_velocity(self, error: float, feedforward: float, dt: float) -> None:
        """Close the velocity loop: error [rad/s], torque offset [N·m]."""
        wanted = self._velocity_gain * error + self._integral + feedforward
        self.drive(wanted, dt)
        if not self.limited or wanted * error < 0.0:  # no wind-up at the limit
            self._integral += self._integral_gain * error * dt

    def drive(self, wanted: float, dt: float) -> None:
        """Let the current follow a torque [N·m], within the limit."""
        limit = self.limit
        demand = limit if wanted > limit else -limit if wanted < -limit else wanted
        self.limited = demand != wanted
        if dt != self._lag[0]:
            self._lag = (dt, math.exp(-dt / self._motor.current_time))
        self.torque = demand + (self.torque - demand) * self._lag[1]
