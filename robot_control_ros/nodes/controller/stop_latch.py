"""STOP that stays: after ``~/stop`` nobody activates the controller until somebody calls
``~/release_stop``.
"""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import Bool

from ...core.errors import ConfigError
from ...ros.entities import Entities
from ...ros.qos import LATCHED_QOS

RELEASE = "ros2 service call {name} std_srvs/srv/Trigger"


class StopLatch:
    """The services ``~/stop`` and ``~/release_stop``, and the latched topic ``~/stopped``.

    They exist as long as the node.

    Args:
        node: Node of the controller.
        deactivate: Function that sends the safe output and deactivates an active controller; it
            does nothing with an inactive one.

    Attributes:
        stopped: True while activation is refused.
    """

    def __init__(self, node: Node, deactivate: Callable[[], None]) -> None:
        self.stopped = False
        self._node = node
        self._deactivate = deactivate
        entities = Entities(node)
        self._topic = entities.publisher(Bool, "~/stopped", LATCHED_QOS)
        entities.trigger("~/stop", self._stop, "stopped")
        entities.trigger("~/release_stop", self._release, "released: it may be activated")
        self._tell()

    def check(self) -> None:
        """See that the controller may be activated.

        Raises:
            ConfigError: It was stopped; the message says how to release it.
        """
        if self.stopped:
            command = RELEASE.format(name=self._node.resolve_service_name("~/release_stop"))
            message = (
                f"it was stopped by STOP: release it first, by Activate on the page, or: {command}"
            )
            raise ConfigError(message, name="stopped", value=True, bound=False)

    def _stop(self) -> None:
        """Set the latch, then deactivate.

        In this order nobody activates in between, and others know why the commands end.
        """
        if not self.stopped:
            self.stopped = True
            self._tell()
        self._deactivate()

    def _release(self) -> None:
        if self.stopped:
            self.stopped = False
            self._tell()
            self._node.get_logger().info("STOP is released: the controller may be activated")

    def _tell(self) -> None:
        self._topic.publish(Bool(data=self.stopped))
