"""Whether something touches the arm, where, and how hard: from joint torques, a wrist sensor, or following errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.compiled import compiled
from ..core.record import Field, Record
from ..core.types import Array, Command, CommandMode, RobotState
from ..robot.model import RobotDynamics
from .contact_settings import ContactSettings
from .momentum_observer import MomentumObserver

FROZEN = 0.1  # s after a start, another law or another payload
TORQUE, WRENCH, FOLLOWING = "momentum observer", "wrist sensor", "following error"
UNITS = {TORQUE: "N·m", WRENCH: "N", FOLLOWING: "rad"}


@dataclass(frozen=True)
class DetectedContact:
    """Something touches the arm.

    Attributes:
        detector: what has found it: TORQUE, WRENCH or FOLLOWING.
        clamping: whether the quantity itself was too large; else its high-passed part.
        joint: name of the last joint over its threshold; empty for the wrist sensor.
        link: what is touched: this link, or one beyond it.
        start, last: of the first and the last sample over a threshold [s].
        size, limit: the largest value, and the threshold then, in the unit of the detector.
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
        where, unit = f"{self.link} or beyond", UNITS[self.detector]
        size = f"{self.size:.3g} {unit}{' in ' + self.joint if self.joint else ''}, limit {self.limit:.3g} {unit}"
        return f"{'clamping' if self.clamping else 'contact'} on {where}: {size} ({self.detector})"


class Excess(NamedTuple):
    """What is over its threshold: number of the last value, whether it is so without high-pass, its size, the limit."""

    joint: int
    clamping: bool
    size: float
    limit: float


WATCH = Record(
    "WatchMemory",
    (
        Field("base", ("n",), "N·m, N or rad", "Threshold ε0 of the high-passed value; infinite for none."),
        Field("of_velocity", ("n",), "the same, times s/rad", "Share a of the reference's speed in the threshold."),
        Field("of_acceleration", ("n",), "the same, times s²/rad", "Share b of its acceleration in it."),
        Field("clamping", ("n",), "N·m, N or rad", "Threshold ε_max of the value itself; infinite for none."),
        Field("slow", ("n",), "N·m, N or rad", "Values, low-passed."),
        Field("deviation", ("n",), "N·m, N or rad", "Values less the low-passed ones."),
        Field("limit", ("n",), "N·m, N or rad", "Threshold of the deviation in the last sample."),
    ),
)
_views = WATCH.views


class Watch:
    """Values x (n,), high-passed and as they are, beside their thresholds.

    A collision is |x - x_slow| > ε0 + a |q̇_ref| + b |q̈_ref|, x_slow being a low-pass of x; a clamping is |x| > ε_max.
    A threshold of 0 is none.

    Attributes:
        watches: whether there is a threshold.
        adapts: whether one depends on the motion.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._row, self._memory = WATCH.single(n)
        self._still = np.zeros(n)
        self.watches = self.adapts = False

    def adopt(self, base: Array, clamping: Array, of_velocity: Array, of_acceleration: Array) -> None:
        """Take thresholds over: ε0, ε_max, a, b, each (n,)."""
        memory = self._memory
        memory["base"] = np.where(base > 0.0, base, math.inf)
        memory["clamping"] = np.where(clamping > 0.0, clamping, math.inf)
        memory["of_velocity"] = of_velocity
        memory["of_acceleration"] = of_acceleration
        memory["limit"] = memory["base"]
        self.watches = bool(base.any() or clamping.any())
        self.adapts = bool(of_velocity.any() or of_acceleration.any())

    def settle(self, x: Array) -> None:
        """What is now, is normal."""
        self._memory["deviation"] = 0.0
        self._memory["slow"] = x

    def update(self, x: Array, weight: float, motion: tuple[Array, Array] | None) -> Excess | None:
        """What is over its threshold.

        Args:
            x: (n,) values of this sample.
            weight: of it in the low-pass.
            motion: q̇_ref and q̈_ref (n,); may be None where the thresholds don't need it.
        """
        adapts = self.adapts and motion is not None
        v, a = motion if adapts and motion is not None else (self._still, self._still)
        number = compare(self._row, x, weight, v, a, adapts, self._n)
        if number < 0:
            return None
        joint, memory = number % self._n, self._memory
        if number < self._n:
            return Excess(joint, False, float(abs(memory["deviation"][joint])), float(memory["limit"][joint]))
        return Excess(joint, True, float(abs(x[joint])), float(memory["clamping"][joint]))

    @property
    def deviation(self) -> Array:
        """(n,) x - x_slow."""
        return np.array(self._memory["deviation"])

    @property
    def load(self) -> Array:
        """(n,) the high-passed values over their thresholds; 0 without."""
        return np.asarray(np.abs(self._memory["deviation"]) / self._memory["limit"])


@compiled
def compare(row: Array, x: Array, weight: float, v: Array, a: Array, adapts: bool, n: int) -> int:
    """Compare values (n,) with their thresholds.

    Returns:
        The number of the last one whose deviation is too large; else n and the number of the last one that is too
        large itself; else -1.
    """
    memory = _views(row, n)
    collides = -1
    clamps = -1
    for joint in range(n):
        if adapts:
            of_motion = memory.of_velocity[joint] * abs(v[joint]) + memory.of_acceleration[joint] * abs(a[joint])
            memory.limit[joint] = memory.base[joint] + of_motion
        deviation = x[joint] - memory.slow[joint]
        memory.deviation[joint] = deviation
        memory.slow[joint] += weight * deviation
        if abs(deviation) > memory.limit[joint]:
            collides = joint
        if abs(x[joint]) > memory.clamping[joint]:
            clamps = joint
    if collides >= 0:
        return collides
    return n + clamps if clamps >= 0 else -1


class ContactDetector:
    """Compares what acts on the arm with thresholds.

    Three quantities, each where it is known and has a threshold:

    - the external joint torques of a momentum observer, where joint torques are measured: a contact anywhere. Near a
      joint's axis, and below the dry friction of an arm at rest, nothing is seen;
    - the length of the force at the wrist sensor: a contact beyond it;
    - how far joints lag their position commands, or the integral of what they lag their velocity commands.

    The high-pass takes out payloads and errors of the model. The last joint over its threshold bounds the touched link
    from below: a force on a link moves no joint beyond it.

    Args:
        joints, links: names of the joints, and of the link that each moves.
        tip: link that the wrist sensor is on.

    Attributes:
        torque, force, following: see :class:`Watch`.

    Source:
        A. De Luca, A. Albu-Schäffer, S. Haddadin, G. Hirzinger, Collision detection and safe reaction with the DLR-III
        lightweight manipulator arm, IROS 2006. S. Haddadin, A. De Luca, A. Albu-Schäffer, Robot collisions: a survey on
        detection, isolation, and identification, IEEE Trans. Robotics 33(6), 2017. High-pass and learnt ε: own method.
    """

    def __init__(self, joints: tuple[str, ...], links: tuple[str, ...], tip: str) -> None:
        self._joints, self._links, self._tip = joints, links, tip
        n = len(joints)
        self.torque, self.force, self.following = Watch(n), Watch(1), Watch(n)
        self._observer, self._until = MomentumObserver(), -math.inf
        self._lag = np.zeros(n)
        self._watched: list[tuple[str, Watch, Array]] = []

    def adopt(self, settings: ContactSettings) -> None:
        """Take settings over."""
        s, none = settings, np.zeros(1)
        self._rate, self._gain = 2.0 * math.pi * s.high_pass, s.observer_gain
        velocity, acceleration = s.collision_torque_velocity, s.collision_torque_acceleration
        self.torque.adopt(s.collision_torque, s.clamping_torque, velocity, acceleration)
        self.force.adopt(np.array([s.collision_force]), np.array([s.clamping_force]), none, none)
        velocity, acceleration = s.following_error_velocity, s.following_error_acceleration
        self.following.adopt(s.following_error, np.zeros(len(self._joints)), velocity, acceleration)

    def freeze(self, time: float) -> None:
        """Find nothing until 0.1 s after a time [s]; what acts then is normal."""
        self._until = time + FROZEN

    def adapts(self, command: Command | None) -> bool:
        """Whether a threshold depends on the motion of the reference; under efforts no joint lags."""
        lags = self.following.adapts and command is not None and command.mode is not CommandMode.EFFORT
        return lags or self.torque.adapts

    def deviations(self) -> dict[str, Array]:
        """What was watched in the last sample, high-passed (n,), by detector; that of the wrist sensor isn't there."""
        return {name: watch.deviation for name, watch, _ in self._watched if name != WRENCH}

    @property
    def residual(self) -> Array:
        """(n,) external torques of the momentum observer [N·m]."""
        return self._observer.torque

    def update(
        self,
        state: RobotState,
        kin: RobotDynamics,
        command: Command | None,
        force: Array | None,
        motion: tuple[Array, Array] | None,
        dt: float,
        everything: bool = False,
    ) -> DetectedContact | None:
        """What touches the arm at a sample; None for nothing.

        Args:
            state: of the sample; efforts that aren't finite numbers are not measured.
            kin: at that state.
            command: that acted since the last sample; None where that isn't known.
            force: (3,) at the wrist sensor [N]; None without.
            motion: q̇_ref and q̈_ref (n,), where a watch adapts.
            dt: since the last sample [s].
            everything: watch all quantities, also those without thresholds.
        """
        torque, effort = self.torque, state.effort
        self._watched = watched = []
        if force is not None and self.force.watches:
            watched.append((WRENCH, self.force, np.array([math.sqrt(force.dot(force))])))
        if (torque.watches or everything) and effort.size == state.v.size:
            external = self._observer.update(state, kin, self._gain)
            if external is not None:
                watched.append((TORQUE, torque, external))
        if (self.following.watches or everything) and command is not None and command.mode is not CommandMode.EFFORT:
            watched.append((FOLLOWING, self.following, self._lagging(state, kin, command, dt)))
        if state.time < self._until:
            for _, watch, x in watched:
                watch.settle(x)
            return None
        found, weight = None, -math.expm1(-self._rate * dt)
        for detector, watch, x in watched:
            excess = watch.update(x, weight, motion)
            if excess is not None and found is None:
                found = self._contact(detector, excess, state.time)
        return found

    def _lagging(self, state: RobotState, kin: RobotDynamics, command: Command, dt: float) -> Array:
        """How far the joints lag a position or velocity command (n,) [rad]."""
        if command.mode is CommandMode.POSITION:
            return np.asarray(command.values - kin.q)
        self._lag = self._lag + dt * (command.values - state.v)
        return self._lag

    def restart(self) -> None:
        """Begin anew, as after a gap in the samples."""
        self._observer.reset()
        self._lag = np.zeros(len(self._joints))

    def _contact(self, detector: str, excess: Excess, time: float) -> DetectedContact:
        sensor = detector == WRENCH
        joint, link = ("", self._tip) if sensor else (self._joints[excess.joint], self._links[excess.joint])
        return DetectedContact(detector, excess.clamping, joint, link, time, time, excess.size, excess.limit)
