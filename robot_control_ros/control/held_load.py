"""The torque that holds a resting arm beyond that of its model, such as that of an unknown load."""

from __future__ import annotations

import numpy as np

from ..core.types import Array, RobotState
from ..robot.model import RobotDynamics
from ..sensing.sensor_drift import AT_REST

LOAD_PERIOD = 0.05  # s between two looks at a resting arm
# s: time constant of the torque; and how long the arm must rest on, so that it counts
SMOOTHING = 0.1
WORK = 0.5  # J, by which the torque has faded away
# of the held torque, by its squares: a weight at the tip that explains less than that is none
EXPLAINED = 0.8
SEEN = 0.1  # s, for which a moving arm must have shown a weight without a break


class HeldLoad:
    """Lets a stopped arm hold the load that held still before.

    At rest the torques that were sent hold the arm, against weight, friction and contact. What they
    are beyond the model's holding torque, low-passed, is τ_s. The last 0.1 s before a motion don't
    count: there they already drive the arm. A stopped arm goes on with s τ_s, where

        s = max(0, 1 - W / 0.5 J),  W' = τ_sᵀ q̇, and W ≥ 0.

    A load that sinks takes work from τ_s: then s stays 1. Where nothing is there any more to be
    held, τ_s drives the arm, and fades with the work that it does: a force of 20 N ends after 25
    mm.

    A part of τ_s may be that of a weight m at the tip: the torque that holds a kilogram there,
    w = -J_vᵀ g, fits best with m = wᵀ τ_s / wᵀ w. Where m w has 0.8 of the squares of τ_s, that part
    follows the posture, τ_s(q) = m w(q) + τ_r, and only the rest τ_r is constant. Else m is 0: a
    contact, or friction, doesn't follow.

    A moving arm shows a weight, too: what was sent less the torque that the motion needs by the
    model, low-passed. It counts where m J_vᵀ (a_tip - g) explains it for 0.1 s without a break.
    Anything else that is seen in motion doesn't count.

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
        self._per_kilogram = self._none
        self._mass = 0.0  # m [kg]
        self._rest = self._none  # τ_r [N·m]
        self._work = 0.0
        self.present = self._none
        self._seen_mass = 0.0  # of a moving arm, low-passed [kg]
        self._seen = 0.0  # s since it was explained without a break
        # the same of a while ago, which counts if the arm rests on
        self._waiting: Array | None = None
        self._rested = 0.0  # s since then

    def learn(
        self, sent: Array, holding: Array, per_kilogram: Array, state: RobotState, dt: float
    ) -> None:
        """Learn from a sample of an arm that isn't stopped.

        The arm must have rested for a while. What was learnt counts one such while later, so that
        the beginning of a push or a fault isn't taken for a load.

        Args:
            sent: Torques (n,) of the last command [N·m].
            holding: Torques (n,) that hold the arm by its model [N·m].
            per_kilogram: Torques (n,) that hold a kilogram at the tip, w [N·m/kg].
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
            self._adopt(self._waiting, per_kilogram)
        self._waiting = self.present
        self._rested = 0.0

    def learn_in_motion(self, excess: Array, moved: Array, per_kilogram: Array, dt: float) -> None:
        """Learn from a sample of a moving arm.

        Args:
            excess: Torques (n,) that were sent beyond what the motion needs by the model [N·m].
            moved: Torques (n,) that a kilogram at the tip needs in this motion [N·m/kg].
            per_kilogram: Torques (n,) that hold a kilogram at the tip, w [N·m/kg].
            dt: Time since the last call [s].
        """
        square = float(moved.dot(moved))
        if square == 0.0:
            return
        mass = max(0.0, float(moved.dot(excess)) / square)
        left = excess - mass * moved
        size = max(float(excess.dot(excess)), self._mass**2 * square)
        if float(left.dot(left)) > (1.0 - EXPLAINED) * size:
            self._seen = 0.0
            return
        if self._seen == 0.0:
            self._seen_mass = mass
        self._seen_mass += dt / (SMOOTHING + dt) * (mass - self._seen_mass)
        self._seen += dt
        if self._seen > SEEN:
            self._adopt(self._seen_mass * per_kilogram, per_kilogram)

    def hand_over(self, torque: Array) -> None:
        """Leave a part (n,) [N·m] of the held torque to the model, such as that of a payload."""
        self._adopt(self._torque - torque, self._per_kilogram)
        self.present = self.present - torque
        if self._waiting is not None:
            self._waiting = self._waiting - torque

    def _adopt(self, torque: Array, per_kilogram: Array) -> None:
        """Take over a torque τ_s (n,) [N·m], and find the weight in it; w (n,) is that of the
        posture.
        """
        self._torque = torque
        self._per_kilogram = per_kilogram
        self._mass = 0.0
        square = float(per_kilogram.dot(per_kilogram))
        if square > 0.0:
            mass = max(0.0, float(per_kilogram.dot(torque)) / square)
            if mass**2 * square >= EXPLAINED * float(torque.dot(torque)):
                self._mass = mass
        self._rest = torque - self._mass * per_kilogram

    @property
    def share(self) -> float:
        """Share s of the torque that the work has left, 0 to 1."""
        return max(0.0, 1.0 - self._work / WORK)

    @property
    def mass(self) -> float:
        """Weight at the tip that a stopped arm holds, s m [kg]."""
        return self.share * self._mass

    @property
    def rest(self) -> Array:
        """Torque (n,) that it holds beside that weight, s τ_r [N·m]."""
        return np.asarray(self.share * self._rest)

    def torque(self, per_kilogram: Array, v: Array | None = None, dt: float = 0.0) -> Array:
        """Torque (n,) [N·m] that holds a stopped arm beyond the model's.

        Args:
            per_kilogram: Torques (n,) that hold a kilogram at the tip at this posture [N·m/kg].
            v: Joint velocities of a fresh sample (n,) [rad/s]; None where there is none, and the
                work isn't known.
            dt: Time since the last command [s].
        """
        torque = self._mass * per_kilogram + self._rest
        if v is not None:
            self._work = max(0.0, self._work + dt * float(torque.dot(v)))
        return np.asarray(self.share * torque)


def per_kilogram_at(kin: RobotDynamics) -> Array:
    """Torques (n,) that hold a kilogram at the tip, -J_vᵀ g [N·m/kg]."""
    return np.asarray(-kin.jacobian[:3].T.dot(kin.model.gravity))
