"""Registers of a slave controller: where they are, what a master may write, and what they hold
after power-up.

Source: Beckhoff, EtherCAT Slave Controller, Hardware Data Sheet, section II.
"""

from __future__ import annotations

# of the controller; revision, build, numbers of FMMUs and sync managers, RAM in KiB, ports,
# features
TYPE = 0x0000
FEATURES = 0x0008
STATION_ADDRESS = 0x0010
STATION_ALIAS = 0x0012
DL_CONTROL = 0x0100
DL_ALIAS = 0x0103  # bit 0: the alias is an address, too
DL_STATUS = 0x0110
AL_CONTROL = 0x0120
AL_STATUS = 0x0130
AL_CODE = 0x0134
PDI_CONTROL = 0x0140
EVENT_MASK = 0x0200
ERROR_COUNTERS = 0x0300
WATCHDOG_DIVIDER = 0x0400
WATCHDOG_TIME_PDI = 0x0410
WATCHDOG_TIME = 0x0420  # of process data
WATCHDOG_STATUS = 0x0440
WATCHDOG_COUNTER = 0x0442
EEPROM_CONFIG = 0x0500
EEPROM_CONTROL = 0x0502
EEPROM_ADDRESS = 0x0504
EEPROM_DATA = 0x0508
FMMU = 0x0600
FMMU_SIZE = 16
SYNC_MANAGER = 0x0800
SYNC_MANAGER_SIZE = 8
DC = 0x0900
DC_RECEIVE_TIMES = 0x0900  # 4 bytes per port
DC_SYSTEM_TIME = 0x0910
DC_RECEIVE_TIME = 0x0918  # of the processing unit, 64 bits
DC_OFFSET = 0x0920
DC_DELAY = 0x0928
DC_DIFFERENCE = 0x092C
DC_SPEED_START = 0x0930
DC_FILTER = 0x0934
DC_CYCLIC_CONTROL = 0x0980
DC_START_TIME = 0x0990
DC_SYNC0_CYCLE = 0x09A0
DC_END = 0x0A00
RAM = 0x1000

FMMUS = 8
SYNC_MANAGERS = 8
RAM_KIB = 8
SIZE = RAM + 1024 * RAM_KIB

FEATURE_DC = 0x0004
FEATURE_DC_64_BITS = 0x0008

# First and last byte of what a master may write. Beyond RAM everything is the sync managers'
# affair.
_WRITABLE = [
    (STATION_ADDRESS, STATION_ADDRESS + 1),
    (0x0020, 0x0021),  # write protection of registers: stored, has no effect
    (0x0030, 0x0031),
    (DL_CONTROL, DL_ALIAS),
    (AL_CONTROL, AL_CONTROL + 1),
    (EVENT_MASK, EVENT_MASK + 3),
    (ERROR_COUNTERS, ERROR_COUNTERS + 0x13),
    (WATCHDOG_DIVIDER, WATCHDOG_DIVIDER + 1),
    (WATCHDOG_TIME_PDI, WATCHDOG_TIME_PDI + 1),
    (WATCHDOG_TIME, WATCHDOG_TIME + 1),
    (WATCHDOG_COUNTER, WATCHDOG_COUNTER + 1),
    (EEPROM_CONFIG, EEPROM_CONFIG),
    (EEPROM_CONTROL, EEPROM_DATA + 7),
    (FMMU, FMMU + FMMU_SIZE * FMMUS - 1),
    *((SYNC_MANAGER + 8 * n, SYNC_MANAGER + 8 * n + 4) for n in range(SYNC_MANAGERS)),
    *((SYNC_MANAGER + 8 * n + 6, SYNC_MANAGER + 8 * n + 6) for n in range(SYNC_MANAGERS)),
    (DC_RECEIVE_TIMES, DC_RECEIVE_TIMES + 3),
    (DC_SYSTEM_TIME, DC_SYSTEM_TIME + 7),
    (DC_OFFSET, DC_DELAY + 3),
    (DC_SPEED_START, DC_SPEED_START + 1),
    (DC_FILTER, DC_FILTER + 1),
    (DC_CYCLIC_CONTROL, DC_CYCLIC_CONTROL + 1),
    (DC_START_TIME, DC_SYNC0_CYCLE + 7),
]


def writable(dc: bool) -> bytes:
    """One byte per register byte: 1 where a master may write."""
    mask = bytearray(RAM)
    for first, last in _WRITABLE:
        if dc or not DC <= first < DC_END:
            mask[first : last + 1] = b"\x01" * (last + 1 - first)
    return bytes(mask)


def after_power_up(*, dc: bool, eeprom_8_bytes: bool, alias: int) -> bytearray:
    """The whole memory, with the configuration that the EEPROM gave."""
    memory = bytearray(SIZE)
    features = FEATURE_DC | FEATURE_DC_64_BITS if dc else 0
    values = {
        # an ET1100 with two MII ports
        TYPE: bytes((0x11, 0x00, 0x02, 0x00, FMMUS, SYNC_MANAGERS, RAM_KIB, 0x0F)),
        FEATURES: features.to_bytes(2, "little"),
        STATION_ALIAS: alias.to_bytes(2, "little"),
        DL_CONTROL: b"\x01",  # frames that aren't EtherCAT are dropped
        AL_CONTROL: b"\x01\x00",
        AL_STATUS: b"\x01\x00",
        PDI_CONTROL: b"\x05\x00",  # SPI to a microcontroller
        WATCHDOG_DIVIDER: (0x09C2).to_bytes(2, "little"),  # 100 us
        WATCHDOG_TIME_PDI: (1000).to_bytes(2, "little"),
        WATCHDOG_TIME: (1000).to_bytes(2, "little"),  # 100 ms
        EEPROM_CONTROL: b"\x40\x00" if eeprom_8_bytes else b"\x00\x00",
    }
    if dc:
        values |= {DC_SPEED_START: b"\x00\x10", DC_FILTER: b"\x00\x0c"}
    for address, value in values.items():
        memory[address : address + len(value)] = value
    return memory
