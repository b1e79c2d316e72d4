"""What is to be done in an environment: the scene, the random part of an episode, the reward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from ...core.types import Array
from ..snapshot import Snapshot

FAST = 0.02  # m/s: slower than that the tip counts as at rest


class Progress(NamedTuple):
    """How a task stands after a step.

    Attributes:
        goal: (k,) what the policy sees of the goal; see the task.
        reward: from -1 to 0.
        success: whether the task is done, or being done.
        ended: whether that ends the episode.
        error: what is left to the goal, in the unit of the task.
    """

    goal: Array
    reward: float
    success: bool
    ended: bool
    error: float


class Task(Protocol):
    """A task; one object for each environment, which begins anew with each episode.

    Attributes:
        id: of the environment, without namespace and version.
        scene: that it takes place in; empty for none. The tip begins at its start, or at home.
        steps: after which an episode is truncated.
        step: largest displacement of the target along an axis in one step [m].
        box: (3,) how far the target may be from the start [m].
        goal_bound: (k,) of the absolute values of `goal`.
    """

    id: ClassVar[str]
    scene: ClassVar[str]
    steps: ClassVar[int]
    step: ClassVar[float]
    box: ClassVar[tuple[float, float, float]]
    goal_bound: ClassVar[tuple[float, ...]]

    def begin(self, random: np.random.Generator, start: Array) -> Array:
        """Draw an episode; returns the tip's first position (3,) from the start position (3,) of the scene [m]."""

    def progress(self, state: Snapshot, time: float) -> Progress:
        """How it stands, `time` seconds after the beginning."""


@dataclass
class Reach:
    """Bring the tip to rest within 5 mm of a point, up to 0.1 m away along each axis.

    The goal is the way to the point (3,) [m]. The reward is minus the distance over 0.1 m.
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
        way = self._point - state.pose[:3, 3]
        left = float(np.linalg.norm(way))
        done = left < 0.005 and float(np.linalg.norm(state.twist[:3])) < FAST
        return Progress(way, -min(left / 0.1, 1.0), done, done, left)


@dataclass
class Follow:
    """Stay within 10 mm of a point on a circle, of 30 to 80 mm radius and 4 to 8 s a turn.

    The goal is the way to the point and its velocity (6,) [m, m/s]. The reward is minus the distance over 0.05 m.
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
        way = point - state.pose[:3, 3]
        left = float(np.linalg.norm(way))
        return Progress(np.concatenate((way, velocity)), -min(left / 0.05, 1.0), left < 0.01, False, left)


@dataclass
class Press:
    """Press on a surface 20 mm below the tool, with 5 to 20 N; within a tenth of it is success.

    The goal is the wanted force and what it lacks (2,) [N]. The reward is minus the lack over the wanted force.
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
        lack = self._force - float(np.nan_to_num(state.wrench[2]))
        share = abs(lack) / self._force
        return Progress(np.array((self._force, lack)), -min(share, 1.0), share < 0.1, False, abs(lack))


@dataclass
class PegInHole:
    """Bring a peg 25 mm deep into a hole of 0.5 mm more width, whose place is known to 1.5 mm along x and y.

    The tip begins above the place where the hole is thought to be. The goal is the way (3,) from there to the depth
    wanted [m]; it has that error. The reward is minus the depth that is left over 40 mm.
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
        self._thought = start + error - (0.0, 0.0, self.depth)
        return np.asarray(start + error)

    def progress(self, state: Snapshot, time: float) -> Progress:
        way = self._thought - state.pose[:3, 3]
        left = max(-float(way[2]), 0.0)
        done = left == 0.0
        return Progress(way, -min(left / 0.04, 1.0), done, done, left)


TASKS: Mapping[str, type[Task]] = {"reach": Reach, "follow": Follow, "press": Press, "peg_in_hole": PegInHole}
