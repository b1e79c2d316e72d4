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
from ...ethercat.process.client import BusClient
from .bench import AMPLITUDE, ENABLED, PATIENCE, POLL, Bench

OWNED_COMMAND_TIMEOUT = 0.04  # s, where commands shall end
WATCH = 0.5  # s, for which drives must stay disabled once the fault is over
AT_REST = 0.2  # s of holding after recovery
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
    trial: Callable[[Bench, Fault, CommandMode], TrialRecord] | None = None


@dataclass(frozen=True)
class TrialRecord:
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


def while_running(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The arm moves, and the fault comes."""
    bench.run(mode)
    return _follow(bench, fault, mode, bench.inject(fault.inject), lambda: _mended(bench, fault))


def _mended(bench: Bench, fault: Fault) -> list[str]:
    if fault.mend:
        bench.inject(fault.mend)
    return []


def _follow(
    bench: Bench, fault: Fault, mode: CommandMode, begin: float, mend: Callable[[], list[str]], asked: int = 0
) -> TrialRecord:
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
) -> TrialRecord:
    """Note what was seen, and bring the arm back."""
    motion, left = bench.ask("motion"), bench.left()
    enabled = sum(drive["powers"][1:].count(ENABLED) for drive in bench.ask("drives"))
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


def following_error(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
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


def lasting(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """A drive's fault that a reset doesn't end."""
    bench.run(mode)

    def mend() -> list[str]:
        try:
            said = bench.client.request("reset_fault")
        except RobotControlError as error:
            said = str(error)
        bench.inject(fault.mend)
        return [f"reset refused: {said}"]

    return _follow(bench, fault, mode, bench.inject(fault.inject), mend)


def silent_mailbox(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """An object is asked for while the arm moves, and no answer comes."""
    bench.run(mode)
    begin = bench.inject(fault.inject)
    try:
        said = bench.client.request("read_sdo", position=3, index=0x6502, sub_index=0)
    except RobotControlError as error:
        said = str(error)
    answered = time.monotonic()
    shown = bench.shown(begin)
    bench.inject(fault.mend)
    return _recover(bench, fault, mode, begin, answered, shown, bench.actions(begin), [said])


def mode_change_refused(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """Commands change their mode while the arm moves, and one drive doesn't."""
    bench.run(mode)
    bench.inject(fault.inject)
    begin = time.monotonic()
    bench.stream.mode = CommandMode.EFFORT

    def mend() -> list[str]:
        bench.stream.mode = mode
        return _mended(bench, fault)

    return _follow(bench, fault, mode, begin, mend)


def mode_refused(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
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


def master_killed(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The bus's process is killed while the arm moves."""
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


def _by_themselves(bench: Bench, fault: Fault, mode: CommandMode, begin: float, said: Sequence[str]) -> TrialRecord:
    """What became of drives whose master, or its owner, is gone; then both begin anew."""
    time.sleep(WATCH)
    shown = ", ".join(dict.fromkeys(bench.ask("slaves")))
    powers = " -> ".join(bench.ask("drives")[0]["powers"]).replace("_", " ").lower()
    bench.let_go()
    return _recover(bench, fault, mode, begin, bench.left(), f"slaves in {shown}", powers, said)


def master_stopped(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
    """The bus's process stands still, and goes on once all drives are disabled."""
    bench.run(mode)
    begin = time.monotonic()
    os.kill(bench.client.process_number, signal.SIGSTOP)
    try:
        bench.wait_for(bench.disabled, "disabled drives")
    finally:
        os.kill(bench.client.process_number, signal.SIGCONT)
    return _follow(bench, fault, mode, begin, lambda: [])


def owner_lost(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
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
    code = f"from {__name__} import own; own({str(bench.folder)!r}, {mode.value!r})"
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


def at_start(bench: Bench, fault: Fault, mode: CommandMode) -> TrialRecord:
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
