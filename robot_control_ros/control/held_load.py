"""The torque that holds a resting arm beyond that of its model, such as that of an unknown load."""

from __future__ import annotations

import numpy as np

from ..core.types import Array, RobotState
from ..sensing.sensor_drift import AT_REST

LOAD_PERIOD = 0.05  # s between two looks at a resting arm
# s: time constant of the torque; and how long the arm must rest on, so that it counts
SMOOTHING = 0.1
WORK = 0.5  # J, by which the torque has faded away


class HeldLoad:
    """Lets a stopped arm hold the load that held still before.

    At rest the torques that were sent hold the arm, against weight, friction and contact. What they
    are beyond the model's holding torque, low-passed, is τ_s. The last 0.1 s before a motion don't
    count: there they already drive the arm. A stopped arm goes on with s τ_s, where

        s = max(0, 1 - W / 0.5 J),  W' = τ_sᵀ q̇, and W ≥ 0.

    A load that sinks takes work from τ_s: then s stays 1. Where nothing is there any more to be
    held, τ_s drives the arm, and fades with the work that it does: a force of 20 N ends after 25
    mm.

    Energy: from the stop on the arm gets at most ∫ (1 - W / 0.5 J) dW = 0.25 J from s τ_s. So it is
    passive but for that.

    Args:
        n: Number of joints.

    Attributes:
        present: (n,) torques that hold the resting arm beyond the model's, low-passed [N·m].
    """

    def __init__(self, n: int) -> None:
        self._none = np.zeros(n)
        self.forget()

    def forget(self) -> None:
        """Hold nothing, and begin to learn anew."""
        self._torque = self._none
        self._work = 0.0
        self.present = self._none
        # the same of a while ago, which counts if the arm rests on
        self._waiting: Array | None = None
        self._rested = 0.0  # s since then

    def learn(self, sent: Array, holding: Array, state: RobotState, dt: float) -> None:
        """Learn from a sample of an arm that isn't stopped.

        The arm must have rested for a while. What was learnt counts one such while later, so that
        the beginning of a push or a fault isn't taken for a load.

        Args:
            sent: Torques (n,) of the last command [N·m].
            holding: Torques (n,) that hold the arm by its model [N·m].
            state: State of the sample.
            dt: Time since the last call [s].
        """
        self._work = 0.0
        if np.abs(state.v).max() > AT_REST:
            self._waiting = None
            self._rested = 0.0
            return
        self.present = self.present + dt / (SMOOTHING + dt) * (sent - holding - self.present)
        self._rested += dt
        if self._rested < SMOOTHING:
            return
        if self._waiting is not None:
            self._torque = self._waiting
        self._waiting = self.present
        self._rested = 0.0

    def hand_over(self, torque: Array) -> None:
        """Leave a part (n,) [N·m] of the held torque to the model, such as that of a payload."""
        self._torque = self._torque - torque
        self.present = self.present - torque
        if self._waiting is not None:
            self._waiting = self._waiting - torque

    def torque(self, v: Array | None = None, dt: float = 0.0) -> Array:
        """Torque (n,) [N·m] that holds a stopped arm beyond the model's.

        Args:
            v: Joint velocities of a fresh sample (n,) [rad/s]; None where there is none, and the
                work isn't known.
            dt: Time since the last command [s].
        """
        if v is not None:
            self._work = max(0.0, self._work + dt * float(self._torque.dot(v)))
        return np.asarray(max(0.0, 1.0 - self._work / WORK) * self._torque)
