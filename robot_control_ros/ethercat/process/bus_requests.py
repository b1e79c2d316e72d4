"""What the owner of the bus's process asks for: enabling, stopping, faults to reset, objects of slaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from ...core.errors import ConfigError, HardwareFault
from ..driver.al_status import Recovery
from ..driver.cia402 import FAULTS
from ..driver.drives import SdoWrite
from ..driver.ethercat_plant import EthercatPlant
from .rpc import BetweenCycles

RECOVERY_TIMEOUT = 8.0  # s for slaves to be back in OP
POLL = 0.01  # s


class BusRequests:
    """Does what is asked for, beside the cycle; joints are named in the robot's order."""

    def __init__(self, plant: EthercatPlant, joints: tuple[str, ...], between: BetweenCycles) -> None:
        self._plant, self._joints, self._between = plant, joints, between
        self._topology = plant.topology
        self._requests: dict[str, Callable[..., str]] = {
            "enable": lambda: self._order(plant.enable, "enabling"),
            "disable": lambda: self._order(plant.cycle.supervisor.request_disable, "disabled"),
            "quick_stop": lambda: self._order(plant.cycle.supervisor.request_quick_stop, "stopping"),
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
            valid = tuple(self._requests)
            message = f"unknown request {name!r}; requests: {', '.join(valid)}"
            raise ConfigError(message, name="request", value=name, bound=valid)
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
            still = "still being stopped" if cycle.supervisor.stopped else "enabled: there is no fault to reset"
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
        supervisor, master = self._plant.cycle.supervisor, self._plant.master
        recovered: list[str] = []
        until = time.monotonic() + RECOVERY_TIMEOUT
        while True:
            if not master.carrier():
                raise HardwareFault("link down: the cable at the master, or the first slave's power")
            statuses = master.access.al_statuses()
            self._between.call(lambda: supervisor.update_link(True))
            self._between.call(partial(supervisor.update_al, statuses))
            steps: list[tuple[int, Recovery]] = supervisor.slaves.recovery()
            if not steps:
                return f"back in OP: {', '.join(recovered)}" if recovered else "all slaves are in OP"
            if time.monotonic() > until:
                problems = "; ".join(f"{self._topology.slaves[i]} {statuses[i]}" for i, _ in steps)
                message = f"not back in OP within {RECOVERY_TIMEOUT:g} s: {problems}"
                raise HardwareFault(message, bound=RECOVERY_TIMEOUT)
            for position, step in steps:
                name = str(self._topology.slaves[position])
                recovered += [] if name in recovered else [name]
                master.recover(position, step)
