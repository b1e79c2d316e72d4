"""A bounded spring at a wall: its force first, later and at rest; its release; its potential."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.integrate import quad

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Array
from robot_control_ros.laws.spring.bounded_spring import BoundedSpring
from robot_control_ros.robot.model import RobotDynamics, RobotModel
from robot_control_ros.simulation.mujoco_plant import PHYSICS_STEP
from robot_control_ros.simulation.scene import load_scene

from ..row import Row, calculated, required
from .trial_arm import (
    IDEAL,
    RATE,
    LoadedArm,
    TrialArm,
    cycles,
    delays,
    line,
    tip_damping,
    tip_mobility,
    trial_robot,
)

BOUND = 30.0  # N
GAINS: dict[str, Any] = {
    "stiffness": [2000.0] * 3 + [50.0] * 3,
    "damping_ratio": 1.0,
    "max_force": BOUND,
}
SPEEDS = (0.1, 0.25)  # m/s
# m: the target behind the surface, and the tool before the tip
BEYOND = 0.2
TOOL = 0.05
# s at the wall, after its removal, and at the end of the first
PRESSED = 4.5
RELEASED = 2.0
LAST = 0.5
EARLY = 0.15  # s after the first contact, that the impact takes
WALL = 0.65  # m, where the scene has it
# N/m, and m before it
SOFT_WALL = 1e4
SOFT_GAP = 0.08
# of the potential's checks; m and rad of their differences
STATES = 200
LOOPS = 4
PIECES = 60
STEP = 1e-6
REQUIRED = required("evidence/contact/spring_trials.py")
IMPACT = calculated("2.7 Λ v / t_c")
DAMPED = calculated("F + 1.2 D v")
RELEASE = calculated("1.3 max(F / D, v)")
SPRINGY_IMPACT = calculated("F + 1.5 v √(k Λ)")
ENERGY = calculated("the spring has an energy")


@dataclass(frozen=True)
class Blocked:
    """Figures of one trial at the wall.

    Attributes:
        steady: Median force in the last half second at the wall [N].
        ripple: Largest difference from `steady` in that half second [N].
        first, later: Largest force before and after 0.15 s from the first contact on [N].
        release: Largest speed of the tip after the wall has gone [m/s].
        overshoot: Distance by which the tip went beyond the target then [m].
        damping: Damping D of the law along the wall's normal [N·s/m].
        inertia: Inertia of the tip along that normal, at the first contact [kg].
    """

    steady: float
    ripple: float
    first: float
    later: float
    release: float
    overshoot: float
    damping: float
    inertia: float


def blocked(
    name: str,
    speed: float,
    delay: float,
    governor: bool = True,
    time_constant: float = 0.0,
    imperfections: str = IDEAL,
    **gains: Any,
) -> Blocked:
    """Move a target 0.2 m behind a wall at a speed [m/s], wait, and take the wall away."""
    robot = trial_robot(name, arm=imperfections)
    robot = replace(robot, tip_speed=(speed, robot.tip_speed[1]))
    arm = TrialArm(robot, "wall", time_constant, imperfections)
    loop = ControlLoop(robot, "impedance", GAINS | {"governor": governor} | gains)
    way: list[tuple[float, float]] = []
    damping = 0.0
    inertia = 0.0
    pressed = round(PRESSED * RATE)
    target = WALL - TOOL + BEYOND
    for _, kin in cycles(arm, loop, delay, PRESSED + RELEASED):
        if not way:
            goal = kin.pose.copy()
            goal[0, 3] = target
            loop.motion.move_to(goal)
        way.append((float(kin.pose[0, 3]), float(np.linalg.norm(kin.twist[:3]))))
        if not inertia and arm.forces[-1].any():
            inertia = 1.0 / tip_mobility(kin, 0)
        if len(way) == pressed:
            damping = tip_damping(loop, 0)
            arm.remove_objects()
    forces = np.linalg.norm(arm.forces, axis=1)[: round((PRESSED - 1.0 / RATE) / PHYSICS_STEP)]
    early = int(np.argmax(forces > 0.0)) + round(EARLY / PHYSICS_STEP)
    last = forces[-round(LAST / PHYSICS_STEP) :]
    after = np.array(way[pressed:])
    steady = float(np.median(last))
    return Blocked(
        steady,
        float(np.abs(last - steady).max()),
        float(forces[:early].max()),
        float(forces[early:].max()),
        float(after[:, 1].max()),
        float(after[:, 0].max() - target),
        damping,
        inertia,
    )


def struck(name: str, speed: float, delay: float) -> tuple[float, float]:
    """Largest force [N] in the first 0.15 s on a surface of 1e4 N/m across x.

    Beside it, the tip's inertia at the first contact [kg].
    """
    robot = trial_robot(name)
    robot = replace(
        robot, tip_speed=(speed, robot.tip_speed[1]), profile=replace(robot.profile, workspace={})
    )
    start = RobotModel.of(robot).at(np.array(robot.home)).pose
    depths: list[float] = []

    def load(time: float, kin: RobotDynamics) -> Array:
        depths.append(float(kin.pose[0, 3] - start[0, 3]) - SOFT_GAP)
        return np.array([-SOFT_WALL * max(depths[-1], 0.0), 0.0, 0.0, 0.0, 0.0, 0.0])

    arm = LoadedArm(robot, load)
    loop = ControlLoop(robot, "impedance", GAINS)
    inertia = 0.0
    for count, (_, kin) in enumerate(cycles(arm, loop, delay, 2.0 * SOFT_GAP / speed + 1.0)):
        if count == 0:
            goal = kin.pose.copy()
            goal[0, 3] += SOFT_GAP + BEYOND
            loop.motion.move_to(goal)
        if not inertia and depths[-1] > 0.0:
            inertia = 1.0 / tip_mobility(kin, 0)
    forces = SOFT_WALL * np.maximum(depths, 0.0)
    first = int(np.argmax(forces > 0.0))
    return float(forces[first : first + round(EARLY / PHYSICS_STEP)].max()), inertia


def rows(robot: str, arm: str = IDEAL) -> list[Row]:
    """All trials of a robot; `arm` names imperfections."""
    found = []
    for speed, delay, governor in product(SPEEDS, delays(arm), (True, False)):
        found += rows_of(robot, speed, delay, governor, arm)
    if arm:
        return found
    return [*found, *_soft_rows(robot), *potential_rows()]


def rows_of(robot: str, speed: float, delay: float, governor: bool, arm: str = IDEAL) -> list[Row]:
    """The rows of one trial."""
    got = blocked(robot, speed, delay, governor, imperfections=arm)
    head = (
        f"wall at {speed:g} m/s, {line(arm, delay)}, {'with' if governor else 'without'} governor: "
    )
    first = 2.7 * got.inertia * speed / _time_constant()
    resting = abs(got.steady - BOUND) + got.ripple
    later = 1.35 * BOUND if governor else BOUND + 1.2 * got.damping * speed
    origin = REQUIRED if governor else DAMPED
    release = 1.3 * max(BOUND / got.damping, speed)
    overshoot = 1e3 * got.overshoot
    return [
        Row.at_most(head + "first peak", got.first, first, "N", IMPACT),
        Row.at_most(head + "force at rest off by", resting, 1.0, "N", REQUIRED),
        Row.at_most(head + "force from 0.15 s on", got.later, later, "N", origin),
        Row.at_most(head + "speed after release", got.release, release, "m/s", RELEASE),
        Row.at_most(head + "overshoot after release", overshoot, 5.0, "mm", REQUIRED),
    ]


def _time_constant() -> float:
    return load_scene("wall").objects["wall"].surface.time_constant


def _soft_rows(robot: str) -> Iterator[Row]:
    """An impact on a spring k is v √(k Λ); the spring of the law, up to its bound, comes on top."""
    for speed, delay in product(SPEEDS, delays()):
        peak, inertia = struck(robot, speed, delay)
        head = f"surface of {SOFT_WALL:g} N/m at {speed:g} m/s, {line(IDEAL, delay)}: "
        bound = BOUND + 1.5 * speed * (SOFT_WALL * inertia) ** 0.5
        yield Row.at_most(head + "first peak", peak, bound, "N", SPRINGY_IMPACT)


# --- the potential ---


def potential_rows() -> Iterator[Row]:
    """Rows of random springs with random bounds."""
    rng = np.random.default_rng(21)
    worst = np.max([_gradient_errors(rng) for _ in range(STATES)], axis=0)
    head = "bounded spring: "
    name = head + "force less the energy's gradient, relative"
    yield Row.at_most(name, worst[0], 1e-6, "", ENERGY)
    name = head + "force and torque over their bounds, less 1"
    yield Row.at_most(name, worst[1] - 1.0, 1e-9, "", ENERGY)
    work = max(_loop_work(rng) for _ in range(LOOPS))
    yield Row.at_most(head + "work around closed motions", work, 1e-9, "J", ENERGY)


def _random_spring(rng: np.random.Generator) -> tuple[BoundedSpring, float, float]:
    root = np.repeat((30.0, 6.0), 3)[:, None] * rng.normal(size=(6, 6))
    stiffness = root.dot(root.T)
    if rng.random() < 0.5:
        stiffness[:3, 3:] = 0.0
        stiffness[3:, :3] = 0.0
    force = rng.uniform(5.0, 50.0)
    torque = rng.uniform(0.5, 5.0)
    return BoundedSpring(stiffness, force, torque), force, torque


def _gradient_errors(rng: np.random.Generator) -> tuple[float, float]:
    spring, force, torque = _random_spring(rng)
    error = rng.uniform(-0.5, 0.5, 6)
    direction = rng.normal(size=6)
    pull = spring.gradient(error).copy()
    ahead, behind = (spring.energy(error + side * direction) for side in (STEP, -STEP))
    off = abs((ahead - behind) / (2.0 * STEP) - float(pull.dot(direction)))
    size = float(np.linalg.norm(pull) * np.linalg.norm(direction))
    return off / size, max(
        float(np.linalg.norm(pull[:3])) / force, float(np.linalg.norm(pull[3:])) / torque
    )


def _loop_work(rng: np.random.Generator) -> float:
    spring, _, _ = _random_spring(rng)
    sizes = rng.uniform(-0.1, 0.1, 6)
    phases = rng.uniform(0.0, 2.0 * np.pi, 6)

    def power(s: float) -> float:
        return float(spring.gradient(sizes * np.sin(s + phases)).dot(sizes * np.cos(s + phases)))

    # in a whole turn quad may miss where a bound begins to act
    ends = np.linspace(0.0, 2.0 * np.pi, PIECES + 1)
    return float(
        abs(sum(quad(power, *piece, epsabs=1e-12, epsrel=0.0)[0] for piece in pairwise(ends)))
    )
