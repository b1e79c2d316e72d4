"""The node ethercat, and controllers in front of it, over real DDS and an emulated bus.

The tests are in ethercat_node_tests.py: they run in a network namespace of their own, which this
process can't enter.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ethercat_emulator.network.veth import why_no_namespace

pytestmark = [pytest.mark.ros, pytest.mark.sim, pytest.mark.limit(330)]

LIMIT = 300.0  # s
TESTS = Path(__file__).with_name("ethercat_node_tests.py")


@pytest.mark.parametrize("which", ["not long", pytest.param("long", marks=pytest.mark.long)])
def test_the_node_and_its_controllers_over_an_emulated_bus(which):
    for module in ("rclpy", "pysoem", "mujoco"):
        pytest.importorskip(module)
    if why_not := why_no_namespace():
        pytest.skip(why_not)
    ended = subprocess.run(
        [sys.executable, TESTS, "-m", which],
        cwd=TESTS.parents[2],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    print(ended.stdout, ended.stderr)
    assert ended.returncode == 0
    assert " passed" in ended.stdout
    assert "skipped" not in ended.stdout
