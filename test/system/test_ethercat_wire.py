"""The driver's programs on an emulated bus, at the two ends of a veth pair, in a network
namespace of their own.
"""

import importlib.util
import json
import os
import subprocess
import sys

import ethercat_meddler
import ethercat_wire
import numpy as np
import pytest
from ethercat_emulator_support import result_of

from ethercat_emulator.network.veth import SLAVES, why_no_namespace
from robot_control_ros.fieldbus.ethercat.topology import load_topology

pytestmark = [pytest.mark.sim, pytest.mark.limit(300)]

ENABLED, FAULT = 0x27, 0x08
OP = 0x08
GROWTH = 20.0  # MB
NAMESPACE = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]


@pytest.fixture(autouse=True)
def need_namespace():
    if why_not := why_no_namespace():
        pytest.skip(f"needs a network namespace of its own; {why_not}")
    for library in ("pysoem", "mujoco"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs {library}: pip install {library}")


def seen(scenario: str) -> dict:
    """What a scenario saw."""
    return result_of([sys.executable, ethercat_wire.__file__, scenario])


def test_an_emulated_arm_holds_moves_and_is_pushed_over_the_wire(ur5, ur5_model):
    found = seen("arm")
    assert found["line"] == f"emulating ur5: 6 drives on {SLAVES}; faults on {found['socket']}\n"
    assert found["states"] == [[OP, 0]] * 6
    np.testing.assert_allclose(found["at first"], ur5.home, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found["held"], ur5.home, rtol=0, atol=0.002)
    assert found["enabled"] == [ENABLED] * 6
    kin = ur5_model.at(np.array(ur5.home))
    assert np.abs(kin.gravity).max() > 10.0
    np.testing.assert_allclose(found["effort"], kin.gravity, rtol=0, atol=1.0)
    np.testing.assert_allclose(found["moved"], np.array(ur5.home) + 0.05, rtol=0, atol=0.002)
    # faults over the channel
    pushed = kin.gravity - kin.jacobian.T @ [0, 0, -20, 0, 0, 0]
    assert np.abs(pushed - kin.gravity).max() > 5.0
    np.testing.assert_allclose(found["effort pushed"], pushed, rtol=0, atol=1.0)
    assert found["fault"] == [FAULT, 0x7305]
    assert "drive_fault slave:int code:int lasting:bool=false" in found["help"]
    assert "push link:str" in found["help"]
    # SIGTERM ends it in order
    assert (found["status"], found["socket left"], found["errors"]) == (0, False, "")


@pytest.mark.long
@pytest.mark.ros
def test_ros_nodes_in_a_namespace_find_each_other():
    pytest.importorskip("rclpy")
    assert seen("loopback")["heard"] == ["hello"]


def test_the_commands_see_the_emulated_bus_as_it_is(tmp_path):
    found = seen("commands")
    status, out, _ = found["scan"]
    lines = out.splitlines()
    assert status == 0
    assert len(lines) == 8
    for position, line in enumerate(lines[1:7]):
        assert line.split()[:7] == [
            str(position),
            "0x00000ABC",
            "0x00000402",
            "0x00000000",
            "0",
            "PRE-OP",
            "cia402",
        ]
    assert lines[7].startswith("the bus is that of ")
    assert lines[7].endswith("ur5.yaml")

    status, _, err = found["wrong"]
    assert status == 2
    assert "2 expected, 6 found" in err

    path = tmp_path / "bus.yaml"
    path.write_text(found["template"][1])
    made, ours = load_topology(str(path)), load_topology("ur5")
    for mine, theirs in zip(ours.slaves, made.slaves, strict=True):
        assert (mine.vendor, mine.product, mine.rated_torque) == (
            theirs.vendor,
            theirs.product,
            theirs.rated_torque,
        )
        assert mine.scale.position == theirs.scale.position

    status, out, _ = found["info"]
    assert status == 0
    for line in (
        "  device name (0x1008): CiA 402 servo drive",
        "  rated torque (0x6076): 150 x 0.001 N·m = 0.15 N·m",
        "  gear (0x6091): 101000 revolutions of the motor per 1000 of the shaft",
        "  velocity unit (0x60A9): 0x00B50300: increments per s",
        "  error code (0x603F): 0x0000 no error",
    ):
        assert line in out.splitlines()
    assert "cyclic synchronous torque (10)" in out
    assert "tx (slave to master): PDO 0x1A00: 0x6041:0 status word (16 bits), 0x6061:0" in out

    assert found["write"][:2] == [0, "written: 0x6065:0 = 4321 (u32), 4321 (0x000010E1)\n"]
    assert found["read"][:2] == [0, "0x6065:0 = 4321 (0x000010E1)\n"]
    for command, code in (("refused", "0x06020000"), ("read only", "0x06010002")):
        status, out, err = found[command]
        assert (status, out) == (2, "")
        assert f"abort {code} " in err


@pytest.mark.long
def test_jitter_with_a_law_on_an_emulated_bus(tmp_path):
    path = tmp_path / "jitter.json"
    options = ["--emulate", "--seconds", "2", "--law", "impedance", "--json", str(path)]
    command = [sys.executable, "-m", "robot_control_ros.cli", "ethercat", "jitter", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "impedance in the bus's process" in result.stdout
    found = json.loads(path.read_text())
    assert found["trouble"] == ""
    assert found["cycles"] > 0
    for times in found["times"].values():
        assert 0.0 <= times["p50"] <= times["p99"] <= times["max"]


# --- behind a cable that loses, doubles, delays, exchanges, cuts and changes replies ---


def run_on_the_wire(seconds: float) -> None:
    """The bus's own process with a law in it, as SOEM hears the replies."""
    command = [*NAMESPACE, sys.executable, ethercat_meddler.__file__, str(seconds), "1"]
    found = result_of(command, timeout=180.0 + 2.0 * seconds)
    assert min(found["counts"].values()) > 0
    assert found["stops"] > 0  # else it would prove nothing
    assert found["by_itself"] == 0
    assert max(found["enabled"]) <= found["requests"]
    assert max(found["memory"]) < min(found["memory"]) + GROWTH
    assert found["recovered"]


@pytest.mark.long
def test_the_bus_process_goes_on_through_changed_replies_and_enables_nothing_by_itself():
    run_on_the_wire(10.0)


@pytest.mark.long
@pytest.mark.limit(1500)
def test_the_bus_process_goes_on_through_ten_minutes_of_changed_replies():
    run_on_the_wire(600.0)
