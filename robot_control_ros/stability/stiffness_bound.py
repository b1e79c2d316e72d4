"""The largest stable stiffness at a posture, a rate and a delay, by the sampled loop's eigenvalues.

At small errors the arm is M q̈ + B q̇ = tau. The law takes a sample each T, and its torque

    tau_k = -K δq_k - D q̇_k

acts from t_k + τ on, until the next one does. With τ = d T + r, 0 ≤ r < T, the motion over a period
is exact:

    x_{k+1} = Φ(T) x_k + Φ(T - r) Γ(r) tau_{k-d-1} + Γ(T - r) tau_{k-d},   x = [δq; q̇].

The loop, with the torques under way as states, is stable where no eigenvalue is larger than 1. For
one inertia that gives D T / M < 2 sin(π / (2 (2 d + 1))) without a spring. For d = 0 a spring needs
D > K T / 2, the condition of J. E. Colgate, G. Schenkel, Passivity of a class of sampled-data
systems, J. Robotic Systems 14(1), 1997.

M has the rotors' inertia; B is viscous friction. Coulomb friction is left out: it stops small
oscillations only. Rigid joints, exact velocities, and drives that give the commanded torque: so the
bounds are upper ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import expm

from ..core.gains import STIFFNESS, GainSpec, gain_specs
from ..core.types import Array, CommandMode
from ..laws.running_law import RunningLaw
from ..laws.spring.compliance_frame import frame_jacobian
from ..robot.model import RobotDynamics
from .wall_contact import USUAL_DELAY

# ratio of the scan from below, and of the bracket at its end, less 1
STEP = 4.0
TOLERANCE = 0.1
MAX_GROWTH = 1.0 + 1e-5  # of a stable loop in a period; what neither spring nor damper holds has 1
# fraction of a stiffness' range, or of the present stiffness, where the search begins
SOFTEST = 1e-3
STIFFEST = 1e4  # times the present stiffness, where the search ends


class SampledArm:
    """The arm at a posture under torques that are held and late; see the module.

    Args:
        mass: (n, n) mass matrix M [kg·m²].
        friction: (n,) viscous friction B of the joints [N·m·s/rad].
        period: Period T of the loop [s].
        delay: Time τ from a sample to the effect of its command [s].
    """

    def __init__(self, mass: Array, friction: Array, period: float, delay: float) -> None:
        n = len(mass)
        self._n = n
        self._whole = math.floor(delay / period + 1e-9)
        rest = max(delay - self._whole * period, 0.0)
        inverse = np.linalg.inv(mass)
        flow = np.zeros((3 * n, 3 * n))
        flow[:n, n : 2 * n] = np.eye(n)
        flow[n : 2 * n, n : 2 * n] = -inverse * friction
        flow[n : 2 * n, 2 * n :] = inverse
        before = expm(rest * flow)
        after = expm((period - rest) * flow)
        motion = after[: 2 * n, : 2 * n]
        state = slice(0, 2 * n)
        torque = slice(2 * n, None)
        self._free = motion.dot(before[state, state])
        self._old = motion.dot(before[state, torque])
        self._new = after[state, torque]

    def growth(self, stiffness: Array, damping: Array) -> float:
        """Largest absolute eigenvalue under K [N·m/rad] and D [N·m·s/rad], (n, n) each."""
        n = self._n
        whole = self._whole
        law = -np.hstack((stiffness, damping))
        # x, then the torques from the last one back to the (d + 1)-th last
        loop = np.zeros(((3 + whole) * n,) * 2)
        loop[: 2 * n, : 2 * n] = self._free
        loop[: 2 * n, -n:] = self._old
        if whole == 0:
            loop[: 2 * n, : 2 * n] += self._new.dot(law)
        else:
            loop[: 2 * n, -2 * n : -n] += self._new
        loop[2 * n : 3 * n, : 2 * n] = law
        loop[3 * n :, 2 * n : -n] = np.eye(whole * n)
        return float(np.abs(np.linalg.eigvals(loop)).max())


@dataclass(frozen=True, eq=False)
class StiffnessBound:
    """The largest stable stiffness of a law at a posture; each value is computed at its first use.

    Attributes:
        law: Class of the law, with `joint_gains`.
        gains: Gains of the law.
        mass: (n, n) mass matrix at the posture.
        jacobian: (6, n) Jacobian at the posture, along the axes of the gains.
        arm: Sampled model of the arm at the posture.
    """

    law: Any
    gains: Any
    mass: Array
    jacobian: Array
    arm: SampledArm

    @cached_property
    def factor(self) -> float:
        """The largest stable factor on the whole stiffness, at most 10⁴.

        It is 0 where the damping alone is unstable.
        """
        stiffness = self.gains.stiffness
        if not stiffness.any():
            return STIFFEST if self._stable(stiffness) else 0.0
        return largest_stable(lambda factor: self._stable(factor * stiffness), SOFTEST, STIFFEST)

    @cached_property
    def values(self) -> Array:
        """Largest stable stiffness (6,) or (n,) along each axis or joint, the others as they are.

        It is at most the gain's upper bound, and 0 where nothing is stable.
        """
        (spec,) = (each for each in gain_specs(type(self.gains)) if each.name == "stiffness")
        return self._each_value(spec)

    @cached_property
    def null_space(self) -> GainSpec | None:
        """Declaration of the stiffness in the null space; None where there is no null space."""
        axes = np.count_nonzero(getattr(self.gains, "axes", np.ones(6)))
        if len(self.mass) <= axes:
            return None
        specs = gain_specs(type(self.gains))
        springs = (spec for spec in specs if spec.null_space and spec.role == STIFFNESS)
        return next(springs, None)

    @cached_property
    def null_space_values(self) -> Array:
        """Largest stable stiffness (n,) of each joint in the null space, the others as they are.

        It is at most the gain's upper bound, and 0 where nothing is stable. Without a null space it
        has no values.
        """
        spec = self.null_space
        return np.zeros(0) if spec is None else self._each_value(spec)

    @cached_property
    def null_space_factor(self) -> float:
        """The largest stable factor on the whole stiffness of the null space, at most 10⁴.

        It is 0 where the arm is unstable without it.
        """
        spec = self.null_space
        stiffness = np.zeros(0) if spec is None else getattr(self.gains, spec.name)
        if spec is None or not stiffness.any():
            return STIFFEST if self._stable(self.gains.stiffness) else 0.0
        return largest_stable(
            lambda factor: self._is_stable({spec.name: factor * stiffness}), SOFTEST, STIFFEST
        )

    def _each_value(self, spec: GainSpec) -> Array:
        """Largest stable value of each entry of a gain, or of its diagonal; the others stay."""
        gain = getattr(self.gains, spec.name)
        bounds = []
        for index in range(len(gain)):
            place = (index, index) if gain.ndim == 2 else index

            def stable(value: float, place: Any = place) -> bool:
                changed = gain.copy()
                changed[place] = value
                return self._is_stable({spec.name: changed})

            bounds.append(largest_stable(stable, SOFTEST * spec.upper, spec.upper))
        return np.array(bounds)

    def _stable(self, stiffness: Array) -> bool:
        return self._is_stable({"stiffness": stiffness})

    def _is_stable(self, values: Mapping[str, Array]) -> bool:
        """Look whether the loop is stable with some of the gains changed, by name."""
        gains = replace(self.gains, **values)
        return self.arm.growth(*self.law.joint_gains(gains, self.mass, self.jacobian)) <= MAX_GROWTH


def stiffness_bound(
    running: RunningLaw,
    kin: RobotDynamics,
    delay: float | None = None,
    friction: Array | None = None,
) -> StiffnessBound | None:
    """The bound of a law with its target gains; None without `joint_gains` or torques.

    Args:
        running: Law on its robot, whose rate counts.
        kin: Dynamics at the posture; the mass matrix has the rotors' inertia.
        delay: Time from a sample to the effect of its command [s]; None takes the profile's.
        friction: (n,) viscous friction that the law feels [N·m·s/rad]; None takes the
            description's, less the part that is compensated.
    """
    if not hasattr(running.law, "joint_gains") or running.mode is not CommandMode.EFFORT:
        return None
    period = running.robot.period
    late = running_delay(running) if delay is None else delay
    if friction is None:
        by_robot = running.robot.profile.friction_by_robot
        felt = 0.0 if by_robot else 1.0 - getattr(running.gains.target, "friction", 0.0)
        friction = felt * kin.model.viscous_friction
    arm = SampledArm(kin.mass, friction, period, late)
    jacobian = frame_jacobian(running.gains.target, kin)
    return StiffnessBound(type(running.law), running.gains.target, kin.mass, jacobian, arm)


def running_delay(running: RunningLaw) -> float:
    """Time from a sample to the effect of its command [s].

    It is the profile's delay, or two periods where that has none. The delay of velocities that are
    derived comes in addition.
    """
    profile = running.robot.profile
    period = running.robot.period
    return (profile.delay or USUAL_DELAY * period) + profile.velocity_delay


def largest_stable(stable: Callable[[float], bool], lowest: float, highest: float) -> float:
    """The largest stable value that was tried below the first failure, from `lowest` > 0 to
    `highest`.

    The range is scanned from below in factors of STEP. Then it is bisected between the last stable
    value and the first failure, until their ratio is within 1 + TOLERANCE. An unstable island
    narrower than a step can be missed. The result is 0 where `lowest` isn't stable, and `highest`
    where all tried values are.
    """
    good = 0.0
    bad = lowest
    while stable(bad):
        good = bad
        bad = min(STEP * bad, highest)
        if good >= highest:
            return highest
    if good == 0.0:
        return 0.0
    while bad > (1.0 + TOLERANCE) * good:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if stable(middle) else (good, middle)
    return good
