"""Turns input of a person's hand into motion of the tip: the part of teleoperation without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.spatial import make_pose, rotation_exp, rotation_log
from ...core.types import Array

# of sensor_msgs/Joy, each with its sign; their values are added
Axes = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Device:
    """A device that sends sensor_msgs/Joy, and the meaning of its axes.

    Attributes:
        axes: Axes of the device for each of x, y, z, rx, ry, rz.
        button: Button that must be held while the tip shall move; -1 for none.
    """

    axes: tuple[Axes, Axes, Axes, Axes, Axes, Axes]
    button: int

    def deflection(self, values: Sequence[float]) -> Array:
        """Deflection (6,) from -1 to 1; an axis that the device doesn't have is 0."""
        return np.array(
            [
                sum(sign * values[axis] for axis, sign in axes if axis < len(values))
                for axes in self.axes
            ],
            dtype=float,
        )


# Order and signs of game_controller_node (forward and left are positive, a pressed trigger is -1)
# and of spacenav: ros-drivers/joystick_drivers, joy/src/game_controller.cpp and
# spacenav/src/spacenav.cpp, branch ros2.
DEVICES = {
    # left stick: x and y; triggers: right up, left down; right stick: turns about z and y; held:
    # the left shoulder
    "game_controller": Device(
        (((1, 1.0),), ((0, 1.0),), ((4, 1.0), (5, -1.0)), (), ((3, 1.0),), ((2, 1.0),)), 9
    ),
    "spacenav": Device(
        (((0, 1.0),), ((1, 1.0),), ((2, 1.0),), ((3, 1.0),), ((4, 1.0),), ((5, 1.0),)), -1
    ),
}


def scale_deflection(deflection: Array, dead_band: float, linear: float, angular: float) -> Array:
    """The twist (6,) [m/s, rad/s] of a deflection (6,), whose full size 1 is `linear` or `angular`.

    Each value up to the dead band is 0, and begins at 0 beyond it; values that aren't finite are 0.
    """
    size = np.minimum(np.abs(np.nan_to_num(deflection, nan=0.0, posinf=0.0, neginf=0.0)), 1.0)
    beyond = np.sign(deflection) * np.maximum(size - dead_band, 0.0) / (1.0 - dead_band)
    return np.asarray(np.nan_to_num(beyond) * np.repeat((linear, angular), 3))


class HeldButton:
    """A button in messages that may leave it out: then it is as before, as spacenav sends them."""

    def __init__(self, button: int) -> None:
        self._button = button
        self.held = button < 0

    def update(self, buttons: Sequence[int]) -> bool:
        """Take one message's buttons; returns True where the button is held."""
        if 0 <= self._button < len(buttons):
            self.held = bool(buttons[self._button])
        return self.held

    def release(self) -> None:
        """Count the button as released until it is pressed; without a button nothing changes."""
        self.held = self._button < 0


class Clutch:
    """A hand that has gripped moves the tip as it moves itself; at the grip nothing jumps.

    With the poses H0 of the hand and T0 of the tip at the grip, and E the axes of the hand's frame
    in the base:

        p = p_T0 + s E (p_H - p_H0),   R = exp(E log(R_H R_H0ᵀ)) R_T0

    Args:
        axes: Axes E (3, 3) of the hand's frame in the base.
        scale: Displacement s of the tip over that of the hand.
    """

    def __init__(self, axes: Array, scale: float) -> None:
        self._axes = axes
        self._scale = scale
        self._gripped: tuple[Array, Array] | None = None

    @property
    def gripped(self) -> bool:
        """True while the hand leads the tip."""
        return self._gripped is not None

    def grip(self, hand: Array, tip: Array) -> None:
        """Lead the tip from now on; poses (4, 4) of the hand in its frame, the tip in the base."""
        self._gripped = hand, tip

    def release(self) -> None:
        """Let the tip go: the hand moves freely."""
        self._gripped = None

    def target(self, hand: Array) -> Array | None:
        """Target (4, 4) of the tip; None where the hand doesn't lead."""
        if self._gripped is None:
            return None
        hand0, tip0 = self._gripped
        position = tip0[:3, 3] + self._scale * self._axes @ (hand[:3, 3] - hand0[:3, 3])
        turn = self._axes @ rotation_log(hand[:3, :3] @ hand0[:3, :3].T)
        return make_pose(position, rotation_exp(turn) @ tip0[:3, :3])
