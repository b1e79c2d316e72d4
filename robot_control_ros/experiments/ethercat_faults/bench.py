"""An arm in MuJoCo on an emulated bus (:mod:`...ethercat.emulation`), and the bus's own process that drives it.

What the driver does is in what its process tells; what becomes of drives and joints, the emulator says.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ethercat_emulator import inject
from ethercat_emulator.network.veth import MASTER, SLAVES

from ...core.errors import ConfigError, HardwareFault, RobotControlError
from ...core.types import Array, Command, CommandMode, RobotState
from ...ethercat.driver.supervisor import Action
from ...ethercat.driver.topology import load_topology
from ...ethercat.emulation.program import emulated_bus
from ...ethercat.process.client import BusClient, BusSettings
from ...ethercat.process.protocol import BusStatus
from ...robot.configuration import RobotConfig, load_robot
from ...robot.model import RobotModel

ROBOT = "ur5"
FRAME_TIMEOUT = 0.003  # s: a virtual machine stalls, yet K of them must end before the slaves' watchdog of 20 ms
COMMAND_TIMEOUT = 0.2  # s: a virtual machine stalls
PRIORITY = 40  # of SCHED_FIFO, for the bus's process
STOP_TIME = 0.5  # s: an arm at this speed is at rest long before
BAD_CYCLES = 3
AMPLITUDE, PERIOD = 0.05, 4.0  # rad, s, of the joints' motion
MAX_STEP = 0.002  # s of that motion per command: what a stall of this process takes isn't made up for
STIFFNESS = 15.0  # rad/s, of the commanded torque's pull to where it holds
PATIENCE = 15.0  # s for what must follow: all mailboxes are looked into once in 6 s, one message each
POLL = 0.005  # s
ENABLED = "OPERATION_ENABLED"
_RUNNING = (Action.RUN, Action.HOLD)


class _Stream(threading.Thread):
    """Commands with each cycle.

    Args:
        client: of the bus's process.
        robot: its configuration.

    Attributes:
        mode: of the commands.
    """

    def __init__(self, client: BusClient, robot: RobotConfig) -> None:
        super().__init__(name="commands", daemon=True)
        self.mode = CommandMode.POSITION
        self._client, self._model = client, RobotModel.of(robot)
        self._center: Array | None = None
        self._moving = False
        self._phase, self._commanded = 0.0, time.monotonic()
        self._end = threading.Event()

    def hold(self) -> None:
        """Command the joints to stay where they are now."""
        self._moving, self._phase, self._center = False, 0.0, None

    def move(self) -> None:
        """Command them to move to and fro about there."""
        self._moving = True

    def end(self) -> None:
        """End."""
        self._end.set()
        self.join()

    def run(self) -> None:
        with contextlib.suppress(PermissionError):  # behind the bus and the emulator, before all that can wait
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
        last: BusStatus | None = None
        while not self._end.is_set():
            status = self._client.wait(0.02)
            last = status or last
            if last is not None and (status is not None or self._center is not None):
                self._client.command(self._command(last.state))

    def _command(self, state: RobotState) -> Command:
        center, now = self._center, time.monotonic()
        if center is None:
            self._center = center = state.q.copy()
        if self._moving:
            self._phase += min(now - self._commanded, MAX_STEP)
        self._commanded = now
        target = center + AMPLITUDE * (1.0 - np.cos(2.0 * np.pi * self._phase / PERIOD))
        if self.mode is CommandMode.POSITION:
            return Command(CommandMode.POSITION, target)
        kin = self._model.at(state.q)
        pull = STIFFNESS**2 * (target - state.q) - 2.0 * STIFFNESS * state.v
        return Command(CommandMode.EFFORT, kin.gravity + np.diag(kin.mass) * pull)


class Bench:
    """An emulated arm, and the bus's process that drives it.

    Args:
        folder: for the socket, the topology and the shared memory.
        emulate: start the emulator; else it is another bench's.
        command_timeout: age of a command at which the drives are stopped [s].
    """

    def __init__(self, folder: Path, *, emulate: bool = True, command_timeout: float = COMMAND_TIMEOUT) -> None:
        self.folder, self._channel = folder, str(folder / "faults")
        self.robot = load_robot(ROBOT)
        self.topology = _with_aliases(folder)
        self._expected = 3 * self.robot.n  # working counter
        self._emulator = ExitStack()
        if emulate:
            self._emulator.enter_context(emulated_bus(ROBOT, self.topology, SLAVES, self._channel))
        self._command_timeout = command_timeout
        self._client: BusClient | None = None
        self._stream: _Stream | None = None

    @property
    def client(self) -> BusClient:
        """Of the bus's process, which is started where there is none."""
        if self._client is None:
            self._client = _start(self.folder, self.robot, self.topology, self._command_timeout)
            self._stream = _Stream(self._client, self.robot)
            self._stream.start()
        return self._client

    @property
    def stream(self) -> _Stream:
        """Of commands."""
        assert self.client is not None
        assert self._stream is not None
        return self._stream

    def inject(self, line: str) -> float:
        """Give the emulator a line, or more with "; " between; returns when it was obeyed [s, by time.monotonic()]."""
        for each in line.split("; "):
            inject(self._channel, each)
        return float(inject(self._channel, "when"))

    def ask(self, line: str) -> Any:
        """What the emulator tells."""
        return json.loads(inject(self._channel, line))

    def let_go(self) -> None:
        """End the bus's process."""
        if self._stream is not None:
            self._stream.end()
        if self._client is not None:
            self._client.close()
        self._client = self._stream = None

    def close(self) -> None:
        """End everything."""
        self.let_go()
        self._emulator.close()

    # --- the arm ---

    def enable(self) -> str:
        """Reset what there is to reset, and enable; returns the message of the reset.

        Raises:
            ConfigError, HardwareFault: it didn't succeed.
        """
        self.wait_for(lambda: self.action is Action.DISABLE, "order to disable")
        message = self.client.request("reset_fault")
        self.stream.hold()
        until = time.monotonic() + PATIENCE
        while True:  # a few good cycles are needed first
            try:
                self.client.request("enable")
                break
            except ConfigError:
                if time.monotonic() > until:
                    raise
                time.sleep(POLL)
        self.wait_for(lambda: self.action is Action.RUN, "enabled drives")
        return message

    def run(self, mode: CommandMode) -> None:
        """Have the arm move by commands of a mode, from a standstill.

        Raises:
            HardwareFault: the drives are stopped before it moves, again and again, as on a machine that stalls.
        """
        until = time.monotonic() + PATIENCE
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
        raise HardwareFault(f"the drives are stopped before any fault: {self.client.report().get('message', '')}")

    @property
    def action(self) -> Action | None:
        """What the drives shall do now; None before the first cycle."""
        status = self.client.status()
        return None if status is None else status.action

    def turns(self, since: float) -> list[tuple[float, str, int]]:
        """(time [s, by time.monotonic()], action, working counter) of the cycles in which either became another.

        The first one is what was so at the time asked for. They are the bus process's own notes: a witness that
        stalls with the machine would miss cycles.
        """
        turns = [(at, action, counter) for at, action, counter in self.client.report().get("turns", ())]
        before = sum(at < since for at, *_ in turns)
        return turns[max(before - 1, 0) :]

    def turn_to(self, actions: Sequence[Action], since: float) -> float | None:
        """When drives were first told one of these [s, by time.monotonic()]; None where they weren't in time."""
        wanted, until = {action.value for action in actions}, time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for at, action, _ in self.turns(since):
                if at >= since and action in wanted:
                    return at
            time.sleep(POLL)
        return None

    def wait_for(self, found: Callable[[], bool], what: str) -> None:
        """Until something is so.

        Raises:
            HardwareFault: it isn't in time.
        """
        until = time.monotonic() + PATIENCE
        while not found():
            if time.monotonic() > until:
                raise HardwareFault(f"no {what} within {PATIENCE:g} s: {self.client.report().get('message', '')}")
            time.sleep(POLL)

    def disabled(self) -> bool:
        """Whether no drive is enabled, as the emulator knows."""
        return all(drive["powers"][-1] != ENABLED for drive in self.ask("drives"))

    def left(self) -> float | None:
        """When the last drive left operation enabled [s, by time.monotonic()]; None where one is in it."""
        left = [drive["left"] for drive in self.ask("drives") if drive["left"] is not None]
        return max(left) if left and self.disabled() else None

    def said(self, since: float) -> list[str]:
        """What the driver says: causes of a stop, and events from a time on [s, by time.monotonic()]."""
        report = self.client.report()
        events = [words for at, words in report.get("events", ()) if at >= since]
        return list(dict.fromkeys([*report.get("causes", ()), *events]))

    def actions(self, since: float) -> str:
        """What drives were told from a time on."""
        turns = self.turns(since)
        told = [action for at, action, _ in turns if at >= since] or [turns[-1][1]]
        return " -> ".join(word for word, before in zip(told, ["", *told], strict=False) if word != before)

    def shown(self, since: float) -> str:
        """What the master saw in the cycles from a time on."""
        wrong = sorted({counter for at, _, counter in self.turns(since) if at >= since} - {self._expected})
        words = f"working counter {', '.join(map(str, wrong or [self._expected]))}"
        al = [f"{name} {state}" for name, state in self.client.report().get("slaves", {}).items()]
        return f"{words}; {', '.join(al)}" if al else words


def _start(folder: Path, robot: RobotConfig, topology: str, command_timeout: float) -> BusClient:
    """The bus's process, with the bus in OP.

    Raises:
        ConfigError, HardwareFault: it doesn't get there.
    """
    settings = BusSettings(
        interface=MASTER,
        topology=topology,
        robot=ROBOT,
        profile=robot.profile_name,
        memory=str(folder / MASTER),
        priority=PRIORITY,
        command_timeout=command_timeout,
        bad_cycles=BAD_CYCLES,
        frame_timeout=FRAME_TIMEOUT,
        stop_time=STOP_TIME,
    )
    until = time.monotonic() + PATIENCE
    while True:
        try:
            client = BusClient(settings)
            break
        except ConfigError:  # the last one's process still ends
            if time.monotonic() > until:
                raise
            time.sleep(POLL)
    try:
        client.wait_until_ready()
    except RobotControlError:
        client.close()
        raise
    return client


def _with_aliases(folder: Path) -> str:
    """The robot's topology, with an alias per slave, so that slaves that are alike can be told apart; its path."""
    path = folder / "topology.yaml"
    if not path.exists():
        content = yaml.safe_load(load_topology(ROBOT).path.read_text(encoding="utf-8"))
        for position, slave in enumerate(content["slaves"]):
            slave["alias"] = position + 1
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)
