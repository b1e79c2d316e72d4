"""Chunks of joint angles that jump back at each seam, followed by simulated arms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Array
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.inverse_kinematics import solve_pose
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import lockstep
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

from .row import Row, required

ROBOTS = "ur5", "gen3"
LAWS = "joint_impedance", "joint_pid"
# s, and whether a stamp declares it
LATENCIES = ((0.0, True), (0.0, False), (0.15, True), (0.15, False))
# Hz, Hz, and s
RATE = 500.0
POLICY = 10.0
LASTING = 12.0
POINTS = 10  # of a chunk
APART = 1.0 / 30.0  # s between two of them
JUMP = 0.06  # m along x, by which a chunk begins behind the one before
SWING = 0.05, 0.4  # m and Hz: the plan along y
BEGINS = 2.0  # s, from which on the run is judged
LIMIT = required("the joints' limits in config/robots")
REQUIRED = required("evidence/joint_chunks.py")


class Run(NamedTuple):
    """A run that is judged.

    Attributes:
        speed, jerk: Largest ones of the reference, over the joints' limits of chunks.
        seam_step, seam_jerk: Figures of the record at the seams.
        delay: Delay of the record at the end [s].
        shift: Time by which the tip is behind the policy's plan [s].
        alarms: Number of alarms of ringing.
        fault: Fault of the loop; empty for none.
    """

    speed: float
    jerk: float
    seam_step: float
    seam_jerk: float
    delay: float
    shift: float
    alarms: int
    fault: str


def rows(name: str, law: str, latency: float, declared: bool) -> list[Row]:
    """Rows of an arm under a law; the latency of the policy [s] is declared by stamps, or not."""
    run = follow(load_robot(name).at_rate(RATE), law, latency, declared)
    said = "stamped" if declared else "without a stamp"
    head = f"{name}, {law}, {1000.0 * latency:.0f} ms {said}: "
    known = run.shift if declared else run.shift - latency
    away = 1000.0 * abs(run.delay - known)
    return [
        Row.at_most(f"{head}largest speed of a joint over its limit", run.speed, 1.0, "", LIMIT),
        Row.at_most(
            f"{head}largest jerk of a joint over its limit", run.jerk, 1.0 + 1e-6, "", LIMIT
        ),
        Row.at_most(
            f"{head}largest step of velocity at a seam", 100.0 * run.seam_step, 10.0, "%", REQUIRED
        ),
        Row.at_most(
            f"{head}alarms of ringing, faults", run.alarms + bool(run.fault), 0, "", REQUIRED
        ),
        Row.at_most(
            f"{head}measured delay {1000.0 * run.delay:.1f} ms, from the true one",
            away,
            2.0,
            "ms",
            REQUIRED,
        ),
    ]


def follow(robot: RobotConfig, law: str, latency: float, declared: bool) -> Run:
    """Follow the chunks of a policy; see :func:`rows`."""
    plant = MujocoPlant(robot)
    loop = ControlLoop(robot, law)
    model = loop.model
    plan = _Plan(model, np.array(robot.home))
    waiting = [k / POLICY for k in range(int((LASTING - latency) * POLICY))]
    times = np.asarray(APART * np.arange(POINTS), dtype=float)
    velocities = []
    changes = []
    figures = []
    tips = []
    alarms = 0
    for state, kin, _ in lockstep(plant, loop, round(LASTING * RATE)):
        reference = loop.reference
        rest = np.zeros(robot.n)
        velocities.append(rest if reference.v is None else reference.v)
        changes.append(rest if reference.a is None else reference.a)
        figures.append(loop.motion.chunk_figures)
        tips.append((state.time, kin.pose[1, 3]))
        alarms += loop.ringing.scale < 1.0 or bool(loop.ringing.fault)
        if waiting and waiting[0] + latency <= state.time + 1e-9:
            seen = waiting.pop(0)
            start = seen - state.time if declared else 0.0
            loop.motion.follow_joint_chunk(start + times, plan.chunk(seen, seen + times))
    speed = robot.joint_speed * model.limits.velocity
    _, _, jerk = loop.motion.chunk_limits
    change = np.abs(np.diff(changes, axis=0)) * RATE
    shown = np.array(figures)
    _, steps, jerks = np.nanmax(shown[round(BEGINS * RATE) :], axis=0)
    shift = plan.shift(np.array(tips)[round(BEGINS * RATE) :])
    return Run(
        float((np.abs(velocities) / speed).max()),
        float((change / jerk).max()),
        float(steps),
        float(jerks),
        float(shown[-1, 0]),
        shift,
        alarms,
        loop.fault,
    )


class _Plan:
    """A policy's plan: forward along x from where it began, and to and fro along y."""

    def __init__(self, model: RobotModel, home: Array) -> None:
        self._model = model
        self._q = home
        self._home = model.at(home).pose

    def chunk(self, seen: float, times: Array) -> Array:
        """Joint angles (k, n) at times [s], of the chunk that was made at a time `seen` [s]."""
        found = []
        q = self._q
        for t in times:
            pose = self._home.copy()
            pose[0, 3] += JUMP * POLICY * (t - seen)
            pose[1, 3] += self._along_y(t)
            q = solve_pose(self._model, pose, q)
            found.append(q)
        return np.array(found)

    def shift(self, tips: Array) -> float:
        """Time by which tips (k, 2) of time [s] and y [m] are behind the plan [s]."""
        lags = np.arange(0.0, 0.5, 0.0005)
        y = tips[:, 1] - self._home[1, 3]
        rests = [float(np.var(y - self._along_y(tips[:, 0] - lag))) for lag in lags]
        return float(lags[int(np.argmin(rests))])

    @staticmethod
    def _along_y(t: float | Array) -> Array:
        """Place along y at a time [s], from home [m]."""
        return np.asarray(SWING[0] * (1.0 - np.cos(2.0 * np.pi * SWING[1] * np.asarray(t))))
