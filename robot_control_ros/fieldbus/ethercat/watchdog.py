"""A slave's watchdog: without it, drives go on where the master ends. Source: ET1100
data sheet, section II.
"""

from __future__ import annotations

from ...core.errors import refused
from .slave_access import SlaveAccess
from .topology import DriveSlave, Slave

# registers; the last one of sync manager 2
_DIVIDER = 0x0400
_TIME = 0x0420
_OUTPUTS_CONTROL = 0x0814
_TRIGGERS = 0x40  # bit of it: outputs count for the watchdog
_MAX_COUNT = 0xFFFF


def tick(divider: int) -> float:
    """Time that the watchdog counts in [s]."""
    return 40e-9 * (divider + 2)


def set_watchdog(access: SlaveAccess, slave: Slave, seconds: float) -> None:
    """Set the watchdog's time [s], and see that the slave has taken it; 0 ends the watchdog.

    Raises:
        ConfigError: the slave can't count to that, keeps another time, or doesn't count what it
            gets.
        HardwareFault: the slave doesn't answer.
    """
    found = access.slaves[slave.position]
    where = f"{slave}: "

    def read(register: int, size: int) -> int:
        data: bytes = access.transfer(
            slave.position, "watchdog", lambda: found._fprd(register, size)
        )
        return int.from_bytes(data, "little")

    unit = tick(read(_DIVIDER, 2))
    count = int(min(seconds / unit, _MAX_COUNT + 1) + 1e-6)
    if seconds and not 1 <= count <= _MAX_COUNT:
        bound = unit, _MAX_COUNT * unit
        rule = f"must be from {bound[0]:g} to {bound[1]:g} s, which this slave can count"
        raise refused("watchdog", seconds, rule, bound, where=where, unit="s")
    access.transfer(
        slave.position, "watchdog", lambda: found._fpwr(_TIME, count.to_bytes(2, "little"))
    )
    if (taken := read(_TIME, 2)) != count:
        rule = f"the slave keeps {taken * unit:g} s"
        raise refused("watchdog", seconds, rule, taken * unit, where=where, unit="s")
    if count and isinstance(slave, DriveSlave) and not read(_OUTPUTS_CONTROL, 1) & _TRIGGERS:
        rule = (
            "outputs don't trigger it (EEPROM, sync manager 2), so the slave never stops by itself"
        )
        raise refused("watchdog", seconds, rule, where=where, unit="s")
