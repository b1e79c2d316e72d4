"""The stop of a robot whose joint states have ceased: it is brought to rest by its model alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.types import Array, RobotState
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics, RobotModel

WINDOW = 0.01  # s over which the acceleration is taken
# s from the begin of braking to rest: the first that the effort limits allow
DURATIONS = 0.2, 0.3, 0.45, 0.7, 1.0


class RecentMotion:
    """The acceleration of the joints in the last samples.

    Torques alone don't tell it: an arm that presses against a wall stands under torque.
    """

    def __init__(self) -> None:
        self._older: RobotState | None = None
        self._old: RobotState | None = None

    def observe(self, state: RobotState) -> None:
        """Take up a sample."""
        if self._old is None or state.time < self._old.time:
            self._older = None
            self._old = state
        elif state.time - self._old.time >= WINDOW:
            self._older = self._old
            self._old = state

    def acceleration(self, state: RobotState) -> Array:
        """Joint accelerations (n,) [rad/s²] at the last sample; zeros after too few samples."""
        earlier = self._older or self._old
        if (
            earlier is None
            or state.time - earlier.time < WINDOW
            or state.time - earlier.time > 10.0 * WINDOW
        ):
            return np.zeros_like(state.v)
        return (state.v - earlier.v) / (state.time - earlier.time)


class BlindStop:
    """Brakes a robot along the motion that its model predicts, and then holds it.

    Braking begins `silence` seconds after the last sample. Until then the joints are assumed to go
    on with the acceleration that they had. From there they come to rest in a time T, with

        q̈ = -q̇₀ / T,   τ = M(q) q̈ + C(q, q̇) q̇ + g(q) + friction(q̇).

    At rest τ = g(q). T is 0.2 s, or longer where the effort limits don't allow that. Nothing is
    measured meanwhile. A weight m at the tip that the arm held at rest, and the model doesn't know,
    is braked and held, too: J_vᵀ m (a_tip - g) is added to τ.

    Args:
        robot: Configuration of the robot.
        model: Model of the robot.
        state: The last sample.
        acceleration: Acceleration of the joints at that sample (n,) [rad/s²].
        silence: Time from that sample to the begin of braking [s].
        mass: Weight m at the tip beyond the model's [kg]; see :class:`.held_load.HeldLoad`.
    """

    def __init__(
        self,
        robot: RobotConfig,
        model: RobotModel,
        state: RobotState,
        acceleration: Array,
        silence: float,
        mass: float = 0.0,
    ) -> None:
        self._mass = mass
        self._profile = robot.profile
        self._half_period = 0.5 * robot.period
        self._model = model
        self._state = state
        self._begin = silence
        self._v = np.clip(
            state.v + acceleration * silence, -model.limits.velocity, model.limits.velocity
        )
        self._q = state.q + 0.5 * (state.v + self._v) * silence
        self._duration = DURATIONS[0]
        for duration in DURATIONS:
            self._duration = duration
            if (np.abs(self.torque(silence)) <= model.limits.effort).all():
                break

    def predicted(self, silence: float) -> tuple[RobotState, RobotDynamics]:
        """The robot's state, and its dynamics, `silence` seconds after the last sample."""
        q, v, _ = self._motion(silence)
        return replace(self._state, q=q, v=v), self._model.update(q, v)

    def ended(self, silence: float) -> bool:
        """Return True where the joints are predicted to rest, `silence` s after the last sample."""
        return silence - self._begin >= self._duration

    def torque(self, silence: float) -> Array:
        """Torque (n,) [N·m] for the period that begins `silence` seconds after the last sample."""
        q, v, a = self._motion(silence + self._half_period)
        torque = self._model.inverse_dynamics(q, v, a)
        kin = self._model.at(q, v)
        if self._profile.gravity_by_robot:
            torque = torque - kin.gravity
        if self._model.has_friction and not self._profile.friction_by_robot:
            torque = torque + kin.friction
        if self._mass > 0.0:
            jacobian = kin.jacobian[:3]
            tip = jacobian.dot(a) + self._model.jdot_v(q, v)[:3]
            torque = torque + self._mass * jacobian.T.dot(tip - self._model.gravity)
        return torque

    def _motion(self, silence: float) -> tuple[Array, Array, Array]:
        """Predicted joint positions, velocities and accelerations, (n,) each."""
        time = min(max(silence - self._begin, 0.0), self._duration)
        q = self._q + self._v * (time - 0.5 * time**2 / self._duration)
        v = self._v * (1.0 - time / self._duration)
        if time < self._duration:
            return q, v, -self._v / self._duration
        return q, v, np.zeros_like(v)
