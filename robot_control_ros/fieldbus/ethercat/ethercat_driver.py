"""The driver of an EtherCAT bus, as the bus process runs it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...core.errors import ConfigError, HardwareFault, RobotControlError
from ...core.types import Command, RobotState
from ...robot.configuration import RobotConfig
from ..driver_options import read_options
from ..process.client import BusSettings
from ..process.pacing import Timing
from ..process.rpc import BetweenCycles
from ..supervisor import Action, SupervisorLimits
from .al_status import OP, AlStatus, Recovery
from .cia402 import FAULTS, describe_error
from .drives import SdoWrite
from .ethercat_plant import EthercatPlant
from .network import check_free
from .pdo import ERROR_CODE
from .slave_access import SlaveEvent
from .topology import DriveSlave, load_topology

RECOVERY_TIMEOUT = 8.0  # s for slaves to be back in OP
POLL = 0.01  # s
COLLECT_EVERY = 10  # looks per mailbox that is looked into while all is well


@dataclass(frozen=True)
class EthercatOptions:
    """Settings of an EtherCAT bus.

    Attributes:
        topology: Name of the topology, or path of its file; empty takes the robot's name.
        frame_timeout: Longest wait for a frame [s]; 0 for half a cycle. More makes sense on an
            emulated bus only, since virtual machines stall.
        watchdog: Time after which slaves without process data stop by themselves [s]; 0 for the
            topology's.
    """

    topology: str = ""
    frame_timeout: float = 0.0
    watchdog: float = 0.0


def ethercat_settings(
    interface: str,
    robot: str,
    profile: str = "ethercat",
    topology: str = "",
    frame_timeout: float = 0.0,
    watchdog: float = 0.0,
    **settings: Any,
) -> BusSettings:
    """Settings of a bus process on a network interface.

    Args:
        interface: Name of the network interface.
        robot, profile, settings: See :class:`~..process.client.BusSettings`.
        topology, frame_timeout, watchdog: See :class:`EthercatOptions`.
    """
    options = {"topology": topology, "frame_timeout": frame_timeout, "watchdog": watchdog}
    return BusSettings(
        bus="ethercat",
        address=interface,
        robot=robot,
        profile=profile,
        options=options,
        **settings,
    )


class EthercatDriver(EthercatPlant):
    """CiA 402 drives on an EtherCAT bus; see :class:`~..driver.Driver`."""

    measures_wrench = False

    def __init__(
        self,
        robot: RobotConfig,
        address: str,
        options: Mapping[str, Any],
        limits: SupervisorLimits,
        timing: Timing,
        between: BetweenCycles,
    ) -> None:
        chosen = read_options(EthercatOptions, options)
        topology = load_topology(chosen.topology or robot.name)
        if chosen.watchdog:
            topology = replace(topology, watchdog=chosen.watchdog)
        frame_timeout = chosen.frame_timeout or None
        super().__init__(robot.joints, topology, address, limits, frame_timeout, timing)
        self._between = between
        self._collected = itertools.cycle(range(len(topology.slaves)))
        self._looks = 0
        self._troubled = True  # at the last look: the first one looks at all

    @staticmethod
    def check_free(address: str) -> None:
        check_free(address)

    def prepare(self) -> None:
        super().prepare()
        self.master.access.listen(self._on_slave_event)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the master."""
        return self.master.warnings

    # --- in the cycle ---

    @property
    def action(self) -> Action:
        return self.cycle.supervisor.action

    def state(self, time: float) -> RobotState:
        return self.cycle.state(time)

    def command(self, command: Command, time: float) -> None:
        self.cycle.command(command, time)

    def trip(self, cause: str) -> None:
        self.cycle.supervisor.trip(cause)

    def note(self, message: str) -> None:
        self.cycle.supervisor.note(message)

    def counters(self) -> dict[str, float]:
        frames = self.cycle.supervisor.frames
        return {
            "working counter": frames.result,
            "lost frames": frames.lost_frames,
            "wrong working counters": frames.bad_counters,
            "late frames": frames.late_frames,
        }

    # --- beside the cycle ---

    def look(self) -> None:
        """Look at the slaves where the last exchange went wrong or a drive is in a fault, and once
        more after that; else at one mailbox, now and then.

        Each look waits for the bus with the interpreter's lock held, so that the cycle may have to
        wait, too.
        """
        trouble = self._in_trouble()
        if trouble or self._troubled:
            self._troubled = trouble
            self._poll_slaves()
        self._looks += 1
        if self._troubled or self._looks % COLLECT_EVERY == 0:
            self.master.access.collect(next(self._collected))

    def _in_trouble(self) -> bool:
        cycle = self.cycle
        return cycle.supervisor.frames.bad > 0 or any(
            machine.state in FAULTS for machine in cycle.machines
        )

    def _poll_slaves(self) -> None:
        """Read what the exchange doesn't show: AL states, carrier, error codes that aren't
        in the process data.
        """
        master = self.master
        carrier = master.carrier()
        statuses = master.access.al_statuses() if carrier else []
        self._between.add(partial(self.cycle.supervisor.update_link, carrier))
        if carrier:
            self._between.add(partial(self._update_al, statuses))
            self._read_error_codes()

    def _update_al(self, statuses: Sequence[AlStatus]) -> None:
        """Pass AL states on: a right working counter says that all slaves are in OP.

        A reading whose frame got lost counts for nothing then.
        """
        supervisor = self.cycle.supervisor
        all_in_op = supervisor.frames.result == supervisor.frames.expected
        supervisor.update_al([AlStatus(OP)] * len(statuses) if all_in_op else statuses)

    def _read_error_codes(self) -> None:
        cycle = self.cycle
        for i in cycle.data.unmapped_errors:
            if cycle.machines[i].state in FAULTS:
                try:
                    code = self.master.access.read_sdo(cycle.positions[i], ERROR_CODE)
                    cycle.data.set_error_code(i, int.from_bytes(code, "little"))
                except RobotControlError as error:
                    self._between.add(partial(cycle.supervisor.note, str(error)))

    def _on_slave_event(self, event: SlaveEvent) -> None:
        """Keep what a slave sent unasked. Status words show what it means for the drives."""
        slave = self.topology.slaves[event.position]
        codes = slave.drive.error_codes if isinstance(slave, DriveSlave) else {}
        self._between.add(partial(self.cycle.supervisor.note, f"{slave}: {event.describe(codes)}"))

    def describe(self) -> dict[str, Any]:
        """The report; beyond the protocol's keys it has `slaves`, those that aren't in OP,
        `expected`, the right working counter, and `turns` of the supervisor.
        """
        supervisor = self.cycle.supervisor
        frames = supervisor.frames
        statuses = zip(self.topology.slaves, supervisor.slaves.statuses, strict=False)
        return {
            "message": supervisor.message,
            "stopped": supervisor.stopped,
            "causes": supervisor.causes,
            "events": list(supervisor.events),
            "drives": self._describe_drives(),
            "facts": {"working counter": f"{frames.result} of {frames.expected}"},
            "slaves": {
                str(slave): str(status) for slave, status in statuses if not status.operational
            },
            "expected": frames.expected,
            "turns": list(supervisor.turns),
        }

    def _describe_drives(self) -> list[dict[str, Any]]:
        cycle = self.cycle
        data = cycle.data
        following_errors = data.following_error.tolist()
        described = []
        for i, joint in enumerate(self.joints):
            machine = cycle.machines[i]
            code = data.error_codes[i]
            values = {
                "status word": f"0x{data.status_words[i]:04X}",
                "mode of operation": data.mode_displays[i],
                "waits for": machine.waits_for,
                "following error [rad]": following_errors[i],
            }
            described.append(
                {
                    "joint": joint,
                    "state": machine.state.value,
                    "error": describe_error(code, cycle.error_codes[i]) if code else "",
                    "failure": machine.failure,
                    "values": values,
                }
            )
        return described

    # --- requests ---

    @property
    def requests(self) -> Mapping[str, Callable[..., str]]:
        """What the owner may ask for; joints are named in the robot's order."""
        supervisor = self.cycle.supervisor
        return {
            "enable": lambda: self._order(self.enable, "enabling"),
            "disable": lambda: self._order(supervisor.request_disable, "disabled"),
            "quick_stop": lambda: self._order(supervisor.request_quick_stop, "stopping"),
            "reset_fault": self._reset_fault,
            "read_sdo": self._read_sdo,
            "write_sdo": self._write_sdo,
        }

    def _order(self, action: Callable[[], None], message: str) -> str:
        self._between.call(action)
        return message

    def _read_sdo(self, position: int, index: int, sub_index: int) -> str:
        return self.master.access.read_sdo(position, index, sub_index).hex()

    def _write_sdo(self, position: int, index: int, sub_index: int, type: str, value: int) -> str:
        self.master.access.write_sdo(position, SdoWrite(index, type, value, sub_index))
        return ""

    def _reset_fault(self) -> str:
        """Bring all slaves back to OP, and drives out of their faults; they stay disabled."""
        cycle = self.cycle
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
            pairs = zip(self.joints, cycle.machines, strict=True)
            failures = [f"{name}: {machine.failure}" for name, machine in pairs if machine.failure]
            if failures or time.monotonic() > until:
                raise HardwareFault("; ".join(failures) or "the drives are still in their faults")
            time.sleep(POLL)
        return message

    def _recover(self) -> str:
        supervisor = self.cycle.supervisor
        master = self.master
        slaves = self.topology.slaves
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
                problems = "; ".join(f"{slaves[i]} {statuses[i]}" for i, _ in steps)
                message = f"not back in OP within {RECOVERY_TIMEOUT:g} s: {problems}"
                raise HardwareFault(message, bound=RECOVERY_TIMEOUT)
            for position, step in steps:
                name = str(slaves[position])
                recovered += [] if name in recovered else [name]
                master.recover(position, step)
