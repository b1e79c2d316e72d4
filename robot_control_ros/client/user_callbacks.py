"""A user's callbacks on contact, fault and stop."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.errors import RobotControlError
from ..sensing.contact_detector import DetectedContact
from .snapshot import Snapshot
from .state_feed import Event

RELEASED = 0.5  # of the contact's force: below it the contact has ended


class Callbacks:
    """Calls a user's functions as states and faults come.

    Args:
        concurrent: True where states come in a thread that must not wait. Then the callbacks have a
            thread of their own.
    """

    def __init__(self, concurrent: bool) -> None:
        self._concurrent = concurrent
        self._checks: list[Callable[[Event], None]] = []
        self._newest: Snapshot | None = None
        self._due: queue.SimpleQueue[tuple[Callable[[Any], object], Any] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None

    def take(self, event: Event) -> None:
        """A state, a fault, or a new contact."""
        if isinstance(event, Snapshot):
            self._newest = event
        for check in tuple(self._checks):
            check(event)

    def on_contact(self, callback: Callable[[Snapshot], object], force: float | None) -> None:
        """Call at each contact that is found, or when the measured force rises above a bound [N].

        Such a force counts anew after it has fallen below half of the bound.
        """
        self._checks.append(
            self._contact_check(callback) if force is None else self._force_check(callback, force)
        )

    def _contact_check(self, callback: Callable[[Snapshot], object]) -> Callable[[Event], None]:
        def check(event: Event) -> None:
            if isinstance(event, DetectedContact) and self._newest is not None:
                self._call(callback, self._newest)

        return check

    def _force_check(
        self, callback: Callable[[Snapshot], object], force: float
    ) -> Callable[[Event], None]:
        touching = False

        def check(event: Event) -> None:
            nonlocal touching
            if isinstance(event, Snapshot):
                size = float(np.linalg.norm(event.wrench[:3]))
                if size > force and not touching:
                    touching = True
                    self._call(callback, event)
                elif size < RELEASED * force:
                    touching = False

        return check

    def on_fault(self, callback: Callable[[RobotControlError], object]) -> None:
        """Call with each fault."""

        def check(event: Event) -> None:
            if isinstance(event, RobotControlError):
                self._call(callback, event)

        self._checks.append(check)

    def on_stop(self, callback: Callable[[Snapshot], object]) -> None:
        """Call when the reference comes to rest."""
        moved = False

        def check(event: Event) -> None:
            nonlocal moved
            if isinstance(event, Snapshot):
                if moved and not event.moving:
                    self._call(callback, event)
                moved = event.moving

        self._checks.append(check)

    def close(self) -> None:
        """Call no more."""
        self._checks.clear()
        self._due.put(None)

    def _call(self, callback: Callable[[Any], object], event: Any) -> None:
        if not self._concurrent:
            callback(event)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="robot callbacks", daemon=True)
            self._thread.start()
        self._due.put((callback, event))

    def _run(self) -> None:
        while (due := self._due.get()) is not None:
            callback, event = due
            try:
                callback(event)
            except Exception:  # it is the user's, and the next one has to be called
                traceback.print_exc()
