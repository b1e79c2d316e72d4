"""Bodies that an arm can collide with: itself, what it carries, and its cell."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import unknown
from ..core.types import Array, as_row
from .cell import CellObject
from .configuration import RobotConfig
from .distances import (
    HALF_SPACE,
    SOLID,
    Bodies,
    distances_into,
    nearest_into,
    pair_distance,
    survey,
)
from .joint_chain import BASE, place_joints
from .link_bodies import Solid, described_bodies, solid_of, sphere
from .model import RobotModel
from .payload import Payload

POSTURES = 1000  # random ones, over which pairs are looked for that always touch
FEWER = 100  # the same for a payload, which may come while the arm is under control
NEAR = 0.01  # m: what is nearer than that touches by design where it always does
ALWAYS = 0.95  # of the postures: a pair that is within the margin in more of them always touches
CONSTANT = 1e-6  # m: a distance that changes by less, over all postures, is the same for each
DENSITY = 1000.0  # kg/m³ of a payload whose size isn't known
PAYLOAD = "payload"


class NearestPair(NamedTuple):
    """The two bodies of a posture that have least to spare.

    Attributes:
        first, second: Names of the two bodies: a link, or `payload`; and a link, or an object of
            the cell.
        distance: Distance of their surfaces [m]; negative where they overlap.
        margin: Distance that they must keep [m].
        points: (2, 3) points where they are nearest, in the base [m].
        normal: (3,) unit vector from the first to the second.
        gradient: (n,) change of the distance with each joint [m/rad].
    """

    first: str
    second: str
    distance: float
    margin: float
    points: Array
    normal: Array
    gradient: Array


class HandPair(NamedTuple):
    """Two bodies, their distance, and the margin that they must keep [m]."""

    first: str
    second: str
    distance: float
    margin: float


@dataclass(frozen=True, eq=False)
class _Body:
    """A solid in the frame of the joint that moves it."""

    name: str
    joint: int
    solid: Solid
    margin: float = 0.0  # of an object of the cell


class CollisionModel:
    """The bodies of an arm and of its cell, and the pairs of them that must not touch.

    Bodies of the arm are the shapes of its description, or those of its configuration. A sphere
    stands for the payload, whose radius is that of its mass in water where none is given.

    Not all pairs count, as in MoveIt's setup assistant (its "default collisions"): links that one
    joint joins, and what is within 10 mm in more than 95 % of 1000 random postures, touch by
    design. What is always as far away as ever doesn't count either. The payload keeps from the arm.
    It keeps from the cell as well where its radius is given: else nothing could be put down.

    Args:
        robot: Configuration of the robot.
        model: Kinematics of the robot.
        margin: Distance that bodies keep from each other [m].
        payload: Payload that the tip carries.
        payload_radius: Radius of the sphere about the payload's centre of gravity [m]; 0 for that
            of its mass.

    Attributes:
        bodies: Bodies and their pairs for compiled code, see :class:`~.distances.Bodies`.
        names: Names of the bodies: their links, `payload`, and the objects of the cell.
        planes: Names of the half-spaces.
        problems: Messages about shapes that can't be read; their links count as nothing.

    Raises:
        ConfigError: the configuration has bodies of a link that the description hasn't.
    """

    def __init__(
        self,
        robot: RobotConfig,
        model: RobotModel,
        margin: float,
        payload: Payload,
        payload_radius: float = 0.0,
    ) -> None:
        self._model = model
        self._margin = margin
        arm, self.problems = _arm_bodies(robot, model)
        carried = _payload_bodies(robot, model, payload, payload_radius)
        self._moved = (*arm, *carried)
        fixed, half_spaces = _cell_bodies(robot.cell.values(), model.root, margin)
        bodies = (*self._moved, *fixed)
        self.names = tuple(each.name for each in bodies)
        self.planes = tuple(each.name for each in half_spaces)
        self.bodies = Bodies(
            joint=np.array([each.joint for each in bodies], dtype=np.int64),
            pose=np.array([each.solid.pose for each in bodies]).reshape(-1, 4, 4),
            half=np.array([each.solid.half for each in bodies]).reshape(-1, 3),
            is_box=np.array([each.solid.is_box for each in bodies], dtype=np.bool_),
            rounding=np.array([each.solid.rounding for each in bodies], dtype=float),
            plane=np.array([each.plane for each in half_spaces]).reshape(-1, 4),
            pairs=np.zeros((0, 3), dtype=np.int64),
            margin=np.zeros(0),
            lever=np.zeros((0, model.n)),
        )
        beside_cell = self._moved if payload_radius > 0.0 else arm
        self._choose([*self._own_pairs(), *self._cell_pairs(len(beside_cell), fixed, half_spaces)])

    def distances(self, q: Array) -> Array:
        """Distance of each pair (p,) at joint angles q (n,) [m]; negative where
        two bodies overlap.
        """
        distances = np.empty(len(self.bodies.pairs))
        distances_into(self._model.chain, self.bodies, as_row(q), distances)
        return distances

    def pair_names(self, pair: int) -> tuple[str, str]:
        """Names of the two bodies of a pair."""
        first, second, kind = self.bodies.pairs[pair].tolist()
        return self.names[first], (self.names if kind == SOLID else self.planes)[second]

    def pair(self, q: Array, pair: int) -> NearestPair:
        """Distance, points and gradient of a pair at joint angles q (n,)."""
        points = np.empty((2, 3))
        normal = np.empty(3)
        gradient = np.empty(self._model.n)
        distance = nearest_into(
            self._model.chain, self.bodies, as_row(q), pair, points, normal, gradient
        )
        margin = float(self.bodies.margin[pair])
        return NearestPair(*self.pair_names(pair), distance, margin, points, normal, gradient)

    def nearest(self, q: Array) -> NearestPair | None:
        """The pair that has least to spare at joint angles q (n,); None where there is no pair."""
        if not len(self.bodies.pairs):
            return None
        return self.pair(q, int(np.argmin(self.distances(q) - self.bodies.margin)))

    def hand_at(self, q: Array, pose: Array) -> HandPair | None:
        """The pair that would have least to spare, if what moves with the tip were at a pose.

        So a pose is judged that the arm can't reach: whatever its joints did, its hand would be
        there.

        Args:
            q: (n,) joint angles of the other links [rad].
            pose: (4, 4) pose of the tip in the base.

        Returns:
            None where the hand has no pair.
        """
        bodies = self.bodies
        joint, in_joint = self._model.carrier(self._model.tip)
        poses = np.empty((self._model.n, 4, 4))
        place_joints(self._model.chain, as_row(q), poses)
        poses[joint] = pose @ np.linalg.inv(in_joint)
        placed = np.empty((2, 4, 4))
        points = np.empty((2, 3))
        normal = np.empty(3)
        found = []
        for pair, (first, second, kind) in enumerate(bodies.pairs.tolist()):
            if bodies.joint[first] == joint or (kind == SOLID and bodies.joint[second] == joint):
                distance = pair_distance(bodies, poses, pair, placed, points, normal)
                found.append(HandPair(*self.pair_names(pair), distance, float(bodies.margin[pair])))
        return min(found, key=lambda each: each.distance - each.margin, default=None)

    def touching_links(self) -> set[tuple[str, str]]:
        """Pairs of links that touch by design, in both orders: those of which no
        bodies are checked.
        """
        links = {each.name for each in self._moved if each.name != PAYLOAD}
        checked = {self.pair_names(pair) for pair in range(len(self.bodies.pairs))}
        checked |= {(second, first) for first, second in checked}
        return {(a, b) for a in links for b in links if a != b} - checked

    # --- which pairs ---

    def _own_pairs(self) -> Iterator[tuple[int, int, int, float]]:
        parent = self._model.chain.parent
        for second in range(len(self._moved)):
            for first in range(second):
                a = self._moved[first].joint
                b = self._moved[second].joint
                joined = a == b or (a != BASE and parent[a] == b) or (b != BASE and parent[b] == a)
                if not joined:
                    yield first, second, SOLID, self._margin

    def _cell_pairs(
        self, count: int, fixed: Sequence[_Body], half_spaces: Sequence[_HalfSpace]
    ) -> Iterator[tuple[int, int, int, float]]:
        """Pairs of the first `count` bodies, where joints move them, with the cell."""
        for first in range(count):
            if self._moved[first].joint == BASE:
                continue
            for number, body in enumerate(fixed):
                yield first, len(self._moved) + number, SOLID, body.margin
            for number, half_space in enumerate(half_spaces):
                yield first, number, HALF_SPACE, half_space.margin

    def _choose(self, pairs: Sequence[tuple[int, int, int, float]]) -> None:
        """Keep the pairs that don't touch by design."""
        numbers = np.array([pair[:3] for pair in pairs], dtype=np.int64).reshape(-1, 3)
        margins = np.array([pair[3] for pair in pairs], dtype=float)
        self.bodies = self.bodies._replace(
            pairs=numbers, margin=margins, lever=np.zeros((len(margins), self._model.n))
        )
        carried = np.array([self._carries(pair) for pair in numbers.tolist()], dtype=np.bool_)
        kept = np.empty(len(numbers), dtype=np.bool_)
        for these, count in ((~carried, POSTURES), (carried, FEWER)):
            kept[these] = _counts(self._model, self.bodies._replace(pairs=numbers[these]), count)
        reaches = [self._reach(body) for body in range(len(self.names))]
        levers = np.array([_lever(pair, reaches) for pair in numbers[kept].tolist()]).reshape(
            -1, self._model.n
        )
        self.bodies = self.bodies._replace(pairs=numbers[kept], margin=margins[kept], lever=levers)

    def _carries(self, pair: Sequence[int]) -> bool:
        """True where one of a pair is the payload."""
        first, second, kind = pair
        return PAYLOAD in (self.names[first], self.names[second] if kind == SOLID else "")

    def _reach(self, body: int) -> Array:
        """Largest distance (n,) of a body from each joint that moves it; 0 for
        the other joints [m].
        """
        chain = self._model.chain
        limits = self._model.limits
        reach = np.zeros(self._model.n)
        joint = int(self.bodies.joint[body])
        size = np.linalg.norm(self.bodies.half[body]) + self.bodies.rounding[body]
        away = float(np.linalg.norm(self.bodies.pose[body, :3, 3]) + size)
        while joint != BASE:
            if not chain.turns[joint]:
                away += max(abs(limits.lower[joint]), abs(limits.upper[joint]))
            reach[joint] = away if chain.turns[joint] else 1.0
            away += float(np.linalg.norm(chain.placement[joint, :3, 3]))
            joint = int(chain.parent[joint])
        return reach


@dataclass(frozen=True, eq=False)
class _HalfSpace:
    name: str
    plane: Array  # (4,)
    margin: float


def _lever(pair: Sequence[int], reaches: Sequence[Array]) -> Array:
    """Largest motion of a pair's bodies in relation to each other, by each joint (n,) [m/rad]."""
    first, second, kind = pair
    lever = reaches[first]
    if kind == SOLID:
        other = reaches[second]
        both = (lever > 0.0) & (other > 0.0)  # such a joint moves both as one body
        lever = np.where(both, 0.0, lever + other)
    return lever


# what :func:`_counts` has found, by all that it follows from
_counted: dict[bytes, NDArray[np.bool_]] = {}
MOST_COUNTED = 100


def _counts(model: RobotModel, bodies: Bodies, count: int) -> NDArray[np.bool_]:
    """True for each pair of bodies that counts (p,), by so many random postures.

    See :class:`CollisionModel` for the pairs that don't count.

    It takes some 40 ms for an arm, so the answer is kept. A user's margin doesn't change it.
    """
    limits = model.limits
    lower = np.maximum(limits.lower, -math.pi)
    upper = np.minimum(limits.upper, math.pi)
    bodies = bodies._replace(
        margin=np.full(len(bodies.pairs), NEAR), lever=np.zeros((len(bodies.pairs), model.n))
    )
    used = np.unique(
        np.concatenate((bodies.pairs[:, 0], bodies.pairs[bodies.pairs[:, 2] == SOLID, 1]))
    )
    shapes = (bodies.joint, bodies.pose, bodies.half, bodies.is_box, bodies.rounding)
    of_bodies = (each[used] for each in shapes)
    follows_from = (
        *model.chain,
        *of_bodies,
        bodies.plane,
        bodies.pairs,
        lower,
        upper,
        np.array(count),
    )
    key = hashlib.sha256(b"".join(each.tobytes() for each in follows_from)).digest()
    if key not in _counted:
        if len(_counted) >= MOST_COUNTED:
            _counted.clear()
        postures = np.random.default_rng(0).uniform(lower, upper, (count, model.n))
        near, least, most = np.empty((3, len(bodies.pairs)))
        survey(model.chain, bodies, postures, near, least, most)
        _counted[key] = (near <= ALWAYS * count) & (most - least > CONSTANT)
    return _counted[key]


def _arm_bodies(robot: RobotConfig, model: RobotModel) -> tuple[list[_Body], tuple[str, ...]]:
    """Bodies of the links, and what can't be read: shapes of such links are taken from
    the robot's own file.
    """
    folder = robot.urdf_path.parent
    described = described_bodies(model.urdf, folder)
    solids = dict(described.solids)
    if described.problems:
        solids = described_bodies(robot.urdf(), folder).solids | solids
    for link, shapes in robot.bodies.items():
        if link not in model.frames:
            raise unknown("frame", link, model.frames)
        solids[link] = tuple(map(solid_of, shapes))
    bodies = []
    for link, each in solids.items():
        if link in model.frames:
            joint, pose = model.carrier(link)
            bodies += [_Body(link, joint, solid.placed(pose)) for solid in each]
    return bodies, described.problems


def _payload_bodies(
    robot: RobotConfig, model: RobotModel, payload: Payload, radius: float
) -> list[_Body]:
    """The sphere that stands for the payload; none where there is no payload."""
    if payload.mass == 0.0:
        return []
    joint, pose = model.carrier(robot.tip)
    size = radius if radius > 0.0 else payload_radius(payload.mass)
    return [_Body(PAYLOAD, joint, sphere(payload.center, size).placed(pose))]


def payload_radius(mass: float) -> float:
    """Radius [m] of a sphere of water with a mass [kg]."""
    return float((3.0 * mass / (4.0 * math.pi * DENSITY)) ** (1.0 / 3.0))


def _cell_bodies(
    objects: Iterable[CellObject], root: Array, margin: float
) -> tuple[list[_Body], list[_HalfSpace]]:
    """The solids and half-spaces of a cell in the base; root (4, 4) is the world's pose there."""
    bodies = []
    half_spaces = []
    for each in objects:
        kept = margin if each.margin is None else each.margin
        if each.shape.kind == "plane":
            pose = root @ each.shape.pose
            normal = pose[:3, 2]
            half_spaces.append(
                _HalfSpace(each.name, np.array((*normal, normal @ pose[:3, 3])), kept)
            )
        else:
            bodies.append(_Body(each.name, BASE, solid_of(each.shape).placed(root), kept))
    return bodies, half_spaces
