"""The clearance of each cycle: which bodies of an arm are near each other or the cell, and
how fast they may be.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..core.compiled import compiled
from ..core.cycle import RATE_LIMITED
from ..core.record import Field, Record
from ..core.types import Array
from ..references.clearance import Clearance
from ..robot.collision_model import CollisionModel
from ..robot.distances import Bodies, gradient_into, pair_distance
from ..robot.joint_chain import JointChain, place_joints
from ..robot.model import RobotModel

NEAR = 0.1  # m beyond the margin, within which bodies are near
# 1/s: bodies of an arm that takes positions or velocities approach by this times their gap
APPROACH = 20.0
QUIET = 0.3  # of that: slower, there is nothing to do
MOST_NEAR = 16  # pairs that count at once
EASE = 0.8  # of the deceleration that joints have, by which commands brake
SHOWN = 1.0  # s for which a warning stays
# what find_near answers about a pair at its gap
NEVER = -1.0

MEMORY = Record(
    "ClearanceMemory",
    (
        Field("place", ("n",), "rad", "Joint angles where the bodies were looked at last."),
        Field(
            "room",
            (),
            "rad²",
            "Square of the way that the joints may go from there; below 0 for none.",
        ),
        Field("near", (), "", "Number of pairs that were near there."),
        Field("spare", (MOST_NEAR,), "m", "Gap of each of them there."),
        Field("lever", (MOST_NEAR, "n"), "m/rad", "By which each joint moves them at most."),
    ),
)
_memory_at = MEMORY.views


class ClearanceGuard:
    """Finds the pairs of bodies that are near, with the gap that they have left.

    The gap of a pair is its distance less its margin. Where two bodies begin nearer than that,
    their gap is counted from there, until they have been apart by their margin. So nothing jumps.

    No joint moves two bodies by more than its lever on them. So the distance of a pair is computed
    only where the pair may have come near since the last time. An arm in free space costs one
    comparison in a cycle, see :func:`is_far`.

    Source: conservative advancement, B. Mirtich, J. Canny, Impulse-based simulation of rigid
    bodies, Symposium on Interactive 3D Graphics, 1995.

    Args:
        clearance: Bodies and their margins.
        model: Model of the robot.

    Attributes:
        row: Memory of :func:`is_far`.
        near: Number of pairs that are near.
        number: (16,) numbers of these pairs.
        gradient: (16, n) change of their distance with each joint [m/rad].
        gap: (16,) [m]; negative within the margin.
        stiffness: (p,) of the wall of each pair [N/m], where it is within its margin; else 0.
    """

    def __init__(self, clearance: Clearance, model: RobotModel) -> None:
        self._clearance = clearance
        self._model = model
        self.row, self._memory = MEMORY.single(model.n)
        self.near = 0
        self.number = np.zeros(MOST_NEAR, dtype=np.int64)
        self.gradient = np.zeros((MOST_NEAR, model.n))
        self.gap = np.zeros(MOST_NEAR)
        self.stiffness = np.zeros(0)
        self._message = ""
        self._shown = -math.inf  # time at which the message was true last [s]
        # what the bodies were made of
        self._settings = clearance.settings.target
        self._payload = model.payload
        self._bodies: CollisionModel | None = None  # None: the walls begin at the next sample
        self._least = np.zeros(0)  # least distance of each pair until now [m]
        self._begin = np.zeros(0)  # distance at which the wall of each pair begins [m]
        self.restart()

    def restart(self) -> None:
        """Forget the bodies: the walls begin where the next sample is."""
        self._bodies = None
        self.near = 0
        self._memory["room"] = NEVER

    def refresh(self) -> None:
        """Take up other settings and another payload; call it in each cycle."""
        if (
            self._clearance.settings.target is not self._settings
            or self._model.payload is not self._payload
        ):
            self._settings = self._clearance.settings.target
            self._payload = self._model.payload
            self.restart()

    def look(self, q: Array) -> int:
        """Find the near pairs at joint angles (n,) [rad]; returns their number."""
        if not self._settings.checked:
            self._memory["room"] = math.inf
            self._memory["near"] = 0.0
            return 0
        begins = self._bodies is None
        if self._bodies is None:
            bodies = self._clearance.bodies
            self._bodies = bodies
            self._least = np.full(len(bodies.bodies.pairs), np.nan)
            self._begin = bodies.bodies.margin.copy()
            self.stiffness = np.zeros(len(bodies.bodies.pairs))
        self.near = find_near(
            self._model.chain,
            self._bodies.bodies,
            q,
            begins,
            self.row,
            self._begin,
            self._least,
            self.stiffness,
            self.number,
            self.gradient,
            self.gap,
        )
        return self.near

    @property
    def pairs(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """The near pairs' `number`, `gradient` and `gap`, and the `stiffness` of all pairs."""
        return self.number, self.gradient, self.gap, self.stiffness

    def approaching(self, v: Array) -> bool:
        """Look whether near bodies come nearer so fast, or are so near, that something has to be
        done.

        Args:
            v: (n,) joint velocities [rad/s], a row that compiled functions take.
        """
        return approach_fast(self.gradient, self.gap, self.near, v)

    def slow(
        self,
        start: Array,
        step: float,
        before: Array,
        acceleration: Array,
        state_time: float,
        looked_at: Array,
        dt: float,
        limited: Array,
        sent: Array,
    ) -> None:
        """Slow down a command of positions or velocities (n,) at which near bodies approach each
        other too fast.

        Args:
            start: See :func:`bound_approach`, as `step`, `before`, `acceleration`, `dt`, `limited`
                and `sent`.
            state_time: Time of the sample [s].
            looked_at: (n,) joint angles at which the bodies are looked at [rad].
        """
        near = self.look(looked_at)
        row = bound_approach(
            start, step, before, acceleration, self.gradient, self.gap, near, dt, limited, sent
        )
        if row >= 0:
            self._message = self.described(row)
            self._shown = state_time

    def warning(self, time: float) -> str:
        """Say which bodies a command was slowed down for within the last second;
        empty where it wasn't.
        """
        return self._message if 0.0 <= time - self._shown <= SHOWN else ""

    def described(self, row: int) -> str:
        """Say which bodies a row of the near pairs keeps apart."""
        assert self._bodies is not None
        pair = int(self.number[row])
        first, second = self._bodies.pair_names(pair)
        distance = self.gap[row] + self._begin[pair]
        return f"{first} and {second} are kept apart: {1e3 * distance:.0f} mm are left between them"


@compiled
def is_far(row: Array, q: Array, v: Array, n: int) -> bool:
    """Look whether there is nothing to do: no pair can be near, or its bodies approach slowly.

    Two bodies approach at most at Σ l_j |q̇_j|, with the levers l_j of the joints on them. Their gap
    is at least that of the last look, less Σ l_j |Δq_j|.

    Args:
        row: Memory of the guard.
        q: (n,) joint angles [rad].
        v: (n,) joint velocities [rad/s].
        n: Number of joints.
    """
    memory = _memory_at(row, n)
    way = 0.0
    for joint in range(n):
        way += (q[joint] - memory.place[joint]) ** 2
    if not way < memory.room[0]:
        return False
    for pair in range(int(memory.near[0])):
        gap = memory.spare[pair]
        approach = 0.0
        for joint in range(n):
            gap -= memory.lever[pair, joint] * abs(q[joint] - memory.place[joint])
            approach += memory.lever[pair, joint] * abs(v[joint])
        if not approach < QUIET * APPROACH * gap:
            return False
    return True


@compiled
def approach_fast(gradient: Array, gap: Array, near: int, v: Array) -> bool:
    """Return True where near bodies touch their margin, or approach each other fast.

    Args:
        gradient: (16, n) change of the near pairs' distances with each joint [m/rad].
        gap: (16,) distances that they have left [m].
        near: Number of near pairs.
        v: (n,) joint velocities [rad/s].
    """
    fast = False
    for row in range(near):
        approach = 0.0
        for joint in range(len(v)):
            approach -= gradient[row, joint] * v[joint]
        if approach > QUIET * APPROACH * gap[row] or gap[row] <= 0.0:
            fast = True
    return fast


@compiled
def find_near(
    chain: JointChain,
    bodies: Bodies,
    q: Array,
    begins: bool,
    row: Array,
    begin: Array,
    least: Array,
    stiffness: Array,
    number: NDArray[np.int64],
    gradient: Array,
    gap: Array,
) -> int:
    """Find the pairs that are near; see :class:`ClearanceGuard`.

    Args:
        chain: Joints of the arm.
        bodies: Bodies of the arm and its cell.
        q: (n,) joint angles [rad].
        begins: True where the walls begin here.
        row: Memory of the guard.
        begin: (p,) distance at which the wall of each pair begins [m].
        least: (p,) distance that each pair has at least [m]; NaN for none that is known.
        stiffness: (p,) of the walls [N/m], which becomes 0 where bodies are apart.
        number: Result, see :class:`ClearanceGuard`.
        gradient: Result, likewise.
        gap: Result, likewise.

    Returns:
        The number of near pairs.
    """
    n = len(q)
    memory = _memory_at(row, n)
    poses = np.empty((n, 4, 4))
    placed = np.empty((2, 4, 4))
    points = np.empty((2, 3))
    normal = np.empty(3)
    jacobian = np.empty((6, n))
    place_joints(chain, q, poses)
    near = 0
    room = math.inf
    for pair in range(len(bodies.pairs)):
        moved = 0.0
        square = 0.0
        for joint in range(n):
            moved += bodies.lever[pair, joint] * abs(q[joint] - memory.place[joint])
            square += bodies.lever[pair, joint] ** 2
        least[pair] -= moved
        is_known = least[pair] >= bodies.margin[pair] + NEAR
        if not is_known:
            least[pair] = pair_distance(bodies, poses, pair, placed, points, normal)
            if begins:
                begin[pair] = min(bodies.margin[pair], least[pair])
        if least[pair] >= bodies.margin[pair]:
            begin[pair] = bodies.margin[pair]
        spare = least[pair] - begin[pair]
        reach = math.sqrt(square)
        if spare >= NEAR:
            stiffness[pair] = 0.0
            if reach > 0.0:
                room = min(room, (spare - NEAR / 2.0) / reach)  # it needn't be among them at once
            continue
        if is_known or reach == 0.0:
            continue
        if spare >= 0.0:
            stiffness[pair] = 0.0
        if spare <= 0.0:
            room = NEVER
        place = near
        if near == MOST_NEAR:
            room = NEVER
            place = int(np.argmax(gap))
            if gap[place] <= spare:
                continue
        else:
            near += 1
        number[place] = pair
        gap[place] = spare
        memory.spare[place] = spare
        memory.lever[place] = bodies.lever[pair]
        gradient_into(chain, bodies, poses, pair, points, normal, jacobian, gradient[place])
    memory.place[:] = q
    memory.room[0] = room * room if room > 0.0 else NEVER
    memory.near[0] = near
    return near


@compiled
def bound_approach(
    start: Array,
    step: float,
    before: Array,
    acceleration: Array,
    gradient: Array,
    gap: Array,
    near: int,
    dt: float,
    limited: Array,
    sent: Array,
) -> int:
    """Slow down commands by which near bodies approach each other too fast, as fast as the joints
    may brake.

    With the gap d a pair keeps -gᵀ q̇ <= min(20/s, 1.6 β) d. Here β is the least of a_j / |q̇_j|:
    so fast a command may become slower, and from there on it comes to rest within the gap. A
    command that leads apart is free.

    Args:
        start: (n,) value at which a command means rest.
        step: Time by which the difference of a command from `start` is divided for its velocity
            [s].
        before: (n,) velocities of the last command [rad/s].
        acceleration: (n,) change of the velocities in a second [rad/s²].
        gradient: (16, n) g of the near pairs [m/rad].
        gap: (16,) d of them [m].
        near: Number of near pairs.
        dt: Time since the last command [s].
        limited: (n,) marks of what has changed the command, which get RATE_LIMITED.
        sent: (n,) command, which is changed.

    Returns:
        The row of the pair that slows the command down most, or -1 for none.
    """
    share = 1.0
    slowest = -1
    fastest = APPROACH
    for joint in range(len(sent)):
        speed = abs(sent[joint] - start[joint]) / step
        if speed > 0.0:
            fastest = min(fastest, 2.0 * EASE * acceleration[joint] / speed)
    for row in range(near):
        approach = 0.0
        for joint in range(len(sent)):
            approach -= gradient[row, joint] * (sent[joint] - start[joint]) / step
        most = fastest * max(gap[row], 0.0)
        if approach > most and most / approach < share:
            share = most / approach
            slowest = row
    if slowest >= 0:
        slow_down(share, start, step, before, acceleration, dt, limited, sent)
    return slowest


@compiled
def slow_down(
    share: float,
    start: Array,
    step: float,
    before: Array,
    acceleration: Array,
    dt: float,
    limited: Array,
    sent: Array,
) -> None:
    """Slow a command down to a share of its velocities; each joint as fast as it may brake.

    Args:
        share: Part of the velocities that is wanted, 0 to 1.
        start: See :func:`bound_approach`, as the others.
    """
    for joint in range(len(sent)):
        rate = (sent[joint] - start[joint]) / step
        speed = abs(rate)
        slower = share * speed
        if rate * before[joint] > 0.0:
            slower = max(slower, min(abs(before[joint]) - acceleration[joint] * dt, speed))
        if slower < speed:
            sent[joint] = start[joint] + step * math.copysign(slower, rate)
            limited[joint] = limited[joint] % RATE_LIMITED + RATE_LIMITED
