"""Force control on a wavy surface: touching down, resting, wiping, and a surface that goes away and comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ...control.loop import ControlLoop
from ...control.ringing_reaction import WARN
from ...core.types import Array, RobotState
from ...robot.configuration import RobotConfig
from ...robot.model import RobotModel
from ...simulation.mujoco_plant import PHYSICS_STEP
from .row import Row, at_most
from .trial_arm import IDEAL, RATE, TrialArm, cycles, delays, line, trial_robot

FORCE = 10.0  # N
GAP = 0.01  # m, between tip and surface at the start
WAVE, LENGTH = 0.001, 0.05  # m: half the height of the waves, and their length
FRICTION = 0.2
SLIDING = 1e-3  # m/s, over which friction takes its direction
WAY, SPEED = 0.15, 0.05  # m and m/s, along the surface
TOUCH, REST, START = 2.5, 0.5, 0.2  # s: until it rests, how much of that is judged, and at the start of the way not
STIFFNESSES = (1e4, 1e5)  # N/m
APPROACH = 0.02  # m/s
PEAKS = {APPROACH: 20.0, 0.05: 45.0}  # N, by the speed of the approach [m/s]
LOWER = 0.03  # m, by which a surface that comes back is lower
SHAKE, SHAKEN, SHAKING = 0.005, 2.0, 3.0  # m, Hz and s of a surface that moves
GAINS: dict[str, Any] = {
    "stiffness": [1000.0] * 3 + [50.0] * 3,
    "force": [0.0, 0.0, -FORCE, 0.0, 0.0, 0.0],
    "force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
}


class PressedSurface:
    """A surface of given stiffness under the tip, normal to z, with waves along y.

    Args:
        stiffness: [N/m].
        damping: [N·s/m].

        rise: how much higher it is at a time [s] than at the start [m], and how fast it rises then [m/s].
    """

    def __init__(self, stiffness: float, damping: float, rise: Callable[[float], tuple[float, float]]) -> None:
        self._stiffness, self._damping, self._rise = stiffness, damping, rise
        self._origin: Array | None = None

    def force(self, time: float, position: Array, velocity: Array) -> Array:
        """On a tip at a position (3,) [m] with a velocity (3,) [m/s]; the first one is GAP above it."""
        if self._origin is None:
            self._origin = position - (0.0, 0.0, GAP)
        phase = 2.0 * np.pi * (position[1] - self._origin[1]) / LENGTH
        slope = WAVE * 2.0 * np.pi / LENGTH * np.cos(phase)
        rise, rising = self._rise(time)
        depth = self._origin[2] + WAVE * np.sin(phase) + rise - position[2]
        if depth <= 0.0:
            return np.zeros(3)
        closing = slope * velocity[1] + rising - velocity[2]
        normal = max(self._stiffness * depth + self._damping * closing, 0.0)
        sliding = velocity[:2]
        speed = max(float(np.linalg.norm(sliding)), SLIDING)
        return np.array([*(-FRICTION * normal / speed * sliding), normal])


class SurfaceArm(TrialArm):
    """A simulated arm whose tip meets a surface; `forces` are those of the surface."""

    def __init__(self, robot: RobotConfig, surface: PressedSurface, arm: str = IDEAL) -> None:
        self._surface, self._dynamics, self._tip = surface, RobotModel.of(robot), robot.tip
        super().__init__(robot, arm=arm)

    def sample(self) -> RobotState:
        state = super().sample()
        kin = self._dynamics.at(state.q, state.v)
        self.forces[-1] = self._surface.force(state.time, kin.pose[:3, 3], kin.twist[:3])
        self.push(self._tip, self.forces[-1], np.zeros(3))
        return state


@dataclass(frozen=True)
class Wiped:
    """What happened.

    Attributes:
        peak: largest force before the tip rests [N].
        rest: mean force at rest [N].
        rms, least, most: of the force along the way: deviation from 10 N, smallest and largest [N].
        losses: how often it left the surface along the way.
    """

    peak: float
    rest: float
    rms: float
    least: float
    most: float
    losses: int


def wiped(name: str, stiffness: float, damping: float, delay: float, imperfections: str = IDEAL, **gains: Any) -> Wiped:
    """Touch down, rest and wipe."""
    arm, loop = _pressing(name, PressedSurface(stiffness, damping, lambda t: (0.0, 0.0)), gains, imperfections)
    touch = round(TOUCH * RATE)
    for count, (_, kin) in enumerate(cycles(arm, loop, delay, TOUCH + WAY / SPEED)):
        if count == touch:
            goal = kin.pose.copy()
            goal[1, 3] += WAY
            loop.motion.move_to(goal)
    normal = np.array(arm.forces)[:, 2]
    first, way = np.split(normal, [_steps(TOUCH)])
    way = way[_steps(START) :]
    return Wiped(
        float(first.max()),
        float(first[-_steps(REST) :].mean()),
        float(np.sqrt(np.mean((way - FORCE) ** 2))),
        float(way.min()),
        float(way.max()),
        int(((way[:-1] > 0.0) & (way[1:] == 0.0)).sum()),
    )


def withdrawn(name: str, stiffness: float, delay: float, imperfections: str = IDEAL) -> tuple[float, float]:
    """Take the surface away, and put it back lower: the tip's largest speed [m/s], and the peak afterwards [N]."""
    surface = PressedSurface(stiffness, 0.0, lambda t: (-LOWER if t > TOUCH else 0.0, 0.0))
    arm, loop = _pressing(name, surface, {}, imperfections)
    speeds = [abs(float(kin.twist[2])) for _, kin in cycles(arm, loop, delay, TOUCH + LOWER / APPROACH + TOUCH)]
    again = np.array(arm.forces)[_steps(TOUCH) + 1 :, 2]
    fall = round((TOUCH + LOWER / APPROACH / 2.0) * RATE)
    return max(speeds[round(TOUCH * RATE) : fall]), float(again.max())


def shaken(name: str, stiffness: float, delay: float, imperfections: str = IDEAL) -> tuple[float, float]:
    """A surface that moves by 5 mm at 2 Hz: what the arm gave to it [J], and what the dampers took out [J]."""
    rate = 2.0 * np.pi * SHAKEN
    surface = PressedSurface(
        stiffness,
        0.0,
        lambda t: (
            (SHAKE * np.sin(rate * (t - TOUCH)), SHAKE * rate * np.cos(rate * (t - TOUCH))) if t > TOUCH else (0.0, 0.0)
        ),
    )
    arm, loop = _pressing(name, surface, {}, imperfections)
    speeds = np.array([float(kin.twist[2]) for _, kin in cycles(arm, loop, delay, TOUCH + SHAKING)])
    times = PHYSICS_STEP * np.arange(len(arm.forces))
    rising = np.where(times > TOUCH, SHAKE * rate * np.cos(rate * (times - TOUCH)), 0.0)
    given = -float(np.array(arm.forces)[:, 2].dot(rising)) * PHYSICS_STEP
    damping = loop.running.gains.current.force_damping[2]
    return given, float(damping * (speeds**2).sum() / RATE)


def rows(robot: str, arm: str = IDEAL) -> list[Row]:
    """All trials of a robot; `arm` names imperfections."""
    found = []
    for stiffness, delay, speed in product(STIFFNESSES, delays(arm), PEAKS):
        found += rows_of(robot, stiffness, delay, speed, arm)
    for stiffness, delay in product(STIFFNESSES, delays(arm)):
        head = f"surface of {stiffness:g} N/m, {line(arm, delay)}: "
        speed, peak = withdrawn(robot, stiffness, delay, arm)
        given, taken = shaken(robot, stiffness, delay, arm)
        found += [
            at_most(head + "speed after it was taken away, m/s", speed, 1.5 * APPROACH),
            at_most(head + "first peak after it was put back, N", peak, PEAKS[APPROACH]),
            at_most(head + "energy given to it while it shakes, J", given, 1.0 + taken),
        ]
    return found


def rows_of(robot: str, stiffness: float, delay: float, speed: float, arm: str = IDEAL) -> list[Row]:
    """The rows of one trial."""
    got = wiped(robot, stiffness, 100.0, delay, arm, approach_speed=speed)
    head = f"surface of {stiffness:g} N/m at {speed:g} m/s, {line(arm, delay)}: "
    return [
        at_most(head + "first peak, N", got.peak, PEAKS[speed]),
        at_most(head + "force at rest off by, N", abs(got.rest - FORCE), 0.1),
        at_most(head + "rms of the force error while wiping, N", got.rms, 1.1),
        at_most(head + "largest force error while wiping, N", max(got.most - FORCE, FORCE - got.least), 1.7),
        at_most(head + "losses of contact while wiping", got.losses, 0),
    ]


def _pressing(name: str, surface: PressedSurface, gains: dict[str, Any], arm: str) -> tuple[SurfaceArm, ControlLoop]:
    robot = trial_robot(name, arm)
    robot = replace(robot, tip_speed=(SPEED, robot.tip_speed[1]))
    loop = ControlLoop(robot, "force_control", GAINS | gains)
    if arm:  # what rings there shall be measured, not stopped
        loop.ringing.settings.set({"reaction": WARN})
    return SurfaceArm(robot, surface, arm), loop


def _steps(seconds: float) -> int:
    return round(seconds / PHYSICS_STEP)
