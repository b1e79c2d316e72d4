"""Two masters, written by others and apart from each other, bring the emulator to OP over a veth pair.

Each scenario of ethercat_emulator_wire.py runs in a user and network namespace of its own, which needs no privileges
where the kernel lets anybody make one.
"""

import functools
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from ethercat_emulator_support import result_of

SCRIPT = Path(__file__).parent / "support" / "ethercat_emulator_wire.py"
AXES = 6
ENABLED, READY = 0x27, 0x21
SAFEOP_ERROR, OP = 0x14, 0x08
IDENTITY = struct.pack("<4I", 0xE5E, 0x402, 1, 1)


# Root keeps its privileges where it needs no user namespace, and its processes may go first.
NAMESPACE = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]


@functools.cache
def why_not() -> str:
    """Why no namespace with a veth pair can be made here; "" where one can."""
    for tool in ("unshare", "ip"):
        if shutil.which(tool) is None:
            return f"no command {tool!r}"
    command = [*NAMESPACE, "ip", "link", "add", "ecm", "type", "veth", "peer", "name", "ecs"]
    result = subprocess.run(command, capture_output=True, text=True)
    return f"{' '.join(command[:5])} …: {result.stderr.strip()}" if result.returncode else ""


@functools.cache
def run(scenario: str) -> dict:
    """What a scenario saw; each runs once."""
    return result_of([*NAMESPACE, sys.executable, str(SCRIPT), scenario])


def seen(scenario: str, master: str = "") -> dict:
    if why_not():
        pytest.skip(f"needs a user and network namespace of its own; {why_not()}")
    if master and importlib.util.find_spec(master) is None:
        pytest.skip(f"needs {master}: pip install {master}")
    return run(scenario)


# --- the front end ---


def test_the_front_end_answers_ethercat_and_nothing_else():
    found = seen("front_end")
    assert (found["at first"], found["after other frames"]) == (AXES, AXES)


def test_the_front_end_survives_a_frame_that_is_too_long_to_send_back():
    assert seen("front_end")["after a long frame"] == AXES


def test_the_front_end_survives_that_its_interface_goes_down():
    found = seen("front_end")
    assert (found["interface down"], found["interface up"]) == (-1, AXES)


def test_a_link_that_is_down_has_no_carrier():
    found = seen("front_end")
    assert (found["carrier"], found["link down"], found["link up"]) == (False, -1, AXES)


def test_the_front_end_ends_when_told():
    assert seen("front_end")["status"] == 0


# --- SOEM ---


def test_soem_finds_six_drives():
    found = seen("soem", "pysoem")
    assert found["found"] == AXES
    assert found["who"] == [[0xE5E, 0x402, 1, "Emulated CiA 402 drive"]] * AXES
    assert found["serial"] == [1, 2, 3, 4, 5, 6]


def test_soem_transfers_every_kind_of_sdo():
    found = seen("soem", "pysoem")
    assert found["segmented"]
    assert found["normal"] == "Emulated CiA 402 drive"
    assert bytes.fromhex(found["complete"]) == b"\x04\x00" + IDENTITY
    assert found["complete download"] == ["04", "fd"]
    assert found["abort"] == 0x06020000


def test_soem_reads_the_list_of_objects():
    found = seen("soem", "pysoem")
    assert {0x1018, 0x1600, 0x1A00, 0x1C12, 0x6040, 0x6041, 0x607A} <= set(found["objects"])
    assert found["entry"] == "Statusword"


def test_soem_runs_six_drives():
    found = seen("soem", "pysoem")
    assert found["sizes"] == [[16, 20]] * AXES
    assert (found["expected"], found["free running"]) == (18, [18])
    assert set(found["working counters"]) - {-1} == {18}  # -1: an answer that came too late, on a machine that stalls
    assert found["states"] == [[OP, 0]] * AXES
    assert found["enabled"] == [ENABLED] * AXES
    assert found["torque"] == [100] * AXES
    assert min(found["moved"]) > 0


def test_soem_hears_an_emergency():
    assert seen("soem", "pysoem")["emergencies"] == [[4, 0x4210, 9]]


def test_soem_runs_a_bus_of_different_slaves():
    found = seen("soem_mixed", "pysoem")
    assert found["names"] == ["Coupler", "Emulated CiA 402 drive", "Outputs", "Another drive", "Inputs", "Both"]
    assert found["sizes"] == [[0, 0], [16, 20], [1, 0], [8, 6], [0, 1], [2, 1]]
    assert found["states"] == [[OP, 0]] * 6
    assert found["ready"] == [READY] * 2
    assert set(found["working counters"]) == {4 * 2 + 4}


def test_soem_sees_the_faults_as_the_table_says():
    found = seen("soem_faults", "pysoem")
    assert found["lost"] == [-1, 18]
    assert found["missing"] == 15
    assert found["AL error"] == 16
    assert found["AL states"] == [[SAFEOP_ERROR, 0x14] if n == 4 else [OP, 0] for n in range(AXES)]
    assert found["acknowledged"] == [[OP, 0]] * AXES
    assert found["fault"] == [18, 0x08, 0x7305]
    assert found["cut"] == 9
    assert found["cut states"] == [[OP, 0]] * 3 + [[0, 0]] * 3


def test_soem_recovers_a_slave_that_was_without_power():
    found = seen("soem_faults", "pysoem")
    assert found["power cycled"] == 15
    assert found["recovered"] == [1, SAFEOP_ERROR & 0x0F]
    assert found["back"] == 18


# --- kickcat ---


@pytest.mark.long
def test_kickcat_runs_six_drives():
    """With LRD and LWR, and inputs over outputs in the logical memory, where SOEM has LRW and them apart."""
    found = seen("kickcat", "kickcat")
    assert found["found"] == AXES
    assert found["sizes"] == [[16, 20]] * AXES
    assert found["states"] == ["State.OPERATIONAL"] * AXES
    assert found["enabled"] == [ENABLED] * AXES
    assert found["torque"] == [100] * AXES
    assert min(found["moved"]) > 0


def test_kickcat_reads_sdos():
    """Expedited, normal, complete: its release 2.5 can't do segments, and takes aborts for requests of the slave."""
    found = seen("kickcat", "kickcat")
    assert found["serial"] == [1, 2, 3, 4, 5, 6]
    assert found["normal"] == "Emulated CiA 402 drive"
    assert bytes.fromhex(found["complete"]) == b"\x04\x00" + IDENTITY
    assert bytes.fromhex(found["emulated complete"]) == IDENTITY
    assert found["object"] == "Statusword"
