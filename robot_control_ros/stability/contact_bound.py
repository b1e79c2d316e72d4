"""Bounds of a virtual body's mass and damping, by the sampled loop's eigenvalues on each axis.

The body M v̇ + B v + K x = f moves the command of the joint servos, and feels the force f that the
sensor shows. Along one axis, with the tip's inertia Λ and servos of bandwidth w,

    ẍ = w² (x_c - x) + 2 w (ẋ_c - ẋ) - (k / Λ) x,   f = -k x - m ẍ,

against a wall k, with a mass m beyond the sensor, whose inertia the sensor feels. In free space
k = 0. Then a body is unstable only where it is light in comparison with m. The body is integrated
once a period, implicitly, as the law does it. Its position and velocity act one delay after the
sample, until the next ones do. Over a period that is exact where the joints follow the body, so not
near singular postures.

:mod:`.wall_contact` has a formula for the wall that needs no posture.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from ..core.gains import gain_specs
from ..core.types import Array
from ..laws.running_law import RunningLaw
from ..robot.model import RobotDynamics
from .stiffness_bound import MAX_GROWTH, largest_stable, running_delay
from .wall_contact import WALL

SERVO = 150.0  # rad/s, bandwidth of stiff joint servos; the simulation's is the same
HEAVIEST = 1e3  # kg, bound of Λ near singular postures
DAMPING = (1.0, 1e5)  # N·s/m, range of the search


class SampledContact:
    """A servoed tip along one axis, at a wall or free; see the module.

    Args:
        inertia: Inertia Λ of the tip [kg].
        wall: Stiffness k of the wall [N/m]; 0 in free space.
        load: Mass m beyond the sensor [kg].
        period: Period T of the loop [s].
        delay: Time from a sample to the effect of its command [s].
        servo: Bandwidth w of the joint servos [rad/s].
    """

    def __init__(
        self,
        inertia: float,
        wall: float,
        load: float,
        period: float,
        delay: float,
        servo: float = SERVO,
    ) -> None:
        self._period = period
        self._whole = math.floor(delay / period + 1e-9)
        rest = max(delay - self._whole * period, 0.0)
        acceleration = np.array([-(servo**2) - wall / inertia, -2.0 * servo, servo**2, 2.0 * servo])
        self._force = -load * acceleration - wall * np.eye(4)[0]  # of x, ẋ, x_c, ẋ_c
        flow = np.zeros((4, 4))
        flow[0, 1] = 1.0
        flow[1] = acceleration
        before = expm(rest * flow)
        after = expm((period - rest) * flow)
        self._free = after[:2, :2].dot(before[:2, :2])
        self._old = after[:2, :2].dot(before[:2, 2:])
        self._new = after[:2, 2:]

    def growth(self, mass: float, damping: float, stiffness: float) -> float:
        """Largest absolute eigenvalue with a body of M [kg], B [N·s/m] and K [N/m]."""
        dt = self._period
        size = 6 + 2 * self._whole
        body = np.zeros((2, size))  # x and v after the step
        body[1, :2] = dt * self._force[:2]
        body[1, -2:] = dt * self._force[2:]
        body[1, 2:4] += (-dt * stiffness, mass)
        body[1] /= mass + dt * damping + dt**2 * stiffness
        body[0] = dt * body[1]
        body[0, 2] += 1.0
        # tip, body, then the commands from the last one back to the (d + 1)-th last
        loop = np.zeros((size, size))
        loop[:2, :2] = self._free
        loop[:2, -2:] = self._old
        if self._whole == 0:
            loop[:2] += self._new.dot(body)
        else:
            loop[:2, -4:-2] += self._new
        loop[2:4] = body
        loop[4:6] = body
        loop[6:, 4:-2] = np.eye(2 * self._whole)
        return float(np.abs(np.linalg.eigvals(loop)).max())


@dataclass(frozen=True, eq=False)
class ContactBound:
    """Least mass and damping of a virtual body along x, y and z.

    They are infinite where nothing in the range is stable.

    Attributes:
        mass: (3,) least mass, with the damping that the gains design for it [kg].
        damping: (3,) least damping, for the mass that the gains have [N·s/m].
    """

    mass: Array
    damping: Array


def contact_bound(
    running: RunningLaw,
    kin: RobotDynamics,
    *,
    wall: float = WALL,
    load: float = 0.0,
    delay: float | None = None,
) -> ContactBound | None:
    """The bound of an admittance with its target gains; None of a law without a virtual body.

    Args:
        running: Law on its robot, whose rate counts.
        kin: Dynamics at the posture; the mass matrix has the rotors' inertia.
        wall: Stiffness of the wall [N/m]; 0 in free space.
        load: Mass beyond the sensor [kg].
        delay: Time from a sample to the effect of its command [s]; None takes the profile's.
    """
    gains = running.gains.target
    if not hasattr(gains, "virtual_damping"):
        return None
    late = running_delay(running) if delay is None else delay
    mobility = kin.jacobian[:3] @ np.linalg.solve(kin.mass, kin.jacobian[:3].T)
    (spec,) = (each for each in gain_specs(type(gains)) if each.name == "mass")
    least = []
    for axis, light in enumerate(mobility.diagonal()):
        contact = SampledContact(
            1.0 / max(float(light), 1.0 / HEAVIEST), wall, load, running.robot.period, late
        )
        mass, stiffness, damping = (
            float(each[axis, axis]) for each in (gains.mass, gains.stiffness, gains.damping)
        )
        body = _Axis(contact, mass, stiffness, float(gains.damping_ratio[axis]), damping)
        least.append(
            (_least(body.bears_mass, spec.lower, spec.upper), _least(body.bears_damping, *DAMPING))
        )
    return ContactBound(*np.array(least).T)


@dataclass(frozen=True)
class _Axis:
    """The virtual body along one axis."""

    contact: SampledContact
    mass: float
    stiffness: float
    ratio: float
    damping: float

    def bears_mass(self, mass: float) -> bool:
        damping = self.damping + 2.0 * self.ratio * math.sqrt(mass * self.stiffness)
        return self.contact.growth(mass, damping, self.stiffness) <= MAX_GROWTH

    def bears_damping(self, damping: float) -> bool:
        return self.contact.growth(self.mass, damping, self.stiffness) <= MAX_GROWTH


def _least(stable: Callable[[float], bool], lowest: float, highest: float) -> float:
    """The smallest stable value above the last failure, from `highest` down.

    It is infinite where `highest` isn't stable.
    """
    largest = largest_stable(lambda inverse: stable(1.0 / inverse), 1.0 / highest, 1.0 / lowest)
    return 1.0 / largest if largest > 0.0 else math.inf
