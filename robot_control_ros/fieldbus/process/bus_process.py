"""The bus's own process: `python -m robot_control_ros.fieldbus.process.bus_process SETTINGS WAKE`.
It knows no ROS.

The main thread keeps time, and does nothing else. A thread beside it does what may take longer:
it talks to single slaves, answers calls, makes laws, and reports. What it decides takes effect
between two cycles.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import ConfigError, HardwareFault, RobotControlError
from ...core.types import RobotState
from ...robot.configuration import load_robot
from ..driver_class import driver_class
from ..supervisor import Action, SupervisorLimits
from .bus_monitor import BusMonitor, BusRequests
from .client import BusSettings
from .pacing import Timing
from .protocol import OWNER, BusStatus, decode_command, open_memory
from .realtime import prepare
from .rpc import BetweenCycles, RpcServer, encode, plain_error
from .shared_memory import Latest, SharedFile

if TYPE_CHECKING:  # it loads all that laws need
    from .in_process_loop import InProcessLoop

LOOK = 0.1  # s between two looks at the owner while the bus starts


class BusProcess:
    """Cycle after cycle, until SIGTERM, or the end of the wake socket, a file descriptor that
    gets a byte per cycle.

    Attributes:
        monitor: What is done beside the cycle.
    """

    def __init__(self, settings: BusSettings, memory: SharedFile, wake: int) -> None:
        robot = load_robot(settings.robot, settings.profile)
        limits = SupervisorLimits(
            bad_cycles=settings.bad_cycles,
            stale_after=settings.command_timeout,
            stop_time=settings.stop_time,
        )
        self._between = BetweenCycles()
        self._driver = driver_class(settings.bus)(
            robot,
            settings.address,
            settings.options,
            limits,
            Timing(memory.region("timing")),
            self._between,
        )
        self._settings = settings
        self._memory = memory
        self._operating = threading.Event()
        self._wake = socket.socket(fileno=wake)
        self._wake.setblocking(False)
        self._status = Latest(memory.region("status"))
        self._commands = Latest(memory.region("command"))
        servers = [RpcServer(memory, OWNER, BusRequests(self._driver).do)]
        self._loop: InProcessLoop | None = None
        if settings.in_process:
            from .in_process_loop import InProcessLoop

            driver = self._driver
            self._loop = InProcessLoop(
                memory, driver.period, self._between, robot, driver.measures_wrench
            )
            servers.append(self._loop.server)
        self.monitor = BusMonitor(self._driver, memory, servers, settings.in_process)
        self._cycles = 0
        self._taken = 0
        self._refused = ""

    def run(self) -> None:
        """Run cycles until the end.

        Raises:
            ConfigError, HardwareFault: why the bus can't be started, or why the cycles have ended.
        """
        monitor = self.monitor
        signal.signal(signal.SIGTERM, lambda number, frame: monitor.ending.set())
        # the terminal's is for the node, which ends us in order
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=self._watch_start, name="beside the start", daemon=True).start()
        self.start()
        monitor.start()
        try:
            while not monitor.ending.is_set():
                self.cycle()
        finally:
            self._driver.close()
        raise HardwareFault(f"the bus's process has ended: {monitor.failure or 'asked to end'}")

    def start(self) -> None:
        """Start the bus, drives disabled; cycles must follow without a pause.

        Raises:
            ConfigError, HardwareFault: as the driver raises them.
        """
        self._driver.prepare()
        self.monitor.warnings = prepare(self._settings.priority, self._settings.processor)
        self.monitor.report()  # who waits for the first cycle finds it then
        self._driver.operate()
        self._operating.set()

    def _watch_start(self) -> None:
        """A thread: end with the owner, or when asked to, where drives that don't answer make the
        start long.

        No drive is enabled yet, so there is nothing to stop. Later the cycle itself finds its owner
        gone.
        """
        owner = select.poll()
        owner.register(self._wake, 0)  # an end that hangs up is always told
        while not self._operating.wait(LOOK):
            if owner.poll(0) or self.monitor.ending.is_set():
                self._memory.close(remove=True)
                os._exit(0)

    # --- the cycle ---

    def cycle(self) -> None:
        """Sense, compute, act; then tell the others."""
        driver = self._driver
        loop = self._loop
        fresh = driver.sense()
        now = time.monotonic()
        stamp = time.time()
        state = driver.state(stamp)
        if fresh:
            self._take_command(state, now)
        driver.act()
        if loop is not None and (failure := loop.failure(now)):
            loop.active = False
            driver.trip(failure)
        self._cycles += 1
        status = BusStatus(
            state=state,
            cycle=self._cycles,
            fresh=fresh,
            action=driver.action,
            in_process=loop is not None and loop.active,
            overruns=driver.overruns,
            counters=driver.counters(),
        )
        self._status.put(encode(status))
        self._wake_up()
        if loop is not None:
            try:
                loop.send_telemetry()
            except Exception as error:  # a user's law may raise anything
                driver.trip(f"the law failed: {type(error).__name__}: {error}")
        self._between.run()
        self.monitor.wake()

    def _take_command(self, state: RobotState, now: float) -> None:
        """Take the newest command.

        It is that of the loop in this process where there is one, else that of the node.
        """
        loop = self._loop
        try:
            if loop is not None and loop.active:
                self._tick(loop, state, now)
            elif self._commands.number != self._taken:
                number, record = self._commands.get()
                if number:
                    self._taken = number
                    self._driver.command(*decode_command(record))
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                self._driver.note(f"refused: {error}")

    def _tick(self, loop: InProcessLoop, state: RobotState, now: float) -> None:
        driver = self._driver
        running = driver.action is Action.RUN
        try:
            command = loop.tick(state, running)
        except Exception as error:  # a user's law may raise anything
            driver.trip(f"the law failed: {type(error).__name__}: {error}")
            return
        if command is not None:
            driver.command(command, now)

    def _wake_up(self) -> None:
        try:
            self._wake.send(b"\0")
        except BlockingIOError:
            pass  # the node is behind; it will take the newest
        except OSError:
            self.monitor.ending.set()  # the node is gone


def main() -> None:
    """Run the bus's process by its command line."""
    if "" not in sys.path:
        sys.path.append("")  # laws of the user's own, in the folder where the command was given
    settings = BusSettings(**json.loads(sys.argv[1]))
    wake = int(sys.argv[2])
    memory = open_memory(Path(settings.memory))
    try:
        BusProcess(settings, memory, wake).run()
    except Exception as error:
        Latest(memory.region("report")).put(
            encode({"error": plain_error(error, "the bus's process")})
        )
        if not isinstance(error, RobotControlError):
            traceback.print_exc()
    memory.close(remove=True)  # its owner may have been killed
    os._exit(0)  # the monitor may be in the middle of a transfer


if __name__ == "__main__":
    main()
