"""A fault's trial: it is injected while the joints move slowly, watched, and recovered from."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ethercat_emulator import EmulatorError
from robot_control_ros.core.errors import HardwareFault, RobotControlError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.fieldbus.supervisor import Action

from .bus_bench import AMPLITUDE, ENABLED, BusBench, poll

OWNED_COMMAND_TIMEOUT = 0.04  # s, where commands shall end
WATCH = 0.5  # s, for which drives must stay disabled once the fault is over
AT_REST = 0.2  # s of holding after recovery
_STOPPED = (Action.QUICK_STOP, Action.DISABLE)


@dataclass(frozen=True)
class BusFault:
    """One row of the table.

    Attributes:
        name: Name of the row.
        inject, mend: Lines for the fault channel; after the second one recovery must succeed. Some
            trials inject by themselves: then `inject` is the name of a signal, or a text for
            readers.
        message: Regular expression that the causes, events or error of the driver must match.
        action: Action that must follow; the arm goes on where it isn't quick stop.
        modes: Modes of the commands with which it is tried.
        trial: Method that injects and watches it; by default :meth:`BusTrial.while_running`.
    """

    name: str
    inject: str
    message: str
    mend: str = ""
    action: Action | None = Action.QUICK_STOP
    modes: tuple[CommandMode, ...] = (CommandMode.POSITION,)
    trial: Callable[[BusTrial], None] | None = None

    @property
    def stops(self) -> bool:
        """True where the drives must stop."""
        return self.action is Action.QUICK_STOP


@dataclass(frozen=True)
class BusTrialRecord:
    """Observations of one fault; times in s, from its injection.

    Attributes:
        fault, mode: Name of the fault, and mode of the commands.
        shown: Text of what the master saw: working counters other than the right one, and AL states
            other than OP.
        action: Actions that were commanded. Where the master or its owner is gone, states of the
            first drive.
        messages: Causes, events or the error of the driver.
        reaction: Time until the first cycle that acted on it; None where nothing had to be done.
        disabled: Time until the last drive had left operation enabled; None where none did.
        step, moved: Largest motion of a joint in one cycle, and its largest distance, until
            recovery [rad].
        self_enabled: Number of times that a drive was enabled before that was requested.
        recovery: Text that says what brought the arm back.
        recovered: True where the arm runs and holds after recovery.
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


class BusTrial:
    """One fault on the bench, from its injection to the end of its recovery.

    A method for each kind of fault injects it, notes what is seen, and takes it away.
    """

    def __init__(self, bench: BusBench, fault: BusFault, mode: CommandMode) -> None:
        self._bench = bench
        self._fault = fault
        self._mode = mode
        self._reacted: float | None = None
        self._messages: list[str] = []
        self._requested = 0  # drives that were enabled on request after the beginning

    def record(self) -> BusTrialRecord:
        """Run the trial, bring the arm back, and record what was seen."""
        (self._fault.trial or BusTrial.while_running)(self)
        bench = self._bench
        begin = self._begin
        motion = bench.query("motion")
        disabled = bench.disabled_at()
        enabled = sum(drive["powers"][1:].count(ENABLED) for drive in bench.query("drives"))
        recovery = "goes on"
        recovered = False
        try:
            if self._fault.stops:
                recovery = f"{bench.enable()}; enabled"
            recovered = _holds(bench)
        except (RobotControlError, EmulatorError) as error:
            recovery += f"; {error}"
        return BusTrialRecord(
            fault=self._fault.name,
            mode=self._mode.value,
            shown=self._shown,
            action=self._reaction_text,
            messages=tuple(self._messages),
            reaction=None if self._reacted is None else self._reacted - begin,
            disabled=None if disabled is None else disabled - begin,
            step=motion["step"],
            moved=motion["away"],
            self_enabled=enabled - self._requested,
            recovery=recovery,
            recovered=recovered,
        )

    # --- while the arm moves ---

    def while_running(self) -> None:
        """The fault is injected while the arm moves."""
        self._run_and_inject()
        self._follow()

    def following_error(self) -> None:
        """A drive that allows hardly any following error."""
        self._bench.run(self._mode)
        request = self._bench.client.request
        window = {"position": 1, "index": 0x6065, "sub_index": 0}
        before = int.from_bytes(bytes.fromhex(request("read_sdo", **window)), "little")
        self._begin = time.monotonic()
        request("write_sdo", **window, type="u32", value=1)
        self._watch()
        request("write_sdo", **window, type="u32", value=before)
        self._settle()

    def lasting(self) -> None:
        """A drive's fault that a reset doesn't end."""
        self._run_and_inject()
        self._watch()
        self._bench.turn_to([Action.DISABLE], self._begin)  # until then each reset is refused
        request = self._bench.client.request
        self._messages.append(f"reset refused: {_reply(lambda: request('reset_fault'))}")
        self._mend()
        self._settle()

    def silent_mailbox(self) -> None:
        """An object is read while the arm moves, and the slave doesn't reply."""
        self._run_and_inject()
        bench = self._bench
        target = {"position": 3, "index": 0x6502, "sub_index": 0}
        self._messages = [_reply(lambda: bench.client.request("read_sdo", **target))]
        self._reacted = time.monotonic()
        self._shown = bench.shown(self._begin)
        self._mend()
        self._reaction_text = bench.actions(self._begin)

    def mode_change_refused(self) -> None:
        """The commands change their mode while the arm moves, and one drive refuses it."""
        self._run_and_inject()
        self._begin = time.monotonic()
        self._bench.stream.mode = CommandMode.EFFORT
        self._follow()

    def mode_refused(self) -> None:
        """The drives are enabled in another mode, and one refuses it."""
        bench = self._bench
        self._bench.run(self._mode)
        bench.client.request("disable")
        bench.wait_for(bench.disabled, "disabled drives")
        bench.inject(self._fault.inject)
        bench.stream.mode = CommandMode.EFFORT
        bench.stream.hold()
        bench.inject("begin")
        requested = time.monotonic()
        bench.client.request("enable")
        self._begin = bench.turn_to([Action.ENABLE], requested) or requested
        self._requested = bench.robot.n - 1
        self._follow()

    def _run_and_inject(self) -> None:
        self._bench.run(self._mode)
        self._begin = self._bench.inject(self._fault.inject)

    def _follow(self) -> None:
        self._watch()
        self._mend()
        self._settle()

    def _watch(self) -> None:
        """Note the reaction to the fault."""
        bench = self._bench
        fault = self._fault
        begin = self._begin
        if fault.action is not None:
            self._reacted = bench.turn_to(_STOPPED if self._fault.stops else (fault.action,), begin)
        poll(lambda: re.search(fault.message, "\n".join(["", *bench.messages(begin)])))
        if self._fault.stops:
            poll(bench.disabled)
        self._messages = bench.messages(begin)
        self._shown = bench.shown(begin)

    def _mend(self) -> None:
        """Take the fault away, and return to commands of the mode."""
        self._bench.stream.mode = self._mode
        if self._fault.mend:
            self._bench.inject(self._fault.mend)

    def _settle(self) -> None:
        """Note what the driver does once the fault is over."""
        if self._fault.stops:
            self._bench.turn_to([Action.DISABLE], self._begin)
        time.sleep(WATCH)
        self._reaction_text = self._bench.actions(self._begin)

    # --- the bus process and its owner ---

    def master_killed(self) -> None:
        """The bus process is killed while the arm moves."""
        self._bench.run(self._mode)
        self._signal_until_disabled(self._bench.client.process_number, signal.SIGKILL)
        self._messages = [poll(lambda: _reply(self._bench.client.check))]
        self._leave()

    def master_stopped(self) -> None:
        """The bus process is stopped, and goes on once all drives are disabled."""
        self._bench.run(self._mode)
        number = self._bench.client.process_number
        try:
            self._signal_until_disabled(number, signal.SIGSTOP)
        finally:
            os.kill(number, signal.SIGCONT)
        self._follow()

    def owner_lost(self) -> None:
        """The process that sends the commands is killed, or stopped."""
        bench = self._bench
        lost = signal.Signals[self._fault.inject]
        bench.end_bus()
        with _owner(bench, self._mode) as owner:
            bench.inject("begin")
            self._signal_until_disabled(owner.pid, lost)
            if lost is signal.SIGSTOP:
                os.kill(owner.pid, signal.SIGCONT)  # and it commands again
                time.sleep(WATCH)
        self._leave()

    def at_start(self) -> None:
        """The bus isn't the expected one when its process begins."""
        bench = self._bench
        bench.end_bus()
        bench.inject("begin")
        bench.inject(self._fault.inject)
        self._begin = time.monotonic()
        failure = _reply(lambda: bench.client.check())
        self._reacted = time.monotonic()
        self._shown = _slaves(bench)
        bench.end_bus()
        bench.inject(self._fault.mend)
        self._reaction_text, self._messages = (
            ("refused", [failure]) if failure else ("accepted", [])
        )

    def _signal_until_disabled(self, process: int, number: signal.Signals) -> None:
        self._begin = time.monotonic()
        os.kill(process, number)
        self._bench.wait_for(self._bench.disabled, "disabled drives")

    def _leave(self) -> None:
        """Note what the drives did whose master, or its owner, is gone; then both begin anew."""
        bench = self._bench
        time.sleep(WATCH)
        self._reacted = bench.disabled_at()
        self._shown = _slaves(bench)
        self._reaction_text = (
            " -> ".join(bench.query("drives")[0]["powers"]).replace("_", " ").lower()
        )
        bench.end_bus()


def _holds(bench: BusBench) -> bool:
    """True where the arm runs, and stays where it is."""
    bench.stream.hold()
    bench.inject("begin")
    time.sleep(AT_REST)
    status = bench.client.status()
    return (
        status is not None
        and status.action is Action.RUN
        and bench.query("motion")["away"] < AMPLITUDE / 5
    )


def _slaves(bench: BusBench) -> str:
    return f"slaves in {', '.join(dict.fromkeys(bench.query('slaves')))}"


def _reply(request: Callable[[], str | None]) -> str:
    """The message of a request to the bus process, or why it is refused or can't be made."""
    try:
        return request() or ""
    except RobotControlError as error:
        return str(error)


@contextlib.contextmanager
def _owner(bench: BusBench, mode: CommandMode) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the bus process, and moves the arm."""
    code = f"from {__name__} import own; own({str(bench.folder)!r}, {mode.value!r})"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
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
    """The program of that process, until the standard input ends: the bench's folder, and
    the commands' mode.
    """
    bench = BusBench(Path(folder), emulate=False, command_timeout=OWNED_COMMAND_TIMEOUT)
    try:
        bench.run(CommandMode(mode))
        print("running", flush=True)
        sys.stdin.read()
    finally:
        bench.close()
