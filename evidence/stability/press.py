"""Arms that press 20 mm into a wall, at 0.1 m/s: losses of contact, and the force at rest."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.reactions.ringing_reaction import WARN
from robot_control_ros.core.types import Array, Reference, RobotState
from robot_control_ros.robot.configuration import RobotConfig, load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.imperfect.delayed import DelayedPlant
from robot_control_ros.simulation.in_process import lockstep
from robot_control_ros.simulation.mujoco_plant import PHYSICS_STEP, MujocoPlant
from robot_control_ros.simulation.scene import load_scene

from ..row import Row, exit_status, required, summary, text_table

LAWS = (
    "admittance",
    "impedance",
    "task_space_pd",
    "joint_impedance",
    "position_domain_pd",
    "joint_pid",
    "joint_pid_effort",
)
# Hz, s
RATES = (500.0, 1000.0)
DELAYS = (0.0, 0.004)
# m, m/s, s, s
PRESS = 0.02
SPEED = 0.1
SETTLED = 2.0
LAST = 0.5
FARTHEST = 0.3  # m, within which the wall must be
SPRING_GAP = 0.02  # m before the sprung wall
# of contact, at most; of the force at rest
LOSSES = 3
REMAINDER = 0.05
UNREACHED = "the arm doesn't reach the wall"
REQUIRED = required("evidence/stability/README.md")


@dataclass(frozen=True)
class Pressed:
    """One law of one robot at a rate [Hz] and a delay [s], pressed into a wall.

    Attributes:
        losses: Number of times that the arm left the wall.
        rest: Median of the force in the last half second [N]; 0 where the arm doesn't stay at the
            wall.
        deviation: Largest difference from `rest`, as a fraction of it, from two seconds after the
            stop of the reference on; infinite where `rest` is 0.
        warning: Warning of the law about its gains; empty for none.
        fault: Reason why safety stopped the arm, or that it wasn't at the wall; else empty.
    """

    robot: str
    law: str
    rate: float
    delay: float
    losses: int
    rest: float
    deviation: float
    warning: str
    fault: str

    @property
    def holds(self) -> bool:
        """True where the arm stayed at the wall, and the force came to rest."""
        return all(row.within for row in self.rows())

    def rows(self) -> list[Row]:
        """Bounds of the contact. What is beyond one, and was told, is no failure."""
        told = self.fault or self.warning
        head = f"{self.robot} {self.law}, {self.rate:g} Hz, {1e3 * self.delay:g} ms: "
        losses = Row.at_most(head + "losses of contact", self.losses, LOSSES, "", REQUIRED, told)
        deviation = 100.0 * self.deviation
        force = head + f"force at rest ({self.rest:.1f} N) off by"
        bound = 100.0 * REMAINDER
        return [losses, Row.at_most(force, deviation, bound, "%", REQUIRED, told)]


def press_table(names: Sequence[str] = ()) -> int:
    """Press each law of each robot into the wall, and print the rows as they come.

    Returns the exit status: 1 if an arm neither holds nor says why.
    """
    rows: list[Row] = []
    for trial in product(names or robot_names(), LAWS, RATES, DELAYS):
        found = press(*trial).rows()
        print("\n".join(text_table(found, head=not rows)), flush=True)
        rows += found
    print(summary(rows))
    return exit_status(rows)


def press(
    name: str,
    law: str,
    rate: float,
    delay: float,
    *,
    wall: float = 0.0,
    gains: Mapping[str, Any] | None = None,
) -> Pressed:
    """Press a law, with the robot's defaults under `gains`, into the scene's wall, or into a
    spring `wall` [N/m].
    """
    robot = load_robot(name).at_rate(rate)
    arm = _ArmAtWall(robot, wall)
    loop = ControlLoop(robot, law, gains)
    loop.ringing.settings.set({"reaction": WARN})
    fault = ""
    plant = DelayedPlant(arm, 1.0 / PHYSICS_STEP, rate=rate, delay=delay)
    for _ in lockstep(plant, loop, sys.maxsize, lambda start: _Approach(start, arm)):
        fault = fault or loop.fault
        if arm.time > arm.stops + SETTLED + LAST:
            break
    if not arm.touched:
        fault = fault or UNREACHED
    force = np.array(arm.forces)
    last = force[-round(LAST / PHYSICS_STEP) :]
    rest = float(np.median(last))
    deviation = float(np.abs(last - rest).max() / rest) if rest > 0.0 else math.inf
    touches = force > 0.0
    losses = int((touches[:-1] & ~touches[1:]).sum())
    return Pressed(name, law, rate, delay, losses, rest, deviation, loop.running.warning, fault)


class _ArmAtWall(MujocoPlant):
    """A simulated arm before a wall: that of the scene, or a spring [N/m] that touches the tip.

    Attributes:
        forces: Force of the wall on the arm at each physics step [N].
        touched: True once the arm has been at the wall.
        stops: Time at which the reference, which begins at 0 s, is PRESS beyond the place where the
            tip touched the wall [s]. Before that touch it is FARTHEST / SPEED.
    """

    def __init__(self, robot: RobotConfig, wall: float) -> None:
        scene = load_scene("wall")
        super().__init__(
            robot, rate=1.0 / PHYSICS_STEP, scene=replace(scene, objects={}) if wall else scene
        )
        self.forces: list[float] = []
        self.stops = FARTHEST / SPEED
        self._wall = wall
        self._tip = robot.tip
        self._kinematics = RobotModel.of(robot)
        self._begin = float(self._kinematics.at(self.start).pose[0, 3])
        self.touched = False

    def read(self) -> RobotState:
        state = super().read()
        way = float(self._kinematics.at(state.q).pose[0, 3]) - self._begin
        force = self._spring(way) if self._wall else self._contact()
        if force > 0.0 and not self.touched:
            self.touched = True
            self.stops = (way + PRESS) / SPEED
        self.forces.append(force)
        return state

    def _spring(self, way: float) -> float:
        force = self._wall * max(way - SPRING_GAP, 0.0)
        self.push(self._tip, np.array([-force, 0.0, 0.0]), np.zeros(3))
        return force

    def _contact(self) -> float:
        forces = [contact.wrench[:3] for contact in self.contacts()]
        return float(np.linalg.norm(np.sum(forces, axis=0))) if forces else 0.0


class _Approach:
    """A target that moves along x, towards the wall and into it."""

    def __init__(self, start: Array, arm: _ArmAtWall) -> None:
        self._start = start
        self._arm = arm

    def sample(self, t: float) -> Reference:
        pose = self._start.copy()
        twist = np.zeros(6)
        pose[0, 3] += SPEED * min(t, self._arm.stops)
        twist[0] = SPEED if t < self._arm.stops else 0.0
        return Reference(pose, twist, np.zeros(6))
