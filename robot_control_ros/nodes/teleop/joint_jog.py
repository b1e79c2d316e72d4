"""MoveIt Servo's joint commands: velocities of single joints in, target angles of the controller out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from ...core.errors import refused, unknown
from ...ros.entities import Entities
from ...ros.messages import check_different

LEAD = 0.2  # rad that a target may be ahead of its joint, so that it doesn't run away from one that is blocked


class JointJogging:
    """Target angles that move with commanded velocities.

    The first command after a pause takes the joints where they are. Each further one moves them on by its velocities,
    for the time that has passed since the one before.

    Args:
        scale: velocity of a command of 1 [rad/s].
        timeout: [s] between two commands that is a pause.
    """

    def __init__(self, scale: float, timeout: float) -> None:
        self._scale = scale
        self._timeout = timeout
        self._targets: dict[str, float] = {}
        self._last = -np.inf

    def targets(
        self, now: float, measured: Mapping[str, float], names: Sequence[str], velocities: Sequence[float]
    ) -> dict[str, float]:
        """Target angles [rad] of all joints.

        Args:
            now: [s].
            measured: angles of all joints [rad].
            names, velocities: of the command, each velocity from -1 to 1.

        Raises:
            ConfigError: another number of velocities than names, one that isn't finite, or a joint that is unknown or
                named twice.
        """
        if len(velocities) != len(names) or not np.isfinite(velocities).all():
            rule = f"must be a finite number for each of {len(names)} names"
            raise refused("velocities", list(velocities), rule, len(names), where="joint jog: ")
        check_different("joint jog", names)
        for name in names:
            if name not in measured:
                raise unknown("joint", name, measured)
        elapsed = now - self._last
        self._last = now
        if elapsed > self._timeout:
            self._targets = dict(measured)
            elapsed = 0.0
        moved = {
            name: elapsed * self._scale * min(max(each, -1.0), 1.0)
            for name, each in zip(names, velocities, strict=True)
        }
        self._targets = {
            name: min(max(self._targets[name] + moved.get(name, 0.0), angle - LEAD), angle + LEAD)
            for name, angle in measured.items()
        }
        return self._targets


class JointJogInput:
    """Subscribes to ``joint_jog`` and ``joint_states``, and publishes the controller's ``target_joint``.

    Args:
        entities: of the node.
        kind: control_msgs/JointJog.
        controller: name of the controller.
        scale, timeout: see JointJogging.
    """

    def __init__(self, entities: Entities, kind: type, controller: str, scale: float, timeout: float) -> None:
        self._jogging = JointJogging(scale, timeout)
        self._logger = entities.node.get_logger()
        self._measured: dict[str, float] = {}
        self._targets = entities.publisher(JointState, f"{controller}/target_joint")
        entities.subscription(JointState, "joint_states", self._on_joints)
        entities.subscription(kind, "joint_jog", self._on_jog)

    def _on_joints(self, message: JointState) -> None:
        self._measured.update(zip(message.name, message.position, strict=False))

    def _on_jog(self, message: Any) -> None:
        try:
            if not self._measured:
                raise refused("joint_states", "none", "must come before a joint can be moved")
            command = list(message.joint_names), list(message.velocities)
            targets = self._jogging.targets(time.monotonic(), self._measured, *command)
        except ValueError as error:
            self._logger.error(str(error), throttle_duration_sec=1.0)
            return
        self._targets.publish(JointState(name=list(targets), position=list(targets.values())))
