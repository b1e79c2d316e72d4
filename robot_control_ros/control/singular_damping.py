"""Damping of what a law of the tip doesn't damp: joint motion near singular postures, where the tip hardly moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from ..core.gains import JOINT, gain_specs
from ..core.types import Array, Command, CommandMode, RobotState
from ..laws.running_law import RunningLaw
from ..laws.softening import SPRING_UNITS
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics
from ..sensing.payload import AT_REST

HEAVIEST = 1000.0  # kg: a direction in which the tip feels heavier counts as singular
LENGTH = 0.2  # m: a turn of 1 rad/s counts as 0.2 m/s
RATE = 10.0  # 1/s with which motion in a singular direction is damped
PERIOD = 0.02  # s for which a damping is kept
MOVED = 0.01  # rad, since the damping was designed
AWAY = 0.02  # m from the target, that are told


class SingularDamping:
    """Damps joint motion in the directions in which the tip can hardly move.

    A law of the tip damps by Jᵀ D J. Near a singular posture that fades in one direction v of the joints, while the
    spring still pulls: the elbow of a stretched arm swings through the straight posture for long. Here

        tau = -Σ r w_i (M v_i) (v_iᵀ M q̇),   w_i = max(0, 1 - 1000 kg σ_i²),

    with vᵢ from Jᵀ J v = σ² M v, vᵢᵀ M vᵢ = 1: 1/σ² is the mass that the tip feels like in that direction. A joint
    space that has more joints than axes has directions with σ = 0 always; they count as far as the next one does.

    Energy: the damping matrix is positive semidefinite, so it takes power only, however old it is.

    It works for torques of laws with a spring at the tip, and is 0 where the tip feels lighter than 1000 kg in all
    directions.

    Source: `HEAVIEST` and `RATE` are this package's; the effective mass is that of O. Khatib, Inertial properties in
    robotic manipulation, Int. J. Robotics Research 14(1), 1995.

    Args:
        robot: its configuration.

    Attributes:
        torque: (n,) the last one [N·m].
    """

    def __init__(self, robot: RobotConfig) -> None:
        self._scale = np.array(robot.axes) * (1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH)
        self._free = max(robot.n - int(np.count_nonzero(robot.axes)), 0)
        self._none = self.torque = np.zeros(robot.n)
        self._age, self._wanted = np.inf, False
        self._gains: type | None = None
        self._damping: Array | None = None
        self._posture = np.full(robot.n, np.nan)

    def warning(self, error: Array, state: RobotState) -> str:
        """That the tip, `error` (6,) [m, rad] away from its target, stands and can't come nearer; else empty."""
        distance = float(np.linalg.norm(error[:3]))
        if self._damping is None or distance < AWAY or float(np.abs(state.v).max()) > AT_REST:
            return ""
        return f"the target is {distance:.2f} m away, and the arm can't move towards it: it may be beyond reach"

    def add(self, command: Command, running: RunningLaw, state: RobotState, kin: RobotDynamics, dt: float) -> Command:
        """The law's command with the damping; `command` itself where there is none. `dt` [s] is since the last one."""
        kind = type(running.gains.target)
        if kind is not self._gains:
            self._gains, self._age = kind, np.inf
            springs = [spec for spec in gain_specs(kind) if spec.unit.startswith(SPRING_UNITS)]
            self._wanted = any(spec.size != JOINT and spec.unit.startswith("N/m") for spec in springs)
        if not self._wanted or command.mode is not CommandMode.EFFORT:
            self._damping, self.torque = None, self._none
            return command
        self._age += dt
        if self._age >= PERIOD:
            self._refresh(kin)
        if self._damping is None:
            self.torque = self._none
            return command
        self.torque = -self._damping.dot(state.v)
        return replace(command, values=command.values + self.torque)

    def _refresh(self, kin: RobotDynamics) -> None:
        """Design the damping anew where the posture is another one."""
        self._age = 0.0
        away = kin.q - self._posture
        if not float(away.dot(away)) < MOVED**2:
            self._damping, self._posture = self._design(kin), kin.q

    def _design(self, kin: RobotDynamics) -> Array | None:
        """The damping matrix (n, n) of this posture; None where it is 0."""
        scaled = self._scale[:, None] * kin.jacobian
        square = scaled.T.dot(scaled)
        if not self._free and lapack.dpotrf(square - kin.mass / HEAVIEST)[1] == 0:
            return None  # positive definite: all σ² are above 1 / HEAVIEST, the usual case
        squares, modes, info = lapack.dsygv(square, kin.mass)
        if info != 0:
            return None
        weight = np.maximum(1.0 - HEAVIEST * squares, 0.0)
        weight[: self._free] = weight[self._free]
        if not weight.any():
            return None
        momentum = kin.mass.dot(modes)
        return np.asarray(RATE * (momentum * weight).dot(momentum.T))
