"""A leader arm and a follower arm through a late line: a hand leads the follower against a wall,
and keeps pressing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.reactions.ringing_reaction import WARN
from robot_control_ros.core.spatial import pose_error
from robot_control_ros.core.types import Array
from robot_control_ros.laws.spring.bounded_spring import BoundedSpring
from robot_control_ros.nodes.teleop.coupling import ArmCoupling, leader_damping
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.simulation.mujoco_plant import MujocoPlant
from robot_control_ros.simulation.scene import load_scene

from ..row import Row, calculated, required
from .trial_arm import RATE, trial_robot

# s, each way and of a trial
DELAY = 0.05
LASTING = 60.0
TELEMETRY = 50.0  # Hz
FILTER = 0.125  # s, of the trajectory of target poses
FORCE_SCALE = 0.4
STIFFNESS = 500.0, 50.0  # N/m and N·m/rad of the follower
DAMPING_TIME = 0.15  # s, D/K; the bound hardly depends on it
# m, s and m/s: the hand goes on beyond the wall
WAY = 0.25
BEGIN = 0.5
SPEED = 0.1
HAND = 300.0, 20.0  # N/m and N·s/m of the hand that leads
SETTLED = 20.0  # s, from which on nothing may move any more
ENERGY = 1e-3  # J, that counts as none
REQUIRED = required("evidence/contact/leading_trials.py")
PASSIVE = calculated("the coupling makes no energy")


def rows(robot: str) -> list[Row]:
    """The trial of a robot."""
    found = LeadingTrial(trial_robot(robot)).run(LASTING)
    head = f"50 ms each way, {LASTING:g} s against a wall: "
    late = found.time >= SETTLED
    settled = f"from {SETTLED:g} s on"
    growth = rise(found.energy[late])
    force = np.ptp(found.contact[late])
    lost = losses(found.contact)
    return [
        Row.at_most(head + "energy that the coupling made", found.made.max(), ENERGY, "J", PASSIVE),
        Row.at_most(head + f"growth of the energy {settled}", growth, ENERGY, "J", PASSIVE),
        Row.at_most(head + f"range of the contact force {settled}", force, 1.0, "N", REQUIRED),
        Row.at_most(head + "times that contact was lost", lost, 0.0, "", REQUIRED),
    ]


def rise(values: Array) -> float:
    """The largest growth of values (k,) over any earlier one."""
    return float((values - np.minimum.accumulate(values)).max())


def losses(contact: Array) -> int:
    """Number of times that contact forces (k,) end."""
    return int(np.count_nonzero((contact[:-1] > 0.0) & (contact[1:] == 0.0)))


@dataclass(frozen=True, eq=False)
class LedMotion:
    """Figures of each cycle, (k,) each.

    Attributes:
        time: Time since the start [s].
        energy: T_l / c + T_f + |x_l - x_f|² K / 2, see ArmCoupling [J].
        made: Energy less the work of the hand, which is divided by c, too [J].
        contact: Force of the wall [N].
        hand: Force of the hand [N].
    """

    time: Array
    energy: Array
    made: Array
    contact: Array
    hand: Array


class LedArm(NamedTuple):
    """An arm of the trial."""

    plant: MujocoPlant
    loop: ControlLoop

    def tick(self) -> None:
        """Run one cycle of the loop."""
        self.plant.write(self.loop.tick(self.plant.read()))

    def kinetic(self) -> float:
        """Kinetic energy of the arm [J]."""
        assert self.loop.state is not None
        assert self.loop.kin is not None
        v = self.loop.state.v
        return 0.5 * float(v.dot(self.loop.kin.mass).dot(v))


class LeadingTrial:
    """Two arms of one robot, the follower 0.1 m before a wall, through a line that is late each
    way.

    Args:
        robot: Configuration of both arms.
        delay: Delay of the line, each way [s].
        damping: Damping of the leader's law, over the damping that ArmCoupling asks for.
    """

    def __init__(self, robot: RobotConfig, delay: float = DELAY, damping: float = 1.0) -> None:
        scene = load_scene("wall")
        asked = [FORCE_SCALE * each * damping * needed_damping(delay) for each in STIFFNESS]
        free: dict[str, Any] = {
            "stiffness": 0.0,
            "damping_ratio": 0.0,
            "damping": np.repeat(asked, 3),
        }
        stiffness = np.repeat(STIFFNESS, 3)
        self._leader = _arm(robot, replace(scene, objects={}), free)
        self._follower = _arm(robot, scene, {"stiffness": stiffness})
        bounds = (
            getattr(self._follower.loop.running.gains.current, name)
            for name in ("max_force", "max_torque")
        )
        self._spring = BoundedSpring(np.diag(stiffness), *bounds)
        self._coupling = ArmCoupling(np.eye(3), 1.0, FORCE_SCALE, self._spring)
        self._tip = robot.tip
        self._late = round(delay * RATE)
        self._to_follower = deque[tuple[int, Array]]()
        self._to_leader = deque[tuple[int, Array]]()

    def run(self, seconds: float) -> LedMotion:
        """Lead the follower to the wall, and press on."""
        samples = []
        work = 0.0
        for cycle, goal in enumerate(self._goals(seconds)):
            self._leader.tick()
            self._follower.tick()
            if not cycle:
                start = self._leader.loop.tip()
                self._coupling.engage(start, self._follower.loop.tip(), self._follower.loop.tip())
            hand = self._hand(start[:3, 3] + goal)
            self._exchange(cycle)
            tip = self._leader.loop.tip()
            twist = self._leader.loop.kin.twist  # type: ignore[union-attr]
            error = pose_error(self._coupling.target(tip), self._follower.loop.tip())
            stored = (
                self._leader.kinetic() / FORCE_SCALE
                + self._follower.kinetic()
                + self._spring.energy(error)
            )
            contact = float(np.linalg.norm(self._follower.plant.contact_wrench()[:3]))
            samples.append(
                (cycle / RATE, stored, stored - work, contact, float(np.linalg.norm(hand)))
            )
            work += float(hand.dot(twist[:3])) / RATE / FORCE_SCALE
        return LedMotion(*np.array(samples).T)

    def _goals(self, seconds: float) -> Iterator[Array]:
        """Displacements (3,) [m] of the leader from its start that the hand aims at, by cycle."""
        for cycle in range(round(seconds * RATE)):
            yield np.array((min(max(SPEED * (cycle / RATE - BEGIN), 0.0), WAY), 0.0, 0.0))

    def _hand(self, goal: Array) -> Array:
        kin = self._leader.loop.kin
        assert kin is not None
        force = HAND[0] * (goal - kin.pose[:3, 3]) - HAND[1] * kin.twist[:3]
        self._leader.plant.push(self._tip, force, np.zeros(3))
        return np.asarray(force)

    def _exchange(self, cycle: int) -> None:
        """Put telemetry of both arms into the line, and hand on what comes out of it."""
        leader = self._leader.loop
        follower = self._follower.loop
        while self._to_follower and self._to_follower[0][0] <= cycle:
            follower.motion.move_to(self._coupling.target(self._to_follower.popleft()[1]))
        if cycle % round(RATE / TELEMETRY):
            return
        self._to_follower.append((cycle + self._late, leader.tip()))
        self._to_leader.append((cycle + self._late, follower.tip()))
        while len(self._to_leader) > 1 and self._to_leader[1][0] <= cycle:
            self._to_leader.popleft()
        if self._to_leader[0][0] <= cycle:
            leader.motion.set_feedforward_wrench(
                self._coupling.wrench(leader.tip(), self._to_leader[0][1])
            )


def needed_damping(delay: float) -> float:
    """The leader's damping over the stiffness that the hand feels [s], for a line that
    is late each way [s].
    """
    held = 1.0 / TELEMETRY
    return leader_damping(1.0, 2.0 * (delay + held) + FILTER, held, DAMPING_TIME)


def _arm(robot: RobotConfig, scene: Any, gains: dict[str, Any]) -> LedArm:
    loop = ControlLoop(robot, "impedance", gains)
    loop.ringing.settings.set({"reaction": WARN})
    return LedArm(MujocoPlant(robot, scene=scene), loop)
