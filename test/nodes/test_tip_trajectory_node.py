"""Chunks of poses, and stiffness in step with them, on the topics of a controller over DDS."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from geometry_msgs.msg import PoseStamped, Transform
from lockstep import LockstepRos
from ros_support import PERIOD, Controller, FakeRobot
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_control_ros.core.spatial import rotation_to_quaternion
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.ros.messages import (
    fill_vector,
    read_blocks,
    read_pose,
    seconds,
    to_duration,
    to_stamp,
)

pytestmark = pytest.mark.ros

ROBOT = load_robot("ur5")
DELAY = 0.12  # s, the default of stream.delay


class Stream:
    """A controller at its home, in lockstep with the test, and the topics of a policy."""

    def __init__(self, ros):
        self.ros, self.controller, self.robot = (
            ros,
            Controller(ros, telemetry_rate=500.0, state_timeout=10.0),
            FakeRobot(ros, ROBOT),
        )
        self.poses = ros.publisher(MultiDOFJointTrajectory, "/controller/tip_trajectory")
        self.joints = ros.publisher(JointTrajectory, "/controller/joint_trajectory")
        self.states = ros.subscribe(Float64MultiArray, "/controller/state")
        self.gains = ros.publisher(JointTrajectory, "/controller/target_impedance")
        self.references = ros.subscribe(PoseStamped, "/controller/reference_pose")
        self._model = RobotModel.of(ROBOT)
        self.home = self._model.at(np.array(ROBOT.home)).pose
        self.begin()
        for publisher in (self.poses, self.joints, self.gains):
            ros.until(publisher.get_subscription_count, "the controller's subscriptions")

    def begin(self):
        """The controller starts anew at home."""
        self.robot.q = np.array(ROBOT.home)
        self.robot.begin(lambda q: self._model.at(q).gravity)

    def run(self, condition, what):
        for _ in range(5000):
            if condition():
                return
            self.robot.exchange()
            self.robot.ros.wait(PERIOD)
        pytest.fail(f"{what}: {self.refused()}")

    def refused(self):
        """Names of the last refusals' messages."""
        return [message.status[0].message for message in self.controller.diagnostics.messages]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with LockstepRos(tmp_path_factory.mktemp("stream")) as ros:
        yield Stream(ros)


@pytest.fixture
def stream(running):
    """At home, with gains that a test may change."""
    gains = ("stiffness", "damping_ratio", "frame")
    before = {
        f"impedance__{name}": running.ros.get("controller", f"impedance.{name}") for name in gains
    }
    running.begin()
    yield running
    assert running.ros.set_atomically("controller", **before).successful


def chunk(stamp, times, poses, names=(ROBOT.tip,)):
    message = MultiDOFJointTrajectory(joint_names=list(names))
    message.header.frame_id = ROBOT.base
    message.header.stamp = to_stamp(stamp)
    for time, pose in zip(times, poses, strict=True):
        transform = Transform()
        fill_vector(transform.translation, pose[:3, 3])
        turn = transform.rotation
        turn.x, turn.y, turn.z, turn.w = rotation_to_quaternion(pose[:3, :3]).tolist()
        message.points.append(
            MultiDOFJointTrajectoryPoint(transforms=[transform], time_from_start=to_duration(time))
        )
    return message


def moved(pose, x):
    result = pose.copy()
    result[0, 3] += x
    return result


def test_the_reference_is_where_the_poses_say_when_they_say_it(stream):
    # however late the message arrives
    start, times = stream.robot.time + 1.0, np.arange(0.0, 1.01, 0.1)
    stream.poses.publish(chunk(start, times, [moved(stream.home, 0.05 * t) for t in times]))
    stream.references.messages.clear()

    def there():
        message = stream.references.messages
        return (
            message and np.abs(read_pose(message[-1].pose) - moved(stream.home, 0.05)).max() < 1e-4
        )

    stream.run(there, "the last pose")
    late = []
    for message in stream.references.messages:
        t = seconds(message.header.stamp) - start - DELAY
        if 0.4 < t < 0.9:  # it begins at rest and has to catch up
            late.append(read_pose(message.pose)[0, 3] - stream.home[0, 3] - 0.05 * t)
    assert late
    assert np.abs(late).max() < 0.002


def test_positions_alone_are_a_chunk_of_joint_angles(stream):
    """As ros2_controllers' joint_trajectory_controller takes them; they are due by their stamp."""
    model = RobotModel.of(ROBOT)
    start = stream.robot.time + 1.0
    home = np.array(ROBOT.home)
    message = JointTrajectory(joint_names=list(ROBOT.joints))
    message.header.stamp = to_stamp(start)
    for time in np.arange(0.0, 1.01, 0.1):
        point = JointTrajectoryPoint(positions=(home + 0.05 * time).tolist())
        point.time_from_start = to_duration(time)
        message.points.append(point)
    stream.joints.publish(message)
    goal = model.at(home + 0.05).pose
    stream.references.messages.clear()

    def there():
        found = stream.references.messages
        return found and np.abs(read_pose(found[-1].pose) - goal).max() < 1e-4

    stream.run(there, "the last point")
    late = []
    for found in stream.references.messages:
        t = seconds(found.header.stamp) - start - DELAY
        if 0.4 < t < 0.9:  # it begins elsewhere and has to catch up
            expected = model.at(home + 0.05 * t).pose
            late.append(read_pose(found.pose)[:3, 3] - expected[:3, 3])
    assert late
    assert np.abs(late).max() < 0.002
    blocks = read_blocks(stream.states.messages[-1])
    assert blocks["seam_jerk"][0] <= 1.0 + 1e-9


def positions_alone(times, positions, stamp=0.0, names=ROBOT.joints):
    """A message as JTC takes it: neither velocities, nor accelerations, nor efforts."""
    order = [list(ROBOT.joints).index(name) for name in names]
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = to_stamp(stamp)
    for time, q in zip(times, positions, strict=True):
        point = JointTrajectoryPoint(positions=np.asarray(q)[order].tolist())
        point.time_from_start = to_duration(time)
        message.points.append(point)
    return message


# what validate_trajectory_msg of JTC lets pass: times of the points, stamp from now, order of names
JTC_MESSAGES = {
    "from now, first point later": ([0.2, 0.6, 1.0], None, 1),
    "from now, first point at once": ([0.0, 0.5, 1.0], None, 1),
    "joints in another order": ([0.2, 0.6, 1.0], None, -1),
    "one point": ([1.0], None, 1),
    "from a stamp to come": ([0.0, 0.5, 1.0], 0.3, 1),
    "from a stamp in the past": ([0.0, 0.5, 1.0], -0.3, 1),
}


@pytest.mark.parametrize("what", JTC_MESSAGES)
def test_messages_that_jtc_takes_move_the_joints_to_their_last_point(stream, what):
    times, stamp, order = JTC_MESSAGES[what]
    home = np.array(ROBOT.home)
    last = home + np.linspace(0.02, 0.07, 6)
    positions = [home + share * (last - home) for share in np.linspace(1.0, 0.3, len(times))[::-1]]
    begin = stream.robot.time
    start = 0.0 if stamp is None else begin + stamp
    names = list(ROBOT.joints)[::order]
    stream.states.messages.clear()
    stream.joints.publish(positions_alone(times, positions, start, names))

    def joints():
        return read_blocks(stream.states.messages[-1])["reference_position"]

    def there():
        return stream.states.messages and np.abs(joints() - last).max() < 1e-5

    stream.run(there, "the last point")
    due = begin + (stamp or 0.0) + times[-1] + DELAY
    assert due - 0.1 < stream.robot.time < due + 0.7


def test_a_chunk_without_times_counts_by_the_policy_s_frequency(stream):
    """As with positions_upsampling.policy_frequency of JTC: the first point is one step away."""
    home = np.array(ROBOT.home)
    positions = home + 0.01 * np.arange(1, 9)[:, None] * np.ones(6)
    message = positions_alone(np.zeros(8), positions)
    stream.controller.diagnostics.messages.clear()
    stream.joints.publish(message)
    stream.run(
        lambda: any("policy_frequency" in text for text in stream.refused()),
        "a refusal that names the setting",
    )
    assert stream.ros.set_atomically("controller", stream__policy_frequency=10.0).successful
    begin = stream.robot.time
    stream.states.messages.clear()
    stream.joints.publish(message)

    def there():
        states = stream.states.messages
        if not states:
            return False
        return np.abs(read_blocks(states[-1])["reference_position"] - positions[-1]).max() < 1e-5

    stream.run(there, "the last point")
    assert 0.7 + DELAY < stream.robot.time - begin < 0.8 + DELAY + 0.7
    assert stream.ros.set_atomically("controller", stream__policy_frequency=0.0).successful


def test_stiffness_is_taken_in_step_with_the_poses(stream):
    start = stream.robot.time
    message = JointTrajectory(joint_names=["stiffness", "damping_ratio"])
    message.header.stamp = to_stamp(start)
    for time, stiffness in ((0.0, 300.0), (1.0, 200.0)):
        numbers = [stiffness] * 3 + [30.0] * 3 + [0.8] * 6
        message.points.append(
            JointTrajectoryPoint(positions=numbers, time_from_start=to_duration(time))
        )
    stream.gains.publish(message)

    def stiffness():
        return stream.ros.get("controller", "impedance.stiffness")[0]

    for time, value in ((0.0, 300.0), (1.0, 200.0)):
        while stiffness() != value:
            assert stream.robot.time < start + time + DELAY + 5.0
            for _ in range(20):
                stream.robot.exchange()
        assert stream.robot.time > start + time + DELAY - 1e-6
    assert stream.ros.get("controller", "impedance.damping_ratio") == [0.8] * 6


def test_the_frame_of_a_stiffness_is_that_of_the_message(stream):
    message = JointTrajectory(joint_names=["impedance.stiffness"])
    message.header.frame_id = ROBOT.tip
    message.points.append(JointTrajectoryPoint(positions=[250.0]))
    stream.gains.publish(message)
    stream.run(lambda: stream.ros.get("controller", "impedance.frame") == "tip", "the frame")
    assert stream.ros.get("controller", "impedance.stiffness") == [250.0] * 6


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda home: chunk(0.0, [0.0], [home], names=["hand"]), ("joint_names", "tool0")),
        (lambda home: chunk(0.0, [], []), ("points",)),
        (lambda home: chunk(0.0, [0.2, 0.1], [home, home]), ("times",)),
        (lambda home: chunk(1.0, [0.1], [home]), ("last pose", "stream.delay")),
        (
            lambda home: JointTrajectory(joint_names=["hardness"], points=[JointTrajectoryPoint()]),
            ("hardness",),
        ),
        (
            lambda home: JointTrajectory(
                joint_names=["stiffness", "impedance.stiffness"],
                points=[JointTrajectoryPoint(positions=[300.0, 400.0])],
            ),
            ("impedance.stiffness", "once"),
        ),
        (
            lambda home: JointTrajectory(
                joint_names=["stiffness"], points=[JointTrajectoryPoint(positions=[1.0] * 5)]
            ),
            ("numbers of a point", "36"),
        ),
        (
            lambda home: JointTrajectory(
                joint_names=["stiffness"], points=[JointTrajectoryPoint(positions=[-1.0] * 6)]
            ),
            ("stiffness", "-1"),
        ),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_arm_goes_on(stream, make, words):
    message = make(stream.home)
    publisher = stream.poses if isinstance(message, MultiDOFJointTrajectory) else stream.gains
    stream.controller.diagnostics.messages.clear()

    def told():
        return any(all(word in text for word in words) for text in stream.refused())

    publisher.publish(message)
    stream.run(told, f"a refusal with {words}")
    stream.robot.exchange()
