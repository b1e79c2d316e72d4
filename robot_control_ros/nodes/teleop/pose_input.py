"""Leads the tip by the poses of a tracked hand while the hand grips."""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Joy

from ...core.errors import RobotControlError
from ...ros.entities import Entities
from ...ros.messages import fill_pose, read_pose
from .hand_input import Clutch, HeldButton

LOOK_PERIOD = 0.05  # s between two looks whether the hand's pose still comes


class HandPoseInput:
    """Subscribes to ``hand_pose`` and ``joy``, and publishes the controller's ``target_pose``.

    Args:
        entities: Entities of the node.
        controller: Name of the controller.
        button: Button of joy that is held while the hand grips.
        clutch: Clutch between the hand and the tip.
        timeout: Time without a pose after which the hand must grip anew: it may be elsewhere then
            [s].
    """

    def __init__(
        self,
        entities: Entities,
        controller: str,
        button: HeldButton,
        clutch: Clutch,
        timeout: float,
    ) -> None:
        self._button = button
        self._clutch = clutch
        self._timeout = timeout
        self._logger = entities.node.get_logger()
        self._reference: PoseStamped | None = None
        self._tip = np.eye(4)  # pose of the reference
        self._came = 0.0
        self._poses = entities.publisher(PoseStamped, f"{controller}/target_pose")
        entities.subscription(PoseStamped, f"{controller}/reference_pose", self._on_reference)
        entities.subscription(Joy, "joy", self._on_joy)
        entities.subscription(PoseStamped, "hand_pose", self._on_hand)
        entities.timer(LOOK_PERIOD, self._look)

    def _on_reference(self, message: PoseStamped) -> None:
        try:
            self._tip = read_pose(message.pose)
        except RobotControlError as error:
            self._logger.error(f"reference_pose: {error}", throttle_duration_sec=1.0)
            return
        self._reference = message

    def _on_joy(self, message: Joy) -> None:
        if not self._button.update(message.buttons):
            self._clutch.release()

    def _on_hand(self, message: PoseStamped) -> None:
        try:
            hand = read_pose(message.pose)
        except RobotControlError as error:
            self._logger.error(f"hand_pose: {error}", throttle_duration_sec=1.0)
            return
        self._came = time.monotonic()
        if self._reference is None or not self._button.held:
            return
        tip = self._clutch.target(hand)
        if tip is None:
            tip = self._tip
            self._clutch.grip(hand, tip)
        target = PoseStamped(header=self._reference.header)
        fill_pose(target.pose, tip)
        self._poses.publish(target)

    def _look(self) -> None:
        if self._clutch.gripped and time.monotonic() - self._came > self._timeout:
            self._clutch.release()
            self._button.release()
            self._logger.warning("no pose of the hand: the tip stays at the last one; grip anew")
