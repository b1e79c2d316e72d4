"""The master of a bus: pysoem (SOEM), so used that a lost frame costs no more than its time.

One thread exchanges process data. Everything else that talks to slaves may be called from one other
thread meanwhile.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ...core.errors import ConfigError, HardwareFault, RobotControlError, missing_extra, refused
from .al_status import AL_ERROR, OP, SAFEOP, Recovery
from .drives import interpolation_writes
from .network import check_free, check_interface, has_carrier, open_sockets, unblock
from .pdo import RATED_TORQUE
from .slave_access import SlaveAccess
from .topology import DriveSlave, FoundSlave, Slave, Topology
from .watchdog import set_watchdog

MAX_STATE_CHANGE = 3.0  # s
MAX_IMAGE = 4096  # bytes of process data: pysoem has no room for more
MIN_RECEIVE = 50  # us: SOEM looks once, at least
EEPROM_TIMEOUT = 200_000  # us, for a word
# us, until a slave takes a request; SOEM's 20 ms are short for a machine that stalls
MAILBOX_TIMEOUT = 200_000
# us, for a frame of a scan or of the configuration. With SOEM's 2 ms, a machine that stalls loses
# the answer with a slave's address, and then SOEM reads an EEPROM that isn't there, for minutes.
CONFIGURATION_TIMEOUT = 50_000
ALIAS_WORD = 4  # of the EEPROM: configured station alias
_RECONFIGURE = 2000  # us, for a frame; what got no answer is tried again
_SYNC0 = 0x0300


class Master:
    """A network interface, by its name, with slaves behind it.

    Attributes:
        access: Access to single slaves, beside the cycle.
        expected_working_counter: Right working counter of one exchange; 0 before :meth:`configure`.
        warnings: Messages of :meth:`open` and :meth:`configure` that a user must know.
    """

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self.expected_working_counter = 0
        self.warnings: list[str] = []
        self._soem = _import_pysoem()
        self._master = self._soem.Master()
        self._descriptor = -1
        self.access = SlaveAccess(self._soem, self._master)
        self._sync = 0  # ns, cycle of SYNC0
        self._topology: Topology  # after configure
        self._refused: dict[int, ConfigError | HardwareFault] = {}

    # --- set-up ---

    def open(self) -> None:
        """Open the interface; a ConfigError where it isn't there or not permitted, or
        another master has it.
        """
        check_interface(self.interface)
        before = open_sockets()
        try:
            self._master.open(self.interface)
        except ConnectionError as error:
            raise ConfigError(
                f"interface {self.interface}: {error}; raw sockets need CAP_NET_RAW, see docs/ethercat.md"
            ) from error
        opened = open_sockets() - before
        try:
            # of two that open it at once, the later one sees the earlier
            check_free(self.interface, opened)
        except ConfigError:
            self._master.close()
            raise
        self._descriptor = unblock(opened)
        if self._descriptor < 0:
            self.warnings.append("SOEM's socket wasn't found: each lost frame will cost some 10 ms")

    def close(self) -> None:
        """Let the slaves go to INIT, and close the interface."""
        if self.access.slaves:
            self._master.state = self._soem.INIT_STATE
            self._master.write_state()
        self.access.slaves = []
        self._master.close()

    def scan(self) -> list[FoundSlave]:
        """Slaves on the bus, all in PRE-OP then; a HardwareFault where none answers."""
        timeouts = self._soem.settings.timeouts
        timeouts.eeprom = EEPROM_TIMEOUT
        timeouts.tx_mailbox = MAILBOX_TIMEOUT
        with _longer_timeouts(self._soem.settings.timeouts):
            found = self._master.config_init(release_gil=True)
        if found <= 0:
            raise HardwareFault(
                f"no slave answers on {self.interface}: cable, power, or another interface?"
            )
        self.access.find(self._master.slaves)
        words = [slave.eeprom_read(ALIAS_WORD, EEPROM_TIMEOUT)[:2] for slave in self.access.slaves]
        pairs = zip(
            self.access.slaves, (int.from_bytes(word, "little") for word in words), strict=True
        )
        return [
            FoundSlave(slave.man, slave.id, slave.rev, alias, _name(slave))
            for slave, alias in pairs
        ]

    def configure(self, topology: Topology) -> None:
        """See that the bus is that of the topology, and bring it to SAFE-OP.

        Raises:
            ConfigError: it isn't, or a drive doesn't take its settings; names slave, object and
                expectation.
            HardwareFault: a slave doesn't answer, or doesn't change its state.
        """
        self._topology = topology
        problems: list[RobotControlError] = []
        # a frame may be lost; or a slave has a complete access of its own
        for complete_access in (True, True, False):
            topology.check_bus(self.scan())
            self.access.names = [str(slave) for slave in topology.slaves]
            try:
                with _longer_timeouts(self._soem.settings.timeouts):
                    self._configure(topology, complete_access)
                break
            except RobotControlError as error:
                problems.append(error)
        else:
            raise problems[0]
        if not complete_access:
            self.warnings.append(f"configured without complete access; with it: {problems[0]}")
        if topology.without_watchdog:
            self.warnings.append(
                "without_watchdog: the slaves go on with their last outputs where frames end"
            )

    def _configure(self, topology: Topology, complete_access: bool) -> None:
        for each in topology.slaves:
            if not (
                complete_access and (not isinstance(each, DriveSlave) or each.drive.complete_access)
            ):
                self.access.slaves[each.position]._disable_complete_access()
        for slave in topology.drives:
            self._configure_drive(slave, topology.cycle)
        self._map()
        for slave in topology.drives:
            found = self.access.slaves[slave.position]
            slave.axis.check_sizes(len(found.output), len(found.input))
        self.expected_working_counter = sum(
            (2 if slave.output else 0) + (1 if slave.input else 0) for slave in self.access.slaves
        )
        self._sync = round(topology.cycle * 1e9) if self._master.config_dc() else 0
        for each in topology.slaves:
            self._keep_time(each)
        # again where it is reconfigured: without power it has forgotten
        for slave in topology.drives:
            self.access.slaves[slave.position].setup_func = partial(self._configure_again, slave)
        self._await(SAFEOP)

    def _map(self) -> None:
        size = 0
        problems = []
        try:
            size = self._master.config_map()
        except self._soem.ConfigMapError as error:
            for each in error.error_list:
                place = (
                    f"object 0x{each.index:04X}:{each.subindex}: "
                    if isinstance(each, self._soem.SdoError)
                    else ""
                )
                if hasattr(each, "slave_pos"):
                    problems.append(
                        f"{self.access.name(each.slave_pos - 1)}: {place}{self.access.problem(each)}"
                    )
                else:
                    self.warnings.append(
                        "a slave sent an emergency while the process data were mapped"
                    )
        if size > MAX_IMAGE:
            raise refused(
                "process data", size, f"must be at most {MAX_IMAGE} bytes in all", MAX_IMAGE
            )
        if problems:
            raise ConfigError(f"the process data can't be mapped: {'; '.join(problems)}")

    def _configure_drive(self, slave: DriveSlave, cycle: float) -> None:
        if slave.drive.assign_activate not in (0, _SYNC0):
            rule = f"must be 0 (no distributed clocks) or {_SYNC0} (0x{_SYNC0:04X}: SYNC0)"
            where = f"{slave}: drive {slave.drive.name}: "
            raise refused(
                "assign_activate", slave.drive.assign_activate, rule, (0, _SYNC0), where=where
            )
        interpolation = interpolation_writes(cycle) if slave.drive.interpolation_time else []
        for write in (*slave.drive.mapping_writes(), *slave.drive.sdo, *interpolation):
            self.access.write_sdo(slave.position, write)
        slave.check_rated_torque(
            int.from_bytes(self.access.read_sdo(slave.position, RATED_TORQUE), "little")
        )

    def _configure_again(self, slave: DriveSlave, found: Any) -> None:
        try:
            self._configure_drive(slave, self._topology.cycle)
        except (ConfigError, HardwareFault) as error:  # SOEM can't pass it on
            self._refused[slave.position] = error

    def _keep_time(self, slave: Slave) -> None:
        """Set what a slave loses when it is configured anew: watchdog and clock pulses."""
        found = self.access.slaves[slave.position]
        if found.output:
            set_watchdog(
                self.access,
                slave,
                0.0 if self._topology.without_watchdog else self._topology.watchdog,
            )
        if self._sync and isinstance(slave, DriveSlave) and slave.drive.assign_activate:
            found.dc_sync(True, self._sync)

    def _await(self, state: int) -> None:
        if self._master.state_check(state, round(MAX_STATE_CHANGE * 1e6)) != state:
            raise HardwareFault("; ".join(self._stragglers(state)))

    def _stragglers(self, state: int) -> list[str]:
        statuses = self.access.al_statuses()
        pairs = zip(self._topology.slaves, statuses, strict=True)
        return [
            f"{slave} {status}: must be in AL state {state}"
            for slave, status in pairs
            if status.state != state
        ]

    def operate(self, exchange: Callable[[], object]) -> None:
        """Bring all slaves from SAFE-OP to OP, by exchanges of process data: slaves go there only
        where these come.

        Raises:
            HardwareFault: a slave doesn't change its state; names it, and its error.
        """
        exchange()
        self._master.state = self._soem.OP_STATE
        self._master.write_state()
        deadline = time.monotonic() + MAX_STATE_CHANGE
        while time.monotonic() < deadline:
            exchange()
            if self._master.read_state() == OP:
                return
        raise HardwareFault("; ".join(self._stragglers(OP)))

    # --- the cycle ---

    def exchange(self, budget: float) -> int:
        """Send outputs, receive inputs within a budget [s]; returns the working counter,
        negative without a frame.
        """
        with self.access.wire:
            self._master.send_processdata()
            microseconds = round(budget * 1e6)
            if self.access.busy or self._descriptor < 0:
                return int(self._master.receive_processdata(microseconds, release_gil=True))
            began = time.monotonic()
            select.select([self._descriptor], [], [], budget)
            left = microseconds - round((time.monotonic() - began) * 1e6)
            return int(self._master.receive_processdata(max(left, MIN_RECEIVE)))

    def inputs(self, positions: Sequence[int]) -> list[bytes]:
        """Inputs that slaves sent with the last exchange whose working counter was right."""
        return [self.access.slaves[position].input for position in positions]

    def put(self, positions: Sequence[int], outputs: Sequence[bytes]) -> None:
        """Set outputs of slaves for the next exchange."""
        for position, output in zip(positions, outputs, strict=True):
            self.access.slaves[position].output = output

    @property
    def clock(self) -> int:
        """Time of the reference clock with the last exchange [ns]; 0 without distributed clocks."""
        return int(self._master.dc_time) if self._sync else 0

    # --- beside the cycle ---

    def carrier(self) -> bool:
        """True where the interface has a link."""
        return has_carrier(self.interface)

    def recover(self, position: int, step: Recovery) -> None:
        """Do one step of a slave back to operation; the next AL states show whether it worked.

        SOEM holds the interpreter's lock while it waits for a slave that it configures anew: no
        cycle comes meanwhile, and others may stop by their watchdogs, and need a step then, too.

        Raises:
            ConfigError, HardwareFault: the drive doesn't take its settings; names slave and object.
        """
        slave = self.access.slaves[position]
        with self.access.beside():
            if step is Recovery.RECOVER:
                slave.recover(_RECONFIGURE)
            elif step is Recovery.RECONFIGURE:
                if slave.reconfig(_RECONFIGURE):
                    self._keep_time(self._topology.slaves[position])
                if error := self._refused.pop(position, None):
                    raise error
            else:
                slave.state = slave.state | AL_ERROR if step is Recovery.ACKNOWLEDGE else OP
                slave.write_state()


@contextmanager
def _longer_timeouts(timeouts: Any) -> Iterator[None]:
    usual = timeouts.ret, timeouts.safe
    timeouts.ret = CONFIGURATION_TIMEOUT
    timeouts.safe = 3 * CONFIGURATION_TIMEOUT
    try:
        yield
    finally:
        timeouts.ret, timeouts.safe = usual


def _name(slave: Any) -> str:
    """Name of a slave as its EEPROM says, where anything may be.

    Letters that can't be printed become ?.
    """
    try:
        name = str(slave.name)
    except UnicodeDecodeError as error:
        name = error.object.decode("latin-1")
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _import_pysoem() -> Any:
    try:
        import pysoem
    except ImportError as error:
        raise missing_extra("EtherCAT", "pysoem", "ethercat") from error
    return pysoem
