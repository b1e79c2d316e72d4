"""A spring between tip and reference along a frame's axes; its changes don't make energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.compiled import compiled
from ...core.gains import choice
from ...core.record import Field, Record
from ...core.rotations import add_cross, log_jacobian_into, pose_error_into
from ...core.spatial import pose_error, skew
from ...core.types import Array, as_row
from ...robot.model import RobotDynamics
from ..energy_tank import fill, pay, pay_whole, unpaid
from .bounded_spring import (
    FRAME,
    FRAME_WIDTH,
    SPRING,
    WIDTH,
    BoundedSpring,
    frame_at,
    gradient_into,
    spring_at,
)

BASE = "base"
REFERENCE = "reference"
TIP = "tip"
FRAMES = (BASE, REFERENCE, TIP)
CHANGE = 0.2  # s from one frame to another
TANK = 1.0  # J, at most, of dissipated energy that changes of a spring may use; it is full at first
_BASE_AXES = np.eye(3)
RIGID = 1e-9  # of a Jacobian, by which a link that moves with the tip may differ
# Kinds of frames, as a spring's record has them: fixed in the base; turning with the reference;
# moving with the tip;
# of a link that moves otherwise.
FIXED = 0
WITH_REFERENCE = 1
WITH_TIP = 2
WITH_LINK = 3
# the springs of a change
NOW = 0
NEXT = 1
WANTED = 2

CHANGE_MEMORY = Record(
    "SpringChange",
    (
        Field(
            "springs",
            (3, WIDTH),
            "",
            "The spring that acts, the one that it changes to, and the one that is wanted.",
        ),
        Field("fraction", (), "", "Of the way to the next spring.", first=1.0),
        Field("tank", (), "J", "Energy that changes may use.", first=TANK),
        Field("changes", (), "", "1 where another spring is wanted than acts."),
        Field("next_is_now", (), "", "1 where no change is under way.", first=1.0),
        Field(
            "next_is_wanted",
            (),
            "",
            "1 where the change under way leads to the wanted spring.",
            first=1.0,
        ),
    ),
)
CHANGE_WIDTH = CHANGE_MEMORY.width(0)
change_at = CHANGE_MEMORY.views


def frame_gain(gains: str = "stiffness, damping and `axes`") -> Any:
    """Choice of the frame of a law's gains; `gains` names them in words."""
    doc = f"Axes of {gains}. A link that moves with the tip is the centre of compliance, too."
    return choice(BASE, FRAMES, links=True, doc=doc)


class ComplianceFrame:
    """The axes of a spring at a state, and the point at which it acts.

    Args:
        name: Name of the frame: `base`, `reference`, `tip`, or a link of the description.
        kin: Kinematics of the robot, at any posture.

    Attributes:
        name: Name of the frame.
        number: Number of the frame, the same in each model of the robot.
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
        self.number = (
            FRAMES.index(name) if name in FRAMES else len(FRAMES) + kin.model.frames.index(name)
        )
        self._turns_with_tip = name == TIP or self._offset is not None
        self._is_link = name not in FRAMES and self._offset is None

    @classmethod
    def of_number(cls, number: int, kin: RobotDynamics) -> ComplianceFrame:
        """The frame that has a number."""
        return cls((*FRAMES, *kin.model.frames)[number], kin)

    @property
    def in_tip(self) -> Array | None:
        """Pose (4, 4) of the frame in the tip; None where it doesn't move with the tip."""
        return np.eye(4) if self.name == TIP else self._offset

    @property
    def is_other_link(self) -> bool:
        """True where the axes are those of a link that moves otherwise than the tip."""
        return self._is_link

    @property
    def kind(self) -> int:
        """Kind of the frame: FIXED, WITH_REFERENCE, WITH_TIP or WITH_LINK."""
        if self._is_link:
            return WITH_LINK
        if self._turns_with_tip:
            return WITH_TIP
        return WITH_REFERENCE if self.name == REFERENCE else FIXED

    def write(self, row: Array) -> None:
        """Write the frame's kind, number and offset into its row; see FRAME."""
        frame = FRAME.by_name(row, 0)
        frame["kind"] = self.kind
        frame["number"] = self.number
        frame["offset"] = np.eye(4) if self.in_tip is None else self.in_tip

    def follow(self, row: Array, kin: RobotDynamics) -> None:
        """Write the pose of the frame's link into its row, if it moves otherwise than the tip."""
        if self._is_link:
            FRAME.by_name(row, 0)["link_pose"] = self._link(kin)[0]

    def link_turns(self, kin: RobotDynamics) -> Array:
        """Angular Jacobian (3, n) of the frame's link, if that moves otherwise than the tip."""
        return self._link(kin)[1][3:]

    def axes(self, kin: RobotDynamics, pose_ref: Array | None = None) -> Array:
        """Axes E (3, 3) of the frame in the base; without a reference, its axes are the tip's."""
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
            self._found = kin.model.link(self.name, kin.q)
            self._seen = kin
        return self._found

    def map(self, kin: RobotDynamics, pose_ref: Array | None = None) -> Array:
        """Map X (6, 6) from the tip's twist to that of the frame's origin, along the frame's axes.

        Wrenches go back by Xᵀ.
        """
        axes = self.axes(kin, pose_ref)
        result = np.zeros((6, 6))
        result[:3, :3] = axes.T
        result[3:, 3:] = axes.T
        if self._offset is not None:
            result[:3, 3:] = -axes.T.dot(skew(kin.pose[:3, :3].dot(self._offset[:3, 3])))
        return result

    def error(self, pose_ref: Array, kin: RobotDynamics) -> Array:
        """Error (6,) [m, rad] of the frame's origin, in base axes."""
        error = pose_error(pose_ref, kin.pose)
        if self._offset is not None:
            error[:3] += (pose_ref[:3, :3] - kin.pose[:3, :3]).dot(self._offset[:3, 3])
        return error


def frame_jacobian(gains: Any, kin: RobotDynamics) -> Array:
    """The Jacobian (6, n) of the frame in which gains are given; the tip's in base axes
    where they name none.
    """
    name = getattr(gains, "frame", BASE)
    return kin.jacobian if name == BASE else ComplianceFrame(name, kin).map(kin).dot(kin.jacobian)


def _moved(jacobian: Array, lever: Array) -> Array:
    """The Jacobian (6, n) of a point that is at a lever (3,) from the origin of another one."""
    result = jacobian.copy()
    result[:3] -= skew(lever).dot(jacobian[3:])
    return result


class TipSpring:
    """A bounded spring along the axes of a frame.

    With the axes E of the frame, the error in them is e_E = [Eᵀd; Eᵀρ], and the energy V(e_E) is
    that of
    BoundedSpring. [φ; μ] is its gradient, f = E φ, m_ρ = E μ, A = Jr⁻¹(ρ). At the tip it pulls with

        f,   m = Aᵀ m_ρ                where E is fixed in the base, or to the reference
        f,   m = A m_ρ + d × f         where E is fixed to the tip

    The moment d × f says that the force acts at the reference's point. It is exact: without it the
    law isn't passive. Axes of a link that moves otherwise add the torques J_linkᵀ (d × f + ρ × m_ρ)
    instead. A frame at r from the tip that moves with it has its own error d, and adds r × f.

    Source: J. Lončarić, Normal forms of stiffness and compliance matrices, IEEE J. Robotics and
    Automation 3(6), 1987; E. Fasse, J. Broenink, A spatial impedance controller for robotic
    manipulation, IEEE Trans. Robotics and Automation 13(4), 1997.

    Args:
        spring: Spring along the frame's axes.
        frame: Frame of the spring.
    """

    def __init__(self, spring: BoundedSpring, frame: ComplianceFrame) -> None:
        self.frame = frame
        self.row = spring.row
        self._named = SPRING.by_name(self.row, 0)
        frame.write(self._named["frame"])

    def pull(self, pose_ref: Array, kin: RobotDynamics) -> tuple[Array, Array | None]:
        """Wrench (6,) at the tip in base axes, and the joint torques (n,) that come with it.

        The torques are None where the frame isn't that of another link.
        """
        n = kin.v.size
        wrench = np.empty(6)
        torque = np.zeros(n)
        link_turns = np.zeros((3, n))
        if self.frame.is_other_link:
            self.frame.follow(self._named["frame"], kin)
            link_turns[:] = self.frame.link_turns(kin)
        target = as_row(pose_ref)
        pose = as_row(kin.pose)
        pull_into(self.row, link_turns, target, pose, wrench, torque, n)
        return wrench, torque if self.frame.is_other_link else None

    def energy(self) -> float:
        """Energy V [J] of the last pull."""
        return float(self._named["energy"])


class PassiveSpring:
    """A spring whose stiffness, bounds and frame may change while it is stretched, without making
    energy.

    A change within a frame is taken over at once, and one of the frame in 0.2 s: then
    V = (1 - s) V_1 + s V_2. Its gradient mixes the wrenches, so that only a change of s costs
    energy.

    The cost of a change is paid from a tank of at most 1 J. It is full at first, and the damper's
    energy fills it; see laws/energy_tank.py. A change within a frame that can't be paid at once
    goes by s, too: it is paid in parts. With an empty tank it stands still, and
    :func:`unpaid_change` says what is in force. It arrives when the damper has filled the tank, or
    when the load has gone: then it costs nothing.

    Source: F. Ferraguti et al., An energy tank-based interactive control architecture for
    autonomous and teleoperated robotic surgery, IEEE Trans. Robotics 31(5), 2015.

    Args:
        spring: Spring that acts at first.
        n: Number of joints.
    """

    def __init__(self, spring: TipSpring, n: int) -> None:
        self._n = n
        self._row = new_change()
        self._link_turns = np.zeros((9, n))
        self._named = CHANGE_MEMORY.by_name(self._row, 0)
        self._frames = SpringFrames(self._row, self._link_turns)
        for place in (NOW, NEXT, WANTED):
            self._named["springs"][place] = spring.row
            self._frames.adopt(spring.frame, place)

    @property
    def tank(self) -> float:
        """Energy that is left in the tank [J]."""
        return float(self._named["tank"])

    @property
    def changes(self) -> bool:
        """True where a change is under way, or waits."""
        return bool(self._named["changes"])

    def change(self, spring: TipSpring) -> None:
        """Go to another spring with the next pulls."""
        self._named["springs"][WANTED] = spring.row
        self._frames.adopt(spring.frame, WANTED)
        self._named["changes"] = 1.0
        self._named["next_is_wanted"] = 0.0

    def pull(
        self, pose_ref: Array, kin: RobotDynamics, dissipated: float, dt: float
    ) -> tuple[Array, Array]:
        """Wrench (6,) at the tip in base axes, and joint torques (n,); see :class:`TipSpring`.

        Args:
            pose_ref: Pose (4, 4) of the reference.
            kin: Kinematics of the robot.
            dissipated: Energy that a damper took since the last pull [J].
            dt: Time since the last pull [s].
        """
        wrench = np.zeros(6)
        torque = np.zeros(self._n)
        self._frames.follow(kin)
        target = as_row(pose_ref)
        pose = as_row(kin.pose)
        passive_pull(
            self._row, self._link_turns, target, pose, dissipated, dt, wrench, torque, self._n
        )
        return wrench, torque


class SpringFrames:
    """Writes the frames of a change's springs into its row, with the poses of their links.

    Args:
        row: Row of the change, see CHANGE_MEMORY.
        link_turns: (9, n) angular Jacobians of the springs' links, three rows for each spring.

    Attributes:
        may_follow: False where no frame is a link, until another one is adopted.
    """

    def __init__(self, row: Array, link_turns: Array) -> None:
        springs = CHANGE_MEMORY.by_name(row, 0)["springs"]
        begin = SPRING.place("frame", 0)
        self._rows = springs[:, begin : begin + FRAME_WIDTH]
        self._kinds = self._rows[:, 0]
        self._link_turns = link_turns
        self._links: dict[int, ComplianceFrame] = {}  # by their numbers
        self.may_follow = True

    def adopt(self, frame: ComplianceFrame, place: int = WANTED) -> None:
        """Give a frame to the spring at a place: NOW, NEXT or WANTED."""
        frame.write(self._rows[place])
        self.may_follow = True

    def follow(self, kin: RobotDynamics) -> None:
        """Write the poses and the angular Jacobians of frames that are links."""
        kinds = self._kinds.tolist()
        self.may_follow = WITH_LINK in kinds
        for place, kind in enumerate(kinds):
            if kind == WITH_LINK:
                row = self._rows[place]
                link = self._link(int(FRAME.by_name(row, 0)["number"]), kin)
                link.follow(row, kin)
                self._link_turns[3 * place : 3 * place + 3] = link.link_turns(kin)

    def _link(self, number: int, kin: RobotDynamics) -> ComplianceFrame:
        if number not in self._links:
            self._links[number] = ComplianceFrame.of_number(number, kin)
        return self._links[number]


# --- in a cycle ---


@compiled
def pull_into(
    row: Array, link_turns: Array, target: Array, pose: Array, wrench: Array, torque: Array, n: int
) -> None:
    """Write the wrench of a spring at the tip, and the torques of axes that another link carries.

    Args:
        row: Row of the spring.
        link_turns: Angular Jacobian (3, n) of the link of its frame, where it has one.
        target, pose: Wanted and present pose (4, 4) of the tip.
        wrench: Result, wrench (6,) at the tip in base axes; see :class:`TipSpring`.
        torque: Result, torques (n,) of the joints [N·m].
        n: Number of joints.
    """
    spring = spring_at(row, 0)
    kind = int(frame_at(spring.frame, 0).kind[0])
    error = np.empty(6)
    rotation_map = np.empty((3, 3))
    frame_error_into(spring.frame, target, pose, error)
    log_jacobian_into(error[3:], rotation_map)
    placement = np.empty((4, 4))
    placement_into(spring.frame, target, pose, placement)
    pull = np.empty(6)
    for half in range(2):
        for i in range(3):
            spring.local_error[3 * half + i] = 0.0
            for j in range(3):
                spring.local_error[3 * half + i] += placement[j, i] * error[3 * half + j]
    gradient_into(row, spring.local_error, pull)
    turn = np.empty(3)
    for i in range(3):
        wrench[i] = (
            placement[i, 0] * pull[0] + placement[i, 1] * pull[1] + placement[i, 2] * pull[2]
        )
        turn[i] = placement[i, 0] * pull[3] + placement[i, 1] * pull[4] + placement[i, 2] * pull[5]
    torque[:] = 0.0
    if kind == WITH_TIP:
        lever = np.empty(3)
        for i in range(3):
            lever[i] = error[i] + placement[i, 3]
            wrench[3 + i] = (
                rotation_map[i, 0] * turn[0]
                + rotation_map[i, 1] * turn[1]
                + rotation_map[i, 2] * turn[2]
            )
        add_cross(lever, wrench, wrench[3:])
        return
    for i in range(3):
        wrench[3 + i] = (
            rotation_map[0, i] * turn[0]
            + rotation_map[1, i] * turn[1]
            + rotation_map[2, i] * turn[2]
        )
    if kind == WITH_LINK:
        couple = np.zeros(3)
        add_cross(error, wrench, couple)
        add_cross(error[3:], turn, couple)
        for joint in range(n):
            for i in range(3):
                torque[joint] += link_turns[i, joint] * couple[i]


@compiled
def placement_into(row: Array, target: Array, pose: Array, placement: Array) -> None:
    """Write the placement [E, r; 0, 1] of a frame about the tip's origin, along the base's axes.

    E are the frame's axes. r leads to its origin, where it moves with the tip; else it acts at the
    tip, r = 0.

    Args:
        row: Row of the frame.
        target, pose: Wanted and present pose (4, 4) of the tip.
        placement: Result (4, 4).
    """
    frame = frame_at(row, 0)
    kind = int(frame.kind[0])
    for i in range(4):
        for j in range(4):
            placement[i, j] = 1.0 if i == j else 0.0
    if kind == FIXED:
        return
    for i in range(3):
        for j in range(3):
            if kind == WITH_REFERENCE:
                placement[i, j] = target[i, j]
            elif kind == WITH_LINK:
                placement[i, j] = frame.link_pose[i, j]
            else:
                placement[i, j] = _rotated(pose, frame.offset, i, j)
        if kind == WITH_TIP:
            placement[i, 3] = _rotated(pose, frame.offset, i, 3)


@compiled
def _rotated(pose: Array, offset: Array, i: int, j: int) -> float:
    """Number i, j of the rotation of a pose (4, 4) times a pose (4, 4)."""
    return float(pose[i, 0] * offset[0, j] + pose[i, 1] * offset[1, j] + pose[i, 2] * offset[2, j])


@compiled
def frame_error_into(row: Array, target: Array, pose: Array, error: Array) -> None:
    """Write the error (6,) [m, rad] of a frame's origin, base axes; see :func:`placement_into`."""
    frame = frame_at(row, 0)
    pose_error_into(target, pose, error)
    if int(frame.kind[0]) == WITH_TIP:
        for i in range(3):
            for j in range(3):
                error[i] += (target[i, j] - pose[i, j]) * frame.offset[j, 3]


@compiled
def twist_map_into(row: Array, target: Array, pose: Array, result: Array) -> None:
    """Write the map X (6, 6) from the tip's twist to that of a frame's origin, along its axes.

    Wrenches go back by Xᵀ. See :func:`placement_into`.
    """
    placement = np.empty((4, 4))
    placement_into(row, target, pose, placement)
    for i in range(3):
        for j in range(3):
            result[i, j] = placement[j, i]
            result[3 + i, j] = 0.0
            result[3 + i, 3 + j] = placement[j, i]
        result[i, 3] = placement[2, i] * placement[1, 3] - placement[1, i] * placement[2, 3]
        result[i, 4] = placement[0, i] * placement[2, 3] - placement[2, i] * placement[0, 3]
        result[i, 5] = placement[1, i] * placement[0, 3] - placement[0, i] * placement[1, 3]


@compiled
def passive_pull(
    row: Array,
    turns: Array,
    target: Array,
    pose: Array,
    dissipated: float,
    dt: float,
    wrench: Array,
    torque: Array,
    n: int,
) -> None:
    """Write wrench and torques of a spring that may change; see :class:`PassiveSpring`.

    Args:
        row: Row of the change, see CHANGE_MEMORY.
        turns: (9, n) angular Jacobians of the springs' links, three rows for each spring.
        target, pose: Wanted and present pose (4, 4) of the tip.
        dissipated: Energy that a damper took in the last cycle [J].
        dt: Time since the last cycle [s].
        wrench, torque: Results, see :func:`pull_into`.
        n: Number of joints.
    """
    change = change_at(row, 0)
    springs = change.springs
    fill(change.tank, dissipated, TANK)
    pull_into(springs[NOW], turns[0:3], target, pose, wrench, torque, n)
    if change.changes[0] == 0.0:
        return
    energy = spring_at(springs[NOW], 0).energy[0]
    if change.next_is_wanted[0] == 0.0:
        _aim(row, turns, energy, target, pose, n)
    if change.next_is_now[0] == 1.0:
        pull_into(springs[NOW], turns[0:3], target, pose, wrench, torque, n)
        return
    next_wrench = np.empty(6)
    next_torque = np.empty(n)
    pull_into(springs[NEXT], turns[3:6], target, pose, next_wrench, next_torque, n)
    step = min(dt / CHANGE, 1.0 - change.fraction[0])
    cost = step * (spring_at(springs[NEXT], 0).energy[0] - energy)
    change.fraction[0] += step * pay(change.tank, cost, TANK)
    fraction = change.fraction[0]
    if fraction >= 1.0:
        copy_spring(springs, turns, NEXT, NOW)
        change.next_is_now[0] = 1.0
        change.changes[0] = 1.0 - change.next_is_wanted[0]
    for i in range(6):
        wrench[i] = (1.0 - fraction) * wrench[i] + fraction * next_wrench[i]
    for i in range(n):
        torque[i] = (1.0 - fraction) * torque[i] + fraction * next_torque[i]


@compiled
def _aim(row: Array, turns: Array, energy: float, target: Array, pose: Array, n: int) -> None:
    """Make the wanted spring the next one, where it can be paid; or begin a change to it.

    `energy` is that of the spring that acts [J].
    """
    change = change_at(row, 0)
    springs = change.springs
    wrench = np.empty(6)
    torque = np.empty(n)
    rests = change.next_is_now[0] == 1.0
    wanted_frame = frame_at(spring_at(springs[WANTED], 0).frame, 0)
    next_frame = frame_at(spring_at(springs[NEXT], 0).frame, 0)
    if wanted_frame.number[0] == next_frame.number[0]:
        before = energy
        if not rests:
            pull_into(springs[NEXT], turns[3:6], target, pose, wrench, torque, n)
            before = spring_at(springs[NEXT], 0).energy[0]
        pull_into(springs[WANTED], turns[6:9], target, pose, wrench, torque, n)
        cost = change.fraction[0] * (spring_at(springs[WANTED], 0).energy[0] - before)
        if pay_whole(change.tank, cost, TANK):
            copy_spring(springs, turns, WANTED, NEXT)
            change.next_is_wanted[0] = 1.0
            if rests:
                copy_spring(springs, turns, WANTED, NOW)
                change.changes[0] = 0.0
            return
    if rests:
        copy_spring(springs, turns, WANTED, NEXT)
        change.next_is_wanted[0] = 1.0
        change.next_is_now[0] = 0.0
        change.fraction[0] = 0.0


@compiled
def copy_spring(springs: Array, turns: Array, source: int, place: int) -> None:
    """Copy the spring of one place, with its link's Jacobian, to another place."""
    for i in range(springs.shape[1]):
        springs[place, i] = springs[source, i]
    for i in range(3):
        for joint in range(turns.shape[1]):
            turns[3 * place + i, joint] = turns[3 * source + i, joint]


@compiled
def spring_load(row: Array) -> float:
    """Load of the spring that a change leads to, over its bound; see :class:`BoundedSpring`."""
    change = change_at(row, 0)
    place = NOW if change.next_is_now[0] == 1.0 else NEXT
    return float(spring_at(change.springs[place], 0).load[0])


def stiffness_in_force(row: Array) -> Array:
    """K (6, 6) [N/m, N·m/rad] of the spring that acts, along its frame's axes.

    During a change it is the mix of both springs.
    """
    change = CHANGE_MEMORY.by_name(row, 0)
    springs = change["springs"]
    now, after = (SPRING.by_name(springs[place], 0)["stiffness"] for place in (NOW, NEXT))
    fraction = 0.0 if change["next_is_now"] else float(change["fraction"])
    return np.asarray((1.0 - fraction) * now + fraction * after)


def unpaid_change(row: Array) -> str:
    """The part of a change that isn't in force yet, in words; empty where all of it is.

    See :func:`..energy_tank.unpaid`.
    """
    change = CHANGE_MEMORY.by_name(row, 0)
    if not change["changes"]:
        return ""
    wanted = SPRING.by_name(change["springs"][WANTED], 0)["stiffness"]
    told = unpaid("stiffness", stiffness_in_force(row), wanted, ("N/m", "N·m/rad"))
    return (
        told
        or "frame or bound of the spring isn't in force in full: its change goes on, or has to be paid for"
    )


def new_change() -> Array:
    """The row of a new change; see CHANGE_MEMORY."""
    row, _ = CHANGE_MEMORY.single(0)
    return row
