"""The master of a bus: pysoem (SOEM), so used that a lost frame costs no more than its time.

One thread exchanges process data. Everything else that talks to slaves may be called from one other thread meanwhile.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import ConfigError, HardwareFault, RobotControlError
from .drives import SdoWrite
from .interfaces import has_carrier, interface_names
from .pdo import RATED_TORQUE
from .supervisor import AL_ERROR, OP, PREOP, SAFEOP, AlStatus, Recovery
from .topology import FoundSlave, Slave, Topology

LONGEST_STATE_CHANGE = 3.0  # s
TRIES = 3  # of a transfer
LEAST_RECEIVE = 50  # us: SOEM looks once, at least
ALIAS_WORD = 4  # of the EEPROM: configured station alias
_RECONFIGURE = 2000  # us, for a frame; what got no answer is tried again
_SYNC0 = 0x0300

Emergency = Callable[[int, int, int], None]  # slave's position, error code, error register


class Master:
    """A network interface with slaves behind it.

    Args:
        interface: name of the network interface.

    Attributes:
        slaves: pysoem's, in the order of the bus; empty before :meth:`scan`.
        expected_working_counter: of one exchange; 0 before :meth:`configure`.
        blocks: in words, why a lost frame will block longer than it should; empty where it won't.
    """

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self.slaves: list[Any] = []
        self.expected_working_counter = 0
        self.blocks = ""
        self._soem = _import_pysoem()
        self._master = self._soem.Master()
        self._descriptor = -1
        self._wire = threading.Lock()  # held from send to receive: who else reads then might take our frame
        self._beside_depth = 0
        self._sync = 0  # ns, cycle of SYNC0
        self._topology: Topology | None = None
        self._refused: dict[int, ConfigError | HardwareFault] = {}

    # --- set-up ---

    def open(self) -> None:
        """Open the interface.

        Raises:
            ConfigError: there is no such interface, or it isn't permitted.
        """
        known = interface_names()
        if self.interface not in known:
            raise ConfigError(f"no network interface {self.interface!r}; interfaces: {', '.join(known)}")
        before = _sockets()
        try:
            self._master.open(self.interface)
        except ConnectionError as error:
            raise ConfigError(
                f"interface {self.interface}: {error}; raw sockets need CAP_NET_RAW, see docs/ethercat.md"
            ) from error
        self._unblock(_sockets() - before)

    def _unblock(self, opened: set[int]) -> None:
        """SOEM waits for frames by SO_RCVTIMEO, which the kernel rounds up to its tick: 4 to 10 ms."""
        for descriptor in opened:
            with socket.socket(fileno=os.dup(descriptor)) as wire:
                if wire.family != socket.AF_PACKET:
                    continue
                wire.setblocking(False)  # of the open file, so SOEM's too
                began = time.perf_counter()
                try:
                    wire.recv(2048)
                except BlockingIOError:
                    self._descriptor = descriptor
                if time.perf_counter() - began > 0.001:
                    self._descriptor = -1
        if self._descriptor < 0:
            self.blocks = "SOEM's socket wasn't found: each lost frame will cost some 10 ms"

    def close(self) -> None:
        """Let the slaves go to INIT, and close the interface."""
        if self.slaves:
            self._master.state = self._soem.INIT_STATE
            self._master.write_state()
        self.slaves = []
        self._master.close()

    def scan(self) -> list[FoundSlave]:
        """What is on the bus; all slaves are in PRE-OP then.

        Raises:
            HardwareFault: no slave answers.
        """
        if self._master.config_init(release_gil=True) <= 0:
            raise HardwareFault(f"no slave answers on {self.interface}: cable, power, or another interface?")
        self.slaves = list(self._master.slaves)
        return [FoundSlave(slave.man, slave.id, slave.rev, self._alias(slave), slave.name) for slave in self.slaves]

    def _alias(self, slave: Any) -> int:
        try:
            return int.from_bytes(slave.eeprom_read(ALIAS_WORD)[:2], "little")
        except self._soem.EepromError:
            return 0

    def configure(self, topology: Topology) -> None:
        """See that the bus is that of the topology, and bring it to SAFE-OP.

        Raises:
            ConfigError: it isn't, or a drive doesn't take its settings; names slave, object and expectation.
            HardwareFault: a slave doesn't answer, or doesn't change its state.
        """
        topology.check_bus(self.scan())
        self._topology = topology
        try:
            self._configure(topology)
        except RobotControlError:  # SOEM doesn't say so where a frame got lost meanwhile: once more, from the beginning
            topology.check_bus(self.scan())
            self._configure(topology)

    def _configure(self, topology: Topology) -> None:
        for slave in topology.drives:
            self._configure_drive(slave, topology.cycle)
        try:
            self._master.config_map()
        except self._soem.ConfigMapError as error:
            raise ConfigError(f"the process data can't be mapped: {error.error_list}") from error
        for slave in topology.drives:
            found = self.slaves[slave.position]
            slave.axis().check_sizes(len(found.output), len(found.input))
        self.expected_working_counter = sum(
            (2 if slave.output else 0) + (1 if slave.input else 0) for slave in self.slaves
        )
        self._sync = round(topology.cycle * 1e9) if self._master.config_dc() else 0
        for slave in topology.slaves:
            self._keep_time(slave)
        for slave in topology.drives:  # again where it is reconfigured: without power it has forgotten
            self.slaves[slave.position].setup_func = partial(self._configure_again, slave)
        self._await(SAFEOP)

    def _configure_drive(self, slave: Slave, cycle: float) -> None:
        assert slave.drive is not None
        if slave.drive.assign_activate not in (0, _SYNC0):
            raise ConfigError(
                f"{slave}: drive {slave.drive.name}: assign_activate = 0x{slave.drive.assign_activate:04X}: "
                f"choices: 0 (no distributed clocks), 0x{_SYNC0:04X} (SYNC0)"
            )
        for write in (*slave.drive.mapping_writes(), *slave.drive.sdo, *slave.drive.cycle_writes(cycle)):
            self.write_sdo(slave.position, write)
        slave.check_rated_torque(int.from_bytes(self.read_sdo(slave.position, RATED_TORQUE), "little"))

    def _configure_again(self, slave: Slave, found: Any) -> None:
        assert self._topology is not None
        try:
            self._configure_drive(slave, self._topology.cycle)
        except (ConfigError, HardwareFault) as error:  # SOEM can't pass it on
            self._refused[slave.position] = error

    def _keep_time(self, slave: Slave) -> None:
        """What a slave loses when it is configured anew: its watchdog and its clock's pulses.

        Raises:
            HardwareFault: it doesn't answer.
        """
        assert self._topology is not None
        found, milliseconds = self.slaves[slave.position], 1e3 * self._topology.watchdog
        if found.output:
            self._transfer(f"{slave}: watchdog", lambda: found.set_watchdog("processdata", milliseconds))
        if self._sync and slave.drive is not None and slave.drive.assign_activate:
            found.dc_sync(True, self._sync)

    def _await(self, state: int) -> None:
        if self._master.state_check(state, round(LONGEST_STATE_CHANGE * 1e6)) == state:
            return
        raise HardwareFault("; ".join(self._stragglers(state)))

    def _stragglers(self, state: int) -> list[str]:
        assert self._topology is not None
        statuses = self.al_statuses()
        late = [(slave, status) for slave, status in zip(self._topology.slaves, statuses, strict=True)]
        return [f"{slave} {status}: must be in AL state {state}" for slave, status in late if status.state != state]

    def operate(self, exchange: Callable[[], object]) -> None:
        """Bring all slaves from SAFE-OP to OP.

        Args:
            exchange: one exchange of process data, at its time; slaves go to OP only where they come.

        Raises:
            HardwareFault: a slave doesn't change its state; names it, and its error.
        """
        exchange()
        self._master.state = self._soem.OP_STATE
        self._master.write_state()
        deadline = time.monotonic() + LONGEST_STATE_CHANGE
        while time.monotonic() < deadline:
            exchange()
            if self._master.read_state() == OP:
                return
        raise HardwareFault("; ".join(self._stragglers(OP)))

    # --- the cycle ---

    def exchange(self, budget: float) -> int:
        """Send outputs, receive inputs; returns the working counter, negative where no frame came back.

        Args:
            budget: longest wait [s].
        """
        with self._wire:
            self._master.send_processdata()
            microseconds = round(budget * 1e6)
            if self._beside_depth or self._descriptor < 0:
                return int(self._master.receive_processdata(microseconds, release_gil=True))
            began = time.monotonic()
            select.select([self._descriptor], [], [], budget)
            left = microseconds - round((time.monotonic() - began) * 1e6)
            return int(self._master.receive_processdata(max(left, LEAST_RECEIVE)))

    def inputs(self, positions: Sequence[int]) -> list[bytes]:
        """What slaves sent with the last exchange whose working counter was right."""
        return [self.slaves[position].input for position in positions]

    def put(self, positions: Sequence[int], outputs: Sequence[bytes]) -> None:
        """Outputs of slaves for the next exchange."""
        for position, output in zip(positions, outputs, strict=True):
            self.slaves[position].output = output

    @property
    def clock(self) -> int:
        """Time of the reference clock with the last exchange [ns]; 0 without distributed clocks."""
        return int(self._master.dc_time) if self._sync else 0

    # --- beside the cycle ---

    @contextmanager
    def _beside(self) -> Iterator[None]:
        with self._wire:
            self._beside_depth += 1
        try:
            yield
        finally:
            with self._wire:
                self._beside_depth -= 1

    def al_statuses(self) -> list[AlStatus]:
        """State of each slave's communication, in the order of the bus."""
        with self._beside():
            self._master.read_state()
            return [AlStatus(slave.state, slave.al_status if slave.state else 0) for slave in self.slaves]

    def carrier(self) -> bool:
        """Whether the interface has a link."""
        return has_carrier(self.interface)

    def listen(self, emergency: Emergency) -> None:
        """Have emergencies told, from calls of :meth:`collect` and of SDO transfers."""
        for position, slave in enumerate(self.slaves):

            def told(message: Any, position: int = position) -> None:
                emergency(position, message.error_code, message.error_reg)

            slave.add_emergency_callback(told)

    def collect(self, position: int) -> None:
        """Fetch what is in a slave's mailbox: emergencies. One that didn't answer when last asked has none."""
        slave, soem = self.slaves[position], self._soem
        if slave.state & ~AL_ERROR < PREOP:
            return
        # An error there belongs to a transfer that has been given up.
        with self._beside(), suppress(soem.SdoError, soem.MailboxError, soem.PacketError):
            slave.mbx_receive()

    def recover(self, position: int, step: Recovery) -> None:
        """One step of a slave back to operation; whether it worked, the next :meth:`al_statuses` tell.

        SOEM holds the interpreter's lock while it waits for a slave that it configures anew: no cycle comes meanwhile,
        and others may stop by their watchdogs, and need a step then, too.

        Raises:
            ConfigError, HardwareFault: the drive doesn't take its settings; names slave and object.
        """
        slave = self.slaves[position]
        with self._beside():
            if step is Recovery.RECOVER:
                slave.recover(_RECONFIGURE)
            elif step is Recovery.RECONFIGURE:
                if slave.reconfig(_RECONFIGURE):
                    assert self._topology is not None
                    self._keep_time(self._topology.slaves[position])
                if error := self._refused.pop(position, None):
                    raise error
            else:
                slave.state = slave.state | AL_ERROR if step is Recovery.ACKNOWLEDGE else OP
                slave.write_state()

    def read_sdo(self, position: int, index: int, sub_index: int = 0, size: int = 1024) -> bytes:
        """An object of a slave.

        Raises:
            ConfigError: it refuses.
            HardwareFault: it doesn't answer.
        """
        slave, what = self.slaves[position], f"{self._name(position)}: object 0x{index:04X}:{sub_index} can't be read"
        return bytes(self._transfer(what, lambda: slave.sdo_read(index, sub_index, size, release_gil=True)))

    def write_sdo(self, position: int, write: SdoWrite) -> None:
        """Write an object; raises as :meth:`read_sdo`."""
        slave, data = self.slaves[position], write.data()
        what = f"{self._name(position)}: {write} can't be written"
        self._transfer(what, lambda: slave.sdo_write(write.index, write.sub_index, data, release_gil=True))

    def _transfer(self, what: str, action: Callable[[], Any]) -> Any:
        """Something that a slave must answer; what got no answer, for a frame may be lost, is tried again."""
        soem, problem = self._soem, ""
        for _ in range(TRIES):
            try:
                with self._beside():
                    return action()
            except soem.SdoError as error:
                raise ConfigError(f"{what}: abort 0x{error.abort_code:08X} {error.desc}") from error
            except (soem.MailboxError, soem.PacketError) as error:
                problem = f"error 0x{error.error_code:04X} {error.desc}"
            except soem.WkcError:
                problem = "no answer"
        raise HardwareFault(f"{what}: {problem}, {TRIES} times")

    def _name(self, position: int) -> str:
        if self._topology is not None and position < len(self._topology.slaves):
            return str(self._topology.slaves[position])
        return f"slave {position}"


def _sockets() -> set[int]:
    """File descriptors of this process that are sockets."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if os.readlink(entry).startswith("socket:"):
                found.add(int(entry.name))
        except OSError:  # the folder's own
            continue
    return found


def _import_pysoem() -> Any:
    try:
        import pysoem
    except ImportError as error:
        raise ConfigError("EtherCAT needs pysoem: pip install 'robot_control_ros[ethercat]'") from error
    return pysoem
