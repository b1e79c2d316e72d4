"""Random imperfect arms that hold, move, jog and press: nothing is wrong with them, so no guard may
react.

``python test/support/imperfect_trials.py [SECONDS] [ROBOT ...] [LAW ...]`` prints a line for each
law and robot.
"""

import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from limit_trials import EFFORT_LAWS

from evidence.contact.force_trials import PressedSurface
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.spatial import rotation_exp
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.imperfect.imperfect_plant import arm_and_plant
from robot_control_ros.simulation.imperfect.imperfections import (
    CentreErrors,
    CommandLine,
    Imperfections,
    LoadedFriction,
    ModelErrors,
    SensorNoise,
    SensorSteps,
    StateLine,
    VelocityFilter,
)
from robot_control_ros.simulation.in_process import lockstep

ROBOTS = ("ur5e", "gen3")
LAWS = (*EFFORT_LAWS, "admittance")
FRICTION = 2.0, 8.0  # N·m
DELAY = 0.001, 0.008  # s, from a sample to the effect of what answers it
JITTER = 0.001  # s, of samples and of commands together
BACKLASH = 5e-4  # rad
MASS = 0.2
ENCODER = 12e-6  # rad
MOTION = 2.0  # s from one target to the next
PRESSES = {  # on a surface of 1e4 N/m
    "stiffness": [1000.0] * 3 + [50.0] * 3,
    "force": [0.0, 0.0, -10.0, 0.0, 0.0, 0.0],
    "force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
}
SURFACE = 1e4, 100.0  # N/m, N·s/m


def random_arm(model, seed):
    """Imperfections of an arm; a joint has a friction of half of its effort limit at most.

    Gears are rigid beyond their backlash. Late commands and elastic gears make real instabilities:
    a Gen3 under task_space_pd, with 10⁴ N·m/rad and 6 ms, rings at 39 Hz, without backlash as well,
    and without delay not.
    """
    r = np.random.default_rng(seed)
    n = model.n
    limit = model.limits.effort
    coulomb = np.minimum(r.uniform(*FRICTION, n), 0.5 * limit)
    delay = r.uniform(*DELAY)
    late = delay * r.uniform()
    return Imperfections(
        name=f"seed {seed}",
        seed=seed,
        states=StateLine(late, 0.5 * JITTER, r.uniform(0.0, 0.03)),
        commands=CommandLine(delay - late, 0.5 * JITTER),
        noise=SensorNoise((2e-5,), (r.uniform(1e-4, 2e-3),), (0.3,), 0.2, 0.005),
        steps=SensorSteps((ENCODER,)),
        velocity=VelocityFilter(r.uniform(0.0, 0.002), r.uniform(0.0, 0.001)),
        friction=LoadedFriction(
            coulomb=tuple(coulomb),
            viscous=tuple(r.uniform(0.0, 2.0, n)),
            stiction=tuple(r.uniform(0.0, 0.4, n) * coulomb),
            stribeck_velocity=r.uniform(0.01, 0.05),
        ),
        model=ModelErrors(
            mass=tuple(r.uniform(-MASS, MASS, n)),
            centre=CentreErrors(*(tuple(each) for each in r.uniform(-0.01, 0.01, (3, n)))),
        ),
        backlash=(BACKLASH,),
        torque_offset=tuple(r.uniform(-1.0, 1.0, n) * np.minimum(0.02 * limit, 1.0)),
    )


class AgedLine:
    """A line to an imperfect arm, whose samples say how old they are when they arrive."""

    def __init__(self, plant):
        self._plant = plant
        self.write = plant.write

    def read(self):
        state = self._plant.read()
        return replace(state, age=self._plant.time - state.time)


@dataclass(frozen=True)
class ImperfectTrial:
    """A random imperfect arm under a law.

    Attributes:
        robot, law: by name.
        seed: of the arm and of its motion.
        arm: name of imperfections, in place of random ones.
    """

    robot: str
    law: str
    seed: int
    arm: str = ""

    def __str__(self):
        return f"{self.robot}-{self.law}-{self.arm or self.seed}"

    @property
    def presses(self):
        """Whether it presses on a surface: force control does, for the tip
        moves freely otherwise.
        """
        return self.law == "force_control"

    def alarms(self, seconds):
        """What the guards have told or done within a time [s], each once with the
        time when it began [s].
        """
        robot = load_robot(self.robot)
        loop = ControlLoop(robot, self.law, PRESSES if self.presses else None, recorded=1.0)
        arm, plant = arm_and_plant(robot, self.arm or random_arm(loop.model, self.seed))
        surface = PressedSurface(*SURFACE, 0.0, lambda time: (0.0, 0.0))
        random = np.random.default_rng(self.seed)
        every = round(MOTION * robot.profile.rate)
        found = {}
        plant.reset()
        cycles = lockstep(AgedLine(plant), loop, round(seconds * robot.profile.rate))
        for cycle, (state, kin, _) in enumerate(cycles):
            for alarm in reactions(loop, state.time):
                found.setdefault(alarm, state.time)
            if self.presses:
                force = surface.force(state.time, kin.pose[:3, 3], kin.twist[:3])
                arm.push(robot.tip, force, np.zeros(3))
            elif cycle % every == every // 4:
                with suppress(ConfigError):  # a target that is out of reach, or too near to the arm
                    move(loop, random)
        return found


def reactions(loop, time):
    """What guards do or tell now, by their names; late samples and ringing soften the law."""
    if loop.fault:
        yield f"fault: {loop.fault}"
    if loop.ringing.warning(time):
        yield "ringing"
    if loop.cycles.softening[0] < 1.0:
        yield "softened"
    if loop.contact.reaction:
        yield "contact"
    if loop.restarts:
        yield f"restart: {loop.restart_reason}"


def move(loop, random):
    """Another target: of the tip, of the joints, or a jog."""
    kind = random.integers(3)
    if kind == 0:
        pose = loop.tip().copy()
        pose[:3, 3] += random.uniform(-0.1, 0.1, 3)
        pose[:3, :3] = rotation_exp(random.uniform(-0.2, 0.2, 3)) @ pose[:3, :3]
        loop.motion.move_to(pose)
    elif kind == 1:
        loop.motion.move_joints_to(
            np.array(loop.robot.home) + random.uniform(-0.3, 0.3, loop.robot.n)
        )
    else:
        loop.motion.jog(np.append(random.uniform(-0.1, 0.1, 3), random.uniform(-0.2, 0.2, 3)), 1.0)


def main(words):
    """Print what the guards have told or done; words are seconds, robots and laws."""
    numbers = [float(word) for word in words if word.replace(".", "").isdigit()]
    robots = [name for name in ROBOTS if name in words] or ROBOTS
    laws = [name for name in LAWS if name in words] or LAWS
    for robot in robots:
        for law in laws:
            for seed, arm in enumerate(("", "", "", "worst")):
                begin = time.perf_counter()
                trial = ImperfectTrial(robot, law, seed, arm)
                found = trial.alarms(numbers[0] if numbers else 10.0)
                took = time.perf_counter() - begin
                print(f"{trial}: {found or 'nothing'} ({took:.0f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
