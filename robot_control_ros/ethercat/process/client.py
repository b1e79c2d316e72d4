"""The bus's process as its owner sees it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError, HardwareFault
from ...core.types import Command
from ...robot.configuration import RobotConfig
from .bus_settings import BusSettings
from .pacing import Timing
from .protocol import BusStatus, CommandCodec, StatusCodec, lock_bus, memory_path, open_memory
from .realtime import ANY
from .shared_memory import Latest, Messages

START_TIMEOUT = 30.0  # s for the bus to be in OP
REPLY_TIMEOUT = 12.0  # s for an answer: recovery of a bus may take its time
STOP_TIMEOUT = 5.0  # s for the process to stop the drives and end
POLL = 0.002  # s


class BusClient:
    """Starts the bus's process, and ends it; it ends by itself, stopping the drives, where this process ends.

    Args:
        robot: its configuration; the process reads the same file.
        name: of the robot, or the path of its file.
        topology: name or path.
        interface: name of the network interface.
        priority: of SCHED_FIFO; 0 for none.
        processor: that the process stays on; -1 for any.
        command_timeout: age of a command at which the drives are stopped [s].
        bad_cycles: so many in a row stop them.
        frame_timeout: longest wait for a frame [s]; 0 for half a cycle. More makes sense on an emulated bus only, since
            virtual machines stall.
        in_process: whether a controller's loop may run in the process.
        watchdog: time after which slaves without process data stop by themselves [s]; 0 for the topology's.
        stop_time: longest wait for stopped drives to come to rest before they are disabled [s].
        memory: path of the shared memory; by default that of the interface.

    Attributes:
        path: of the shared memory.
        timing: how the cycles were kept.

    Raises:
        ConfigError: another process has the bus.
    """

    def __init__(
        self,
        robot: RobotConfig,
        name: str,
        topology: str,
        interface: str,
        *,
        priority: int = 0,
        processor: int = ANY,
        command_timeout: float = 0.04,
        bad_cycles: int = 3,
        frame_timeout: float = 0.0,
        in_process: bool = False,
        watchdog: float = 0.0,
        stop_time: float = 2.0,
        memory: Path | None = None,
    ) -> None:
        self.path = memory_path(interface) if memory is None else memory
        self._lock = lock_bus(self.path)
        self._memory = open_memory(self.path, create=True)
        region, n = self._memory.region, robot.n
        self.timing = Timing(region("timing"))
        self._status, self._status_codec = Latest(region("status")), StatusCodec(n)
        self._commands, self._command_codec = Latest(region("command")), CommandCodec(n)
        self._report = Latest(region("report"))
        self._requests, self._answers = Messages(region("requests")), Messages(region("answers"))
        self._number = 0
        self._wake, theirs = socket.socketpair()
        self._wake.setblocking(False)
        settings = BusSettings(
            interface=interface,
            topology=topology,
            robot=name,
            profile=robot.profile_name,
            memory=str(self.path),
            wake=theirs.fileno(),
            priority=priority,
            processor=processor,
            command_timeout=command_timeout,
            bad_cycles=bad_cycles,
            frame_timeout=frame_timeout,
            in_process=in_process,
            watchdog=watchdog,
            stop_time=stop_time,
        )
        with theirs:
            self._process = _start_process(settings, (theirs.fileno(), self._lock))

    def wait_until_ready(self) -> None:
        """Until the bus is in OP and cycles run.

        Raises:
            HardwareFault: it isn't within 30 s, or the process has ended; says why.
        """
        until = time.monotonic() + START_TIMEOUT
        while not self._status.number:
            self.check()
            if time.monotonic() > until:
                raise HardwareFault(f"the bus isn't in OP within {START_TIMEOUT:g} s")
            time.sleep(POLL)

    def check(self) -> None:
        """See that the process lives.

        Raises:
            HardwareFault: it doesn't; says why.
        """
        if self._process.poll() is not None:
            reason = self.report().get("error", f"exit status {self._process.returncode}; see its messages above")
            raise HardwareFault(f"the bus's process has ended: {reason}")

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
        """The newest; None where there is none yet."""
        number, record = self._status.get()
        return self._status_codec.unpack(record) if number else None

    def report(self) -> dict[str, Any]:
        """The newest report, see :class:`.bus_monitor.BusMonitor`; empty where there is none yet."""
        number, record = self._report.get()
        report: dict[str, Any] = json.loads(record) if number else {}
        return report

    def command(self, command: Command) -> None:
        """Hand a command over."""
        self._commands.put(self._command_codec.pack(command, time.monotonic()))

    def request(self, name: str, **arguments: Any) -> str:
        """Ask for enable, disable, quick_stop, reset_fault, read_sdo or write_sdo; returns its message.

        Raises:
            ConfigError: it is refused; says why.
            HardwareFault: no answer.
        """
        self._number += 1
        self._requests.put(json.dumps({"number": self._number, "do": name, **arguments}).encode())
        until = time.monotonic() + REPLY_TIMEOUT
        while time.monotonic() < until:
            message = self._answers.get()
            if message is None:
                self.check()
                time.sleep(POLL)
                continue
            answer = json.loads(message)
            if answer["number"] == self._number:
                if not answer["done"]:
                    raise ConfigError(answer["message"])
                return str(answer["message"])
        raise HardwareFault(f"{name}: the bus's process gave no answer within {REPLY_TIMEOUT:g} s")

    @property
    def process_number(self) -> int:
        """Of the process."""
        return self._process.pid

    def close(self) -> None:
        """End the process, which stops the drives first."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._wake.close()
        self._memory.close(remove=True)
        os.close(self._lock)


def _start_process(settings: BusSettings, descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """The bus's process, in a session of its own, with file descriptors that it inherits."""
    return subprocess.Popen(
        [sys.executable, "-m", "robot_control_ros.ethercat.process.bus_process", settings.to_json()],
        pass_fds=descriptors,
        start_new_session=True,
    )
