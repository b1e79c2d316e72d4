"""A spring between tip and reference along the axes of a frame, and changes of it that don't make energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.gains import choice
from ...core.spatial import pose_error_and_map, skew
from ...core.types import Array
from ...robot.model import RobotDynamics
from .bounded_spring import BoundedSpring

BASE, REFERENCE, TIP = "base", "reference", "tip"
FRAMES = (BASE, REFERENCE, TIP)
CHANGE = 0.2  # s from one frame to another
TANK = 1.0  # J, at most, of dissipated energy that changes of a spring may use
_BASE_AXES = np.eye(3)
RIGID = 1e-9  # of a Jacobian, by which a link that moves with the tip may differ


def frame_gain(gains: str = "stiffness, damping and `axes`") -> Any:
    """The frame of a law's gains, in words."""
    doc = f"Axes of {gains}. A link that moves with the tip is the centre of compliance, too."
    return choice(BASE, FRAMES, links=True, doc=doc)


class ComplianceFrame:
    """The axes of a spring at a state, and where it acts.

    Args:
        name: base, reference, tip, or a link of the description.
        kin: of the robot, at any posture.

    Attributes:
        name: as given.
    """

    def __init__(self, name: str, kin: RobotDynamics) -> None:
        self.name = name
        self._offset: Array | None = None  # pose (4, 4) in the tip
        self._seen: RobotDynamics | None = None  # that the pose and Jacobian of the link are of
        if name not in FRAMES:
            pose, jacobian = kin.model.link(name, kin.q)
            lever = pose[:3, 3] - kin.pose[:3, 3]
            carried = _moved(kin.jacobian, lever)
            if float(np.abs(jacobian - carried).max()) < RIGID:
                self._offset = np.asarray(np.linalg.solve(kin.pose, pose), dtype=float)
        self._turns_with_tip = name == TIP or self._offset is not None
        self._is_link = name not in FRAMES and self._offset is None

    @property
    def in_tip(self) -> Array | None:
        """Its pose (4, 4) in the tip; None where it doesn't move with it."""
        return np.eye(4) if self.name == TIP else self._offset

    @property
    def is_other_link(self) -> bool:
        """Whether its axes are those of a link that moves otherwise than the tip."""
        return self._is_link

    def axes(self, kin: RobotDynamics, pose_ref: Array | None = None) -> Array:
        """Its axes E (3, 3) in the base; those of the reference are the tip's where there is none."""
        if self.name == TIP:
            return kin.pose[:3, :3]
        if self.name == BASE:
            return _BASE_AXES
        if self._is_link:
            return self._link(kin)[0][:3, :3]
        if self._offset is not None:
            return np.asarray(kin.pose[:3, :3].dot(self._offset[:3, :3]))
        pose = pose_ref if self.name == REFERENCE and pose_ref is not None else kin.pose
        return np.asarray(pose[:3, :3])

    def _link(self, kin: RobotDynamics) -> tuple[Array, Array]:
        if kin is not self._seen:
            self._seen, self._found = kin, kin.model.link(self.name, kin.q)
        return self._found

    def map(self, kin: RobotDynamics, pose_ref: Array | None = None) -> Array:
        """X (6, 6): from the tip's twist to that of the frame's origin along its axes; wrenches go back by Xᵀ."""
        axes, result = self.axes(kin, pose_ref), np.zeros((6, 6))
        result[:3, :3] = result[3:, 3:] = axes.T
        if self._offset is not None:
            result[:3, 3:] = -axes.T.dot(skew(kin.pose[:3, :3].dot(self._offset[:3, 3])))
        return result

    def error(self, pose_ref: Array, kin: RobotDynamics) -> tuple[Array, Array, Array]:
        """[d; ρ] (6,) of its origin in base axes, A = Jr⁻¹(ρ) (3, 3), and its axes E (3, 3)."""
        error, rotation_map = pose_error_and_map(pose_ref, kin.pose)
        if self._offset is not None:
            error[:3] += (pose_ref[:3, :3] - kin.pose[:3, :3]).dot(self._offset[:3, 3])
        return error, rotation_map, self.axes(kin, pose_ref)

    def wrench(self, pull: Array, error: Array, rotation_map: Array, kin: RobotDynamics) -> tuple[Array, Array | None]:
        """[f; m] (6,) at the tip, and the torques (n,) of axes that another link carries.

        `pull` (6,) has f and m_ρ in base axes; it is changed.
        """
        if self._turns_with_tip:
            lever = error[:3]
            if self._offset is not None:
                lever = lever + kin.pose[:3, :3].dot(self._offset[:3, 3])
            return _at_lever(pull, lever, rotation_map), None
        beside = self._link(kin)[1][3:].T.dot(_couple(error, pull)) if self._is_link else None
        turn = pull[3:]
        turn[:] = rotation_map.T.dot(turn)
        return pull, beside


# The next two are in plain numbers: numpy takes longer for so few.


def _couple(error: Array, pull: Array) -> Array:
    """Moment d × f + ρ × m (3,) of [d; ρ] and [f; m] (6,)."""
    (x, y, z, a, b, c), (fx, fy, fz, mx, my, mz) = error.tolist(), pull.tolist()
    about_x = (y * fz - z * fy) + (b * mz - c * my)
    about_y = (z * fx - x * fz) + (c * mx - a * mz)
    about_z = (x * fy - y * fx) + (a * my - b * mx)
    return np.array([about_x, about_y, about_z])


def _at_lever(pull: Array, lever: Array, rotation_map: Array) -> Array:
    """[f; A m + r × f] (6,) of [f; m] (6,)."""
    x, y, z, rx, ry, rz = pull.tolist()
    a, b, c = lever.tolist()
    (a1, a2, a3), (b1, b2, b3), (c1, c2, c3) = rotation_map.tolist()
    turn_x = a1 * rx + a2 * ry + a3 * rz + b * z - c * y
    turn_y = b1 * rx + b2 * ry + b3 * rz + c * x - a * z
    turn_z = c1 * rx + c2 * ry + c3 * rz + a * y - b * x
    return np.array([x, y, z, turn_x, turn_y, turn_z])


def frame_jacobian(gains: Any, kin: RobotDynamics) -> Array:
    """The Jacobian (6, n) of the frame in which gains are given; the tip's in base axes where they name none."""
    name = getattr(gains, "frame", BASE)
    return kin.jacobian if name == BASE else ComplianceFrame(name, kin).map(kin).dot(kin.jacobian)


def _moved(jacobian: Array, lever: Array) -> Array:
    """The Jacobian (6, n) of a point that is at a lever (3,) from the origin of another one."""
    result = jacobian.copy()
    result[:3] -= skew(lever).dot(jacobian[3:])
    return result


class TipSpring:
    """A bounded spring along the axes of a frame.

    With the axes E of the frame, the error in them is e_E = [Eᵀd; Eᵀρ], and the energy V(e_E) is that of
    BoundedSpring. [φ; μ] is its gradient, f = E φ, m_ρ = E μ, A = Jr⁻¹(ρ). At the tip it pulls with

        f,   m = Aᵀ m_ρ                where E is fixed in the base, or to the reference
        f,   m = A m_ρ + d × f         where E is fixed to the tip

    The moment d × f says that the force acts at the reference's point. It is exact: without it the law isn't passive.
    Axes of a link that moves otherwise add the torques J_linkᵀ (d × f + ρ × m_ρ) instead. A frame at r from the tip
    that moves with it has its own error d, and adds r × f.

    Source: J. Lončarić, Normal forms of stiffness and compliance matrices, IEEE J. Robotics and Automation 3(6), 1987;
    E. Fasse, J. Broenink, A spatial impedance controller for robotic manipulation, IEEE Trans. Robotics and Automation
    13(4), 1997.

    Args:
        spring: in the frame's axes.
        frame: of the stiffness.
    """

    def __init__(self, spring: BoundedSpring, frame: ComplianceFrame) -> None:
        self.spring, self.frame = spring, frame
        self._local = np.zeros(6)

    def pull(self, pose_ref: Array, kin: RobotDynamics) -> tuple[Array, Array | None]:
        """Wrench (6,) at the tip in base axes, and joint torques (n,) beside it; None where there are none."""
        error, rotation_map, axes = self.frame.error(pose_ref, kin)
        if self.frame.name == BASE:
            self._local = error
            return self.frame.wrench(self.spring.gradient(error), error, rotation_map, kin)
        self._local = error.reshape(2, 3).dot(axes).reshape(6)
        along = self.spring.gradient(self._local).reshape(2, 3).dot(axes.T).reshape(6)
        return self.frame.wrench(along, error, rotation_map, kin)

    def energy(self) -> float:
        """V [J] of the last pull."""
        return self.spring.energy(self._local)


class PassiveSpring:
    """A spring whose stiffness, bounds and frame may change while it is stretched, without making energy.

    A change within a frame is taken over at once, and one of the frame in 0.2 s: then V = (1 - s) V_1 + s V_2, whose
    gradient mixes the wrenches, so that only a change of s costs energy. What a change costs is paid from a tank of at
    most 1 J, full at first, that is filled by what the damper takes out. With an empty tank the change waits.

    Source: F. Ferraguti et al., An energy tank-based interactive control architecture for autonomous and teleoperated
    robotic surgery, IEEE Trans. Robotics 31(5), 2015.

    Args:
        spring: the first one.

    Attributes:
        tank: what is left in it [J].
        changes: whether a change is under way, or waits.
    """

    def __init__(self, spring: TipSpring) -> None:
        self._now, self._next, self._wanted = spring, spring, spring
        self._fraction, self.tank = 1.0, TANK

    @property
    def changes(self) -> bool:
        return self._wanted is not self._now

    @property
    def load(self) -> float:
        """See :class:`BoundedSpring`; of the spring that it goes to."""
        return self._next.spring.load

    def change(self, spring: TipSpring) -> None:
        """Go to another spring with the next pulls."""
        self._wanted = spring

    def pull(self, pose_ref: Array, kin: RobotDynamics, dissipated: float, dt: float) -> tuple[Array, Array | None]:
        """See :class:`TipSpring`, after `dt` seconds in which a damper took some energy [J]."""
        self.tank = min(self.tank + dissipated, TANK)
        if self._wanted is self._now:
            return self._now.pull(pose_ref, kin)
        first = self._now.pull(pose_ref, kin)
        energy = self._now.energy()
        if self._next is not self._wanted:
            self._aim(pose_ref, kin, energy)
        if self._next is self._now:
            return self._now.pull(pose_ref, kin)
        second = self._next.pull(pose_ref, kin)
        step = min(dt / CHANGE, 1.0 - self._fraction)
        cost = step * (self._next.energy() - energy)
        if cost > self.tank:
            step, cost = step * self.tank / cost, self.tank
        self.tank = min(self.tank - cost, TANK)
        self._fraction += step
        if self._fraction >= 1.0:
            self._now = self._next
        return _mixed(first, second, self._fraction)

    def _aim(self, pose_ref: Array, kin: RobotDynamics, energy: float) -> None:
        """Make the wanted spring the next one, where it can be paid; or begin a change to it."""
        rests = self._next is self._now
        if self._wanted.frame.name == self._next.frame.name:
            self._wanted.pull(pose_ref, kin)
            before = energy if rests else self._energy_of_next(pose_ref, kin)
            cost = self._fraction * (self._wanted.energy() - before)
            if cost <= self.tank:
                self.tank = min(self.tank - cost, TANK)
                self._next = self._wanted
                self._now = self._next if rests else self._now
                return
        if rests:
            self._next, self._fraction = self._wanted, 0.0

    def _energy_of_next(self, pose_ref: Array, kin: RobotDynamics) -> float:
        self._next.pull(pose_ref, kin)
        return self._next.energy()


def _mixed(
    first: tuple[Array, Array | None], second: tuple[Array, Array | None], fraction: float
) -> tuple[Array, Array | None]:
    """A fraction of the second wrench and torques, and the rest of the first."""
    wrench = (1.0 - fraction) * first[0] + fraction * second[0]
    if first[1] is None and second[1] is None:
        return wrench, None
    one, other = (0.0 if each[1] is None else each[1] for each in (first, second))
    return wrench, np.asarray((1.0 - fraction) * one + fraction * other)
