"""The thread beside the bus's cycle: looks at the drives, does what is asked for, and reports."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from ...core.errors import unknown
from ..driver import Driver
from .realtime import step_back
from .rpc import RpcServer, encode
from .shared_memory import Latest, SharedFile

REPORT_PERIOD = 0.1  # s


class BusMonitor:
    """Does what may take longer than a cycle. What it decides takes effect between two cycles.

    Args:
        driver: Driver of the bus.
        memory: Memory that is shared with the owner.
        servers: Servers that answer calls; the thread looks at them often.
        in_process: True where a loop may run in this process.

    Attributes:
        ending: Event that is set when the process shall end.
        failure: Error of this thread; empty where it works.
        warnings: Warnings of this process that go into the report, before those of the driver.
    """

    def __init__(
        self, driver: Driver, memory: SharedFile, servers: Sequence[RpcServer], in_process: bool
    ) -> None:
        self._driver = driver
        self._servers = servers
        self._in_process = in_process
        self._report = Latest(memory.region("report"))
        self._work = threading.Event()
        self.ending = threading.Event()
        self.failure = ""
        self._reported = -REPORT_PERIOD  # when the last report was made [s]
        self.warnings: list[str] = []

    def start(self) -> None:
        """Begin, when the cycles run."""
        threading.Thread(target=self._run, name="beside the cycle", daemon=True).start()

    def wake(self) -> None:
        """Answer the calls that wait: called by the cycle."""
        if any(server.pending for server in self._servers):
            self._work.set()

    def _loop(self) -> None:
        step_back()
        while not self.ending.is_set():
            self._work.wait(REPORT_PERIOD / 5)
            self._work.clear()
            self.turn(time.monotonic())

    def turn(self, now: float) -> None:
        """Answer the calls that wait; look and report where it is time to [s]."""
        for server in self._servers:
            server.serve()
        if now - self._reported >= REPORT_PERIOD:
            self._reported = now
            self._driver.look()
            self.report()

    def _run(self) -> None:
        """The thread: without it nobody would look at the drives any more, so its
        error ends the process.
        """
        try:
            self._loop()
        except Exception as error:
            if not self.ending.is_set():
                self.failure = f"beside the cycle: {type(error).__name__}: {error}"
                self.ending.set()

    def report(self) -> None:
        """Put a report where the owner reads it: the driver's, and what each bus has."""
        driver = self._driver
        report: dict[str, Any] = {
            **driver.describe(),
            "period": driver.period,
            "measures_wrench": driver.measures_wrench,
            "in_process": self._in_process,
            "warnings": [*self.warnings, *driver.warnings],
        }
        self._report.put(encode(report))


class BusRequests:
    """Does what the owner of the bus's process asks for, beside the cycle."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def do(self, name: str, **arguments: int | str) -> str:
        """Do what is asked for; returns what came of it.

        Raises:
            ConfigError: it is refused; says why.
            HardwareFault: a drive or the cycle doesn't answer, or it isn't done in time.
        """
        requests = self._driver.requests
        if name not in requests:
            raise unknown("request", name, requests)
        return requests[name](**arguments)
