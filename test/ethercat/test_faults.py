"""The fault table over the real master: reaction, words, no jump, nothing enabled by itself, recovery on request.

One run of all rows, in a network namespace of its own: what :mod:`robot_control_ros.experiments.ethercat_faults` saw.
"""

import functools
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import robot_control_ros
from ethercat_emulator.network.veth import why_no_namespace
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import CommandMode
from robot_control_ros.ethercat.driver.supervisor import Action
from robot_control_ros.experiments.ethercat_faults.bench import AMPLITUDE, BAD_CYCLES, FRAME_TIMEOUT, PERIOD
from robot_control_ros.experiments.ethercat_faults.table import FAULTS, row, table, trials
from robot_control_ros.experiments.ethercat_faults.trial import Fault, TrialRecord

pytestmark = [pytest.mark.alone, pytest.mark.long]  # the whole fault bench

CYCLE = 0.001  # s
# In torque mode gravity is the only thing that could throw an arm: a drive that lost its torque for the 20 ms of the
# watchdog, brake open, would gain 10 rad/s² x 20 ms. To that comes twice the commanded speed, for the loops overshoot.
FASTEST = 2.0 * AMPLITUDE * 2.0 * math.pi / PERIOD + 10.0 * 0.02  # rad/s
JUMP = FASTEST * CYCLE  # rad, in one cycle
# Where drives stop: the commanded motion until they do, and the way that FASTEST takes to rest at 10 rad/s² (0x6085).
STOPPING = FASTEST**2 / (2.0 * 10.0)
WATCHDOG, LOST_OWNER = 0.025, 0.05  # s

CASES = [(fault, mode) for fault in FAULTS for mode in fault.modes]
STOPS = [case for case in CASES if case[0].action is Action.QUICK_STOP]


def named(cases: list[tuple[Fault, CommandMode]]):
    return pytest.mark.parametrize(
        ("fault", "mode"), cases, ids=[f"{fault.name}, {mode.value}" for fault, mode in cases]
    )


@functools.cache
def records() -> dict[tuple[str, str], TrialRecord]:
    if why_no_namespace():
        pytest.skip(f"needs a network namespace of its own; {why_no_namespace()}")
    if importlib.util.find_spec("pysoem") is None:
        pytest.skip("needs pysoem: pip install pysoem")
    package = str(Path(robot_control_ros.__file__).resolve().parents[1])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records"
        result = subprocess.run(
            [sys.executable, "-m", "robot_control_ros.cli", "ethercat", "faults", "--json", str(file)],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert file.exists(), result.stdout + result.stderr
        seen = [TrialRecord(**each) for each in json.loads(file.read_text())]
    return {(record.fault, record.mode): record for record in seen}


def record(fault: Fault, mode: CommandMode) -> TrialRecord:
    return records()[fault.name, mode.value]


@named(CASES)
def test_the_driver_says_what_is_wrong_and_where(fault, mode):
    said = " ".join("\n".join(record(fault, mode).messages).split())
    assert re.search(fault.message, said), said


@named(CASES)
def test_no_joint_jumps(fault, mode):
    assert record(fault, mode).step < JUMP


@named([case for case in STOPS if "frozen" not in case[0].name and "mode" not in case[0].name])
def test_the_arm_stops_where_it_was(fault, mode):
    seen = record(fault, mode)
    until = max(each for each in (seen.reaction, seen.disabled, 0.0) if each is not None)
    assert seen.moved < FASTEST * min(until, 0.1) + STOPPING


@named(STOPS)
def test_nothing_is_enabled_before_it_is_asked_for(fault, mode):
    seen = record(fault, mode)
    assert seen.self_enabled == 0
    assert not seen.action.endswith(("run", "hold", "enable", "operation enabled"))


@named(CASES)
def test_the_arm_runs_and_holds_again_on_request(fault, mode):
    assert record(fault, mode).recovered, record(fault, mode).recovery


@named([case for case in CASES if case[0].action is not Action.QUICK_STOP])
def test_what_is_no_danger_stops_nothing(fault, mode):
    assert set(record(fault, mode).action.split(" -> ")) <= {"run", "hold"}
    assert record(fault, mode).disabled is None


def test_frames_that_are_lost_or_late_are_seen_as_such():
    for name in ("one lost frame", "K lost frames", "one late frame", "K late frames", "link down and up"):
        assert "working counter -1" in records()[name, "position"].shown
        assert "hold" in records()[name, "position"].action
    for name in ("K lost frames", "K late frames"):
        assert records()[name, "position"].reaction > (BAD_CYCLES - 1) * FRAME_TIMEOUT


def test_a_lasting_fault_is_not_reset():
    assert records()["lasting drive fault", "position"].messages[-1].endswith("which stays after a reset")
    assert records()["lasting drive fault", "position"].messages[-1].startswith("reset refused: ")


def test_slaves_that_lost_their_state_are_brought_back_to_op():
    for name, slaves in (
        ("AL 0x14 on one slave", [2]),
        ("AL 0x1B on one slave", [4]),
        ("one slave missing from LRW", [3]),
        ("chain cut at slave 3", [3, 4, 5]),
        ("slave power-cycled", [2]),
        ("link down and up", range(6)),
    ):
        recovery = records()[name, "position"].recovery
        assert recovery.startswith("back in OP")
        assert all(f"slave {slave} (" in recovery for slave in slaves)


@named([case for case in CASES if case[0].name in ("wrong order", "wrong identity", "wrong count", "corrupt SII")])
def test_a_bus_that_is_another_does_not_get_to_op(fault, mode):
    seen = record(fault, mode)
    assert (seen.action, seen.moved < 1e-3) == ("refused", True)
    assert "OP" not in seen.shown.removeprefix("slaves in ").split(", ")


# --- times ---


@named([case for case in CASES if case[0].name == "master SIGKILL"])
def test_drives_without_their_master_are_disabled_by_their_watchdog(fault, mode):
    assert 0.015 < record(fault, mode).disabled < WATCHDOG


def test_drives_whose_master_is_stopped_are_too():
    assert 0.015 < records()["master SIGSTOP", "position"].disabled < WATCHDOG


@named([case for case in CASES if case[0].name == "owner SIGKILL"])
def test_a_bus_whose_owner_is_killed_stops_in_order(fault, mode):
    seen = record(fault, mode)
    assert seen.disabled < LOST_OWNER
    assert seen.action == "operation enabled -> quick stop active -> switch on disabled"


def test_a_drive_fault_and_bad_counters_stop_all_within_few_cycles():
    """Their cycles, one more, and as long as a machine stalls."""
    for name, cycles in (
        ("drive fault", 1),
        ("one slave missing from LRW", BAD_CYCLES),
        ("AL 0x14 on one slave", BAD_CYCLES),
    ):
        assert records()[name, "position"].reaction < (cycles + 1) * CYCLE + 0.01


# --- the table ---


def test_an_unknown_row_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="must be one of: one lost frame, K lost frames"):
        list(trials(["flood"]))


def test_the_table_is_markdown():
    seen = TrialRecord(
        *("cut", "effort", "working counter 9", "quick stop", ("lost: a|b\nc",)),
        0.0021,
        None,
        1e-4,
        2e-3,
        0,
        "reset",
        False,
    )
    assert row(seen) == (
        "| cut, torque | working counter 9 | quick stop: lost: a/b c | 2.1 | - | 0.10, 2.0 | reset (NOT RECOVERED) |"
    )
    head, rule, line = table([seen]).splitlines()
    assert head.count("|") == rule.count("|") == line.count("|") == 8
