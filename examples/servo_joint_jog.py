"""Takes joint velocities as MoveIt Servo does: JointJog in, the controller's joint targets out.

It needs control_msgs. Start the controller first, then type in a terminal with ROS:

    python examples/servo_joint_jog.py --ros-args -r joint_jog:=/servo_node/delta_joint_cmds

A velocity of 1 is the parameter ``joint_scale``; larger ones count as 1. Displacements are not
used.
The joints stop when no command comes.

This program has never met one that was written for Servo. It stands on the definition of the
message, and on Servo's documentation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

import numpy as np
import rclpy
from control_msgs.msg import JointJog
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from robot_control_ros import ConfigError

# rad that a target may be ahead of its joint, so that it doesn't run away from one that is blocked
LEAD = 0.2
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class JointJogging:
    """Target angles that move with commanded velocities.

    The first command after a pause takes the joints where they are. Each further one moves them on
    by its velocities, for the time since the command before.

    Args:
        scale: Velocity of a command of 1 [rad/s].
        timeout: Time between two commands that is a pause [s].
    """

    def __init__(self, scale: float, timeout: float) -> None:
        self._scale = scale
        self._timeout = timeout
        self._targets: dict[str, float] = {}
        self._commanded_at = -np.inf  # time of the command before [s]

    def targets(
        self,
        now: float,
        measured: Mapping[str, float],
        names: Sequence[str],
        velocities: Sequence[float],
    ) -> dict[str, float]:
        """Target angles [rad] of all joints.

        Args:
            now: Time of the command [s].
            measured: Angles of all joints [rad].
            names: Joints of the command.
            velocities: One velocity for each name, from -1 to 1.

        Raises:
            ConfigError: The numbers of names and velocities differ, a velocity isn't finite, or a
                joint is unknown or named twice.
        """
        self._check(measured, names, velocities)
        elapsed = now - self._commanded_at
        self._commanded_at = now
        if elapsed > self._timeout:
            self._targets = dict(measured)
            elapsed = 0.0
        step = dict.fromkeys(measured, 0.0)
        for name, velocity in zip(names, velocities, strict=True):
            step[name] = elapsed * self._scale * min(max(velocity, -1.0), 1.0)
        for name, angle in measured.items():
            moved = self._targets[name] + step[name]
            self._targets[name] = min(max(moved, angle - LEAD), angle + LEAD)
        return dict(self._targets)

    @staticmethod
    def _check(
        measured: Mapping[str, float], names: Sequence[str], velocities: Sequence[float]
    ) -> None:
        """Refuse a command that makes no sense."""
        if len(velocities) != len(names) or not np.isfinite(velocities).all():
            text = f"velocities = {list(velocities)}: must be a finite number for each of {len(names)} names"
            raise ConfigError(text, name="velocities", value=list(velocities), bound=len(names))
        for name in names:
            if name not in measured:
                text = f"unknown joint {name!r}; joints: {', '.join(measured)}"
                raise ConfigError(text, name="joint", value=name, bound=tuple(measured))
            if names.count(name) > 1:
                raise ConfigError(f"joint {name!r}: must stand once", name="joint", value=name)


class ServoJointJog(Node):
    """Subscribes to ``joint_jog`` and ``joint_states``, and publishes the
    controller's ``target_joint``.
    """

    def __init__(self) -> None:
        super().__init__("servo_joint_jog")
        scale = self._number(
            "joint_scale", 0.5, (0.0, 10.0), "Velocity of a joint at a command of 1 [rad/s]."
        )
        timeout = self._number(
            "timeout", 0.2, (0.02, 5.0), "Time between two commands that is a pause [s]."
        )
        controller = self.declare_parameter("controller", "controller").value
        self._jogging = JointJogging(scale, timeout)
        self._measured: dict[str, float] = {}
        self._targets = self.create_publisher(JointState, f"{controller}/target_joint", 1)
        self.create_subscription(JointState, "joint_states", self._on_joints, NEWEST)
        self.create_subscription(JointJog, "joint_jog", self._on_jog, NEWEST)

    def _number(
        self, name: str, default: float, bounds: tuple[float, float], description: str
    ) -> float:
        """The value of a parameter within its bounds."""
        value_range = FloatingPointRange(from_value=bounds[0], to_value=bounds[1])
        descriptor = ParameterDescriptor(
            description=description, floating_point_range=[value_range]
        )
        return float(self.declare_parameter(name, default, descriptor).value)

    def _on_joints(self, message: JointState) -> None:
        self._measured.update(zip(message.name, message.position, strict=False))

    def _on_jog(self, message: JointJog) -> None:
        if not self._measured:
            self.get_logger().error("no joint_states yet", throttle_duration_sec=1.0)
            return
        names = list(message.joint_names)
        try:
            targets = self._jogging.targets(
                time.monotonic(), self._measured, names, list(message.velocities)
            )
        except ConfigError as error:
            self.get_logger().error(f"joint jog: {error}", throttle_duration_sec=1.0)
            return
        self._targets.publish(JointState(name=list(targets), position=list(targets.values())))


def main() -> None:
    """Run the node until Ctrl-C."""
    rclpy.init()
    try:
        rclpy.spin(ServoJointJog())
    except (KeyboardInterrupt, ExternalShutdownException):
        sys.exit(0)


if __name__ == "__main__":
    main()
