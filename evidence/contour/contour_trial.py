"""A contour as joints follow it: the reference, simulations of it, and the contour errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethercat_emulator import Motor
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.output_files import write_rows
from robot_control_ros.core.types import Array
from robot_control_ros.fieldbus.emulation.arm import LockstepDrives
from robot_control_ros.fieldbus.ethercat.topology import Topology
from robot_control_ros.references import JointPath
from robot_control_ros.references.contours import Polyline, TimedContour
from robot_control_ros.references.time_scaling import Chain, Trapezoid
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.differential_kinematics import DifferentialKinematics
from robot_control_ros.robot.inverse_kinematics import solve_pose
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.in_process import TOLD_EVERY, lockstep, simulate

from ..reproduce.contour_benchmark import DWELL, UR5_ACCELERATION, UR5_STIFFNESS, ur5_rectangle

LAW = "position_domain_pd"
FEED = 0.25  # m/s
# s at the contour's beginning, before it, and a quarter of a cycle, since the reference's
# acceleration jumps: where it did so at a sample, or at one of what is fed forward (half a cycle
# on, with the drives' dead time), the slightest jitter would decide whether that sample has it
# already.
LEAD = 0.5
OFF_CYCLE = 0.25
STEP = 0.005  # s between two points; the ramps of UR5_ACCELERATION at FEED are so many of them
MAX_GAP = 5  # cycles between two samples: peaks of the contour error last no longer
CLOSE = 0.01  # m from the end, where the tip rests at last
ALIGNED_AT = 0.1  # m from the beginning: where tracks of different clocks are aligned


def dead_time(topology: Topology) -> float:
    """Dead time of the emulated drives [s]: the next frame has a torque, which
    the current follows.
    """
    return topology.cycle + Motor().current_time


@dataclass(frozen=True)
class Setting:
    """Domain and feed-forward (0 to 1) of the law."""

    domain: str
    feedforward: float

    def gains(self, dead_time: float = 0.0) -> dict[str, str | float]:
        """The law's gains by name, for drives with a dead time [s]."""
        return {
            "domain": self.domain,
            "stiffness": UR5_STIFFNESS,
            "feedforward": self.feedforward,
            "feedforward_lead": dead_time,
        }

    def __str__(self) -> str:
        return f"{self.domain}, feed-forward {100.0 * self.feedforward:.0f} %"


@dataclass(frozen=True, eq=False)
class Track:
    """The tip's path, from the contour's beginning until it rests at the end.

    Attributes:
        t: (k,) since the beginning [s].
        q: (k, n) joint angles [rad].
        tip: (k, 3) in the base [m].
        nearest: (k, 3) points of the contour [m].
        max_gap: Time between two samples from which on some are missing [s].
    """

    t: Array
    q: Array
    tip: Array
    nearest: Array
    max_gap: float

    @property
    def longest_gap(self) -> float:
        """Longest time between two samples, the beginning included [s]."""
        return float(np.diff(self.t, prepend=0.0).max())

    @property
    def complete(self) -> bool:
        """True where no samples are missing: else the figures may miss a peak."""
        return self.longest_gap <= self.max_gap

    def broken(self, values: Array) -> Array:
        """Values of the samples (k, …) with NaN where some are missing: a line has gaps there."""
        gaps = np.flatnonzero(np.diff(self.t) > self.max_gap) + 1
        return np.insert(values, gaps, np.nan, axis=0)

    @property
    def error(self) -> Array:
        """Distance to the contour (k,) [mm]."""
        return np.asarray(1e3 * np.linalg.norm(self.tip - self.nearest, axis=1))

    @property
    def max(self) -> float:
        """Largest contour error [mm]."""
        return float(self.error.max())

    @property
    def rms(self) -> float:
        """Root mean square of the contour error [mm], by time: samples may be missing."""
        square = self.error**2
        return float(
            np.sqrt(
                (0.5 * (square[1:] + square[:-1])).dot(np.diff(self.t)) / (self.t[-1] - self.t[0])
            )
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """One setting.

    Attributes:
        setting: Setting of the law.
        bus: Track on the emulated bus.
        simulated: Track in process, where torques act at once.
        delayed: Track in process, where torques act as those of the drives do.
        left_out: Cycles of the bus that were left out meanwhile, because others took too long.
    """

    setting: Setting
    bus: Track
    simulated: Track
    delayed: Track
    left_out: int

    def tracks(self) -> dict[str, Track]:
        """By the place of their measurement."""
        return {
            "on the bus": self.bus,
            "in process": self.simulated,
            "in process, with drives": self.delayed,
        }


class ContourTrial:
    """The rectangle of the UR5 in x and z, with rests in its corners, from its home.

    Args:
        robot: Configuration of the robot; its profile's rate is that of the simulation.

    Attributes:
        contour: Contour of the tip, in the base.
        lead: Time before the contour, where the joints are at home [s].
        times: (k,) [s] after the start: first the lead, then the way along the contour.
        positions, velocities: (k, n) at these times [rad, rad/s].
        duration: Duration of all, with a rest after it [s].
    """

    def __init__(self, robot: RobotConfig) -> None:
        self.robot = robot
        self.model = RobotModel.of(robot)
        home = np.array(robot.home)
        pose = self.model.at(home).pose
        self.contour: Polyline = ur5_rectangle(pose)
        timing = Chain(
            [Trapezoid(float(length), FEED, UR5_ACCELERATION) for length in self.contour.lengths]
        )
        t = np.linspace(0.0, timing.duration, round(timing.duration / STEP) + 1)
        point, speed, _ = TimedContour(self.contour, timing).at(t)
        self.lead = LEAD + OFF_CYCLE * robot.period
        self.times = self.lead + t
        self.positions, self.velocities = self._joint_path(pose, point, speed)
        self.duration = self.lead + timing.duration + DWELL
        self._begin = pose[:3, 3]

    def _joint_path(self, pose: Array, points: Array, speeds: Array) -> tuple[Array, Array]:
        solver = DifferentialKinematics()
        q = np.array(self.robot.home)
        target = pose.copy()
        twist = np.zeros(6)
        positions = []
        velocities = []
        for point, speed in zip(points, speeds, strict=True):
            target[:3, 3] = point
            twist[:3] = speed
            q = solve_pose(self.model, target, q)
            positions.append(q)
            velocities.append(solver.velocities(self.model.at(q), twist))
        return np.array(positions), np.array(velocities)

    def simulate(
        self, setting: Setting, progress: Callable[[float], object] | None = None
    ) -> Track:
        """In process, in lockstep with MuJoCo: the torques act at once.

        The function `progress` is told the simulated time [s] now and then.
        """
        log = simulate(
            self.robot,
            LAW,
            setting.gains(),
            self._path(),
            self.duration,
            rate=self.robot.profile.rate,
            progress=progress,
        )
        return self.track(log.t, log.q)

    def simulate_drives(
        self,
        setting: Setting,
        topology: Topology,
        progress: Callable[[float], object] | None = None,
    ) -> Track:
        """In process, in lockstep with the emulated drives: see :class:`LockstepDrives`.

        The function `progress` is told the simulated time [s] now and then.
        """
        plant = LockstepDrives(self.robot, topology)
        loop = ControlLoop(self.robot, LAW, setting.gains(dead_time(topology)), model=self.model)
        count = round(self.duration * self.robot.profile.rate)
        states = []
        for state, *_ in lockstep(plant, loop, count, self._path()):
            states.append(state)
            if progress is not None and len(states) % TOLD_EVERY == 0:
                progress(len(states) * self.robot.period)
        return self.track(
            np.array([state.time for state in states]), np.array([state.q for state in states])
        )

    def _path(self) -> JointPath:
        home = np.array(self.robot.home)
        limits = self.model.limits.velocity
        return JointPath(self.model, home, self.times, self.positions, self.velocities, 0.0, limits)

    def track(self, t: Array, q: Array) -> Track:
        """The track of recorded joint angles (k, n) [rad] at times (k,) [s] of any clock.

        Raises:
            ConfigError: the tip doesn't go along the contour, up to its end.
        """
        tip = self._tips(q)
        start = (
            self._aligned_at(t, tip)
            - self._aligned_at(self.times, self._tips(self.positions))
            + self.lead
        )
        chosen = (t >= start) & (t <= start + self.duration - self.lead)
        missing = float(np.linalg.norm(tip[chosen][-1] - self.contour.points[-1]))
        if missing > CLOSE:
            raise ConfigError(
                f"the tip stops {missing:.3g} m before the contour's end",
                value=missing,
                bound=CLOSE,
            )
        _, s = self.contour.distance(tip[chosen])
        max_gap = (MAX_GAP + 0.5) * self.robot.period
        return Track(t[chosen] - start, q[chosen], tip[chosen], self.contour.point(s), max_gap)

    def _tips(self, q: Array) -> Array:
        return np.array([self.model.at(each).pose[:3, 3] for each in q]).reshape(-1, 3)

    def _aligned_at(self, t: Array, tip: Array) -> float:
        """When the distance of the tip to the beginning is first ALIGNED_AT [s]."""
        distance = np.linalg.norm(tip - self._begin, axis=1)
        at = int(np.argmax(distance >= ALIGNED_AT)) if len(distance) else 0
        if at == 0:
            raise ConfigError(
                f"the tip stays within {ALIGNED_AT:g} m of the contour's beginning",
                bound=ALIGNED_AT,
            )
        fraction = (ALIGNED_AT - distance[at - 1]) / (distance[at] - distance[at - 1])
        return float(t[at - 1] + fraction * (t[at] - t[at - 1]))


def write_samples(comparisons: Sequence[Comparison], joints: Sequence[str], path: Path) -> Path:
    """Write a CSV file with a row per sample; returns it."""
    header = ["domain", "feedforward", "where", "t", *(f"q.{name}" for name in joints)]
    rows: list[list[Any]] = [[*header, "tip.x", "tip.y", "tip.z", "contour_error_mm"]]
    for each in comparisons:
        for where, track in each.tracks().items():
            for sample in np.column_stack((track.t, track.q, track.tip, track.error)):
                named = each.setting.domain, each.setting.feedforward, where
                rows.append([*named, *(f"{value:.9g}" for value in sample)])
    return write_rows(path, rows)


def write_figures(comparisons: Sequence[Comparison], path: Path) -> Path:
    """Write a CSV file with a row per setting and place; returns it."""
    rows: list[list[Any]] = [
        ["domain", "feedforward", "where", "max_mm", "rms_mm", "cycles_left_out", "longest_gap_s"]
    ]
    for each in comparisons:
        for where, track in each.tracks().items():
            left_out = each.left_out if track is each.bus else 0
            setting = each.setting.domain, each.setting.feedforward
            figures = f"{track.max:.6f}", f"{track.rms:.6f}", left_out, f"{track.longest_gap:.6f}"
            rows.append([*setting, where, *figures])
    return write_rows(path, rows)
