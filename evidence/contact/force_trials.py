"""Force control on a wavy surface: touching down, resting, wiping, and a surface that goes
away and comes back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.reactions.ringing_reaction import WARN
from robot_control_ros.core.types import Array, RobotState
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mujoco_plant import SERVO_BANDWIDTH

from ..row import Row, calculated, required
from .trial_arm import IDEAL, RATE, TrialArm, cycles, delays, line, tip_mobility, trial_robot

FORCE = 10.0  # N
GAP = 0.01  # m, between tip and surface at the start
# m: half the height of the waves, and their length
WAVE = 0.001
LENGTH = 0.05
STIFFNESSES = (1e4, 1e5)  # N/m
FRICTION = 0.2
SLIDING = 1e-3  # m/s, over which friction takes its direction
# m and m/s, along the surface
WAY = 0.15
SPEED = 0.05
# s: after the approach, how much of that is judged, and at the start of the way not
SETTLE = 2.0
REST = 0.5
START = 0.2
APPROACH = 0.02  # m/s
PEAKS = {APPROACH: 20.0, 0.05: 45.0}  # N, by the speed of the approach [m/s]
LOWER = 0.03  # m, by which a surface that comes back is lower
# m, Hz and s of a surface that moves
SHAKE = 0.005
SHAKEN = 2.0
SHAKING = 3.0
STEP = 0.0005  # s, of the physics
REQUIRED = required("evidence/contact/force_trials.py")
RELEASE = 0.02  # s, three time constants of the servos
GAINS: dict[str, Any] = {
    "stiffness": [1000.0] * 3 + [50.0] * 3,
    "force": [0.0, 0.0, -FORCE, 0.0, 0.0, 0.0],
    "force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
}


@dataclass(frozen=True)
class ForceTrial:
    """A robot that presses on a surface.

    Attributes:
        stiffness, damping: Stiffness and damping of the surface [N/m, N·s/m].
        delay: Delay from a command to its effect [s].
        gains: Gains that take precedence over GAINS.
        rate: Control rate [Hz].
        wave: Half the height of the waves [m].
        approach: Speed of the approach [m/s].
        arm: Name of the arm's imperfections; empty for none.
    """

    stiffness: float
    delay: float
    gains: Any
    damping: float = 0.0
    rate: float = RATE
    wave: float = WAVE
    approach: float = APPROACH
    arm: str = IDEAL

    @property
    def touch(self) -> float:
        """Time at which the tip has come to rest on the surface [s]."""
        return GAP / self.approach + SETTLE

    def __str__(self) -> str:
        return f"{self.stiffness:g} N/m at {self.approach:g} m/s, {line(self.arm, self.delay)}: "


def torques(
    stiffness: float, delay: float, approach: float = APPROACH, arm: str = IDEAL
) -> ForceTrial:
    """A trial under torques, at 500 Hz; surfaces of an imperfect arm have a damper."""
    return ForceTrial(
        stiffness, delay, {}, damping=100.0 if arm else 0.0, approach=approach, arm=arm
    )


def positions(stiffness: float, delay: float, wave: float = WAVE) -> ForceTrial:
    """A trial of position-controlled joints at 125 Hz.

    A stiffer surface needs more damping, and a slower approach.
    """
    soft = stiffness < 5e4
    damping, mass = (200.0, 2.0) if soft else (2000.0, 20.0)
    gains = {
        "output": "position",
        "force_damping": damping,
        "mass": [mass] * 3 + [0.1] * 3,
        "force_i": 2.0,
    }
    return ForceTrial(
        stiffness, delay, gains, rate=125.0, wave=wave, approach=0.01 if soft else 0.005
    )


class PressedSurface:
    """A surface of given stiffness under the tip, normal to z, with waves along y.

    Args:
        stiffness: Stiffness of the surface [N/m].
        damping: Damping of the surface [N·s/m].
        wave: Half the height of the waves [m].
        rise: Function of a time [s]. It returns the surface's height over that at the start [m],
            and its speed upwards [m/s].
    """

    def __init__(
        self,
        stiffness: float,
        damping: float,
        wave: float,
        rise: Callable[[float], tuple[float, float]],
    ) -> None:
        self._stiffness = stiffness
        self._damping = damping
        self._wave = wave
        self._rise = rise
        self._origin: Array | None = None

    def force(self, time: float, position: Array, velocity: Array) -> Array:
        """Force (3,) [N] on a tip at a position (3,) [m] with a velocity (3,) [m/s].

        The position of the first call is GAP above the surface.
        """
        if self._origin is None:
            self._origin = position - (0.0, 0.0, GAP)
        phase = 2.0 * np.pi * (position[1] - self._origin[1]) / LENGTH
        slope = self._wave * 2.0 * np.pi / LENGTH * np.cos(phase)
        rise, rising = self._rise(time)
        depth = self._origin[2] + self._wave * np.sin(phase) + rise - position[2]
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
        self._surface = surface
        self._dynamics = RobotModel.of(robot)
        self._tip = robot.tip
        super().__init__(robot, arm=arm, step=STEP)

    def sample(self) -> RobotState:
        state = super().sample()
        kin = self._dynamics.at(state.q, state.v)
        self.forces[-1] = self._surface.force(state.time, kin.pose[:3, 3], kin.twist[:3])
        self.push(self._tip, self.forces[-1], np.zeros(3))
        return state


@dataclass(frozen=True)
class Wiped:
    """Forces of the surface while the tip touches down, rests and wipes.

    Attributes:
        peak: Largest force before the tip begins to wipe [N].
        rest: Mean force at rest [N].
        rms, least, most: Root mean square deviation from 10 N, smallest and largest force along the
            way [N].
        losses: Number of times that the tip left the surface along the way.
        touches: True where the tip was on the surface at the end.
    """

    peak: float
    rest: float
    rms: float
    least: float
    most: float
    losses: int
    touches: bool


def wiped(name: str, how: ForceTrial) -> Wiped:
    """Touch down, rest and wipe."""
    arm, loop = _pressing(name, how, lambda t: (0.0, 0.0))
    touch = round(how.touch * how.rate)
    for count, (_, kin) in enumerate(cycles(arm, loop, how.delay, how.touch + WAY / SPEED)):
        if count == touch:
            goal = kin.pose.copy()
            goal[1, 3] += WAY
            loop.motion.move_to(goal)
    normal = np.array(arm.forces)[:, 2]
    first, way = np.split(normal, [_steps(how.touch)])
    way = way[_steps(START) :]
    return Wiped(
        float(first.max()),
        float(first[-_steps(REST) :].mean()),
        float(np.sqrt(np.mean((way - FORCE) ** 2))),
        float(way.min()),
        float(way.max()),
        int(((way[:-1] > 0.0) & (way[1:] == 0.0)).sum()),
        bool(way[-_steps(REST) :].any()),
    )


@dataclass(frozen=True)
class Withdrawn:
    """Figures of a surface that goes away, and comes back lower.

    Attributes:
        speed, later: Largest speed of the tip, from the withdrawal on, and from RELEASE after it on
            [m/s].
        release: Speed at which the servos release the tip, F / (e Λ w) [m/s]: they were a spring
            under the force.
        peak: Largest force after the withdrawal [N].
    """

    speed: float
    later: float
    release: float
    peak: float


def withdrawn(name: str, how: ForceTrial) -> Withdrawn:
    """Take the surface away, and put it back lower."""
    arm, loop = _pressing(name, how, lambda t: (-LOWER if t > how.touch else 0.0, 0.0))
    falling = LOWER / how.approach
    speeds = []
    mobility = 0.0
    for _, kin in cycles(arm, loop, how.delay, how.touch + falling + SETTLE):
        speeds.append(abs(float(kin.twist[2])))
        if not mobility:
            mobility = tip_mobility(kin, 2)
    again = np.array(arm.forces)[_steps(how.touch) + 1 :, 2]
    gone = round(how.touch * how.rate)
    end = round((how.touch + falling / 2.0) * how.rate)
    later = gone + math.ceil(RELEASE * how.rate)
    release = FORCE * mobility / (math.e * SERVO_BANDWIDTH)
    return Withdrawn(max(speeds[gone:end]), max(speeds[later:end]), release, float(again.max()))


def shaken(name: str, how: ForceTrial) -> tuple[float, float]:
    """Energy [J] that the arm gives to a surface that moves by 5 mm at 2 Hz.

    Beside it, the energy [J] that the law's damper takes out.
    """
    rate = 2.0 * np.pi * SHAKEN
    touch = how.touch

    def rise(time: float) -> tuple[float, float]:
        phase = rate * (time - touch)
        return (SHAKE * np.sin(phase), SHAKE * rate * np.cos(phase)) if time > touch else (0.0, 0.0)

    arm, loop = _pressing(name, how, rise)
    speeds = np.array(
        [float(kin.twist[2]) for _, kin in cycles(arm, loop, how.delay, touch + SHAKING)]
    )
    rising = np.array([rise(time)[1] for time in STEP * np.arange(len(arm.forces))])
    given = -float(np.array(arm.forces)[:, 2].dot(rising)) * STEP
    damping = loop.running.gains.current.force_damping[2]
    return given, float(damping * (speeds**2).sum() / how.rate)


def rows(robot: str, arm: str = IDEAL) -> Iterator[Row]:
    """All trials of a robot; `arm` names imperfections, which are tried under torques alone."""
    for stiffness, delay, speed in product(STIFFNESSES, delays(arm), PEAKS):
        yield from rows_of(robot, torques(stiffness, delay, speed, arm))
    for stiffness, delay in product(STIFFNESSES, delays(arm)):
        yield from rows_of_moving_surface(robot, torques(stiffness, delay, arm=arm))
    for delay in () if arm else delays():
        yield from rows_of(robot, positions(1e4, delay))
        yield from rows_of(robot, positions(1e5, delay, 1e-4))
        yield from rows_of_losses(robot, positions(1e5, delay))
        for stiffness in STIFFNESSES:
            yield from rows_of_moving_surface(robot, positions(stiffness, delay))


def rows_of(robot: str, how: ForceTrial) -> Iterator[Row]:
    """The rows of one trial."""
    got = wiped(robot, how)
    under_torques = "output" not in how.gains
    head = f"{'torques' if under_torques else 'positions'}, {1e3 * how.wave:g} mm waves on {how}"
    peak = PEAKS[how.approach] if under_torques else 16.0
    rms = 1.1 if under_torques else 1.4
    yield Row.at_most(head + "first peak", got.peak, peak, "N", REQUIRED)
    yield Row.at_most(head + "rms of the force error while wiping", got.rms, rms, "N", REQUIRED)
    missing = FORCE - got.least
    if under_torques:
        resting = abs(got.rest - FORCE)
        yield Row.at_most(head + "force at rest off by", resting, 0.1, "N", REQUIRED)
        largest = max(got.most - FORCE, missing)
        name = head + "largest force error while wiping"
        yield Row.at_most(name, largest, 1.7, "N", REQUIRED)
    else:
        name = head + "smallest force while wiping less than 10 N by"
        yield Row.at_most(name, missing, 3.0, "N", REQUIRED)
    yield Row.at_most(head + "losses of contact while wiping", got.losses, 0, "", REQUIRED)


def rows_of_losses(robot: str, how: ForceTrial) -> Iterator[Row]:
    """Rows of waves that are too steep for the delay: contact comes back."""
    got = wiped(robot, how)
    head = f"positions, {1e3 * how.wave:g} mm waves on {how}"
    yield Row.at_most(head + "largest force while wiping", got.most, 35.0, "N", REQUIRED)
    lost = float(not got.touches)
    yield Row.at_most(head + "losses of contact for good", lost, 0, "", REQUIRED)


def rows_of_moving_surface(robot: str, how: ForceTrial) -> Iterator[Row]:
    """Rows of a surface that is taken away and put back, and of one that shakes."""
    under_torques = "output" not in how.gains
    head = f"{'torques' if under_torques else 'positions'}, surface of {how}"
    gone = withdrawn(robot, how)
    given, taken = shaken(robot, how)
    slow = 1.5 * how.approach
    name = head + "speed after it was taken away"
    if under_torques:
        yield Row.at_most(name, gone.speed, slow, "m/s", REQUIRED)
    else:
        yield Row.at_most(name + ", from 20 ms on", gone.later, slow, "m/s", REQUIRED)
        released = slow + gone.release
        servos = calculated("F / (e Λ w) of the servos")
        yield Row.at_most(name + ", with the servos' release", gone.speed, released, "m/s", servos)
    peak = PEAKS[APPROACH] if under_torques else 16.0
    yield Row.at_most(head + "first peak after it was put back", gone.peak, peak, "N", REQUIRED)
    name = head + "energy given to it while it shakes"
    yield Row.at_most(name, given, 1.0 + taken, "J", calculated("what the damper takes out"))


def _pressing(
    name: str, how: ForceTrial, rise: Callable[[float], tuple[float, float]]
) -> tuple[SurfaceArm, ControlLoop]:
    robot = trial_robot(name, how.rate, how.arm)
    robot = replace(robot, tip_speed=(SPEED, robot.tip_speed[1]))
    surface = PressedSurface(how.stiffness, how.damping, how.wave, rise)
    gains = GAINS | {"approach_speed": how.approach} | how.gains
    loop = ControlLoop(robot, "force_control", gains)
    if how.arm:  # what rings there shall be measured, not stopped
        loop.ringing.settings.set({"reaction": WARN})
    return SurfaceArm(robot, surface, how.arm), loop


def _steps(seconds: float) -> int:
    return round(seconds / STEP)
