"""Between ROS messages and arrays."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Pose, Transform, Twist, Vector3, Wrench
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_control_ros.core.errors import ConfigError, unknown
from robot_control_ros.core.spatial import make_pose, rotation_exp
from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.ros.messages import (
    BYTES_PER_POINT,
    MAX_POINTS,
    MAX_POSES,
    JointStateReader,
    ValuesMessage,
    bounded_reader,
    fill_joint_state,
    fill_pose,
    fill_twist,
    fill_wrench,
    joint_command_parts,
    named_blocks,
    numbers,
    read_blocks,
    read_joint_command,
    read_joint_positions,
    read_joint_trajectory,
    read_message,
    read_pose,
    read_tip_trajectory,
    read_wrench,
    seconds,
    to_duration,
    to_stamp,
    vector,
)

JOINTS = ("a", "b", "c")


def joint_state(names, position=None, velocity=None, effort=()):
    count = len(names)
    message = JointState(name=list(names))
    message.position = [float(i) for i in range(count)] if position is None else list(position)
    message.velocity = [10.0 + i for i in range(count)] if velocity is None else list(velocity)
    message.effort = list(effort)
    return message


# --- joint states ---


def test_joints_in_order_are_read_as_they_are():
    message = joint_state("abc", effort=[7.0, 8.0, 9.0])
    message.header.stamp = Time(sec=12, nanosec=250_000_000)
    state = JointStateReader(JOINTS).read(message)
    assert state.time == 12.25
    np.testing.assert_array_equal(state.q, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(state.v, [10.0, 11.0, 12.0])
    np.testing.assert_array_equal(state.effort, [7.0, 8.0, 9.0])
    assert state.wrench is None


@pytest.mark.parametrize("names", ["cab", "xcayb"])
def test_joints_are_matched_by_name_in_any_order_and_company(names):
    effort = [20.0 + i for i in range(len(names))]
    state = JointStateReader(JOINTS).read(joint_state(names, effort=effort))
    at = np.array([names.index(name) for name in JOINTS])
    np.testing.assert_array_equal(state.q, at)
    np.testing.assert_array_equal(state.v, 10.0 + at)
    np.testing.assert_array_equal(state.effort, 20.0 + at)


def test_an_order_that_changes_is_followed():
    reader = JointStateReader(JOINTS)
    for names in ("abc", "cba", "abc", "bxac"):
        np.testing.assert_array_equal(
            reader.read(joint_state(names)).q, [names.index(name) for name in JOINTS]
        )


@pytest.mark.parametrize("names", ["", "x", "xyz"])
def test_joint_states_of_others_are_none_of_ours(names):
    reader = JointStateReader(JOINTS)
    assert reader.read(joint_state(names)) is None
    assert reader.read(joint_state("abc")) is not None
    assert reader.read(joint_state(names)) is None


def test_missing_joints_are_named_every_time():
    reader = JointStateReader(JOINTS)
    reader.read(joint_state("abc"))
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"joints \['a', 'c'\] are missing; it has: b, x"):
            reader.read(joint_state("bx"))
    assert reader.read(joint_state("abc")) is not None


@pytest.mark.parametrize("effort", [[], [1.0]])
def test_efforts_that_are_not_there_are_not_a_number(effort):
    state = JointStateReader(JOINTS).read(joint_state("abc", effort=effort))
    assert np.isnan(state.effort).all()
    assert state.effort.shape == (3,)


@pytest.mark.parametrize(("kind", "words"), [("position", "positions"), ("velocity", "velocities")])
@pytest.mark.parametrize("count", [0, 2, 4])
def test_positions_and_velocities_must_be_as_many_as_names(kind, words, count):
    message = joint_state("abc", **{kind: [0.0] * count})
    with pytest.raises(ConfigError, match=f"{count} {words} for 3 names: must be as many"):
        JointStateReader(JOINTS).read(message)


def test_a_state_does_not_change_with_the_next_message():
    reader = JointStateReader(JOINTS)
    first = reader.read(joint_state("abc", position=[1.0, 2.0, 3.0]))
    reader.read(joint_state("abc", position=[4.0, 5.0, 6.0]))
    np.testing.assert_array_equal(first.q, [1.0, 2.0, 3.0])


# --- time ---


@pytest.mark.parametrize("time", [0.0, 0.002, 0.9999999999, 1.0, 12345.678901234])
def test_stamps_go_there_and_back(time):
    stamp = to_stamp(time)
    assert 0 <= stamp.nanosec < 1_000_000_000
    assert seconds(stamp) == pytest.approx(time, abs=1e-9)


def test_a_stamp_just_below_a_second_is_carried_over():
    assert to_stamp(1.9999999999) == Time(sec=2, nanosec=0)


# --- blocks ---


def test_blocks_come_back_by_name():
    blocks = {
        "time": np.array([3.5]),
        "pose": np.arange(12.0),
        "term.gravity": np.array([np.nan, -1.0]),
    }
    message = Float64MultiArray()
    named_blocks(blocks, message)
    found = read_blocks(message)
    assert list(found) == list(blocks)
    for name, values in blocks.items():
        np.testing.assert_array_equal(found[name], values)
    assert [(part.label, part.size, part.stride) for part in message.layout.dim] == [
        ("time", 1, 0),
        ("pose", 12, 1),
        ("term.gravity", 2, 13),
    ]


def test_blocks_that_come_and_go_are_laid_out_anew():
    message = Float64MultiArray()
    for names in (("a", "b"), ("a", "b", "c"), ("b",), ("b", "a")):
        blocks = {name: np.full(1 + ord(name) - ord("a"), float(ord(name))) for name in names}
        named_blocks(blocks, message)
        found = read_blocks(message)
        assert list(found) == list(names)
        for name in names:
            np.testing.assert_array_equal(found[name], blocks[name])


def test_numbers_are_taken_by_messages_as_they_are():
    values = np.array([1.0, -2.5, np.inf])
    assert list(Float64MultiArray(data=numbers(values)).data) == [1.0, -2.5, np.inf]


def test_bytes_of_numbers_are_read_as_the_message():
    for n in (1, 2, 6, 7):
        message = ValuesMessage(n)
        for values in (np.arange(n) - 0.5, np.full(n, np.nan), np.full(n, -1e300)):
            read = read_message(message.of(values), Float64MultiArray)
            np.testing.assert_array_equal(np.array(read.data), values)
            assert not read.layout.dim


# --- geometry ---


def test_poses_go_there_and_back(rng):
    for _ in range(50):
        pose = make_pose(rng.normal(size=3), rotation_exp(rng.uniform(-np.pi, np.pi, 3)))
        message = Pose()
        fill_pose(message, pose)
        np.testing.assert_allclose(read_pose(message), pose, rtol=0.0, atol=1e-12)


def test_a_quaternion_is_x_y_z_w():
    message = Pose()
    half = np.sqrt(0.5)
    message.orientation.z, message.orientation.w = half, half  # a quarter turn about z
    np.testing.assert_allclose(
        read_pose(message)[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize("w", [0.0, 0.5, float("nan"), float("inf")])
def test_a_quaternion_that_is_no_rotation_is_refused(w):
    message = Pose()
    message.orientation.w = w
    with pytest.raises(ConfigError, match="quaternion"):
        read_pose(message)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_position_that_is_not_finite_is_refused(value):
    message = Pose()
    message.position.y = value
    with pytest.raises(ConfigError, match=r"target position = .* must be 3 finite numbers"):
        read_pose(message)


def test_twists_and_wrenches_are_linear_then_angular():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    twist, wrench = Twist(), Wrench()
    fill_twist(twist, values)
    fill_wrench(wrench, values)
    np.testing.assert_array_equal(
        np.concatenate((vector(twist.linear), vector(twist.angular))), values
    )
    np.testing.assert_array_equal(
        np.concatenate((vector(wrench.force), vector(wrench.torque))), values
    )
    back = read_wrench(wrench, "somewhere")
    assert back.frame == "somewhere"
    np.testing.assert_array_equal(back.force, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(back.torque, [4.0, 5.0, 6.0])
    np.testing.assert_array_equal(vector(Vector3(x=1.0, y=2.0, z=3.0)), [1.0, 2.0, 3.0])


# --- joint targets ---


def test_joint_positions_are_matched_by_name():
    found = read_joint_positions(joint_state("xcba", position=[9.0, 3.0, 2.0, 1.0]), JOINTS)
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (joint_state("ab"), "c"),
        (joint_state(""), "a"),
        (joint_state("abc", position=[1.0]), "positions"),
    ],
)
def test_a_joint_target_needs_every_joint(message, name):
    with pytest.raises(ConfigError) as refused:
        read_joint_positions(message, JOINTS)
    assert refused.value.name == name


def trajectory(names, positions, velocities=None):
    message = JointTrajectory(joint_names=list(names))
    for number, position in enumerate(positions):
        point = JointTrajectoryPoint(positions=list(position))
        point.time_from_start = Duration(sec=number, nanosec=500_000_000)
        if velocities is not None:
            point.velocities = list(velocities[number])
        message.points.append(point)
    return message


def test_a_joint_trajectory_is_matched_by_name():
    positions, velocities = [[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]], [[0.3, 0.1, 0.2], [0.0, 0.0, 0.0]]
    times, found, speeds = read_joint_trajectory(trajectory("cab", positions, velocities), JOINTS)
    np.testing.assert_array_equal(times, [0.5, 1.5])
    np.testing.assert_array_equal(found, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(speeds, [[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]])


def test_velocities_that_are_not_at_every_point_are_left_out():
    message = trajectory("abc", [[0.0] * 3, [1.0] * 3], [[0.0] * 3, []])
    assert read_joint_trajectory(message, JOINTS)[2] is None


def test_points_without_times_are_a_step_of_the_policy_apart():
    message = trajectory("abc", [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]], None)
    for point in message.points:
        point.time_from_start = to_duration(0.0)
    with pytest.raises(ConfigError) as refused:
        read_joint_trajectory(message, JOINTS)
    assert refused.value.name == "time_from_start"
    times, positions, velocities = read_joint_trajectory(message, JOINTS, 20.0)
    np.testing.assert_allclose(times, [0.05, 0.1])
    assert positions.shape == (2, 3)
    assert velocities is None
    message.points[1].time_from_start = to_duration(0.4)
    np.testing.assert_allclose(read_joint_trajectory(message, JOINTS, 20.0)[0], [0.0, 0.4])
    message.points[1].time_from_start = to_duration(0.0)
    message.points[0].velocities = [0.0, 0.0, 0.0]
    with pytest.raises(ConfigError):
        read_joint_trajectory(message, JOINTS, 20.0)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (trajectory("ab", [[0.0, 0.0]]), "joint_names"),
        (trajectory("abcd", [[0.0] * 4]), "joint_names"),
        (trajectory("abc", []), "points"),
        (trajectory("abc", [[0.0] * 3, [0.0]]), "positions"),
    ],
)
def test_a_joint_trajectory_that_does_not_fit_is_refused(message, name):
    with pytest.raises(ConfigError) as refused:
        read_joint_trajectory(message, JOINTS)
    assert refused.value.name == name


# --- joint commands ---

NAN = float("nan")
P, V, E = [1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [100.0, 200.0, 300.0]  # for a, b, c


def command(names, position=(), velocity=(), effort=()):
    return joint_state(names, position, velocity, effort)


def given(names, values):
    """The values for a, b, c in the order of the names; 0 for others."""
    return [dict(zip(JOINTS, values, strict=True)).get(name, 0.0) for name in names]


@pytest.mark.parametrize("names", ["abc", "cab", "xcayb"])
@pytest.mark.parametrize(
    ("present", "mode", "values", "feedforward", "velocity"),
    [
        ("p", "position", P, None, None),
        ("pv", "position", P, None, V),
        ("pe", "position", P, E, None),
        ("pve", "position", P, E, V),
        ("v", "velocity", V, None, None),
        ("ve", "velocity", V, E, None),
        ("e", "effort", E, None, None),
    ],
)
@pytest.mark.parametrize("absent", [[], [NAN]], ids=["empty", "nan"])
def test_what_goes_along_with_a_joint_command(
    names, present, mode, values, feedforward, velocity, absent
):
    arrays = [
        given(names, array) if kind in present else absent * len(names)
        for kind, array in (("p", P), ("v", V), ("e", E))
    ]
    found = read_joint_command(command(names, *arrays), JOINTS)
    assert found.mode is CommandMode(mode)
    np.testing.assert_array_equal(found.values, values)
    for part, expected in ((found.feedforward, feedforward), (found.velocity, velocity)):
        assert (part is None) == (expected is None)
        if part is not None:
            np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize(
    "arrays", [[[], [], []], [[NAN] * 3, [], []], [[NAN] * 3] * 3, [[], [], [NAN] * 3]]
)
def test_a_joint_command_without_numbers_commands_nothing(arrays):
    assert read_joint_command(command("abc", *arrays), JOINTS) is None


def test_other_joints_may_be_commanded_while_ours_are_not():
    assert read_joint_command(command("axbc", [NAN, 1.0, NAN, NAN]), JOINTS) is None


def test_other_joints_need_not_be_commanded_while_ours_are():
    found = read_joint_command(command("axbc", [1.0, NAN, 2.0, 3.0]), JOINTS)
    np.testing.assert_array_equal(found.values, P)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (command("", []), "a"),
        (command("xcb", P), "a"),
        (command("abc", [1.0, 2.0]), "positions"),
        (command("abc", P, [1.0] * 4), "velocities"),
        (command("abc", P, V, [1.0]), "efforts"),
        (command("cab", [NAN, 1.0, 2.0]), "c"),
        (command("abc", P, [NAN, 1.0, NAN]), "a"),
        (command("abc", [], [], [1.0, NAN, 1.0]), "b"),
    ],
)
def test_a_joint_command_that_does_not_fit_is_refused(message, name):
    with pytest.raises(ConfigError) as refused:
        read_joint_command(message, JOINTS)
    assert refused.value.name == name


def test_a_joint_command_does_not_change_with_its_message():
    message = command("abc", P)
    found = read_joint_command(message, JOINTS)
    message.position[0] = 9.0
    np.testing.assert_array_equal(found.values, P)


@pytest.mark.parametrize("mode", CommandMode)
@pytest.mark.parametrize("feedforward", [True, False])
@pytest.mark.parametrize("velocity", [True, False])
def test_a_command_comes_back_from_its_joint_command(mode, feedforward, velocity, rng):
    joints = ["a", "b", "c"]
    command = Command(
        mode,
        rng.normal(size=3),
        rng.normal(size=3) if feedforward and mode is not CommandMode.EFFORT else None,
        rng.normal(size=3) if velocity and mode is CommandMode.POSITION else None,
    )
    message = JointState(name=joints)
    fill_joint_state(message, 1.0, *joint_command_parts(command))
    found = read_joint_command(message, joints)
    assert found.mode is command.mode
    for sent, back in ((command.values, found.values), (command.feedforward, found.feedforward)):
        assert (sent is None) == (back is None)
        assert sent is None or np.array_equal(sent, back)
    assert (command.velocity is None) == (found.velocity is None)
    assert command.velocity is None or np.array_equal(command.velocity, found.velocity)


# --- what strangers send ---


def twice(kind):
    names = ["a", "b", "c", "a"]
    if kind == "trajectory":
        point = JointTrajectoryPoint(positions=[0.0] * 4, time_from_start=Duration(sec=1))
        return JointTrajectory(joint_names=names, points=[point])
    return joint_state(names)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (read_joint_positions, twice("state")),
        (read_joint_command, twice("state")),
        (read_joint_trajectory, twice("trajectory")),
    ],
)
def test_a_joint_that_is_named_twice_is_refused(read, message):
    with pytest.raises(ConfigError) as refusal:
        read(message, JOINTS)
    assert (refusal.value.name, refusal.value.value) == ("name", "a")


def test_a_joint_trajectory_has_a_size():
    def trajectory(count):
        points = [
            JointTrajectoryPoint(positions=[0.0] * 3, time_from_start=Duration(sec=k + 1))
            for k in range(count)
        ]
        return JointTrajectory(joint_names=list(JOINTS), points=points)

    times, _, _ = read_joint_trajectory(trajectory(MAX_POINTS), JOINTS)
    assert len(times) == MAX_POINTS
    with pytest.raises(ConfigError) as refusal:
        read_joint_trajectory(trajectory(MAX_POINTS + 1), JOINTS)
    assert (refusal.value.name, refusal.value.bound) == ("points", (1, MAX_POINTS))


def test_a_tip_trajectory_has_a_size():
    points = [
        MultiDOFJointTrajectoryPoint(transforms=[Transform()], time_from_start=Duration(sec=k + 1))
        for k in range(MAX_POSES + 1)
    ]
    with pytest.raises(ConfigError) as refusal:
        read_tip_trajectory(MultiDOFJointTrajectory(joint_names=["tip"], points=points), "tip")
    assert (refusal.value.name, refusal.value.bound) == ("points", (1, MAX_POSES))
    assert len(
        read_tip_trajectory(MultiDOFJointTrajectory(joint_names=["tip"], points=points[1:]), "tip")[
            0
        ]
    )


def test_a_trajectory_of_too_many_bytes_is_not_read_and_a_damaged_one_is_refused():
    taken, refusals = [], []
    reader = bounded_reader("joint trajectory", JointTrajectory, taken.append, refusals.append, 10)
    reader(serialize_message(JointTrajectory(joint_names=["a"])))
    assert taken == [JointTrajectory(joint_names=["a"])]
    reader(bytes(10 * BYTES_PER_POINT + 1))
    assert refusals[0].bound == 10 * BYTES_PER_POINT
    reader(b"\x00\x01\x00\x00" + b"\xff" * 60)
    reader(b"")
    assert len(refusals) == 3
    assert len(taken) == 1


def test_an_error_does_not_repeat_a_strangers_names_without_end():
    message = joint_state([f"{k:0>40}" for k in range(10_000)])
    with pytest.raises(ConfigError) as refusal:
        read_joint_positions(message, JOINTS)
    assert len(str(refusal.value)) < 5000
    assert len(str(unknown("frame", "x" * 1_000_000, ("a", "b")))) < 1000
