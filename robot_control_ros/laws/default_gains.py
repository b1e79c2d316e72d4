"""Default gains that suit an arm: by its inertia at home, and by whether a joint turns or slides.

A law declares its gains for an arm of a person's size. A joint with a spring K and an inertia M has
the natural frequency √(K/M). On a small arm the declared spring would be so fast that the delay of
a loop makes it ring; on a heavy one it would be slow. So a default is changed, where it is beyond:

    SLOWEST² M_ii ≤ K ≤ FASTEST² m_i,   m_i = 1/(M⁻¹)_ii,

with the inertia M_ii of a joint while the others stand still, and m_i while they are free. No mode
of all joints together is faster, either: the largest eigenvalue of M⁻¹ K is at most FASTEST², and
that of M⁻¹ D at most DECAY. A torque that is late by τ leaves a damper stable up to DECAY τ = π/2,
so up to 10 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..core.gains import LENGTH, GainSpec, gain_specs
from ..core.types import Array
from ..robot.configuration import RobotConfig
from ..robot.implausible import torque_problem
from ..robot.model import RobotModel
from ..robot.payload import Payload

FASTEST = 50.0  # rad/s, natural frequency
SLOWEST = 4.0  # rad/s
DECAY = 150.0  # 1/s, of a velocity that is damped
RATIOS = (0.4, 1.6)  # damping ratios between which a declared damping stays
# of a damper that only takes motion away, so that a hand can lead the arm
DRAG = 10.0  # 1/s
REGULAR = (
    1e-12  # smallest eigenvalue of an inertia over the largest one, so that it can be inverted
)
GROUPS = (slice(0, 3), slice(3, 6))  # translations and rotations of the tip


@dataclass(frozen=True, eq=False)
class ArmAtHome:
    """An arm at its home, as default gains need it.

    Attributes:
        mass: (n, n) joint-space inertia, with rotors and payload [kg·m²].
        jacobian: (6, n) of the tip.
        slides: (n,) True for each joint that slides.
        axes: (6,) 1 for each axis that the arm can move its tip in, else 0.
        problem: Reason why no law of torques can run, in words; empty where one can. Then the other
            figures have no meaning.
    """

    mass: Array
    jacobian: Array
    slides: NDArray[np.bool_]
    axes: Array
    problem: str

    @cached_property
    def free_inertia(self) -> Array:
        """(n,) inertia of each joint while the others are free [kg·m²]."""
        return np.asarray(1.0 / np.linalg.inv(self.mass).diagonal())

    @cached_property
    def tip_inertia(self) -> Array:
        """(6,) inertia of the tip along each axis while the others are free [kg, kg·m²].

        It is infinite along an axis in which the joints don't move the tip.
        """
        mobility = self.jacobian @ np.linalg.solve(self.mass, self.jacobian.T)
        diagonal = mobility.diagonal()
        moves = diagonal > 0.0
        return np.where(moves, 1.0 / np.where(moves, diagonal, 1.0), np.inf)

    def per_joint(self, default: float) -> Array:
        """A gain (n,) of joints that turn, as one of joints that slide where they do.

        A force acts on a lever of 0.3 m then, as rotations count beside translations elsewhere.
        """
        return np.where(self.slides, default / LENGTH**2, default)

    def fastest(self, gain: Array) -> float:
        """Largest eigenvalue of M⁻¹ G for a gain G (n, n) of the joints: [1/s²] or [1/s]."""
        lower = np.linalg.cholesky(self.mass)
        half = np.linalg.solve(lower, gain)
        return float(np.linalg.eigvalsh(np.linalg.solve(lower, half.T))[-1])


def joint_stiffness(arm: ArmAtHome, gains_type: type, name: str = "stiffness") -> Array:
    """Stiffness K (n,) of critically damped joints [N·m/rad]; see the module.

    Args:
        arm: Arm at home.
        gains_type: Gains of the law.
        name: Name of the stiffness among them.
    """
    spec = _spec(gains_type, name)
    declared = arm.per_joint(_number(spec))
    inertia = arm.mass.diagonal()
    stiffness = np.maximum(declared, SLOWEST**2 * inertia)
    stiffness = np.minimum(stiffness, np.minimum(FASTEST**2 * arm.free_inertia, spec.upper))
    damping = 2.0 * np.sqrt(stiffness * inertia)
    fastest = arm.fastest(np.diag(stiffness))
    decay = arm.fastest(np.diag(damping))
    return stiffness * min(1.0, FASTEST**2 / fastest, (DECAY / decay) ** 2)


def joint_damping(arm: ArmAtHome, stiffness: Array, gains_type: type, name: str) -> Array:
    """Damping D (n,) of joints with a spring [N·m·s/rad]: the declared one, within RATIOS.

    Args:
        arm: Arm at home.
        stiffness: (n,) springs of the joints [N·m/rad].
        gains_type: Gains of the law.
        name: Name of the damping among them.
    """
    critical = 2.0 * np.sqrt(stiffness * arm.mass.diagonal())
    spec = _spec(gains_type, name)
    declared = arm.per_joint(_number(spec))
    damping = np.clip(declared, RATIOS[0] * critical, RATIOS[1] * critical)
    damping = np.minimum(damping, spec.upper)
    return damping * min(1.0, DECAY / arm.fastest(np.diag(damping)))


def joint_drag(arm: ArmAtHome, gains_type: type, name: str) -> Array:
    """Damping (n,) of joints without a spring [N·m·s/rad]: it takes a velocity by DRAG at most.

    Args:
        arm: Arm at home.
        gains_type: Gains of the law.
        name: Name of the damping among them.
    """
    return np.minimum(arm.per_joint(_number(_spec(gains_type, name))), DRAG * arm.free_inertia)


def tip_stiffness(arm: ArmAtHome, gains_type: type) -> Array:
    """Stiffness (6,) of the tip [N/m, N·m/rad]: translations and rotations each softer where
    they are faster than FASTEST.

    Args:
        arm: Arm at home.
        gains_type: Gains of the law, with a `stiffness`.
    """
    stiffness = _of_tip(gains_type, "stiffness")
    for group in GROUPS:
        jacobian = arm.axes[group, None] * arm.jacobian[group]
        fastest = arm.fastest(jacobian.T @ (stiffness[group, None] * jacobian))
        if fastest > FASTEST**2:
            stiffness[group] *= FASTEST**2 / fastest
    return stiffness


def tip_damping(arm: ArmAtHome, stiffness: Array, gains_type: type) -> Array:
    """Damping (6,) of the tip beside a spring [N·s/m, N·m·s/rad]: the declared one within half of
    the critical damping and all of it.

    It is 0 along axes that the arm doesn't move.

    Args:
        arm: Arm at home.
        stiffness: (6,) springs of the tip.
        gains_type: Gains of the law, with a `damping`.
    """
    moves = np.isfinite(arm.tip_inertia)
    critical = 2.0 * np.sqrt(stiffness * np.where(moves, arm.tip_inertia, 0.0))
    damping = arm.axes * np.clip(_of_tip(gains_type, "damping"), 0.5 * critical, critical)
    damping = np.minimum(damping, _spec(gains_type, "damping").upper)
    decay = arm.fastest(arm.jacobian.T @ (damping[:, None] * arm.jacobian))
    return damping * min(1.0, DECAY / decay) if decay > 0.0 else damping


def tip_drag(arm: ArmAtHome, gains_type: type, name: str) -> Array:
    """Damping (6,) of a tip without a spring [N·s/m, N·m·s/rad]: critical at FASTEST at most.

    Args:
        arm: Arm at home.
        gains_type: Gains of the law.
        name: Name of the damping among them.
    """
    spec = _spec(gains_type, name)
    return np.maximum(
        np.minimum(_of_tip(gains_type, name), 2.0 * FASTEST * arm.tip_inertia), spec.lower
    )


def _spec(gains_type: type, name: str) -> GainSpec:
    (spec,) = (each for each in gain_specs(gains_type) if each.name == name)
    return spec


def _number(spec: GainSpec) -> float:
    """The declared default of a gain of the joints, which is one number for all."""
    assert isinstance(spec.default, float)
    return spec.default


def _of_tip(gains_type: type, name: str) -> Array:
    """The declared default (6,) of a gain of the tip."""
    return np.array(np.broadcast_to(_spec(gains_type, name).default, 6), dtype=float)


def arm_at_home(robot: RobotConfig) -> ArmAtHome:
    """The arm of a configuration at its home.

    Raises:
        ModelError: see :class:`~..robot.model.RobotModel`.
    """
    rotors = robot.rotor_inertia, robot.described_rotor_inertia or (0.0,) * robot.n
    limits = tuple((name, tuple(values)) for name, values in robot.profile.limits.items())
    payload = tuple(robot.payload.row.tolist())
    frames = robot.base, robot.tip
    return _arm_at_home(
        robot.urdf(), robot.joints, frames, rotors, robot.home, robot.axes, limits, payload
    )


@lru_cache(maxsize=32)
def _arm_at_home(
    urdf: str,
    joints: tuple[str, ...],
    frames: tuple[str, str],
    rotors: tuple[tuple[float, ...], tuple[float, ...]],
    home: tuple[float, ...],
    axes: tuple[float, ...],
    limits: tuple[tuple[str, tuple[float, ...]], ...],
    payload: tuple[float, ...],
) -> ArmAtHome:
    """The arm of a configuration, by its parts: they can be compared, as a configuration can't.

    Args:
        urdf: Text of the description.
        joints: Names of the joints.
        frames: Names of base and tip.
        rotors: Inertias of the rotors, and of those that the published description holds [kg·m²].
        home: Joint angles at home [rad].
        axes: 1 for each axis that the arm can move its tip in.
        limits: Limits of the profile, by name.
        payload: Figures of the payload, see :attr:`~..robot.payload.Payload.row`.
    """
    carried = Payload.of_row(np.array(payload))
    model = RobotModel(urdf, joints, *frames, rotors[0], payload=carried)
    model.limits = model.limits.tightened(dict(limits))
    kin = model.at(np.array(home))
    mass = kin.mass + np.diag(rotors[1])
    eigenvalues = np.linalg.eigvalsh(mass)
    least = REGULAR * float(np.abs(eigenvalues).max())
    if eigenvalues[0] < least:  # a mass on the axis of a joint, at home alone
        mass = mass + least * np.eye(len(joints))
    return ArmAtHome(mass, kin.jacobian, model.slides, np.array(axes), torque_problem(model))
