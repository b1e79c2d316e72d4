"""A policy's targets with stiffness, a fifth of them lost, and its chunks of joint angles, on
simulated arms; ``python -m`` prints the figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Array, Command
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.model import RobotDynamics
from robot_control_ros.simulation.in_process import lockstep
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

from . import joint_chunks
from .row import Row, exit_status, required, summary, text_table

# Hz, Hz and s
RATE = 500.0
POLICY = 30.0
LASTING = 60.0
# share; s that each chunk needs, and up to so many more
LOST = 0.2
LATE = 0.03
JITTER = 0.05
# m and m/s: of the line along y, there and back
LENGTH = 0.4
SPEED = 0.1
SWING = 200.0, 0.5  # N/m and Hz, of the stiffness about 500 N/m
AWAY = 0.8  # s about each turn of the line that are not judged
ROUNDING = 1e-6  # relative
SLOWEST = 50.0  # % of the line's speed
LIMIT = required("the limits in config/robots/ur5.yaml")
REQUIRED = required("evidence/policy_stream.py")


class PolicyChunk(NamedTuple):
    """A policy's message: arrival [s], times (k,) [s], poses (k, 4, 4), and stiffness [N/m]."""

    arrival: float
    times: Array
    poses: Array
    stiffness: float


def rows(poses: int, delay: float, lasting: float = LASTING) -> list[Row]:
    """Measured figures beside their bounds.

    Chunks of `poses` poses are followed with a delay [s], for a duration `lasting` [s].
    """
    robot = load_robot("ur5").at_rate(RATE)
    cycles = list(_follow(robot, poses, delay, lasting))
    head = f"{poses} poses a chunk: "
    limits = {"acceleration": robot.tip_acceleration, "jerk": robot.tip_jerk}
    accelerations = np.array([each.acceleration for each in cycles])
    measured = {"acceleration": accelerations, "jerk": np.diff(accelerations, axis=0) * RATE}
    largest = {name: (_norms(measured[name]) / limit).max() for name, limit in limits.items()}
    steps = (
        np.abs(np.diff([each.torque for each in cycles], axis=0))
        * RATE
        / np.array(robot.effort_rate)
    )
    largest["torque rate"] = steps.max()
    found = [
        Row.at_most(f"{head}largest {name} over its limit", share, 1.0 + ROUNDING, "", LIMIT)
        for name, share in largest.items()
    ]
    for name, speeds in (
        ("reference", [each.reference for each in cycles]),
        ("tip", [each.tip for each in cycles]),
    ):
        slowest = 100.0 * float(np.array(speeds)[_judged(len(cycles), delay)].min()) / SPEED
        text = f"{head}slowest speed of the {name}, of the line's"
        found.append(Row.at_least(text, slowest, SLOWEST, "%", REQUIRED))
    return found


def first_torque(cycle: int = 25) -> Row:
    """Row of the periods from a target to the first torque that an arm without one doesn't have."""
    with_target, without = (_torques(cycle, given) for given in (True, False))
    differs = np.flatnonzero((with_target != without).any(axis=1))
    periods = float(differs[0] - cycle)
    return Row.at_most("a target to its first torque", periods, 2.0, "periods", REQUIRED)


class PolicyCycle(NamedTuple):
    """Figures of a cycle: reference's acceleration (6,), torque (n,), speeds along the line."""

    acceleration: Array
    torque: Array
    reference: float
    tip: float


def _arm(robot: RobotConfig) -> tuple[MujocoPlant, ControlLoop]:
    return MujocoPlant(robot), ControlLoop(robot, "impedance")


def _torques(cycle: int, given: bool) -> Array:
    plant, loop = _arm(load_robot("ur5").at_rate(RATE))
    torques = []
    for number, (_, kin, command) in enumerate(lockstep(plant, loop, cycle + 5)):
        torques.append(command.values)
        if number == cycle and given:
            pose = kin.pose.copy()
            pose[1, 3] += 0.01
            loop.motion.follow_tip(np.zeros(1), pose[None])
    return np.array(torques)


def _along(t: float) -> float:
    """Place on the line at a time [s], there and back, from its middle [m]."""
    phase = (t * SPEED / LENGTH + 0.5) % 2.0
    return LENGTH * (min(phase, 2.0 - phase) - 0.5)


def _chunks(start: Array, poses: int, lasting: float) -> list[PolicyChunk]:
    """All chunks that arrive, in the order of arrival."""
    rng = np.random.default_rng(22)
    found = []
    for begin in np.arange(0.0, lasting, 1.0 / POLICY):
        if rng.random() < LOST:
            continue
        times = begin + np.arange(poses) / POLICY
        each = np.repeat(start[None], poses, axis=0)
        each[:, 1, 3] += [_along(t) for t in times]
        stiffness = 500.0 + SWING[0] * np.sin(2.0 * np.pi * SWING[1] * begin)
        found.append(PolicyChunk(begin + LATE + JITTER * rng.random(), times, each, stiffness))
    return sorted(found, key=lambda chunk: chunk.arrival)


def _follow(robot: RobotConfig, poses: int, delay: float, lasting: float) -> Iterator[PolicyCycle]:
    plant, loop = _arm(robot)
    loop.motion.stream.set({"delay": delay})
    loop.motion.stream.finish()
    start = loop.model.at(np.array(robot.home)).pose
    waiting = _chunks(start, poses, lasting)
    due: list[tuple[float, float]] = []
    for state, kin, command in lockstep(plant, loop, round(lasting * RATE)):
        yield _cycle(loop, kin, command)
        while waiting and waiting[0].arrival <= state.time:
            chunk = waiting.pop(0)
            try:
                loop.motion.follow_tip(chunk.times - state.time, chunk.poses)
            except ConfigError:  # it came after a newer one
                continue
            due.append((float(chunk.times[0]) + delay, chunk.stiffness))
        while due and due[0][0] <= state.time:
            loop.running.gains.set({"stiffness": [due.pop(0)[1]] * 3 + [50.0] * 3})


def _cycle(loop: ControlLoop, kin: RobotDynamics, command: Command) -> PolicyCycle:
    reference = loop.reference
    rest = np.zeros(6)
    acceleration = rest if reference.acceleration is None else reference.acceleration
    twist = rest if reference.twist is None else reference.twist
    return PolicyCycle(acceleration.copy(), command.values.copy(), abs(twist[1]), abs(kin.twist[1]))


def _norms(values: Array) -> Array:
    """Linear and angular norms (k, 2) of (k, 6)."""
    return np.asarray(np.linalg.norm(values.reshape(-1, 2, 3), axis=2))


def _judged(count: int, delay: float) -> Array:
    """Mask (count,) of the cycles that are away from the turns of the line."""
    t = np.arange(count) / RATE - delay
    turn = LENGTH / SPEED
    return np.asarray((t > AWAY) & (np.abs(t % turn - turn / 2.0) > AWAY))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The program has no options."""


def run(options: argparse.Namespace) -> int:
    """Print the figures; returns 1 where one is out of its bound."""
    figures = [first_torque(), *rows(16, 0.12), *rows(1, 0.3)]
    for name, law in product(joint_chunks.ROBOTS, joint_chunks.LAWS):
        for latency, declared in joint_chunks.LATENCIES:
            figures += joint_chunks.rows(name, law, latency, declared)
    print("\n".join(text_table(figures)))
    print(summary(figures))
    return exit_status(figures)
