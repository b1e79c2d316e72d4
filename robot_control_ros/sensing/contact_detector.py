"""Detection of contacts by joint torques, a wrist sensor, or following errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.small_matrices import length
from ..core.types import Array, Command, CommandMode, RobotState, is_finite
from ..robot.model import RobotDynamics
from .contact_settings import ContactSettings
from .momentum_observer import MomentumObserver, external_torque, relax_torque

FROZEN = 0.1  # s after a start, another law or another payload
TORQUE = "momentum observer"
WRENCH = "wrist sensor"
FOLLOWING = "following error"
GUARD = "guarded move"
UNITS = {TORQUE: "N·m", WRENCH: "N", FOLLOWING: "rad", GUARD: "N"}


@dataclass(frozen=True)
class DetectedContact:
    """A contact: something touches the arm.

    Attributes:
        detector: Name of what has shown it: TORQUE, WRENCH, FOLLOWING, or the GUARD of a motion.
        clamping: True where the quantity itself was too large, False where its high-passed part
            was.
        joint: Name of the last joint over its threshold; empty for the wrist sensor.
        link: Name of the link that is touched; it may also be one beyond it.
        start, last: Times of the first and the last sample over a threshold [s].
        size, limit: Largest value, and the threshold then, in the unit of the detector.
    """

    detector: str
    clamping: bool
    joint: str
    link: str
    start: float
    last: float
    size: float
    limit: float

    def __str__(self) -> str:
        where = f"{self.link} or beyond"
        unit = UNITS[self.detector]
        size = f"{self.size:.3g} {unit}{' in ' + self.joint if self.joint else ''}, limit {self.limit:.3g} {unit}"
        return f"{'clamping' if self.clamping else 'contact'} on {where}: {size} ({self.detector})"


class Excess(NamedTuple):
    """A value over its threshold.

    Attributes:
        joint: Number of the last value that is over its threshold.
        clamping: True where the value itself is over it, False where its high-passed part is.
        size, limit: Size of the value, and its threshold.
    """

    joint: int
    clamping: bool
    size: float
    limit: float


# what is done with a sample, as a sum
FORCE_WATCHED = 1
TORQUE_WATCHED = 2
FOLLOWING_WATCHED = 4
SETTLES = 8
NOTHING = -1  # what :func:`detect` answers where nothing touches the arm
POSITIONS, VELOCITIES, OTHERS = range(3)  # what the joints are commanded

WATCH = Record(
    "WatchMemory",
    (
        Field(
            "base",
            ("n",),
            "N·m, N or rad",
            "Threshold ε0 of the high-passed value; infinite for none.",
        ),
        Field(
            "of_velocity",
            ("n",),
            "the same, times s/rad",
            "Share a of the reference's speed in the threshold.",
        ),
        Field(
            "of_acceleration",
            ("n",),
            "the same, times s²/rad",
            "Share b of its acceleration in it.",
        ),
        Field(
            "clamping",
            ("n",),
            "N·m, N or rad",
            "Threshold ε_max of the value itself; infinite for none.",
        ),
        Field("value", ("n",), "N·m, N or rad", "Values of the last sample."),
        Field("slow", ("n",), "N·m, N or rad", "Values, low-passed."),
        Field("deviation", ("n",), "N·m, N or rad", "Values less the low-passed ones."),
        Field("limit", ("n",), "N·m, N or rad", "Threshold of the deviation in the last sample."),
    ),
)
_watch_at = WATCH.views

MOTION = Record(
    "ContactMotion",
    (
        Field(
            "v",
            ("n",),
            "rad/s",
            "Joint velocities of the reference, where a threshold depends on them.",
        ),
        Field("a", ("n",), "rad/s²", "Joint accelerations of it, likewise."),
        Field("lag", ("n",), "rad", "How far the joints lag their velocity commands."),
    ),
)
_motion_at = MOTION.views


class Watch:
    """Values x (n,), high-passed and as they are, with their thresholds.

    A collision is |x - x_slow| > ε0 + a |q̇_ref| + b |q̈_ref|, x_slow being a low-pass of x; a
    clamping is |x| > ε_max. A threshold of 0 is none.

    Attributes:
        watches: True where there is a threshold.
        adapts: True where a threshold depends on the motion.
        row: Memory, as compiled functions take it.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self.row, self._memory = WATCH.single(n)
        self.watches = False
        self.adapts = False

    def adopt(
        self, base: Array, clamping: Array, of_velocity: Array, of_acceleration: Array
    ) -> None:
        """Take over thresholds: ε0, ε_max, a and b, each (n,)."""
        memory = self._memory
        memory["base"] = np.where(base > 0.0, base, math.inf)
        memory["clamping"] = np.where(clamping > 0.0, clamping, math.inf)
        memory["of_velocity"] = of_velocity
        memory["of_acceleration"] = of_acceleration
        memory["limit"] = memory["base"]
        self.watches = bool(base.any() or clamping.any())
        self.adapts = bool(of_velocity.any() or of_acceleration.any())

    def excess(self, number: int) -> Excess:
        """The value that is over its threshold, by the number that :func:`compare` has returned."""
        joint = number % self._n
        memory = self._memory
        if number < self._n:
            return Excess(
                joint, False, float(abs(memory["deviation"][joint])), float(memory["limit"][joint])
            )
        return Excess(
            joint, True, float(abs(memory["value"][joint])), float(memory["clamping"][joint])
        )

    @property
    def deviation(self) -> Array:
        """High-passed values x - x_slow (n,)."""
        return np.array(self._memory["deviation"])

    @property
    def load(self) -> Array:
        """High-passed values (n,) over their thresholds; 0 where there is no threshold."""
        return np.asarray(np.abs(self._memory["deviation"]) / self._memory["limit"])


@compiled
def compare(watch: Any, settles: bool, weight: float, v: Array, a: Array, n: int) -> int:
    """Compare the values (n,) of a watch with their thresholds.

    Args:
        watch: Views of its memory.
        settles: True where the present values count as normal, and none is too large.
        weight: Weight of the values in their low-pass, 0 to 1.
        v, a: (n,) velocities and accelerations of the reference [rad/s, rad/s²].
        n: Number of the values.

    Returns:
        The number of the last value whose deviation is too large. Else n plus the number of the
        last value that is too large itself. Else NOTHING.
    """
    if settles:
        watch.deviation[:] = 0.0
        watch.slow[:] = watch.value
        return NOTHING
    collides = NOTHING
    clamps = NOTHING
    for i in range(n):
        of_motion = watch.of_velocity[i] * abs(v[i]) + watch.of_acceleration[i] * abs(a[i])
        watch.limit[i] = watch.base[i] + of_motion
        deviation = watch.value[i] - watch.slow[i]
        watch.deviation[i] = deviation
        watch.slow[i] += weight * deviation
        if abs(deviation) > watch.limit[i]:
            collides = i
        if abs(watch.value[i]) > watch.clamping[i]:
            clamps = i
    if collides >= 0:
        return collides
    return n + clamps if clamps >= 0 else NOTHING


class ContactDetector:
    """Finds contacts: it compares three quantities with thresholds.

    Each of them counts where it is known and has a threshold:

    - the external joint torques of a momentum observer, where joint torques are measured: a contact
      anywhere. Near a joint's axis, and below the dry friction of an arm at rest, nothing is seen;
    - the length of the force at the wrist sensor: a contact beyond it;
    - the angles by which joints lag their position commands, or the integrals of the velocities by
      which they lag their velocity commands.

    The high-pass takes out payloads and errors of the model. The last joint over its threshold
    bounds the touched link from below: a force on a link moves no joint beyond it.

    Args:
        joints, links: Names of the joints, and of the link that each moves.
        tip: Name of the link that the wrist sensor is on.

    Attributes:
        torque, force, following: Watches of the three quantities, see :class:`Watch`.
        rows: Memory, as :func:`detect` takes it.
        may_adapt: True where a threshold depends on motion under some commands, see :meth:`adapts`.

    Source:
        A. De Luca, A. Albu-Schäffer, S. Haddadin, G. Hirzinger, Collision detection and safe
        reaction with the DLR-III lightweight manipulator arm, IROS 2006. S. Haddadin, A. De Luca,
        A. Albu-Schäffer, Robot collisions: a survey on detection, isolation, and identification,
        IEEE Trans. Robotics 33(6), 2017. High-pass and learnt ε: own method.
    """

    def __init__(self, joints: tuple[str, ...], links: tuple[str, ...], tip: str) -> None:
        n = len(joints)
        self._joints = joints
        self._links = links
        self._tip = tip
        self.torque = Watch(n)
        self.force = Watch(1)
        self.following = Watch(n)  # of the lag behind commands
        self._observer = MomentumObserver(n)
        motion, self._motion = MOTION.single(n)
        self.rows = motion, self._observer.row, self.force.row, self.torque.row, self.following.row
        self.may_adapt = False
        self._until = -math.inf  # time until which nothing is found [s]
        self._watched = 0  # sum of the bits of what was watched in the last sample

    def adopt(self, settings: ContactSettings) -> None:
        """Take over settings of contacts."""
        s = settings
        none = np.zeros(1)
        self._rate = 2.0 * math.pi * s.high_pass
        self._gain = s.observer_gain
        velocity = s.collision_torque_velocity
        acceleration = s.collision_torque_acceleration
        self.torque.adopt(s.collision_torque, s.clamping_torque, velocity, acceleration)
        collision, clamping = s.forces
        self.force.adopt(np.array([collision]), np.array([clamping]), none, none)
        velocity = s.following_error_velocity
        acceleration = s.following_error_acceleration
        self.following.adopt(s.following_error, np.zeros(len(self._joints)), velocity, acceleration)
        self.may_adapt = self.torque.adapts or self.following.adapts

    def freeze(self, time: float) -> None:
        """Find nothing until 0.1 s after a time [s]: the values until then count as normal."""
        self._until = time + FROZEN

    def adapts(self, command: Command | None) -> bool:
        """Return True where a threshold depends on the motion of the reference.

        Under efforts no joint lags, so the following error doesn't count there.
        """
        if self.torque.adapts:
            return True
        if command is None or command.mode is CommandMode.EFFORT:
            return False
        return self.following.adapts

    def deviations(self) -> dict[str, Array]:
        """High-passed values (n,) that were watched in the last sample, by detector.

        Those of the wrist sensor are left out.
        """
        watches = (
            (TORQUE, TORQUE_WATCHED, self.torque),
            (FOLLOWING, FOLLOWING_WATCHED, self.following),
        )
        return {name: watch.deviation for name, bit, watch in watches if self._watched & bit}

    @property
    def residual(self) -> Array:
        """External torques (n,) of the momentum observer [N·m]."""
        return self._observer.torque

    def prepare(
        self,
        state: RobotState,
        kin: RobotDynamics,
        command: Command | None,
        force: bool,
        motion: tuple[Array, Array] | None,
        dt: float,
        everything: bool = False,
    ) -> tuple[int, float, float]:
        """Prepare a sample for :func:`detect`, and return its `watched`, `gain_times_dt` and
        `weight`.

        Args:
            state: State of the sample; efforts that aren't finite numbers count as not measured.
            kin: Kinematics and dynamics at that state.
            command: Command that acted since the last sample; None where it isn't known.
            force: True where the sample has the force of a wrist sensor.
            motion: Velocities q̇_ref and accelerations q̈_ref (n,) of the reference, where a watch
                adapts.
            dt: Time since the last sample [s].
            everything: True to watch all quantities, also those without thresholds.
        """
        watched = 0
        gain_times_dt = 0.0
        if force and self.force.watches:
            watched = FORCE_WATCHED
        if self.torque.watches or everything:
            effort = state.effort
            if effort.shape == state.v.shape and is_finite(effort):
                watched += TORQUE_WATCHED
                gain_times_dt = self._gain * self._observer.follow(state.time, kin)
        if (
            command is not None
            and command.mode is not CommandMode.EFFORT
            and (self.following.watches or everything)
        ):
            watched += FOLLOWING_WATCHED
        self._watched = watched
        if motion is not None:
            self._motion["v"], self._motion["a"] = motion
        if state.time < self._until:
            watched += SETTLES
        return watched, gain_times_dt, -math.expm1(-self._rate * dt)

    def restart(self) -> None:
        """Begin anew, as after a gap in the samples."""
        self._observer.reset()
        self._motion["lag"] = 0.0

    def contact(self, answer: int, time: float) -> DetectedContact | None:
        """The contact at a sample of a time [s], by the answer of :func:`detect`; None for none."""
        if answer == NOTHING:
            return None
        n = len(self._joints)
        place, number = divmod(answer, 2 * n)
        detector = (WRENCH, TORQUE, FOLLOWING)[place]
        excess = (self.force, self.torque, self.following)[place].excess(number)
        sensor = detector == WRENCH
        joint = "" if sensor else self._joints[excess.joint]
        link = self._tip if sensor else self._links[excess.joint]
        return DetectedContact(
            detector, excess.clamping, joint, link, time, time, excess.size, excess.limit
        )


@compiled
def detect(
    cycle: Any,
    rows: Any,
    watched: int,
    gain_times_dt: float,
    weight: float,
    commanded: int,
    dt: float,
    n: int,
) -> int:
    """Look for contacts in a cycle; see :class:`ContactDetector`.

    Args:
        cycle: Views of the record, complete up to the wrench; its `sent` is still that of the cycle
            before.
        rows: Memory of the detector.
        watched: Sum of the quantities that are watched, TORQUE_WATCHED and so on, and of SETTLES
            where the present values count as normal.
        gain_times_dt: The observer's gain times the time since its last sample; 0 where it begins.
        weight: Weight of the sample in the low-pass, 0 to 1.
        commanded: Quantity of the command `sent`: POSITIONS, VELOCITIES or OTHERS.
        dt: Time since the last sample [s].
        n: Number of joints.

    Returns:
        NOTHING, or a number for :meth:`ContactDetector.contact`.
    """
    motion = _motion_at(rows[0], n)
    settles = watched & SETTLES != 0
    answer = NOTHING
    if watched & FORCE_WATCHED:
        force = _watch_at(rows[2], 1)
        force.value[0] = length(cycle.wrench[:3])
        answer = compare(force, settles, weight, motion.v, motion.a, 1)
    if watched & TORQUE_WATCHED:
        torque = _watch_at(rows[3], n)
        relax_torque(rows[1], cycle.effort, gain_times_dt, n)
        torque.value[:] = external_torque(rows[1], n)
        number = compare(torque, settles, weight, motion.v, motion.a, n)
        if answer == NOTHING and number != NOTHING:
            answer = 2 * n + number
    if watched & FOLLOWING_WATCHED:
        following = _watch_at(rows[4], n)
        for joint in range(n):
            if commanded == VELOCITIES:
                motion.lag[joint] += dt * (cycle.sent[joint] - cycle.v[joint])
                following.value[joint] = motion.lag[joint]
            else:
                following.value[joint] = cycle.sent[joint] - cycle.q[joint]
        number = compare(following, settles, weight, motion.v, motion.a, n)
        if answer == NOTHING and number != NOTHING:
            answer = 4 * n + number
    return answer
