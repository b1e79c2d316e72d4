"""Simulated arms under a law that something shakes: a tool, a hand, a wall, a target
that swings, or noise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from evidence.contact.trial_arm import TrialArm, trial_robot
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Reference
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import lockstep

DOWN = np.array([0.0, 0.0, -1.0])
OBLIQUE = np.array([1.0, 2.0, 3.0]) / math.sqrt(14.0)
NO_WRENCH = np.zeros(6)
BEGIN = 0.2  # s, of what shakes


class ShakenArm(TrialArm):
    """An arm with a wrench (6,) on its tip at each physics step, of the time
    [s] and the dynamics.
    """

    def __init__(self, robot, load, step):
        super().__init__(robot, step=step)
        self._load = load
        self._dynamics = RobotModel.of(robot)
        self._tip = robot.tip

    def sample(self):
        state = super().sample()
        wrench = self._load(state.time, self._dynamics.at(state.q, state.v))
        self.push(self._tip, wrench[:3], wrench[3:])
        return state


@dataclass
class Shaken:
    """What has become of an arm.

    Attributes:
        time, speed: (k,) of each cycle [s], and weighted speed [√J].
        alarm: time of the first alarm [s]; infinite where there was none.
        scale: of the stiffness, the smallest one.
        fault: the first one; empty for none.
    """

    time: np.ndarray
    speed: np.ndarray
    alarm: float
    scale: float
    fault: str


@dataclass(frozen=True)
class Trial:
    """An arm, its law and what shakes it.

    Attributes:
        law, gains: see ControlLoop.
        load: wrench (6,) on the tip, of a time and the dynamics.
        begin: is called with the loop and the pose (4, 4) after the first cycle.
        meanwhile: is called with the loop and the number of the cycle.
        robot: name of a robot, which gets the rotors of the contact trials; or its configuration.
        delay, noise: of the commands [s]; standard deviation of velocities [rad/s].
        step: of the physics [s].
        settings: of ringing.
    """

    law: str
    gains: dict | None = None
    load: Callable = lambda time, kin: NO_WRENCH
    begin: Callable = lambda loop, pose: None
    meanwhile: Callable = lambda loop, cycle: None
    robot: str | RobotConfig = "ur5e"
    delay: float = 0.0
    noise: float = 0.0
    step: float = 0.001
    settings: dict = field(default_factory=dict)

    def loop(self):
        """A new loop."""
        robot = trial_robot(self.robot) if isinstance(self.robot, str) else self.robot
        loop = ControlLoop(robot, self.law, self.gains)
        loop.ringing.settings.set(self.settings)
        return loop

    def run(self, seconds):
        """What becomes of the arm under a new loop."""
        return self.drive(self.loop(), seconds)

    def drive(self, loop, seconds):
        """What becomes of the arm under a loop."""
        robot = loop.robot
        line = ShakenArm(robot, self.load, self.step).late(self.delay)
        if self.noise:
            line = NoisyLine(line, self.noise)
        line.open()
        weights = np.sqrt(loop.model.mass(np.array(robot.home)).diagonal())
        rows = []
        alarm = math.inf
        fault = ""
        for cycle, (state, kin, _) in enumerate(
            lockstep(line, loop, round(seconds * robot.profile.rate))
        ):
            if cycle == 0:
                self.begin(loop, kin.pose.copy())
            self.meanwhile(loop, cycle)
            if loop.ringing.warning(state.time):
                alarm = min(alarm, state.time)
            fault = fault or loop.fault
            rows.append((state.time, np.linalg.norm(weights * state.v), loop.ringing.scale))
        time, speed, scale = np.array(rows).T
        return Shaken(time, speed, alarm, scale.min(), fault)


class NoisyLine:
    """A line to a plant, whose velocities are noisy."""

    def __init__(self, line, noise):
        self._line = line
        self._noise = noise
        self._random = np.random.default_rng(1)
        self.open = line.open
        self.write = line.write

    def read(self):
        state = self._line.read()
        return replace(state, v=state.v + self._noise * self._random.normal(size=state.v.size))


class SwingingTarget:
    """A trajectory that swings about a pose along x, or goes in circles; with
    its twist, or without.
    """

    def __init__(self, pose, size, frequency, circle=False, twist=True):
        self._pose = pose
        self._size = size
        self._turn = 2.0 * math.pi * frequency
        self._circle = circle
        self._twist = twist
        self._begin = None

    def sample(self, t):
        self._begin = t if self._begin is None else self._begin
        phase = self._turn * (t - self._begin)
        pose = self._pose.copy()
        twist = np.zeros(6)
        pose[0, 3] += self._size * math.sin(phase)
        twist[0] = self._size * self._turn * math.cos(phase)
        if self._circle:
            pose[1, 3] += self._size * (1.0 - math.cos(phase))
            twist[1] = self._size * self._turn * math.sin(phase)
        return Reference(pose, twist if self._twist else None)


def swings(size, frequency, **how):
    """For `begin`: the target swings."""

    def begin(loop, pose):
        loop.motion.trajectory = SwingingTarget(pose, size, frequency, **how)

    return begin


def rotating(size, frequency):
    """A force [N] that rotates about z, as of a sander."""

    def load(time, kin):
        phase = 2.0 * math.pi * frequency * time
        on = size * (time >= BEGIN)
        return np.array([on * math.cos(phase), on * math.sin(phase), 0.0, 0.0, 0.0, 0.0])

    return load


def shaking(size, frequency, direction=OBLIQUE, begin=BEGIN):
    """A force [N] that swings, as of a hand."""

    def load(time, kin):
        on = size * (time >= begin)
        return np.append(on * math.sin(2.0 * math.pi * frequency * time) * direction, np.zeros(3))

    return load


def wall(stiffness, gap, damping=0.0, robot="ur5e"):
    """A wall [N/m, N·s/m] below the tip at home, so far [m]."""
    config = trial_robot(robot)
    place = RobotModel.of(config).at(np.array(config.home)).pose[:3, 3] + gap * DOWN

    def load(time, kin):
        depth = float((kin.pose[:3, 3] - place).dot(DOWN))
        if depth <= 0.0:
            return NO_WRENCH
        force = max(stiffness * depth + damping * float(kin.twist[:3].dot(DOWN)), 0.0)
        return np.append(-force * DOWN, np.zeros(3))

    return load


def both(*loads):
    """Several loads together."""
    return lambda time, kin: sum((load(time, kin) for load in loads), NO_WRENCH)


def comes_down(way):
    """For `begin`: the target goes down by a way [m]."""

    def begin(loop, pose):
        pose[:3, 3] += way * DOWN
        loop.motion.move_to(pose)

    return begin


def noisy_stream(noise, rate, period=0.002):
    """For `meanwhile`: targets about the first pose with noise [m], at a rate [Hz]."""
    random = np.random.default_rng(2)
    first = []

    def meanwhile(loop, cycle):
        if not first:
            first.append(loop.tip().copy())
        if cycle % round(1.0 / (rate * period)) == 0:
            pose = first[0].copy()
            pose[:3, 3] += noise * random.normal(size=3)
            loop.motion.move_to(pose)

    return meanwhile
