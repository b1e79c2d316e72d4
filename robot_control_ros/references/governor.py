"""A clock for references: it runs slower while the arm is blocked, and goes on without a surge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..core.spatial import pose_error
from ..core.types import Array, Reference
from .trajectory import Trajectory

ONSET = 0.6  # fraction of the spring's bound from which on the reference is slowed down
RECOVERY = 4.0  # 1/s, with which the clock comes back to its full rate
WAITS = 0.1  # of the clock's rate: below it a person would say that the reference waits
BLOCKED = "the arm is blocked: its spring is at the bound, and the reference waits"
LEAST = 1e-9  # of an error times what is headed for; below it is rounding


class Governor:
    """Samples a trajectory by a clock of rate σ, from 0 to 1.

    With the load u, the spring's force over its bound, σ is at most (1 - u) / (1 - 0.6). It falls
    at once and rises by 4/s. The reference is the pose at t_ref, with the twist σ V and the
    acceleration σ² a + σ' V, where t_ref' = σ. A damper on the reference's twist pushes with D σ V
    only. So a blocked arm pushes with the spring's bound alone. The reference waits at the bound,
    and a release sets free the energy of the spring there.

    The clock isn't slowed down where the reference comes nearer to the tip, as after a push ahead.
    The direction of the reference is the trajectory's `heading` (6,), where it has one, else its
    twist. So a target behind frees a blocked arm. A new trajectory begins with the clock of the
    samples.

    Where the trajectory is faster than the tip may be, the rate is at most their ratio.

    Source: E. Gilbert, I. Kolmanovsky, Nonlinear tracking control in the presence of state and
    control constraints: a generalized reference governor, Automatica 38(12), 2002.

    Attributes:
        rate: Rate σ of the clock.
        time: Time t_ref of the last sample [s].
        max_speed: Largest speed of the tip's reference [m/s].
        max_speed_along: Function that returns the largest speed along a velocity (3,) of the
            reference; None where the direction doesn't matter.
    """

    def __init__(self) -> None:
        self.rate = 1.0
        self.time = 0.0
        self.max_speed = math.inf
        self.max_speed_along: Callable[[Array], float] | None = None
        self._bearable = 1.0  # σ that the load leaves
        self._lag = 0.0
        self._last = 0.0
        self._slope = 0.0
        self._trajectory: Trajectory | None = None
        self._nominal = Reference()  # of the last sample, with the twist V

    def sample(self, trajectory: Trajectory, time: float) -> Reference:
        """The reference at a time [s] by the samples' clock."""
        if trajectory is not self._trajectory:
            self._trajectory = trajectory
            self._lag = 0.0
            self.rate = 1.0
            self._bearable = 1.0
        elif self.rate < 1.0:
            self._lag += (1.0 - self.rate) * (time - self._last)
        self._last = time
        at = time - self._lag
        self.time = at
        reference = trajectory.sample(at)
        if reference is not self._nominal:  # one that rests is the same as before
            self._nominal = reference
            self._keep_speed(reference.twist)
        return reference if self.rate == 1.0 else self._slowed(reference)

    def _keep_speed(self, twist: Array | None) -> None:
        """Slow the clock down where the trajectory's twist (6,) is too fast."""
        if twist is None:
            return
        most = self.max_speed
        if self.max_speed_along is not None:
            most = min(most, self.max_speed_along(twist[:3]))
        x, y, z, *_ = twist.tolist()  # plain numbers: numpy takes longer for so few
        square = x * x + y * y + z * z
        if square * self.rate**2 > most**2:
            self.rate = most / math.sqrt(square)
            self._slope = 0.0

    @property
    def message(self) -> str:
        """Message that the reference waits; empty where it goes on."""
        return BLOCKED if self._bearable <= WAITS else ""

    def observe(self, load: float, reference: Reference, pose: Array, dt: float) -> None:
        """Choose the clock's rate by the load of the law's spring.

        The rate falls at once to what the load bears, and recovers slowly. Only a reference that
        leads away from the tip is slowed.

        Args:
            load: Force of the spring over its bound, 0 to 1.
            reference: Reference of the cycle.
            pose: Pose (4, 4) of the tip.
            dt: Time since the cycle before [s].
        """
        if load <= ONSET and self.rate == 1.0:
            return
        self._bearable = 1.0
        if load > ONSET and self._leads(reference, pose):
            self._bearable = max((1.0 - load) / (1.0 - ONSET), 0.0)
        before = self.rate
        self.rate = min(self._bearable, before + RECOVERY * dt)
        self._slope = max(self.rate - before, 0.0) / dt

    def _leads(self, reference: Reference, pose: Array) -> bool:
        """Return True where the trajectory goes away from the tip, in position or rotation."""
        heading = getattr(self._trajectory, "heading", self._nominal.twist)
        # any() takes three times as long
        if heading is None or reference.pose is None or heading.dot(heading) == 0.0:
            return False
        away = pose_error(reference.pose, pose) * heading
        return bool(max(away[:3].sum(), away[3:].sum()) > LEAST)

    def _slowed(self, reference: Reference) -> Reference:
        rate = self.rate
        slope = self._slope

        def velocity(full: Array | None) -> Array | None:
            return None if full is None else np.asarray(rate * full)

        def acceleration(full: Array | None, speed: Array | None) -> Array | None:
            return (
                None
                if full is None or speed is None
                else np.asarray(rate**2 * full + slope * speed)
            )

        return replace(
            reference,
            twist=velocity(reference.twist),
            acceleration=acceleration(reference.acceleration, reference.twist),
            v=velocity(reference.v),
            a=acceleration(reference.a, reference.v),
        )
