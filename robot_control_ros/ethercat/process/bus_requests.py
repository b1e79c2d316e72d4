"""What the owner of the bus's process asks for: enabling, stopping, faults to reset, objects of slaves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...core.errors import ConfigError, HardwareFault
from ..driver.al_status import Recovery
from ..driver.cia402 import State
from ..driver.drives import SdoWrite
from ..driver.ethercat_plant import EthercatPlant
from .between_cycles import BetweenCycles

RECOVERY_TIMEOUT = 8.0  # s for slaves to be back in OP
POLL = 0.01  # s
FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)


class BusRequests:
    """Does what is asked for, beside the cycle.

    Args:
        plant: on the bus.
        joints: names, in the robot's order.
        between: the cycle's.
    """

    def __init__(self, plant: EthercatPlant, joints: tuple[str, ...], between: BetweenCycles) -> None:
        self._plant, self._joints, self._between = plant, joints, between
        self._topology = plant.topology

    def do(self, request: Mapping[str, Any]) -> str:
        """Do what a request asks for; returns what came of it.

        Raises:
            ConfigError: it is refused; says why.
            HardwareFault: a slave or the cycle doesn't answer, or the bus isn't back in OP in time.
        """
        name = request["do"]
        cycle = self._plant.cycle
        if name == "enable":
            self._between.call(self._plant.enable)
            return "enabling"
        if name == "disable":
            self._between.call(cycle.supervisor.request_disable)
            return "disabled"
        if name == "quick_stop":
            self._between.call(cycle.supervisor.request_quick_stop)
            return "stopping"
        if name == "reset_fault":
            return self._reset_fault()
        position, index, sub_index = request["position"], request["index"], request["sub_index"]
        if name == "read_sdo":
            return self._plant.master.access.read_sdo(position, index, sub_index).hex()
        if name == "write_sdo":
            self._plant.master.access.write_sdo(position, SdoWrite(index, sub_index, request["type"], request["value"]))
            return ""
        raise ConfigError(f"unknown request {name!r}")

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
            failures = [
                f"{name}: {machine.failure}"
                for name, machine in zip(self._joints, cycle.machines, strict=True)
                if machine.failure
            ]
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
                raise HardwareFault(f"not back in OP within {RECOVERY_TIMEOUT:g} s: {problems}")
            for position, step in steps:
                name = str(self._topology.slaves[position])
                recovered += [] if name in recovered else [name]
                master.recover(position, step)
