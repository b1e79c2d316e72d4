"""What can go wrong on a bus and in its drives, one method each."""

from __future__ import annotations

from dataclasses import replace

from ..bus.chain import Bus
from ..bus.line import Line
from ..bus.slave import Slave
from ..drive.drive import Drive
from ..esc.sii import Identity, build

NO_VALID_FIRMWARE = 0x0014  # AL status code


class Faults:
    """Injects faults into a bus that may be running; slaves are counted from 0, as on the bus at
    that time.

    Not safe against threads: call it between two exchanges, in the thread that makes them.

    Args:
        line: to the bus.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._bus = line.bus

    def lose_frames(self, count: int) -> None:
        """The next frames get lost."""
        self._line.lose = count

    def late_frames(self, delay: float, count: int = 1) -> None:
        """The next frames come back late [s]."""
        self._line.delay = round(delay * 1e9)
        self._line.late = count

    def link(self, *, up: bool) -> None:
        """The cable is unplugged, or plugged in; the front end takes its interface down, too."""
        self._line.up = up

    def cut_chain(self, slave: int) -> None:
        """No frame reaches this slave and those behind it; they stay on."""
        self._slave(slave)
        self._bus.cut = slave
        self._bus.rewire()

    def mend_chain(self) -> None:
        """Frames reach all slaves again."""
        self._bus.cut = None
        self._bus.rewire()

    def ignore_process_data(self, slave: int, *, ignore: bool = True) -> None:
        """A slave ignores logical datagrams and answers all others."""
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
        """A slave goes off and on at once; then it is in INIT and has no address."""
        self.power(slave, on=False)
        self.power(slave, on=True)

    def al_error(self, slave: int, code: int = NO_VALID_FIRMWARE) -> None:
        """A slave falls to SAFEOP with this AL status code."""
        self._slave(slave).al_error(code)

    def emergency(self, slave: int, code: int, register: int = 0x01, data: bytes = b"") -> None:
        """A slave sends an emergency, and nothing else happens."""
        self._slave(slave).emergency(code, register, data)

    def silence_mailbox(self, slave: int, *, silent: bool = True) -> None:
        """A slave takes SDO requests and doesn't answer them."""
        mailbox = self._slave(slave).mailbox
        if mailbox is None:
            raise ValueError(f"slave {slave} has no mailbox")
        mailbox.mute = silent

    def swap(self, first: int, second: int) -> None:
        """Two slaves change places in the chain; their drives stay on their joints."""
        slaves = self._bus.slaves
        one = self._slave(first)
        other = self._slave(second)
        slaves[first] = other
        slaves[second] = one
        self._bus.rewire()

    def remove(self, slave: int) -> Slave:
        """Take a slave out of the chain; returns it."""
        found = self._slave(slave)
        self._bus.slaves.remove(found)
        self._bus.rewire()
        return found

    def insert(self, position: int, slave: Slave) -> None:
        """Put a slave into the chain."""
        self._bus.slaves.insert(position, slave)
        self._bus.rewire()

    def identity(self, slave: int, identity: Identity) -> None:
        """A slave's EEPROM gets another identity; its CoE objects keep the true one."""
        found = self._slave(slave)
        found.eeprom[:] = build(replace(found.sii, identity=identity))

    def corrupt_sii(self, slave: int) -> None:
        """A slave's EEPROM is zeros from the identity on, with a wrong checksum,
        at its next power-up.
        """
        eeprom = self._slave(slave).eeprom
        eeprom[14] ^= 0xFF
        eeprom[16:] = bytes(len(eeprom) - 16)

    def _slave(self, number: int) -> Slave:
        return _find(self._bus, number)


class DriveFaults:
    """Makes drives fail; their slaves are counted as for :class:`Faults`, and the same thread calls
    it.

    Args:
        bus: with the drives.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def drive_fault(self, slave: int, code: int, *, lasting: bool = False) -> None:
        """A drive fails with this error code (0x603F); a lasting fault can't be reset before
        :meth:`mend_drive`.
        """
        self._drive(slave).fault(code, lasting=lasting)

    def mend_drive(self, slave: int) -> None:
        """The cause of a lasting fault is gone."""
        self._drive(slave).mend()

    def freeze_position(self, slave: int, *, frozen: bool = True) -> None:
        """A drive repeats its actual position; its control loops use the real one."""
        self._drive(slave).position_frozen = frozen

    def refuse_mode(self, slave: int, mode: int, *, refuse: bool = True) -> None:
        """A drive refuses a mode of operation; only 0x6061 shows it."""
        modes = self._drive(slave).refused_modes
        modes.add(mode) if refuse else modes.discard(mode)

    def _drive(self, number: int) -> Drive:
        device = _find(self._bus, number).device
        if not isinstance(device, Drive):
            raise ValueError(f"slave {number} is no drive")
        return device


def _find(bus: Bus, number: int) -> Slave:
    if not 0 <= number < len(bus.slaves):
        raise ValueError(f"slave {number}: there are {len(bus.slaves)}, from 0")
    return bus.slaves[number]
