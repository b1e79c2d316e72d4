"""Soft limits of the joints under an effort law: position walls and velocity dampers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..core.types import Array, RobotState
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics, RobotModel

DELAY = 0.002  # s from a sample to the motor, that is taken for granted; an older sample counts with its age
HASTE = 1.0  # of 1/τ: rate of the dampers; a single one is stable up to π/2
SPEED = 0.7  # of the velocity limits: from there on nothing that the model knows drives a joint
HELD = 1.6  # of the effort limits: what a wall holds at the position limit, the law's torque and a push together
WIDEST = 0.1  # of a joint's range: a wall at each end
BRAKING = 0.25  # of the effort limit over the largest inertia: deceleration towards a position limit
POSTURES = 200  # from which the joints' inertias are estimated
TURNS = 4  # in which the dampers of all joints are found
QUIET = 0.3  # of the speed above: slower, and without much torque, there is nothing to do
SLOW = 0.1  # of it: slower, whatever the torque
SHOWN = 1.0  # s for which a warning stays


class SoftLimits:
    """Keeps the joints off their position and velocity limits, by torques that are added to any effort law's.

    Walls: within `zone` of a position limit a spring V = k x²/2, x the way into the zone, and a damper. At the limit
    the spring holds 1.6 times the effort limit, where the robot's rate allows so stiff a spring.

    Dampers: at speed v > 0 (and alike for v < 0) a joint may gain speed by at most r (v_s - v), r = 1 / τ. v_s is 0.7
    of its velocity limit, and less towards the middle of a wall: v_s² ≤ 2 a d. The model says what law, walls, gravity,
    Coriolis forces and the other joints give it. What is too much is taken away, but at most r v / (M⁻¹)_ii. So each
    damper is -d(q, v, tau) v with 0 ≤ d ≤ r / (M⁻¹)_ii.

    Pushes are not known to it: against them a joint's damper begins at v_s. τ is 1.5 periods, and 2 ms or the age of
    the sample. A damper on one inertia, whose torque is late by τ, is stable up to r = (π/2) / τ.

    Energy: the springs are the gradient of V, and all dampers only take power. So the arm's energy with ΣV never grows
    faster than law and pushes feed it, as long as the sum keeps the effort limits.

    Far from all limits the torque is the law's, to the last bit.

    Source: J. E. Colgate, G. G. Schenkel, Passivity of a class of sampled-data systems, J. Robotic Systems 14(1), 1997
    (walls and delay). The bound on speed that falls towards a position limit, and the bound on effort that falls with
    speed, are those of ros_control's joint_limits_interface and of URDF's safety_controller.

    Args:
        robot: its configuration.
        model: of the robot, with its limits.

    Attributes:
        torque: (n,) what was added last [N·m].
        stiffness: (n,) k of the walls [N·m/rad]; 0 where a joint has no position limits.
        zone: (n,) width of each wall [rad].
    """

    def __init__(self, robot: RobotConfig, model: RobotModel) -> None:
        limits = model.limits
        self._joints, self._limits = robot.joints, limits
        self._none = self.torque = np.zeros(robot.n)
        self._fixed_delay = 1.5 * robot.period
        least, most = _inertias(model)
        rate = self._rate(DELAY)
        bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
        lower, upper = np.where(bounded, limits.lower, -1.0), np.where(bounded, limits.upper, 1.0)
        holds = HELD * limits.effort
        zone = np.minimum(holds / (least * (rate / 2.0) ** 2), WIDEST * (upper - lower))
        self.zone = np.where(bounded, zone, 0.0)
        self.stiffness = np.where(bounded, np.minimum(holds / zone, least * rate**2), 0.0)
        self._lower, self._upper = limits.lower + self.zone, limits.upper - self.zone
        self._speed = SPEED * limits.velocity
        self._braking = 2.0 * BRAKING * limits.effort / most
        near = np.maximum(self.zone, self._speed**2 / self._braking)
        half = np.where(bounded, np.maximum((upper - lower) / 2.0 - near, 1e-3), np.inf)
        self._middle, self._half = (upper + lower) / 2.0, half
        self._per_speed = 1.0 / (QUIET * self._speed)
        self._per_drive = 1.0 / ((1.0 - QUIET) * rate * least * self._speed)
        self._slow = (SLOW * float(self._speed.min())) ** 2
        self._place, self._room = self._none, -1.0
        self._joint, self._kind, self._shown = 0, "", -math.inf

    def add(self, law: Array, holding: Array, state: RobotState, kin: RobotDynamics) -> Array:
        """The law's torques (n,) [N·m] with those of walls and dampers; `law` itself where there are none.

        Args:
            law: (n,) torques that would be sent.
            holding: (n,) torques that hold the arm at rest.
            state, kin: of the sample.
        """
        if state.age <= DELAY and (self._rests(state) or self._is_far(law, holding, state)):
            self.torque = self._none
            return law
        rate, inverse = self._rate(state.age), np.asarray(np.linalg.inv(kin.mass), dtype=float)
        inertia = np.asarray(1.0 / inverse.diagonal())
        walls = self._walls(state, rate * inertia)
        acceleration = inverse.dot(law - holding + walls - kin.coriolis)
        taken = self._taken(acceleration, inverse, inertia, rate, state)
        self.torque = walls - np.sign(state.v) * taken
        if not self.torque.any():
            return law
        self._keep_reason(walls, taken, state)
        return np.asarray(law + self.torque)

    @property
    def active(self) -> NDArray[np.bool_]:
        """(n,) True where a torque was added last."""
        return np.asarray(self.torque != 0.0)

    def warning(self, time: float) -> str:
        """Which joint was kept off which limit within the last second before `time` [s]; empty where none was."""
        if not 0.0 <= time - self._shown <= SHOWN:
            return ""
        name, limits = self._joints[self._joint], self._limits
        if self._kind == "velocity":
            return f"{name} is braked: its velocity limit is {limits.velocity[self._joint]:.3g} rad/s"
        limit = (limits.upper if self._kind == "upper" else limits.lower)[self._joint]
        return f"{name} is pushed back: its position limit is {limit:.3g} rad"

    def _keep_reason(self, walls: Array, taken: Array, state: RobotState) -> None:
        self._joint = int(np.abs(self.torque / self._limits.effort).argmax())
        self._shown, velocity = state.time, taken[self._joint] > abs(walls[self._joint])
        self._kind = "velocity" if velocity else "upper" if state.q[self._joint] > self._upper[self._joint] else "lower"

    def _rate(self, age: float) -> float:
        """Rate r [1/s] of the dampers, for samples of this age [s]."""
        return HASTE / (self._fixed_delay + max(age, DELAY))

    def _rests(self, state: RobotState) -> bool:
        """Whether the joints are slow, and not nearer to their limits than where they were seen to be far."""
        way = state.q - self._place
        return float(state.v.dot(state.v)) < self._slow and float(way.dot(way)) < self._room

    def _is_far(self, law: Array, holding: Array, state: RobotState) -> bool:
        """Whether the joints are slow, driven little, and away from position limits: the usual case, and cheap."""
        distance = np.abs(state.q - self._middle)
        shares = np.concatenate((state.v * self._per_speed, (law - holding) * self._per_drive, distance / self._half))
        squares = shares * shares
        if float(squares.dot(squares)) >= 1.0:  # below, each one is
            return False
        self._place, self._room = state.q.copy(), float((self._half - distance).min()) ** 2
        return True

    def _walls(self, state: RobotState, damping: Array) -> Array:
        """Springs into the range, and dampers within their zones (n,) [N·m]."""
        into = np.minimum(state.q - self._lower, 0.0) + np.maximum(state.q - self._upper, 0.0)
        return np.where(into == 0.0, 0.0, -self.stiffness * into - 0.5 * damping * state.v)

    def _taken(self, acceleration: Array, inverse: Array, inertia: Array, rate: float, state: RobotState) -> Array:
        """What the dampers take from each joint, against its motion (n,) [N·m].

        A joint's damper acts on the others, too, so they are found in turns (projected Gauss-Seidel).
        """
        v, size = state.v, np.abs(state.v)
        ahead = np.where(v > 0.0, self._upper - state.q, state.q - self._lower) + self.zone / 2.0
        speed = np.minimum(np.sqrt(np.maximum(self._braking * ahead, 0.0)), self._speed)
        sign = np.sign(v)
        gain, allowed = acceleration * sign, rate * (speed - size)
        most, taken = rate * inertia * size, np.zeros(len(v))
        coupling = sign[:, None] * inverse * sign
        for _ in range(TURNS):
            for i in np.flatnonzero((gain > allowed) | (taken > 0.0)).tolist():
                wanted = min(max(taken[i] + inertia[i] * (gain[i] - allowed[i]), 0.0), most[i])
                gain -= coupling[:, i] * (wanted - taken[i])
                taken[i] = wanted
        return taken


def _inertias(model: RobotModel) -> tuple[Array, Array]:
    """The least inertia of each joint, the others free, and the largest, the others held (n,), over many postures."""
    random = np.random.default_rng(0)
    lower, upper = np.maximum(model.limits.lower, -math.pi), np.minimum(model.limits.upper, math.pi)
    masses = np.array([model.mass(random.uniform(lower, upper)) for _ in range(POSTURES)])
    free = 1.0 / np.diagonal(np.linalg.inv(masses), axis1=1, axis2=2)
    return free.min(axis=0), np.diagonal(masses, axis1=1, axis2=2).max(axis=0)
