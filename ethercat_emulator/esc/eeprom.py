"""The EEPROM interface: a command, an address, and 4 or 8 bytes of the slave's configuration."""

from __future__ import annotations

from .registers import EEPROM_ADDRESS, EEPROM_CONFIG, EEPROM_CONTROL, EEPROM_DATA, STATION_ALIAS
from .sii import checksum

BUSY_TIME = 50_000  # ns, from a command to its result

_WRITE_ENABLE = 0x0001
_EIGHT_BYTES = 0x0040
_READ = 0x0100
_WRITE = 0x0200
_RELOAD = 0x0400
_COMMANDS = 0x0700
_CHECKSUM_ERROR = 0x0800
_COMMAND_ERROR = 0x2000
_WRITE_ENABLE_ERROR = 0x4000
_BUSY = 0x8000
_ERRORS = _COMMAND_ERROR | _WRITE_ENABLE_ERROR
_OWNED_BY_DEVICE = 0x01  # bit of the configuration


class Eeprom:
    """Words behind registers 0x0500 to 0x050F; reads beyond its end give 0xFF.

    Args:
        memory: of the slave.
        content: whole words; written words are changed in place.

    Attributes:
        busy_time: from a command to its result [ns].
    """

    def __init__(self, memory: bytearray, content: bytearray) -> None:
        self.content = content
        self._memory = memory
        self._ready_at = 0
        self.busy_time = BUSY_TIME
        self._kept = self._control() & _EIGHT_BYTES  # whatever the master writes
        self._load()

    def command(self, now: int) -> None:
        """Obey what the master has just written into the control register."""
        control = self._control()
        flags = self._kept
        command = control & _COMMANDS
        address = int.from_bytes(self._memory[EEPROM_ADDRESS : EEPROM_ADDRESS + 4], "little")
        if self._memory[EEPROM_CONFIG] & _OWNED_BY_DEVICE or command not in (
            0,
            _READ,
            _WRITE,
            _RELOAD,
        ):
            flags |= _COMMAND_ERROR
        elif command == _READ:
            length = 8 if flags & _EIGHT_BYTES else 4
            self._memory[EEPROM_DATA : EEPROM_DATA + length] = self._words(2 * address, length)
        elif command == _WRITE and not control & _WRITE_ENABLE:
            flags |= _WRITE_ENABLE_ERROR
        elif command == _WRITE and 2 * address + 2 > len(self.content):
            flags |= _COMMAND_ERROR
        elif command == _WRITE:
            self.content[2 * address : 2 * address + 2] = self._memory[
                EEPROM_DATA : EEPROM_DATA + 2
            ]
        elif command == _RELOAD:
            self._load()
            flags = self._kept
        if command and not flags & _ERRORS:
            flags |= _BUSY | command
            self._ready_at = now + self.busy_time
        self._set_control(flags)

    def refresh(self, now: int) -> None:
        """Clear the busy bit when its time is over; called before the master reads."""
        control = self._control()
        if control & _BUSY and now >= self._ready_at:
            self._set_control(control & ~(_BUSY | _COMMANDS))

    def busy(self, now: int) -> bool:
        """Whether a command is being obeyed: the control register can't be written."""
        self.refresh(now)
        return bool(self._control() & _BUSY)

    def _load(self) -> None:
        correct = self.content[14] == checksum(bytes(self.content[:14]))
        self._kept = self._kept & _EIGHT_BYTES | (0 if correct else _CHECKSUM_ERROR)
        self._set_control(self._kept)
        if correct:
            self._memory[STATION_ALIAS : STATION_ALIAS + 2] = self.content[8:10]

    def _words(self, at: int, length: int) -> bytes:
        return bytes(self.content[at : at + length]).ljust(length, b"\xff")

    def _control(self) -> int:
        return int.from_bytes(self._memory[EEPROM_CONTROL : EEPROM_CONTROL + 2], "little")

    def _set_control(self, value: int) -> None:
        self._memory[EEPROM_CONTROL : EEPROM_CONTROL + 2] = value.to_bytes(2, "little")
