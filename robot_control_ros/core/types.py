"""Plain data that every module speaks: numpy arrays, SI units, radians.

Joint arrays are ordered as ``RobotConfig.joints``. Poses are homogeneous transforms of shape (4,
4).
Twists and wrenches are (6,) arrays, linear part first, in base axes at the tip origin
(see :mod:`robot_control_ros.core.spatial`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
JointSample = tuple[Array, Array, Array]  # (q, v, a), (n,) each
JointPathFunction = Callable[[float], JointSample]


FLOAT = np.dtype(float)
LARGEST = 1e150  # of the numbers that are taken: the sum of their squares is finite


def is_finite(values: Array) -> bool:
    """Return True where all values (n,) are finite, and small enough.

    Their norm must be below 1e150: the squares of larger numbers overflow.
    """
    # scales by itself: a dot product overflows, and numpy warns of it
    return math.hypot(*values.tolist()) < LARGEST


def as_row(array: Array) -> Array:
    """Numbers of an array as compiled functions take them; the array itself where it is fit.

    A read-only or strided array would be another type.
    """
    if array.flags.carray and array.dtype is FLOAT:
        return array
    return np.array(array, dtype=float, order="C")


class CommandMode(str, Enum):
    """Quantity of a command: torques, angles or velocities.

    The value is the name in topics and files.
    """

    EFFORT = "effort"  # N·m
    POSITION = "position"  # rad
    VELOCITY = "velocity"  # rad/s


@dataclass(slots=True, eq=False)
class Wrench:
    """Force and torque exerted BY the environment ON the robot.

    Attributes:
        force: (3,) force, in the axes of `frame` [N].
        torque: (3,) torque, in the axes of `frame`, about its origin [N·m].
        frame: Name of a frame of the robot description.
        time: Time of the measurement [s], by the clock of RobotState.time; None where it is as old
            as the state that it comes with.
    """

    force: Array
    torque: Array
    frame: str
    time: float | None = None


@dataclass(slots=True, eq=False)
class RobotState:
    """One sample of the robot; it isn't changed any more. (A frozen dataclass takes four times as
    long to make.)

    Attributes:
        time: Stamp of the sample [s].
        q: (n,) scalar joint angles [rad], also of continuous joints; the loop takes jumps by whole
            turns out of those.
        v: (n,) joint velocities [rad/s].
        effort: (n,) measured joint torques [N·m].
        wrench: The sensor's sample in the sensor's frame; None where there is none.
        wrench_on_tip: (6,) tared wrench, in base axes at the tip origin [N, N·m]; None in a plant's
            sample, and where there is no fresh wrench. The loop makes a new state with it.
        age: Age of the sample when it arrived [s]; 0 where it isn't known.
        sensors: (k,) numbers of the profile's `sensors`, in their order, NaN for those of a silent
            one; None where the robot has none. See :mod:`~..sensing.sensor`.
    """

    time: float
    q: Array
    v: Array
    effort: Array
    wrench: Wrench | None = None
    wrench_on_tip: Array | None = None
    age: float = 0.0
    sensors: Array | None = None


@dataclass(slots=True, eq=False)
class SensedState(RobotState):
    """A sample whose `wrench_on_tip` is never None, for laws with ``needs_wrench = True``."""

    wrench_on_tip: Array = field(kw_only=True)


@dataclass(slots=True, eq=False)
class Reference:
    """The wanted motion of the robot, and the wrench that it shall exert.

    Parts that are not given are None; the docstring of each law says what it does then.

    Attributes:
        pose: (4, 4) pose of the tip in the base.
        twist: (6,) twist of the tip [m/s, rad/s].
        acceleration: (6,) acceleration of the tip [m/s², rad/s²].
        wrench: (6,) feed-forward wrench that the robot shall exert on the environment [N, N·m].
        q, v, a: (n,) joint positions, velocities and accelerations [rad, rad/s, rad/s²].
        path: Function that returns (q, v, a) at any time near now [s], by the clock of
            RobotState.time.
    """

    pose: Array | None = None
    twist: Array | None = None
    acceleration: Array | None = None
    wrench: Array | None = None
    q: Array | None = None
    v: Array | None = None
    a: Array | None = None
    path: JointPathFunction | None = None


@dataclass(slots=True, eq=False)
class JointSpaceReference(Reference):
    """A reference whose q, v and a are never None, for laws that work in joint space.

    Such a law has ``reference = JointSpaceReference``.
    The loop gives `path` as well.
    """

    q: Array = field(kw_only=True)
    v: Array = field(kw_only=True)
    a: Array = field(kw_only=True)


@dataclass(slots=True, eq=False)
class Command:
    """The command to the joints.

    Attributes:
        mode: Quantity of `values`.
        values: (n,) torques, angles or velocities [N·m, rad or rad/s].
        feedforward: (n,) torque offset [N·m] that goes with a position or velocity command, or
            None.
        velocity: (n,) velocity [rad/s] that goes with a position command, or None.
    """

    mode: CommandMode
    values: Array
    feedforward: Array | None = None
    velocity: Array | None = None
