"""The fault table: each fault injected into an emulated bus over the real master, and what the driver did.

An arm in MuJoCo hangs on the emulated bus (:mod:`.emulator.program`), the bus's own process drives it, and its joints
move slowly when the fault comes. What the driver did is in what the process tells; what became of drives and joints,
the emulator witnesses.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ...errors import ConfigError, HardwareFault, RobotControlError
from ...model import RobotModel
from ...robots import RobotConfig, load_robot
from ...types import Array, Command, CommandMode, RobotState
from .client import BusClient
from .emulator.child import emulated_bus
from .emulator.fault_channel import inject
from .emulator.veth import MASTER, SLAVES, enter_namespace, make_pair
from .protocol import BusStatus, memory_path
from .supervisor import Action
from .topology import load_topology

ROBOT = "ur5"
FRAME_TIMEOUT = 0.003  # s: a virtual machine stalls, yet K of them must end before the slaves' watchdog of 20 ms
COMMAND_TIMEOUT = 0.2  # s: a virtual machine stalls
OWNED_COMMAND_TIMEOUT = 0.04  # s, where commands shall end
PRIORITY = 40  # of SCHED_FIFO, for the bus's process
STOP_TIME = 0.5  # s: an arm at this speed is at rest long before
BAD_CYCLES = 3
AMPLITUDE, PERIOD = 0.05, 4.0  # rad, s, of the joints' motion
LONGEST_STEP = 0.002  # s of that motion per command: what a stall of this process takes isn't made up for
STIFFNESS = 15.0  # rad/s, of the commanded torque's pull to where it holds
WATCH = 0.5  # s, for which drives must stay disabled once the fault is over
PATIENCE = 15.0  # s for what must follow: all mailboxes are looked into once in 6 s, one message each
POLL = 0.005  # s
AT_REST = 0.2  # s of holding after recovery
ENABLED = "OPERATION_ENABLED"
_MODULE = "robot_control_ros.plants.ethercat.fault_trials"
_STOPPED = (Action.QUICK_STOP, Action.DISABLE)


@dataclass(frozen=True)
class Fault:
    """One row.

    Attributes:
        name: for people, and to choose it.
        inject, mend: lines for the fault channel; after the second one recovery must succeed.
        words: regular expression of what the driver must say, in causes, events or an error.
        action: that must follow; the arm goes on where it isn't quick stop.
        modes: of the commands.
        trial: how it is injected and watched; by default while the arm runs.
    """

    name: str
    inject: str
    words: str
    mend: str = ""
    action: Action | None = Action.QUICK_STOP
    modes: tuple[CommandMode, ...] = (CommandMode.POSITION,)
    trial: Callable[[Bench, Fault, CommandMode], Record] | None = None


@dataclass(frozen=True)
class Record:
    """What was seen of one fault; times in s, from its injection.

    Attributes:
        fault, mode: which; the commands' mode.
        shown: what the master saw: working counters other than the right one, and AL states other than OP.
        action: what the drives were told.
        said: causes, events or the error, in the driver's words.
        reaction: until the first cycle that acted on it; None where nothing had to be.
        disabled: until the last drive had left operation enabled; None where none did.
        step, moved: the largest motion of a joint in one cycle, and how far one got, until recovery [rad].
        self_enabled: how often a drive was enabled before it was asked for.
        recovery: what brought it back, in words.
        recovered: whether the arm runs and holds then.
    """

    fault: str
    mode: str
    shown: str
    action: str
    said: tuple[str, ...]
    reaction: float | None
    disabled: float | None
    step: float
    moved: float
    self_enabled: int
    recovery: str
    recovered: bool


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
            self._phase += min(now - self._commanded, LONGEST_STEP)
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
        """Reset what there is to reset, and enable; returns what was said to the reset.

        Raises:
            ConfigError, HardwareFault: it didn't succeed.
        """
        self.wait_for(lambda: self.action is Action.DISABLE, "order to disable")
        said = self.client.request("reset_fault")
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
        return said

    def run(self, mode: CommandMode) -> None:
        """Have the arm move by commands of a mode, from a standstill."""
        if self.action in (Action.RUN, Action.HOLD):
            self.client.request("disable")
            self.wait_for(self.disabled, "disabled drives")
        self.stream.mode = mode
        self.enable()
        self.stream.move()
        time.sleep(PERIOD / 10)  # it has some speed then
        self.inject("begin")

    @property
    def action(self) -> Action | None:
        """What the drives are told now; None before the first cycle."""
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
                raise HardwareFault(f"no {what} within {PATIENCE:g} s: {self.client.report().get('words', '')}")
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
    until = time.monotonic() + PATIENCE
    while True:
        try:
            client = BusClient(
                robot,
                ROBOT,
                topology,
                MASTER,
                priority=PRIORITY,
                command_timeout=command_timeout,
                bad_cycles=BAD_CYCLES,
                frame_timeout=FRAME_TIMEOUT,
                memory=folder / MASTER,
                stop_time=STOP_TIME,
            )
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


# --- how a fault is injected and watched ---


def _while_running(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """The arm moves, and the fault comes."""
    bench.run(mode)
    return _follow(bench, fault, mode, bench.inject(fault.inject), lambda: _mended(bench, fault))


def _mended(bench: Bench, fault: Fault) -> list[str]:
    if fault.mend:
        bench.inject(fault.mend)
    return []


def _follow(
    bench: Bench, fault: Fault, mode: CommandMode, begin: float, mend: Callable[[], list[str]], asked: int = 0
) -> Record:
    """What comes of a fault that came at a time [s, by time.monotonic()], to the end of its recovery.

    `mend` takes it away, and returns what the driver said meanwhile; so many drives were `asked` to be enabled after
    the beginning.
    """
    reacted = None
    if fault.action is not None:
        reacted = bench.turn_to(_STOPPED if fault.action is Action.QUICK_STOP else (fault.action,), begin)
    told = re.compile(fault.words)
    if fault.words:
        with contextlib.suppress(HardwareFault):  # what isn't so then, the record shows
            bench.wait_for(lambda: any(told.search(words) for words in bench.said(begin)), "words")
    if fault.action is Action.QUICK_STOP:
        with contextlib.suppress(HardwareFault):
            bench.wait_for(bench.disabled, "disabled drives")
    said, shown = bench.said(begin), bench.shown(begin)
    said += mend()
    if fault.action is Action.QUICK_STOP:
        bench.turn_to([Action.DISABLE], begin)
    time.sleep(WATCH)
    return _recover(bench, fault, mode, begin, reacted, shown, bench.actions(begin), said, asked)


def _recover(
    bench: Bench,
    fault: Fault,
    mode: CommandMode,
    begin: float,
    reacted: float | None,
    shown: str,
    action: str,
    said: Sequence[str],
    asked: int = 0,
) -> Record:
    """Note what was seen, and bring the arm back."""
    motion, left = bench.ask("motion"), bench.left()
    enabled = sum(drive["powers"][1:].count(ENABLED) for drive in bench.ask("drives"))
    recovery, recovered = "goes on", False
    try:
        if fault.action is Action.QUICK_STOP:
            recovery = f"{bench.enable()}; enabled"
        recovered = _holds(bench)
    except RobotControlError as error:
        recovery += f"; {error}"
    return Record(
        fault=fault.name,
        mode=mode.value,
        shown=shown,
        action=action,
        said=tuple(said),
        reaction=None if reacted is None else reacted - begin,
        disabled=None if left is None else left - begin,
        step=motion["step"],
        moved=motion["away"],
        self_enabled=enabled - asked,
        recovery=recovery,
        recovered=recovered,
    )


def _holds(bench: Bench) -> bool:
    """Whether the arm runs, and stays where it is."""
    bench.stream.hold()
    bench.inject("begin")
    time.sleep(AT_REST)
    status = bench.client.status()
    return status is not None and status.action is Action.RUN and bench.ask("motion")["away"] < AMPLITUDE / 5


def _following_error(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """A drive that may lag behind by hardly anything."""
    bench.run(mode)
    window: dict[str, Any] = {"position": 1, "index": 0x6065, "sub_index": 0}
    before = int.from_bytes(bytes.fromhex(bench.client.request("read_sdo", **window)), "little")

    def mend() -> list[str]:
        bench.client.request("write_sdo", **window, type="u32", value=before)
        return []

    begin = time.monotonic()
    bench.client.request("write_sdo", **window, type="u32", value=1)
    return _follow(bench, fault, mode, begin, mend)


def _lasting(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """A drive's fault that a reset doesn't end."""
    bench.run(mode)

    def mend() -> list[str]:
        try:
            said = bench.client.request("reset_fault")
        except ConfigError as error:
            said = str(error)
        bench.inject(fault.mend)
        return [f"reset refused: {said}"]

    return _follow(bench, fault, mode, bench.inject(fault.inject), mend)


def _silent_mailbox(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """An object is asked for while the arm moves, and no answer comes."""
    bench.run(mode)
    begin = bench.inject(fault.inject)
    try:
        said = bench.client.request("read_sdo", position=3, index=0x6502, sub_index=0)
    except ConfigError as error:
        said = str(error)
    answered = time.monotonic()
    shown = bench.shown(begin)
    bench.inject(fault.mend)
    return _recover(bench, fault, mode, begin, answered, shown, bench.actions(begin), [said])


def _mode_change_refused(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """Commands change their mode while the arm moves, and one drive doesn't."""
    bench.run(mode)
    bench.inject(fault.inject)
    begin = time.monotonic()
    bench.stream.mode = CommandMode.EFFORT

    def mend() -> list[str]:
        bench.stream.mode = mode
        return _mended(bench, fault)

    return _follow(bench, fault, mode, begin, mend)


def _mode_refused(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """Drives are to be enabled in another mode, and one doesn't take it up."""
    bench.run(mode)
    bench.client.request("disable")
    bench.wait_for(bench.disabled, "disabled drives")
    bench.inject(fault.inject)
    bench.stream.mode = CommandMode.EFFORT
    bench.stream.hold()
    bench.inject("begin")
    asked = time.monotonic()
    bench.client.request("enable")
    begin = bench.turn_to([Action.ENABLE], asked) or asked

    def mend() -> list[str]:
        bench.stream.mode = mode
        return _mended(bench, fault)

    return _follow(bench, fault, mode, begin, mend, asked=bench.robot.n - 1)


def _master_killed(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    bench.run(mode)
    begin = time.monotonic()
    os.kill(bench.client.process_number, signal.SIGKILL)
    bench.wait_for(bench.disabled, "disabled drives")
    return _by_themselves(bench, fault, mode, begin, [_end_of(bench.client)])


def _end_of(client: BusClient) -> str:
    """What is said of a process that ends; empty where it doesn't."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            client.check()
        except HardwareFault as error:
            return str(error)
        time.sleep(POLL)
    return ""


def _by_themselves(bench: Bench, fault: Fault, mode: CommandMode, begin: float, said: Sequence[str]) -> Record:
    """What became of drives whose master, or its owner, is gone; then both begin anew."""
    time.sleep(WATCH)
    shown = ", ".join(dict.fromkeys(bench.ask("slaves")))
    powers = " -> ".join(bench.ask("drives")[0]["powers"]).replace("_", " ").lower()
    bench.let_go()
    return _recover(bench, fault, mode, begin, bench.left(), f"slaves in {shown}", powers, said)


def _master_stopped(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """It goes on once all drives are disabled."""
    bench.run(mode)
    begin = time.monotonic()
    os.kill(bench.client.process_number, signal.SIGSTOP)
    try:
        bench.wait_for(bench.disabled, "disabled drives")
    finally:
        os.kill(bench.client.process_number, signal.SIGCONT)
    return _follow(bench, fault, mode, begin, lambda: [])


def _owner_lost(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """The process that commands is killed, or stops."""
    bench.let_go()
    with _owner(bench, mode) as owner:
        bench.inject("begin")
        begin = time.monotonic()
        os.kill(owner.pid, signal.Signals[fault.inject])
        bench.wait_for(bench.disabled, "disabled drives")
        if fault.inject == "SIGSTOP":
            os.kill(owner.pid, signal.SIGCONT)  # and it commands again
            time.sleep(WATCH)
    return _by_themselves(bench, fault, mode, begin, [])


@contextlib.contextmanager
def _owner(bench: Bench, mode: CommandMode) -> Iterator[subprocess.Popen[str]]:
    """A process with a BusClient of its own, whose arm moves."""
    code = f"from {_MODULE} import own; own({str(bench.folder)!r}, {mode.value!r})"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        if not child.stdout.readline():
            raise HardwareFault("the owner of the bus doesn't start; see its message above")
        yield child
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


def own(folder: str, mode: str) -> None:
    """Be such a process, until the standard input ends.

    Args:
        folder: of the bench.
        mode: of the commands.
    """
    bench = Bench(Path(folder), emulate=False, command_timeout=OWNED_COMMAND_TIMEOUT)
    try:
        bench.run(CommandMode(mode))
        print("running", flush=True)
        sys.stdin.read()
    finally:
        bench.close()


def _at_start(bench: Bench, fault: Fault, mode: CommandMode) -> Record:
    """The bus is another when the process begins."""
    bench.let_go()
    bench.inject("begin")
    bench.inject(fault.inject)
    begin, said = time.monotonic(), []
    try:
        bench.client.check()
    except RobotControlError as error:
        said.append(str(error))
    refused = time.monotonic()
    shown = f"slaves in {', '.join(dict.fromkeys(bench.ask('slaves')))}"
    bench.let_go()
    bench.inject(fault.mend)
    return _recover(bench, fault, mode, begin, refused, shown, "refused" if said else "accepted", said)


# --- the table ---

_BOTH = (CommandMode.POSITION, CommandMode.EFFORT)

FAULTS = (
    Fault("one lost frame", "lose_frames 1", "", action=Action.HOLD),
    Fault("K lost frames", f"lose_frames {BAD_CYCLES}", rf"{BAD_CYCLES} cycles in a row: no answer", modes=_BOTH),
    Fault(
        "one slave missing from LRW",
        "ignore_process_data 3",
        "working counter 15 of 18",
        mend="ignore_process_data 3 false",
    ),
    Fault(
        "AL 0x14 on one slave", "al_error 2 0x14", r"slave 2 \(elbow_joint\) is in SAFE-OP with error 0x0014 no valid"
    ),
    Fault("AL 0x1B on one slave", "al_error 4 0x1B", r"slave 4 \(wrist_2_joint\) is in SAFE-OP with error 0x001B sync"),
    Fault(
        "drive fault", "drive_fault 1 0x7305", "shoulder_lift_joint: .*0x7305 incremental sensor 1 fault", modes=_BOTH
    ),
    Fault(
        "lasting drive fault",
        "drive_fault 1 0x4310 true",
        "shoulder_lift_joint: .*0x4310 excess temperature, drive",
        mend="mend_drive 1",
        trial=_lasting,
    ),
    Fault("emergency", "emergency 5 0x8130", r"slave 5 \(wrist_3_joint\): emergency 0x8130", action=None),
    Fault(
        "chain cut at slave 3",
        "cut_chain 3",
        r"lost: slave 3 \(wrist_1_joint\), slave 4 .*, slave 5 .*: the cable between slave 2 .* and slave 3",
        mend="mend_chain",
        modes=_BOTH,
    ),
    Fault("slave power-cycled", "power_cycle 2", r"lost: slave 2 \(elbow_joint\)"),
    Fault("link down and up", "link false", "link down", mend="link true"),
    Fault("one late frame", "late_frames 0.004", "", action=Action.HOLD),
    Fault("K late frames", f"late_frames 0.01 {2 * BAD_CYCLES}", "too late|no answer"),
    Fault(
        "frozen actual position",
        "freeze_position 0",
        "shoulder_pan_joint: its measured position is frozen",
        mend="freeze_position 0 false",
    ),
    Fault(
        "following error", "0x6065 = 1 count", "shoulder_lift_joint: .*0x8611 following error", trial=_following_error
    ),
    Fault(
        "mode refused",
        "refuse_mode 2 10",
        r"elbow_joint: refuses mode of operation cyclic synchronous torque \(10\)",
        mend="refuse_mode 2 10 false",
        trial=_mode_refused,
    ),
    Fault(
        "mode change refused",
        "refuse_mode 2 10",
        r"elbow_joint: refuses mode of operation cyclic synchronous torque \(10\)",
        mend="refuse_mode 2 10 false",
        trial=_mode_change_refused,
    ),
    Fault(
        "SDO timeout during OP",
        "silence_mailbox 3",
        r"slave 3 \(wrist_1_joint\): object 0x6502:0 can't be read",
        action=None,
        mend="silence_mailbox 3 false",
        trial=_silent_mailbox,
    ),
    Fault("master SIGSTOP", "SIGSTOP", "SAFE-OP with error 0x001B sync manager watchdog", trial=_master_stopped),
    Fault("master SIGKILL", "SIGKILL", "the bus's process has ended", modes=_BOTH, trial=_master_killed),
    Fault("owner SIGKILL", "SIGKILL", "", modes=_BOTH, trial=_owner_lost),
    Fault("owner SIGSTOP", "SIGSTOP", "", trial=_owner_lost),
    Fault("wrong order", "swap 1 2", r"slave 1 .*alias 2.*position 2: wrong order", mend="swap 1 2", trial=_at_start),
    Fault(
        "wrong identity",
        "identity 4 0xABC:0x999:0:5; power_cycle 4",
        r"slave 4 \(wrist_2_joint\): expected vendor 0x00000ABC, product 0x00000402.*found .*product 0x00000999",
        mend="identity 4 0xABC:0x402:0:5; power_cycle 4",
        trial=_at_start,
    ),
    Fault(
        "wrong count",
        "power 5 false",
        r"slave 5 \(wrist_3_joint\): found nothing",
        mend="power 5 true",
        trial=_at_start,
    ),
    Fault(
        "corrupt SII",
        "corrupt_sii 2; power_cycle 2",
        r"slave 2 \(elbow_joint\): expected .*found a slave without a readable identity",
        mend="identity 2 0xABC:0x402:0:3; power_cycle 2",
        trial=_at_start,
    ),
)


def trials(rows: Sequence[str] | None = None, tell: Callable[[Record], None] | None = None) -> list[Record]:
    """Run rows of the table, in a network namespace; see :func:`.emulator.veth.enter_namespace`.

    Args:
        rows: names; all by default.
        tell: called with each record as it comes.

    Raises:
        ConfigError: unknown row; lists them. No right to make interfaces.
        HardwareFault: the emulator or the bus's process doesn't start, or drives can't be enabled at all.
    """
    known = [fault.name for fault in FAULTS]
    if unknown := [row for row in rows or () if row not in known]:
        raise ConfigError(f"unknown fault {unknown[0]!r}; faults: {', '.join(known)}")
    chosen = [(fault, mode) for fault in FAULTS if not rows or fault.name in rows for mode in fault.modes]
    records: list[Record] = []
    make_pair()
    with tempfile.TemporaryDirectory(prefix="robot_control_ros.", dir=memory_path("").parent) as folder:
        bench = Bench(Path(folder))
        try:
            for fault, mode in chosen:
                records.append((fault.trial or _while_running)(bench, fault, mode))
                if tell is not None:
                    tell(records[-1])
        finally:
            bench.close()
    return records


# --- for people ---

_HEAD = ("fault", "the master saw", "the driver did", "after [ms]", "disabled [ms]", "step, way [mrad]", "back by")


def table(records: Sequence[Record]) -> str:
    """Records as a table in Markdown."""
    return "\n".join([_line(_HEAD), _line(["---"] * len(_HEAD)), *map(row, records)])


def row(record: Record) -> str:
    """One of its rows."""
    said = "; ".join(record.said)
    return _line(
        (
            record.fault + (", torque" if record.mode == CommandMode.EFFORT.value else ""),
            record.shown,
            record.action + (f": {said}" if said else ""),
            _milliseconds(record.reaction),
            _milliseconds(record.disabled),
            f"{1e3 * record.step:.2f}, {1e3 * record.moved:.1f}",
            record.recovery + ("" if record.recovered else " (NOT RECOVERED)"),
        )
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in cells)} |"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.1f}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run_arguments` runs what they say."""
    parser.add_argument("rows", nargs="*", metavar="FAULT", help="names of faults (default: the whole table)")
    parser.add_argument("--json", default="", metavar="FILE", help="write the records there, too")


def run_arguments(options: argparse.Namespace) -> int:
    """Run the trials in a namespace of their own, and print the table; the exit status says whether all came back."""
    enter_namespace()
    print(table(()))
    records = trials(options.rows, lambda record: print(row(record), flush=True))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(record) for record in records], indent=2), encoding="utf-8")
    return 0 if all(record.recovered and not record.self_enabled for record in records) else 1
