"""The task `reach`: bring the tip into a ball. It needs no LeRobot."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from robot_control_ros import Snapshot

RADIUS = 0.02  # m, of the ball
BOX = np.array((0.1, 0.1, 0.05))  # m, of the ball's centre around the start, each way
STAYS = 0.3  # s in the ball that count as reached
COLOR = (220, 30, 30)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ball:
    """A ball that is over.

    Attributes:
        center: Centre (3,) of the ball [m].
        reached: True where the tip stayed in it.
        seconds: Time for which it was there [s].
        distance: Distance of the tip from its centre at the end [m].
    """

    center: tuple[float, float, float]
    reached: bool
    seconds: float
    distance: float


class ReachTask:
    """Shows a ball. When the tip has stayed in it for 0.3 s, or after its time, another one comes.

    Args:
        start: Position (3,) around which balls come [m].
        time: Time by the robot's clock at which the first ball comes [s].
        seed: Seed of their places.
        lasts: Time of a ball, after which it counts as missed [s].

    Attributes:
        center: Centre (3,) of the present ball [m].
        balls: Balls that are over.
    """

    def __init__(self, start: np.ndarray, time: float, seed: int, lasts: float) -> None:
        self._random = np.random.default_rng(seed)
        self._start = np.array(start)
        self._lasts = lasts
        self.balls: list[Ball] = []
        self._next(time)

    def observe(self, state: Snapshot) -> None:
        """Look at a state of the arm."""
        distance = float(np.linalg.norm(state.pose[:3, 3] - self.center))
        if distance > RADIUS:
            self._inside_since = np.inf
        elif not np.isfinite(self._inside_since):
            self._inside_since = state.time
        reached = state.time - self._inside_since >= STAYS - 1e-9
        age = state.time - self._began
        if not reached and age < self._lasts - 1e-9:
            return
        x, y, z = self.center.tolist()
        self.balls.append(Ball((x, y, z), reached, age, distance))
        _log.info(
            "ball %d: %s after %.1f s, the tip is %.0f mm from its centre; reached: %d of %d",
            len(self.balls),
            "reached" if reached else "missed",
            age,
            1e3 * distance,
            sum(ball.reached for ball in self.balls),
            len(self.balls),
        )
        self._next(state.time)

    def _next(self, time: float) -> None:
        self.center = self._start + self._random.uniform(-BOX, BOX)
        self._began = time
        self._inside_since = np.inf
