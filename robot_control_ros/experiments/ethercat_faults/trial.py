"""How a fault is injected while the joints move slowly, what is watched then, and how the arm comes back."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethercat_emulator import EmulatorError

from ...core.errors import HardwareFault, RobotControlError
from ...core.types import CommandMode
from ...ethercat.driver.supervisor import Action
from .bench import AMPLITUDE, ENABLED, Bench, poll

OWNED_COMMAND_TIMEOUT = 0.04  # s, where commands shall end
WATCH = 0.5  # s, for which drives must stay disabled once the fault is over
AT_REST = 0.2  # s of holding after recovery
_STOPPED = (Action.QUICK_STOP, Action.DISABLE)


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes:
        name: of the row.
        inject, mend: lines for the fault channel; after the second one recovery must succeed.
        message: regular expression that one of the driver's causes, events or errors must match.
        action: that must follow; the arm goes on where it isn't quick stop.
        modes: of the commands.
        trial: how it is injected and watched; by default while the arm runs.
    """

    name: str
    inject: str
    message: str
    mend: str = ""
    action: Action | None = Action.QUICK_STOP
    modes: tuple[CommandMode, ...] = (CommandMode.POSITION,)
    trial: Callable[[Bench, Fault, CommandMode], TrialRecord] | None = None


@dataclass(frozen=True)
class TrialRecord:
    """What was seen of one fault; times in s, from its injection.

    Attributes:
        fault, mode: which; the commands' mode.
        shown: what the master saw: working counters other than the right one, and AL states other than OP.
        action: the actions that were commanded.
        messages: causes, events or the error of the driver.
        reaction: until the first cycle that acted on it; None where nothing had to be.
        disabled: until the last drive had left operation enabled; None where none did.
        step, moved: the largest motion of a joint in one cycle, and its largest distance, until recovery [rad].
        self_enabled: how often a drive was enabled before that was requested.
        recovery: what brought it back.
        recovered: whether the arm runs and holds then.
    """

    fault: str
    mode: str
    shown: str
    action: str
    messages: tuple[str, ...]
    reaction: float | None
    disabled: float | None
    step: float
    moved: float
    self_enabled: int
    recovery: str
    recovered: bool


def while_running(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The fault is injected while the arm moves."""
    bench.run(mode)
    return _follow(bench, fault, mode, bench.inject(fault.inject), _mend)


def _mend(bench: Bench, fault: Fault, mode: CommandMode) -> list[str]:
    """Take the fault away, and return to commands of the mode."""
    bench.stream.mode = mode
    if fault.mend:
        bench.inject(fault.mend)
    return []


def _follow(
    bench: Bench,
    fault: Fault,
    mode: CommandMode,
    begin: float,
    mend: Callable[[Bench, Fault, CommandMode], list[str]],
    enabled: int = 0,
) -> TrialRecord:
    """What follows a fault that began at a time [s, by time.monotonic()], to the end of its recovery.

    `mend` takes the fault away, and returns the driver's messages meanwhile. So many drives were `enabled` on request
    after the beginning.
    """
    stops, reacted = fault.action is Action.QUICK_STOP, None
    if fault.action is not None:
        reacted = bench.turn_to(_STOPPED if stops else (fault.action,), begin)
    poll(lambda: re.search(fault.message, "\n".join(["", *bench.messages(begin)])))
    if stops:
        poll(bench.disabled)
    messages, shown = bench.messages(begin), bench.shown(begin)
    messages += mend(bench, fault, mode)
    if stops:
        bench.turn_to([Action.DISABLE], begin)
    time.sleep(WATCH)
    return _recover(bench, fault, mode, begin, reacted, shown, bench.actions(begin), messages, enabled)


def _recover(
    bench: Bench,
    fault: Fault,
    mode: CommandMode,
    begin: float,
    reacted: float | None,
    shown: str,
    action: str,
    messages: Sequence[str],
    enabled: int = 0,
) -> TrialRecord:
    """Record what was seen, and bring the arm back."""
    motion, disabled = bench.query("motion"), bench.disabled_at()
    all_enabled = sum(drive["powers"][1:].count(ENABLED) for drive in bench.query("drives"))
    recovery, recovered = "goes on", False
    try:
        if fault.action is Action.QUICK_STOP:
            recovery = f"{bench.enable()}; enabled"
        recovered = _holds(bench)
    except (RobotControlError, EmulatorError) as error:
        recovery += f"; {error}"
    return TrialRecord(
        fault=fault.name,
        mode=mode.value,
        shown=shown,
        action=action,
        messages=tuple(messages),
        reaction=None if reacted is None else reacted - begin,
        disabled=None if disabled is None else disabled - begin,
        step=motion["step"],
        moved=motion["away"],
        self_enabled=all_enabled - enabled,
        recovery=recovery,
        recovered=recovered,
    )


def _holds(bench: Bench) -> bool:
    """Whether the arm runs, and stays where it is."""
    bench.stream.hold()
    bench.inject("begin")
    time.sleep(AT_REST)
    status = bench.client.status()
    return status is not None and status.action is Action.RUN and bench.query("motion")["away"] < AMPLITUDE / 5


def following_error(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """A drive that allows hardly any following error."""
    bench.run(mode)
    window: dict[str, Any] = {"position": 1, "index": 0x6065, "sub_index": 0}
    before = int.from_bytes(bytes.fromhex(bench.client.request("read_sdo", **window)), "little")

    def mend(*_: Any) -> list[str]:
        bench.client.request("write_sdo", **window, type="u32", value=before)
        return []

    begin = time.monotonic()
    bench.client.request("write_sdo", **window, type="u32", value=1)
    return _follow(bench, fault, mode, begin, mend)


def lasting(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """A drive's fault that a reset doesn't end."""
    bench.run(mode)

    def mend(*_: Any) -> list[str]:
        refusal = _reply(bench, "reset_fault")
        bench.inject(fault.mend)
        return [f"reset refused: {refusal}"]

    return _follow(bench, fault, mode, bench.inject(fault.inject), mend)


def _reply(bench: Bench, request: str, **arguments: Any) -> str:
    """The message of a request to the bus process, or why it is refused."""
    try:
        return bench.client.request(request, **arguments)
    except RobotControlError as error:
        return str(error)


def silent_mailbox(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """An object is read while the arm moves, and the slave doesn't reply."""
    bench.run(mode)
    begin = bench.inject(fault.inject)
    message = _reply(bench, "read_sdo", position=3, index=0x6502, sub_index=0)
    replied, shown = time.monotonic(), bench.shown(begin)
    bench.inject(fault.mend)
    return _recover(bench, fault, mode, begin, replied, shown, bench.actions(begin), [message])


def mode_change_refused(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The commands change their mode while the arm moves, and one drive refuses it."""
    bench.run(mode)
    bench.inject(fault.inject)
    begin = time.monotonic()
    bench.stream.mode = CommandMode.EFFORT
    return _follow(bench, fault, mode, begin, _mend)


def mode_refused(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The drives are enabled in another mode, and one refuses it."""
    bench.run(mode)
    bench.client.request("disable")
    bench.wait_for(bench.disabled, "disabled drives")
    bench.inject(fault.inject)
    bench.stream.mode = CommandMode.EFFORT
    bench.stream.hold()
    bench.inject("begin")
    requested = time.monotonic()
    bench.client.request("enable")
    begin = bench.turn_to([Action.ENABLE], requested) or requested
    return _follow(bench, fault, mode, begin, _mend, enabled=bench.robot.n - 1)


def master_killed(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The bus process is killed while the arm moves."""
    bench.run(mode)
    begin = time.monotonic()
    os.kill(bench.client.process_number, signal.SIGKILL)
    bench.wait_for(bench.disabled, "disabled drives")
    return _without_master(bench, fault, mode, begin, [poll(lambda: _failure(bench))])


def _failure(bench: Bench) -> str:
    """Why the bus, which is started where there is none, can't be used; empty where it can."""
    try:
        bench.client.check()
    except RobotControlError as error:
        return str(error)
    return ""


def _without_master(
    bench: Bench, fault: Fault, mode: CommandMode, begin: float, messages: Sequence[str]
) -> TrialRecord:
    """What the drives did whose master, or its owner, is gone; then both begin anew."""
    time.sleep(WATCH)
    shown = _slaves(bench)
    powers = " -> ".join(bench.query("drives")[0]["powers"]).replace("_", " ").lower()
    bench.end_bus()
    return _recover(bench, fault, mode, begin, bench.disabled_at(), shown, powers, messages)


def _slaves(bench: Bench) -> str:
    return f"slaves in {', '.join(dict.fromkeys(bench.query('slaves')))}"


def master_stopped(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The bus process is stopped, and goes on once all drives are disabled."""
    bench.run(mode)
    begin = time.monotonic()
    os.kill(bench.client.process_number, signal.SIGSTOP)
    try:
        bench.wait_for(bench.disabled, "disabled drives")
    finally:
        os.kill(bench.client.process_number, signal.SIGCONT)
    return _follow(bench, fault, mode, begin, _mend)


def owner_lost(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The process that sends the commands is killed, or stopped."""
    bench.end_bus()
    with _owner(bench, mode) as owner:
        bench.inject("begin")
        begin = time.monotonic()
        os.kill(owner.pid, signal.Signals[fault.inject])
        bench.wait_for(bench.disabled, "disabled drives")
        if fault.inject == "SIGSTOP":
            os.kill(owner.pid, signal.SIGCONT)  # and it commands again
            time.sleep(WATCH)
    return _without_master(bench, fault, mode, begin, [])


@contextlib.contextmanager
def _owner(bench: Bench, mode: CommandMode) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the bus process, and moves the arm."""
    code = f"from {__name__} import own; own({str(bench.folder)!r}, {mode.value!r})"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        if not child.stdout.readline():
            raise HardwareFault("the owner of the bus doesn't start: see its message above")
        yield child
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


def own(folder: str, mode: str) -> None:
    """The program of that process, until the standard input ends: the bench's folder, and the commands' mode."""
    bench = Bench(Path(folder), emulate=False, command_timeout=OWNED_COMMAND_TIMEOUT)
    try:
        bench.run(CommandMode(mode))
        print("running", flush=True)
        sys.stdin.read()
    finally:
        bench.close()


def at_start(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The bus isn't the expected one when its process begins."""
    bench.end_bus()
    bench.inject("begin")
    bench.inject(fault.inject)
    begin, failure = time.monotonic(), _failure(bench)
    refused, shown = time.monotonic(), _slaves(bench)
    bench.end_bus()
    bench.inject(fault.mend)
    action, messages = ("refused", [failure]) if failure else ("accepted", [])
    return _recover(bench, fault, mode, begin, refused, shown, action, messages)
