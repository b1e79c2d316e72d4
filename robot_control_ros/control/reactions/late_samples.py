"""The stiffness that an effort law may have when joint states come late or seldom."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types import Array, CommandMode, RobotState
from ...laws.running_law import RunningLaw
from ...laws.softening import ELSEWHERE, JOINTS, TIP, springs_and_dampers
from ...robot.configuration import RobotConfig
from ...robot.model import RobotDynamics

# K τ² / Λ with critical damping: half of what is stable, as docs/stability.md advises
SPRING = 0.5 * 0.42
DAMPER = 2.0 * SPRING**0.5  # D τ / Λ there
SMOOTHING = 0.1  # s: time constant of the delay
# s of one sample: a clock that jumps, as that of a simulation that is reset, doesn't count for more
MAX_DELAY = 0.5
MAX_WEIGHT = 0.25  # of one sample: a single gap doesn't count for much
USUAL = 2.0  # periods of delay that every gain is taken to bear
SOFTEST = 1.0 / 16.0  # fraction of the stiffness below which the law doesn't run
# s between two looks at the inertia, which makes a cycle longer: it follows the posture
LOOK_PERIOD = 0.04


class LateSamples:
    """Softens an effort law by as much as the delay of its samples needs.

    A torque that answers late drives the arm instead of braking it. The delay is
    τ = age + interval / 2, with that of derived velocities added, smoothed over 0.1 s. Up to two
    nominal periods nothing is changed. Beyond, each spring K and damper D must keep

        K ≤ 0.21 Λ / τ²,   D ≤ 0.92 Λ / τ,

    with the inertia Λ of the tip or of the joints, along the axis that bears least. Twice that
    stiffness is the limit of Λ ẍ(t) + D ẋ(t - τ) + K x(t - τ) = 0 with critical damping, see
    docs/stability.md. All springs are scaled by the smallest fraction that this needs, and all
    dampers by its square root. Below 1/16 the law can't run. Springs and dampers are known by the
    roles of the gains, see :func:`~...core.gains.gain`.

    Args:
        robot: Configuration of the robot.

    Attributes:
        message: Words on what is softened, and why; empty where nothing is.
        fault: Reason why the law can't run; empty where it can.
        delay: Delay τ [s].
    """

    def __init__(self, robot: RobotConfig) -> None:
        self._usual = USUAL * robot.period  # delay that every gain bears [s]
        self.delay = 0.0
        self._interval = robot.period  # between samples, smoothed [s]
        self._derived = robot.profile.velocity_delay  # of velocities that are derived [s]
        self.message = ""
        self.fault = ""
        # fastest rates of springs [1/s²] and dampers [1/s], by which a delay is judged
        self._rates = (0.0, 0.0)
        self._rates_of = None  # gains that `_rates` was computed from
        self._looked = 0.0  # time at which it was computed [s]

    def observe(
        self,
        running: RunningLaw,
        gains: Any,
        state: RobotState,
        kin: RobotDynamics,
        interval: float,
    ) -> float:
        """The fraction of the stiffness that a law may have at a sample.

        Args:
            running, gains: Law, and the gains that it would have.
            state, kin: State of the sample, and the dynamics there.
            interval: Time since the last sample [s].
        """
        delay = state.age + interval / 2.0 + self._derived
        weight = interval / SMOOTHING
        if delay > MAX_DELAY:
            delay = MAX_DELAY
        if weight > MAX_WEIGHT:
            weight = MAX_WEIGHT
        self.delay += (delay - self.delay) * weight
        self._interval += (interval - self._interval) * weight
        self.message = ""
        self.fault = ""
        if self.delay <= self._usual or running.mode is not CommandMode.EFFORT:
            return 1.0
        fraction = self._fraction(gains, kin, state.time)
        if fraction >= 1.0:
            return 1.0
        age = max(self.delay - self._interval / 2.0 - self._derived, 0.0)
        derived = f", velocities derived {self._derived * 1e3:.0f} ms late" if self._derived else ""
        text = (
            f"joint states act {self.delay * 1e3:.0f} ms late ({1.0 / self._interval:.0f} Hz, {age * 1e3:.0f} ms old "
            f"by their stamps{derived}): the gains of {running.name} bear {self.delay * fraction**0.5 * 1e3:.0f} ms"
        )
        if fraction < SOFTEST:
            self.fault = text
        else:
            self.message = f"{text}; its stiffness is reduced to {fraction:.0%}"
        return fraction

    def _fraction(self, gains: Any, kin: RobotDynamics, time: float) -> float:
        """Fraction of the springs that the delay allows; springs of the null space don't count."""
        if gains is not self._rates_of or not 0.0 <= time - self._looked < LOOK_PERIOD:
            self._rates = _rates(gains, kin)
            self._rates_of = gains
            self._looked = time
        stiffness, damping = self._rates
        return float(
            1.0 / max(1.0, stiffness * self.delay**2 / SPRING, (damping * self.delay / DAMPER) ** 2)
        )


def _rates(gains: Any, kin: RobotDynamics) -> tuple[float, float]:
    """Largest :func:`max_rate` of the springs [1/s²], and of the dampers [1/s], of some gains."""
    kind: Any = type(gains)
    springs, dampers = (
        [_rate(getattr(gains, name), acts_on, kin) for name, acts_on in found.items()]
        for found in springs_and_dampers(kind)
    )
    return max(springs, default=0.0), max(dampers, default=0.0)


def max_rate(mass: Array, gain: Array) -> float:
    """Largest eigenvalue of M⁻¹ G, where G (n, n) is a stiffness or a damping of the joints.

    It is in 1/s² for a stiffness, and in 1/s for a damping.
    """
    return float(np.linalg.eigvals(np.linalg.solve(mass, gain)).real.max())


def _rate(gain: Any, acts_on: str, kin: RobotDynamics) -> float:
    """Return :func:`max_rate` of a gain of the joints or the tip; 0 where it acts elsewhere."""
    values = np.asarray(gain, dtype=float)
    if acts_on == ELSEWHERE:
        return 0.0
    if values.size in (1, 3) and acts_on == TIP:  # of translations
        values = np.concatenate((np.broadcast_to(values, 3), np.zeros(3)))
    matrix = values if values.ndim == 2 else np.diag(values)
    return max_rate(
        kin.mass, matrix if acts_on == JOINTS else kin.jacobian.T @ matrix @ kin.jacobian
    )
