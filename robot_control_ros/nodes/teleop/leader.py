"""A leader arm of this package leads another arm; both are let go when one of them is lost."""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from sensor_msgs.msg import Joy

from ...core.errors import RobotControlError
from ...core.spatial import wrench_at
from ...core.types import Array
from ...ros.entities import Entities
from ...ros.messages import fill_pose, fill_wrench, read_pose
from ...ros.qos import ACKNOWLEDGED_WITHIN
from .coupling import ArmCoupling
from .hand_input import HeldButton

LEADER = "leader"
FOLLOWER = "follower"
REFERENCE = "follower's reference"


class LeaderArm:
    """Ties the arms of two controllers: poses in, the follower's target and the leader's wrench
    out.

    Args:
        entities: Entities of the node.
        leader: Name of the controller of the arm that leads.
        follower: Name of the controller of the arm that is led.
        coupling: Coupling of the two arms.
        timeout: Time without a pose of either arm after which both are let go [s].
        button: Button of joy that is held while the arms shall be tied.
    """

    def __init__(
        self,
        entities: Entities,
        leader: str,
        follower: str,
        coupling: ArmCoupling,
        timeout: float,
        button: HeldButton,
    ) -> None:
        self._coupling = coupling
        self._timeout = timeout
        self._button = button
        self._logger = entities.node.get_logger()
        self._poses: dict[str, Array] = {}
        self._came: dict[str, float] = {}
        self._base = ""  # name of the leader's base
        self._target = PoseStamped()
        self._targets = entities.publisher(PoseStamped, f"{follower}/target_pose")
        self._wrenches = entities.publisher(WrenchStamped, f"{leader}/target_wrench")
        entities.subscription(PoseStamped, f"{leader}/pose", self._on_leader)
        entities.subscription(
            PoseStamped, f"{follower}/pose", lambda message: self._store_pose(FOLLOWER, message)
        )
        entities.subscription(PoseStamped, f"{follower}/reference_pose", self._on_reference)
        if not button.held:
            entities.subscription(Joy, "joy", lambda message: button.update(message.buttons))
        entities.timer(timeout / 4.0, self._look)
        entities.on_close(self._end)

    def release(self) -> None:
        """Let both arms go: the follower stays at its last target, and nothing
        pulls at the leader.
        """
        if self._coupling.engaged:
            self._coupling.release()
            self._pull(np.zeros(6))

    def _store_pose(self, which: str, message: PoseStamped) -> bool:
        try:
            self._poses[which] = read_pose(message.pose)
        except RobotControlError as error:
            self._lost(f"pose of the {which}: {error}")
            return False
        self._came[which] = time.monotonic()
        return True

    def _on_reference(self, message: PoseStamped) -> None:
        self._target.header.frame_id = message.header.frame_id
        self._store_pose(REFERENCE, message)

    def _on_leader(self, message: PoseStamped) -> None:
        self._base = message.header.frame_id
        if not self._store_pose(LEADER, message) or self._missing():
            return
        if not self._button.held:
            self.release()
            return
        leader = self._poses[LEADER]
        follower = self._poses[FOLLOWER]
        if not self._coupling.engaged:
            self._coupling.engage(leader, follower, self._poses[REFERENCE])
        fill_pose(self._target.pose, self._coupling.target(leader))
        self._targets.publish(self._target)
        self._pull(self._coupling.wrench(leader, follower))

    def _pull(self, wrench: Array) -> None:
        """Publish the wrench (6,) about the leader's tip as one about its base's origin."""
        at = np.eye(4)
        at[:3, 3] = self._poses[LEADER][:3, 3]
        message = WrenchStamped()
        message.header.frame_id = self._base
        fill_wrench(message.wrench, wrench_at(wrench, at))
        self._wrenches.publish(message)

    def _missing(self) -> str:
        """Names of those whose poses don't come; empty where all do."""
        late = time.monotonic() - self._timeout
        return ", ".join(
            which
            for which in (LEADER, FOLLOWER, REFERENCE)
            if self._came.get(which, -np.inf) < late
        )

    def _look(self) -> None:
        if self._coupling.engaged and (missing := self._missing()):
            self.release()
            self._lost(f"no pose of the {missing}: both arms are let go")

    def _end(self) -> None:
        self.release()
        self._wrenches.wait_for_all_acked(ACKNOWLEDGED_WITHIN)

    def _lost(self, message: str) -> None:
        self._button.release()
        self._logger.warning(message, throttle_duration_sec=1.0)
