"""A simulated arm in lockstep with its controller, behind a line that loses and delays messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command
from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import fill_joint_state, fill_wrench, to_stamp
from robot_control_ros.ros.qos import COMMAND_QOS
from robot_control_ros.simulation.imperfect.imperfections import Imperfections, ModelErrors
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

from .heard_commands import LOOK, HeardCommands
from .judge import Heard, Moment, moment_of
from .line import Line

PATIENCE = 1.0  # s to wait for an answer that should come: a busy machine may hold up who gives it
# s to wait for one that need not come: the arm's time goes on, slower than the steady clock
SHORT_PATIENCE = 0.01


class SimulatedArm:
    """Speaks as ros2_control's broadcasters and forward controllers do, and waits for the answer to
    each sample.

    The arm's time goes on by one period with each :meth:`step`. Forward controllers hold the last
    command for ever, and drop commands of another size and such that aren't finite.

    Args:
        node: Node whose topics are used.
        robot: Configuration of the robot.
        spin: Function that lets things happen for a time [s], or until something did.
        load: Mass on the tip that nobody knows of [kg].

    Attributes:
        plant: Physics of the arm.
        model: Model of the robot.
        states, wrenches, commands: Lines that carry joint states, wrenches and commands.
        clock_speed: Speed of the published clock over that of the arm's; at 0 it stands still.
        clock_offset: Offset of the published clock and of all stamps from the arm's time [s].
        heard: All commands on the arm's topics, before the line loses or delays them, oldest first.
        moments: Motion of the arm: one moment for each sample.
        unanswered: Number of samples that nobody answered in time.
    """

    def __init__(
        self, node: Any, robot: RobotConfig, spin: Callable[[float], None], load: float = 0.0
    ) -> None:
        self.robot = robot
        self.model = RobotModel.of(robot)
        self.plant = MujocoPlant(
            robot, imperfections=Imperfections(model=ModelErrors(payload_mass=load))
        )
        self.states = Line(1)
        self.wrenches = Line(2)
        self.commands = Line(3)
        self.clock_speed = 1.0
        self.clock_offset = 0.0
        self.heard: list[Heard] = []
        self.moments: list[Moment] = []
        self.unanswered = 0
        self._answered = False  # the last sample
        self._spin = spin
        self._joint_states = node.create_publisher(JointState, "joint_states", COMMAND_QOS)
        self._wrench_topic = node.create_publisher(
            WrenchStamped, "force_torque_sensor_broadcaster/wrench", COMMAND_QOS
        )
        self._clocks = node.create_publisher(Clock, "/clock", COMMAND_QOS)
        self._commanded = HeardCommands(node, robot.n)

    @property
    def time(self) -> float:
        """Time of the arm [s]."""
        return self.plant.time

    @property
    def speed(self) -> float:
        """Speed of the fastest joint [rad/s]."""
        return float(np.abs(self.moments[-1].v).max()) if self.moments else 0.0

    def step(self) -> None:
        """Publish a sample, wait for the answer, and go on by a period."""
        began = time.monotonic()
        before = len(self.heard)
        patience = PATIENCE if self._answered and self.states.perfect else SHORT_PATIENCE
        self._publish()
        while len(self.heard) == before and (left := began + patience - time.monotonic()) > 0.0:
            self._wait(left)
        self._answered = len(self.heard) > before
        self.unanswered += not self._answered
        # never faster than a real arm
        while (left := began + self.robot.period - time.monotonic()) > 0.0:
            self._wait(left)
        for command in self.commands.arrived(self.time):
            with suppress(ConfigError):  # a number that no drive can take
                self.plant.write(command)
        self.plant.advance()

    def _publish(self) -> None:
        sample = self.plant.sample()
        self.moments.append(moment_of(self.model, sample.time, sample))
        self.clock_offset += (self.clock_speed - 1.0) * self.robot.period
        stamp = max(sample.time + self.clock_offset, 0.0)
        self._clocks.publish(Clock(clock=to_stamp(stamp)))
        wrench = WrenchStamped()
        wrench.header.stamp = to_stamp(stamp)
        wrench.header.frame_id = self.robot.wrench_frame
        assert sample.wrench is not None
        fill_wrench(wrench.wrench, np.concatenate((sample.wrench.force, sample.wrench.torque)))
        state = JointState(name=list(self.robot.joints))
        fill_joint_state(state, stamp, sample.q, sample.v, sample.effort)
        for line, topic, message in (
            (self.wrenches, self._wrench_topic, wrench),
            (self.states, self._joint_states, state),
        ):
            line.send(sample.time, message)
            for arrived in line.arrived(sample.time):
                topic.publish(arrived)

    def _wait(self, seconds: float) -> None:
        """Let something happen, and hear what was commanded."""
        self._spin(min(seconds, LOOK))
        for command in self._commanded.take(self.time):
            self.heard.append(command)
            self.commands.send(self.time, Command(command.mode, command.values))


def changed(message: Any, **fields: Any) -> Any:
    """A copy of a message with other fields."""
    result = copy(message)
    for name, value in fields.items():
        setattr(result, name, value)
    return result
