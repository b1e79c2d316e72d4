"""The rows of the fault table, their trials one after the other, and the records as
a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from ethercat_emulator.network.veth import enter_namespace, make_pair
from robot_control_ros.cli.options import output_file
from robot_control_ros.core.output_files import write_text
from robot_control_ros.core.types import CommandMode
from robot_control_ros.fieldbus.process.protocol import memory_path
from robot_control_ros.fieldbus.supervisor import Action
from robot_control_ros.robot.schema import choice

from .bus_bench import BAD_CYCLES, BusBench
from .bus_trial import BusFault, BusTrial, BusTrialRecord

_BOTH = (CommandMode.POSITION, CommandMode.EFFORT)

FAULTS = (
    BusFault("one lost frame", "lose_frames 1", "", action=Action.HOLD),
    BusFault(
        "K lost frames",
        f"lose_frames {BAD_CYCLES}",
        rf"{BAD_CYCLES} cycles in a row: no answer",
        modes=_BOTH,
    ),
    BusFault(
        "one slave missing from LRW",
        "ignore_process_data 3",
        "working counter 15 of 18",
        mend="ignore_process_data 3 false",
    ),
    BusFault(
        "AL 0x14 on one slave",
        "al_error 2 0x14",
        r"slave 2 \(elbow_joint\) is in SAFE-OP with error 0x0014 no valid",
    ),
    BusFault(
        "AL 0x1B on one slave",
        "al_error 4 0x1B",
        r"slave 4 \(wrist_2_joint\) is in SAFE-OP with error 0x001B sync",
    ),
    BusFault(
        "drive fault",
        "drive_fault 1 0x7305",
        "shoulder_lift_joint: .*0x7305 incremental sensor 1 fault",
        modes=_BOTH,
    ),
    BusFault(
        "lasting drive fault",
        "drive_fault 1 0x4310 true",
        "shoulder_lift_joint: .*0x4310 excess temperature, drive",
        mend="mend_drive 1",
        trial=BusTrial.lasting,
    ),
    BusFault(
        "emergency",
        "emergency 5 0x8130",
        r"slave 5 \(wrist_3_joint\): emergency 0x8130",
        action=None,
    ),
    BusFault(
        "chain cut at slave 3",
        "cut_chain 3",
        r"lost: slave 3 \(wrist_1_joint\), slave 4 .*, slave 5 .*: the cable between slave 2 .* and slave 3",
        mend="mend_chain",
        modes=_BOTH,
    ),
    BusFault("slave power-cycled", "power_cycle 2", r"lost: slave 2 \(elbow_joint\)"),
    BusFault("link down and up", "link false", "link down", mend="link true"),
    BusFault("one late frame", "late_frames 0.004", "", action=Action.HOLD),
    BusFault("K late frames", f"late_frames 0.01 {2 * BAD_CYCLES}", "too late|no answer"),
    BusFault(
        "frozen actual position",
        "freeze_position 0",
        "shoulder_pan_joint: its measured position is frozen",
        mend="freeze_position 0 false",
    ),
    BusFault(
        "following error",
        "0x6065 = 1 count",
        "shoulder_lift_joint: .*0x8611 following error",
        trial=BusTrial.following_error,
    ),
    BusFault(
        "mode refused",
        "refuse_mode 2 10",
        r"elbow_joint: refuses mode of operation cyclic synchronous torque \(10\)",
        mend="refuse_mode 2 10 false",
        trial=BusTrial.mode_refused,
    ),
    BusFault(
        "mode change refused",
        "refuse_mode 2 10",
        r"elbow_joint: refuses mode of operation cyclic synchronous torque \(10\)",
        mend="refuse_mode 2 10 false",
        trial=BusTrial.mode_change_refused,
    ),
    BusFault(
        "SDO timeout during OP",
        "silence_mailbox 3",
        r"slave 3 \(wrist_1_joint\): object 0x6502:0 can't be read",
        action=None,
        mend="silence_mailbox 3 false",
        trial=BusTrial.silent_mailbox,
    ),
    BusFault(
        "master SIGSTOP",
        "SIGSTOP",
        "SAFE-OP with error 0x001B sync manager watchdog",
        trial=BusTrial.master_stopped,
    ),
    BusFault(
        "master SIGKILL",
        "SIGKILL",
        "the bus's process has ended",
        modes=_BOTH,
        trial=BusTrial.master_killed,
    ),
    BusFault("owner SIGKILL", "SIGKILL", "", modes=_BOTH, trial=BusTrial.owner_lost),
    BusFault("owner SIGSTOP", "SIGSTOP", "", trial=BusTrial.owner_lost),
    BusFault(
        "wrong order",
        "swap 1 2",
        r"slave 1 .*alias 2.*position 2: wrong order",
        mend="swap 1 2",
        trial=BusTrial.at_start,
    ),
    BusFault(
        "wrong identity",
        "identity 4 0xABC:0x999:0:5; power_cycle 4",
        r"slave 4 \(wrist_2_joint\): expected vendor 0x00000ABC, product 0x00000402.*found .*product 0x00000999",
        mend="identity 4 0xABC:0x402:0:5; power_cycle 4",
        trial=BusTrial.at_start,
    ),
    BusFault(
        "wrong count",
        "power 5 false",
        r"slave 5 \(wrist_3_joint\): found nothing",
        mend="power 5 true",
        trial=BusTrial.at_start,
    ),
    BusFault(
        "corrupt SII",
        "corrupt_sii 2; power_cycle 2",
        r"slave 2 \(elbow_joint\): expected .*found a slave without a readable identity",
        mend="identity 2 0xABC:0x402:0:3; power_cycle 2",
        trial=BusTrial.at_start,
    ),
)


def trials(names: Sequence[str] = ()) -> Iterator[BusTrialRecord]:
    """Run rows of the table, all by default, within
    :func:`ethercat_emulator.network.veth.enter_namespace`.

    Raises:
        ConfigError: unknown row; lists them. No right to make interfaces.
        HardwareFault: the emulator or the bus process doesn't start, or drives can't be enabled at
            all.
    """
    by_name = {fault.name: fault for fault in FAULTS}
    chosen = [by_name[choice("fault", name, by_name)] for name in names] or FAULTS
    make_pair()
    with (
        tempfile.TemporaryDirectory(
            prefix="robot_control_ros.", dir=memory_path("").parent
        ) as folder,
        closing(BusBench(Path(folder))) as bench,
    ):
        for fault in chosen:
            for mode in fault.modes:
                yield BusTrial(bench, fault, mode).record()


_HEAD = (
    "fault",
    "the master saw",
    "the driver did",
    "after [ms]",
    "disabled [ms]",
    "step, way [mrad]",
    "back by",
)


def table(records: Sequence[BusTrialRecord]) -> str:
    """Records as a table in Markdown."""
    return "\n".join([_line(_HEAD), _line(["---"] * len(_HEAD)), *map(row, records)])


def row(record: BusTrialRecord) -> str:
    """A record as a row of that table."""
    messages = "; ".join(record.messages)
    return _line(
        (
            record.fault + (", torque" if record.mode == CommandMode.EFFORT.value else ""),
            record.shown,
            record.action + (f": {messages}" if messages else ""),
            _milliseconds(record.reaction),
            _milliseconds(record.disabled),
            f"{1e3 * record.step:.2f}, {1e3 * record.moved:.1f}",
            record.recovery + ("" if record.recovered else " (NOT RECOVERED)"),
        )
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.replace('|', '/').split()) for cell in cells)} |"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.1f}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line; :func:`run` runs what they say."""
    parser.add_argument(
        "rows", nargs="*", metavar="FAULT", help="names of faults (default: the whole table)"
    )
    parser.add_argument(
        "--json", type=output_file(".json"), metavar="FILE", help="JSON file for the records"
    )


def run(options: argparse.Namespace) -> int:
    """Run the trials in a namespace of their own, and print the table; the exit status is
    1 where one failed.
    """
    for name in options.rows:
        choice("fault", name, (fault.name for fault in FAULTS))
    enter_namespace()
    print(table(()))
    records = []
    for record in trials(options.rows):
        print(row(record), flush=True)
        records.append(record)
    if options.json:
        write_text(
            options.json, json.dumps([asdict(record) for record in records], indent=2), ".json"
        )
    return 0 if all(record.recovered and not record.self_enabled for record in records) else 1
