"""The controller's last minute read part by part over ROS, as the page's scope does;
each answer is bounded.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters
from ros_support import Controller, FakeRobot
from std_msgs.msg import Float64MultiArray

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.control.recorder import CycleRecorder
from robot_control_ros.core.cycle import CYCLE
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import RobotState
from robot_control_ros.nodes.dashboard.robot_link import RosLink
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.cycle_values import MOST, answer_request, read_answer, refusal

UR5 = load_robot("ur5")
N = UR5.n


# --- requests and answers, without ROS ---


@pytest.fixture(scope="module")
def recorder():
    """Of an arm that moves for 0.5 s; it keeps the last 100 cycles."""
    loop = ControlLoop(UR5, "gravity_compensation", recorded=100 * UR5.period)
    for k in range(250):
        t = k * UR5.period
        q = np.array(UR5.home) + 0.1 * np.sin(t)
        loop.tick(RobotState(t, q, np.full(N, 0.1 * np.cos(t)), np.full(N, np.nan)))
    return loop.recorder


def asked(recorder, first, *fields):
    answer = read_answer(answer_request(recorder, [str(first), *fields]), fields, N)
    assert not answer.refusal
    return answer


def test_an_answer_has_the_recorded_numbers(recorder):
    record = recorder.since(160, 20)
    answer = asked(recorder, 160, "time", "q", "pose", "effort")
    assert (answer.first, answer.end) == (160, 250)
    for name, values in answer.values.items():
        np.testing.assert_array_equal(values[:20], record[name].reshape(20, -1), err_msg=name)


def test_parts_one_after_the_other_have_each_cycle_once_in_bounded_answers(recorder):
    fields = [field.name for field in CYCLE.kept]
    first, numbers = 0, []
    while True:
        answer = asked(recorder, first, *fields)
        part = answer.values["number"][:, 0]
        if not len(part):
            break
        assert sum(each.size for each in answer.values.values()) <= MOST
        numbers += part.tolist()
        first = answer.first + len(part)
    assert numbers == list(range(150, 250))
    assert answer.first == answer.end == 250


@pytest.mark.parametrize(
    ("first", "begins"),
    [(0, 150), (149, 150), (200, 200), (-10, 240), (-1000, 150), (250, 250), (10**17, 250)],
)
def test_cycles_that_are_not_kept_are_left_out(recorder, first, begins):
    answer = asked(recorder, first, "number")
    assert answer.first == begins
    np.testing.assert_array_equal(answer.values["number"][:, 0], np.arange(begins, 250))


def test_before_the_first_cycle_there_is_nothing():
    answer = asked(CycleRecorder(N, UR5.period, 1.0), -5, "number", "q")
    assert (answer.first, answer.end) == (0, 0)
    assert answer.values["q"].shape == (0, N)


def test_without_fields_it_is_told_how_many_there_are(recorder):
    answer = asked(recorder, -1)
    assert (answer.first, answer.end, dict(answer.values)) == (249, 250, {})


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["q"],
        ["1.5", "q"],
        ["", "q"],
        ["1" * 30, "q"],
        ["0", "torque"],
        ["0", "jacobian"],
        ["0", "q", "q"],
        ["--1"],
    ],
)
def test_a_request_that_makes_no_sense_is_refused(recorder, names):
    with pytest.raises(ConfigError):
        answer_request(recorder, names)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.clear(),
        lambda values: values.pop(),
        lambda values: values.append(values[-1]),
        lambda values: values.reverse(),
        lambda values: values[1].double_array_value.pop(),
        lambda values: values[0].integer_array_value.pop(),
        lambda values: setattr(values[1], "type", ParameterType.PARAMETER_STRING),
        lambda values: values.__setitem__(0, ParameterValue()),
    ],
)
def test_an_answer_of_another_kind_is_told_as_a_refusal(recorder, change):
    values = answer_request(recorder, ["160", "time", "q"])
    change(values)
    answer = read_answer(values, ("time", "q"), N)
    assert answer.refusal
    assert not answer.values


def test_the_answer_for_a_robot_of_other_joints_is_told_as_a_refusal(recorder):
    assert read_answer(answer_request(recorder, ["160", "time", "q"]), ("time", "q"), 7).refusal


def test_the_words_of_a_refusal_arrive():
    assert read_answer(refusal("why"), ("q",), N).refusal == "why"


# --- over ROS ---


@pytest.fixture
def arm(ros):
    """A controller, and the robot that the test plays."""
    ros_controller = Controller(ros)
    robot = FakeRobot(ros, UR5)
    robot.begin(lambda q: RobotModel.of(UR5).at(q).gravity)
    return ros_controller, robot


@pytest.mark.ros
@pytest.mark.sim
def test_the_page_reads_each_cycle_of_the_controller(ros, arm):
    _, robot = arm
    link = RosLink(ros.node, UR5, UR5.urdf())
    try:
        ros.wait(0.2)
        for _ in range(100):
            robot.exchange()
        answers = []
        link.read_cycles(-40, ("time", "sent"), answers.append)
        ros.until(lambda: answers, "an answer")
        (answer,) = answers
        assert answer.refusal == ""
        assert answer.end - answer.first == len(answer.values["time"]) == 40
        np.testing.assert_allclose(np.diff(answer.values["time"][:, 0]), UR5.period, rtol=1e-6)
        assert np.abs(answer.values["sent"]).max() > 1.0
        link.read_cycles(0, ("none_such",), answers.append)
        ros.until(lambda: len(answers) == 2, "a refusal")
        assert "none_such" in answers[1].refusal
    finally:
        link.close()


@pytest.mark.ros
@pytest.mark.sim
def test_a_controller_that_is_not_there_is_told(ros):
    link = RosLink(ros.node, UR5, UR5.urdf())
    try:
        answers = []
        link.read_cycles(0, ("q",), answers.append)
        ros.until(lambda: answers, "an answer")
        assert answers[0].refusal
    finally:
        link.close()


@pytest.mark.ros
@pytest.mark.sim
def test_each_joint_state_has_its_command_while_somebody_reads(ros, arm):
    _, robot = arm
    commands, answers = [], []
    ros.node.create_subscription(
        Float64MultiArray, "/forward_effort_controller/commands", commands.append, 100
    )
    client = ros.node.create_client(GetParameters, "/controller/get_cycles")
    ros.until(client.service_is_ready, "the service")
    ros.wait(0.1)
    commands.clear()
    for _ in range(20):
        future = client.call_async(GetParameters.Request(names=["0", "pose", "target_pose"]))
        future.add_done_callback(lambda done: answers.append(done.result()))
        robot.exchange()
    ros.until(lambda: len(answers) == 20 and len(commands) >= 20, "the answers and the commands")
    for answer in answers:
        assert sum(len(each.double_array_value) for each in answer.values) <= MOST
