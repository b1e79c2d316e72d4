"""What can go wrong on a bus, one method each."""

from __future__ import annotations

from dataclasses import replace

from .drive import Drive
from .line import Line
from .sii import Identity, build
from .slave import Slave

NO_VALID_FIRMWARE = 0x0014  # AL status code


class Faults:
    """Injects faults into a bus that may be running; slaves are counted from 0, as on the bus at that time.

    Not safe against threads: call it between two exchanges, in the thread that makes them.

    Args:
        line: to the bus.
    """

    def __init__(self, line: Line) -> None:
        self._line, self._bus = line, line.bus

    def lose_frames(self, count: int) -> None:
        """The next frames get lost."""
        self._line.lose = count

    def late_frames(self, delay: float, count: int = 1) -> None:
        """The next frames come back late [s]."""
        self._line.delay, self._line.late = round(delay * 1e9), count

    def link(self, *, up: bool) -> None:
        """The cable is unplugged, or plugged in; the front end takes its interface down, too."""
        self._line.up = up

    def cut_chain(self, slave: int) -> None:
        """From a slave on the chain is out of reach; those there stay on."""
        self._slave(slave)
        self._bus.cut = slave
        self._bus.rewire()

    def mend_chain(self) -> None:
        """All are in reach again."""
        self._bus.cut = None
        self._bus.rewire()

    def ignore_process_data(self, slave: int, *, ignore: bool = True) -> None:
        """A slave is missing from logical datagrams, though it answers to others."""
        self._slave(slave).deaf = ignore

    def power(self, slave: int, *, on: bool) -> None:
        """A slave loses its power, and the chain ends before it, or gets it back."""
        found = self._slave(slave)
        if on and not found.powered:
            found.power_up()
        found.powered = on
        if not on and isinstance(found.device, Drive):
            found.device.reset()
        self._bus.rewire()

    def power_cycle(self, slave: int) -> None:
        """A slave is off for no time at all, and in INIT without an address then."""
        self.power(slave, on=False)
        self.power(slave, on=True)

    def al_error(self, slave: int, code: int = NO_VALID_FIRMWARE) -> None:
        """A slave falls to SAFEOP with this AL status code."""
        self._slave(slave).al_error(code)

    def drive_fault(self, slave: int, code: int, *, lasting: bool = False) -> None:
        """A drive fails with this error code (0x603F); a lasting fault can't be reset before :meth:`mend_drive`."""
        self._drive(slave).fault(code, lasting=lasting)

    def mend_drive(self, slave: int) -> None:
        """The cause of a lasting fault is gone."""
        self._drive(slave).mend()

    def emergency(self, slave: int, code: int, register: int = 0x01, data: bytes = b"") -> None:
        """A slave sends an emergency, and nothing else happens."""
        self._slave(slave).emergency(code, register, data)

    def freeze_position(self, slave: int, *, frozen: bool = True) -> None:
        """A drive tells the same actual position again and again; its loops know the real one."""
        self._drive(slave).position_frozen = frozen

    def refuse_mode(self, slave: int, mode: int, *, refuse: bool = True) -> None:
        """A drive doesn't take up a mode of operation, without saying so but in 0x6061."""
        modes = self._drive(slave).refused_modes
        modes.add(mode) if refuse else modes.discard(mode)

    def silence_mailbox(self, slave: int, *, silent: bool = True) -> None:
        """A slave takes SDO requests and doesn't answer."""
        mailbox = self._slave(slave).mailbox
        if mailbox is None:
            raise ValueError(f"slave {slave} has no mailbox")
        mailbox.mute = silent

    def swap(self, first: int, second: int) -> None:
        """Two slaves change places in the chain; their drives stay on their joints."""
        slaves = self._bus.slaves
        slaves[first], slaves[second] = self._slave(second), self._slave(first)
        self._bus.rewire()

    def remove(self, slave: int) -> Slave:
        """One slave less; returns it."""
        found = self._slave(slave)
        self._bus.slaves.remove(found)
        self._bus.rewire()
        return found

    def insert(self, position: int, slave: Slave) -> None:
        """One slave more."""
        self._bus.slaves.insert(position, slave)
        self._bus.rewire()

    def identity(self, slave: int, identity: Identity) -> None:
        """A slave says that it is another, in its EEPROM; CoE still tells the truth."""
        found = self._slave(slave)
        found.eeprom[:] = build(replace(found.sii, identity=identity))

    def corrupt_sii(self, slave: int) -> None:
        """A slave's EEPROM is zeros from the identity on, and its checksum is wrong; noticed at its next power-up."""
        eeprom = self._slave(slave).eeprom
        eeprom[14] ^= 0xFF
        eeprom[16:] = bytes(len(eeprom) - 16)

    def _slave(self, number: int) -> Slave:
        if not 0 <= number < len(self._bus.slaves):
            raise ValueError(f"slave {number}: there are {len(self._bus.slaves)}, from 0")
        return self._bus.slaves[number]

    def _drive(self, number: int) -> Drive:
        device = self._slave(number).device
        if not isinstance(device, Drive):
            raise ValueError(f"slave {number} is no drive")
        return device
