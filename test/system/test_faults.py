"""What an error that leaves a callback, a thread that dies and one that hangs do to a node: the
robot is left safe.
"""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Ros

from robot_control_ros.ros.ending import FAULT

pytestmark = pytest.mark.ros

PROGRAM = """
import signal, sys, threading, time
import rclpy
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from robot_control_ros.ros.entities import Entities
from robot_control_ros.ros.periodic import Periodic
from robot_control_ros.ros.running import run, told

class Fault(ValueError):  # as rclpy raises them, too, by what is in a message
    pass

def fail(*given):
    raise Fault("on purpose")

class Failing(LifecycleNode):
    def __init__(self):
        super().__init__("failing")
        self.entities = Entities(self)
        self.other = rclpy.create_node("other")
        getattr(self, sys.argv[1])()
        print("made", flush=True)

    def timer(self):
        self.entities.timer(0.1, fail)

    def subscription(self):
        self.entities.subscription(String, "topic", fail)
        publisher = self.other.create_publisher(String, "topic", 1)
        self.entities.timer(0.1, lambda: publisher.publish(String()))

    def service(self):
        self.entities.service(Trigger, "trigger", fail)
        client = self.other.create_client(Trigger, "trigger")
        self.entities.timer(0.1, lambda: client.call_async(Trigger.Request()))

    def parameter_callback(self):
        self.declare_parameter("number", 1)
        self.add_on_set_parameters_callback(fail)
        self.entities.timer(0.1, lambda: self.set_parameters([Parameter("number", value=2)]))

    def transition(self):
        self.entities.timer(0.1, self.trigger_configure)

    @told
    def on_configure(self, state):
        fail()

    def thread(self):
        threading.Timer(0.3, fail).start()

    def periodic(self):
        Periodic(fail, "supervised").start()

    def hanging_thread(self):
        Periodic(lambda: time.sleep(3600.0), "hanging", 0.3).start()

    def malformed(self):
        self.heard = []
        self.entities.subscription(String, "topic", self.heard.append)
        publisher = self.other.create_publisher(String, "topic", 1)
        bad = b"\\0\\1\\0\\0\\xff\\xff\\xff\\xff"
        def publish():
            publisher.publish(String(data="good") if self.entities.refusals.text else bad)
            if self.heard:
                print(self.entities.refusals.text, flush=True)
                signal.raise_signal(signal.SIGTERM)
        self.entities.timer(0.1, publish)

    def leave(self):
        print("left safe", flush=True)

    def close(self):
        print("closed", flush=True)

run(Failing)
"""


def ended(tmp_path, kind):
    with Ros(tmp_path) as ros:
        command = [sys.executable, "-c", PROGRAM, kind]
        return subprocess.run(
            command, env=ros.environment, capture_output=True, text=True, timeout=100
        )


@pytest.mark.parametrize(
    "kind",
    ["timer", "subscription", "service", "parameter_callback", "transition", "thread", "periodic"],
)
def test_an_error_ends_a_node_with_its_own_status_after_the_robot_was_left_safe(tmp_path, kind):
    program = ended(tmp_path, kind)
    assert program.stdout.split("\n")[:-1] == ["made", "left safe", "closed"], program.stderr
    assert "on purpose" in program.stderr
    assert program.returncode == FAULT


def test_a_thread_that_hangs_ends_a_node_after_the_robot_was_left_safe(tmp_path):
    program = ended(tmp_path, "hanging_thread")
    assert program.stdout.split("\n")[:-1] == ["made", "left safe", "closed"], program.stderr
    assert "hanging" in program.stderr
    assert "Traceback" not in program.stderr
    assert program.returncode == FAULT


def test_bytes_that_are_no_message_are_counted_and_end_nothing(tmp_path):
    program = ended(tmp_path, "malformed")
    made, refused, closed = program.stdout.split("\n")[:-1]
    assert (made, closed) == ("made", "closed"), program.stderr
    assert refused.endswith("on topic")
    assert program.returncode == 0
