"""What the controller answers to targets, and why it doesn't follow them:
``~/target_reply`` and ``~/fault``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ...control.controller import Controller
from ...core.errors import RobotControlError
from ...ros.entities import Entities
from ...ros.messages import seconds

INACTIVE = "the controller is not active: activate it first"
FAULT = "fault"  # topic of each controller, below its name
_DEPTH = 20  # of both topics: none of them may get lost that follow each other


class Answers:
    """Publishes ``~/target_reply`` and ``~/fault`` for one loop."""

    def __init__(self, entities: Entities, loop: Controller) -> None:
        self._loop = loop
        self._fault = INACTIVE
        self._replies = entities.publisher(DiagnosticStatus, "~/target_reply", _DEPTH)
        latched = QoSProfile(depth=_DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._faults = entities.publisher(String, f"~/{FAULT}", latched)
        self._faults.publish(String(data=self._fault))

    def fault(self, text: str) -> None:
        """Publish why the robot doesn't follow its law, where that has changed;
        empty where it does.
        """
        if text != self._fault:
            self._fault = text
            self._faults.publish(String(data=text))

    @property
    def text(self) -> str:
        """Why the robot doesn't follow its law, as published last; empty where it does."""
        return self._fault

    def inactive(self, leading: Sequence[str]) -> str:
        """Publish that the controller isn't active, and who leads the robot in its
        place; returns the text.
        """
        text = INACTIVE
        if leading:
            text = f"the controller is not active: {', '.join(leading)} commands the robot. Deactivate that first"
        self.fault(text)
        return text

    def reply(self, target: Any, error: RobotControlError | None) -> None:
        """Answer a target that has a stamp; a target without one gets no answer.

        Args:
            target: Message of the target. Its stamp is sent back, so the sender knows which target
                is meant.
            error: Reason why the target was refused; None where it was taken.
        """
        stamp = target.header.stamp
        state = self._loop.state
        has_stamp = seconds(stamp) != 0.0
        if not has_stamp or not self._replies.get_subscription_count():
            return
        data: dict[str, Any] = {
            "stamp": [stamp.sec, stamp.nanosec],
            "time": 0.0 if state is None else state.time,
        }
        status = DiagnosticStatus(level=DiagnosticStatus.OK, name="target")
        if error is not None:
            status.level = DiagnosticStatus.ERROR
            status.message = str(error)
            data |= {"name": error.name, "value": error.value, "bound": error.bound}
        status.values = [KeyValue(key=key, value=_json(value)) for key, value in data.items()]
        self._replies.publish(status)


def _json(value: Any) -> str:
    """A value as JSON: an array as a list, another value that JSON doesn't know as its text."""
    return json.dumps(
        value, default=lambda other: other.tolist() if hasattr(other, "tolist") else str(other)
    )
