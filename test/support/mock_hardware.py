"""ros2_control with forward controllers on mock_components, played over topics: joints are
where they are sent.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_support import Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.robot.configuration import RobotConfig
from robot_control_ros.ros.messages import to_stamp

RATE = 50.0  # Hz
# s for which its time stands still where a joint state isn't answered: machines of tests are loaded
PATIENCE = 0.2
WRENCH = "/force_torque_sensor_broadcaster/wrench"


class MockHardware:
    """Broadcasters and forward controllers in a node called controller_manager, as they really are.

    Joint states come in alphabetical order. Commands are taken best effort; those of another size
    or with numbers that aren't finite are dropped; the last one holds for ever. Parts are added one
    by one; :meth:`start` adds all.

    Args:
        ros: the test's; the hardware runs while that spins.
        robot: whose joints it has.
        mode: position or velocity, of the forward controller that is active.

    Attributes:
        q, v: (n,) where the joints are, and how fast, in the robot's order.
        path: of all q that were sent, oldest first.
        frame: of the wrench's messages.
        force: (3,) that the sensor shows [N].
        effort: (n,) that is measured; None draws noise, as of motor currents.
        taking: whether commands are executed.
    """

    def __init__(self, ros: Ros, robot: RobotConfig, mode: str = "position") -> None:
        self.robot, self.mode, self.frame = robot, mode, robot.wrench_frame
        self.q, self.v, self.time = np.array(robot.home), np.zeros(robot.n), 100.0
        self.force, self.effort, self.taking = np.zeros(3), np.zeros(robot.n), True
        self.path: list[np.ndarray] = []
        self._noise = np.random.default_rng(1)
        self._order = np.argsort(robot.joints)
        self._command: np.ndarray | None = None
        self._answered, self._sent_at = True, 0.0
        self._states: Any = None
        self._wrenches: Any = None
        self.node = ros.create_node("controller_manager")
        self.node.create_timer(1.0 / RATE, self._update)

    def start(self) -> MockHardware:
        """All of it."""
        self.publish_states()
        self.take_commands()
        self.publish_wrenches()
        return self

    def publish_states(self) -> None:
        self._states = self.node.create_publisher(JointState, "joint_states", 10)

    def take_commands(self) -> None:
        """Both controllers are loaded; only the active one's commands are executed."""
        qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        for mode in ("position", "velocity"):
            topic = f"/forward_{mode}_controller/commands"
            self.node.create_subscription(
                Float64MultiArray,
                topic,
                lambda message, mode=mode: self._on_command(mode, message),
                qos,
            )

        self._manage()

    def _manage(self) -> None:
        """Answer what the controller asks the controller manager, where the messages for
        that are installed.
        """
        try:
            services: Any = importlib.import_module("controller_manager_msgs.srv")
            messages: Any = importlib.import_module("controller_manager_msgs.msg")
        except ImportError:
            return
        states = {
            f"forward_{mode}_controller": "active" if mode == self.mode else "inactive"
            for mode in ("position", "velocity")
        }

        def answer(request: Any, response: Any) -> Any:
            response.controller = [
                messages.ControllerState(name=name, state=state) for name, state in states.items()
            ]
            return response

        self.node.create_service(
            services.ListControllers, "/controller_manager/list_controllers", answer
        )

    def publish_wrenches(self) -> None:
        self._wrenches = self.node.create_publisher(WrenchStamped, WRENCH, 10)

    def _on_command(self, mode: str, message: Float64MultiArray) -> None:
        self._answered = True
        values = np.array(message.data)
        if mode == self.mode and values.shape == self.q.shape and np.isfinite(values).all():
            self._command = values

    def _update(self) -> None:
        if self._states is None or not (
            self._answered or time.monotonic() - self._sent_at > PATIENCE
        ):
            return
        dt = 1.0 / RATE
        self.time += dt
        last = self.q
        if self._command is not None and self.taking:
            self.q = self._command if self.mode == "position" else last + dt * self._command
        self.v = (self.q - last) / dt
        self._publish()

    def _publish(self) -> None:
        order, n = self._order, self.robot.n
        effort = self._noise.normal(size=n) if self.effort is None else self.effort
        message = JointState(name=[self.robot.joints[i] for i in order])
        message.header.stamp = to_stamp(self.time)
        message.position, message.velocity = self.q[order].tolist(), self.v[order].tolist()
        message.effort = effort[order].tolist()
        if self._wrenches is not None:
            wrench = WrenchStamped()
            wrench.header.stamp, wrench.header.frame_id = message.header.stamp, self.frame
            wrench.wrench.force.x, wrench.wrench.force.y, wrench.wrench.force.z = (
                self.force.tolist()
            )
            self._wrenches.publish(wrench)
        self.path.append(self.q)
        self._answered, self._sent_at = False, time.monotonic()
        self._states.publish(message)
