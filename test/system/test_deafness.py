"""Programs whose middleware has failed: they hear nothing more, say so, leave the robot safe and
end.

The middleware's threads are stopped on purpose, as they stand still where Fast DDS deadlocks.
"""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from deafness import Deafened
from ros_support import Controller, FakeRobot, ended_cleanly
from std_msgs.msg import Float64MultiArray

from robot_control_ros.nodes.watchdog.node import LABEL
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.ending import DEAF

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
SAID = "hears nothing, not even itself"
FAR = 0.1  # rad from its reference
LIVING = 0.01  # s between two messages of a robot and its controller
END = 60.0  # s, for a machine that has other work
STOPPED = 2.0  # s, several times the limit after which a process is deaf

ROBOT_PROGRAM = """
from robot_control_ros import Robot, RobotControlError

robot = Robot("ur5", timeout=60.0)
print("connected", flush=True)
try:
    while True:
        robot.wait(0.05)
except RobotControlError as error:
    print(error, flush=True)
robot.close()
print("closed", flush=True)
"""
SPINNING_PROGRAM = """
from rclpy.node import Node
from robot_control_ros import RobotControlError
from robot_control_ros.ros.running import spinning

try:
    with spinning(lambda: Node("program")) as (node, spin):
        print("connected", flush=True)
        while True:
            spin(0.05)
except RobotControlError as error:
    print(error, flush=True)
print("closed", flush=True)
"""


def deafened(process):
    """Make a process deaf; skips the test where this system forbids it."""
    try:
        return Deafened(process.pid)
    except OSError as error:
        pytest.skip(f"the threads of another process can't be stopped here: {error}")


def is_watchdogs(command):
    return any(part.label == LABEL for part in command.layout.dim)


def play_until_its_end(ros, child, live):
    """Go on with what happens around a process until it ends."""
    end = time.monotonic() + END
    while child.process.poll() is None:
        assert time.monotonic() < end, child
        live()
        ros.spin(LIVING)


def test_a_deaf_controller_sends_the_safe_output_and_ends(ros):
    model = RobotModel.of(ROBOT)
    controller, robot = Controller(ros), FakeRobot(ros, ROBOT)
    holding = lambda q: model.at(q).gravity  # noqa: E731
    robot.begin(holding)
    robot.q = robot.q + FAR
    for _ in range(20):
        pulling = robot.exchange()
    # the law pulls back: this is not the safe output
    assert np.abs(pulling - holding(robot.q)).max() > 1.0
    with deafened(controller.child.process):
        play_until_its_end(ros, controller.child, robot.send)
    assert controller.child.end() == DEAF
    assert SAID in controller.child.err
    assert ended_cleanly(controller.child)
    ros.until(
        lambda: np.allclose(robot.commands.last.data, holding(robot.q), atol=1e-6),
        "the safe output, at last",
    )


def test_a_deaf_watchdog_leaves_a_living_controller_alone_and_ends(ros):
    robot = FakeRobot(ros, ROBOT)
    commands = ros.publisher(Float64MultiArray, "/forward_effort_controller/commands")
    watchdog = ros.start("watchdog", {"timeout": 0.2, "state_timeout": 0.2})
    messages = robot.commands.messages

    def live():
        robot.send()
        commands.publish(Float64MultiArray(data=[0.0] * ROBOT.n))

    ros.until(
        lambda: any(map(is_watchdogs, messages)), "a takeover: it has heard a controller", live, 1.0
    )
    messages.clear()
    ros.until(
        lambda: len(messages) > 100 and not any(map(is_watchdogs, messages[-50:])),
        "its rest",
        live,
        LIVING,
    )
    with deafened(watchdog.process):
        messages.clear()
        play_until_its_end(ros, watchdog, live)
    assert watchdog.end() == DEAF
    assert SAID in watchdog.err
    assert not any(map(is_watchdogs, messages))


def test_a_process_that_was_stopped_is_not_deaf(ros):
    watchdog = ros.start("watchdog")
    ros.until(lambda: "watchdog" in ros.node.get_node_names(), "the watchdog")
    for _ in range(2):
        watchdog.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED)
        watchdog.process.send_signal(signal.SIGCONT)
        time.sleep(STOPPED)
    assert watchdog.process.poll() is None
    assert watchdog.end(signal.SIGINT) == 0
    assert SAID not in watchdog.err


@pytest.mark.sim
@pytest.mark.parametrize("program", [ROBOT_PROGRAM, SPINNING_PROGRAM], ids=["Robot", "spinning"])
def test_a_deaf_program_gets_an_error_in_words_and_ends_with_its_own_status(ros, program):
    if program is ROBOT_PROGRAM:
        pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
        ros.start("simulator")
        ros.start(
            "controller",
            {"use_sim_time": True},
            remappings={"wrench": "/force_torque_sensor_broadcaster/wrench"},
        )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, env=ros.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "connected\n"
        with deafened(process):
            printed, _ = process.communicate(timeout=60.0)
    assert process.returncode == DEAF
    assert "the middleware (DDS) of this process has failed" in printed
    assert printed.endswith("closed\n")
