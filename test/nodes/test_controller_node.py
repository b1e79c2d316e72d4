"""The controller node, over DDS: against a robot that the test plays, and against the simulator."""

import json
import signal
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from lockstep import LockstepRos
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters, SetParametersAtomically
from ringing_samples import ringing_sample
from ros_support import LIMIT, PERIOD, Controller, FakeRobot, Ros, ended_cleanly
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.laws import law_names
from robot_control_ros.nodes.controller.runtime import LAST_COMMANDS, ControllerRuntime
from robot_control_ros.nodes.controller.targets.target_topics import WRENCH_LASTS
from robot_control_ros.robot.configuration import load_robot, robot_names
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.ending import FAULT
from robot_control_ros.ros.messages import (
    fill_pose,
    read_blocks,
    read_pose,
    seconds,
    to_stamp,
    vector,
)
from robot_control_ros.ros.running import told_goal

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
STEP = np.array(ROBOT.effort_rate) * PERIOD  # N·m, the largest between two commands
OFFSET = np.array([0.02, -0.03, 0.04, 0.02, -0.03, 0.05])  # rad, away from the reference
NAN = float("nan")


@pytest.fixture(scope="module")
def model():
    return RobotModel.of(ROBOT)


@dataclass
class Arm:
    """A fake robot and its controller."""

    ros: Ros
    controller: Controller
    robot: FakeRobot
    model: RobotModel
    topics: dict[str, Any]
    states: Any
    references: Any

    def holding(self, q):
        return self.model.at(q).gravity

    def begin(self):
        """The controller starts anew at home."""
        self.robot.q, self.robot.v = np.array(ROBOT.home), np.zeros(ROBOT.n)
        self.robot.begin(self.holding)

    def publish(self, topic, message):
        """Once, when the controller listens."""
        publisher = self.topics[topic]
        self.ros.until(lambda: publisher.get_subscription_count() == 1, f"a subscriber of {topic}")
        publisher.publish(message)

    def run(self, condition, what):
        """Exchange states and commands until the condition holds, and that same condition is
        what is waited for.
        """
        for _ in range(5000):
            if condition():
                return
            self.robot.exchange()
        pytest.fail(what)

    def settle(self):
        """Exchange until the command has stayed the same for 30 cycles; returns it."""
        last, same = self.robot.exchange(), 0
        for _ in range(5000):
            command = self.robot.exchange()
            same = same + 1 if np.abs(command - last).max() < 1e-12 else 0
            if same == 30:  # longer than the damping takes to be designed anew
                return command
            last = command
        pytest.fail("the command doesn't settle")

    def stay_off(self):
        """Let the robot be away from its reference and slowly move; returns the steady command,
        which isn't holding.
        """
        self.robot.q, self.robot.v = self.robot.q + OFFSET, 0.3 * OFFSET
        command = self.settle()
        assert np.abs(command - self.holding(self.robot.q)).max() > 1.0
        return command

    def is_held(self):
        """Wait for the output that holds the robot, within the way in which it comes to rest."""

        def held():
            commands = self.robot.commands
            return len(commands) and np.allclose(
                commands.last.data, self.holding(self.robot.q), rtol=0.0, atol=0.1
            )

        self.ros.until(held, "the output that holds the robot")

    def latest(self, inbox):
        """The message that belongs to the last joint state."""

        def is_ours():
            return len(inbox) and abs(seconds(inbox.last.header.stamp) - self.robot.time) < 1e-6

        self.ros.until(is_ours, "the telemetry of the last cycle")
        return inbox.last

    def reference(self):
        """The reference pose that belongs to the next command."""
        self.robot.exchange()
        return read_pose(self.latest(self.references).pose)

    def telemetry(self):
        """The next command, and the blocks that belong to it."""
        command = self.robot.exchange()

        def is_ours():
            return (
                len(self.states)
                and abs(read_blocks(self.states.last)["time"][0] - self.robot.time) < 1e-6
            )

        self.ros.until(is_ours, "the telemetry of the last cycle")
        return command, read_blocks(self.states.last)


def make_arm(ros, model, telemetry_rate=500.0, **parameters):
    controller = Controller(ros, telemetry_rate=telemetry_rate, **parameters)
    kinds = {
        "/controller/target_pose": PoseStamped,
        "/controller/target_twist": TwistStamped,
        "/controller/target_wrench": WrenchStamped,
        "/controller/target_joint": JointState,
        "/controller/joint_trajectory": JointTrajectory,
        "/sensor/wrench": WrenchStamped,
    }
    topics = {name: ros.publisher(kind, name) for name, kind in kinds.items()}
    states = ros.subscribe(Float64MultiArray, "/controller/state")
    references = ros.subscribe(PoseStamped, "/controller/reference_pose")
    # Endpoints become known in the order of their making: who hears the joint states hears all of
    # the above.
    return Arm(ros, controller, FakeRobot(ros, ROBOT), model, topics, states, references)


@pytest.fixture
def arm(new_ros, model):
    made = make_arm(new_ros, model, state_timeout=10.0)
    made.begin()
    return made


@pytest.fixture
def new_ros(tmp_path):
    with LockstepRos(tmp_path) as ros:
        yield ros


# --- the lifecycle ---


@pytest.fixture
def unstarted(new_ros, model):
    return make_arm(new_ros, model, autostart=False, state_timeout=10.0)


def test_the_lifecycle_can_be_gone_through_again_and_again(unstarted):
    controller = unstarted.controller
    assert controller.state == "unconfigured"
    for _ in range(2):
        assert controller.change("configure")
        assert controller.state == "inactive"
        controller.activate()
        assert controller.state == "active"
        unstarted.begin()
        assert controller.change("deactivate")
        assert controller.state == "inactive"
        assert controller.change("cleanup")
        assert controller.state == "unconfigured"


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        (
            "robot",
            "nonsense",
            f"unknown robot 'nonsense'; robots: {', '.join(robot_names())}",
        ),
        (
            "profile",
            "nonsense",
            "unknown profile 'nonsense'; profiles: sim, mock, gz, gz_position, real",
        ),
        ("law", "nonsense", "unknown law 'nonsense'; laws: "),
        (
            "profile",
            "real",
            "A UR5 (CB3) has no effort interface: use admittance, position_domain_pd or joint_pid.",
        ),
        ("description", "nonsense", "description = 'nonsense'; choices: config, topic"),
    ],
)
def test_a_refused_configuration_says_why_and_can_be_corrected(unstarted, parameter, value, words):
    ros, controller = unstarted.ros, unstarted.controller
    before = ros.get("controller", parameter)
    (result,) = ros.set("controller", **{parameter: value})
    assert result.successful
    assert not controller.change("configure")
    ros.until(lambda: words in controller.child.err, f"the words {words!r}")
    assert controller.state == "unconfigured"
    ros.set("controller", **{parameter: before})
    assert controller.change("configure")
    assert controller.change("cleanup")


def test_a_description_without_the_tip_is_refused_and_can_be_corrected(unstarted):
    ros, controller = unstarted.ros, unstarted.controller
    descriptions = ros.publisher(String, "robot_description", latched=True)
    ros.set("controller", description="topic")
    assert not controller.change("configure")
    ros.until(
        lambda: "nothing has arrived on robot_description" in controller.child.err, "a reason"
    )

    def configure_with(urdf):
        descriptions.publish(String(data=urdf))
        return controller.change("configure")

    def refused():
        assert not configure_with(ROBOT.urdf().replace('"tool0"', '"another"'))
        return "unknown frame 'tool0'" in controller.child.err

    ros.until(refused, "a refusal that names the frame")
    ros.until(
        lambda: configure_with(ROBOT.urdf()), "a configuration with the corrected description"
    )
    assert controller.change("cleanup")
    ros.set("controller", description="config")


def test_services_say_why_not_before_any_joint_state(unstarted):
    ros, controller = unstarted.ros, unstarted.controller
    controller.change("configure")
    for service in ("hold", "go_home", "zero_wrench"):
        answer = ros.trigger(f"/controller/{service}")
        assert not answer.success
        assert "not active" in answer.message
    controller.activate()
    for service, words in (
        ("hold", "no fresh joint state"),
        ("go_home", "no fresh joint state"),
        ("zero_wrench", "no wrench"),
    ):
        answer = ros.trigger(f"/controller/{service}")
        assert not answer.success
        assert words in answer.message
    controller.change("deactivate")
    controller.change("cleanup")


def test_the_first_command_after_activation_holds_the_robot(arm):
    arm.stay_off()
    assert arm.controller.change("deactivate")
    arm.is_held()
    arm.controller.activate()
    arm.robot.set_down(np.array(ROBOT.home) - OFFSET)
    command = arm.robot.exchange()
    np.testing.assert_allclose(command, arm.holding(arm.robot.q), rtol=0.0, atol=1e-6)


def test_one_line_says_what_runs_when_it_becomes_active(arm):
    lines = [line for line in arm.controller.child.err.splitlines() if "law impedance: " in line]
    assert lines
    for each in ("effort", "/forward_effort_controller/commands", "500 Hz"):
        assert each in lines[0]


def test_an_inactive_controller_is_silent(arm):
    arm.controller.change("deactivate")
    arm.ros.wait(0.01)
    count = len(arm.robot.commands)
    for _ in range(10):
        arm.robot.send()
    assert arm.controller.state == "inactive"  # a round trip: nothing more is under way
    arm.controller.activate()
    arm.robot.exchange()
    assert arm.controller.state == "active"  # a round trip: nothing more is under way
    assert len(arm.robot.commands) == count + 1


@pytest.mark.parametrize("transition", ["deactivate", "cleanup"])
def test_an_error_in_a_transition_leaves_the_robot_safe_and_ends_the_controller(
    arm, monkeypatch, transition
):
    """rclpy would hide it, and the last command would stay."""

    def fail(runtime):
        raise ZeroDivisionError("on purpose")

    arm.stay_off()
    if transition == "cleanup":
        arm.controller.change("deactivate")
    count = len(arm.robot.commands)
    monkeypatch.setattr(
        ControllerRuntime, {"deactivate": "deactivate", "cleanup": "close"}[transition], fail
    )
    number = getattr(Transition, f"TRANSITION_{transition.upper()}")
    client = arm.ros.node.create_client(ChangeState, "/controller/change_state")
    client.call_async(ChangeState.Request(transition=Transition(id=number)))
    assert arm.controller.child.process.wait() == FAULT
    assert "on purpose" in arm.controller.child.err
    arm.ros.wait(0.01)
    if transition == "deactivate":
        assert len(arm.robot.commands) >= count + LAST_COMMANDS
        arm.is_held()


def test_an_error_in_a_goal_s_coroutine_leaves_the_executor(new_ros):
    async def execute(handle):
        raise ZeroDivisionError("on purpose")

    goal = told_goal(new_ros.node, execute)
    with pytest.raises(ZeroDivisionError):
        goal(None).send(None)  # as rclpy's action server, which goes on
    with pytest.raises(ZeroDivisionError):
        new_ros.wait(0.01)


# --- joint states and commands ---


def shuffled(message, *, foreign=False):
    order = [3, 1, 5, 0, 4, 2]
    message.name = [message.name[i] for i in order]
    message.position = [message.position[i] for i in order]
    message.velocity = [message.velocity[i] for i in order]
    if foreign:
        message.name = ["finger", *message.name[:2], "thumb", *message.name[2:]]
        message.position = [0.5, *message.position[:2], -7.0, *message.position[2:]]
        message.velocity = [9.0, *message.velocity[:2], 3.0, *message.velocity[2:]]
    return message


@pytest.mark.parametrize("foreign", [False, True])
def test_joints_are_matched_by_name(arm, foreign):
    plain = arm.stay_off()
    command = arm.robot.exchange(shuffled(arm.robot.message(), foreign=foreign))
    np.testing.assert_allclose(command, plain, rtol=0.0, atol=1e-9)


def test_joint_states_of_others_are_ignored(arm):
    plain, count = arm.stay_off(), len(arm.robot.commands)
    for _ in range(10):
        arm.robot.send(JointState(name=["finger"], position=[NAN], velocity=[0.0]))
    np.testing.assert_allclose(arm.robot.exchange(), plain, rtol=0.0, atol=1e-9)
    assert arm.controller.state == "active"  # a round trip: nothing more is under way
    assert len(arm.robot.commands) == count + 1


def test_a_missing_joint_is_named_and_the_output_is_safe(arm):
    arm.stay_off()

    def send_incomplete():
        message = arm.robot.message()
        message.name[2] = "finger"
        arm.robot.send(message)

    arm.controller.says("joints ['elbow_joint'] are missing", again=send_incomplete)
    arm.is_held()


@pytest.mark.parametrize("field", ["position", "velocity"])
def test_a_joint_state_that_is_not_finite_gives_the_safe_output(arm, field):
    arm.stay_off()

    def send_nan():
        message = arm.robot.message()
        getattr(message, field)[4] = NAN
        arm.robot.send(message)

    arm.controller.says("joint state", field, "nan", "finite", again=send_nan)
    arm.is_held()
    arm.begin()


def test_a_joint_state_without_velocities_gives_the_safe_output(arm):
    arm.stay_off()

    def send_without():
        message = arm.robot.message()
        message.velocity = []
        arm.robot.send(message)

    arm.controller.says("0 velocities for 6 names", again=send_without)
    arm.is_held()


def test_every_joint_state_gets_exactly_one_command(arm):
    count, sent = len(arm.robot.commands), 1000
    for _ in range(sent):
        arm.robot.exchange()
        arm.ros.wait(PERIOD)
    assert arm.controller.state == "active"  # a round trip: nothing more is under way
    assert len(arm.robot.commands) == count + sent


def largest_step(commands):
    """The largest change between two commands in a row, as a share of what a cycle allows."""
    steps = np.abs(np.diff([np.array(each.data) for each in commands], axis=0))
    return (steps / (np.array(ROBOT.effort_rate) * PERIOD)).max()


def test_joint_states_that_stop_give_the_safe_output_until_they_come_again(new_ros, model):
    arm = make_arm(new_ros, model, state_timeout=1.0)
    arm.begin()
    arm.stay_off()
    arm.robot.v = np.zeros(ROBOT.n)
    arm.settle()
    begin = len(arm.robot.commands) - 1
    safe = arm.holding(arm.robot.q)
    arm.controller.says("no joint state for", "must be at most 1 s")
    arm.ros.wait(0.5)
    assert largest_step(arm.robot.commands.messages[begin:]) <= 1.0 + 1e-9
    np.testing.assert_allclose(arm.robot.commands.last.data, safe, rtol=0.0, atol=1e-9)
    count = len(arm.robot.commands)
    arm.ros.until(lambda: len(arm.robot.commands) >= count + 5, "safe output again and again")

    arm.robot.set_down(np.array(ROBOT.home) - 2.0 * OFFSET)
    arm.robot.time += 0.2  # by its stamps, too, joint states were missing
    begin = len(arm.robot.commands) - 1
    for _ in range(100):
        command = arm.robot.exchange()
    assert largest_step(arm.robot.commands.messages[begin:]) <= 2.0 + 1e-9
    # the reference is there
    np.testing.assert_allclose(command, arm.holding(arm.robot.q), rtol=0.0, atol=1e-6)


def test_joint_states_that_stop_in_motion_brake_the_robot_along_its_motion(new_ros, model):
    """The torque of the last posture would let it fall on: it is braked where it
    is predicted to be.
    """
    arm = make_arm(new_ros, model)
    arm.begin()
    speed = np.array([0.2, -0.3, 0.4, 0.1, 0.1, 0.0])
    for _ in range(50):
        arm.robot.q, arm.robot.v = arm.robot.q + PERIOD * speed, speed
        arm.robot.exchange()
    begin, last = len(arm.robot.commands), arm.robot.q
    silent_since = time.monotonic()
    arm.ros.until(lambda: len(arm.robot.commands) > begin, "the first command of the stop")
    silence = time.monotonic() - silent_since
    arm.ros.wait(1.0)
    assert silence < 0.1
    assert largest_step(arm.robot.commands.messages[begin - 1 :]) <= 1.0 + 1e-9
    rest = model.at(last + speed * (silence + 0.1)).gravity
    np.testing.assert_allclose(arm.robot.commands.last.data, rest, rtol=0.0, atol=0.1)
    assert np.abs(rest - arm.holding(last)).max() > 0.5


def spoilt(message, kind):
    if kind == "missing":
        message.name[2] = "finger"
    elif kind == "nan":
        message.position[2] = NAN
    else:
        message.velocity = []
    return message


@pytest.mark.parametrize("kind", ["missing", "nan", "without velocities"])
def test_a_joint_state_or_two_that_can_not_be_used_are_bridged(arm, kind):
    """A foreign publisher's, or a driver's that hesitates: the law goes on
    with the next good one.
    """
    plain = arm.stay_off()
    begin = len(arm.robot.commands) - 1
    for k in range(100):
        if k % 3:
            arm.robot.send(spoilt(arm.robot.message(), kind))
            arm.ros.wait(PERIOD)
            continue
        arm.robot.time += 2.0 * PERIOD
        arm.robot.exchange()
        arm.ros.wait(PERIOD)
    commands = [np.array(each.data) for each in arm.robot.commands.messages[begin:]]
    assert len(commands) == 35
    np.testing.assert_allclose(commands[-1], plain, rtol=0.0, atol=0.5)


@pytest.mark.parametrize("stall", [0.02, 0.05, 0.2, 1.0])
def test_a_controller_that_stood_still_goes_on_from_what_another_has_commanded_meanwhile(
    arm, stall
):
    """The watchdog led the torque elsewhere: the controller's own last command is none that
    the robot executes.
    """
    arm.stay_off()
    other = arm.ros.publisher(Float64MultiArray, "/forward_effort_controller/commands")
    arm.ros.until(lambda: other.get_subscription_count() >= 2, "the command topic is known")
    process = arm.controller.child.process
    process.send_signal(signal.SIGSTOP)
    elsewhere = arm.robot.commands.last.data
    elsewhere = [value + 12.0 for value in elsewhere]
    for _ in range(round(stall / PERIOD)):
        arm.robot.send()
        other.publish(Float64MultiArray(data=elsewhere))
        arm.ros.wait(PERIOD)
    count = len(arm.robot.commands)
    process.send_signal(signal.SIGCONT)
    for _ in range(30):
        arm.robot.exchange()
        arm.ros.wait(PERIOD)
    assert len(arm.robot.commands) > count
    assert largest_step(arm.robot.commands.messages[count - 1 :]) <= 1.0 + 1e-9


@pytest.mark.parametrize("crossing", [1, 2])
def test_commands_of_another_that_cross_those_of_a_controller_that_stood_still_make_no_step(
    arm, crossing
):
    """The watchdog sends a command or two more before it hears the controller."""
    arm.stay_off()
    other = arm.ros.publisher(Float64MultiArray, "/forward_effort_controller/commands")
    arm.ros.until(lambda: other.get_subscription_count() >= 2, "the command topic is known")
    process = arm.controller.child.process
    process.send_signal(signal.SIGSTOP)
    elsewhere = np.array(arm.robot.commands.last.data) + 12.0

    def lead():
        nonlocal elsewhere
        elsewhere = elsewhere + 0.9  # away from what the law asks for
        other.publish(Float64MultiArray(data=elsewhere.tolist()))

    for _ in range(25):
        arm.robot.send()
        lead()
        arm.ros.wait(PERIOD)
    count = len(arm.robot.commands)
    process.send_signal(signal.SIGCONT)
    for k in range(30):
        arm.robot.exchange()
        if k < crossing:
            lead()
        arm.ros.wait(PERIOD)
    assert len(arm.robot.commands) >= count + 30 + crossing
    assert largest_step(arm.robot.commands.messages[count - 1 :]) <= 1.0 + 1e-9


def test_a_controller_that_stood_still_answers_the_newest_joint_state_alone(arm):
    arm.stay_off()
    process = arm.controller.child.process
    process.send_signal(signal.SIGSTOP)
    count = len(arm.robot.commands)
    for _ in range(10):
        arm.robot.send()
        arm.ros.wait(PERIOD)
    process.send_signal(signal.SIGCONT)
    arm.ros.wait(PERIOD)
    assert len(arm.robot.commands) == count + 1


def test_joint_states_that_the_middleware_delivers_one_by_one_after_a_standstill_are_no_restarts(
    arm,
):
    """More wait than the reader keeps: they come while the controller runs again already."""
    arm.stay_off()
    process, graph = arm.controller.child.process, arm.ros.graph

    def restarts():
        arm.controller.diagnostics.messages.clear()
        arm.ros.until(lambda: arm.controller.diagnostics.messages, "diagnostics", arm.robot.send)
        return int(arm.controller.diagnosis()[2]["restarts"])

    before = restarts()
    waiting = []

    def keep(publisher, data):
        if publisher.name != "/joint_states":
            return [(0, data)]
        waiting.append(data)
        return []

    process.send_signal(signal.SIGSTOP)
    graph.on_message = keep
    for _ in range(500):
        arm.robot.send()
        arm.ros.wait(PERIOD)
    graph.on_message = lambda publisher, data: [
        (20_000 * k, each) for k, each in enumerate([*waiting, data])
    ]
    process.send_signal(signal.SIGCONT)
    arm.robot.send()
    graph.on_message = None
    arm.ros.wait(0.02)
    assert restarts() == before + 1


@pytest.mark.parametrize("moving", [False, True])
def test_a_deactivated_controller_leads_to_its_last_command_within_the_rates(arm, moving):
    arm.stay_off()
    if not moving:
        arm.robot.v = np.zeros(ROBOT.n)
        arm.settle()
    begin = len(arm.robot.commands) - 1
    assert arm.controller.change("deactivate")
    arm.ros.wait(0.01)
    assert largest_step(arm.robot.commands.messages[begin:]) <= 1.0 + 1e-9
    arm.is_held()


# --- what can't be used ---


def wrench_message(frame, force=(0.0, 0.0, 0.0), torque=(0.0, 0.0, 0.0)):
    message = WrenchStamped()
    message.header.frame_id = frame
    fill = message.wrench
    fill.force.x, fill.force.y, fill.force.z = map(float, force)
    fill.torque.x, fill.torque.y, fill.torque.z = map(float, torque)
    return message


def pose_message(frame, pose):
    message = PoseStamped()
    message.header.frame_id = frame
    fill_pose(message.pose, pose)
    return message


def twist_message(frame, linear, angular=(0.0, 0.0, 0.0)):
    message = TwistStamped()
    message.header.frame_id = frame
    fill = message.twist
    fill.linear.x, fill.linear.y, fill.linear.z = map(float, linear)
    fill.angular.x, fill.angular.y, fill.angular.z = map(float, angular)
    return message


def zero_quaternion():
    message = pose_message("base_link", np.eye(4))
    message.pose.orientation.w = 0.0
    return message


def joint_message(values, names=ROBOT.joints):
    return JointState(name=list(names), position=[float(value) for value in values])


def trajectory_message(times, positions, names=ROBOT.joints):
    points = []
    for at, position in zip(times, positions, strict=True):
        start = Duration(sec=int(at), nanosec=round((at - int(at)) * 1e9))
        points.append(
            JointTrajectoryPoint(positions=[float(x) for x in position], time_from_start=start)
        )
    return JointTrajectory(joint_names=list(names), points=points)


REFUSED = {
    "wrench that is not finite": (
        "/sensor/wrench",
        wrench_message("ft_frame", (0, NAN, 0)),
        ("force", "finite"),
    ),
    "wrench in an unknown frame": (
        "/sensor/wrench",
        wrench_message("nowhere"),
        ("nowhere", "ft_frame"),
    ),
    "pose in an unknown frame": (
        "/controller/target_pose",
        pose_message("nowhere", np.eye(4)),
        ("nowhere", "tool0"),
    ),
    "pose outside the workspace": (
        "/controller/target_pose",
        pose_message("base_link", make_pose(np.array([0.3, 0.0, 2.0]))),
        ("target z = 2 m", "[0, 1.2]", "workspace.lower"),
    ),
    "pose without a frame": (
        "/controller/target_pose",
        pose_message("", np.eye(4)),
        ("unknown frame ''", "tool0"),
    ),
    "pose with a zero quaternion": ("/controller/target_pose", zero_quaternion(), ("quaternion",)),
    "pose that is not finite": (
        "/controller/target_pose",
        pose_message("base_link", make_pose(np.array([0.0, NAN, 0.0]))),
        ("position", "finite"),
    ),
    "twist that is not finite": (
        "/controller/target_twist",
        twist_message("base_link", (0.0, NAN, 0.0)),
        ("target twist", "finite"),
    ),
    "twist in an unknown frame": (
        "/controller/target_twist",
        twist_message("nowhere", (0, 0, 0)),
        ("nowhere", "tool0"),
    ),
    "target wrench that is not finite": (
        "/controller/target_wrench",
        wrench_message("base_link", torque=(NAN, 0, 0)),
        ("target wrench", "finite"),
    ),
    "target wrench beyond the robot's own": (
        "/controller/target_wrench",
        wrench_message("tool0", (0.0, 0.0, 1000.0)),
        ("target wrench: force = 1000 N", "target_wrench of robot ur5"),
    ),
    "joint goal with a joint twice": (
        "/controller/target_joint",
        joint_message([0.0] * 7, (*ROBOT.joints, ROBOT.joints[0])),
        ("shoulder_pan_joint", "must stand once"),
    ),
    "trajectory of too many points": (
        "/controller/joint_trajectory",
        trajectory_message([0.1 * (k + 1) for k in range(1001)], [ROBOT.home] * 1001),
        ("points = 1001", "must be from 1 to 1000"),
    ),
    "trajectory of too many bytes": (
        "/controller/joint_trajectory",
        trajectory_message([0.1 * (k + 1) for k in range(10_000)], [ROBOT.home] * 10_000),
        ("joint trajectory: bytes = ", "must be at most"),
    ),
    "joint goal beyond a limit": (
        "/controller/target_joint",
        joint_message([0.0, 0.0, 99.0, 0.0, 0.0, 0.0]),
        ("elbow_joint = 99", "must be within"),
    ),
    "joint goal that is not finite": (
        "/controller/target_joint",
        joint_message([NAN] * 6),
        ("joint goal", "finite"),
    ),
    "joint goal without a joint": (
        "/controller/target_joint",
        joint_message([0.0] * 5, ROBOT.joints[:5]),
        ("joints ['wrist_3_joint'] are missing",),
    ),
    "trajectory of other joints": (
        "/controller/joint_trajectory",
        trajectory_message([1.0], [[0.0]], ["finger"]),
        ("finger", "elbow_joint"),
    ),
    "trajectory back in time": (
        "/controller/joint_trajectory",
        trajectory_message([1.0, 0.5], [ROBOT.home, ROBOT.home]),
        ("time",),
    ),
    "trajectory beyond a limit": (
        "/controller/joint_trajectory",
        trajectory_message([1.0], [[0.0, 0.0, 99.0, 0.0, 0.0, 0.0]]),
        ("elbow_joint = 99", "must be within"),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_used_is_refused_in_words_and_changes_nothing(arm, what):
    plain = arm.stay_off()
    reference = arm.reference()
    topic, message, words = REFUSED[what]
    arm.controller.says(*words, again=lambda: arm.publish(topic, message))
    for _ in range(20):
        np.testing.assert_allclose(arm.robot.exchange(), plain, rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(arm.reference(), reference)


# --- the robot description ---


def test_the_description_on_the_topic_is_waited_for_and_used(new_ros, model):
    arm = make_arm(new_ros, model, description="topic", state_timeout=10.0)
    ros, controller = new_ros, arm.controller
    ros.until(
        lambda: "waiting for robot_description" in controller.child.err, "the words that it waits"
    )
    assert controller.state == "unconfigured"
    tool = (
        '<link name="weight"><inertial><origin xyz="0 0 0.1"/><mass value="3.0"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
        '<joint name="weight_joint" type="fixed"><parent link="tool0"/><child link="weight"/></joint></robot>'
    )
    heavier = ROBOT.urdf().replace("</robot>", tool)
    arm.model = RobotModel.of(ROBOT, heavier)
    assert (
        np.abs(arm.holding(np.array(ROBOT.home)) - model.at(np.array(ROBOT.home)).gravity).max()
        > 5.0
    )
    ros.publisher(String, "robot_description", latched=True).publish(String(data=heavier))
    arm.begin()


def test_a_bare_description_on_the_topic_gets_the_gripper_and_the_payload_of_the_configuration(
    new_ros, tmp_path
):
    path = tmp_path / "equipped.yaml"
    path.write_text("extends: ur5\ngripper: robotiq_2f85\npayload: { mass: 1.5 }\n")
    arm = make_arm(
        new_ros, RobotModel.of(load_robot(str(path))), robot=str(path), description="topic"
    )
    new_ros.publisher(String, "robot_description", latched=True).publish(String(data=ROBOT.urdf()))
    arm.begin()


# --- gains as parameters ---


@pytest.fixture
def default_gains(arm):
    names = ("stiffness", "damping_ratio", "damping", "posture_stiffness", "coriolis", "max_force")
    before = {
        f"impedance__{name}": arm.ros.get("controller", f"impedance.{name}") for name in names
    }
    yield
    assert arm.ros.set_atomically("controller", **before).successful


STIFFNESS = [500.0, 500.0, 500.0, 50.0, 50.0, 50.0]


@pytest.mark.parametrize(
    ("gain", "value", "words"),
    [
        (
            "stiffness",
            [1.0, 2.0],
            ("stiffness has 2 values [1.0, 2.0]", "1, 6 (the diagonal) or 36 numbers"),
        ),
        ("stiffness", -1.0, ("= -1:", "must be within [0, 10000] N/m")),
        (
            "stiffness",
            [1.0, 2.0, -3.0, 4.0, 5.0, 6.0],
            ("stiffness[2] = -3:", "must be within [0, 10000] N/m"),
        ),
        (
            "stiffness",
            [1.0, 2.0, 3.0, 4.0, 5.0, 20000.0],
            ("stiffness[5] = 20000:", "must be within [0, 10000] N/m"),
        ),
        (
            "stiffness",
            [1.0, NAN, 3.0, 4.0, 5.0, 6.0],
            ("stiffness[1] = nan:", "must be within [0, 10000] N/m"),
        ),
        ("stiffness", "stiff", ("stiffness = 'stiff'", "1, 6 (the diagonal) or 36 numbers")),
        ("stiffness", True, ("stiffness", "numbers")),
        ("posture_stiffness", NAN, ("posture_stiffness", "nan", "500")),
        ("posture_stiffness", 501, ("posture_stiffness", "501", "500")),
        ("posture_stiffness", [1.0, 2.0], ("posture_stiffness has 2 values", "one per joint")),
        ("max_force", [1.0, 0.0], ("max_force has 2 values", "one number")),
        ("coriolis", 0.5, ("coriolis = 0.5", "true or false")),
        ("coriolis", "yes", ("coriolis = 'yes'", "true or false")),
    ],
)
def test_a_gain_that_cannot_be_is_refused_with_value_and_bound(
    arm, default_gains, gain, value, words
):
    before = arm.ros.get("controller", f"impedance.{gain}")
    (result,) = arm.ros.set("controller", **{f"impedance__{gain}": value})
    assert not result.successful
    for word in words:
        assert word in result.reason
    assert arm.ros.get("controller", f"impedance.{gain}") == before


def test_an_atomic_set_with_one_bad_value_changes_nothing(arm, default_gains):
    plain = arm.stay_off()
    result = arm.ros.set_atomically(
        "controller", impedance__stiffness=100.0, impedance__damping_ratio=-1.0
    )
    assert not result.successful
    assert "damping_ratio" in result.reason
    assert arm.ros.get("controller", "impedance.stiffness") == STIFFNESS
    for _ in range(100):
        np.testing.assert_allclose(arm.robot.exchange(), plain, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("gain", "value", "read"),
    [
        ("stiffness", 400, [400.0] * 6),
        ("stiffness", 400.0, [400.0] * 6),
        ("stiffness", [400], [400.0] * 6),
        ("stiffness", [400.0], [400.0] * 6),
        ("stiffness", [1, 2, 3, 4, 5, 6], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("posture_stiffness", 5, [5.0] * 6),
        ("posture_stiffness", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("max_force", 30, 30.0),
        ("coriolis", True, True),
        ("coriolis", 1, True),
    ],
)
def test_numbers_are_taken_as_what_they_mean_and_read_back_in_full(
    arm, default_gains, gain, value, read
):
    (result,) = arm.ros.set("controller", **{f"impedance__{gain}": value})
    assert result.successful, result.reason
    found = arm.ros.get("controller", f"impedance.{gain}")
    assert found == read
    assert type(found) is type(read)
    assert [type(x) for x in np.atleast_1d(found).tolist()] == [
        type(x) for x in np.atleast_1d(read).tolist()
    ]


def test_gains_describe_themselves(arm):
    stiffness, switch = arm.ros.describe("controller", "impedance.stiffness", "impedance.coriolis")
    assert (
        stiffness.description
        == "Spring K between tip and reference, along the axes of `frame`; 0 lets that axis float."
    )
    data = json.loads(stiffness.additional_constraints)
    assert data == {
        "unit": "N/m, N·m/rad",
        "axes": ["x", "y", "z", "rx", "ry", "rz"],
        "default": [500.0, 500.0, 500.0, 50.0, 50.0, 50.0],
        "lower": 0.0,
        "upper": 10000.0,
        "choices": [],
    }
    (bounds,) = stiffness.floating_point_range
    assert (bounds.from_value, bounds.to_value) == (0.0, 10000.0)
    assert switch.description
    assert json.loads(switch.additional_constraints)["default"] is False


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("copies", "per_period", "words"), [(2, 1, "50% of them"), (1, 3, "at 1500 Hz where 500 Hz")]
)
def test_joint_states_that_come_too_often_are_told_as_that_and_not_as_late(
    arm, copies, per_period, words
):
    count = round(1.5 * per_period / PERIOD)
    arm.controller.diagnostics.messages.clear()
    for _ in range(count):
        arm.robot.time += PERIOD / per_period - PERIOD  # the message adds a whole one
        message = arm.robot.message()
        for _ in range(copies):
            arm.robot.send(message)
        arm.ros.wait(PERIOD / per_period)
    level, text, _ = arm.controller.diagnosis()
    assert level == 1
    assert words in text
    assert "late" not in text


@pytest.mark.parametrize("executable", ["controller", "watchdog", "teleop"])
def test_the_range_of_every_parameter_is_what_its_declaration_bounds(ros, executable):
    ros.start(executable)
    depth = ListParameters.Request.DEPTH_RECURSIVE
    names = ros.call(ListParameters, f"/{executable}/list_parameters", depth=depth).result.names
    described = ros.describe(executable, *names)
    ranged = [each for each in described if each.floating_point_range]
    for each in ranged:
        (bounds,), data = each.floating_point_range, json.loads(each.additional_constraints)
        assert (each.name, bounds.from_value, bounds.to_value) == (
            each.name,
            data["lower"],
            data["upper"],
        )
    constrained = [
        json.loads(each.additional_constraints) for each in described if each.additional_constraints
    ]
    bounded = [data for data in constrained if data["upper"] and not data.get("choices")]
    switches = [data for data in bounded if isinstance(data.get("default"), bool)]
    assert len(ranged) == len(bounded) - len(switches) > 0


def test_a_full_matrix_may_have_couplings_below_the_range_of_its_diagonal(arm, default_gains):
    matrix = np.diag(STIFFNESS)
    matrix[0, 1] = matrix[1, 0] = -100.0
    (result,) = arm.ros.set("controller", impedance__stiffness=matrix.ravel().tolist())
    assert result.successful, result.reason
    assert arm.ros.get("controller", "impedance.stiffness")[1] == -100.0


def test_a_change_of_gains_makes_no_step_in_the_torques(arm, default_gains):
    arm.stay_off()
    before = arm.settle()
    arm.ros.set("controller", impedance__stiffness=[2000.0, 2000.0, 2000.0, 200.0, 200.0, 200.0])
    commands = [before]
    while len(commands) < 1500:  # 3 s by the stamps: fifteen time constants
        commands.append(arm.robot.exchange())
    changes = np.abs(np.diff(commands, axis=0))
    # what a change at once would have been
    assert (np.abs(commands[-1] - before) > 2.0 * STEP).any()
    assert (changes <= STEP + 1e-9).all()
    assert changes[-1].max() < 1e-6


@pytest.mark.parametrize(
    ("name", "value"),
    [("robot", "gen3"), ("profile", "real"), ("description", "topic")],
)
def test_what_a_controller_is_made_of_stays_while_it_is_configured(arm, name, value):
    before = arm.ros.get("controller", name)
    (result,) = arm.ros.set("controller", **{name: value})
    assert not result.successful
    assert f"{name} = {value!r}: deactivate, clean up, then set and configure" in result.reason
    assert arm.ros.get("controller", name) == before


def test_gains_given_at_the_start_are_taken(new_ros, model, tmp_path):
    path = tmp_path / "gains.yaml"
    path.write_text(
        "/**:\n  ros__parameters:\n    impedance:\n      damping_ratio: 2\n      stiffness: [1, 2, 3, 4, 5, 6]\n"
    )
    child = new_ros.start(
        "controller",
        {"impedance.stiffness": 300, "impedance.friction": True},
        parameter_files=(str(path),),
    )
    new_ros.until(lambda: new_ros.get("controller", "impedance.stiffness") is not None, "the gains")
    assert new_ros.get("controller", "impedance.stiffness") == [300.0] * 6
    assert new_ros.get("controller", "impedance.damping_ratio") == [2.0] * 6
    assert new_ros.get("controller", "impedance.friction") is True
    assert new_ros.get("controller", "impedance.coriolis") is False
    assert child.process.poll() is None


def test_whole_numbers_given_at_the_start_are_numbers(new_ros):
    Controller(new_ros, state_timeout=1, telemetry_rate=100, gain_time_constant=1)
    new_ros.until(
        lambda: new_ros.get("controller", "impedance.stiffness") is not None,
        "the controller is configured",
    )
    assert new_ros.get("controller", "state_timeout") == 1.0


def test_a_bad_gain_given_at_the_start_ends_the_controller_with_the_reason(new_ros):
    child = Controller(new_ros, **{"impedance.stiffness": [1.0, 2.0]}).child
    assert child.end() == 1
    assert (
        "not configured: stiffness has 2 values [1.0, 2.0]: must have 1, 6 (the diagonal) or 36 numbers"
        in child.err
    )
    assert "Traceback" not in child.err


def test_its_own_dump_can_be_loaded(arm):
    """As `ros2 param load` sends it: one parameter after the other, read-only ones and those of
    the structure, too.
    """
    names = arm.ros.call(ListParameters, "/controller/list_parameters").result.names
    values = arm.ros.call(GetParameters, "/controller/get_parameters", names=names).values
    parameters = [
        ParameterMessage(name=name, value=value) for name, value in zip(names, values, strict=True)
    ]
    results = arm.ros.call(
        SetParameters, "/controller/set_parameters", parameters=parameters
    ).results
    assert [
        name for name, result in zip(names, results, strict=True) if not result.successful
    ] == []
    assert {"robot", "profile", "description", "bus", "law", "rate"} <= set(names)


def test_a_file_may_hold_the_gains_of_laws_that_do_not_run(arm):
    running = arm.ros.get("controller", "law")
    others = [name for name in law_names(plugins=False) if name != running]
    names = arm.ros.call(ListParameters, "/controller/list_parameters").result.names
    assert {name.partition(".")[0] for name in names} >= set(others)
    (result,) = arm.ros.set("controller", joint_impedance__stiffness=[60.0] * ROBOT.n)
    assert result.successful
    assert arm.ros.get("controller", "joint_impedance.stiffness") == [60.0] * ROBOT.n


@pytest.mark.parametrize("kind", [SetParameters, SetParametersAtomically])
def test_a_misspelt_gain_gets_the_right_name(arm, kind):
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=300.0)
    wrong = ParameterMessage(name="impedance.stifness", value=value)
    service = "set_parameters" if kind is SetParameters else "set_parameters_atomically"
    answer = arm.ros.call(kind, f"/controller/{service}", parameters=[wrong])
    result = answer.results[0] if kind is SetParameters else answer.result
    assert not result.successful
    assert "'impedance.stifness'" in result.reason
    assert "impedance.stiffness" in result.reason


# --- services and targets ---


def test_hold_makes_the_present_pose_the_reference(arm):
    arm.stay_off()
    answer = arm.ros.trigger("/controller/hold")
    assert (answer.success, bool(answer.message)) == (True, True)
    np.testing.assert_allclose(arm.reference(), arm.model.at(arm.robot.q).pose, rtol=0.0, atol=1e-9)


def test_go_home_leads_the_reference_home(arm):
    arm.robot.q = arm.robot.q + 2.0 * OFFSET
    arm.robot.begin(arm.holding)
    assert arm.ros.trigger("/controller/go_home").success
    home = arm.model.at(np.array(ROBOT.home)).pose
    arm.run(lambda: np.abs(arm.reference() - home).max() < 1e-9, "the reference comes home")


def test_zero_wrench_makes_the_present_wrench_zero(arm):
    arm.publish("/sensor/wrench", wrench_message("ft_frame", (1.0, 2.0, -8.0), (0.1, 0.2, 0.3)))
    arm.run(lambda: np.linalg.norm(arm.telemetry()[1]["wrench"]) > 8.0, "the wrench shows")
    answer = arm.ros.trigger("/controller/zero_wrench")
    assert (answer.success, bool(answer.message)) == (True, True)
    np.testing.assert_allclose(arm.telemetry()[1]["wrench"], np.zeros(6), rtol=0.0, atol=1e-12)
    arm.publish("/sensor/wrench", wrench_message("ft_frame", (1.0, 2.0, 2.0), (0.1, 0.2, 0.3)))
    arm.run(lambda: np.linalg.norm(arm.telemetry()[1]["wrench"]) > 5.0, "the next wrench shows")
    arm.model.update(arm.robot.q, arm.robot.v)
    pushed = arm.model.frame_pose("ft_frame")[:3, :3] @ [0.0, 0.0, 10.0]
    np.testing.assert_allclose(arm.telemetry()[1]["wrench"][:3], pushed, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    "frame",
    [
        "tool0",
        *(pytest.param(other, marks=pytest.mark.long) for other in ("base_link", "forearm_link")),
    ],
)
def test_a_target_pose_may_be_in_any_frame(arm, frame):
    kin = arm.model.update(arm.robot.q, np.zeros(ROBOT.n))
    offset = make_pose(np.array([0.03, -0.02, 0.05]), rotation_exp(np.array([0.1, -0.2, 0.15])))
    goal = kin.pose @ offset
    in_frame = np.linalg.inv(arm.model.frame_pose(frame)) @ goal
    arm.publish("/controller/target_pose", pose_message(frame, in_frame))
    start = arm.reference()
    # on the way, not there
    np.testing.assert_allclose(start[:3, 3], kin.pose[:3, 3], rtol=0.0, atol=1e-3)
    arm.run(lambda: np.abs(arm.reference() - goal).max() < 1e-9, "the reference comes to the goal")


@pytest.mark.parametrize("frame", ["base_link", "tool0"])
def test_a_target_twist_jogs_and_stops_by_itself(arm, frame):
    kin = arm.model.update(arm.robot.q, np.zeros(ROBOT.n))
    axes = arm.model.frame_pose(frame)[:3, :3]
    arm.publish("/controller/target_twist", twist_message(frame, (0.0, 0.0, 0.1)))
    arm.run(lambda: np.abs(arm.reference() - kin.pose).max() > 1e-6, "the reference moves")
    for _ in range(250):  # 0.5 s by the stamps
        arm.robot.exchange()
    # 0.1 s up to 0.1 m/s, 0.1 s at it, 0.1 s down
    moved = axes @ [0.0, 0.0, 0.02]
    for _ in range(2):
        reference = arm.reference()
        np.testing.assert_allclose(reference[:3, 3], kin.pose[:3, 3] + moved, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(reference[:3, :3], kin.pose[:3, :3], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("frame", ["base_link", "tool0"])
def test_a_target_wrench_adds_its_joint_torques(arm, frame):
    force, torque = np.array([3.0, -2.0, 5.0]), np.array([0.2, 0.1, -0.3])
    before = arm.settle()
    kin = arm.model.update(arm.robot.q, np.zeros(ROBOT.n))
    pose = arm.model.frame_pose(frame)
    rotation, arm_of_force = pose[:3, :3], pose[:3, 3] - kin.pose[:3, 3]
    at_tip = np.concatenate(
        (rotation @ force, rotation @ torque + np.cross(arm_of_force, rotation @ force))
    )
    arm.publish("/controller/target_wrench", wrench_message(frame, force, torque))
    arm.run(lambda: np.abs(arm.robot.exchange() - before).max() > 1e-3, "the wrench acts")
    np.testing.assert_allclose(arm.settle() - before, kin.jacobian.T @ at_tip, rtol=0.0, atol=1e-9)


def test_a_target_wrench_without_a_newer_one_ends(arm):
    before = arm.settle()
    message = wrench_message("base_link", force=(3.0, -2.0, 5.0))
    arm.publish("/controller/target_wrench", message)
    arm.run(lambda: np.abs(arm.robot.exchange() - before).max() > 1.0, "the wrench acts")
    begin = arm.robot.time
    arm.run(lambda: np.abs(arm.robot.exchange() - before).max() < 1e-9, "its end")
    assert WRENCH_LASTS - 0.01 < arm.robot.time - begin < WRENCH_LASTS + 0.3


def test_the_workspace_is_a_parameter(arm):
    ros = arm.ros
    (refused,) = ros.set("controller", workspace__lower=[0.0, 1.0, 0.0])
    assert not refused.successful
    assert "workspace.lower y = 1 m: must be below workspace.upper y = 0.9 m" in refused.reason
    tip = arm.model.at(arm.robot.q).pose
    (taken,) = ros.set("controller", workspace__upper=(tip[:3, 3] + 0.01).tolist())
    assert taken.successful
    outside = tip.copy()
    outside[2, 3] += 0.05
    arm.controller.says(
        "target z",
        again=lambda: arm.publish("/controller/target_pose", pose_message("base_link", outside)),
    )
    (taken,) = ros.set("controller", workspace__upper=[0.9, 0.9, 1.2])
    assert taken.successful
    arm.publish("/controller/target_pose", pose_message("base_link", outside))
    arm.run(lambda: abs(arm.reference()[2, 3] - outside[2, 3]) < 1e-6, "the target")


@pytest.mark.long
def test_an_arm_that_rings_is_softened_until_a_service_ends_it(arm):
    arm.stay_off()
    assert arm.telemetry()[1]["ringing_scale"] == 1.0
    diagnosed = arm.controller.diagnostics.messages
    diagnosed.clear()
    begin = arm.robot.time
    kin = RobotModel.of(ROBOT).at(arm.robot.q)
    while (passed := arm.robot.time - begin) < 0.35:
        arm.robot.v, arm.robot.effort = ringing_sample(kin, passed, PERIOD)
        arm.robot.exchange()
    arm.robot.v, arm.robot.effort = ringing_sample(kin, 0.0, PERIOD, speed=0.0)
    assert arm.telemetry()[1]["ringing_scale"] == 0.25

    def told():
        level, message, values = arm.controller.diagnosis() if diagnosed else (0, "", {})
        return (
            level == 1
            and "softened" in message
            and values["softened by ringing"] == "stiffness × 0.25"
        )

    arm.ros.until(told, "a warning in /diagnostics", again=arm.robot.exchange, period=PERIOD)
    assert arm.ros.trigger("/controller/reset_ringing").success
    arm.ros.until(lambda: arm.telemetry()[1]["ringing_scale"] == 1.0, "the whole stiffness")


# --- telemetry ---


def test_telemetry_tells_the_state_and_the_parts_of_the_command(arm):
    arm.stay_off()
    command, blocks = arm.telemetry()
    names = {
        "time",
        "pose",
        "pose_error",
        "twist",
        "wrench",
        "target_wrench",
        "position",
        "velocity",
        "effort",
    }
    names |= {"command", "saturated", "rate_limited", "soft_limited", "spring_load", "contact_load"}
    names |= {"ringing_margin", "ringing_scale"}
    names |= {"moving", "reference_position", "chunk_delay", "seam_step", "seam_jerk"}
    names |= {
        "term.stiffness",
        "term.damping",
        "term.gravity",
        "term.soft_limits",
        "term.singular_damping",
    }
    names |= {"term.integral"}
    assert set(blocks) == names
    kin = arm.model.at(arm.robot.q, arm.robot.v)
    np.testing.assert_array_equal(blocks["position"], arm.robot.q)
    np.testing.assert_array_equal(blocks["velocity"], arm.robot.v)
    np.testing.assert_allclose(blocks["time"], [arm.robot.time], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(blocks["pose"].reshape(3, 4), kin.pose[:3], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(blocks["twist"], kin.twist, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(blocks["command"], command)
    np.testing.assert_array_equal(blocks["saturated"], np.zeros(6))
    np.testing.assert_array_equal(blocks["rate_limited"], np.zeros(6))
    np.testing.assert_array_equal(blocks["target_wrench"], np.zeros(6))
    terms = sum(values for name, values in blocks.items() if name.startswith("term."))
    np.testing.assert_allclose(terms, command, rtol=0.0, atol=1e-12)


def test_a_limited_command_is_told(arm):
    arm.settle()
    arm.robot.v = np.full(ROBOT.n, 2.0)
    command, blocks = arm.telemetry()
    limited = blocks["rate_limited"] > 0.5
    terms = sum(values for name, values in blocks.items() if name.startswith("term."))
    assert limited.any()
    assert (np.abs(terms - command)[limited] > 1e-3).all()
    np.testing.assert_allclose(terms[~limited], command[~limited], rtol=0.0, atol=1e-12)


def test_pose_twist_and_wrench_are_there_for_other_tools(arm):
    poses = arm.ros.subscribe(PoseStamped, "/controller/pose")
    twists = arm.ros.subscribe(TwistStamped, "/controller/twist")
    wrenches = arm.ros.subscribe(WrenchStamped, "/controller/tip_wrench")
    arm.stay_off()
    arm.publish("/sensor/wrench", wrench_message("ft_frame", (1.0, 2.0, 3.0)))
    arm.run(lambda: len(poses) and len(twists) and len(wrenches), "a pose, a twist and a wrench")
    kin = arm.model.at(arm.robot.q, arm.robot.v)
    pose, twist, wrench = (arm.latest(inbox) for inbox in (poses, twists, wrenches))
    assert [message.header.frame_id for message in (pose, twist, wrench)] == ["base_link"] * 3
    np.testing.assert_allclose(read_pose(pose.pose), kin.pose, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(vector(twist.twist.linear), kin.twist[:3], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(vector(twist.twist.angular), kin.twist[3:], rtol=0.0, atol=1e-12)


def test_each_topic_of_the_telemetry_is_made_in_a_cycle_of_its_own(new_ros, model):
    arm = make_arm(new_ros, model, telemetry_rate=100.0, state_timeout=10.0)
    arm.begin()
    poses = arm.ros.subscribe(PoseStamped, "/controller/pose")
    twists = arm.ros.subscribe(TwistStamped, "/controller/twist")
    arm.stay_off()
    arm.run(lambda: len(poses) > 5 and len(twists) > 5, "poses and twists")
    stamps = [
        {(each.header.stamp.sec, each.header.stamp.nanosec) for each in inbox.messages}
        for inbox in (poses, twists)
    ]
    assert stamps[0].isdisjoint(stamps[1])


def test_telemetry_that_nobody_hears_is_not_made(arm):
    published = set()

    def note(publisher, data):
        published.add(publisher.name)
        return [(0, data)]

    arm.ros.graph.on_message = note
    poses = arm.ros.subscribe(PoseStamped, "/controller/pose")
    arm.stay_off()
    arm.run(lambda: len(poses) > 5, "poses")
    assert "/controller/pose" in published
    assert "/controller/twist" not in published


# --- the end ---


def test_a_shut_down_controller_leaves_the_robot_safe_and_stays_to_be_asked(new_ros, model):
    arm = make_arm(new_ros, model, state_timeout=10.0)
    arm.begin()
    arm.stay_off()
    assert arm.controller.change("active_shutdown")
    arm.is_held()
    assert arm.controller.state == "finalized"
    assert arm.controller.child.end(signal.SIGINT) == 0
    assert ended_cleanly(arm.controller.child)


@pytest.mark.parametrize(
    "signals",
    [
        (signal.SIGTERM,),
        (signal.SIGINT, signal.SIGTERM),
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ((signal.SIGINT,), (signal.SIGINT, signal.SIGINT))
        ),
    ],
    ids=lambda signals: "+".join(number.name for number in signals),
)
def test_a_controller_that_ends_leaves_the_robot_safe(new_ros, model, signals):
    arm = make_arm(new_ros, model, state_timeout=10.0)
    arm.begin()
    arm.stay_off()
    assert arm.controller.child.end(*signals) == 0
    assert ended_cleanly(arm.controller.child)
    arm.is_held()


# --- with the simulator ---


@dataclass
class System:
    """Simulator and controller."""

    ros: Ros
    simulator: Any
    controller: Controller
    states: Any
    topics: dict[str, Any]

    def newest(self):
        return read_blocks(self.states.last)

    def steady(self, condition, what, again=None):
        """Wait until a condition on the telemetry has held for 0.5 s of
        simulated time in one piece.
        """
        self.states.messages.clear()
        looked_at, since = 0, None

        def held():
            nonlocal looked_at, since
            for message in self.states.messages[looked_at:]:
                looked_at += 1
                blocks = read_blocks(message)
                at = blocks["time"][0]
                if not condition(blocks):
                    since = None
                elif since is None or at < since:
                    since = at
                elif at - since > 0.5:
                    return True
            return False

        self.ros.until(held, what, again)

    def lead(self, goal):
        """Bring the joints to a goal, and see them rest there."""

        self.topics["/controller/target_joint"].publish(joint_message(goal))
        self.steady(lambda blocks: np.abs(blocks["position"] - goal).max() < 2e-3, "the goal")


@pytest.fixture
def system(new_ros):
    pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
    ros = new_ros
    simulator = ros.start("simulator")
    controller = Controller(ros, use_sim_time=True)
    states = ros.subscribe(Float64MultiArray, "/controller/state")
    kinds = {
        "/simulator/push": WrenchStamped,
        "/controller/target_joint": JointState,
        "/controller/joint_trajectory": JointTrajectory,
    }
    topics = {name: ros.publisher(kind, name) for name, kind in kinds.items()}
    ros.until(lambda: len(states), "telemetry")
    return System(ros, simulator, controller, states, topics)


def tip(blocks):
    return blocks["pose"].reshape(3, 4)[:, 3]


@pytest.mark.sim
def test_a_push_moves_the_tip_as_the_stiffness_says_and_lets_it_return(system):
    still = np.linalg.norm
    system.steady(lambda blocks: still(blocks["twist"]) < 1e-3, "rest")
    start = tip(system.newest())
    down = wrench_message("tool0", (0.0, 0.0, -20.0))  # the tool points down: this pushes up

    def moved(blocks):
        return np.abs(tip(blocks) - start - [0.0, 0.0, 0.040]).max() < 0.0005

    system.steady(
        moved,
        "40 mm up at 20 N and 500 N/m",
        lambda: system.topics["/simulator/push"].publish(down),
    )
    system.steady(lambda blocks: still(tip(blocks) - start) < 0.0005, "the way back")


@pytest.mark.long
@pytest.mark.sim
def test_a_joint_goal_moves_the_robot_there(system):
    system.lead(np.array(ROBOT.home) + [0.3, -0.2, 0.2, 0.1, 0.2, -0.4])


@pytest.mark.long
@pytest.mark.sim
def test_a_joint_trajectory_moves_the_robot_along(system):
    system.steady(lambda blocks: np.linalg.norm(blocks["twist"]) < 1e-3, "rest")
    first = np.array(ROBOT.home) + [0.0, -0.1, 0.1, 0.0, 0.0, 0.0]
    last = np.array(ROBOT.home) + [-0.2, -0.1, 0.1, 0.0, 0.0, 0.3]
    order = [5, 2, 0, 1, 3, 4]
    names = [ROBOT.joints[i] for i in order]
    message = trajectory_message([1.5, 3.0], [first[order], last[order]], names)
    system.states.messages.clear()
    system.topics["/controller/joint_trajectory"].publish(message)

    def arrived():
        return len(system.states) and np.abs(system.newest()["position"] - last).max() < 2e-3

    system.ros.until(arrived, "the last point")
    passed = [
        np.abs(read_blocks(sample)["position"] - first).max() for sample in system.states.messages
    ]
    assert min(passed) < 0.03
    system.steady(lambda blocks: np.abs(blocks["position"] - last).max() < 2e-3, "rest there")


@pytest.mark.long
@pytest.mark.sim
def test_a_simulation_that_is_reset_is_held_where_it_begins_anew(system):
    away = np.array(ROBOT.home) + [-0.3, -0.2, 0.2, 0.0, 0.0, 0.0]
    system.lead(away)
    assert system.ros.trigger("/simulator/reset").success
    system.steady(
        lambda blocks: np.abs(blocks["position"] - ROBOT.home).max() < 2e-3, "home is held"
    )


@pytest.mark.long
@pytest.mark.sim
def test_a_simulator_that_dies_and_comes_again_is_held_without_a_restart_of_the_controller(system):
    away = np.array(ROBOT.home) + [0.4, -0.2, 0.2, 0.0, 0.0, 0.0]
    system.lead(away)
    assert system.simulator.end(signal.SIGKILL) == -signal.SIGKILL
    quiet = time.monotonic() + 0.5  # s in which what the old one sent is answered
    system.ros.until(lambda: time.monotonic() > quiet, "silence")
    system.states.messages.clear()
    system.simulator = system.ros.start("simulator")
    system.ros.until(lambda: len(system.states), "telemetry of the new simulator")
    system.steady(
        lambda blocks: np.abs(blocks["position"] - ROBOT.home).max() < 2e-3, "home is held"
    )
    assert system.controller.state == "active"
    assert system.controller.child.process.poll() is None


# --- joint states that come late and seldom ---


@pytest.mark.long
def test_an_effort_law_softens_where_joint_states_come_late_and_is_damped_where_they_come_too_late(
    arm,
):
    """Some 75 Hz where 500 Hz are nominal, under stamps that are ever older; the arm
    is off its reference.
    """
    oldest = 0.001

    def late_by(age, level=None):
        """What is commanded beside the weight, once this level of diagnosis names the law:
        the median of some.
        """
        nonlocal oldest
        begin, diagnosed, commands = time.monotonic(), level is None, deque(maxlen=25)
        while not (diagnosed and time.monotonic() - begin > 1.0):
            assert time.monotonic() - begin < LIMIT, arm.controller.diagnosis()
            if oldest < age:  # stamps don't go back
                oldest, begin = min(oldest + 0.001, age), time.monotonic()
            message = arm.robot.message()
            message.header.stamp = to_stamp(time.time() - oldest)
            commands.append(arm.robot.exchange(message))
            arm.ros.wait(1.0 / 75.0)
            found, text, _ = (
                arm.controller.diagnosis() if arm.controller.diagnostics else (None, "", {})
            )
            diagnosed = level is None or (found == level and "impedance" in text)
        return np.median(commands, axis=0) - arm.holding(arm.robot.q)

    late_by(0.001)
    arm.robot.q = arm.robot.q + OFFSET
    stiff = late_by(0.001)
    soft = late_by(0.04, level=1)
    assert 0.0 < np.linalg.norm(soft) < 0.9 * np.linalg.norm(stiff)
    arm.robot.v = 0.3 * OFFSET
    damped = late_by(0.2, level=2)
    assert damped @ arm.robot.v < 0.0
    assert (np.abs(damped) <= np.array(ROBOT.safe_damping) * np.abs(arm.robot.v) + 1e-9).all()
