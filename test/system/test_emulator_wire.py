"""Two masters, written by others and apart from each other, bring the emulator to OP over a veth
pair.

Each scenario of ethercat_emulator_wire.py runs in a user and network namespace of its own, which
needs no privileges where the kernel lets anybody make one.
"""

import importlib.util
import json
import os
import struct
import sys

import ethercat_emulator_readme
import ethercat_emulator_wire
import pytest
from ethercat_emulator_support import result_of

from ethercat_emulator.network.veth import why_no_namespace

pytestmark = pytest.mark.limit(240)

AXES = 6
ENABLED, READY = 0x27, 0x21
SAFEOP_ERROR, OP = 0x14, 0x08
IDENTITY = struct.pack("<4I", 0xE5E, 0x402, 1, 1)
# Root keeps its privileges where it needs no user namespace, and its processes may go first.
NAMESPACE = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]


def seen(program: str, argument: str, master: str = "") -> dict:
    """What a scenario saw."""
    if why_not := why_no_namespace():
        pytest.skip(f"needs a user and network namespace of its own; {why_not}")
    if master and importlib.util.find_spec(master) is None:
        pytest.skip(f"needs {master}: pip install {master}")
    return result_of([*NAMESPACE, sys.executable, program, argument])


def on_the_wire(scenario: str, master: str = "") -> dict:
    return seen(ethercat_emulator_wire.__file__, scenario, master)


def test_the_front_end_answers_ethercat_and_nothing_else_and_survives_what_happens_to_its_interface():
    found = on_the_wire("front_end")
    assert (found["at first"], found["after other frames"]) == (AXES, AXES)
    assert found["after a long frame"] == AXES  # too long to send back
    assert (found["interface down"], found["interface up"]) == (-1, AXES)
    assert (found["carrier"], found["link down"], found["link up"]) == (False, -1, AXES)
    assert found["status"] == 0  # it ends when told


def test_soem_finds_reads_and_runs_six_drives():
    found = on_the_wire("soem", "pysoem")
    assert found["found"] == AXES
    assert found["who"] == [[0xE5E, 0x402, 1, "Emulated CiA 402 drive"]] * AXES
    assert found["serial"] == [1, 2, 3, 4, 5, 6]
    # SDOs of every kind
    assert found["segmented"]
    assert found["normal"] == "Emulated CiA 402 drive"
    assert bytes.fromhex(found["complete"]) == b"\x04\x00" + IDENTITY
    assert found["complete download"] == ["04", "fd"]
    assert found["abort"] == 0x06020000
    # the list of objects
    assert {0x1018, 0x1600, 0x1A00, 0x1C12, 0x6040, 0x6041, 0x607A} <= set(found["objects"])
    assert found["entry"] == "Statusword"
    # process data
    assert found["sizes"] == [[16, 20]] * AXES
    assert (found["expected"], found["free running"]) == (18, [18])
    # -1: an answer that came too late, on a machine that stalls
    assert set(found["working counters"]) - {-1} == {18}
    assert found["states"] == [[OP, 0]] * AXES
    assert found["enabled"] == [ENABLED] * AXES
    assert found["torque"] == [100] * AXES
    assert min(found["moved"]) > 0
    assert found["emergencies"] == [[4, 0x4210, 9]]


def test_soem_runs_a_bus_of_different_slaves():
    found = on_the_wire("soem_mixed", "pysoem")
    assert found["names"] == [
        "Coupler",
        "Emulated CiA 402 drive",
        "Outputs",
        "Another drive",
        "Inputs",
        "Both",
    ]
    assert found["sizes"] == [[0, 0], [16, 20], [1, 0], [8, 6], [0, 1], [2, 1]]
    assert found["states"] == [[OP, 0]] * 6
    assert found["ready"] == [READY] * 2
    assert set(found["working counters"]) - {-1} == {4 * 2 + 4}


def test_soem_sees_the_faults_as_the_table_says_and_recovers_a_slave_that_was_without_power():
    found = on_the_wire("soem_faults", "pysoem")
    assert found["lost"] == [-1, 18]
    assert found["missing"] == 15
    assert found["AL error"] == 16
    assert found["AL states"] == [[SAFEOP_ERROR, 0x14] if n == 4 else [OP, 0] for n in range(AXES)]
    assert found["acknowledged"] == [[OP, 0]] * AXES
    assert found["fault"] == [18, 0x08, 0x7305]
    assert found["cut"] == 9
    assert found["cut states"] == [[OP, 0]] * 3 + [[0, 0]] * 3
    assert found["power cycled"] == 15
    assert found["recovered"] == [1, SAFEOP_ERROR & 0x0F]
    assert found["back"] == 18


def test_kickcat_reads_and_runs_six_drives():
    """With LRD and LWR, and inputs over outputs in the logical memory, where SOEM has LRW and them
    apart.

    Its release 2.5 can't do segments, and takes aborts for requests of the slave.
    """
    found = on_the_wire("kickcat", "kickcat")
    assert found["serial"] == [1, 2, 3, 4, 5, 6]
    assert found["normal"] == "Emulated CiA 402 drive"
    assert bytes.fromhex(found["complete"]) == b"\x04\x00" + IDENTITY
    assert bytes.fromhex(found["emulated complete"]) == IDENTITY
    assert found["object"] == "Statusword"
    assert found["found"] == AXES
    assert found["sizes"] == [[16, 20]] * AXES
    assert found["states"] == ["State.OPERATIONAL"] * AXES
    assert found["enabled"] == [ENABLED] * AXES
    assert found["torque"] == [100] * AXES
    assert min(found["moved"]) > 0


def test_a_master_finds_the_drives_of_the_command_as_the_readme_says(tmp_path):
    found = seen(ethercat_emulator_readme.__file__, str(tmp_path / "faults"), "pysoem")
    assert found["line"] == f"emulating 6 drives on ecs; faults on {tmp_path / 'faults'}\n"
    assert found["master"] == "6 Emulated CiA 402 drive\n"
    assert "drive_fault slave:int code:int lasting:bool=false" in found["help"]
    assert len(json.loads(found["drives"])) == 6
    assert json.loads(found["drives"])[0]["powers"][-1] == "FAULT"
    assert found["status"] == 0
