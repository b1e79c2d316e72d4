"""The master axis of position-domain control: which joint it is, and when the reference passes where that joint is."""

from __future__ import annotations

import numpy as np

from ..core.spatial import wrap
from ..core.types import Array, JointPathFunction

HYSTERESIS = 1.2  # times faster than the master a joint must move to replace it
BACK, AHEAD = 0.2, 0.05  # s, from now, within which the look-up stays
MAX_STEP = 0.02  # s, of one Newton step
SLOWEST = 1e-3  # rad/s, of the master's reference, below which no Newton step is taken


class MasterAxis:
    """The joint that leads, chosen by the largest commanded displacement per cycle, and the look-up of its position.

    The choice has hysteresis while the reference moves. Once it has rested, the fastest joint becomes the master.

    Attributes:
        index: of the master; 0 until the reference moves, which makes the fastest joint the first master.
        age: since the last change of the master [s]; infinite where there was none.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """No master was chosen, and nothing was looked up."""
        self.index, self.age = 0, np.inf
        self._chosen, self._rested = False, True
        self._s: float | None = None

    def choose(self, v_ref: Array, rest_speed: float, dt: float) -> bool:
        """Choose the master for this cycle; True where it is another one.

        Args:
            v_ref: (n,) velocities of the reference [rad/s].
            rest_speed: the reference rests where no joint is faster [rad/s].
            dt: since the last cycle [s].
        """
        speeds = np.abs(v_ref)
        fastest = int(speeds.argmax())
        self.age += dt
        if speeds[fastest] < rest_speed:
            self._rested = True
            return False
        if not self._chosen:
            self.index, self._chosen, self._rested = fastest, True, False
            return False
        margin = 1.0 if self._rested else HYSTERESIS
        self._rested = False
        if speeds[fastest] <= margin * speeds[self.index]:
            return False
        self.index, self.age = fastest, 0.0
        self.forget()
        return True

    def forget(self) -> None:
        """The next look-up begins at the present time."""
        self._s = None

    def look_up(
        self, path: JointPathFunction, q_master: float, cyclic: Array, t: float, dt: float
    ) -> tuple[Array, Array]:
        """Reference (n,) [rad] and its velocity (n,) [rad/s] at the time s where its master is where the master is.

        One Newton step for q_md(s) = q_m from the last s + dt, so two evaluations of the path.

        Args:
            path: (q, v, a) of the reference over time.
            q_master: measured [rad].
            cyclic: (n,) bool.
            t, dt: now, and since the last cycle [s].
        """
        master = self.index
        s = t if self._s is None else self._s + dt
        q, v, _ = path(s)
        if abs(v[master]) > SLOWEST:
            ahead = wrap(q_master - q, cyclic)[master] / v[master]
            s += min(max(ahead, -MAX_STEP), MAX_STEP)
        self._s = s = min(max(s, t - BACK), t + AHEAD)
        q, v, _ = path(s)
        return q, v
