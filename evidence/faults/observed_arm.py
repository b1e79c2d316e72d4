"""The arm of a simulator that runs as a process of its own, as its topics show it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from robot_control_ros.core.errors import RobotControlError
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import JointStateReader

from .heard_commands import LOOK, QUEUE, HeardCommands
from .judge import Heard, Moment, moment_of

STEP = 0.02  # s that a step takes at most: the simulator may be gone


class ObservedArm:
    """Hears what a simulator and its controllers say. Its time is the steady clock: a simulator
    that ends has none.

    Args:
        node: Node whose topics are used.
        robot: Configuration of the robot.
        spin: Function that lets things happen for a time [s], or until something did.

    Attributes:
        model: Model of the robot.
        heard: All commands, oldest first.
        moments: Motion of the arm: one moment for each sample.
    """

    def __init__(self, node: Any, robot: RobotConfig, spin: Callable[[float], None]) -> None:
        self.robot = robot
        self.model = RobotModel.of(robot)
        self.heard: list[Heard] = []
        self.moments: list[Moment] = []
        self._spin = spin
        self._began = time.monotonic()
        self._reader = JointStateReader(robot.joints)
        node.create_subscription(JointState, "joint_states", self._on_state, QUEUE)
        self._commanded = HeardCommands(node, robot.n)

    @property
    def time(self) -> float:
        """Time since the construction [s]."""
        return time.monotonic() - self._began

    @property
    def speed(self) -> float:
        """Speed of the fastest joint [rad/s]."""
        return float(np.abs(self.moments[-1].v).max()) if self.moments else 0.0

    def step(self) -> None:
        """Wait for the next sample, for a short time."""
        end = time.monotonic() + STEP
        count = len(self.moments)
        while len(self.moments) == count and (left := end - time.monotonic()) > 0.0:
            self._spin(min(left, LOOK))
            self.heard += self._commanded.take(self.time)

    def _on_state(self, message: JointState) -> None:
        try:
            state = self._reader.read(message)
        except RobotControlError:
            return
        if state is not None:
            self.moments.append(moment_of(self.model, self.time, state))
