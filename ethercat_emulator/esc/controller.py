"""A slave controller: its memory, as a master reads and writes it."""

from __future__ import annotations

from typing import Protocol

from . import fmmu
from .clock import Clock
from .eeprom import Eeprom
from .registers import (
    AL_CONTROL,
    DC,
    DC_END,
    DC_RECEIVE_TIMES,
    DC_SYSTEM_TIME,
    DL_ALIAS,
    EEPROM_CONFIG,
    EEPROM_CONTROL,
    EEPROM_DATA,
    ERROR_COUNTERS,
    FMMU,
    FMMU_SIZE,
    FMMUS,
    RAM,
    SIZE,
    STATION_ADDRESS,
    STATION_ALIAS,
    SYNC_MANAGER,
    SYNC_MANAGER_SIZE,
    SYNC_MANAGERS,
    WATCHDOG_COUNTER,
    WATCHDOG_DIVIDER,
    WATCHDOG_TIME,
    after_power_up,
    writable,
)
from .sync_manager import SyncManager
from .watchdog import Watchdog

_MOST_PLANS = 64  # masters use a few logical datagrams, again and again
_FMMU_END = FMMU + FMMU_SIZE * FMMUS
_SYNC_MANAGER_END = SYNC_MANAGER + SYNC_MANAGER_SIZE * SYNC_MANAGERS


class Owner(Protocol):
    """What a master's accesses set off in the device."""

    def al_control(self, control: int) -> None:
        """The AL control register was written."""

    def accessed(self, manager: SyncManager) -> None:
        """The last byte of a sync manager was read or written."""

    def configured(self) -> None:
        """FMMUs or sync managers were written."""


class Esc:
    """Memory with side effects; what they mean for the device is its owner's affair.

    Args:
        content: of the EEPROM.
        clock_start: what the distributed clock shows at time 0 [ns]; None for a slave without one.
        eeprom_8_bytes: the EEPROM interface gives 8 bytes at a time, else 4.
        owner: called when the master has changed something.
    """

    def __init__(
        self,
        content: bytearray,
        *,
        clock_start: int | None,
        eeprom_8_bytes: bool,
        owner: Owner,
    ) -> None:
        self.memory = after_power_up(
            dc=clock_start is not None, eeprom_8_bytes=eeprom_8_bytes, alias=0
        )
        # while it is there, a slice of another length is an error
        self._fixed_size = memoryview(self.memory)
        self.eeprom = Eeprom(self.memory, content)
        self.clock = None if clock_start is None else Clock(self.memory, clock_start)
        self.watchdog = Watchdog(self.memory)
        self.managers = [SyncManager(self.memory, number) for number in range(SYNC_MANAGERS)]
        self.station_address = 0
        self.behind = 0  # slaves behind this one, for its clock
        self._writable = writable(self.clock is not None)
        self._owner = owner
        self._fmmus: list[fmmu.Fmmu] = []
        self._plans: dict[tuple[int, int], fmmu.Plan] = {}

    def answers_to(self, address: int) -> bool:
        """Whether a station address, or the alias where the master has allowed
        it, is this slave's.
        """
        if address == self.station_address:
            return True
        alias = int.from_bytes(self.memory[STATION_ALIAS : STATION_ALIAS + 2], "little")
        return bool(self.memory[DL_ALIAS] & 1) and address == alias != 0

    def reconfigure(self) -> None:
        """Take registers of FMMUs and sync managers over, after a change."""
        for manager in self.managers:
            manager.configure()
        self._fmmus = fmmu.active(self.memory)
        self._plans.clear()
        self._owner.configured()

    def lock(self, number: int, locked: bool) -> None:
        """Let the device lock a sync manager, or unlock it."""
        self.managers[number].lock(locked)
        self._plans.clear()

    def read(self, address: int, length: int, now: int) -> bytes | bytearray | None:
        """What the master reads; None where it can't."""
        end = address + length
        if end > SIZE or not length:
            return None
        if address >= RAM:
            return self._read_window(address, end)
        if address < DC_END and end > DC:
            if self.clock is None:
                return None
            self.clock.refresh(now)
        elif address < EEPROM_DATA + 8 and end > EEPROM_CONFIG:
            self.eeprom.refresh(now)
        return self.memory[address:end]

    def write(self, address: int, data: bytes, now: int) -> bool:
        """Take what the master writes; False where it can't."""
        end = address + len(data)
        if end > SIZE or not data:
            return False
        if address >= RAM:
            return self._write_window(address, end, data, now)
        if address == DC_SYSTEM_TIME and end <= DC_SYSTEM_TIME + 8 and self.clock is not None:
            self.clock.discipline(data, now)
            return True
        mask = self._writable[address:end]
        if 1 not in mask or (
            address <= EEPROM_CONTROL + 1 and end > EEPROM_CONTROL and self.eeprom.busy(now)
        ):
            return False
        old = self.memory[address:end]
        self.memory[address:end] = bytes(
            new if may else kept for new, kept, may in zip(data, old, mask, strict=False)
        )
        self._after_write(address, end, now)
        return True

    def logical(self, address: int, data: memoryview, *, read: bool, write: bool, now: int) -> int:
        """Exchange a logical datagram's data with the memory; returns 1 if anything was
        read, plus 2 if written.
        """
        key = (address, len(data))
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = fmmu.plan(self._fmmus, self.managers, *key)
        memory = self.memory
        read = read and plan.readable
        write = write and plan.writable
        # What arrived is written, also where inputs lie over outputs.
        arrived = bytes(data) if read and write else data
        if read:
            for copy in plan.reads:
                data[copy.data] = memory[copy.memory]
            for bits in plan.bit_reads:
                data[bits.data] = bits.read(memory, data)
        if write:
            for copy in plan.writes:
                memory[copy.memory] = arrived[copy.data]
            for bits in plan.bit_writes:
                memory[bits.memory] = bits.write(arrived, memory)
            for manager in plan.completes:
                if manager.triggers_watchdog:
                    self.watchdog.written(now)
                self._owner.accessed(manager)
        return read + 2 * write

    def _read_window(self, address: int, end: int) -> bytearray | None:
        for manager in self.managers:
            if manager.active and address < manager.end and end > manager.start:
                if not manager.admits(address, end, write=False):
                    return None
                data = self.memory[address:end]
                if manager.accessed(end):
                    self._owner.accessed(manager)
                return data
        return self.memory[address:end]

    def _write_window(self, address: int, end: int, data: bytes, now: int) -> bool:
        for manager in self.managers:
            if manager.active and address < manager.end and end > manager.start:
                if not manager.admits(address, end, write=True):
                    return False
                self.memory[address:end] = data
                if manager.accessed(end):
                    if manager.triggers_watchdog:
                        self.watchdog.written(now)
                    self._owner.accessed(manager)
                return True
        self.memory[address:end] = data
        return True

    def _after_write(self, address: int, end: int, now: int) -> None:
        def touches(first: int, last: int) -> bool:
            return address <= last and end > first

        if touches(STATION_ADDRESS, STATION_ADDRESS + 1):
            self.station_address = int.from_bytes(
                self.memory[STATION_ADDRESS : STATION_ADDRESS + 2], "little"
            )
        if touches(WATCHDOG_DIVIDER, WATCHDOG_TIME + 1):
            self.watchdog.configure()
        if touches(WATCHDOG_COUNTER, WATCHDOG_COUNTER + 1):
            self.memory[WATCHDOG_COUNTER : WATCHDOG_COUNTER + 2] = bytes(2)
        if touches(ERROR_COUNTERS, ERROR_COUNTERS + 0x13):
            self.memory[ERROR_COUNTERS : ERROR_COUNTERS + 0x14] = bytes(0x14)
        if touches(EEPROM_CONTROL, EEPROM_CONTROL + 1):
            self.eeprom.command(now)
        if touches(FMMU, _FMMU_END - 1) or touches(SYNC_MANAGER, _SYNC_MANAGER_END - 1):
            self.reconfigure()
        if self.clock is not None and touches(DC_RECEIVE_TIMES, DC_RECEIVE_TIMES + 3):
            self.clock.latch(now, self.behind)
        if touches(AL_CONTROL, AL_CONTROL + 1):
            self._owner.al_control(
                int.from_bytes(self.memory[AL_CONTROL : AL_CONTROL + 2], "little")
            )
