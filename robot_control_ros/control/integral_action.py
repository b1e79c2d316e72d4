"""Integral action: it learns the torque that keeps a resting arm away from its
target, and adds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.gains import JOINT, ParameterSet, gain
from ..core.types import Array, Command, CommandMode, RobotState
from ..laws.running_law import RunningLaw
from ..laws.softening import springs_and_dampers
from ..robot.configuration import RobotConfig
from ..robot.model import RobotDynamics
from ..sensing.sensor_drift import AT_REST
from .standing_tip import touches

SMOOTHING = 0.05  # s: time constant of the velocities by which the arm rests
RESTED = 0.1  # s for which the arm rests before it learns
FORGETTING = 60.0  # s: time constant with which a resting arm forgets
LITTLE = 0.1  # N·m: less torque of the law is left to it


@dataclass(frozen=True, eq=False)
class IntegralSettings:
    """Integral action of all laws of torques; see :class:`IntegralAction`."""

    max_torque: Array = gain(
        0.0,
        size=JOINT,
        unit="N·m",
        upper=100.0,
        doc="Largest torque that the integral action adds, against what the model doesn't know. 0 is off.",
    )
    time: float = gain(
        1.0,
        unit="s",
        lower=0.1,
        upper=60.0,
        doc="Integral time: within it the torque of the law is taken over.",
    )


def integral_settings(n: int) -> ParameterSet:
    """The settings of a robot with n joints."""
    return ParameterSet(IntegralSettings, n, {})


class IntegralAction:
    """Adds the torque that holds a resting arm at its target, in place of the law's spring.

    Friction, a wrong mass or a wrong torque keep a compliant arm away from its target: in balance,
    its springs hold against them by their deflection. This takes their torque over while the arm
    rests:

        u' = s / T_i - u / T_f,  |u_i| <= c_i;  s = τ - g.

    τ is the torque that the law asks for, g the model's gravity, c `max_torque`, T_i `time`, and
    T_f 60 s. So the share T_i / (T_i + T_f) of the deflection is left. Torques |s| up to 0.1 N·m
    aren't learnt, so that an arm with friction comes to rest.

    u stays as it is, in this order of reasons:

    - while the arm or its reference moves, and 0.1 s longer: s accelerates the arm, then.
      Velocities count low-passed;
    - while a contact was found, or a wrench is measured that is larger than 2 N or 0.3 N·m: a push
      moves the arm as far as without u, and a wall isn't pressed harder and harder;
    - while the governor of the reference waits, because the arm is blocked;
    - under a law without a spring, which would be driven by u for ever.

    Without a wrench, a push and friction look the same. Then the arm resists a lasting push by up
    to c in each joint, and presses a surface that it rests against by as much more.

    Energy: in a motion u is constant, so it is the gradient of -uᵀ q. A motion that returns to
    where it began gets nothing from it, and any other one at most Σ c_i |Δq_i|. So the arm with its
    law stays passive while it moves. It is passive altogether where friction f_i >= c_i takes that
    work: u_i q̇_i <= f_i |q̇_i|.

    Source: integral action with bounded output, conditional integration against wind-up, K. J.
    Åström, T. Hägglund, Advanced PID Control, ISA 2006, section 3.5. The bound by friction:
    laws/friction_compensation.py.

    Args:
        robot: Configuration of the robot.

    Attributes:
        settings: Settings that may be changed at any time.
        torque: (n,) the last u [N·m].
    """

    def __init__(self, robot: RobotConfig) -> None:
        self.settings = integral_settings(robot.n)
        self._gravity_by_robot = robot.profile.gravity_by_robot
        self._none = np.zeros(robot.n)
        self.torque = self._none
        self._velocity = self._none  # low-passed
        self._rested = 0.0  # time for which the arm has rested [s]
        self._adopted = self.settings.current  # settings that `_on` is of
        self._on = False  # whether a torque may be learnt
        self._gains: type | None = None  # class of the gains that `_has_spring` is of
        self._has_spring = False

    def forget(self) -> None:
        """Begin with no torque."""
        self.torque = self._none
        self._velocity = self._none
        self._rested = 0.0

    @property
    def acts(self) -> bool:
        """True where it is switched on, or was until now."""
        current = self.settings.current
        if current is not self._adopted:
            self._adopted = current
            self._on = bool(current.max_torque.any())
        return self._on or self.torque is not self._none

    def add(
        self,
        command: Command,
        running: RunningLaw,
        state: RobotState,
        kin: RobotDynamics,
        dt: float,
        free: bool,
    ) -> Command:
        """Add u to the law's command; one that isn't of torques stays as it is.

        Args:
            command: Command of the law.
            running: Law that runs.
            state: State of the sample.
            kin: Dynamics of the sample.
            dt: Time since the last sample [s].
            free: False where a contact was found, the reference moves, or the governor waits.
        """
        if command.mode is not CommandMode.EFFORT:
            return command
        if not self._on:
            self.torque = self._none
            return command
        settings = self.settings.current
        if self._may_learn(running, state, dt, free):
            held = command.values if self._gravity_by_robot else command.values - kin.gravity
            learnt = np.where(np.abs(held) > LITTLE, held, 0.0) / settings.time
            self.torque = self.torque + dt * (learnt - self.torque / FORGETTING)
        self.torque = np.clip(self.torque, -settings.max_torque, settings.max_torque)
        return replace(command, values=command.values + self.torque)

    def _may_learn(self, running: RunningLaw, state: RobotState, dt: float, free: bool) -> bool:
        """Look whether the arm has rested long enough, by nothing but its law; call
        it for each sample.
        """
        self._velocity = self._velocity + dt / (SMOOTHING + dt) * (state.v - self._velocity)
        touched = state.wrench_on_tip is not None and touches(state.wrench_on_tip)
        rests = free and float(np.abs(self._velocity).max()) <= AT_REST
        if not (rests and self._springs(running) and not touched):
            self._rested = 0.0
            return False
        self._rested += dt
        return self._rested >= RESTED

    def _springs(self, running: RunningLaw) -> bool:
        """Look whether a law has a spring."""
        kind: Any = type(running.gains.target)
        if kind is not self._gains:
            self._gains = kind
            springs, _ = springs_and_dampers(kind)
            self._has_spring = bool(springs)
        return self._has_spring
