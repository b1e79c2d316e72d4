"""What a controller says of itself: its states, its fault, and that it is still there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Float64MultiArray, String

from ..core.errors import HardwareFault, StaleStateError
from ..ros.contact_values import read_contact
from ..ros.controller_client import ControllerClient
from ..ros.entities import Entities
from ..ros.messages import read_state
from .snapshot import Snapshot
from .state_feed import StateFeed

CHECK_PERIOD = 0.04  # s between two looks whether it is there
STALLED = 0.1  # s that such a look is late where this process was held up
# s after which an old fault is the present one: the middleware delivers older ones one by one
SETTLED = 1.0
_LATCHED = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class ControllerWatch:
    """Feeds states, faults and contacts.

    Who comes late gets the last faults as well, which have ended long ago: those that were sent
    before the first state that came. Of these only the last one counts.

    Args:
        entities: Entities that the subscriptions belong to.
        controller: Controller that is watched.
        name: Full name of the controller.
        feed: Feed that gets states, faults and contacts.
        lost_after: Time without a sign of life after which it counts as gone [s].
        hears: Function that says whether this process hears anything. Where it doesn't, the
            controller isn't to blame.

    Attributes:
        lost: True while the controller is gone.
        fault: Reason why the robot doesn't follow its targets, in the controller's words. It is
            empty where it does, and None where the controller hasn't said so yet.
    """

    def __init__(
        self,
        entities: Entities,
        controller: ControllerClient,
        name: str,
        feed: StateFeed,
        lost_after: float,
        hears: Callable[[], bool],
    ) -> None:
        self.lost = False
        self._hears = hears
        self.fault: str | None = None
        self._old: str | None = None  # the last fault from before
        self._old_at = 0.0  # when it came
        self._first_state = math.inf  # when that was sent [ns], by the controller's clock
        self._controller = controller
        self._name = name
        self._feed = feed
        self._lost_after = lost_after
        self._states = 0  # since it was lost
        now = time.monotonic()
        self._looked_at = now  # when _look() was called last [s]
        self._stalled_at = now  # when this process was held up last [s]
        entities.subscription(Float64MultiArray, f"{name}/state", self._on_state, stamped=True)
        entities.subscription(String, f"{name}/fault", self._on_fault, _LATCHED, stamped=True)
        entities.subscription(DiagnosticStatus, f"{name}/contact", self._on_contact, _LATCHED)
        entities.timer(CHECK_PERIOD, self._look)

    def _on_state(self, message: Float64MultiArray, sent: int) -> None:
        snapshot = Snapshot.of(read_state(message))
        self._controller.on_telemetry()
        self._states += 1
        self._first_state = min(self._first_state, sent)
        self._feed.put(snapshot)

    def _on_fault(self, message: String, sent: int) -> None:
        if message.data and sent < self._first_state:
            self._old = message.data
            self._old_at = time.monotonic()
        else:
            self._set_fault(message.data)

    def _set_fault(self, fault: str) -> None:
        """Take over a fault that the controller reports now, or its end (empty)."""
        self._old = None
        self.fault = fault
        if not self.lost:
            self._report_fault()

    def _on_contact(self, message: DiagnosticStatus) -> None:
        self._feed.touch(read_contact(message))

    def _look(self) -> None:
        """See whether it is there; a time in which this process was held up doesn't count.

        One that was lost is there again when its gains are known, and it sends states or says why
        it doesn't.
        """
        now = time.monotonic()
        before = self._looked_at
        self._looked_at = now
        if now - before > CHECK_PERIOD + STALLED:
            self._stalled_at = now
        if self._old is not None and now - self._old_at > SETTLED:
            self._set_fault(self._old)
        silence = min(self._controller.silence, now - self._stalled_at)
        if silence > self._lost_after and not self.lost and self._hears():
            self.lost = True
            self.fault = None
            self._states = 0
            self._first_state = math.inf
            text = f"controller {self._name} doesn't answer for {silence:.2f} s: does it still run?"
            self._feed.fail(
                StaleStateError(text, name=self._name, value=silence, bound=self._lost_after)
            )
        elif (
            silence < self._lost_after
            and self.lost
            and self._controller.known
            and (self.fault or self._states)
        ):
            self.lost = False  # and what is known of it isn't of the process before it
            self._report_fault()

    def _report_fault(self) -> None:
        self._feed.fail(HardwareFault(self.fault) if self.fault else None)
