"""Velocities of a hand in, those of the tip out: of gamepads, SpaceMice, programs."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from sensor_msgs.msg import Joy

from ...core.types import Array
from ...ros.entities import Entities
from ...ros.messages import fill_twist, vector
from ...ros.qos import ACKNOWLEDGED_WITHIN
from .hand_input import Device, HeldButton, scale_deflection


class TipTwists:
    """Publishes the controller's ``target_twist``; at the end it stops the tip.

    Args:
        entities: Entities of the node.
        controller: Name of the controller.
        frame: Frame of the description whose axes deflections have; empty for the base.
        dead_band: Deflection that counts as none.
        linear: Velocity of a full deflection [m/s].
        angular: Angular velocity of a full deflection [rad/s].
    """

    def __init__(
        self,
        entities: Entities,
        controller: str,
        frame: str,
        dead_band: float,
        linear: float,
        angular: float,
    ) -> None:
        self._frame = frame
        self._scale = (dead_band, linear, angular)
        self._base = ""  # its name; empty while it isn't known, and nobody would follow
        self._moving = False
        self._twists = entities.publisher(TwistStamped, f"{controller}/target_twist")
        entities.subscription(PoseStamped, f"{controller}/reference_pose", self._on_reference)
        entities.on_close(self._end)

    def lead(self, deflection: Array, frame: str = "") -> None:
        """Move the tip by a deflection (6,) from -1 to 1, in a frame.

        A hand that is at rest stops the tip once, and then leaves it to others.
        """
        twist = scale_deflection(deflection, *self._scale)
        if not twist.any():
            self.stop()
        elif self._base:
            self._publish(twist, frame)
            self._moving = True

    def stop(self) -> None:
        """Stop the tip where this input has moved it; else leave it alone."""
        if self._moving:
            self._publish(np.zeros(6))
            self._moving = False

    def _publish(self, twist: Array, frame: str = "") -> None:
        message = TwistStamped()
        message.header.frame_id = frame or self._frame or self._base
        fill_twist(message.twist, twist)
        self._twists.publish(message)

    def _on_reference(self, message: PoseStamped) -> None:
        self._base = message.header.frame_id

    def _end(self) -> None:
        self.stop()
        self._twists.wait_for_all_acked(ACKNOWLEDGED_WITHIN)


class JoyInput:
    """Subscribes to ``joy``: the axes of a device lead the tip while its button is held."""

    def __init__(
        self, entities: Entities, device: Device, button: HeldButton, twists: TipTwists
    ) -> None:
        self._device = device
        self._button = button
        self._twists = twists
        entities.subscription(Joy, "joy", self._on_joy)

    def _on_joy(self, message: Joy) -> None:
        if self._button.update(message.buttons):
            self._twists.lead(self._device.deflection(message.axes))
        else:
            self._twists.stop()


class TwistInput:
    """Subscribes to ``twist``, or to ``twist_stamped``, whose frame counts where it names one."""

    def __init__(self, entities: Entities, stamped: bool, twists: TipTwists) -> None:
        self._twists = twists
        if stamped:
            entities.subscription(TwistStamped, "twist_stamped", self._on_stamped)
        else:
            entities.subscription(Twist, "twist", self._on_twist)

    def _on_twist(self, message: Twist) -> None:
        self._twists.lead(_deflection(message))

    def _on_stamped(self, message: TwistStamped) -> None:
        self._twists.lead(_deflection(message.twist), message.header.frame_id)


def _deflection(message: Any) -> Array:
    return np.concatenate((vector(message.linear), vector(message.angular)))
