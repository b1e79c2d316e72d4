"""Who looks on while the robot is led from elsewhere: the newest telemetry, and how the controller keeps time."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from ...core.types import Array
from ...ros.entities import Entities
from ...ros.messages import read_state


class Spectator(Node):
    """Listens to the controller, and tares its wrench once: what hangs on the sensor is no push.

    Args:
        namespace: of the controller.

    Attributes:
        latest: telemetry; None before the first.
        rate: of the control loop, as the controller reports it [Hz].
        missed: deadlines, as the controller reports them.
        finished: the person has had enough.
        length: of the demonstration [s], where nobody says anything else; 0 until it is finished.
        keyboard: what must be entered while it acts.
    """

    length = 0.0
    keyboard: AbstractContextManager[Any] = nullcontext()

    def __init__(self, namespace: str = "") -> None:
        super().__init__("operator", namespace=namespace)
        self.rate = 0.0
        self.missed = 0
        self.finished = False
        self.latest: dict[str, Array] | None = None
        self._began: float | None = None
        self._entities = entities = Entities(self)
        self._zero = entities.client(Trigger, "controller/zero_wrench")
        self._taring: Any = None
        entities.subscription(Float64MultiArray, "controller/state", self._on_state)
        entities.subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics)

    @property
    def elapsed(self) -> float:
        """Time since the first telemetry, by the robot's clock [s]."""
        if self.latest is None or self._began is None:
            return 0.0
        return float(self.latest["time"][0] - self._began)

    @property
    def plan(self) -> str:
        """What will be done."""
        return "the arm holds: on the page, drag the target, push the arm, change its stiffness; Ctrl-C ends"

    @property
    def note(self) -> str:
        """What is being done."""
        return ""

    def _on_state(self, message: Float64MultiArray) -> None:
        if not self._tared():
            return
        self.latest = read_state(message)
        if self._began is None:
            self._began = float(self.latest["time"][0])

    def _tared(self) -> bool:
        """Whether the tare is done; it is requested once, when the service is there. Nothing counts before."""
        if self._taring is None and self._zero.service_is_ready():
            self._taring = self._zero.call_async(Trigger.Request())
        return self._taring is not None and self._taring.done()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            if "rate [Hz]" in values:
                with suppress(ValueError):  # another node's
                    self.rate = float(values["rate [Hz]"])
                    self.missed = int(values.get("missed deadlines", "0"))
