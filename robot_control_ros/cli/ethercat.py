"""The command line for drives: ``robot_control ethercat
scan|info|read|write|icube|jitter|emulate``.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.bounded import Bounded
from ..core.errors import ConfigError
from ..fieldbus.process.scheduling import PRIORITY, PROCESSOR
from .ethercat_slaves import add_slave_commands
from .options import (
    INTERFACE,
    OUTPUT_FOLDER,
    ROBOT,
    STANDARD_OUTPUT,
    TOPOLOGY,
    add_command,
    add_emulator,
    add_group,
    add_json,
    add_number,
    picture,
    show_json,
)

if TYPE_CHECKING:
    from ..fieldbus.tools.jitter import Jitter


def add_ethercat(commands: Any) -> None:
    """Add the command `ethercat` to the subcommands of a parser."""
    sentence = "Look at drives on EtherCAT, emulate them, or measure the timing of their bus."
    ethercat = add_group(commands, "ethercat", sentence)
    add_slave_commands(ethercat)
    _add_icube(ethercat)
    _add_jitter(ethercat)
    add_emulator(
        ethercat,
        "program",
        "Run an arm in MuJoCo whose drives are on an emulated EtherCAT bus.",
        "robot_control ethercat emulate --robot ur5 --interface eth1",
    )


def _add_icube(commands: Any) -> None:
    add = add_command(
        commands,
        "icube",
        "Write the slave files of ICube's ethercat_driver_ros2.",
        _icube,
        "robot_control ethercat icube --robot ur5 --output slaves",
    )
    add("--robot", **ROBOT)
    add("--topology", **TOPOLOGY)
    text = "folder for the files"
    add("--output", required=True, type=OUTPUT_FOLDER, metavar="FOLDER", help=text)


def _add_jitter(commands: Any) -> None:
    add = add_command(
        commands,
        "jitter",
        "Measure how well the cycles of a bus keep their time.",
        _jitter,
        "robot_control ethercat jitter --emulate --seconds 10",
        "robot_control ethercat jitter --interface eth1 --plot jitter.png",
    )
    add("--interface", **{**INTERFACE, "default": ""})
    add("--emulate", action="store_true", help="emulate the bus on this machine, without hardware")
    add("--robot", **ROBOT)
    add("--topology", **TOPOLOGY)
    length = Bounded(default=60.0, above=0.0, unit="s", doc="length of the measurement")
    add_number(add, "--seconds", length)
    text = "law that runs in the bus's process and holds the arm (default: none)"
    add("--law", default="", help=text)
    text = "enable the drives, as --law needs: a real arm is then held by it, and may move"
    add("--enable-drives", action="store_true", help=text)
    priority = replace(PRIORITY, upper=99, doc="priority of SCHED_FIFO; 0 for none")
    add_number(add, "--priority", priority)
    processor = replace(
        PROCESSOR,
        upper=(os.cpu_count() or 1) - 1,
        doc="processor that the bus's process stays on",
    )
    default = "any; with --emulate, one that all else here is kept off, where there are several"
    add_number(add, "--cpu", processor, default=default)
    add("--plot", type=picture, metavar="FILE", help="picture of the cycles' times")
    add_json(add, "figures")


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
    """Print or write the figures; returns the exit status, 1 where the bus has not run to the end."""
    if options.json:
        about = {
            "robot": options.robot,
            "law": options.law,
            "emulated": options.emulate,
            "seconds": options.seconds,
        }
        show_json(options.json, {**about, **jitter.data()})
    title = _title(options, jitter)
    if options.plot:
        jitter.plot(options.plot, title)
    if options.json != STANDARD_OUTPUT:
        _print_table(options, jitter, title)
    return 1 if jitter.trouble else 0


def _title(options: argparse.Namespace, jitter: Jitter) -> str:
    law = f"{options.law} in the bus's process" if options.law else "no law, drives disabled"
    where = "an emulated bus on this machine" if options.emulate else options.interface
    rate = f"{1.0 / jitter.cycle:g} Hz"
    return f"{options.robot} on {where}, {rate} for {options.seconds:g} s; {law}"


def _print_table(options: argparse.Namespace, jitter: Jitter, title: str) -> None:
    from ..fieldbus.process.pacing import EMULATED_BUS_TIMEOUTS
    from ..fieldbus.tools.jitter import PERCENTILES

    print(title)
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
    for path in (options.plot, options.json):
        if path:
            print(path)
