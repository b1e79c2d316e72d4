"""The tasks of the environments: scene, random part of an episode, and reward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from robot_control_ros import Array, Snapshot

REST_SPEED = 0.02  # m/s, below which the tip counts as at rest


class Progress(NamedTuple):
    """The progress of a task after a step.

    Attributes:
        goal: Part (k,) of the observation that shows the goal.
        reward: Reward of the step, from -1 to 0.
        success: True where the task is done, or is being done.
        ended: True where the episode ends.
        error: Distance to the goal, or lacking force, in the unit of the task.
    """

    goal: Array
    reward: float
    success: bool
    ended: bool
    error: float


class Task(Protocol):
    """A task. Each environment has an object of its own, and begins it again with each episode.

    Attributes:
        id: Id of the environment, without namespace and version.
        scene: Scene of the task, or an empty text. The tip begins at the start of the scene, or at
            home.
        steps: Steps after which an episode is truncated.
        step: Largest displacement of the target along an axis in one step [m].
        box: Largest displacement (3,) of the target from the start [m].
        goal_bound: Largest absolute values (k,) of `goal`.
    """

    id: ClassVar[str]
    scene: ClassVar[str]
    steps: ClassVar[int]
    step: ClassVar[float]
    box: ClassVar[tuple[float, float, float]]
    goal_bound: ClassVar[tuple[float, ...]]

    def begin(self, random: np.random.Generator, start: Array) -> Array:
        """Draw an episode.

        Args:
            random: Generator of the episode.
            start: Start position (3,) of the scene [m].

        Returns:
            First position (3,) of the tip [m].
        """

    def progress(self, state: Snapshot, time: float) -> Progress:
        """The progress in a state, `time` seconds after the beginning."""


@dataclass
class Reach:
    """Bring the tip to rest within 5 mm of a point, up to 0.1 m away along each axis.

    The goal is the vector from the tip to the point (3,) [m]. The reward is minus the distance over
    0.1 m.
    """

    id: ClassVar[str] = "Reach"
    scene: ClassVar[str] = ""
    steps: ClassVar[int] = 100
    step: ClassVar[float] = 0.01
    box: ClassVar[tuple[float, float, float]] = (0.15, 0.15, 0.15)
    goal_bound: ClassVar[tuple[float, ...]] = (0.5, 0.5, 0.5)

    def begin(self, random: np.random.Generator, start: Array) -> Array:
        self._point = start + random.uniform(-0.1, 0.1, 3)
        return start

    def progress(self, state: Snapshot, time: float) -> Progress:
        to_point = self._point - state.pose[:3, 3]
        distance = float(np.linalg.norm(to_point))
        speed = float(np.linalg.norm(state.twist[:3]))
        done = distance < 0.005 and speed < REST_SPEED
        return Progress(to_point, -min(distance / 0.1, 1.0), done, done, distance)


@dataclass
class Follow:
    """Stay within 10 mm of a point that moves on a circle of 30 to 80 mm radius, 4 to 8 s a turn.

    The goal is the vector from the tip to the point, and the point's velocity (6,) [m, m/s]. The
    reward is minus the distance over 0.05 m.
    """

    id: ClassVar[str] = "Follow"
    scene: ClassVar[str] = ""
    steps: ClassVar[int] = 250
    step: ClassVar[float] = 0.01
    box: ClassVar[tuple[float, float, float]] = (0.2, 0.2, 0.2)
    goal_bound: ClassVar[tuple[float, ...]] = (0.5, 0.5, 0.5, 0.2, 0.2, 0.2)

    def begin(self, random: np.random.Generator, start: Array) -> Array:
        self._start = start
        self._radius = random.uniform(0.03, 0.08)
        self._rate = random.choice((-1.0, 1.0)) * 2.0 * math.pi / random.uniform(4.0, 8.0)
        axes, _ = np.linalg.qr(random.normal(size=(3, 2)))
        self._axes = np.asarray(axes.T)
        return start

    def progress(self, state: Snapshot, time: float) -> Progress:
        angle = self._rate * time
        cosine = math.cos(angle)
        sine = math.sin(angle)
        point = self._start + self._radius * np.array((cosine - 1.0, sine)).dot(self._axes)
        velocity = self._radius * self._rate * np.array((-sine, cosine)).dot(self._axes)
        to_point = point - state.pose[:3, 3]
        distance = float(np.linalg.norm(to_point))
        goal = np.concatenate((to_point, velocity))
        return Progress(goal, -min(distance / 0.05, 1.0), distance < 0.01, False, distance)


@dataclass
class Press:
    """Press on a surface 20 mm below the tool with 5 to 20 N.

    An error below a tenth of this force is success.

    The goal is the wanted force and the lacking force (2,) [N]. The reward is minus the error over
    the wanted force.
    """

    id: ClassVar[str] = "Press"
    scene: ClassVar[str] = "surface"
    steps: ClassVar[int] = 200
    step: ClassVar[float] = 0.002
    box: ClassVar[tuple[float, float, float]] = (0.05, 0.05, 0.06)
    goal_bound: ClassVar[tuple[float, ...]] = (50.0, 200.0)

    def begin(self, random: np.random.Generator, start: Array) -> Array:
        self._force = float(random.uniform(5.0, 20.0))
        return start

    def progress(self, state: Snapshot, time: float) -> Progress:
        lacking_force = self._force - float(np.nan_to_num(state.wrench[2]))
        relative_error = abs(lacking_force) / self._force
        goal = np.array((self._force, lacking_force))
        return Progress(
            goal, -min(relative_error, 1.0), relative_error < 0.1, False, abs(lacking_force)
        )


@dataclass
class PegInHole:
    """Bring a peg 25 mm deep into a hole that is 0.5 mm wider.

    The place of the hole is known to 1.5 mm along x and y. The tip begins above the assumed place.
    The goal is the vector (3,) from the tip to the assumed end of the peg's path [m]. The reward is
    minus the depth that is left over 40 mm.
    """

    id: ClassVar[str] = "PegInHole"
    scene: ClassVar[str] = "hole"
    steps: ClassVar[int] = 250
    step: ClassVar[float] = 0.002
    box: ClassVar[tuple[float, float, float]] = (0.02, 0.02, 0.07)
    goal_bound: ClassVar[tuple[float, ...]] = (0.5, 0.5, 0.5)
    depth: ClassVar[float] = 0.035  # m, of the tip below the scene's start

    def begin(self, random: np.random.Generator, start: Array) -> Array:
        error = np.array((*random.uniform(-0.0015, 0.0015, 2), 0.0))
        self._assumed_end = start + error - (0.0, 0.0, self.depth)
        return np.asarray(start + error)

    def progress(self, state: Snapshot, time: float) -> Progress:
        to_end = self._assumed_end - state.pose[:3, 3]
        depth_left = max(-float(to_end[2]), 0.0)
        done = depth_left == 0.0
        return Progress(to_end, -min(depth_left / 0.04, 1.0), done, done, depth_left)


TASKS: Mapping[str, type[Task]] = {
    "reach": Reach,
    "follow": Follow,
    "press": Press,
    "peg_in_hole": PegInHole,
}
