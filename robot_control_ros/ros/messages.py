"""Conversions between ROS messages and the package's plain data."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Pose, Transform, Twist
from geometry_msgs.msg import Wrench as WrenchMsg
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from ..core.errors import ConfigError, refused
from ..core.spatial import make_pose, quaternion_to_rotation, rotation_to_quaternion
from ..core.types import Array, Command, CommandMode, RobotState, Wrench, is_finite

SHOWN = 50  # names of a message, in an error
# of a trajectory of numbers: more would keep the control loop waiting while they are read
MAX_POINTS = 1000
MAX_POSES = 250  # of a trajectory of poses, whose reading takes longer
BYTES_PER_POINT = 400  # at most, of a trajectory's message
# rad/s: velocities below it, at a trajectory's end, are meant to be 0
ROUNDED = float(np.finfo(np.float32).eps)
WITHOUT_VELOCITIES = (
    "Where the driver sends none, set velocity_filter in the profile, such as 0.01 s"
)
SEVERAL = ". Where several drivers send them, one broadcaster has to send all joints in one message"
_STATE_SIZES = {"time": 1, "pose": 12, "pose_error": 6, "twist": 6, "wrench": 6, "moving": 1}
_Message = TypeVar("_Message")


def read_message(data: bytes, kind: type[_Message]) -> _Message:
    """Deserialise a message of this kind (a message class).

    Raises:
        ConfigError: The bytes are no such message, whatever is wrong with them.
    """
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # of ROS's deserialiser: RMWError, UnicodeDecodeError and others
        message = f"{len(data)} bytes are no {kind.__name__}: {error}"
        raise ConfigError(message, name=kind.__name__, value=data) from error


class JointStateReader:
    """Makes a RobotState of each JointState, and keeps nothing between two messages.

    Joints are matched by name. They may come in any order, and with other joints.

    Args:
        joints: Names of the robot's joints, in the order of the states' arrays.
        velocities: True where velocities are read. Else they are NaN in the states, and may be
            missing in the messages.
    """

    def __init__(self, joints: Sequence[str], velocities: bool = True) -> None:
        self._joints = tuple(joints)
        self._velocities = velocities

    def read(self, message: JointState) -> RobotState | None:
        """The state in a message; None where it names none of the robot's joints.

        Such a message is that of another publisher on the topic.

        Raises:
            ConfigError: Joints are missing or named twice, or positions or velocities are missing.
        """
        index = self.match(message)
        if index is None:
            return None
        q, v, effort = (
            np.frombuffer(values) for values in (message.position, message.velocity, message.effort)
        )
        return self.arrange(seconds(message.header.stamp), q, v, effort, index)

    def match(self, message: JointState) -> Array | None:
        """Index of each of the robot's joints in the message (n,); None where it names none.

        Raises:
            ConfigError: The message is one that :meth:`read` refuses.
        """
        names = list(message.name)
        if not any(name in names for name in self._joints):
            return None
        index = _joint_index("joint state", names, self._joints, SEVERAL)
        _check_length("joint state", "positions", message.position, names)
        if self._velocities:
            _check_length(
                "joint state",
                "velocities",
                message.velocity,
                names,
                otherwise=f". {WITHOUT_VELOCITIES}",
            )
        return np.array(index)

    def arrange(self, time: float, q: Array, v: Array, effort: Array, index: Array) -> RobotState:
        """The state from the arrays of a joint state; missing efforts become NaN.

        Args:
            time: Stamp of the joint state [s].
            q, v, effort: (k,) arrays of a message that was matched, in its order; they are copied.
            index: Index of each of the robot's joints in them (n,).

        Raises:
            ConfigError: All velocities are NaN, although they are to be read.
        """
        effort = effort[index] if len(effort) == len(q) else np.full(len(index), np.nan)
        q = q[index]
        if not self._velocities:
            return RobotState(time, q, np.full(len(index), np.nan), effort)
        v = v[index]
        if math.isnan(v[0]) and np.isnan(v).all():
            raise refused(
                "velocities",
                math.nan,
                f"must be numbers. {WITHOUT_VELOCITIES}",
                where="joint state: ",
            )
        return RobotState(time, q, v, effort)


def check_different(what: str, names: Sequence[str]) -> None:
    """Check that no name stands twice.

    Raises:
        ConfigError: A name stands twice; the message has the first one.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise refused("name", name, "must stand once", where=f"{what}: ")
        seen.add(name)


def check_count(what: str, points: Sequence[object], most: int = MAX_POINTS) -> None:
    """Check that a trajectory has points, and not more than are read.

    Raises:
        ConfigError: It has none, or more than `most`.
    """
    if not 1 <= len(points) <= most:
        rule = f"must be from 1 to {most}; send longer ones in parts"
        raise refused("points", len(points), rule, (1, most), where=f"{what}: ")


def bounded_reader(
    what: str,
    kind: type,
    callback: Callable[[Any], object],
    refuse: Callable[[Exception], None],
    most: int = MAX_POINTS,
) -> Callable[[bytes], None]:
    """Make a callback for serialised trajectories, which doesn't deserialise one that is too long.

    Args:
        what: Name of the trajectory, for errors.
        kind: Class of the message.
        callback: Function that gets the message.
        refuse: Function that gets the error of a message that is too long, or can't be read.
        most: Number of points that the trajectory may have.
    """
    longest = most * BYTES_PER_POINT

    def read(data: bytes) -> None:
        if len(data) > longest:
            rule = f"must be at most {longest}, as of {most} points; send longer ones in parts"
            refuse(refused("bytes", len(data), rule, longest, where=f"{what}: "))
            return
        try:
            message: Any = read_message(data, kind)
        except ConfigError as error:
            refuse(error)
            return
        callback(message)

    return read


def _joint_index(
    what: str, names: Sequence[str], joints: Sequence[str], otherwise: str = ""
) -> list[int]:
    """Index of each of the robot's joints among a message's names; errors end with `otherwise`."""
    missing = [name for name in joints if name not in names]
    if missing:
        shown = ", ".join(names[:SHOWN]) + (
            f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        )
        message = f"{what}: joints {missing} are missing; it has: {shown}{otherwise}"
        raise ConfigError(message, name=missing[0], value=tuple(names), bound=tuple(joints))
    repeated = [name for name in joints if names.count(name) > 1]
    if repeated:
        message = f"{what}: joints {repeated} are named more than once; it has: {', '.join(names)}"
        raise ConfigError(message, name=repeated[0], value=tuple(names), bound=tuple(joints))
    return [names.index(name) for name in joints]


def _check_length(
    what: str, kind: str, values: Sequence[float], names: Sequence[str], otherwise: str = ""
) -> None:
    if len(values) != len(names):
        message = f"{what}: {len(values)} {kind} for {len(names)} names: must be as many{otherwise}"
        raise ConfigError(message, name=kind, value=len(values), bound=len(names))


def seconds(stamp: Time | Duration) -> float:
    """A time stamp or duration in seconds."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def to_stamp(time: float) -> Time:
    """Seconds as a time stamp."""
    whole, rest = divmod(round(time * 1e9), 1_000_000_000)
    return Time(sec=whole, nanosec=rest)


def to_duration(time: float) -> Duration:
    """Seconds as a duration."""
    whole, rest = divmod(round(time * 1e9), 1_000_000_000)
    return Duration(sec=whole, nanosec=rest)


class ValuesMessage:
    """Serialised std_msgs/Float64MultiArray of n numbers, which isn't serialised anew each time.

    The bytes around the numbers are those that ROS makes.

    Args:
        n: Number of values in the message.
    """

    def __init__(self, n: int) -> None:
        sample = np.arange(1.0, n + 1.0)
        serialised = serialize_message(Float64MultiArray(data=sample.tolist()))
        self._bytes = bytearray(serialised)
        self._numbers = np.frombuffer(
            self._bytes, dtype=float, count=n, offset=serialised.index(sample.tobytes())
        )

    def of(self, values: Array) -> bytes:
        """The serialised message with these values (n,)."""
        self._numbers[:] = values
        return bytes(self._bytes)


def numbers(values: Array) -> array[float]:
    """Values (n,) as array("d"), the form that messages take fastest."""
    return array("d", values.tobytes())


def vector(message) -> Array:
    """A geometry_msgs Vector3 or Point as (3,)."""
    return np.array([message.x, message.y, message.z])


def read_wrench(message: WrenchMsg, frame: str) -> Wrench:
    """A geometry_msgs Wrench in a frame."""
    return Wrench(vector(message.force), vector(message.torque), frame)


def read_pose(message: Pose) -> Array:
    """A geometry_msgs Pose as (4, 4).

    Raises:
        ConfigError: A number isn't finite, or the quaternion's length isn't 1.
    """
    return _pose(message.position, message.orientation)


def _pose(origin, turn) -> Array:
    position = vector(origin)
    if not is_finite(position):
        raise refused("target position", position, "must be 3 finite numbers")
    return make_pose(position, quaternion_to_rotation(np.array([turn.x, turn.y, turn.z, turn.w])))


def fill_vector(message, values: Array) -> None:
    """Write (3,) into a geometry_msgs Vector3 or Point."""
    message.x, message.y, message.z = values.tolist()


def fill_pose(message: Pose, pose: Array) -> None:
    """Write a pose (4, 4) into a message."""
    fill_vector(message.position, pose[:3, 3])
    turn = message.orientation
    turn.x, turn.y, turn.z, turn.w = rotation_to_quaternion(pose[:3, :3]).tolist()


def fill_twist(message: Twist, twist: Array) -> None:
    """Write a twist (6,) into a message."""
    fill_vector(message.linear, twist[:3])
    fill_vector(message.angular, twist[3:])


def fill_wrench(message: WrenchMsg, wrench: Array) -> None:
    """Write a wrench (6,) into a message."""
    fill_vector(message.force, wrench[:3])
    fill_vector(message.torque, wrench[3:])


def read_joint_positions(message: JointState, joints: Sequence[str]) -> Array:
    """The positions (n,) [rad] of a JointState, in the robot's order.

    Raises:
        ConfigError: A joint or a position is missing, or a name stands twice.
    """
    check_different("target joint", message.name)
    index = _joint_index("target joint", list(message.name), joints)
    _check_length("target joint", "positions", message.position, message.name)
    return np.array(message.position)[index]


def read_joint_command(message: JointState, joints: Sequence[str]) -> Command | None:
    """The command in a JointState [rad, rad/s, N·m], in the robot's order.

    The message may have other joints, too. An array that is empty, or NaN for all the joints,
    commands nothing. The first of positions, velocities and efforts that commands something gives
    the mode. Velocities go with positions where there are any. Efforts are torque offsets where
    there are positions or velocities. This is what ros2_control's topic-based hardware interface
    publishes (ros-controls/topic_based_hardware_interfaces,
    joint_state_topic_hardware_interface.cpp): an array per command interface, NaN until a
    controller has written to it.

    Returns:
        The command; None where nothing is commanded.

    Raises:
        ConfigError: Joints are missing, a name stands twice, an array has another length than the
            names, or an array has NaN for some of the joints.
    """
    check_different("joint command", message.name)
    index = _joint_index("joint command", list(message.name), joints)

    def given(kind: str, values: Sequence[float]) -> Array | None:
        if len(values) == 0:
            return None
        _check_length("joint command", kind, values, message.name, otherwise=", or none")
        chosen = np.array(values)[index]
        unset = np.isnan(chosen)
        if unset.any() and not unset.all():
            without = [name for name, is_unset in zip(joints, unset, strict=True) if is_unset]
            rule = f"{kind} must be given for all joints, or for none; NaN: {', '.join(without)}"
            raise refused(without[0], math.nan, rule, where="joint command: ")
        return None if unset.all() else chosen

    position = given("positions", message.position)
    velocity = given("velocities", message.velocity)
    effort = given("efforts", message.effort)
    if position is not None:
        return Command(CommandMode.POSITION, position, effort, velocity)
    if velocity is not None:
        return Command(CommandMode.VELOCITY, velocity, effort)
    return None if effort is None else Command(CommandMode.EFFORT, effort)


def joint_command_parts(command: Command) -> tuple[Array | None, Array | None, Array | None]:
    """Positions, velocities and efforts (n,) of a command, each None where it has none.

    It is the inverse of :func:`read_joint_command`.
    """
    if command.mode is CommandMode.POSITION:
        return command.values, command.velocity, command.feedforward
    if command.mode is CommandMode.VELOCITY:
        return None, command.values, command.feedforward
    return None, None, command.values


def fill_joint_state(
    message: JointState,
    time: float,
    position: Array | None,
    velocity: Array | None,
    effort: Array | None,
) -> None:
    """Write a stamp [s] and three arrays (n,) into a message; None makes an array empty."""
    message.header.stamp = to_stamp(time)
    parts = (position, velocity, effort)
    message.position, message.velocity, message.effort = (
        array("d") if values is None else numbers(values) for values in parts
    )


def read_joint_trajectory(
    message: JointTrajectory, joints: Sequence[str], policy_frequency: float = 0.0
) -> tuple[Array, Array, Array | None]:
    """Times (k,) [s], positions (k, n) [rad] and velocities (k, n) [rad/s], in the robot's order.

    Velocities are None unless every point has them.

    Args:
        message: Message as ros2_controllers' joint_trajectory_controller takes it.
        joints: Names of the robot's joints.
        policy_frequency: Points per second [Hz] of a message with positions alone in which all
            times are 0. The first point is due one step after the start. 0 refuses such messages.

    Raises:
        ConfigError: Joints are missing, unknown or named twice; there are no points or too many; a
            point has the wrong size; or the times don't rise.
    """
    check_count("joint trajectory", message.points)
    check_different("joint trajectory", message.joint_names)
    if sorted(message.joint_names) != sorted(joints):
        names = tuple(message.joint_names)
        rule = f"must be {', '.join(joints)}"
        raise refused("joint_names", names, rule, tuple(joints), where="joint trajectory: ")
    index = [list(message.joint_names).index(name) for name in joints]
    for number, point in enumerate(message.points):
        if len(point.positions) != len(joints):
            where = f"joint trajectory: point {number}: "
            rule = f"must be as many as joints, {len(joints)}"
            raise refused("positions", len(point.positions), rule, len(joints), where=where)
    times = np.array([seconds(point.time_from_start) for point in message.points])
    positions_alone = not any(point.velocities or point.accelerations for point in message.points)
    if policy_frequency > 0.0 and positions_alone and not times.any():
        times = np.arange(1, len(times) + 1) / policy_frequency
    if not (np.diff(times) > 0.0).all():
        rule = (
            "must rise"
            if times.any()
            else "must rise; for points without times set stream.policy_frequency"
        )
        raise refused("time_from_start", times, rule, where="joint trajectory: ", unit="s")
    positions = np.array([point.positions for point in message.points])[:, index]
    if all(len(point.velocities) == len(joints) for point in message.points):
        velocities = np.array([point.velocities for point in message.points])[:, index]
        velocities[-1][np.abs(velocities[-1]) < ROUNDED] = 0.0
        return times, positions, velocities
    return times, positions, None


def from_stamp(
    stamp: Time, now: float, times: Array, positions: Array, velocities: Array | None
) -> tuple[Array, Array, Array | None]:
    """The part of a joint trajectory that is still to come, with its times (k,) from now [s].

    The trajectory, as of :func:`read_joint_trajectory`, starts at the stamp; a stamp of 0 is now.
    `now` is by the robot's clock [s].

    Raises:
        ConfigError: The trajectory ends in the past.
    """
    start = seconds(stamp)
    if start == 0.0:
        return times, positions, velocities
    times = times + (start - now)
    if times[-1] <= 0.0:
        text = f"joint trajectory: it starts at {start:.3f} s and ended {-times[-1]:.3f} s ago"
        raise ConfigError(text, name="stamp", value=start, bound=now)
    left = times > 0.0
    return times[left], positions[left], None if velocities is None else velocities[left]


def read_tip_trajectory(message: MultiDOFJointTrajectory, tip: str) -> tuple[Array, Array]:
    """Times (k,) [s] and poses (k, 4, 4) of the tip in the message's frame; velocities aren't read.

    Raises:
        ConfigError: The name isn't the tip's alone; there are no points or too many; a point hasn't
            exactly one transform; or a transform isn't valid.
    """
    check_count("tip trajectory", message.points, MAX_POSES)
    if list(message.joint_names) != [tip]:
        names = tuple(message.joint_names)
        raise refused(
            "joint_names", names, f"must be the tip alone, {tip}", (tip,), where="tip trajectory: "
        )
    for number, point in enumerate(message.points):
        if len(point.transforms) != 1:
            where = f"tip trajectory: point {number}: "
            raise refused("transforms", len(point.transforms), "must be one", 1, where=where)
    transforms: list[Transform] = [point.transforms[0] for point in message.points]
    times = np.array([seconds(point.time_from_start) for point in message.points])
    return times, np.array([_pose(each.translation, each.rotation) for each in transforms])


def named_blocks(blocks: Mapping[str, Array], message: Float64MultiArray) -> None:
    """Write arrays into one message, each as a dimension of its layout.

    A dimension's label is the name, its size the length, its stride the offset of the array.
    """
    labels = [dimension.label for dimension in message.layout.dim]
    if labels != list(blocks):
        offset = 0
        message.layout.dim = []
        for name, values in blocks.items():
            message.layout.dim.append(
                MultiArrayDimension(label=name, size=len(values), stride=offset)
            )
            offset += len(values)
    message.data = numbers(np.concatenate(list(blocks.values())))


def read_blocks(message: Float64MultiArray) -> dict[str, Array]:
    """The arrays in a message by name; the inverse of :func:`named_blocks`."""
    data = np.array(message.data)
    return {part.label: data[part.stride : part.stride + part.size] for part in message.layout.dim}


def read_state(message: Float64MultiArray, joints: int | None = None) -> dict[str, Array]:
    """The blocks of a controller's ``~/state`` by name.

    `joints` is the number of the robot's joints; None takes any number.

    Raises:
        ConfigError: A block that each state has is missing, or has another size.
    """
    blocks = read_blocks(message)
    sizes = {name: len(values) for name, values in blocks.items()}
    joints = max(sizes.get("position", 0), 1) if joints is None else joints
    for name, size in (
        _STATE_SIZES | dict.fromkeys(("position", "velocity", "effort"), joints)
    ).items():
        if sizes.get(name) != size:
            raise refused(
                name,
                sizes.get(name, 0),
                f"must be {size} numbers",
                size,
                where="controller's state: ",
            )
    return blocks
