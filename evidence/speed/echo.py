"""The least that a node can do with a joint state: what the controller's latency
is measured against.
"""

from __future__ import annotations

from array import array

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_control_ros.ros.qos import COMMAND_QOS, STATE_QOS
from robot_control_ros.ros.running import run, take_priority


class EchoNode(Node):
    """Answers each joint state with six zeros; executor and quality of service
    as the controller's.
    """

    def __init__(self) -> None:
        super().__init__("echo")
        self._answer = Float64MultiArray(data=array("d", [0.0] * 6))
        self._answers = self.create_publisher(Float64MultiArray, "commands", COMMAND_QOS)
        self.create_subscription(JointState, "joint_states", self._on_joint_state, STATE_QOS)
        take_priority(self, 0)

    def close(self) -> None:
        """Nothing to leave safe."""

    def _on_joint_state(self, message: JointState) -> None:
        self._answers.publish(self._answer)


if __name__ == "__main__":
    run(EchoNode)
