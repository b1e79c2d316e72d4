"""The protocol of a trajectory, and the simplest trajectory."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ..core.errors import ConfigError, refused
from ..core.types import Array, Reference

STILL = 1e-6  # m/s and rad/s; inverse kinematics leave such speeds at rest


class Trajectory(Protocol):
    """A reference for every time."""

    def sample(self, t: float) -> Reference:
        """The reference at time t [s], the clock of RobotState.time."""


class Hold:
    """Rest at one pose and one posture.

    Args:
        pose: (4, 4) pose of the tip in the base.
        q: (n,) joint angles that go with it; None where they aren't known.
    """

    def __init__(self, pose: Array, q: Array | None) -> None:
        still = np.zeros(6)
        rest = None if q is None else np.zeros_like(q)
        self._reference = Reference(pose, still, still, None, q, rest, rest)

    def sample(self, t: float) -> Reference:
        return self._reference


def is_moving(trajectory: Trajectory, reference: Reference, t: float) -> bool:
    """Return True where a trajectory still moves after t [s], or will move.

    `reference` is its sample at t.
    """
    if any(
        rate is not None and np.abs(rate).max() > STILL for rate in (reference.twist, reference.v)
    ):
        return True
    return not getattr(trajectory, "arrived", True) or t < getattr(trajectory, "end", -math.inf)


def beginning(start: Reference, what: str) -> tuple[Array, Array]:
    """Pose (4, 4) and twist (6,) that `what` starts with; at rest where the reference has no twist.

    Raises:
        ConfigError: the reference has no pose.
    """
    if start.pose is None:
        raise ConfigError(f"{what} needs a reference pose to start from")
    return start.pose, np.zeros(6) if start.twist is None else start.twist


def check_positive(what: str, **values: float) -> None:
    """Raise ConfigError for the first of the values that isn't a finite number above 0."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise refused(
                name, value, "must be a finite number above 0", (0.0, math.inf), where=f"{what}: "
            )
