"""The states of a robot as they come, for threads that wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..core.errors import RobotControlError
from ..sensing.contact_detector import DetectedContact
from .snapshot import Snapshot

Event = Snapshot | RobotControlError | DetectedContact


class StateFeed:
    """The newest state and the present fault.

    Attributes:
        newest: Last state; None before the first.
        fault: Reason why the robot doesn't follow its targets; None where it does.
        faults: Number of faults so far. A short one counts, too.
        last_fault: Last fault; None before the first.
        contact: Last contact that the controller has found; None where there was none since the
            last clear.
        listeners: Functions that are called with each state, fault and new contact, in the thread
            that brings it.
    """

    def __init__(self) -> None:
        self.newest: Snapshot | None = None
        self.fault: RobotControlError | None = None
        self.last_fault: RobotControlError | None = None
        self.faults = 0
        self.contact: DetectedContact | None = None
        self.listeners: list[Callable[[Event], None]] = []
        self._changed = threading.Condition()

    def put(self, snapshot: Snapshot) -> None:
        """Take a new state."""
        with self._changed:
            self.newest = snapshot
            self._changed.notify_all()
        self._tell(snapshot)

    def fail(self, fault: RobotControlError | None) -> None:
        """Take a fault, or None for its end; the same one again is none."""
        if fault is self.fault or str(fault or "") == str(self.fault or ""):
            return
        with self._changed:
            self.fault = fault
            if fault is not None:
                self.last_fault = fault
                self.faults += 1
            self._changed.notify_all()
        if fault is not None:
            self._tell(fault)

    def touch(self, contact: DetectedContact | None) -> None:
        """Take the controller's last contact; one that began later is new."""
        before = self.contact
        self.contact = contact
        if contact is not None and (before is None or before.start != contact.start):
            self._tell(contact)

    def wait(self, seen: Snapshot | None, limit: float) -> None:
        """Wait for another state than `seen`, or another fault, `limit` seconds at most."""
        with self._changed:
            faults = self.faults
            self._changed.wait_for(lambda: self.newest is not seen or self.faults != faults, limit)

    def check(self, since: int) -> None:
        """Raise the present fault, or one that came after the first `since` faults."""
        fault = self.last_fault if self.faults > since else self.fault
        if fault is not None:
            raise fault

    def _tell(self, event: Event) -> None:
        for listener in tuple(self.listeners):
            listener(event)
