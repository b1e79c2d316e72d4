"""Guarded moves: the tip goes down onto a spring, and the controller or its client ends the move."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.types import Array
from robot_control_ros.robot.model import RobotDynamics

from ..row import Row, required
from .trial_arm import RATE, LoadedArm, cycles, trial_robot

LAWS = ("impedance", "task_space_pd", "joint_impedance", "admittance", "position_domain_pd")
SPEED = 0.02  # m/s
STIFFNESS = 1e4  # N/m, of what is met
LIMIT = 5.0  # N
PEAK = 7.0  # N
GAP = 0.01  # m, between the tip and what it meets
WAY = 0.08  # m, from the tip to the goal behind that
SECONDS = 4.0  # within which the arm is held
SETTLE = 0.5  # s that the force is watched after the arm is held
STATE_RATE = 50.0  # Hz, of the states that a client sees
STATE_CYCLES = round(RATE / STATE_RATE)
PHASES = range(0, STATE_CYCLES, 3)  # numbers of the cycles in which a client sees its first state
LATENCIES = (0.0, 0.02, 0.1)  # s, from a state to the hold that the client asks for
NO_WRENCH = np.zeros(6)
REQUIRED = required("evidence/contact/guard_trials.py")


class Descent:
    """A tip that goes down onto a spring of 1e4 N/m at 20 mm/s.

    Args:
        robot: Name of the robot.
        law: Name of the law.

    Attributes:
        loop: Control loop of the arm.
        forces: Force of the spring at each physics step [N].
    """

    def __init__(self, robot: str, law: str) -> None:
        config = trial_robot(robot)
        self.loop = ControlLoop(config, law)
        self.forces: list[float] = []
        self._arm = LoadedArm(config, self._spring)
        self._surface = -math.inf  # m, height of the spring, which the first cycle sets

    def guarded(self) -> float:
        """Largest force where the controller ends the move at 5 N [N]."""
        self.loop.contact.settings.set({"guard_force": LIMIT, "guard_reaction": "brake"})
        held_since = math.inf
        for time, _ in self._cycles():
            if self.loop.contact.found is not None:
                held_since = min(held_since, time)
            if time - held_since > SETTLE:
                break
        return max(self.forces)

    def led(self, latency: float, phase: int) -> float:
        """Largest force where a client holds the arm at 5 N [N].

        Args:
            latency: Time from the state that shows the force to the hold [s].
            phase: Number of the cycle in which the client sees its first state.
        """
        due = math.inf  # s, time of the hold
        held_since = math.inf
        for cycle, (time, force) in enumerate(self._cycles()):
            if math.isinf(due) and cycle % STATE_CYCLES == phase and force >= LIMIT:
                due = time + latency
            if time >= due and math.isinf(held_since):
                self.loop.motion.hold()
                held_since = time
            if time - held_since > SETTLE:
                break
        return max(self.forces)

    def _cycles(self) -> Iterator[tuple[float, float]]:
        """Time [s] and measured force [N] of each cycle."""
        for cycle, (state, kin) in enumerate(cycles(self._arm, self.loop, 0.0, SECONDS)):
            if cycle == 0:
                self._begin(kin)
            assert state.wrench is not None
            yield state.time, float(np.linalg.norm(state.wrench.force))

    def _begin(self, kin: RobotDynamics) -> None:
        """Send the arm down onto the spring."""
        self.loop.limits.set({"speed": SPEED / self.loop.robot.tip_speed[0]})
        self._surface = float(kin.pose[2, 3]) - GAP
        goal = kin.pose.copy()
        goal[2, 3] -= WAY
        self.loop.motion.move_to(goal)

    def _spring(self, time: float, kin: RobotDynamics) -> Array:
        depth = self._surface - float(kin.pose[2, 3])
        if depth <= 0.0:
            return NO_WRENCH
        self.forces.append(STIFFNESS * depth)
        return np.array([0.0, 0.0, STIFFNESS * depth, 0.0, 0.0, 0.0])


def led_peaks(robot: str, law: str, latency: float) -> list[float]:
    """Largest forces where a client holds the arm, for some phases of its states [N]."""
    return [Descent(robot, law).led(latency, phase) for phase in PHASES]


def rows(robot: str) -> Iterator[Row]:
    """The rows of a robot: those of the controller, and beside them those of a client."""
    for law in LAWS:
        head = f"guarded move at 20 mm/s onto 10 N/mm, limit 5 N, {law}: peak, "
        yield Row.at_most(
            head + "the controller ends it", Descent(robot, law).guarded(), PEAK, "N", REQUIRED
        )
        for latency in LATENCIES:
            peak = max(led_peaks(robot, law, latency))
            text = f"a client holds it, {1e3 * latency:g} ms late"
            yield Row.report(head + text, peak, "N")
