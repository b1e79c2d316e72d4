"""The command line for drives: ``robot_control ethercat scan|info|read|write|icube|jitter|emulate|demo|faults``."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ConfigError, HardwareFault

if TYPE_CHECKING:
    from .plants.ethercat.bus import Master
    from .plants.ethercat.inspection import Read
    from .plants.ethercat.jitter import Jitter
    from .plants.ethercat.topology import FoundSlave

_PROGRAMS = (
    ("emulate", ".plants.ethercat.emulator.program", "an arm in MuJoCo on an emulated bus"),
    ("demo", ".ethercat_demo", "position-domain PD along a contour on an emulated bus"),
    ("faults", ".plants.ethercat.faults.report", "every fault on an emulated bus, and what followed; takes minutes"),
)
_LARGEST_INDEX, _LARGEST_SUB_INDEX = 0xFFFF, 0xFF
_STRING = "string"
_ABSENT = (0x06020000, 0x06090011)  # SDO abort codes of ETG.1000.6: no such object, no such sub-index


class _Parser(argparse.ArgumentParser):
    """One whose options are asked for only when they are needed, where what knows them takes long to import."""

    def __init__(self, *, fill: Callable[[argparse.ArgumentParser], None] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._fill = fill

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)
        return super().parse_known_args(args, namespace)


def add_ethercat(commands: Any) -> None:
    """Add it to the subcommands of a parser."""
    parser = commands.add_parser("ethercat", help="drives on EtherCAT: what is on a bus, an emulated one, its timing")
    ethercat = parser.add_subparsers(required=True, metavar="command", parser_class=_Parser)
    _add_scan(ethercat)
    _add_info(ethercat)
    _add_read_and_write(ethercat)
    _add_icube(ethercat)
    _add_jitter(ethercat)
    for name, module, text in _PROGRAMS:
        _add_program(ethercat, name, module, text)


def _add_program(commands: Any, name: str, module: str, text: str) -> None:
    """A command of a module that has its options, add_arguments(parser), and runs them, run_arguments(options)."""

    def program() -> Any:
        return import_module(module, __package__)

    parser = commands.add_parser(name, help=text, fill=lambda parser: program().add_arguments(parser))
    parser.set_defaults(run=lambda options: program().run_arguments(options))


def _add_interface(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--interface", required=True, help="network interface that the bus is on, such as eth1")


def _add_scan(commands: Any) -> None:
    parser = commands.add_parser("scan", help="which slaves are on a bus, and which drive files fit")
    _add_interface(parser)
    parser.add_argument("--topology", default="", help="name, or path of a YAML file, to compare the bus with")
    parser.add_argument("--template", action="store_true", help="print a topology to start from instead of the table")
    parser.set_defaults(run=_scan)


def _add_info(commands: Any) -> None:
    parser = commands.add_parser("info", help="what slaves say of themselves")
    _add_interface(parser)
    parser.add_argument("--position", type=int, help="of the slave on the bus, from 0 (default: all)")
    parser.set_defaults(run=_info)


def _add_read_and_write(commands: Any) -> None:
    read = commands.add_parser("read", help="an object of a slave")
    write = commands.add_parser("write", help="change an object of a slave")
    for parser in (read, write):
        _add_interface(parser)
        parser.add_argument("--position", type=int, required=True, help="of the slave on the bus, from 0")
        parser.add_argument("object", metavar="INDEX[:SUB]", help="such as 0x6041:0; the index is hexadecimal")
    read.add_argument("--type", default="", help="i8, u8, i16, u16, i32, u32 or string (default: by its length)")
    write.add_argument("--type", required=True, help="i8, u8, i16, u16, i32 or u32")
    write.add_argument("value", type=_number, metavar="VALUE", help="decimal, or hexadecimal with 0x")
    read.set_defaults(run=_read)
    write.set_defaults(run=_write)


def _number(text: str) -> int:
    return int(text, 0)


def _add_icube(commands: Any) -> None:
    parser = commands.add_parser("icube", help="write the slave files of ICube's ethercat_driver_ros2")
    parser.add_argument("--robot", default="ur5", help="name, or path of a YAML file (default: ur5)")
    parser.add_argument("--topology", default="", help="name, or path of a YAML file (default: the robot's)")
    parser.add_argument("--output", required=True, metavar="FOLDER", help="for the files")
    parser.set_defaults(run=_icube)


def _add_jitter(commands: Any) -> None:
    parser = commands.add_parser("jitter", help="how well cycles keep their time")
    parser.add_argument("--interface", default="", help="network interface that the bus is on; not with --emulate")
    parser.add_argument("--emulate", action="store_true", help="on an emulated bus of this machine: no hardware")
    parser.add_argument("--robot", default="ur5", help="name, or path of a YAML file (default: ur5)")
    parser.add_argument("--topology", default="", help="name, or path of a YAML file (default: the robot's)")
    parser.add_argument("--seconds", type=float, default=60.0, help="length (default: 60)")
    parser.add_argument("--law", default="", help="that runs in the bus's process and holds the arm (default: none)")
    parser.add_argument(
        "--enable-drives", action="store_true", help="which --law needs: a real arm is then held by it, and may move"
    )
    parser.add_argument("--priority", type=int, default=40, help="of SCHED_FIFO; 0 for none (default: 40)")
    parser.add_argument(
        "--cpu",
        type=int,
        default=-1,
        help="processor that the bus's process stays on (default: any; with --emulate, one that all else here is kept "
        "off, where there are several)",
    )
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.set_defaults(run=_jitter)


# --- slaves ---


@contextmanager
def _bus(interface: str) -> Iterator[tuple[Master, list[FoundSlave]]]:
    """A bus that nobody else has: its slaves are in PRE-OP, and in INIT afterwards."""
    from .plants.ethercat.bus import Master
    from .plants.ethercat.protocol import lock_bus, memory_path

    master = Master(interface)
    lock = lock_bus(memory_path(interface))
    try:
        master.open()
        try:
            yield master, master.scan()
        finally:
            master.close()
    finally:
        os.close(lock)


def _reader(master: Master, position: int) -> Read:
    """What reads a slave's objects, and tells those which it lacks from those which it refuses."""
    silent = False

    def read(index: int, sub_index: int) -> bytes | None:
        nonlocal silent
        if silent:
            return None
        try:
            return master.read_sdo(position, index, sub_index)
        except ConfigError as error:
            if getattr(error.__cause__, "abort_code", 0) in _ABSENT:
                return None
            raise
        except HardwareFault:  # a slave without a mailbox: a coupler, a terminal
            silent = True
            return None

    return read


def _scan(options: argparse.Namespace) -> int:
    from .plants.ethercat.inspection import fitting_drive
    from .plants.ethercat.topology import load_topology

    topology = load_topology(options.topology) if options.topology else None
    with _bus(options.interface) as (master, found):
        readers = [_reader(master, position) for position in range(len(found))]
        if options.template:
            print(_template(options.interface, found, readers), end="")
        else:
            drives = [fitting_drive(slave, read) for slave, read in zip(found, readers, strict=True)]
            rows: list[Sequence[str]] = [
                ("position", "vendor", "product", "revision", "alias", "AL state", "drive file", "name")
            ]
            for position, (slave, status, drive) in enumerate(zip(found, master.al_statuses(), drives, strict=True)):
                numbers = [f"0x{number:08X}" for number in (slave.vendor, slave.product, slave.revision)]
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
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _template(interface: str, found: Sequence[FoundSlave], readers: Sequence[Read]) -> str:
    """A topology as YAML, where what no drive tells is left for the user: it is refused until that is there."""
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
    from .plants.ethercat.inspection import ENCODER_RESOLUTION, GEAR_RATIO, fitting_drive, rated_torque, ratio

    drive = fitting_drive(slave, read)
    identity = [f"    vendor: 0x{slave.vendor:08X}", f"    product: 0x{slave.product:08X}"]
    identity += [f"    revision: 0x{slave.revision:08X}"] if slave.revision else []
    identity += [f"    alias: {slave.alias}"] if slave.alias else []
    name = f" # {slave.name}" if slave.name else ""
    if drive is None:
        return [f"  - name: slave_{position}{name}", *identity]
    gear, encoder, torque = ratio(read, GEAR_RATIO), ratio(read, ENCODER_RESOLUTION), rated_torque(read, drive)
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
    from .plants.ethercat.inspection import describe, fitting_drive

    with _bus(options.interface) as (master, found):
        positions = range(len(found)) if options.position is None else (_position(options.position, found),)
        for position in positions:
            slave, read = found[position], _reader(master, position)
            drive = fitting_drive(slave, read)
            print(f"slave {position}: {slave}")
            rows = list(describe(read, drive))
            if drive is not None:
                rows.insert(0, ("drive file", f"{drive.name} ({drive.products.get(slave.product, drive.description)})"))
            for what, words in rows or [("no objects", "it has no mailbox, or doesn't answer there")]:
                print(f"  {what}: {words}")
    return 0


def _position(position: int, found: Sequence[FoundSlave]) -> int:
    if not 0 <= position < len(found):
        raise ConfigError(f"position = {position}: must be from 0 to {len(found) - 1}: there are {len(found)} slaves")
    return position


def _object(text: str) -> tuple[int, int]:
    """Index and sub-index of INDEX[:SUB]."""
    first, colon, second = text.partition(":")
    try:
        index, sub_index = int(first, 16), int(second, 0) if colon else 0
    except ValueError as error:
        raise ConfigError(f"object {text!r}: must be INDEX or INDEX:SUB, such as 0x6041:0") from error
    if not (0 < index <= _LARGEST_INDEX and 0 <= sub_index <= _LARGEST_SUB_INDEX):
        raise ConfigError(f"object {text!r}: must be from 0x0001:0 to 0x{_LARGEST_INDEX:04X}:{_LARGEST_SUB_INDEX}")
    return index, sub_index


def _read(options: argparse.Namespace) -> int:
    from .plants.ethercat.drives import choice
    from .plants.ethercat.pdo import TYPES

    index, sub_index = _object(options.object)
    kind = choice("--type", options.type, (*TYPES, _STRING)) if options.type else ""
    with _bus(options.interface) as (master, found):
        data = master.read_sdo(_position(options.position, found), index, sub_index)
    print(f"0x{index:04X}:{sub_index} = {_value_words(data, kind)}")
    return 0


def _value_words(data: bytes, kind: str) -> str:
    """A value in decimal and hexadecimal; of an unknown type, both readings where they differ."""
    from .plants.ethercat.inspection import text
    from .plants.ethercat.pdo import TYPES

    if kind == _STRING or (not kind and len(data) not in (1, 2, 4, 8)):
        return f"{text(data)!r} ({data.hex(' ')})"
    if kind and 8 * len(data) != TYPES[kind]:
        raise ConfigError(f"--type {kind} has {TYPES[kind] // 8} bytes: the object has {len(data)} ({data.hex(' ')})")
    unsigned, signed = (int.from_bytes(data, "little", signed=sign) for sign in (False, True))
    readings = str(signed) if kind.startswith("i") else str(unsigned)
    if not kind and signed != unsigned:
        readings = f"{unsigned} or {signed}"
    return f"{readings} (0x{unsigned:0{2 * len(data)}X})"


def _write(options: argparse.Namespace) -> int:
    from .plants.ethercat.drives import SdoWrite, choice, whole
    from .plants.ethercat.pdo import TYPES, bounds

    index, sub_index = _object(options.object)
    kind = choice("--type", options.type, TYPES)
    write = SdoWrite(index, sub_index, kind, whole(f"value of {kind}", options.value, *bounds(kind)))
    with _bus(options.interface) as (master, found):
        master.write_sdo(_position(options.position, found), write)
    print(f"written: {write}, {_value_words(write.data(), kind)}")
    return 0


# --- without a bus ---


def _icube(options: argparse.Namespace) -> int:
    from .plants.ethercat.icube import write_icube
    from .plants.ethercat.topology import load_topology
    from .robots import load_robot

    robot = load_robot(options.robot, "icube")
    for path in write_icube(robot, load_topology(options.topology or robot.name), Path(options.output)):
        print(path)
    return 0


# --- timing ---


def _jitter(options: argparse.Namespace) -> int:
    from .plants.ethercat.emulator.child import emulated_bus
    from .plants.ethercat.emulator.veth import MASTER, SLAVES, enter_namespace, make_pair
    from .plants.ethercat.jitter import measure
    from .plants.ethercat.protocol import memory_path
    from .plants.ethercat.realtime import ANY, spare_processor

    if bool(options.interface) == options.emulate:
        raise ConfigError("one of --interface INTERFACE and --emulate is needed, and not both")
    if options.law and not (options.emulate or options.enable_drives):
        raise ConfigError(
            f"--law {options.law} enables the drives, and the arm may move: see that it can, then add --enable-drives"
        )
    settings = {
        "seconds": options.seconds,
        "law": options.law,
        "priority": options.priority,
        "processor": options.cpu,
    }
    if not options.emulate:
        return _tell(options, measure(options.robot, options.interface, options.topology, **settings))
    enter_namespace()
    make_pair()
    if options.cpu == ANY:
        settings["processor"] = spare_processor()
    folder = memory_path("").parent
    with (
        emulated_bus(options.robot, options.topology, SLAVES),
        tempfile.TemporaryDirectory(prefix="robot_control_ros.", dir=folder) as memory,
    ):
        settings |= {"patient": True, "memory": Path(memory) / MASTER}
        return _tell(options, measure(options.robot, MASTER, options.topology, **settings))


def _tell(options: argparse.Namespace, jitter: Jitter) -> int:
    """Print the figures; the exit status says whether the bus ran to the end."""
    from .plants.ethercat.jitter import SHARES
    from .plants.ethercat.pacing import PATIENT

    law = f"{options.law} in the bus's process" if options.law else "no law, drives disabled"
    where = "an emulated bus on this machine" if options.emulate else options.interface
    rate = f"{1.0 / jitter.cycle:g} Hz"
    print(f"{options.robot} on {where}, {rate} for {options.seconds:g} s; {law}")
    if options.emulate:
        print(
            f"  frames are waited for up to {1e3 * PATIENT['frame_timeout']:g} ms here, since virtual machines stall; "
            "on hardware half a cycle"
        )
    print(f"  scheduling: {f'SCHED_FIFO, priority {jitter.priority}' if jitter.priority else 'ordinary'}")
    for warning in jitter.warnings:
        print(f"  {warning}")
    rows = [("[µs]", *(f"p{share:g}" for share in SHARES), "max")]
    for name, values in jitter.percentiles().items() if jitter.cycles else ():
        rows.append((name, *(f"{1e6 * value:.0f}" for value in values)))
    for name, *cells in rows:
        print(f"{name:<18}" + "".join(f"{cell:>9}" for cell in cells))
    print(f"on time: {100.0 * jitter.on_time:.3f} % of {jitter.cycles + jitter.missed} cycles; missed: {jitter.missed}")
    print(
        f"lost frames: {jitter.lost_frames}; bad working counters: {jitter.bad_counters}; late frames: "
        f"{jitter.late_frames}"
    )
    if jitter.trouble:
        print(f"trouble: {jitter.trouble}")
    _write_files(options, jitter, f"{options.robot} on {where}, {rate}: {law}")
    return 1 if jitter.trouble else 0


def _write_files(options: argparse.Namespace, jitter: Jitter, title: str) -> None:
    if options.plot:
        print(jitter.plot(Path(options.plot), title))
    if options.json:
        path = Path(options.json)
        about = {"robot": options.robot, "law": options.law, "emulated": options.emulate, "seconds": options.seconds}
        path.write_text(json.dumps({**about, **jitter.data()}, indent=2) + "\n", encoding="utf-8")
        print(path)
