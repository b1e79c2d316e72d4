"""Arms in MuJoCo under effort laws, with targets far away and pushes: how near the joints come to
their limits.

``python test/support/limit_trials.py [ROBOT ...] [LAW ...] [500Hz] [1000Hz] [0ms] [2ms]`` prints
the table of 10⁴ s, or a part of it. All takes three hours. With the word ``rests`` it prints how
long the joints move on after their targets rest.
"""

import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial.transform import Rotation

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.spatial import rotation_exp, rotation_log
from robot_control_ros.core.types import Reference
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

EFFORT_LAWS = (
    "impedance",
    "task_space_pd",
    "joint_impedance",
    "joint_pid_effort",
    "gravity_compensation",
    "force_control",
)
# without, it is impedance to the last bit
GAINS = {"force_control": {"force_axes": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]}}
# Hz, s, by their words
RATES, DELAYS = {"500Hz": 500.0, "1000Hz": 1000.0}, {"2ms": 0.002, "0ms": 0.0}
TARGETS = 30  # of a row of the table
STILL = 0.01  # rad/s
REACH, SHOULDER = {"ur5": 0.85, "ur5e": 0.85, "gen3": 0.9}, np.array([0.0, 0.0, 0.1])  # m
PLANT_RATE = 1000.0  # Hz
REST, PATIENCE = 2.0, 20.0  # s that a target rests before the joints are looked at, and at most


@dataclass(frozen=True)
class Rest:
    """A target that rests.

    Attributes:
        speed: of a joint, 2 s after the target came to rest and its push ended [rad/s].
        after: how long after that the joints were slower than 0.01 rad/s for good, or for half a
            second [s].
        beyond_reach: whether the target is.
        distance: of the tip from the target at the end [m].
    """

    speed: float
    after: float
    beyond_reach: bool
    distance: float


@dataclass(frozen=True)
class Outcome:
    """The worst of all samples.

    Attributes:
        speed: of a joint, over its limit.
        beyond: of a joint, past its position limit [rad].
        rests: one for each target.
        distance: of the tip from its last target [m].
        time: simulated [s].
        faults: of the loop.
        warning: the loop's last.
    """

    speed: float
    beyond: float
    rests: tuple[Rest, ...]
    distance: float
    time: float
    faults: tuple[str, ...]
    warning: str

    @property
    def rest(self) -> float:
        """The largest joint speed of `rests` [rad/s]."""
        return max(each.speed for each in self.rests)


class StraightMove:
    """From one pose to another, smoothly."""

    def __init__(self, start, goal, begin, duration):
        self.start, self.goal, self.begin, self.duration = start, goal, begin, duration
        self.turn = rotation_log(start[:3, :3].T @ goal[:3, :3])

    def sample(self, t):
        s = min(max((t - self.begin) / self.duration, 0.0), 1.0)
        part = min(10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5, 1.0)
        speed = 30.0 * s**2 * (1.0 - s) ** 2 / self.duration
        way, pose = self.goal[:3, 3] - self.start[:3, 3], np.eye(4)
        pose[:3, 3] = self.start[:3, 3] + part * way
        pose[:3, :3] = self.start[:3, :3] @ rotation_exp(part * self.turn)
        return Reference(
            pose=pose, twist=speed * np.concatenate((way, self.start[:3, :3] @ self.turn))
        )


def random_targets(name, count, rng):
    """Points up to 1.5 times the reach away."""
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return directions * REACH[name] * rng.uniform(0.3, 1.5, count)[:, None] + SHOULDER


def trial(
    name,
    law,
    *,
    targets=None,
    count=1,
    pushes=0.5,
    rate=500.0,
    delay=0.0,
    seed=0,
    speed=0.4,
    patience=REST,
) -> Outcome:
    """Lead the tip to targets (k, 3) [m], at `speed` [m/s], and push it on every other way, or so.

    A push has up to 150 N, but at most 60 % of what the effort limits hold at the posture. The next
    target comes 2 s after the last one rests, or where the arm doesn't, up to `patience` [s] after
    it.
    """
    rng = np.random.default_rng(seed)
    robot = load_robot(name).at_rate(rate)
    plant = MujocoPlant(robot, rate=PLANT_RATE)
    line = DelayedPlant(plant, PLANT_RATE, rate=rate, delay=delay)
    loop = ControlLoop(robot, law, GAINS.get(law))
    limits = loop.model.limits
    plant.reset(None)
    line.open()
    line.write(loop.tick(line.read()))
    worst, beyond, rests, faults, goal = 0.0, 0.0, [], set(), loop.tip()
    for target in random_targets(name, count, rng) if targets is None else targets:
        start, goal, now = goal, np.eye(4), loop.state.time
        goal[:3, 3] = target
        turn = (
            Rotation.from_rotvec(0.7 * rng.normal(size=3))
            if targets is None
            else Rotation.identity()
        )
        goal[:3, :3] = start[:3, :3] @ turn.as_matrix()
        duration = max(1.0, float(np.linalg.norm(goal[:3, 3] - start[:3, 3])) / speed)
        if law != "gravity_compensation":
            loop.motion.trajectory = StraightMove(start, goal, now, duration)
        force = rng.normal(size=3)
        force *= rng.uniform(20.0, 150.0) / np.linalg.norm(force) * (rng.random() < pushes)
        begin = now + rng.uniform(0.0, duration)
        end = begin + rng.uniform(0.1, 1.5)
        last = moved = max(now + duration, end if force.any() else 0.0)
        rest = 0.0
        while loop.state.time < last + REST + 0.2 or (
            loop.state.time < min(moved + 0.5, last + patience)
        ):
            pushed = (
                force * _share(loop, limits, force)
                if begin <= loop.state.time < end
                else np.zeros(3)
            )
            plant.push(robot.tip, pushed, np.zeros(3))
            line.write(loop.tick(line.read()))
            state = loop.state
            worst = max(worst, float(np.max(np.abs(state.v) / limits.velocity)))
            beyond = max(
                beyond, float(np.max(np.maximum(state.q - limits.upper, limits.lower - state.q)))
            )
            faults |= {loop.fault} - {""}
            fastest = float(np.abs(state.v).max())
            if last + REST < state.time <= last + REST + 0.2:
                rest = max(rest, fastest)
            if fastest > STILL:
                moved = max(state.time, last)
        distance = float(np.linalg.norm(loop.pose_error()[:3]))
        rests.append(
            Rest(
                rest, moved - last, bool(np.linalg.norm(target - SHOULDER) > REACH[name]), distance
            )
        )
    return Outcome(
        worst, beyond, tuple(rests), distance, loop.state.time, tuple(faults), loop.warning
    )


def _share(loop, limits, force):
    """Of the force, that the joints hold with 60 % of what gravity leaves of
    their effort limits.
    """
    torque = np.abs(loop.kin.jacobian[:3].T @ force)
    room = 0.6 * np.maximum(limits.effort - np.abs(loop.kin.gravity), 0.0)
    return min(1.0, float(np.min(room / np.maximum(torque, 1e-9))))


def print_limits():
    """Print the table, rows as they come: 30 targets of each robot, law, rate and delay."""
    print(
        "| robot | law | rate | delay | s | speed / limit | rad beyond | at rest | fastest, rad/s | faults |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for delay, rate, name, law in chosen(DELAYS, RATES, REACH, EFFORT_LAWS):
        found = trial(name, law, count=TARGETS, rate=RATES[rate], delay=DELAYS[delay])
        still = sum(rest.speed <= STILL for rest in found.rests)
        row = (name, law, rate, delay, f"{found.time:.0f}", f"{found.speed:.2f}")
        end = (
            f"{found.beyond:.4f}",
            f"{still} of {TARGETS}",
            f"{found.rest:.3f}",
            "; ".join(found.faults),
        )
        print(f"| {' | '.join(row + end)} |", flush=True)


def print_rests():
    """Print how many of the joints rest in time, and when the others do: 8 targets of
    each robot and law.
    """
    print(
        "| robot | law | targets | at rest after 2 s | median, s | last, s | still moving after 20 s |"
    )
    print("|---|---|---|---|---|---|---|")
    for delay, rate, name, law in chosen({"0ms": 0.0}, {"500Hz": 500.0}, REACH, EFFORT_LAWS):
        found = trial(name, law, count=8, rate=RATES[rate], delay=DELAYS[delay], patience=PATIENCE)
        for word, beyond in (("in reach", False), ("beyond", True)):
            after = [each.after for each in found.rests if each.beyond_reach == beyond]
            in_time, late = (
                sum(each <= limit for each in after) for limit in (REST, PATIENCE - 0.1)
            )
            row = (
                f"{len(after)} {word}",
                str(in_time),
                f"{np.median(after):.1f}",
                f"{max(after):.1f}",
                str(len(after) - late),
            )
            print(f"| {' | '.join((name, law, *row))} |", flush=True)


def chosen(*choices):
    """Each combination of what the command line names, of all where it names none."""
    return product(*([each for each in all_ if each in sys.argv] or all_ for all_ in choices))


if __name__ == "__main__":
    (print_rests if "rests" in sys.argv else print_limits)()
