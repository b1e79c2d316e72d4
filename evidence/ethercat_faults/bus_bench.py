"""An arm in MuJoCo on an emulated bus (:mod:`...ethercat.emulation`), and the bus process that
drives it.

The bus process reports what the driver does; the emulator reports what becomes of drives and
joints.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ethercat_emulator import inject
from ethercat_emulator.network.veth import MASTER, SLAVES
from robot_control_ros.core.errors import ConfigError, HardwareFault, RobotControlError
from robot_control_ros.core.output_files import write_text
from robot_control_ros.core.types import Array, Command, CommandMode, RobotState
from robot_control_ros.fieldbus.emulation.program import emulated_bus
from robot_control_ros.fieldbus.ethercat.ethercat_driver import ethercat_settings
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.fieldbus.process.client import BusClient
from robot_control_ros.fieldbus.process.protocol import BusStatus
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.robot.configuration import RobotConfig, load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.robot.yaml_files import read_yaml, yaml_text

ROBOT = "ur5"
# s: a virtual machine stalls, yet K of them must end before the slaves' watchdog of 20 ms
FRAME_TIMEOUT = 0.003
COMMAND_TIMEOUT = 0.2  # s: a virtual machine stalls
PRIORITY = 40  # of SCHED_FIFO, for the bus's process
STOP_TIME = 0.5  # s: an arm at this speed is at rest long before
BAD_CYCLES = 3
# rad, s, of the joints' motion
AMPLITUDE = 0.05
PERIOD = 4.0
# s of that motion per command: what a stall of this process takes isn't made up for
MAX_STEP = 0.002
STIFFNESS = 15.0  # rad/s, of the commanded torque's pull to where it holds
# s for what must follow: all mailboxes are looked into once in 6 s, one message each
TIMEOUT = 15.0
POLL = 0.005  # s
ENABLED = "OPERATION_ENABLED"
_RUNNING = (Action.RUN, Action.HOLD)
T = TypeVar("T")


def poll(find: Callable[[], T]) -> T:
    """Call `find` until it returns something true, or until TIMEOUT; returns its last value."""
    until = time.monotonic() + TIMEOUT
    while not (found := find()) and time.monotonic() < until:
        time.sleep(POLL)
    return found


def retry(request: Callable[[], T]) -> T:
    """Make a request until it is accepted; returns its result.

    Raises:
        ConfigError: it is still refused after TIMEOUT.
    """
    until = time.monotonic() + TIMEOUT
    while True:
        try:
            return request()
        except ConfigError:
            if time.monotonic() > until:
                raise
            time.sleep(POLL)


class _CommandStream(threading.Thread):
    """Sends commands of a `mode` with each cycle, to the client of the bus process."""

    def __init__(self, client: BusClient, robot: RobotConfig) -> None:
        super().__init__(name="commands", daemon=True)
        self.mode = CommandMode.POSITION
        self._client = client
        self._model = RobotModel.of(robot)
        self._center: Array | None = None
        self._moving = False
        self._phase = 0.0
        self._commanded = time.monotonic()
        self._end = threading.Event()

    def hold(self) -> None:
        """Command the joints to stay at their present positions."""
        self._moving = False
        self._phase = 0.0
        self._center = None

    def move(self) -> None:
        """Command the joints to swing from these positions."""
        self._moving = True

    def end(self) -> None:
        self._end.set()
        self.join()

    def run(self) -> None:
        # behind the bus and the emulator, before all that can wait
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
        last: BusStatus | None = None
        while not self._end.is_set():
            status = self._client.wait(0.02)
            last = status or last
            if last is not None and (status is not None or self._center is not None):
                self._client.command(self._command(last.state))

    def _command(self, state: RobotState) -> Command:
        center = self._center
        now = time.monotonic()
        if center is None:
            center = state.q.copy()
            self._center = center
        if self._moving:
            self._phase += min(now - self._commanded, MAX_STEP)
        self._commanded = now
        target = center + AMPLITUDE * (1.0 - np.cos(2.0 * np.pi * self._phase / PERIOD))
        if self.mode is CommandMode.POSITION:
            return Command(CommandMode.POSITION, target)
        kin = self._model.at(state.q)
        pull = STIFFNESS**2 * (target - state.q) - 2.0 * STIFFNESS * state.v
        return Command(CommandMode.EFFORT, kin.gravity + np.diag(kin.mass) * pull)


class BusBench:
    """An emulated arm, and the bus process that drives it.

    Args:
        folder: Folder for the socket, the topology and the shared memory.
        emulate: True starts the emulator; with False another bench has started it.
        command_timeout: Age of a command at which the drives are stopped [s].
    """

    def __init__(
        self, folder: Path, *, emulate: bool = True, command_timeout: float = COMMAND_TIMEOUT
    ) -> None:
        self.folder = folder
        self._channel = str(folder / "faults")
        self.robot = load_robot(ROBOT)
        self.topology = _with_aliases(folder)
        self._expected = 3 * self.robot.n  # working counter
        self._emulator = ExitStack()
        if emulate:
            self._emulator.enter_context(emulated_bus(ROBOT, self.topology, SLAVES, self._channel))
        self._command_timeout = command_timeout
        self._client: BusClient | None = None
        self._stream: _CommandStream | None = None

    @property
    def client(self) -> BusClient:
        """Client of the bus process, which is started where there is none."""
        if self._client is None:
            self._client = self._start()
        return self._client

    @property
    def stream(self) -> _CommandStream:
        """The stream of commands, which is started where there is none."""
        if self._stream is None:
            self._stream = _CommandStream(self.client, self.robot)
            self._stream.start()
        return self._stream

    def inject(self, line: str) -> float:
        """Give the emulator lines, "; " between them; returns when they were executed [s,
        by time.monotonic()].
        """
        for each in line.split("; "):
            inject(self._channel, each)
        return float(inject(self._channel, "when"))

    def query(self, line: str) -> Any:
        """The emulator's reply to a line."""
        return json.loads(inject(self._channel, line))

    def end_bus(self) -> None:
        if self._stream is not None:
            self._stream.end()
        if self._client is not None:
            self._client.close()
        self._client = None
        self._stream = None

    def close(self) -> None:
        """End the bus process and the emulator."""
        self.end_bus()
        self._emulator.close()

    # --- the arm ---

    def enable(self) -> str:
        """Reset faults and enable the drives; returns the message of the reset.

        Raises:
            ConfigError, HardwareFault: it didn't succeed.
        """
        self.wait_for(lambda: self.action is Action.DISABLE, "order to disable")
        message = self.client.request("reset_fault")
        self.stream.hold()
        retry(lambda: self.client.request("enable"))  # a few good cycles are needed first
        self.wait_for(lambda: self.action is Action.RUN, "enabled drives")
        return message

    def run(self, mode: CommandMode) -> None:
        """Move the arm by commands of a mode, from rest.

        Raises:
            HardwareFault: the drives are stopped before it moves, again and again, as on a machine
                that stalls.
        """
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            if self.action in _RUNNING:
                self.client.request("disable")
                self.wait_for(self.disabled, "disabled drives")
            self.stream.mode = mode
            self.enable()
            self.stream.move()
            time.sleep(PERIOD / 10)  # it has some speed then
            self.inject("begin")
            if self.action in _RUNNING:
                return
        raise HardwareFault(
            f"the drives are stopped before any fault: {self.client.report().get('message', '')}"
        )

    @property
    def action(self) -> Action | None:
        """Action that the drives are commanded now; None before the first cycle."""
        status = self.client.status()
        return None if status is None else status.action

    def turns(self, since: float) -> list[tuple[float, str, int]]:
        """(time [s, by time.monotonic()], action, working counter) of the cycles in which either
        changed.

        The first one holds at the time `since`. The bus process records them: a process beside it
        would miss cycles where the machine stalls.
        """
        turns = [
            (at, action, counter) for at, action, counter in self.client.report().get("turns", ())
        ]
        before = sum(at < since for at, *_ in turns)
        return turns[max(before - 1, 0) :]

    def turn_to(self, actions: Sequence[Action], since: float) -> float | None:
        """Time when one of these actions was first commanded [s, by time.monotonic()].

        None where none of them was within TIMEOUT.
        """
        wanted = {action.value for action in actions}
        return poll(
            lambda: next(
                (at for at, action, _ in self.turns(since) if at >= since and action in wanted),
                None,
            )
        )

    def wait_for(self, found: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds.

        Raises:
            HardwareFault: it doesn't within TIMEOUT.
        """
        if not poll(found):
            message = f"no {what} within {TIMEOUT:g} s: {self.client.report().get('message', '')}"
            raise HardwareFault(message, name=what, bound=TIMEOUT)

    def disabled(self) -> bool:
        """True where no drive is enabled, as the emulator reports."""
        return all(drive["powers"][-1] != ENABLED for drive in self.query("drives"))

    def disabled_at(self) -> float | None:
        """Time when the last drive left operation enabled [s, by time.monotonic()].

        None where a drive is in it, or none has left it.
        """
        times = [drive["left"] for drive in self.query("drives") if drive["left"] is not None]
        return max(times) if times and self.disabled() else None

    def messages(self, since: float) -> list[str]:
        """The driver's messages: causes of a stop, and events from a time on [s,
        by time.monotonic()].
        """
        report = self.client.report()
        events = [message for at, message in report.get("events", ()) if at >= since]
        return list(dict.fromkeys([*report.get("causes", ()), *events]))

    def actions(self, since: float) -> str:
        """The actions that were commanded from a time on."""
        turns = self.turns(since)
        actions = [action for at, action, _ in turns if at >= since] or [turns[-1][1]]
        return " -> ".join(action for action, _ in groupby(actions))

    def shown(self, since: float) -> str:
        """Text of what the master saw: working counters from a time on, and states of slaves."""
        wrong = sorted(
            {counter for at, _, counter in self.turns(since) if at >= since} - {self._expected}
        )
        counters = f"working counter {', '.join(map(str, wrong or [self._expected]))}"
        states = [
            f"{name} {state}" for name, state in self.client.report().get("slaves", {}).items()
        ]
        return f"{counters}; {', '.join(states)}" if states else counters

    def _start(self) -> BusClient:
        """Start the bus process, and wait for the bus in OP; the last one may still be ending."""
        settings = ethercat_settings(
            interface=MASTER,
            topology=self.topology,
            robot=ROBOT,
            profile=self.robot.profile_name,
            memory=str(self.folder / MASTER),
            priority=PRIORITY,
            command_timeout=self._command_timeout,
            bad_cycles=BAD_CYCLES,
            frame_timeout=FRAME_TIMEOUT,
            stop_time=STOP_TIME,
        )
        client = retry(lambda: BusClient(settings))
        try:
            client.wait_until_ready()
        except RobotControlError:
            client.close()
            raise
        return client


def _with_aliases(folder: Path) -> str:
    """Path of the robot's topology with an alias per slave, which distinguishes
    slaves that are alike.
    """
    path = folder / "topology.yaml"
    if not path.exists():
        content = read_yaml("topology", load_topology(ROBOT).path).data
        for position, slave in enumerate(content["slaves"]):
            slave["alias"] = position + 1
        write_text(path, yaml_text(content))
    return str(path)
