"""What a slave reports of itself over CoE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..ethercat import pdo
from ..ethercat.cia402 import decode, describe_error, describe_mode, remarks
from ..ethercat.drives import DriveConfig, drive_names, load_drive
from ..ethercat.pdo import OBJECT_NAMES, RATED_TORQUE
from ..ethercat.topology import FoundSlave

# index, sub-index; None where the slave has no such object
Read = Callable[[int, int], bytes | None]
Row = tuple[str, str]  # what, and what the slave says of it

DEVICE_TYPE = 0x1000
SUPPORTED_MODES = 0x6502
ENCODER_RESOLUTION = 0x608F
GEAR_RATIO = 0x6091
VELOCITY_UNIT = 0x60A9
GENERIC = "cia402"  # the drive file of no vendor
_ANY_DRIVE = 402  # lower half of the device type (0x1000): the profile's number
_IDENTITY = ("vendor", "product", "revision", "serial number")
_TEXTS = {0x1008: "device name", 0x1009: "hardware version", 0x100A: "software version"}
_ASSIGNMENTS = {0x1C12: "rx (master to slave)", 0x1C13: "tx (slave to master)"}
# Of 0x6502: mode n is bit n - 1 (ros-industrial/ros_canopen, canopen_402/src/motor.cpp,
# isModeSupportedByDevice).
_OTHER_MODES = {2: "velocity (2)", 7: "interpolated position (7)"}
_STANDARD_MODES = 10
# Units in 0x60A9, see config/ethercat/drives/maxon_epos4.yaml; CiA 303-2's numbers.
_UNITS = {0x00: "1", 0x03: "s", 0x47: "min", 0xB4: "revolutions", 0xB5: "increments"}


def is_drive(read: Read) -> bool:
    """True where a slave calls itself a drive of CiA 402."""
    kind = _number(read, DEVICE_TYPE)
    return kind is not None and kind & 0xFFFF == _ANY_DRIVE


def fitting_drive(found: FoundSlave, read: Read) -> DriveConfig | None:
    """The package's drive file for a slave: its vendor's, or that of no vendor; None
    where it is no drive.
    """
    for drive in map(load_drive, drive_names()):
        if drive.vendor == found.vendor and (not drive.products or found.product in drive.products):
            return drive
    return load_drive(GENERIC) if is_drive(read) else None


def describe(read: Read, drive: DriveConfig | None, found: FoundSlave) -> Iterator[Row]:
    """All of it, in the units of its drive file, and with its vendor's error codes; what a slave
    lacks is left out.

    `found` is what its EEPROM says.
    """
    for index, what in _TEXTS.items():
        if data := read(index, 0):
            yield f"{what} (0x{index:04X})", text(data)
    identity = [(name, _number(read, 0x1018, sub)) for sub, name in enumerate(_IDENTITY, 1)]
    if fields := ", ".join(
        f"{name} 0x{value:08X}" for name, value in identity if value is not None
    ):
        yield "identity (0x1018)", fields
    for (name, value), other in zip(
        identity, (found.vendor, found.product, found.revision), strict=False
    ):
        if value not in (None, other):
            yield (
                f"{name} differs",
                f"0x{value:08X} in 0x1018, 0x{other:08X} in the EEPROM, which a topology compares",
            )
    if (kind := _number(read, DEVICE_TYPE)) is not None:
        yield "profile (0x1000)", f"CiA {kind & 0xFFFF}" if kind & 0xFFFF else "none"
    yield from _motor(read, drive)
    yield from _state(read, drive)
    for index, direction in _ASSIGNMENTS.items():
        yield from _process_data(read, index, direction)


def text(data: bytes) -> str:
    """A VISIBLE_STRING."""
    return data.rstrip(b"\0").decode("ascii", "replace")


def rated_torque(read: Read, drive: DriveConfig) -> float | None:
    """Rated torque of the motor [N·m]; None where the slave doesn't report it."""
    counts = _number(read, RATED_TORQUE)
    return None if counts is None else counts * drive.rated_torque_unit


def ratio(read: Read, index: int) -> tuple[int, int] | None:
    """Both entries of 0x608F (counts, motor revolutions) or 0x6091 (motor, shaft
    revolutions); None without them.
    """
    above = _number(read, index, 1)
    below = _number(read, index, 2)
    return (above, below) if above and below else None


def _motor(read: Read, drive: DriveConfig | None) -> Iterator[Row]:
    if (modes := _number(read, SUPPORTED_MODES)) is not None:
        yield f"modes (0x{SUPPORTED_MODES:04X})", ", ".join(_modes(modes)) or "none"
    if (counts := _number(read, RATED_TORQUE)) is not None:
        unit = drive.rated_torque_unit if drive else 1e-3  # CiA 402: mN·m
        yield (
            f"rated torque (0x{RATED_TORQUE:04X})",
            f"{counts} x {unit:g} N·m = {counts * unit:g} N·m",
        )
    if encoder := ratio(read, ENCODER_RESOLUTION):
        yield (
            f"encoder (0x{ENCODER_RESOLUTION:04X})",
            "{} counts per {} revolutions of the motor".format(*encoder),
        )
    if gear := ratio(read, GEAR_RATIO):
        yield (
            f"gear (0x{GEAR_RATIO:04X})",
            "{} revolutions of the motor per {} of the shaft".format(*gear),
        )
    if (unit_code := _number(read, VELOCITY_UNIT)) is not None:
        yield f"velocity unit (0x{VELOCITY_UNIT:04X})", describe_unit(unit_code)


def _state(read: Read, drive: DriveConfig | None) -> Iterator[Row]:
    if (position := _number(read, pdo.ACTUAL_POSITION, signed=True)) is not None:
        yield f"actual position (0x{pdo.ACTUAL_POSITION:04X})", f"{position} counts"
    if (status := _number(read, pdo.STATUS_WORD)) is not None:
        states = "; ".join([decode(status).value, *remarks(status)])
        yield f"status word (0x{pdo.STATUS_WORD:04X})", f"0x{status:04X} {states}"
    if (code := _number(read, pdo.ERROR_CODE)) is not None:
        yield (
            f"error code (0x{pdo.ERROR_CODE:04X})",
            describe_error(code, drive.error_codes if drive else None),
        )


def _process_data(read: Read, assignment: int, direction: str) -> Iterator[Row]:
    indices = [
        _number(read, assignment, sub) for sub in range(1, (_number(read, assignment) or 0) + 1)
    ]
    for index in filter(None, indices):
        entries = [_number(read, index, sub) for sub in range(1, (_number(read, index) or 0) + 1)]
        yield (
            f"{direction}: PDO 0x{index:04X}",
            ", ".join(_entries([each for each in entries if each is not None])),
        )


def _entries(mapping: Sequence[int]) -> Iterator[str]:
    for each in mapping:
        index = each >> 16
        sub_index = each >> 8 & 0xFF
        bits = each & 0xFF
        name = f" {OBJECT_NAMES[index]}" if index in OBJECT_NAMES and not sub_index else ""
        yield f"0x{index:04X}:{sub_index}{name} ({bits} bits)" if index else f"gap ({bits} bits)"


def _modes(supported: int) -> Iterator[str]:
    for mode in (bit + 1 for bit in range(32) if supported >> bit & 1):
        standard = _OTHER_MODES.get(mode) or describe_mode(mode)
        yield standard if mode <= _STANDARD_MODES else f"bit {mode - 1}"


def describe_unit(code: int) -> str:
    """A unit in the manner of 0x60A9: power of ten, numerator, denominator, each a byte."""
    power = int.from_bytes(bytes((code >> 24,)), "little", signed=True)
    above, below = (
        _UNITS.get(code >> shift & 0xFF, f"unit 0x{code >> shift & 0xFF:02X}") for shift in (16, 8)
    )
    return f"0x{code:08X}: {f'10^{power} ' if power else ''}{above} per {below}"


def _number(read: Read, index: int, sub_index: int = 0, *, signed: bool = False) -> int | None:
    data = read(index, sub_index)
    return None if data is None else int.from_bytes(data, "little", signed=signed)
