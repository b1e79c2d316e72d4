"""Controller and watchdog before a simulation that is slow and stamps joint states as
ros2_control does, over DDS.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from geometry_msgs.msg import PoseStamped, WrenchStamped
from ros_support import Controller, FakeRobot
from std_msgs.msg import Float64MultiArray

from robot_control_ros.core.spatial import pose_from_rows
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.ros.messages import fill_pose, read_blocks
from robot_control_ros.ros.system_check import how_to_resume

pytestmark = [pytest.mark.ros, pytest.mark.sim]

WRENCH = "/force_torque_sensor_broadcaster/wrench"
OK, WARNING = 0, 1


class Slow:
    """A simulation at a third of real time, its controller and its watchdog."""

    def __init__(self, ros, **parameters):
        self.ros = ros
        ros.start("simulator", {"robot": "ur5", "real_time_factor": 0.3, "repeated_stamps": 0.2})
        ros.start("watchdog", {"robot": "ur5", "use_sim_time": True})
        self.controller = Controller(ros, WRENCH, robot="ur5", use_sim_time=True, **parameters)
        self.states = ros.subscribe(Float64MultiArray, "/controller/state")
        self.target = ros.publisher(PoseStamped, "/controller/target_pose")
        self.hand = ros.publisher(WrenchStamped, "/simulator/push")
        ros.until(lambda: len(self.states) and self.hand.get_subscription_count(), "telemetry")

    def blocks(self):
        return read_blocks(self.states.last)

    def pose(self):
        return pose_from_rows(self.blocks()["pose"])

    def push(self, force):
        message = WrenchStamped()
        message.header.frame_id = "tool0"
        rotation = self.pose()[:3, :3]
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = (
            rotation.T @ force
        ).tolist()
        self.hand.publish(message)

    def rests(self):
        return np.abs(self.blocks()["twist"]).max() < 1e-4

    def diagnoses(self):
        """Of controller and watchdog, the last ones: by name, level, message and values."""
        found = {}
        for message in self.controller.diagnostics.messages:
            for status in message.status:
                found[status.name] = (
                    status.level[0],
                    status.message,
                    {item.key: item.value for item in status.values},
                )
        return found


@pytest.mark.long
def test_a_slow_simulation_with_repeated_stamps_is_obeyed_and_well(ros):
    slow = Slow(ros)
    start, force = slow.pose(), np.array([20.0, 0.0, 0.0])

    def pushed():
        return slow.rests() and np.linalg.norm(slow.pose()[:3, 3] - start[:3, 3]) > 0.03

    ros.until(pushed, "the arm to yield", lambda: slow.push(force))
    # 20 N at 500 N/m
    assert slow.pose()[:3, 3] - start[:3, 3] == pytest.approx([0.04, 0.0, 0.0], abs=4e-4)
    ros.until(
        lambda: np.abs(slow.pose()[:3, 3] - start[:3, 3]).max() < 1e-4, "the arm to come back"
    )
    goal, message = start.copy(), PoseStamped()
    goal[:3, 3] += [0.0, 0.1, 0.0]
    message.header.frame_id = "base_link"
    fill_pose(message.pose, goal)
    slow.target.publish(message)
    ros.until(lambda: np.abs(slow.pose()[:3, 3] - goal[:3, 3]).max() < 1e-4, "the arm to arrive")
    slow.controller.diagnostics.messages.clear()

    def well():  # on a busy machine joint states get lost for a while
        level, _, values = slow.diagnoses().get("controller: control loop", (None, "", {}))
        return level == OK and abs(float(values["rate [Hz]"]) - 500.0) < 25.0 and values

    values = ros.until(well, "a diagnosis at the nominal rate")
    assert values["restarts"] == "0"
    assert int(values["repeated stamps"]) > 0.1 * int(values["cycles"])
    assert float(values["real time factor"]) < 0.4
    ros.until(lambda: "watchdog: commands" in slow.diagnoses(), "the watchdog's diagnosis")
    assert slow.diagnoses()["watchdog: commands"][2]["takeovers"] == "0"


def test_a_stamp_that_goes_back_is_told_and_counted(ros):
    robot = FakeRobot(ros, load_robot("ur5"))
    controller = Controller(ros, robot="ur5", state_timeout=10.0)
    ros.until(lambda: len(robot.commands), "a command", robot.send)
    restarts = int(told(controller)[2]["restarts"])
    robot.time -= 1.0
    for _ in range(3):
        robot.exchange()
    controller.diagnostics.messages.clear()
    level, text, values = told(controller)
    assert (level, int(values["restarts"])) == (WARNING, restarts + 1)
    assert text == values["last restart"]


def told(controller):
    controller.ros.until(lambda: len(controller.diagnostics), "a diagnosis")
    return controller.diagnosis()


def test_a_joint_state_without_new_time_gets_the_last_command_again(ros):
    robot = FakeRobot(ros, load_robot("ur5"))
    Controller(ros, robot="ur5", state_timeout=10.0)
    ros.until(lambda: len(robot.commands), "a command", robot.send)
    first = robot.exchange()
    robot.time -= 0.002
    robot.q = robot.q + 0.01
    assert robot.exchange().tolist() == first.tolist()


@pytest.mark.parametrize(("profile", "reset"), [("sim", False), ("gz", True), ("real", False)])
def test_where_joint_states_end_the_message_says_what_to_start_again(profile, reset):
    robot = load_robot("ur5", profile)
    advice = how_to_resume(robot)
    assert robot.profile.start in advice
    assert ("reset" in advice) == reset


@pytest.mark.long
def test_a_fault_that_lasts_is_not_logged_each_second(ros):
    """Admittance without a wrench."""
    robot = FakeRobot(ros, load_robot("ur5"), "position")
    controller = Controller(
        ros, robot="ur5", law="admittance", check_system=False, state_timeout=10.0
    )
    ros.until(lambda: len(robot.commands), "a command", robot.send)
    for _ in range(3):  # seconds
        controller.diagnostics.messages.clear()
        assert told(controller)[0] == 2
        robot.exchange()
    assert controller.child.err.count("needs one on the topic wrench") == 1
