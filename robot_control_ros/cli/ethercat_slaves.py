"""The commands that talk to slaves: ``robot_control ethercat scan|info|read|write``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError, HardwareFault
from .options import INTERFACE, add_command

if TYPE_CHECKING:
    from ..fieldbus.ethercat.bus import Master
    from ..fieldbus.ethercat.topology import FoundSlave
    from ..fieldbus.tools.inspection import Read

_MAX_INDEX = 0xFFFF
_MAX_SUB_INDEX = 0xFF
_STRING = "string"
_TO_INIT = "Every slave goes to INIT, then to PRE-OP, and back to INIT at the end."
# SDO abort codes of ETG.1000.6: no such object, no such sub-index
_ABSENT = (0x06020000, 0x06090011)


def add_slave_commands(commands: Any) -> None:
    """Add `scan`, `info`, `read` and `write` to the subcommands of ``robot_control ethercat``."""

    def add(
        name: str, sentence: str, run: Callable[[argparse.Namespace], int], example: str
    ) -> Callable[..., argparse.Action]:
        details = f"{_TO_INIT} It refuses a bus that another master has."
        command = f"robot_control ethercat {name} --interface eth1 {example}".rstrip()
        add_argument = add_command(commands, name, sentence, run, command, details=details)
        add_argument("--interface", required=True, **INTERFACE)
        return add_argument

    scan = add("scan", "List the slaves of a bus, and the drive files that fit.", _scan, "")
    text = "topology to compare the bus with: name, or path of a YAML file"
    scan("--topology", default="", help=text)
    text = "print a topology to start from, in place of the table"
    scan("--template", action="store_true", help=text)
    info = add("info", "Print what slaves say of themselves.", _info, "--position 0")
    text = "position of the slave on the bus, from 0"
    info("--position", type=int, metavar="NUMBER", help=f"{text} (default: all slaves)")
    read = add("read", "Read an object of a slave.", _read, "--position 0 0x6041:0")
    write = add("write", "Write an object of a slave.", _write, "--position 0 --type i8 0x6060:0 8")
    for argument in (read, write):
        argument("--position", type=int, required=True, metavar="NUMBER", help=text)
        argument(
            "object",
            metavar="INDEX[:SUB]",
            help="object, such as 0x6041:0; the index is hexadecimal",
        )
    types = "type of the value: i8, u8, i16, u16, i32"
    read("--type", default="", help=f"{types}, u32 or string (default: by its length)")
    write("--type", required=True, help=f"{types} or u32")
    text = "value to write: decimal, or hexadecimal with 0x"
    write("value", type=_number, metavar="VALUE", help=text)


def _number(text: str) -> int:
    return int(text, 0)


@contextmanager
def _bus(interface: str) -> Iterator[tuple[Master, list[FoundSlave]]]:
    """Master of a bus and its slaves, which are in PRE-OP meanwhile and in INIT afterwards."""
    from ..fieldbus.ethercat.bus import Master

    master = Master(interface)
    master.open()
    try:
        found = master.scan()
        master.access.listen(
            lambda event: print(f"slave {event.position}: {event.describe()}", file=sys.stderr)
        )
        yield master, found
    finally:
        master.close()


def _reader(master: Master, position: int) -> Read:
    """A function that reads a slave's objects; None for an object that the slave lacks."""
    silent = False

    def read(index: int, sub_index: int) -> bytes | None:
        nonlocal silent
        if silent:
            return None
        try:
            return master.access.read_sdo(position, index, sub_index)
        except ConfigError as error:
            if getattr(error.__cause__, "abort_code", 0) in _ABSENT:
                return None
            raise
        except HardwareFault:  # a slave without a mailbox: a coupler, a terminal
            silent = True
            return None

    return read


def _scan(options: argparse.Namespace) -> int:
    from ..fieldbus.ethercat.topology import load_topology
    from ..fieldbus.tools.inspection import fitting_drive

    topology = load_topology(options.topology) if options.topology else None
    with _bus(options.interface) as (master, found):
        print(f"{options.interface}: {_TO_INIT}", file=sys.stderr)
        readers = [_reader(master, position) for position in range(len(found))]
        if options.template:
            print(_template(options.interface, found, readers), end="")
        else:
            drives = [
                fitting_drive(slave, read) for slave, read in zip(found, readers, strict=True)
            ]
            rows: list[Sequence[str]] = [
                (
                    "position",
                    "vendor",
                    "product",
                    "revision",
                    "alias",
                    "AL state",
                    "drive file",
                    "name",
                )
            ]
            for position, (slave, status, drive) in enumerate(
                zip(found, master.access.al_statuses(), drives, strict=True)
            ):
                numbers = [
                    f"0x{number:08X}" for number in (slave.vendor, slave.product, slave.revision)
                ]
                state = str(status).removeprefix("is in ")
                name = drive.name if drive else "-"
                rows.append((str(position), *numbers, str(slave.alias), state, name, slave.name))
            _print_table(rows)
    if topology is not None:
        topology.check_bus(found)
        print(f"the bus is that of {topology.path}")
    return 0


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def _template(interface: str, found: Sequence[FoundSlave], readers: Sequence[Read]) -> str:
    """Topology of the slaves as YAML; it is refused until the user has filled its gaps."""
    lines = [
        f"# Made by `robot_control ethercat scan --interface {interface} --template`.",
        "# Give each drive its joint, and what stands after `null`; see config/ethercat/ur5.yaml.",
        "cycle: 0.001 # s",
        "watchdog: 0.02 # s, after which a drive without process data stops by itself",
        "slaves: # in the order of the cable",
    ]
    for position, (slave, read) in enumerate(zip(found, readers, strict=True)):
        lines += _template_entry(position, slave, read)
    return "\n".join(lines) + "\n"


def _template_entry(position: int, slave: FoundSlave, read: Read) -> list[str]:
    from ..fieldbus.tools.inspection import (
        ENCODER_RESOLUTION,
        GEAR_RATIO,
        fitting_drive,
        rated_torque,
        ratio,
    )

    drive = fitting_drive(slave, read)
    identity = [f"    vendor: 0x{slave.vendor:08X}", f"    product: 0x{slave.product:08X}"]
    identity += [f"    revision: 0x{slave.revision:08X}"] if slave.revision else []
    identity += [f"    alias: {slave.alias}"] if slave.alias else []
    name = f" # {slave.name}" if slave.name else ""
    if drive is None:
        return [f"  - name: slave_{position}{name}", *identity]
    gear = ratio(read, GEAR_RATIO)
    encoder = ratio(read, ENCODER_RESOLUTION)
    torque = rated_torque(read, drive)
    counts = encoder[0] // encoder[1] if encoder else "null"
    return [
        f"  - joint: joint_{position}{name}",
        f"    drive: {drive.name}",
        *identity,
        f"    gear_ratio: {gear[0] / gear[1] if gear else 'null'} # revolutions of the motor per one of the joint",
        f"    counts_per_revolution: {counts} # of the encoder",
        f"    rated_torque: {'null' if torque is None else format(torque, 'g')} # N·m of the motor",
    ]


def _info(options: argparse.Namespace) -> int:
    from ..fieldbus.tools.inspection import describe, fitting_drive

    with _bus(options.interface) as (master, found):
        positions = (
            range(len(found)) if options.position is None else (_position(options.position, found),)
        )
        for position in positions:
            slave = found[position]
            read = _reader(master, position)
            drive = fitting_drive(slave, read)
            print(f"slave {position}: {slave}")
            rows = list(describe(read, drive, slave))
            if drive is not None:
                rows.insert(
                    0,
                    (
                        "drive file",
                        f"{drive.name} ({drive.products.get(slave.product, drive.description)})",
                    ),
                )
            for what, text in rows or [
                ("no objects", "it has no mailbox, or doesn't answer there")
            ]:
                print(f"  {what}: {text}")
    return 0


def _position(position: int, found: Sequence[FoundSlave]) -> int:
    if not 0 <= position < len(found):
        message = f"position = {position}: must be from 0 to {len(found) - 1}: there are {len(found)} slaves"
        raise ConfigError(message, name="position", value=position, bound=(0, len(found) - 1))
    return position


def _object(text: str) -> tuple[int, int]:
    """Index and sub-index of an object that is written as INDEX[:SUB]."""
    first, colon, second = text.partition(":")
    try:
        index = int(first, 16)
        sub_index = int(second, 0) if colon else 0
    except ValueError as error:
        message = f"object {text!r}: must be INDEX or INDEX:SUB, such as 0x6041:0"
        raise ConfigError(message, name="object", value=text) from error
    if not (0 < index <= _MAX_INDEX and 0 <= sub_index <= _MAX_SUB_INDEX):
        message = f"object {text!r}: must be from 0x0001:0 to 0x{_MAX_INDEX:04X}:{_MAX_SUB_INDEX}"
        raise ConfigError(message, name="object", value=text, bound=(_MAX_INDEX, _MAX_SUB_INDEX))
    return index, sub_index


def _read(options: argparse.Namespace) -> int:
    from ..fieldbus.ethercat.pdo import TYPES
    from ..robot.schema import choice

    index, sub_index = _object(options.object)
    kind = choice("--type", options.type, (*TYPES, _STRING)) if options.type else ""
    with _bus(options.interface) as (master, found):
        data = master.access.read_sdo(_position(options.position, found), index, sub_index)
    print(f"0x{index:04X}:{sub_index} = {_describe_value(data, kind)}")
    return 0


def _describe_value(data: bytes, kind: str) -> str:
    """Text of a value in decimal and hexadecimal.

    Where the type isn't known, it has the unsigned and the signed value if they differ.
    """
    from ..fieldbus.ethercat.pdo import TYPES
    from ..fieldbus.tools.inspection import text

    if kind == _STRING or (not kind and len(data) not in (1, 2, 4, 8)):
        return f"{text(data)!r} ({data.hex(' ')})"
    if kind and 8 * len(data) != TYPES[kind]:
        message = f"--type {kind} has {TYPES[kind] // 8} bytes: the object has {len(data)} ({data.hex(' ')})"
        raise ConfigError(message, name="--type", value=kind, bound=len(data))
    unsigned, signed = (int.from_bytes(data, "little", signed=sign) for sign in (False, True))
    readings = str(signed) if kind.startswith("i") else str(unsigned)
    if not kind and signed != unsigned:
        readings = f"{unsigned} or {signed}"
    return f"{readings} (0x{unsigned:0{2 * len(data)}X})"


def _write(options: argparse.Namespace) -> int:
    from ..fieldbus.ethercat.drives import SdoWrite
    from ..fieldbus.ethercat.pdo import TYPES, bounds
    from ..robot.schema import choice, whole

    index, sub_index = _object(options.object)
    kind = choice("--type", options.type, TYPES)
    write = SdoWrite(
        index, kind, whole(f"value of {kind}", options.value, *bounds(kind)), sub_index
    )
    with _bus(options.interface) as (master, found):
        master.access.write_sdo(_position(options.position, found), write)
    print(f"written: {write}, {_describe_value(write.data(), kind)}")
    return 0
