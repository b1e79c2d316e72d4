"""The bus's own process: `python -m robot_control_ros.ethercat.process.bus_process SETTINGS`. It knows nothing of ROS.

The main thread keeps time, and does nothing else. A thread beside it does what may take longer:
it talks to single slaves, answers requests, makes laws, and reports. What it decides takes effect between two cycles.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import ConfigError, RobotControlError
from ...core.types import RobotState
from ...robot.configuration import load_robot
from ..driver.ethercat_plant import EthercatPlant
from ..driver.supervisor import Action, SupervisorLimits
from ..driver.topology import load_topology
from .bus_monitor import BusMonitor
from .bus_requests import FAULTS
from .bus_settings import BusSettings
from .pacing import Timing
from .protocol import CommandCodec, StatusCodec, open_memory
from .realtime import prepare
from .shared_memory import Latest, SharedFile

if TYPE_CHECKING:  # it loads all that laws need
    from .in_process_loop import InProcessLoop


class NoLoop:
    """In the place of a loop in this process where none is wanted."""

    active = pending = False

    def prepare(self) -> None:
        """Nothing is asked for."""

    def tick(self, state: RobotState, running: bool) -> None:
        """Nothing is commanded."""

    def after(self) -> None:
        """Nothing is left to do."""

    def failure(self, now: float) -> str:
        """Nothing fails."""
        return ""

    def drop(self) -> None:
        """There is nothing to drop."""


class BusProcess:
    """Cycle after cycle, until the end of the wake socket or SIGTERM.

    Args:
        settings: see there.
    """

    def __init__(self, settings: BusSettings) -> None:
        memory = open_memory(Path(settings.memory))
        region = memory.region
        joints = load_robot(settings.robot, settings.profile).joints
        n, topology = len(joints), load_topology(settings.topology)
        if settings.watchdog:
            topology = replace(topology, watchdog=settings.watchdog)
        limits = SupervisorLimits(
            bad_cycles=settings.bad_cycles, stale_after=settings.command_timeout, stop_time=settings.stop_time
        )
        self._plant = EthercatPlant(
            joints,
            topology,
            settings.interface,
            limits,
            frame_timeout=settings.frame_timeout or None,
            timing=Timing(region("timing")),
        )
        self._settings = settings
        self._wake = socket.socket(fileno=settings.wake)
        self._wake.setblocking(False)
        self._status, self._status_codec = Latest(region("status")), StatusCodec(n)
        self._commands, self._command_codec = Latest(region("command")), CommandCodec(n)
        self._in_process = self._make_in_process(memory) if settings.in_process else NoLoop()
        self._monitor = BusMonitor(self._plant, joints, memory, self._in_process.prepare, settings.in_process)
        self._command_number = self._taken = 0
        self._refused = ""

    def _make_in_process(self, memory: SharedFile) -> InProcessLoop:
        from .in_process_loop import InProcessLoop, warm_up

        warm_up(self._settings.robot, self._settings.profile)
        return InProcessLoop(memory, self._plant.topology.cycle)

    def run(self) -> None:
        """Until the end.

        Raises:
            ConfigError, HardwareFault: the bus can't be brought to OP.
        """
        monitor = self._monitor
        signal.signal(signal.SIGTERM, lambda number, frame: monitor.ending.set())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's is for the node, which ends us in order
        try:
            self._plant.prepare()
            self._plant.master.access.listen(monitor.on_emergency)
            monitor.warnings = prepare(self._settings.priority, self._settings.processor)
            if self._plant.master.warning:
                monitor.warnings.append(self._plant.master.warning)
            self._plant.operate()
        except RobotControlError as error:
            monitor.report({"error": str(error)})
            raise
        monitor.start()
        reason = "asked to end"
        try:
            while not monitor.ending.is_set():
                self._cycle()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise
        finally:
            self._plant.close()
            monitor.report({"error": monitor.failure or reason})

    # --- the cycle ---

    def _cycle(self) -> None:
        plant = self._plant
        fresh = plant.sense()
        now, stamp = time.monotonic(), time.time()
        cycle = plant.cycle
        if fresh:
            self._take_command(stamp, now)
        plant.act()
        if failure := self._in_process.failure(now):
            self._in_process.drop()
            cycle.supervisor.trip(failure)
        in_process = self._in_process.active
        record = self._status_codec.pack(cycle, stamp, fresh, in_process, plant.missed, self._command_number)
        self._status.put(record)
        self._wake_up()
        try:
            self._in_process.after()
        except Exception as error:  # a user's law may raise anything
            cycle.supervisor.trip(f"the law failed: {type(error).__name__}: {error}")
        monitor = self._monitor
        monitor.between.run()
        monitor.trouble = not fresh or any(machine.state in FAULTS for machine in cycle.machines)
        if monitor.pending or self._in_process.pending:
            monitor.wake()

    def _take_command(self, stamp: float, now: float) -> None:
        """The newest command: of the loop in this process where there is one, else of the node."""
        cycle, in_process = self._plant.cycle, self._in_process
        try:
            if in_process.active:
                self._tick_in_process(stamp, now)
            elif self._commands.number != self._taken:
                number, record = self._commands.get()
                if number:
                    self._taken = number
                    command, given_at = self._command_codec.unpack(record)
                    cycle.command(command, given_at)
                    self._command_number += 1
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                cycle.supervisor.note(f"refused: {error}")

    def _tick_in_process(self, stamp: float, now: float) -> None:
        cycle, in_process = self._plant.cycle, self._in_process
        running = cycle.supervisor.action is Action.RUN
        try:
            command = in_process.tick(cycle.state(stamp), running)
        except Exception as error:  # a user's law may raise anything
            cycle.supervisor.trip(f"the law failed: {type(error).__name__}: {error}")
            return
        if command is not None:
            cycle.command(command, now)
            self._command_number += 1

    def _wake_up(self) -> None:
        try:
            self._wake.send(b"\0")
        except BlockingIOError:
            pass  # the node is behind; it will take the newest
        except OSError:
            self._monitor.ending.set()  # the node is gone


def main() -> None:
    """Run it."""
    if "" not in sys.path:
        sys.path.append("")  # laws of the user's own, in the folder where the command was given
    try:
        BusProcess(BusSettings.from_json(sys.argv[1])).run()
    except RobotControlError as error:
        print(f"ethercat: {error}", file=sys.stderr, flush=True)
        os._exit(1)  # the monitor may be in the middle of a transfer
    os._exit(0)


if __name__ == "__main__":
    main()
