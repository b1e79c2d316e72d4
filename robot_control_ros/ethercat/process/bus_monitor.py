"""The thread beside the bus's cycle: looks at single slaves, answers calls, and reports."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pickle import dumps
from typing import Any

from ...core.errors import RobotControlError
from ..driver.al_status import OP, AlStatus
from ..driver.cia402 import FAULTS, describe_error
from ..driver.ethercat_plant import EthercatPlant
from ..driver.pdo import ERROR_CODE
from ..driver.topology import DriveSlave
from .realtime import step_back
from .rpc import BetweenCycles, RpcServer
from .shared_memory import Latest, SharedFile

REPORT_PERIOD = 0.1  # s
COLLECT_EVERY = 10  # reports per mailbox that is looked into while all is well


class BusMonitor:
    """Does what may take longer than a cycle. What it decides takes effect between two cycles.

    Args:
        joints: names, in the robot's order.
        memory: shared with the owner.
        between: the cycle's.
        servers: answer calls, often.
        in_process: whether a loop may run in this process.

    Attributes:
        trouble: for the cycle to set: the last exchange went wrong, or a drive is in a fault.
        ending: set when the process shall end.
        failure: of this thread; empty where it works.
        warnings: for the report.
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
        self._plant, self._topology, self._joints = plant, plant.topology, joints
        self._between, self._servers, self._in_process = between, servers, in_process
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
        reported, turn = 0.0, 0
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
            # Each of these waits for the bus with the interpreter's lock held, so that the cycle may have to wait, too.
            if self.trouble or troubled:
                troubled = self.trouble
                self._poll_slaves()
            turn += 1
            if troubled or turn % COLLECT_EVERY == 0:
                self._plant.master.access.collect(next(collected))
            self.report(self._describe())

    def _run(self) -> None:
        """The thread: without it nobody would look at the slaves any more, so its error ends the process."""
        try:
            self._loop()
        except Exception as error:
            if not self.ending.is_set():
                self.failure = f"beside the cycle: {type(error).__name__}: {error}"
                self.ending.set()

    def _poll_slaves(self) -> None:
        """Read what the exchange doesn't show: AL states, carrier, error codes that aren't in the process data."""
        master, supervisor = self._plant.master, self._plant.cycle.supervisor
        carrier = master.carrier()
        statuses = master.access.al_statuses() if carrier else []
        self._between.add(partial(supervisor.update_link, carrier))
        if carrier:
            self._between.add(partial(self._take_al, statuses))
            self._read_error_codes()

    def _take_al(self, statuses: Sequence[AlStatus]) -> None:
        """A right working counter says that all slaves are in OP, whatever a reading whose frame got lost shows."""
        supervisor = self._plant.cycle.supervisor
        all_in_op = supervisor.frames.working_counter == supervisor.frames.expected
        supervisor.update_al([AlStatus(OP)] * len(statuses) if all_in_op else statuses)

    def _read_error_codes(self) -> None:
        cycle = self._plant.cycle
        for i in cycle.data.unmapped_errors:
            if cycle.machines[i].state in FAULTS:
                try:
                    code = int.from_bytes(self._plant.master.access.read_sdo(cycle.positions[i], ERROR_CODE), "little")
                    cycle.data.set_error_code(i, code)
                except RobotControlError as error:
                    self._between.add(partial(cycle.supervisor.note, str(error)))

    def on_emergency(self, position: int, code: int, register: int) -> None:
        """Keep a slave's emergency message, see :meth:`.supervisor.Supervisor.emergency`."""
        cycle = self._plant.cycle
        slave = self._topology.slaves[position]
        codes = slave.drive.error_codes if isinstance(slave, DriveSlave) else {}
        self._between.add(partial(cycle.supervisor.emergency, position, code, register, codes))

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
                for slave, status in zip(self._topology.slaves, supervisor.slaves.statuses, strict=False)
                if not status.operational
            },
            "expected": supervisor.frames.expected,
            "events": list(supervisor.events),
            "turns": list(supervisor.turns),
            "warnings": self.warnings,
        }

    def report(self, report: Mapping[str, Any]) -> None:
        """Put a report where the owner reads it."""
        self._report.put(dumps(report))
