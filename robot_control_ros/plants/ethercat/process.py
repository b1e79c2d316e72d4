"""The bus's own process: `python -m robot_control_ros.plants.ethercat.process SETTINGS`. It knows nothing of ROS.

The main thread keeps time, and does nothing else. A thread beside it does what may take longer:
it talks to single slaves, answers requests, makes laws, and reports. What it decides takes effect between two cycles.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, HardwareFault, RobotControlError
from ...robots import load_robot
from ...types import RobotState
from .cia402 import State, error_words
from .drives import SdoWrite
from .pacing import Timing
from .pdo import ERROR_CODE
from .plant import EthercatPlant
from .protocol import CommandCodec, StatusCodec, open_memory
from .realtime import prepare, step_back
from .shared import Latest, Messages, SharedFile
from .supervisor import OP, Action, AlStatus, Recovery, SupervisorLimits
from .topology import load_topology

if TYPE_CHECKING:  # it loads all that laws need
    from .hosted import HostedLoop

REPORT_PERIOD = 0.1  # s
COLLECT_EVERY = 10  # reports per mailbox that is looked into while all is well
BETWEEN_LIMIT = 1.0  # s for something to be done between two cycles
RECOVERY_LIMIT = 8.0  # s for slaves to be back in OP
_FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)


@dataclass(frozen=True)
class Settings:
    """What the process is told.

    Attributes:
        interface: name of the network interface.
        topology: name or path.
        robot, profile: name of the robot, or path of its file, and its profile.
        memory: path of the shared memory, which is there.
        wake: file descriptor of a socket that gets a byte per cycle; its other end's close ends the process.
        priority: of SCHED_FIFO; 0 for none.
        processor: that the process stays on; -1 for any.
        command_timeout: age of a command at which the drives are stopped [s].
        bad_cycles: so many in a row stop them.
        frame_timeout: longest wait for a frame [s]; 0 for half a cycle.
        in_process: whether a controller's loop may run here; its libraries are loaded before the bus starts then.
        watchdog: time after which slaves without process data stop by themselves [s]; 0 for the topology's.
        stop_time: longest wait for stopped drives to come to rest before they are disabled [s].
    """

    interface: str
    topology: str
    robot: str
    profile: str
    memory: str
    wake: int
    priority: int
    processor: int
    command_timeout: float
    bad_cycles: int
    frame_timeout: float
    in_process: bool
    watchdog: float
    stop_time: float

    def to_json(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """The inverse."""
        return cls(**json.loads(text))


class NoLoop:
    """In the place of a hosted loop where none is wanted."""

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

    def __init__(self, settings: Settings) -> None:
        memory = open_memory(Path(settings.memory))
        region = memory.region
        self._joints = load_robot(settings.robot, settings.profile).joints
        n = len(self._joints)
        self._topology = load_topology(settings.topology)
        if settings.watchdog:
            self._topology = replace(self._topology, watchdog=settings.watchdog)
        limits = SupervisorLimits(
            bad_cycles=settings.bad_cycles, stale_after=settings.command_timeout, stop_time=settings.stop_time
        )
        self._timing = Timing(region("timing"))
        self._plant = EthercatPlant(
            self._joints,
            self._topology,
            settings.interface,
            limits,
            frame_timeout=settings.frame_timeout or None,
            timing=self._timing,
        )
        self._settings = settings
        self._wake = socket.socket(fileno=settings.wake)
        self._wake.setblocking(False)
        self._status, self._status_codec = Latest(region("status")), StatusCodec(n)
        self._commands, self._command_codec = Latest(region("command")), CommandCodec(n)
        self._report = Latest(region("report"))
        self._requests, self._answers = Messages(region("requests")), Messages(region("answers"))
        self._hosted = self._make_hosted(memory) if settings.in_process else NoLoop()
        self._between: deque[Callable[[], None]] = deque()
        self._work: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._command_number = self._taken = 0
        self._trouble = False  # the last exchange went wrong, or a drive is in a fault
        self._warnings: list[str] = []
        self._refused = ""
        self._failure = ""  # of the thread beside the cycle

    def _make_hosted(self, memory: SharedFile) -> HostedLoop:
        from .hosted import HostedLoop, rehearse

        rehearse(self._settings.robot, self._settings.profile)
        return HostedLoop(memory, self._topology.cycle)

    def run(self) -> None:
        """Until the end.

        Raises:
            ConfigError, HardwareFault: the bus can't be brought to OP.
        """
        signal.signal(signal.SIGTERM, lambda number, frame: self._ending.set())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's is for the node, which ends us in order
        try:
            self._plant.prepare()
            self._plant.master.listen(self._on_emergency)
            self._warnings = prepare(self._settings.priority, self._settings.processor)
            if self._plant.master.blocks:
                self._warnings.append(self._plant.master.blocks)
            self._plant.operate()
        except RobotControlError as error:
            self._say({"error": str(error)})
            raise
        threading.Thread(target=self._guarded, name="beside the cycle", daemon=True).start()
        words = "told to end"
        try:
            while not self._ending.is_set():
                self._cycle()
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            raise
        finally:
            self._plant.close()
            self._say({"error": self._failure or words})

    # --- the cycle ---

    def _cycle(self) -> None:
        plant = self._plant
        fresh = plant.sense()
        now, stamp = time.monotonic(), time.time()
        cycle = plant.cycle
        if fresh:
            self._take_command(stamp, now)
        plant.act()
        if failure := self._hosted.failure(now):
            self._hosted.drop()
            cycle.supervisor.trip(failure)
        hosted = self._hosted.active
        record = self._status_codec.pack(cycle, stamp, fresh, hosted, plant.missed, self._command_number)
        self._status.put(record)
        self._wake_up()
        try:
            self._hosted.after()
        except Exception as error:  # a user's law may raise anything
            cycle.supervisor.trip(f"the law failed: {type(error).__name__}: {error}")
        while self._between:
            self._between.popleft()()
        self._trouble = not fresh or any(machine.state in _FAULTS for machine in cycle.machines)
        if self._requests.pending or self._hosted.pending:
            self._work.put(None)

    def _take_command(self, stamp: float, now: float) -> None:
        """The newest command: of the loop in this process where there is one, else of the node."""
        cycle, hosted = self._plant.cycle, self._hosted
        try:
            if hosted.active:
                self._run_hosted(stamp, now)
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

    def _run_hosted(self, stamp: float, now: float) -> None:
        cycle, hosted = self._plant.cycle, self._hosted
        running = cycle.supervisor.action is Action.RUN
        try:
            command = hosted.tick(cycle.state(stamp), running)
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
            self._ending.set()  # the node is gone

    # --- beside the cycle ---

    def _beside(self) -> None:
        step_back()
        reported, turn = 0.0, 0
        collected = itertools.cycle(range(len(self._topology.slaves)))
        troubled = True  # look once, to begin with
        while not self._ending.is_set():
            with contextlib.suppress(queue.Empty):
                self._work.get(timeout=REPORT_PERIOD / 5)
            self._hosted.prepare()
            while (message := self._requests.get()) is not None:
                self._answer(json.loads(message))
            now = time.monotonic()
            if now - reported < REPORT_PERIOD:
                continue
            reported = now
            # Each of these waits for the bus with the interpreter's lock held, so that the cycle may have to wait, too.
            if self._trouble or troubled:
                troubled = self._trouble
                self._look()
            turn += 1
            if troubled or turn % COLLECT_EVERY == 0:
                self._plant.master.collect(next(collected))
            self._say(self._words())

    def _guarded(self) -> None:
        """The thread: without it nobody would look at the slaves any more, so its error ends the process."""
        try:
            self._beside()
        except Exception as error:
            if not self._ending.is_set():
                self._failure = f"beside the cycle: {type(error).__name__}: {error}"
                self._ending.set()

    def _look(self) -> None:
        """Read what the exchange doesn't tell: AL states, carrier, error codes that aren't in the process data."""
        master, supervisor = self._plant.master, self._plant.cycle.supervisor
        carrier = master.carrier()
        statuses = master.al_statuses() if carrier else []
        self._between.append(partial(supervisor.update_link, carrier))
        if carrier:
            self._between.append(partial(self._take_al, statuses))
            self._read_error_codes()

    def _take_al(self, statuses: Sequence[AlStatus]) -> None:
        """A right working counter says that all slaves are in OP, whatever one frame that got lost seems to tell."""
        supervisor = self._plant.cycle.supervisor
        right = supervisor.working_counter == supervisor.expected
        supervisor.update_al([AlStatus(OP)] * len(statuses) if right else statuses)

    def _read_error_codes(self) -> None:
        cycle = self._plant.cycle
        for i in cycle.data.untold_errors:
            if cycle.machines[i].state in _FAULTS:
                try:
                    code = int.from_bytes(self._plant.master.read_sdo(cycle.positions[i], ERROR_CODE), "little")
                    cycle.data.tell_error(i, code)
                except RobotControlError as error:
                    self._between.append(partial(cycle.supervisor.note, str(error)))

    def _on_emergency(self, position: int, code: int, register: int) -> None:
        cycle = self._plant.cycle
        drive = self._topology.slaves[position].drive
        codes = drive.error_codes if drive else {}
        self._between.append(partial(cycle.supervisor.emergency, position, code, register, codes))

    def _in_cycle(self, action: Callable[[], Any]) -> Any:
        """Have something done between two cycles; returns its result, and raises its error."""
        done, result = threading.Event(), []

        def act() -> None:
            try:
                result.append(action())
            except Exception as error:
                result.append(error)
            done.set()

        self._between.append(act)
        if not done.wait(BETWEEN_LIMIT):
            raise HardwareFault("the cycle doesn't run")
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]

    def _answer(self, request: Mapping[str, Any]) -> None:
        try:
            said, done = self._do(request["do"], request), True
        except RobotControlError as error:
            said, done = str(error), False
        except Exception as error:  # whoever asked shall know, and this thread is needed
            said, done = f"{request}: {type(error).__name__}: {error}", False
        self._answers.put(json.dumps({"number": request["number"], "done": done, "said": said}).encode())

    def _do(self, name: str, request: Mapping[str, Any]) -> str:
        cycle = self._plant.cycle
        if name == "enable":
            self._in_cycle(self._plant.enable)
            return "enabling"
        if name == "disable":
            self._in_cycle(cycle.supervisor.request_disable)
            return "disabled"
        if name == "quick_stop":
            self._in_cycle(cycle.supervisor.request_quick_stop)
            return "stopping"
        if name == "reset_fault":
            return self._reset_fault()
        position, index, sub_index = request["position"], request["index"], request["sub_index"]
        if name == "read_sdo":
            return self._plant.master.read_sdo(position, index, sub_index).hex()
        if name == "write_sdo":
            self._plant.master.write_sdo(position, SdoWrite(index, sub_index, request["type"], request["value"]))
            return ""
        raise ConfigError(f"unknown request {name!r}")

    def _reset_fault(self) -> str:
        """Bring all slaves back to OP, and drives out of their faults; they stay disabled."""
        cycle = self._plant.cycle
        if not cycle.supervisor.idle:
            still = "still being stopped" if cycle.supervisor.stopped else "enabled: there is no fault to reset"
            raise ConfigError(f"the drives are {still}")
        words = self._recover()
        self._in_cycle(cycle.reset_faults)
        until = time.monotonic() + RECOVERY_LIMIT
        while any(machine.state in _FAULTS for machine in cycle.machines):
            failures = [
                f"{name}: {machine.failure}"
                for name, machine in zip(self._joints, cycle.machines, strict=True)
                if machine.failure
            ]
            if failures or time.monotonic() > until:
                raise HardwareFault("; ".join(failures) or "the drives are still in their faults")
            time.sleep(REPORT_PERIOD / 10)
        return words

    def _recover(self) -> str:
        supervisor, master = self._plant.cycle.supervisor, self._plant.master
        recovered: list[str] = []
        until = time.monotonic() + RECOVERY_LIMIT
        while True:
            if not master.carrier():
                raise HardwareFault("link down: the cable at the master, or the first slave's power")
            statuses = master.al_statuses()
            self._in_cycle(lambda: supervisor.update_link(True))
            self._in_cycle(partial(supervisor.update_al, statuses))
            steps: list[tuple[int, Recovery]] = supervisor.recovery()
            if not steps:
                return f"back in OP: {', '.join(recovered)}" if recovered else "all slaves are in OP"
            if time.monotonic() > until:
                problems = "; ".join(f"{self._topology.slaves[i]} {statuses[i]}" for i, _ in steps)
                raise HardwareFault(f"not back in OP within {RECOVERY_LIMIT:g} s: {problems}")
            for position, step in steps:
                name = str(self._topology.slaves[position])
                recovered += [] if name in recovered else [name]
                master.recover(position, step)

    # --- words ---

    def _words(self) -> dict[str, Any]:
        cycle = self._plant.cycle
        supervisor, data = cycle.supervisor, cycle.data
        drives = [
            {
                "joint": joint,
                "state": machine.state.value,
                "error": error_words(error_code, codes) if error_code else "",
                "failure": machine.failure,
                "waits_for": machine.waits_for,
                "mode": mode,
                "status_word": status_word,
            }
            for joint, machine, codes, error_code, mode, status_word in zip(
                self._joints,
                cycle.machines,
                cycle.error_codes,
                data.error_codes,
                data.mode_displays,
                data.status_words,
                strict=True,
            )
        ]
        return {
            "in_process": self._settings.in_process,
            "words": supervisor.words,
            "action": supervisor.action.value,
            "stopped": supervisor.stopped,
            "causes": supervisor.causes,
            "drives": drives,
            "slaves": {
                str(slave): str(status)
                for slave, status in zip(self._topology.slaves, supervisor.al, strict=False)
                if not status.operational
            },
            "expected": supervisor.expected,
            "events": list(supervisor.events),
            "turns": list(supervisor.turns),
            "warnings": self._warnings,
        }

    def _say(self, words: Mapping[str, Any]) -> None:
        self._report.put(json.dumps(words).encode())


def main() -> None:
    """Run it."""
    if "" not in sys.path:
        sys.path.append("")  # laws of the user's own, in the folder where the command was given
    try:
        BusProcess(Settings.from_json(sys.argv[1])).run()
    except RobotControlError as error:
        print(f"ethercat: {error}", file=sys.stderr, flush=True)
        os._exit(1)  # the thread beside may be in the middle of a transfer
    os._exit(0)


if __name__ == "__main__":
    main()
