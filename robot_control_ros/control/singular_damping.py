"""Damping of joint motion near singular postures, where a law of the tip hardly damps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..core.types import Array, Command, CommandMode, Reference, RobotState
from ..laws.running_law import RunningLaw
from ..laws.softening import TIP, springs_and_dampers
from ..laws.spring.bounded_spring import BoundedSpring
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics
from .controller import tip_error

HEAVIEST = 1000.0  # kg: a direction in which the tip feels heavier counts as singular
LENGTH = 0.2  # m: a turn of 1 rad/s counts as 0.2 m/s
# 1/s with which motion in a singular direction is damped: from 1 to 0.01 rad/s in 2 s
SLOWEST = 2.5
FASTEST = 10.0
PERIOD = 0.02  # s for which a damping is kept
MOVED = 0.01  # rad, since the damping was designed


class SingularDamping:
    """Damps joint motion in the directions in which the tip can hardly move.

    A law of the tip damps by Jᵀ D J. Near a singular posture that fades in one direction v of the
    joints, while the spring still pulls: the elbow of a stretched arm swings through the straight
    posture for long. Here

        tau = -Σ r_i w_i (M v_i) (v_iᵀ M q̇),   w_i = max(0, 1 - 1000 kg σ_i²),

    with vᵢ from Jᵀ J v = σ² M v, vᵢᵀ M vᵢ = 1: 1/σ² is the mass that the tip feels like in that
    direction. A joint space that has more joints than axes has directions with σ = 0 always; they
    count as far as the next one does.

    The rate is critical for what the spring of force f does there: r_i = 2 √κ_i, between 2.5 and 10
    1/s, with

        κ_i = vᵢᵀ Jᵀ K J vᵢ - fᵀ J̇(vᵢ) vᵢ,

    the second derivative of the spring's potential, f and K those of translation and of rotation. A
    stretched arm that is drawn outwards is a pendulum, one that is drawn inwards stands on a
    saddle. A higher rate lets an arm creep towards its target, or stay on the saddle for long. Here
    f has the direction of the pose error, and K is the largest of all axes.

    Energy: the damping matrix is positive semidefinite, so it takes power only, however old it is.

    It works for torques of laws with a spring at the tip, and is 0 where the tip feels lighter than
    1000 kg in all directions.

    Source: `HEAVIEST` and the rates are this package's; the effective mass is that of O. Khatib,
    Inertial properties in robotic manipulation, Int. J. Robotics Research 14(1), 1995.

    Args:
        robot: Configuration of the robot.

    Attributes:
        torque: (n,) last torque of the damping [N·m].
    """

    def __init__(self, robot: RobotConfig) -> None:
        self._scale = np.array(robot.axes) * (1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH)
        self._free = max(robot.n - int(np.count_nonzero(robot.axes)), 0)
        self._none = np.zeros(robot.n)
        self.torque = self._none
        self._age = np.inf
        self._gains: type | None = None
        self._springs: tuple[str, ...] = ()
        # of the posture; None where it isn't singular
        self._modes: tuple[Array, Array, Array, Array] | None = None
        self._damping: Array | None = None
        self._posture = np.full(robot.n, np.nan)

    def add(
        self,
        command: Command,
        running: RunningLaw,
        reference: Reference,
        state: RobotState,
        kin: RobotDynamics,
        dt: float,
    ) -> Command:
        """The law's command with the damping; `command` itself where there is none.

        `dt` [s] is the time since the last command.
        """
        gains = running.gains.target
        kind: Any = type(gains)
        if kind is not self._gains:
            self._gains = kind
            self._age = np.inf
            springs, _ = springs_and_dampers(kind)
            self._springs = tuple(name for name, acts_on in springs.items() if acts_on == TIP)
        if not self._springs or command.mode is not CommandMode.EFFORT:
            self._damping = None
            self.torque = self._none
            return command
        self._age += dt
        if self._age >= PERIOD:
            self._refresh(gains, reference, kin)
        if self._damping is None:
            self.torque = self._none
            return command
        self.torque = -self._damping.dot(state.v)
        return replace(command, values=command.values + self.torque)

    def _refresh(self, gains: Any, reference: Reference, kin: RobotDynamics) -> None:
        """Find the singular directions anew where the posture is another one, and their rates."""
        self._age = 0.0
        away = kin.q - self._posture
        if not float(away.dot(away)) < MOVED**2:
            self._modes = self._find_modes(kin)
            self._posture = kin.q
        self._damping = None
        if self._modes is not None:
            momentum, weights, moved, bent = self._modes
            stiffness, force = self._spring(gains, tip_error(reference, kin))
            rates = 2.0 * np.sqrt(np.maximum(stiffness.dot(moved) - force.dot(bent), 0.0))
            self._damping = (momentum * (weights * np.clip(rates, SLOWEST, FASTEST))).dot(
                momentum.T
            )

    def _spring(self, gains: Any, error: Array) -> tuple[Array, Array]:
        """The largest stiffness of translation and of rotation (2,), and the force (6,)
        at a pose error (6,).
        """
        stiffness = np.zeros(2)
        for name in self._springs:
            values = np.atleast_1d(np.asarray(getattr(gains, name), dtype=float))
            # at least the eigenvalues
            sizes = np.abs(values).sum(axis=1) if values.ndim == 2 else values
            stiffness = np.maximum(stiffness, (sizes[:3].max(), sizes[3:].max(initial=0.0)))
        bounds = (getattr(gains, name, 0.0) for name in ("max_force", "max_torque"))
        return stiffness, BoundedSpring(np.diag(np.repeat(stiffness, 3)), *bounds).gradient(error)

    def _find_modes(self, kin: RobotDynamics) -> tuple[Array, Array, Array, Array] | None:
        """Find the singular directions vᵢ of this posture.

        Returns:
            M vᵢ (n, m), wᵢ (m,), |J vᵢ|² of translation and of rotation (2, m), and J̇(vᵢ) vᵢ
            (6, m); None where the posture has no singular direction.
        """
        scaled = self._scale[:, None] * kin.jacobian
        square = scaled.T.dot(scaled)
        if not self._free and lapack.dpotrf(square - kin.mass / HEAVIEST)[1] == 0:
            return None  # positive definite: all σ² are above 1 / HEAVIEST, the usual case
        squares, modes, info = lapack.dsygv(square, kin.mass)
        if info != 0:
            return None
        weights = np.maximum(1.0 - HEAVIEST * squares, 0.0)
        weights[: self._free] = weights[self._free]
        if not weights.any():
            return None
        modes = modes[:, weights > 0.0]
        moved = kin.jacobian.dot(modes)
        bent = np.array([kin.model.jdot_v(kin.q, mode) for mode in modes.T]).T
        return kin.mass.dot(modes), weights[weights > 0.0], _halves(moved) ** 2, bent


def _halves(twists: Array) -> Array:
    """Lengths (2, ...) of the linear and the angular parts of (6, ...)."""
    return np.array((np.linalg.norm(twists[:3], axis=0), np.linalg.norm(twists[3:], axis=0)))
