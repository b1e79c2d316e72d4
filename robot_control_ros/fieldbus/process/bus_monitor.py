"""The thread beside the bus's cycle: looks at single slaves, does what is
asked for, and reports.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...core.errors import ConfigError, HardwareFault, RobotControlError, unknown
from ..ethercat.al_status import OP, AlStatus, Recovery
from ..ethercat.cia402 import FAULTS, describe_error
from ..ethercat.drives import SdoWrite
from ..ethercat.ethercat_plant import EthercatPlant
from ..ethercat.pdo import ERROR_CODE
from ..ethercat.slave_access import SlaveEvent
from ..ethercat.topology import DriveSlave
from .realtime import step_back
from .rpc import BetweenCycles, RpcServer, encode
from .shared_memory import Latest, SharedFile

REPORT_PERIOD = 0.1  # s
RECOVERY_TIMEOUT = 8.0  # s for slaves to be back in OP
POLL = 0.01  # s
COLLECT_EVERY = 10  # reports per mailbox that is looked into while all is well


class BusMonitor:
    """Does what may take longer than a cycle. What it decides takes effect between two cycles.

    Args:
        joints: Names of the joints, in the robot's order.
        memory: Memory that is shared with the owner.
        between: Queue of actions that are done between two cycles.
        servers: Servers that answer calls; the thread looks at them often.
        in_process: True where a loop may run in this process.

    Attributes:
        trouble: True where the last exchange went wrong, or a drive is in a fault; the cycle sets
            it.
        ending: Event that is set when the process shall end.
        failure: Error of this thread; empty where it works.
        warnings: Warnings that go into the report.
    """

    def __init__(
        self,
        plant: EthercatPlant,
        joints: tuple[str, ...],
        memory: SharedFile,
        between: BetweenCycles,
        servers: Sequence[RpcServer],
        in_process: bool,
    ) -> None:
        self._plant = plant
        self._topology = plant.topology
        self._joints = joints
        self._between = between
        self._servers = servers
        self._in_process = in_process
        self._report = Latest(memory.region("report"))
        self._work = threading.Event()
        self.trouble = False
        self.ending = threading.Event()
        self.failure = ""
        self.warnings: list[str] = []

    def start(self) -> None:
        """Begin, when the bus is in OP."""
        threading.Thread(target=self._run, name="beside the cycle", daemon=True).start()

    def wake(self) -> None:
        """Answer the calls that wait: called by the cycle."""
        if any(server.pending for server in self._servers):
            self._work.set()

    def _loop(self) -> None:
        step_back()
        reported = 0.0
        turn = 0
        collected = itertools.cycle(range(len(self._topology.slaves)))
        troubled = True  # look once, to begin with
        while not self.ending.is_set():
            self._work.wait(REPORT_PERIOD / 5)
            self._work.clear()
            for server in self._servers:
                server.serve()
            now = time.monotonic()
            if now - reported < REPORT_PERIOD:
                continue
            reported = now
            # Each of these waits for the bus with the interpreter's lock held, so that the cycle
            # may have to wait, too.
            if self.trouble or troubled:
                troubled = self.trouble
                self._poll_slaves()
            turn += 1
            if troubled or turn % COLLECT_EVERY == 0:
                self._plant.master.access.collect(next(collected))
            self.report(self._describe())

    def _run(self) -> None:
        """The thread: without it nobody would look at the slaves any more, so its
        error ends the process.
        """
        try:
            self._loop()
        except Exception as error:
            if not self.ending.is_set():
                self.failure = f"beside the cycle: {type(error).__name__}: {error}"
                self.ending.set()

    def _poll_slaves(self) -> None:
        """Read what the exchange doesn't show: AL states, carrier, error codes that aren't
        in the process data.
        """
        master = self._plant.master
        supervisor = self._plant.cycle.supervisor
        carrier = master.carrier()
        statuses = master.access.al_statuses() if carrier else []
        self._between.add(partial(supervisor.update_link, carrier))
        if carrier:
            self._between.add(partial(self._take_al, statuses))
            self._read_error_codes()

    def _take_al(self, statuses: Sequence[AlStatus]) -> None:
        """Pass AL states on: a right working counter says that all slaves are in OP.

        A reading whose frame got lost counts for nothing then.
        """
        supervisor = self._plant.cycle.supervisor
        all_in_op = supervisor.frames.working_counter == supervisor.frames.expected
        supervisor.update_al([AlStatus(OP)] * len(statuses) if all_in_op else statuses)

    def _read_error_codes(self) -> None:
        cycle = self._plant.cycle
        for i in cycle.data.unmapped_errors:
            if cycle.machines[i].state in FAULTS:
                try:
                    code = int.from_bytes(
                        self._plant.master.access.read_sdo(cycle.positions[i], ERROR_CODE), "little"
                    )
                    cycle.data.set_error_code(i, code)
                except RobotControlError as error:
                    self._between.add(partial(cycle.supervisor.note, str(error)))

    def on_slave_event(self, event: SlaveEvent) -> None:
        """Keep what a slave sent unasked. Status words show what it means for the drives."""
        slave = self._topology.slaves[event.position]
        codes = slave.drive.error_codes if isinstance(slave, DriveSlave) else {}
        self._between.add(
            partial(self._plant.cycle.supervisor.note, f"{slave}: {event.describe(codes)}")
        )

    def _describe(self) -> dict[str, Any]:
        cycle = self._plant.cycle
        supervisor = cycle.supervisor
        drives = [
            {
                "joint": joint,
                "state": machine.state.value,
                "error": describe_error(error_code, codes) if error_code else "",
                "failure": machine.failure,
                "waits_for": machine.waits_for,
            }
            for joint, machine, codes, error_code in zip(
                self._joints, cycle.machines, cycle.error_codes, cycle.data.error_codes, strict=True
            )
        ]
        return {
            "in_process": self._in_process,
            "message": supervisor.message,
            "stopped": supervisor.stopped,
            "causes": supervisor.causes,
            "drives": drives,
            "slaves": {
                str(slave): str(status)
                for slave, status in zip(
                    self._topology.slaves, supervisor.slaves.statuses, strict=False
                )
                if not status.operational
            },
            "expected": supervisor.frames.expected,
            "events": list(supervisor.events),
            "turns": list(supervisor.turns),
            "warnings": self.warnings,
        }

    def report(self, report: Mapping[str, Any]) -> None:
        """Put a report where the owner reads it."""
        self._report.put(encode(report))


class BusRequests:
    """Does what the owner of the bus's process asks for, beside the cycle.

    Joints are named in the robot's order.
    """

    def __init__(
        self, plant: EthercatPlant, joints: tuple[str, ...], between: BetweenCycles
    ) -> None:
        self._plant = plant
        self._joints = joints
        self._between = between
        self._topology = plant.topology
        self._requests: dict[str, Callable[..., str]] = {
            "enable": lambda: self._order(plant.enable, "enabling"),
            "disable": lambda: self._order(plant.cycle.supervisor.request_disable, "disabled"),
            "quick_stop": lambda: self._order(
                plant.cycle.supervisor.request_quick_stop, "stopping"
            ),
            "reset_fault": self._reset_fault,
            "read_sdo": self._read_sdo,
            "write_sdo": self._write_sdo,
        }

    def do(self, name: str, **arguments: int | str) -> str:
        """Do what is asked for; returns what came of it.

        Raises:
            ConfigError: it is refused; says why.
            HardwareFault: a slave or the cycle doesn't answer, or the bus isn't back in OP in time.
        """
        if name not in self._requests:
            raise unknown("request", name, self._requests)
        return self._requests[name](**arguments)

    def _order(self, action: Callable[[], None], message: str) -> str:
        self._between.call(action)
        return message

    def _read_sdo(self, position: int, index: int, sub_index: int) -> str:
        return self._plant.master.access.read_sdo(position, index, sub_index).hex()

    def _write_sdo(self, position: int, index: int, sub_index: int, type: str, value: int) -> str:
        self._plant.master.access.write_sdo(position, SdoWrite(index, type, value, sub_index))
        return ""

    def _reset_fault(self) -> str:
        """Bring all slaves back to OP, and drives out of their faults; they stay disabled."""
        cycle = self._plant.cycle
        if not cycle.supervisor.idle:
            still = (
                "still being stopped"
                if cycle.supervisor.stopped
                else "enabled: there is no fault to reset"
            )
            raise ConfigError(f"the drives are {still}")
        message = self._recover()
        self._between.call(cycle.reset_faults)
        until = time.monotonic() + RECOVERY_TIMEOUT
        while any(machine.state in FAULTS for machine in cycle.machines):
            pairs = zip(self._joints, cycle.machines, strict=True)
            failures = [f"{name}: {machine.failure}" for name, machine in pairs if machine.failure]
            if failures or time.monotonic() > until:
                raise HardwareFault("; ".join(failures) or "the drives are still in their faults")
            time.sleep(POLL)
        return message

    def _recover(self) -> str:
        supervisor = self._plant.cycle.supervisor
        master = self._plant.master
        recovered: list[str] = []
        until = time.monotonic() + RECOVERY_TIMEOUT
        while True:
            if not master.carrier():
                raise HardwareFault(
                    "link down: the cable at the master, or the first slave's power"
                )
            statuses = master.access.al_statuses()
            self._between.call(lambda: supervisor.update_link(True))
            self._between.call(partial(supervisor.update_al, statuses))
            steps: list[tuple[int, Recovery]] = supervisor.slaves.recovery()
            if not steps:
                return (
                    f"back in OP: {', '.join(recovered)}" if recovered else "all slaves are in OP"
                )
            if time.monotonic() > until:
                problems = "; ".join(f"{self._topology.slaves[i]} {statuses[i]}" for i, _ in steps)
                message = f"not back in OP within {RECOVERY_TIMEOUT:g} s: {problems}"
                raise HardwareFault(message, bound=RECOVERY_TIMEOUT)
            for position, step in steps:
                name = str(self._topology.slaves[position])
                recovered += [] if name in recovered else [name]
                master.recover(position, step)
