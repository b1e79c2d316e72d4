"""The fault table over the real master: reaction, words, no jump, nothing enabled by itself,
recovery on request.

One run of all rows, in a network namespace of its own: what :mod:`evidence.ethercat_faults` saw.
How long each reaction takes is in the table that the command prints.
"""

import importlib.util
import json
import math
import re
import subprocess
import sys

import pytest

from ethercat_emulator.network.veth import why_no_namespace
from evidence.ethercat_faults.bus_bench import AMPLITUDE, PERIOD
from evidence.ethercat_faults.bus_table import FAULTS
from evidence.ethercat_faults.bus_trial import BusTrialRecord
from robot_control_ros.fieldbus.supervisor import Action

pytestmark = [pytest.mark.long, pytest.mark.limit(600)]

CYCLE = 0.001  # s
# In torque mode gravity is the only thing that could throw an arm: a drive that lost its torque for
# the 20 ms of the watchdog, brake open, would gain 10 rad/s² x 20 ms. To that comes twice the
# commanded speed, for the loops overshoot.
FASTEST = 2.0 * AMPLITUDE * 2.0 * math.pi / PERIOD + 10.0 * 0.02  # rad/s
JUMP = FASTEST * CYCLE  # rad, in one cycle
# Where drives stop: the commanded motion until they do, and the way that FASTEST takes to rest at
# 10 rad/s² (0x6085).
STOPPING = FASTEST**2 / (2.0 * 10.0)
CASES = [(fault, mode) for fault in FAULTS for mode in fault.modes]
OTHER_BUSES = ("wrong order", "wrong identity", "wrong count", "corrupt SII")


@pytest.fixture
def records(tmp_path) -> dict[tuple[str, str], BusTrialRecord]:
    """What each fault did, by its name and the mode of the drives."""
    if why_not := why_no_namespace():
        pytest.skip(f"needs a network namespace of its own; {why_not}")
    if importlib.util.find_spec("pysoem") is None:
        pytest.skip("needs pysoem: pip install pysoem")
    file = tmp_path / "records"
    command = [sys.executable, "-m", "evidence", "ethercat-faults", "--json", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert file.exists(), result.stdout + result.stderr
    seen = [BusTrialRecord(**each) for each in json.loads(file.read_text())]
    return {(record.fault, record.mode): record for record in seen}


def violations(fault, seen):
    """What of the table does not hold for a fault, in words."""
    said = " ".join("\n".join(seen.messages).split())
    if not re.search(fault.message, said):
        yield f"says {said!r}"
    if seen.step >= JUMP:
        yield f"a joint jumps by {seen.step:g} rad"
    if not seen.recovered:
        yield f"not recovered: {seen.recovery}"
    if fault.action is not Action.QUICK_STOP:
        if not set(seen.action.split(" -> ")) <= {"run", "hold"} or seen.disabled is not None:
            yield f"it is no danger, but stops: {seen.action}"
        return
    if seen.self_enabled or seen.action.endswith(("run", "hold", "enable", "operation enabled")):
        yield f"drives are enabled before that is asked for: {seen.action}"
    until = max(each for each in (seen.reaction, seen.disabled, 0.0) if each is not None)
    same_place = "frozen" not in fault.name and "mode" not in fault.name
    if same_place and seen.moved >= FASTEST * min(until, 0.1) + STOPPING:
        yield f"the arm has moved by {seen.moved:g} rad"
    if fault.name in OTHER_BUSES:
        states = seen.shown.removeprefix("slaves in ").split(", ")
        if seen.action != "refused" or seen.moved >= 1e-3 or "OP" in states:
            yield f"another bus gets to work: {seen.action}, {seen.shown}"
    if (
        fault.name in ("master SIGKILL", "master SIGSTOP", "owner SIGKILL")
        and seen.disabled is None
    ):
        yield "its drives stay enabled"


def test_each_fault_does_what_the_table_says(records):
    found = {
        f"{fault.name}, {mode.value}": list(violations(fault, records[fault.name, mode.value]))
        for fault, mode in CASES
    }
    assert {name: each for name, each in found.items() if each} == {}

    for name in (
        "one lost frame",
        "K lost frames",
        "one late frame",
        "K late frames",
        "link down and up",
    ):
        assert "working counter -1" in records[name, "position"].shown
        assert "hold" in records[name, "position"].action

    lasting = records["lasting drive fault", "position"].messages[-1]
    assert lasting.startswith("reset refused: ")
    assert lasting.endswith("which stays after a reset")

    for name, slaves in (
        ("AL 0x14 on one slave", [2]),
        ("AL 0x1B on one slave", [4]),
        ("one slave missing from LRW", [3]),
        ("chain cut at slave 3", [3, 4, 5]),
        ("slave power-cycled", [2]),
        ("link down and up", range(6)),
    ):
        recovery = records[name, "position"].recovery
        assert recovery.startswith("back in OP")
        assert all(f"slave {slave} (" in recovery for slave in slaves)

    for (name, _), seen in records.items():
        if name == "owner SIGKILL":
            assert seen.action == "operation enabled -> quick stop active -> switch on disabled"
