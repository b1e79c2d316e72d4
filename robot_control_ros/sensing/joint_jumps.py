"""Refusal of samples whose joints have moved farther than joints can.

They are glitches of an encoder, or the robot was set elsewhere.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.compiled import compiled
from ..core.errors import ConfigError
from ..core.record import Field, Record
from ..core.types import Array
from ..robot.model import RobotModel

# times a joint's speed limit: an arm that falls, or is hit, is faster than it may be
SPEED_MARGIN = 2.0
NOISE = 0.005  # rad (m) of a position, with its resolution
# s by which the time between two samples may differ from the one between their stamps
JITTER = 0.002
LONGEST_GAP = 0.1  # s between two samples, after which a joint may be anywhere
# s, and samples that agree, after which the joints are believed
CONFIRMED_AFTER = 0.05
CONFIRMED_SAMPLES = 3

MEMORY = Record(
    "JointJumpsMemory",
    (
        Field("lowest", ("n",), "rad", "Lowest position that a joint can have."),
        Field("highest", ("n",), "rad", "Highest one."),
        Field("fastest", ("n",), "rad/s", "Largest speed."),
        Field("bound", ("n",), "rad/s", "Speed that counts for the way between two samples."),
        Field(
            "time", (), "s", "Stamp of the accepted sample; NaN before the first.", first=math.nan
        ),
        Field("q", ("n",), "rad", "Its positions."),
        Field("speed", ("n",), "rad/s", "Its speeds |v|."),
        Field("suspects", (), "", "1 where samples were refused since then."),
    ),
)
_memory_at = MEMORY.views


class JointJumps:
    """Refuses samples whose joints have moved farther than they can since the last accepted one.

    A joint moves by at most

        (2 v_max + |v|) (t + 2 ms) + 0.005 rad.

    v_max is its speed limit, and |v| the larger of the two measured speeds. t is the time between
    the stamps. It is at least one nominal period for each sample in between, as late samples and
    repeated stamps bring no time of their own. Positions that a driver reads anew for every fourth
    sample only are within this bound, too.

    A wrong sample is refused, and the next right one is compared with the last accepted one. Where
    refused samples agree with each other for 0.05 s, and are at least three, the robot is where
    they say: its simulator was reset, or its driver has found a new reference. A joint without end
    moves the shorter way round.

    Args:
        model: Model of the robot, with the joints' names, speed limits, and those without end.
        period: Nominal time between two samples [s].
    """

    def __init__(self, model: RobotModel, period: float) -> None:
        self._model = model
        self._speed = SPEED_MARGIN * model.limits.velocity
        self._period = period
        self.row, self._memory = MEMORY.single(model.n)
        memory = self._memory
        memory["lowest"], memory["highest"], memory["fastest"] = model.limits.possible
        memory["bound"] = self._speed
        self._between = 0  # samples since the accepted one
        self._suspect: tuple[float, Array, Array] | None = None  # the last refused one
        self._suspected_since = 0.0
        self._agreeing = 0  # refused samples in a row that agree

    def check(self, time: float, q: Array, v: Array) -> str:
        """Judge a sample of finite numbers: its stamp [s], positions and velocities (n,) [rad,
        rad/s].

        Samples without new time, and those after a gap of more than 0.1 s, aren't judged.

        Returns:
            Reason why the loop has to start anew at this sample, as the joints have jumped and stay
            there; else empty.

        Raises:
            ConfigError: names the joint, by how much it has moved, and the bound.
        """
        accepted = self._memory
        since = time - float(accepted["time"])
        if not 0.0 < since <= LONGEST_GAP:  # or none was accepted yet
            return ""
        change = self._change(q, accepted["q"])
        elapsed = max(since, (1 + self._between) * self._period)
        most = self._most(elapsed, accepted["speed"], v)
        if (change <= most).all():
            return ""
        joint = int((change / most).argmax())
        name = self._model.joints[joint]
        way = float(change[joint])
        bound = float(most[joint])
        unit = self._model.limits.unit(joint).position
        if self._is_confirmed(time, q, v):
            return f"{name} jumped by {way:.3g} {unit}, and stays there"
        raise ConfigError(
            f"joint state: {name} moved by {way:.3g} {unit} in {elapsed:.3g} s: must be at most {bound:.3g} {unit}",
            name=name,
            value=way,
            bound=bound,
        )

    def accept(self, time: float, q: Array, v: Array) -> None:
        """Compare the next samples with this one."""
        self._memory["time"] = time
        self._memory["q"] = q
        self._memory["speed"] = np.abs(v)
        self._memory["suspects"] = 0.0
        self._suspect = None
        self._between = 0

    def take_usual(self, time: float, q: Array, v: Array, longest: float) -> bool:
        """Accept a sample at once, if it is a usual one: possible, near the accepted one, at most
        `longest` [s] newer.

        q and v are rows (n,), see :func:`~..core.types.as_row`. Where it returns False, nothing has
        changed.
        """
        return self._between == 0 and take_usual_sample(self.row, time, q, v, longest, len(q))

    def pass_over(self) -> None:
        """Count a sample that brought no new time."""
        self._between += 1

    def _change(self, q: Array, before: Array) -> Array:
        """Angle (n,) by which each joint moved [rad]."""
        return np.abs(self._model.wrap(q - before))

    def _most(self, elapsed: float, before: Array, v: Array) -> Array:
        """Angle (n,) by which each joint can have moved [rad], at speeds `before` and then `v`."""
        return np.asarray(
            (self._speed + np.maximum(before, np.abs(v))) * (elapsed + JITTER) + NOISE
        )

    def _is_confirmed(self, time: float, q: Array, v: Array) -> bool:
        """Return True where a refused sample agrees with enough of the refused ones before it."""
        suspect = self._suspect
        if suspect is not None and time <= suspect[0]:
            return False
        if (
            suspect is None
            or (
                self._change(q, suspect[1])
                > self._most(max(time - suspect[0], self._period), suspect[2], v)
            ).any()
        ):
            self._suspected_since = time
            self._agreeing = 0
        self._agreeing += 1
        self._suspect = (time, q, np.abs(v))
        self._memory["suspects"] = 1.0
        return (
            self._agreeing >= CONFIRMED_SAMPLES and time - self._suspected_since >= CONFIRMED_AFTER
        )


@compiled
def take_usual_sample(row: Array, time: float, q: Array, v: Array, longest: float, n: int) -> bool:
    """Accept a usual sample into the memory; return False, without a change, for any other one.

    See :meth:`JointJumps.take_usual`.
    """
    memory = _memory_at(row, n)
    since = time - memory.time[0]
    if memory.suspects[0] == 1.0 or not 0.0 < since <= longest:
        return False
    for joint in range(n):
        if not memory.lowest[joint] <= q[joint] <= memory.highest[joint]:
            return False
        speed = abs(v[joint])
        if not speed <= memory.fastest[joint]:
            return False
        most = (memory.bound[joint] + max(memory.speed[joint], speed)) * (since + JITTER) + NOISE
        if not abs(q[joint] - memory.q[joint]) <= most:
            return False
    memory.time[0] = time
    for joint in range(n):
        memory.q[joint] = q[joint]
        memory.speed[joint] = abs(v[joint])
    return True
