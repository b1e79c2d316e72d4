"""The command line for drives: ``robot_control ethercat
scan|info|read|write|icube|jitter|emulate``.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.bounded import Bounded
from ..core.errors import ConfigError
from ..core.output_files import write_text
from ..fieldbus.process.scheduling import PRIORITY, PROCESSOR
from .ethercat_slaves import add_slave_commands
from .options import (
    OUTPUT_FOLDER,
    ROBOT,
    TOPOLOGY,
    add_command,
    add_number,
    output_file,
    picture,
)

if TYPE_CHECKING:
    from ..fieldbus.tools.jitter import Jitter


def add_ethercat(commands: Any) -> None:
    """Add the command `ethercat` to the subcommands of a parser."""
    parser = commands.add_parser(
        "ethercat", help="drives on EtherCAT: what is on a bus, an emulated one, its timing"
    )
    ethercat = parser.add_subparsers(required=True, metavar="command")
    add_slave_commands(ethercat)
    _add_icube(ethercat)
    _add_jitter(ethercat)
    _add_emulate(ethercat)


def _add_emulate(commands: Any) -> None:
    """Add the command `emulate`; the emulator is imported when its options are asked for."""

    def program() -> Any:
        return import_module("..fieldbus.emulation.program", __package__)

    text = "an arm in MuJoCo on an emulated bus"
    parser = commands.add_parser(
        "emulate", help=text, fill=lambda parser: program().add_arguments(parser)
    )
    parser.set_defaults(run=lambda options: program().run(options))


def _add_icube(commands: Any) -> None:
    add = add_command(
        commands, "icube", "write the slave files of ICube's ethercat_driver_ros2", _icube
    )
    add("--robot", **ROBOT)
    add("--topology", **TOPOLOGY)
    add("--output", required=True, type=OUTPUT_FOLDER, metavar="FOLDER", help="for the files")


def _add_jitter(commands: Any) -> None:
    add = add_command(commands, "jitter", "how well cycles keep their time", _jitter)
    add("--interface", default="", help="network interface that the bus is on; not with --emulate")
    add("--emulate", action="store_true", help="on an emulated bus of this machine: no hardware")
    add("--robot", **ROBOT)
    add("--topology", **TOPOLOGY)
    add_number(add, "--seconds", Bounded(default=60.0, above=0.0, unit="s", doc="length"))
    add(
        "--law", default="", help="that runs in the bus's process and holds the arm (default: none)"
    )
    text = "which --law needs: a real arm is then held by it, and may move"
    add("--enable-drives", action="store_true", help=text)
    add_number(add, "--priority", replace(PRIORITY, upper=99, doc="of SCHED_FIFO; 0 for none"))
    processor = replace(
        PROCESSOR,
        upper=(os.cpu_count() or 1) - 1,
        doc="processor that the bus's process stays on",
    )
    default = "any; with --emulate, one that all else here is kept off, where there are several"
    add_number(add, "--cpu", processor, default=default)
    add("--plot", type=picture, metavar="FILE", help="write a picture")
    add("--json", type=output_file(".json"), metavar="FILE", help="write the figures")


# --- without a bus ---


def _icube(options: argparse.Namespace) -> int:
    from ..fieldbus.ethercat.topology import load_topology
    from ..fieldbus.tools.icube import write_icube
    from ..robot.configuration import load_robot

    robot = load_robot(options.robot, "icube")
    for path in write_icube(robot, load_topology(options.topology or robot.name), options.output):
        print(path)
    return 0


# --- timing ---


def _jitter(options: argparse.Namespace) -> int:
    from ..fieldbus.ethercat.network import check_interface

    if bool(options.interface) == options.emulate:
        raise ConfigError(
            "one of --interface INTERFACE and --emulate is needed, and not both", name="--interface"
        )
    if options.interface:
        check_interface(options.interface)
    if options.law and not (options.emulate or options.enable_drives):
        message = f"--law {options.law} enables the drives, and the arm may move: add --enable-drives once it is safe"
        raise ConfigError(message, name="--law", value=options.law)

    from ethercat_emulator.network.veth import MASTER, SLAVES, enter_namespace, make_pair

    from ..fieldbus.emulation.program import emulated_bus
    from ..fieldbus.ethercat.ethercat_driver import ethercat_settings
    from ..fieldbus.process.pacing import EMULATED_BUS_TIMEOUTS
    from ..fieldbus.process.realtime import ANY, spare_processor
    from ..fieldbus.tools.jitter import PROFILE, measure

    def run(interface: str, processor: int, **timeouts: Any) -> int:
        settings = ethercat_settings(
            interface,
            options.robot,
            PROFILE,
            options.topology,
            priority=options.priority,
            processor=processor,
            **timeouts,
        )
        return _print_jitter(options, measure(settings, options.seconds, options.law))

    if not options.emulate:
        return run(options.interface, options.cpu)
    enter_namespace()
    make_pair()
    processor = spare_processor() if options.cpu == ANY else options.cpu
    with emulated_bus(options.robot, options.topology, SLAVES):
        return run(MASTER, processor, **EMULATED_BUS_TIMEOUTS)


def _print_jitter(options: argparse.Namespace, jitter: Jitter) -> int:
    """Print the figures; returns the exit status, 1 where the bus has not run to the end."""
    from ..fieldbus.process.pacing import EMULATED_BUS_TIMEOUTS
    from ..fieldbus.tools.jitter import PERCENTILES

    law = f"{options.law} in the bus's process" if options.law else "no law, drives disabled"
    where = "an emulated bus on this machine" if options.emulate else options.interface
    rate = f"{1.0 / jitter.cycle:g} Hz"
    print(f"{options.robot} on {where}, {rate} for {options.seconds:g} s; {law}")
    if options.emulate:
        print(
            f"  here a frame may take up to {1e3 * EMULATED_BUS_TIMEOUTS['frame_timeout']:g} ms, since virtual "
            "machines stall; on hardware half a cycle"
        )
    print(
        f"  scheduling: {f'SCHED_FIFO, priority {jitter.priority}' if jitter.priority else 'ordinary'}"
    )
    for warning in jitter.warnings:
        print(f"  {warning}")
    rows = [("[µs]", *(f"p{percent:g}" for percent in PERCENTILES), "max")]
    for name, values in jitter.percentiles().items() if jitter.cycles else ():
        rows.append((name, *(f"{1e6 * value:.0f}" for value in values)))
    for name, *cells in rows:
        print(f"{name:<18}" + "".join(f"{cell:>9}" for cell in cells))
    print(
        f"on time: {100.0 * jitter.on_time:.3f} % of {jitter.cycles + jitter.missed} cycles; missed: {jitter.missed}"
    )
    print(
        f"lost frames: {jitter.lost_frames}; bad working counters: {jitter.bad_counters}; late frames: "
        f"{jitter.late_frames}"
    )
    if jitter.unrecorded:
        print(f"the times of {jitter.unrecorded} more cycles are lost: this process was held up")
    if jitter.trouble:
        print(f"trouble: {jitter.trouble}")
    _write_files(options, jitter, f"{options.robot} on {where}, {rate}: {law}")
    return 1 if jitter.trouble else 0


def _write_files(options: argparse.Namespace, jitter: Jitter, title: str) -> None:
    if options.plot:
        print(jitter.plot(options.plot, title))
    if options.json:
        path: Path = options.json
        about = {
            "robot": options.robot,
            "law": options.law,
            "emulated": options.emulate,
            "seconds": options.seconds,
        }
        print(write_text(path, json.dumps({**about, **jitter.data()}, indent=2) + "\n", ".json"))
