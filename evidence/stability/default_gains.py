"""Default gains on the ideal arm and on the robot's imperfect one: at rest, pushed, and
pressed into two walls.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_control_ros.control.reactions.ringing_reaction import WARN
from robot_control_ros.core.errors import HardwareFault
from robot_control_ros.core.types import Array, Reference
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.simulation.in_process import Push, simulate
from robot_control_ros.simulation.log import Log
from robot_control_ros.simulation.mujoco_plant import PHYSICS_STEP
from robot_control_ros.simulation.scene import Scene, load_scene
from robot_control_ros.simulation.trouble import GainsWarning, TroubleWarning
from robot_control_ros.stability.wall_contact import WALL

from ..row import Row, exit_status, required, summary, text_table
from .press import FARTHEST, LAWS, SPEED

IMPERFECT = {"ur5": "like_ur5", "ur5e": "like_ur5e", "gen3": "like_gen3"}
# N, s and duration of it, s of the whole trial
FORCE = 20.0
PUSHED = (1.0, 2.0)
FREE = 10.0
# m/s; from so many metres before the wall, for so many
SLOW = 0.02
TOUCHING = (0.02, 0.04)
# s at a wall, and at the end of a trial
PRESSED = 4.0
LAST = 0.5
WALL_MASS = 1.0  # kg, of the wall on a spring, which is damped critically
QUIET = 1e-3  # m, from peak to peak, of a tip at rest
STEADY = 0.1, 1.0  # of the force at rest, or N
# s, of the physics at a wall: with 0.5 ms elastic joints shake there while their motors stand still
FINE_STEP = 2.5e-4
REQUIRED = required("docs/to_your_arm.md")


@dataclass(frozen=True)
class Tried:
    """A law with its default gains on an arm, at the rate [Hz] of the real one.

    The arm is ideal where `arm` is empty.

    Attributes:
        rest: Motion of the tip, from peak to peak, before the push [m].
        move: Largest distance of the tip from its start under the push [m].
        left: Distance of the tip from its start at the end [m].
        shake: Motion of the tip, from peak to peak, at the end [m].
        force, change: Median force of a wall of stiffness WALL at the end, and its change from peak
            to peak [N].
        rigid_force, rigid_change: Median force of a rigid wall at the end, and its change from peak
            to peak [N].
        told: Reasons why runs ended, and their first faults; empty for none.
    """

    robot: str
    law: str
    arm: str
    rate: float
    rest: float
    move: float
    left: float
    shake: float
    force: float
    change: float
    rigid_force: float
    rigid_change: float
    told: str

    @property
    def stable(self) -> bool:
        """True where the tip comes to rest, and so does the force of the wall of stiffness WALL."""
        return all(row.within for row in self.rows())

    def rows(self) -> list[Row]:
        """Bounds of the tip and of the force at rest. What is beyond one, and was told, is no
        failure.
        """
        head = f"{self.robot} {self.arm or 'ideal'}, {self.law}, {self.rate:g} Hz: "
        figures = (
            ("tip before the push", 1e3 * self.rest, 1e3 * QUIET, "mm"),
            ("tip at the end", 1e3 * self.shake, 1e3 * QUIET, "mm"),
            ("force of the wall", self.change, _steady_within(self.force), "N"),
        )
        return [
            Row.at_most(f"{head}{name}, peak to peak", value, bound, unit, REQUIRED, self.told)
            for name, value, bound, unit in figures
        ]

    @property
    def words(self) -> str:
        """Reasons and faults of the runs, or else what isn't at rest; empty where all is."""
        if self.told:
            return self.told
        if not self.stable:
            return "not at rest"
        is_steady = self.rigid_change <= _steady_within(self.rigid_force)
        return "" if is_steady else "not at rest at the rigid wall"


def _steady_within(force: float) -> float:
    """Change of a force at rest that counts as none [N]."""
    return max(STEADY[0] * force, STEADY[1])


class _Approach:
    """A target along x: at SPEED for a way [m], and from there at SLOW for TOUCHING[1] [m]."""

    def __init__(self, start: Array, fast: float) -> None:
        self._start = start
        self._fast = fast

    def sample(self, t: float) -> Reference:
        pose = self._start.copy()
        twist = np.zeros(6)
        beyond = t - self._fast / SPEED
        slow = min(max(beyond, 0.0) * SLOW, TOUCHING[1])
        pose[0, 3] += min(t * SPEED, self._fast) + slow
        if beyond < 0.0:
            twist[0] = SPEED
        elif slow < TOUCHING[1]:
            twist[0] = SLOW
        return Reference(pose, twist, np.zeros(6))


def wall_distance(name: str) -> float:
    """Way of the tip, along x, to the wall of the scene [m]."""
    log = _run(name, "impedance", "", 1000.0, scene="wall", duration=FARTHEST / SPEED, way=FARTHEST)
    touched = np.linalg.norm(np.asarray(log.contact)[:, :3], axis=1) > 0.0
    return float(log.pose[int(touched.argmax()), 0, 3] - log.pose[0, 0, 3])


def try_defaults(name: str, law: str, arm: str, distance: float) -> Tried:
    """The trials of a law on a robot; `arm` names the imperfections, `distance` [m]
    is that of the walls.
    """
    rate = load_robot(name, "real").profile.rate
    told: list[str] = []
    free = (math.nan, math.nan, math.nan, math.nan)
    walls: list[tuple[float, float]] = []
    try:
        push = Push((FORCE, 0.0, 0.0), start=PUSHED[0], duration=PUSHED[1])
        log = _run(name, law, arm, rate, duration=FREE, push=push)
        free = _free_figures(log)
        told += [f"pushed: {fault}" for fault in _faults(log)]
    except HardwareFault as error:
        told.append(f"pushed: {error}")
    way = distance - TOUCHING[0]
    duration = way / SPEED + TOUCHING[1] / SLOW + PRESSED
    for words, scene in (("at the wall", sprung_wall()), ("at the rigid wall", load_scene("wall"))):
        try:
            log = _run(name, law, arm, rate, scene=scene, duration=duration, way=way)
            walls.append(_wall_figures(log))
            told += [f"{words}: {fault}" for fault in _faults(log)]
        except HardwareFault as error:
            walls.append((math.nan, math.nan))
            told.append(f"{words}: {error}")
    return Tried(name, law, arm, rate, *free, *walls[0], *walls[1], "; ".join(told))


def sprung_wall() -> Scene:
    """The scene with the wall on a spring."""
    scene = load_scene("wall")
    damping = 2.0 * math.sqrt(WALL * WALL_MASS)
    wall = replace(
        scene.objects["wall"], motion="slides", mass=WALL_MASS, stiffness=WALL, damping=damping
    )
    return replace(scene, objects={"wall": wall})


def _free_figures(log: Log) -> tuple[float, float, float, float]:
    begin = PUSHED[0]
    end = PUSHED[0] + PUSHED[1]
    tip = log.pose[:, :3, 3]
    away = np.linalg.norm(tip - tip[0], axis=1)
    rest = _spread(tip[(log.t > begin - LAST) & (log.t < begin)])
    move = float(away[(log.t >= begin) & (log.t <= end)].max())
    return rest, move, float(away[-1]), _spread(tip[log.t > FREE - LAST])


def _wall_figures(log: Log) -> tuple[float, float]:
    force = np.linalg.norm(np.asarray(log.contact)[log.t > log.t[-1] - LAST, :3], axis=1)
    return float(np.median(force)), float(np.ptp(force))


def _faults(log: Log) -> list[str]:
    """The first fault of a run without its rule, as a list; an empty list where there is none."""
    return [fault.split(": must")[0] for fault in log.fault if fault][:1]


def default_gains_table(names: Sequence[str] = ()) -> int:
    """Try each law of each robot; print a line of each as it comes, and in the end all bounds.

    Returns the exit status: 1 if an arm is neither stable nor says why.
    """
    head = f"{'robot':<6}{'arm':<11}{'law':<20}{'Hz':>5}{'rest mm':>9}{'moved mm':>10}{'left mm':>9}{'shakes mm':>11}"
    print(f"{head}{'wall N':>8}{'change N':>10}{'rigid N':>9}{'change N':>10}  told", flush=True)
    rows: list[Row] = []
    for name in names or IMPERFECT:
        distance = wall_distance(name)
        for law in LAWS:
            for arm in ("", IMPERFECT[name]):
                tried = try_defaults(name, law, arm, distance)
                rows += tried.rows()
                print(_line(tried), flush=True)
    print("", *text_table(rows), summary(rows), sep="\n")
    return exit_status(rows)


def _line(tried: Tried) -> str:
    ways = zip((9, 10, 9, 11), (tried.rest, tried.move, tried.left, tried.shake), strict=True)
    text = "".join(f"{1e3 * way:>{width}.2f}" for width, way in ways)
    forces = f"{tried.force:>8.1f}{tried.change:>10.1f}{tried.rigid_force:>9.1f}{tried.rigid_change:>10.1f}"
    begin = f"{tried.robot:<6}{tried.arm or 'ideal':<11}{tried.law:<20}{tried.rate:>5g}"
    return f"{begin}{text}{forces}  {tried.words}".rstrip()


def _run(
    name: str,
    law: str,
    arm: str,
    rate: float,
    *,
    duration: float,
    scene: str | Scene | None = None,
    push: Push | None = None,
    way: float = 0.0,
) -> Log:
    with warnings.catch_warnings():
        for kind in (TroubleWarning, GainsWarning):
            warnings.simplefilter("ignore", kind)
        return simulate(
            _robot(name, arm),
            law,
            reference=(lambda start: _Approach(start, way)) if way else None,
            duration=duration,
            push=push,
            rate=rate,
            scene=scene,
            imperfections=arm or None,
            physics_step=FINE_STEP if arm and scene else PHYSICS_STEP,
            ringing_reaction=WARN,
        )


def _robot(name: str, arm: str) -> RobotConfig:
    """The simulated robot; an imperfect one has the gains of the real one's profile."""
    robot = load_robot(name)
    return replace(robot, law_gains=load_robot(name, "real").law_gains) if arm else robot


def _spread(tip: Array) -> float:
    return float(np.linalg.norm(np.ptp(tip, axis=0)))
