"""The rows of the fault table, and their trials one after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ethercat_emulator.network.veth import make_pair

from ...core.errors import ConfigError
from ...core.types import CommandMode
from ...ethercat.driver.supervisor import Action
from ...ethercat.process.protocol import memory_path
from .bench import BAD_CYCLES, Bench
from .trial import (
    Fault,
    TrialRecord,
    at_start,
    following_error,
    lasting,
    master_killed,
    master_stopped,
    mode_change_refused,
    mode_refused,
    owner_lost,
    silent_mailbox,
    while_running,
)

_BOTH = (CommandMode.POSITION, CommandMode.EFFORT)

FAULTS = (
    Fault("one lost frame", "lose_frames 1", "", action=Action.HOLD),
    Fault("K lost frames", f"lose_frames {BAD_CYCLES}", rf"{BAD_CYCLES} cycles in a row: no answer", modes=_BOTH),
    Fault(
        "one slave missing from LRW",
        "ignore_process_data 3",
        "working counter 15 of 18",
        mend="ignore_process_data 3 false",
    ),
    Fault(
        "AL 0x14 on one slave", "al_error 2 0x14", r"slave 2 \(elbow_joint\) is in SAFE-OP with error 0x0014 no valid"
    ),
    Fault("AL 0x1B on one slave", "al_error 4 0x1B", r"slave 4 \(wrist_2_joint\) is in SAFE-OP with error 0x001B sync"),
    Fault(
        "drive fault", "drive_fault 1 0x7305", "shoulder_lift_joint: .*0x7305 incremental sensor 1 fault", modes=_BOTH
    ),
    Fault(
        "lasting drive fault",
        "drive_fault 1 0x4310 true",
        "shoulder_lift_joint: .*0x4310 excess temperature, drive",
        mend="mend_drive 1",
        trial=lasting,
    ),
    Fault("emergency", "emergency 5 0x8130", r"slave 5 \(wrist_3_joint\): emergency 0x8130", action=None),
    Fault(
        "chain cut at slave 3",
        "cut_chain 3",
        r"lost: slave 3 \(wrist_1_joint\), slave 4 .*, slave 5 .*: the cable between slave 2 .* and slave 3",
        mend="mend_chain",
        modes=_BOTH,
    ),
    Fault("slave power-cycled", "power_cycle 2", r"lost: slave 2 \(elbow_joint\)"),
    Fault("link down and up", "link false", "link down", mend="link true"),
    Fault("one late frame", "late_frames 0.004", "", action=Action.HOLD),
    Fault("K late frames", f"late_frames 0.01 {2 * BAD_CYCLES}", "too late|no answer"),
    Fault(
        "frozen actual position",
        "freeze_position 0",
        "shoulder_pan_joint: its measured position is frozen",
        mend="freeze_position 0 false",
    ),
    Fault(
        "following error", "0x6065 = 1 count", "shoulder_lift_joint: .*0x8611 following error", trial=following_error
    ),
    Fault(
        "mode refused",
        "refuse_mode 2 10",
        r"elbow_joint: refuses mode of operation cyclic synchronous torque \(10\)",
        mend="refuse_mode 2 10 false",
        trial=mode_refused,
    ),
    Fault(
        "mode change refused",
        "refuse_mode 2 10",
        r"elbow_joint: refuses mode of operation cyclic synchronous torque \(10\)",
        mend="refuse_mode 2 10 false",
        trial=mode_change_refused,
    ),
    Fault(
        "SDO timeout during OP",
        "silence_mailbox 3",
        r"slave 3 \(wrist_1_joint\): object 0x6502:0 can't be read",
        action=None,
        mend="silence_mailbox 3 false",
        trial=silent_mailbox,
    ),
    Fault("master SIGSTOP", "SIGSTOP", "SAFE-OP with error 0x001B sync manager watchdog", trial=master_stopped),
    Fault("master SIGKILL", "SIGKILL", "the bus's process has ended", modes=_BOTH, trial=master_killed),
    Fault("owner SIGKILL", "SIGKILL", "", modes=_BOTH, trial=owner_lost),
    Fault("owner SIGSTOP", "SIGSTOP", "", trial=owner_lost),
    Fault("wrong order", "swap 1 2", r"slave 1 .*alias 2.*position 2: wrong order", mend="swap 1 2", trial=at_start),
    Fault(
        "wrong identity",
        "identity 4 0xABC:0x999:0:5; power_cycle 4",
        r"slave 4 \(wrist_2_joint\): expected vendor 0x00000ABC, product 0x00000402.*found .*product 0x00000999",
        mend="identity 4 0xABC:0x402:0:5; power_cycle 4",
        trial=at_start,
    ),
    Fault(
        "wrong count",
        "power 5 false",
        r"slave 5 \(wrist_3_joint\): found nothing",
        mend="power 5 true",
        trial=at_start,
    ),
    Fault(
        "corrupt SII",
        "corrupt_sii 2; power_cycle 2",
        r"slave 2 \(elbow_joint\): expected .*found a slave without a readable identity",
        mend="identity 2 0xABC:0x402:0:3; power_cycle 2",
        trial=at_start,
    ),
)


def trials(rows: Sequence[str] | None = None, tell: Callable[[TrialRecord], None] | None = None) -> list[TrialRecord]:
    """Run rows of the table, in a network namespace; see :func:`ethercat_emulator.network.veth.enter_namespace`.

    Args:
        rows: names; all by default.
        tell: called with each record as it comes.

    Raises:
        ConfigError: unknown row; lists them. No right to make interfaces.
        HardwareFault: the emulator or the bus's process doesn't start, or drives can't be enabled at all.
    """
    known = [fault.name for fault in FAULTS]
    if unknown := [row for row in rows or () if row not in known]:
        raise ConfigError(f"unknown fault {unknown[0]!r}; faults: {', '.join(known)}")
    chosen = [(fault, mode) for fault in FAULTS if not rows or fault.name in rows for mode in fault.modes]
    records: list[TrialRecord] = []
    make_pair()
    with tempfile.TemporaryDirectory(prefix="robot_control_ros.", dir=memory_path("").parent) as folder:
        bench = Bench(Path(folder))
        try:
            for fault, mode in chosen:
                records.append((fault.trial or while_running)(bench, fault, mode))
                if tell is not None:
                    tell(records[-1])
        finally:
            bench.close()
    return records
