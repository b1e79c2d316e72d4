"""A bounded spring at a wall: what it presses with, first, later and at rest, and how fast a release is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ...control.loop import ControlLoop
from ...simulation.mujoco_plant import PHYSICS_STEP
from .row import Row, at_most
from .trial_arm import IDEAL, RATE, TrialArm, cycles, delays, line, tip_damping, trial_robot

BOUND = 30.0  # N
GAINS: dict[str, Any] = {"stiffness": [2000.0] * 3 + [50.0] * 3, "damping_ratio": 1.0, "max_force": BOUND}
SPEEDS = (0.1, 0.25)  # m/s
BEYOND, TOOL = 0.2, 0.05  # m: the target behind the surface, and the tool before the tip
PRESSED, RELEASED, LAST = 4.5, 2.0, 0.5  # s at the wall, after its removal, and at the end of the first
EARLY = 0.15  # s after the first contact, that the impact takes
WALL = 0.65  # m, where the scene has it


@dataclass(frozen=True)
class Blocked:
    """What happened.

    Attributes:
        steady: force in the last half second at the wall [N].
        ripple: largest difference from it there [N].
        first, later: largest force before and after 0.15 s from the first contact on [N].
        release: largest speed of the tip after the wall has gone [m/s].
        overshoot: how far the tip went beyond the target then [m].
        damping: D along the wall's normal [N·s/m].
    """

    steady: float
    ripple: float
    first: float
    later: float
    release: float
    overshoot: float
    damping: float


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
    damping, pressed = 0.0, round(PRESSED * RATE)
    target = WALL - TOOL + BEYOND
    for _, kin in cycles(arm, loop, delay, PRESSED + RELEASED):
        if not way:
            goal = kin.pose.copy()
            goal[0, 3] = target
            loop.motion.move_to(goal)
        way.append((float(kin.pose[0, 3]), float(np.linalg.norm(kin.twist[:3]))))
        if len(way) == pressed:
            damping = tip_damping(loop, 0)
            arm.remove_objects()
    forces = np.linalg.norm(arm.forces, axis=1)[: round((PRESSED - 1.0 / RATE) / PHYSICS_STEP)]
    early = int(np.argmax(forces > 0.0)) + round(EARLY / PHYSICS_STEP)
    last, after = forces[-round(LAST / PHYSICS_STEP) :], np.array(way[pressed:])
    steady = float(np.median(last))
    return Blocked(
        steady,
        float(np.abs(last - steady).max()),
        float(forces[:early].max()),
        float(forces[early:].max()),
        float(after[:, 1].max()),
        float(after[:, 0].max() - target),
        damping,
    )


def rows(robot: str, arm: str = IDEAL) -> list[Row]:
    """All trials of a robot; `arm` names imperfections."""
    found = []
    for speed, delay, governor in product(SPEEDS, delays(arm), (True, False)):
        found += rows_of(robot, speed, delay, governor, arm)
    return found


def rows_of(robot: str, speed: float, delay: float, governor: bool, arm: str = IDEAL) -> list[Row]:
    """The rows of one trial."""
    got = blocked(robot, speed, delay, governor, imperfections=arm)
    head = f"wall at {speed:g} m/s, {line(arm, delay)}, {'with' if governor else 'without'} governor: "
    later = 1.35 * BOUND if governor else BOUND + 1.2 * got.damping * speed
    return [
        at_most(head + "force at rest off by, N", abs(got.steady - BOUND) + got.ripple, 1.0),
        at_most(head + "force from 0.15 s on, N", got.later, later),
        at_most(head + "speed after release, m/s", got.release, 1.3 * max(BOUND / got.damping, speed)),
        at_most(head + "overshoot after release, mm", 1e3 * got.overshoot, 5.0),
    ]
