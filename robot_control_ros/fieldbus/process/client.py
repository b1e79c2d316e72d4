"""The bus's process as its owner sees it."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...core.errors import HardwareFault
from ...core.types import Command
from ..driver_class import driver_class
from .pacing import Timing
from .protocol import OWNER, BusStatus, encode_command, memory_path, open_memory
from .realtime import ANY
from .rpc import RpcClient, decode, made_error
from .shared_memory import Latest

START_TIMEOUT = 30.0  # s for the bus to run
# s more where laws run in the bus's process: the first time they are compiled
COMPILE_TIMEOUT = 120.0
REPLY_TIMEOUT = 12.0  # s for an answer: recovery of a bus may take its time
STOP_TIMEOUT = 5.0  # s for the process to stop the drives and end
POLL = 0.002  # s


@dataclass(frozen=True, kw_only=True)
class BusSettings:
    """Options of the bus's process, as they go through its command line.

    Attributes:
        bus: Kind of bus, or a driver's ``package.module:Class``, see
            :func:`~..driver_class.driver_class`.
        address: Place of the bus: a network interface, an IP address, a CAN channel.
        robot, profile: Name of the robot, or path of its file, and name of its profile.
        options: Settings of this kind of bus by name, as JSON has them.
        memory: Path of the shared memory; empty for that of the address.
        priority: Priority of SCHED_FIFO; 0 for none.
        processor: Number of the processor that the process stays on; -1 for any.
        command_timeout: Age of a command at which the drives are stopped [s].
        bad_cycles: Number of bad cycles in a row that stops the drives.
        in_process: True where a controller's loop may run in the process; its libraries are then
            loaded before the bus starts.
        stop_time: Longest wait for stopped drives to come to rest before they are disabled [s].
    """

    bus: str
    address: str
    robot: str
    profile: str
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: str = ""
    priority: int = 0
    processor: int = ANY
    command_timeout: float = 0.04
    bad_cycles: int = 3
    in_process: bool = False
    stop_time: float = 2.0


class BusClient:
    """Starts the bus's process, and ends it.

    Where this process ends, the bus's process stops the drives and ends by itself.

    Attributes:
        path: Path of the shared memory.
        timing: Record of how the cycles were kept.

    Raises:
        ConfigError: another process has the bus.
    """

    def __init__(self, settings: BusSettings) -> None:
        self.path = Path(settings.memory) if settings.memory else memory_path(settings.address)
        # before the memory of whoever has it is touched
        driver_class(settings.bus).check_free(settings.address)
        self._memory = open_memory(self.path, create=True)
        region = self._memory.region
        self.timing = Timing(region("timing"))
        self._status, self._commands, self._report = map(
            Latest, map(region, ("status", "command", "report"))
        )
        self._rpc = RpcClient(self._memory, OWNER, REPLY_TIMEOUT, self.check)
        self._wake, theirs = socket.socketpair()
        self._wake.setblocking(False)
        self._start_timeout = START_TIMEOUT + (COMPILE_TIMEOUT if settings.in_process else 0.0)
        settings = replace(settings, memory=str(self.path))
        program = [sys.executable, "-m", "robot_control_ros.fieldbus.process.bus_process"]
        with theirs:
            self._process = subprocess.Popen(
                [*program, json.dumps(asdict(settings)), str(theirs.fileno())],
                pass_fds=(theirs.fileno(), self._memory.descriptor),
                start_new_session=True,
            )

    def wait_until_ready(self) -> dict[str, Any]:
        """Wait until cycles run; returns the report.

        A HardwareFault says that it takes too long; raises also as :meth:`check`.
        """
        until = time.monotonic() + self._start_timeout
        while not (self._status.number and (report := self.report())):
            self.check()
            if time.monotonic() > until:
                text = f"the bus doesn't run within {self._start_timeout:g} s"
                raise HardwareFault(text, bound=self._start_timeout)
            time.sleep(POLL)
        return report

    def check(self) -> None:
        """See that the process lives.

        Raises:
            RobotControlError: why it doesn't, as it was raised there.
        """
        if self._process.poll() is not None:
            if given := self.report().get("error"):
                raise made_error(given)
            text = f"the bus's process has ended with status {self._process.returncode}; see its messages above"
            raise HardwareFault(text)

    def wait(self, timeout: float) -> BusStatus | None:
        """The next status; None where none comes in time [s], or the process has ended."""
        readable, _, _ = select.select([self._wake], [], [], timeout)
        if not readable:
            return None
        with contextlib.suppress(BlockingIOError):
            if not self._wake.recv(1 << 16):
                return None
        return self.status()

    def status(self) -> BusStatus | None:
        """The newest status; None where there is none yet."""
        number, record = self._status.get()
        return BusStatus.decode(record) if number else None

    def report(self) -> dict[str, Any]:
        """The newest report, see :class:`.bus_monitor.BusMonitor`; empty
        where there is none yet.
        """
        number, record = self._report.get()
        report: dict[str, Any] = decode(record) if number else {}
        return report

    def command(self, command: Command) -> None:
        """Hand a command over."""
        self._commands.put(encode_command(command, time.monotonic()))

    def request(self, name: str, **arguments: Any) -> str:
        """Ask for enable, disable, quick_stop, reset_fault, or another request of the driver;
        returns its message.

        Raises:
            ConfigError: it is refused; says why.
            HardwareFault: a drive, the cycle or the process doesn't answer.
        """
        return str(self._rpc.call(name, **arguments))

    @property
    def process_number(self) -> int:
        """Number of the process (PID)."""
        return self._process.pid

    def close(self) -> None:
        """End the process, which stops the drives first."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._wake.close()
        self._memory.close(remove=True)
