"""Rows of messages whose numbers, names, sizes, frames or stamps are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from .arm import changed
from .heard_commands import STRANGER
from .line import Line
from .trial import Fault, Trial

NUMBERS = {"NaN": math.nan, "infinity": math.inf, "1e300": 1e300}
APART = 0.02  # s from one damaged message to the next
LASTING = 0.3  # s of damaged messages alone
REFUSED = "must be|finite|are missing|more than once|names|no wrench|unknown frame"
Change = Callable[[Any], Any]


# --- damage ---


def with_number(field: str, index: int, value: float) -> Change:
    """A change that puts another number at a place of one of a joint state's lists."""

    def change(message: JointState) -> JointState:
        numbers = list(getattr(message, field))
        numbers[index] = value
        return changed(message, **{field: numbers})

    return change


def with_wrench(part: str, axis: str, value: float) -> Change:
    """A change that puts another number into a wrench."""

    def change(message: WrenchStamped) -> WrenchStamped:
        copy = WrenchStamped(header=message.header)
        for each in ("force", "torque"):
            for name in "xyz":
                number = (
                    value
                    if (each, name) == (part, axis)
                    else getattr(getattr(message.wrench, each), name)
                )
                setattr(getattr(copy.wrench, each), name, number)
        return copy

    return change


def with_frame(frame: str) -> Change:
    """A change that gives a wrench another frame."""

    def change(message: WrenchStamped) -> WrenchStamped:
        copy = WrenchStamped(wrench=message.wrench)
        copy.header.stamp = message.header.stamp
        copy.header.frame_id = frame
        return copy

    return change


def _without(message: JointState, joint: int) -> JointState:
    keep = [k for k in range(len(message.name)) if k != joint]
    lists = {
        name: [getattr(message, name)[k] for k in keep]
        for name in ("name", "position", "velocity", "effort")
    }
    return changed(message, **lists)


def _moved(message: JointState, joint: int, by: float) -> JointState:
    positions = list(message.position)
    positions[joint] += by
    return changed(message, position=positions)


def _renamed(message: JointState, joint: int, name: str) -> JointState:
    names = list(message.name)
    names[joint] = name
    return changed(message, name=names)


def _repeated(message: JointState) -> JointState:
    lists = {
        name: [*getattr(message, name), getattr(message, name)[0]]
        for name in ("name", "position", "velocity")
    }
    return changed(message, **lists, effort=[])


SIZES: Sequence[Change] = (
    lambda message: changed(message, position=message.position[:-1]),
    lambda message: changed(message, position=[]),
    lambda message: changed(message, velocity=[]),
    lambda message: changed(message, velocity=[*message.velocity, 0.0]),
    lambda message: changed(message, name=list(message.name)[:-1]),
    lambda message: changed(message, name=[]),
    lambda message: changed(message, effort=message.effort[:-1]),
)
NAMES: Sequence[Change] = (
    *(lambda message, k=k: _without(message, k) for k in range(6)),
    *(lambda message, k=k: _renamed(message, k, "joint of another") for k in range(6)),
    lambda message: _renamed(message, 2, ""),
    lambda message: _renamed(message, 2, message.name[1]),
    _repeated,
    lambda message: changed(message, name=[f"joint_{k}" for k in range(6)]),
)


# --- injection ---


def one_by_one(of: Callable[[Trial], Line], changes: Sequence[Change]) -> Callable[[Trial], None]:
    """Damage single messages, one in each of several ways, with good ones between them."""

    def inject(trial: Trial) -> None:
        line = of(trial)
        for change in changes:
            line.change = change
            trial.arm.step()
            line.change = None
            trial.step(APART)

    return inject


def lasting(of: Callable[[Trial], Line], change: Change) -> Callable[[Trial], None]:
    """Damage all messages for a time."""

    def inject(trial: Trial) -> None:
        line = of(trial)
        line.change = change
        trial.step(LASTING)
        line.change = None
        trial.step(LASTING)

    return inject


def states(trial: Trial) -> Line:
    """The line of joint states."""
    line: Line = trial.arm.states
    return line


def wrenches(trial: Trial) -> Line:
    """The line of wrenches."""
    line: Line = trial.arm.wrenches
    return line


def _joint_changes(value: float) -> list[Change]:
    return [
        with_number(field, k, value)
        for field in ("position", "velocity", "effort")
        for k in range(6)
    ]


def _wrench_changes(value: float) -> list[Change]:
    return [with_wrench(part, axis, value) for part in ("force", "torque") for axis in "xyz"]


# --- targets and commands of strangers ---


def _targets(value: float) -> Iterator[tuple[str, type, Any]]:
    """Topic, type and message of targets that have the value at one place, each place in turn."""
    for part, axes in (("position", "xyz"), ("orientation", "xyzw")):
        for axis in axes:
            pose = PoseStamped()
            pose.pose.position.x = 0.4
            pose.pose.position.z = 0.4
            setattr(getattr(pose.pose, part), axis, value)
            pose.header.frame_id = "base_link"
            yield "/controller/target_pose", PoseStamped, pose
    for part in ("linear", "angular"):
        for axis in "xyz":
            twist = TwistStamped()
            setattr(getattr(twist.twist, part), axis, value)
            twist.header.frame_id = "base_link"
            yield "/controller/target_twist", TwistStamped, twist
    for part in ("force", "torque"):
        for axis in "xyz":
            wrench = WrenchStamped()
            setattr(getattr(wrench.wrench, part), axis, value)
            wrench.header.frame_id = "base_link"
            yield "/controller/target_wrench", WrenchStamped, wrench


def targets(value: float) -> Callable[[Trial], None]:
    """Send targets with a number that can't be, at each place of each kind."""

    def inject(trial: Trial) -> None:
        joints = list(trial.bench.robot.joints)
        home = list(trial.bench.robot.home)
        made = list(_targets(value))
        for k in range(len(joints)):
            position = [value if j == k else home[j] for j in range(len(joints))]
            made.append(
                ("/controller/target_joint", JointState, JointState(name=joints, position=position))
            )
        for topic, kind, message in made:
            trial.publish(topic, kind, message)
            trial.step(APART)

    return inject


def unknown_frames(trial: Trial) -> None:
    """Send targets in frames that the robot doesn't have."""
    for frame in ("camera", "", "tool0/", "../base_link", "a" * 10_000):
        for topic, kind in (
            ("/controller/target_pose", PoseStamped),
            ("/controller/target_twist", TwistStamped),
            ("/controller/target_wrench", WrenchStamped),
        ):
            message = kind()
            message.header.frame_id = frame
            if kind is PoseStamped:
                message.pose.position.x = math.nan if frame == "" else 0.3
            trial.publish(topic, kind, message)
            trial.step(APART)


def stranger_commands(value: float) -> Callable[[Trial], None]:
    """Let a stranger command the joints beside the controller.

    At each place in turn it has a number that can't be.
    """

    def inject(trial: Trial) -> None:
        for k in range(6):
            values = [0.0] * 6
            values[k] = value
            message = Float64MultiArray(data=values)
            message.layout.dim = [MultiArrayDimension(label=STRANGER, size=6, stride=6)]
            trial.publish("/forward_effort_controller/commands", Float64MultiArray, message)
            trial.step(APART)
        trial.step(1.5)
        trial.leave()

    return inject


def _rows_of_numbers(name: str, value: float) -> tuple[Fault, ...]:
    return (
        Fault(
            f"joint states: {name} in each number",
            one_by_one(states, _joint_changes(value)),
            REFUSED,
        ),
        Fault(
            f"joint states: {name} in a position for 0.3 s",
            lasting(states, with_number("position", 1, value)),
            REFUSED,
            safe="controller",
        ),
        Fault(
            f"joint states: {name} in a velocity for 0.3 s",
            lasting(states, with_number("velocity", 1, value)),
            REFUSED,
            safe="controller",
        ),
        Fault(
            f"wrench: {name} in each number",
            one_by_one(wrenches, _wrench_changes(value)),
            REFUSED,
            law="admittance",
        ),
        Fault(
            f"wrench: {name} in a force for 0.3 s",
            lasting(wrenches, with_wrench("force", "z", value)),
            REFUSED,
            safe="controller",
            law="admittance",
        ),
        Fault(
            f"targets: {name} in each number",
            targets(value),
            "must|finite|outside|can't be reached",
        ),
        Fault(
            f"commands of a stranger: {name} in each number",
            stranger_commands(value),
            "commands the robot, too",
        ),
    )


MESSAGES = (
    *(row for name, value in NUMBERS.items() for row in _rows_of_numbers(name, value)),
    Fault("joint states: wrong sizes", one_by_one(states, SIZES), REFUSED),
    Fault("joint states: missing, renamed, repeated joints", one_by_one(states, NAMES), REFUSED),
    Fault(
        "joint states: a joint jumps for one sample, moving",
        one_by_one(states, [lambda message: _moved(message, 2, 0.5)]),
        "moved by",
        moving=True,
    ),
    Fault(
        "joint states: a joint jumps and stays",
        lasting(states, lambda message: _moved(message, 2, 0.5)),
        "jumped by",
        safe="controller",
        near=False,
    ),
    Fault(
        "joint states: a joint missing for 0.3 s, moving",
        lasting(states, lambda message: _without(message, 1)),
        "are missing",
        safe="controller",
        moving=True,
        near=False,
    ),
    Fault(
        "joint states: a joint renamed for 0.3 s",
        lasting(states, lambda message: _renamed(message, 1, "joint of another")),
        "are missing",
        safe="controller",
    ),
    Fault(
        "joint states: a joint repeated for 0.3 s",
        lasting(states, _repeated),
        "more than once",
        safe="controller",
    ),
    Fault(
        "wrench: unknown frame for 0.3 s",
        lasting(wrenches, with_frame("camera")),
        "frame",
        safe="controller",
        law="admittance",
    ),
    Fault("targets: unknown frames", unknown_frames, "frame"),
)
