"""Samples whose joints have moved farther than joints can: glitches of an encoder, or a robot set elsewhere."""

from __future__ import annotations

import numpy as np

from ..core.errors import ConfigError
from ..core.types import Array
from ..robot.model import RobotModel

SPEED_MARGIN = 2.0  # times a joint's speed limit: an arm that falls, or is hit, is faster than it may be
NOISE = 0.005  # rad (m) of a position, with its resolution
JITTER = 0.002  # s by which the time between two samples may differ from the one between their stamps
LONGEST_GAP = 0.1  # s between two samples, after which a joint may be anywhere
CONFIRMED_AFTER, CONFIRMED_SAMPLES = 0.05, 3  # s, and samples that agree, after which the joints are believed


class JointJumps:
    """Refuses samples whose joints have moved farther than they can since the last accepted one.

    A joint moves by at most

        (2 v_max + |v|) (t + 2 ms) + 0.005 rad.

    v_max is its speed limit, |v| the larger of the two measured speeds. t is the time between the stamps. It is at
    least one nominal period for each sample in between, as late samples and repeated stamps bring no time of their own.
    Positions that a driver reads anew for every fourth sample only are within this bound, too.

    One wrong sample is refused, and the next right one is compared with the one before both. Where the samples agree
    with each other for 0.05 s, and at least three of them, the robot is where they say: its simulator was reset, or its
    driver has found a new reference. A joint without end moves the shorter way round.

    Args:
        model: of the robot; has the names of the joints, their speed limits, and which turn without end.
        period: nominal time between two samples [s].
    """

    def __init__(self, model: RobotModel, period: float) -> None:
        self._model = model
        self._speed = SPEED_MARGIN * model.limits.velocity
        self._period = period
        self._between = 0  # samples since the accepted one
        self._accepted: tuple[float, Array, Array] | None = None  # time, q, |v|
        self._suspect: tuple[float, Array, Array] | None = None  # the last refused one
        self._suspected_since = 0.0
        self._agreeing = 0  # refused samples in a row that agree

    def check(self, time: float, q: Array, v: Array) -> str:
        """Judge a sample of finite numbers: its stamp [s], positions and velocities (n,) [rad, rad/s].

        Samples without new time, and those after a gap of more than 0.1 s, aren't judged.

        Returns:
            Why the loop has to start anew at this sample: the joints have jumped, and stay there. Else empty.

        Raises:
            ConfigError: names the joint, by how much it has moved, and the bound.
        """
        accepted = self._accepted
        if accepted is None or not 0.0 < time - accepted[0] <= LONGEST_GAP:
            return ""
        change = q - accepted[1]
        if change.dot(change) <= NOISE**2:  # the usual case, and a cheap one
            return ""
        change = self._change(q, accepted[1])
        elapsed = max(time - accepted[0], (1 + self._between) * self._period)
        most = self._most(elapsed, accepted[2], v)
        if (change <= most).all():
            return ""
        joint = int((change / most).argmax())
        name, way, bound = self._model.joints[joint], float(change[joint]), float(most[joint])
        if self._is_confirmed(time, q, v):
            return f"{name} jumped by {way:.3g} rad, and stays there"
        raise ConfigError(
            f"joint state: {name} moved by {way:.3g} rad in {elapsed:.3g} s: must be at most {bound:.3g} rad",
            name=name,
            value=way,
            bound=bound,
        )

    def accept(self, time: float, q: Array, v: Array) -> None:
        """Compare the next samples with this one."""
        self._accepted = (time, q, np.abs(v))
        self._suspect = None
        self._between = 0

    def pass_over(self) -> None:
        """A sample came that brought no new time."""
        self._between += 1

    def _change(self, q: Array, before: Array) -> Array:
        """By how much each joint moved (n,) [rad]."""
        return np.abs(self._model.wrap(q - before))

    def _most(self, elapsed: float, before: Array, v: Array) -> Array:
        """By how much each joint can have moved (n,) [rad], at speeds `before` and `v` at both ends."""
        return np.asarray((self._speed + np.maximum(before, np.abs(v))) * (elapsed + JITTER) + NOISE)

    def _is_confirmed(self, time: float, q: Array, v: Array) -> bool:
        """Whether a sample far from the accepted one agrees with enough of those before it."""
        suspect = self._suspect
        if suspect is not None and time <= suspect[0]:
            return False
        if (
            suspect is None
            or (self._change(q, suspect[1]) > self._most(max(time - suspect[0], self._period), suspect[2], v)).any()
        ):
            self._suspected_since = time
            self._agreeing = 0
        self._agreeing += 1
        self._suspect = (time, q, np.abs(v))
        return self._agreeing >= CONFIRMED_SAMPLES and time - self._suspected_since >= CONFIRMED_AFTER
