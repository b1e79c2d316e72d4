"""Whether an arm rings: an oscillation of a joint that doesn't decay."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..core.types import Array, CommandMode, RobotState
from ..robot.configuration import RobotConfig
from ..robot.model import RobotModel

EXTREMA = 6  # in a row, that make an alarm
RATIO = 0.7  # of the first, that the last two must reach
FLOOR = 0.02  # √J, below which an extremum is none
BAND = 25.0  # rad/s, of the high-pass
SPAN = 0.5  # s, within which they must come
MAX_GAP = 0.1  # s between two samples
SHOWN = 1.0  # s after the last alarm
ADVICE = {
    CommandMode.EFFORT: "reduce the stiffness of {law} to a quarter, and a damping of its own to half",
    CommandMode.POSITION: "double the damping of {law}",
    CommandMode.VELOCITY: "double the damping of {law}",
}


@dataclass(frozen=True)
class Ringing:
    """An oscillation that doesn't decay.

    Attributes:
        joint: its number.
        frequency: [Hz].
        size: the last extremum [√J].
        time: of that [s].
    """

    joint: int
    frequency: float
    size: float
    time: float


class RingingDetector:
    """Finds oscillations in the joint velocities.

    A late damper, or a stiff contact, feeds energy in at about 1/τ, τ being the delay: above the motions of an arm,
    which are below 3 Hz. Each velocity is weighted with √M_ii and high-passed. Its extrema are the largest values
    between two changes of sign. Six in a row within 0.5 s, all above a floor, the last two at least 0.7 of the first,
    don't decay. So an oscillation below 5 Hz is never one: a hand shakes an arm like that.

    Args:
        inertia: (n,) diagonal of the joint-space inertia [kg·m²].

    Source:
        Own method. For comparison, passivity observers: B. Hannaford, J.-H. Ryu, Time-domain passivity control of
        haptic interfaces, IEEE Trans. Robotics and Automation 18(1), 2002.
    """

    def __init__(self, inertia: Array) -> None:
        self._weights: list[float] = (inertia**0.5).tolist()
        self._time, self._last = -np.inf, list[float]()

    def update(self, time: float, v: Array) -> Ringing | None:
        """What rings at a sample; None where nothing does.

        It begins anew after a gap of 0.1 s, and where the time goes back.

        Args:
            time: of the sample [s].
            v: (n,) joint velocities [rad/s].
        """
        now, dt, self._time = v.tolist(), time - self._time, time
        if not 0.0 < dt <= MAX_GAP:
            n, self._last = len(now), now
            self._passed, self._largest = [0.0] * n, [0.0] * n
            self._extrema: list[deque[tuple[float, float]]] = [deque(maxlen=EXTREMA) for _ in now]
            return None
        found, keep = None, 1.0 / (1.0 + BAND * dt)
        passed, largest = self._passed, self._largest
        for joint, (value, before, weight) in enumerate(zip(now, self._last, self._weights, strict=True)):
            old = passed[joint]
            new = passed[joint] = keep * (old + weight * (value - before))
            if old * new < 0.0:
                if largest[joint] < FLOOR:
                    self._extrema[joint].clear()
                else:
                    found = self._judge(joint, largest[joint], time) or found
                largest[joint] = abs(new)
            elif abs(new) > largest[joint]:
                largest[joint] = abs(new)
        self._last = now
        return found

    def _judge(self, joint: int, size: float, time: float) -> Ringing | None:
        extrema = self._extrema[joint]
        extrema.append((time, size))
        (first_time, first), (_, fifth) = extrema[0], extrema[-2 if len(extrema) > 1 else -1]
        lasting = time - first_time
        if len(extrema) < EXTREMA or lasting > SPAN or min(size, fifth) < RATIO * first:
            return None
        return Ringing(joint, (EXTREMA - 1) / (2.0 * lasting), size, time)


class RingingMonitor:
    """Says which joint rings, how fast, and what to change. It changes no command.

    Args:
        robot: its configuration.
        model: of the robot; its inertia at home weights the velocities.

    Attributes:
        found: the last oscillation; None where there was none.
    """

    def __init__(self, robot: RobotConfig, model: RobotModel) -> None:
        self._joints, self._detector = robot.joints, RingingDetector(model.mass(np.array(robot.home)).diagonal())
        self.found: Ringing | None = None

    def observe(self, state: RobotState) -> None:
        """Look at a sample."""
        self.found = self._detector.update(state.time, state.v) or self.found

    def warning(self, mode: CommandMode, law: str, time: float) -> str:
        """What rang in the second before a time [s], under a law; empty where nothing did."""
        found = self.found
        if found is None or not 0.0 <= time - found.time <= SHOWN:
            return ""
        return f"{self._joints[found.joint]} rings at {found.frequency:.0f} Hz: {ADVICE[mode].format(law=law)}"
