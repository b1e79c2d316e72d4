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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import ConfigError, HardwareFault, RobotControlError
from ...robot.configuration import load_robot
from ..ethercat.cia402 import FAULTS
from ..ethercat.ethercat_plant import EthercatPlant
from ..ethercat.supervisor import Action, SupervisorLimits
from ..ethercat.topology import load_topology
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
    """

    def __init__(self, settings: BusSettings, memory: SharedFile, wake: int) -> None:
        robot = load_robot(settings.robot, settings.profile)
        joints = robot.joints
        topology = load_topology(settings.topology)
        if settings.watchdog:
            topology = replace(topology, watchdog=settings.watchdog)
        limits = SupervisorLimits(
            bad_cycles=settings.bad_cycles,
            stale_after=settings.command_timeout,
            stop_time=settings.stop_time,
        )
        self._plant = EthercatPlant(
            joints,
            topology,
            settings.interface,
            limits,
            frame_timeout=settings.frame_timeout or None,
            timing=Timing(memory.region("timing")),
        )
        self._settings = settings
        self._memory = memory
        self._in_op = threading.Event()
        self._wake = socket.socket(fileno=wake)
        self._wake.setblocking(False)
        self._status = Latest(memory.region("status"))
        self._commands = Latest(memory.region("command"))
        self._between = BetweenCycles()
        servers = [RpcServer(memory, OWNER, BusRequests(self._plant, joints, self._between).do)]
        self._loop: InProcessLoop | None = None
        if settings.in_process:
            from .in_process_loop import InProcessLoop

            self._loop = InProcessLoop(memory, topology.cycle, self._between, robot)
            servers.append(self._loop.server)
        self._monitor = BusMonitor(
            self._plant, joints, memory, self._between, servers, settings.in_process
        )
        self._taken = 0
        self._refused = ""

    def run(self) -> None:
        """Run cycles until the end.

        Raises:
            ConfigError, HardwareFault: the bus can't be brought to OP; or why the cycles have
                ended.
        """
        monitor = self._monitor
        signal.signal(signal.SIGTERM, lambda number, frame: monitor.ending.set())
        # the terminal's is for the node, which ends us in order
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=self._watch_start, name="beside the start", daemon=True).start()
        self._plant.prepare()
        self._plant.master.access.listen(monitor.on_slave_event)
        monitor.warnings = prepare(self._settings.priority, self._settings.processor)
        monitor.warnings += self._plant.master.warnings
        self._plant.operate()
        self._in_op.set()
        monitor.start()
        try:
            while not monitor.ending.is_set():
                self._cycle()
        finally:
            self._plant.close()
        raise HardwareFault(f"the bus's process has ended: {monitor.failure or 'asked to end'}")

    def _watch_start(self) -> None:
        """A thread: end with the owner, or when asked to, where slaves that don't answer make the
        start long.

        No drive is enabled yet, so there is nothing to stop. Later the cycle itself finds its owner
        gone.
        """
        owner = select.poll()
        owner.register(self._wake, 0)  # an end that hangs up is always told
        while not self._in_op.wait(LOOK):
            if owner.poll(0) or self._monitor.ending.is_set():
                self._memory.close(remove=True)
                os._exit(0)

    # --- the cycle ---

    def _cycle(self) -> None:
        plant = self._plant
        loop = self._loop
        monitor = self._monitor
        fresh = plant.sense()
        now = time.monotonic()
        stamp = time.time()
        cycle = plant.cycle
        if fresh:
            self._take_command(stamp, now)
        plant.act()
        if loop is not None and (failure := loop.failure(now)):
            loop.active = False
            cycle.supervisor.trip(failure)
        active = loop is not None and loop.active
        self._status.put(encode(BusStatus.of(cycle, stamp, fresh, active, plant.overruns)))
        self._wake_up()
        if loop is not None:
            try:
                loop.send_telemetry()
            except Exception as error:  # a user's law may raise anything
                cycle.supervisor.trip(f"the law failed: {type(error).__name__}: {error}")
        self._between.run()
        monitor.trouble = not fresh or any(machine.state in FAULTS for machine in cycle.machines)
        monitor.wake()

    def _take_command(self, stamp: float, now: float) -> None:
        """Take the newest command.

        It is that of the loop in this process where there is one, else that of the node.
        """
        cycle = self._plant.cycle
        loop = self._loop
        try:
            if loop is not None and loop.active:
                self._tick(loop, stamp, now)
            elif self._commands.number != self._taken:
                number, record = self._commands.get()
                if number:
                    self._taken = number
                    cycle.command(*decode_command(record))
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                cycle.supervisor.note(f"refused: {error}")

    def _tick(self, loop: InProcessLoop, stamp: float, now: float) -> None:
        cycle = self._plant.cycle
        running = cycle.supervisor.action is Action.RUN
        try:
            command = loop.tick(cycle.state(stamp), running)
        except Exception as error:  # a user's law may raise anything
            cycle.supervisor.trip(f"the law failed: {type(error).__name__}: {error}")
            return
        if command is not None:
            cycle.command(command, now)

    def _wake_up(self) -> None:
        try:
            self._wake.send(b"\0")
        except BlockingIOError:
            pass  # the node is behind; it will take the newest
        except OSError:
            self._monitor.ending.set()  # the node is gone


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
