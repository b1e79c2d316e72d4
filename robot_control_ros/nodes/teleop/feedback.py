"""Forces at the tip for the hand: rumble of a gamepad, or a wrench for a
device that can show one.
"""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JoyFeedback

from ...core.types import Array
from ...ros.entities import Entities
from ...ros.messages import fill_vector, vector

RUMBLE_PERIOD = 0.1  # s between two messages
# s after which it is sent again: the node joy lets the gamepad shake for 1 s per message
RUMBLE_REPEAT = 0.5
RUMBLE_CHANGE = 0.02  # of the intensity, below which no message is sent before that


class Feedback:
    """Publishes ``joy/set_feedback`` and ``hand_wrench`` from the controller's ``tip_wrench``.

    Args:
        entities: Entities of the node.
        controller: Name of the controller.
        full_force: Force at the tip that is full rumble [N].
        scale: Wrench for the hand over that at the tip; 0 publishes none.
        axes: Axes (3, 3) of the hand's frame in the base.
    """

    def __init__(
        self, entities: Entities, controller: str, full_force: float, scale: float, axes: Array
    ) -> None:
        self._full_force = full_force
        self._scale = scale
        self._axes = axes
        self._intensity = 0.0
        self._sent = 0.0
        self._rumble = entities.publisher(JoyFeedback, "joy/set_feedback")
        self._wrench = entities.publisher(WrenchStamped, "hand_wrench")
        entities.subscription(WrenchStamped, f"{controller}/tip_wrench", self._on_wrench)

    def _on_wrench(self, message: WrenchStamped) -> None:
        force = vector(message.wrench.force)
        torque = vector(message.wrench.torque)
        if not np.isfinite(np.concatenate((force, torque))).all():
            return
        self._shake(min(float(np.linalg.norm(force)) / self._full_force, 1.0))
        if self._scale:
            fill_vector(message.wrench.force, self._scale * self._axes.T @ force)
            fill_vector(message.wrench.torque, self._scale * self._axes.T @ torque)
            self._wrench.publish(message)

    def _shake(self, intensity: float) -> None:
        now = time.monotonic()
        changed = abs(intensity - self._intensity) >= RUMBLE_CHANGE
        if now - self._sent < (RUMBLE_PERIOD if changed else RUMBLE_REPEAT):
            return
        self._intensity = intensity
        self._sent = now
        self._rumble.publish(JoyFeedback(type=JoyFeedback.TYPE_RUMBLE, id=0, intensity=intensity))
