"""Collisions: how soon they are found, how hard they are with each reaction. Motion alone is none.

The arm has friction, a tenth of it unknown to the model, and an unknown load on its flange. A stiff
joint impedance moves it: a servo that pushes on where it is blocked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import make_pose
from robot_control_ros.core.types import Array, RobotState
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.solids import Shape
from robot_control_ros.sensing.contact_detector import DetectedContact
from robot_control_ros.simulation.imperfect.imperfections import (
    Imperfections,
    LoadedFriction,
    ModelErrors,
)
from robot_control_ros.simulation.mujoco_plant import PHYSICS_STEP
from robot_control_ros.simulation.scene import Scene, SceneObject, Surface

from ..row import Row, required
from .trial_arm import DELAYS, RATE, TrialArm, cycles, trial_robot

FRICTION = {"ur5e": (6.0, 6.0, 5.0, 2.0, 2.0, 2.0)}  # N·m; the trials' robots
KNOWN = 0.9  # of it, that the model has
# kg that the model doesn't know, and m before the flange
LOAD = 0.3
OVERHANG = 0.05
GAINS: dict[str, Any] = {
    "stiffness": [1000.0, 1000.0, 1000.0, 200.0, 200.0, 200.0],
    "friction": True,
}
# m/s of the collision, and m before it
SPEED = 0.25
GAP = 0.08
# s after the contact, whose end counts
AFTER = 0.5
LAST = 0.05
SURFACES = {1e4: 0.030, 7.5e4: 0.015}  # s until it must be found, by stiffness [N/m]
# N that may be left after 0.5 s
REACTIONS = {"hold": np.inf, "brake": 30.0, "soft": 1.0, "retreat": 1.0}
PEAK = 90.0  # N, at the softer one
# link, way back
POSTS = {"tool": ("tool0", 0.0), "wrist": ("wrist_1_link", 0.0), "forearm": ("wrist_1_link", 0.4)}
# m, radius and length; m along the arc before it; s, time constant
POST = (0.02, 0.06)
POST_GAP = 0.12
RIGID = 0.005
LIMIT = 3.0  # s within which a collision must have happened
# s, of the speed limits, rad from home, s of a move
MOTION = 600.0
FASTEST = 0.6
REACH = 1.2
MOVE = 1.3
MOTION_DELAY = 0.002  # s
REQUIRED = required("evidence/contact/collision_trials.py")


@dataclass(frozen=True)
class Collision:
    """Figures of one collision.

    Attributes:
        found: Time from the first force to the detection [s]; infinite where it wasn't detected, or
            before the force.
        peak: Largest force in the half second after the first force [N].
        left: Largest force at the end of that half second [N].
        contact: Contact that was detected; None for none.
    """

    found: float
    peak: float
    left: float
    contact: DetectedContact | None


class HitArm(TrialArm):
    """An arm with friction and an unknown load; its tip meets a level surface, if there is one.

    Args:
        robot: Configuration of the robot.
        stiffness: Stiffness of the surface [N/m]; 0 for no surface.
        scene: Scene with a post, or a scene's name; empty for none.
    """

    def __init__(self, robot: RobotConfig, stiffness: float = 0.0, scene: Scene | str = "") -> None:
        wrong = ModelErrors(payload_mass=LOAD, payload_centre=(0.0, 0.0, OVERHANG))
        friction = LoadedFriction(coulomb=FRICTION[robot.name])
        super().__init__(robot, scene, physics=Imperfections("hit", friction=friction, model=wrong))
        self._stiffness = stiffness
        self._dynamics = RobotModel.of(robot)
        self._tip = robot.tip
        self._surface = np.inf

    def raise_surface(self, height: float) -> None:
        """Put the surface at a height [m] in the base."""
        self._surface = height

    def sample(self) -> RobotState:
        state = super().sample()
        if self._stiffness:
            depth = (
                self._surface - self._dynamics.at(state.q, state.v).pose[2, 3]
                if self._surface < np.inf
                else 0.0
            )
            self.forces[-1] = np.array([0.0, 0.0, max(self._stiffness * depth, 0.0)])
            self.push(self._tip, self.forces[-1], np.zeros(3))
        else:
            self.forces[-1] = sum((each.wrench[:3] for each in self.contacts()), np.zeros(3))
        return state


def hit_robot(name: str) -> RobotConfig:
    """The trials' robot, whose moves are as fast as the collisions, and may go anywhere."""
    robot = trial_robot(name)
    robot = replace(robot, profile=replace(robot.profile, workspace={}))
    return replace(robot, tip_speed=(SPEED, robot.tip_speed[1]), joint_speed=FASTEST)


def hit_loop(robot: RobotConfig, reaction: str) -> ControlLoop:
    """A loop whose model knows nine tenths of the friction, and which has no wrist sensor."""
    urdf = robot.urdf()
    values = dict(zip(robot.joints, FRICTION[robot.name], strict=True))

    def known(match: re.Match[str]) -> str:
        return (
            f'{match[1]}<dynamics damping="0" friction="{KNOWN * values[match[2]]}"/>'
            if match[2] in values
            else match[0]
        )

    pattern = r'(<joint name="([^"]*)"(?:(?!</joint>).)*?)<dynamics [^>]*/>'
    model = RobotModel.of(robot, re.sub(pattern, known, urdf, flags=re.DOTALL))
    loop = ControlLoop(robot, "joint_impedance", GAINS, model=model)
    loop.contact.settings.set({"reaction": reaction, "collision_force": 0.0, "clamping_force": 0.0})
    return loop


def pressed_down(name: str, stiffness: float, reaction: str, delay: float) -> Collision:
    """The tip goes down on a surface at 0.25 m/s."""
    robot = hit_robot(name)
    arm = HitArm(robot, stiffness)
    loop = hit_loop(robot, reaction)
    goal = RobotModel.of(robot).at(np.array(robot.home)).pose.copy()
    arm.raise_surface(goal[2, 3] - GAP)
    goal[2, 3] -= 2.5 * GAP
    return _collision(arm, loop, delay, lambda: loop.motion.move_to(goal))


def swept(name: str, place: str, reaction: str, delay: float) -> Collision:
    """The first joint turns the tool, a wrist or the forearm into a rigid post at 0.25 m/s."""
    robot = hit_robot(name)
    model = RobotModel.of(robot)
    home = np.array(robot.home)
    link, back = POSTS[place]
    at = model.link(link, home)[0][:3, 3]
    root = model.link(model.links[2], home)[0][:3, 3]
    at = at + back * (root - at)
    radius = float(np.linalg.norm(at[:2]))
    turn = float(np.arctan2(at[1], at[0]))
    turn += POST_GAP / radius
    where = make_pose(np.array([radius * np.cos(turn), radius * np.sin(turn), at[2]]), np.eye(3))
    shape = Shape("capsule", POST, where)
    surface = Surface(RIGID)
    post = SceneObject(
        name="post", shape=shape, surface=surface, mass=0.0, stiffness=0.0, damping=0.0
    )
    robot = replace(robot, joint_speed=SPEED / radius / float(model.limits.velocity[0]))
    arm = HitArm(robot, scene=Scene("post", objects={"post": post}))
    loop = hit_loop(robot, reaction)
    home[0] += 2.0 * POST_GAP / radius
    return _collision(arm, loop, delay, lambda: loop.motion.move_joints_to(home))


def _collision(
    arm: HitArm, loop: ControlLoop, delay: float, begin: Callable[[], None]
) -> Collision:
    steps = round(AFTER / PHYSICS_STEP)
    first = 0
    for count, _ in enumerate(cycles(arm, loop, delay, LIMIT)):
        if count == 0:
            begin()
        sizes = np.linalg.norm(arm.forces, axis=1)
        first = int(np.argmax(sizes > 0.0))
        if sizes[first] > 0.0 and len(sizes) > first + steps:
            break
    contact = loop.contact.report().contact
    after = sizes[first : first + steps]
    passed = np.inf if contact is None else contact.start - first * PHYSICS_STEP
    found = passed if passed > -PHYSICS_STEP else np.inf  # an alarm before the contact isn't of it
    return Collision(
        found, float(after.max()), float(after[-round(LAST / PHYSICS_STEP) :].max()), contact
    )


def moved(name: str, seconds: float, seed: int = 21) -> tuple[Array, DetectedContact | None]:
    """Largest residual of each joint over its threshold (n,) in random moves that nothing touches.

    Beside it, the contact that was detected; None for none.
    """
    robot = hit_robot(name)
    rng = np.random.default_rng(seed)
    arm = HitArm(robot)
    loop = hit_loop(robot, "none")
    home = np.array(robot.home)
    largest = np.zeros(robot.n)
    for count, _ in enumerate(cycles(arm, loop, MOTION_DELAY, seconds)):
        if count % round(MOVE * RATE) == 0:
            move_anywhere(loop, home, rng)
        largest = np.maximum(largest, loop.contact.report().load)
    return largest, loop.contact.report().contact


def move_anywhere(loop: ControlLoop, home: Array, rng: np.random.Generator) -> None:
    """Send the loop a random joint goal near home (n,) [rad]; draw again where it refuses one,
    as through the floor.
    """
    while True:
        goal = home + rng.uniform(-REACH, REACH, len(home))
        try:
            loop.motion.move_joints_to(goal)
        except ConfigError:
            continue
        return


def rows(robot: str) -> list[Row]:
    """All trials of a robot; without figures of its friction there are none."""
    return (
        [*_soft_rows(robot), *_rigid_rows(robot), *motion_rows(robot, MOTION)]
        if robot in FRICTION
        else []
    )


def _soft_rows(robot: str) -> Iterator[Row]:
    for (stiffness, soon), delay in product(SURFACES.items(), DELAYS):
        for reaction, left in REACTIONS.items():
            got = pressed_down(robot, stiffness, reaction, delay)
            head = f"tip on {stiffness:g} N/m, {reaction}, {1e3 * delay:g} ms: "
            found = round(1e3 * got.found, 6)
            yield Row.at_most(head + "found after", found, 1e3 * soon, "ms", REQUIRED)
            if stiffness == min(SURFACES):
                yield Row.at_most(head + "peak", got.peak, PEAK, "N", REQUIRED)
            if left < np.inf:
                yield Row.at_most(head + "force after 0.5 s", got.left, left, "N", REQUIRED)


def _rigid_rows(robot: str) -> Iterator[Row]:
    for place, (reaction, left), delay in product(POSTS, REACTIONS.items(), DELAYS):
        got = swept(robot, place, reaction, delay)
        head = f"{place} into a rigid post, {reaction}, {1e3 * delay:g} ms: "
        found = round(1e3 * got.found, 6)
        yield Row.at_most(head + "found after", found, 2e3 / RATE, "ms", REQUIRED)
        if left < np.inf:
            yield Row.at_most(head + "force after 0.5 s", got.left, left, "N", REQUIRED)


def motion_rows(robot: str, seconds: float) -> Iterator[Row]:
    """The rows of motion without contact."""
    largest, found = moved(robot, seconds)
    head = f"{seconds:g} s of random moves, nothing touched: "
    residual = largest.max()
    yield Row.at_most(head + "largest residual over its threshold", residual, 1.0, "", REQUIRED)
    yield Row.at_most(head + "alarms", float(found is not None), 0, "", REQUIRED)
