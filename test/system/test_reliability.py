"""A few rows of the fault table over real processes and DDS: what must happen, in its order, and what is left behind.

The bounds are judged by the arm's own clock, which waits for the programs.
"""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulated arm needs MuJoCo")

from evidence.faults.table import FAULTS, path_of, record_of

pytestmark = [pytest.mark.ros, pytest.mark.sim]
BY_NAME = {fault.name: fault for fault in FAULTS}
ROWS = (
    pytest.param("joint states: NaN in each number", marks=pytest.mark.long),
    pytest.param("a second controller", marks=pytest.mark.long),
    "watchdog SIGKILL",
    pytest.param("simulator ends", marks=pytest.mark.long),
    pytest.param("full disk while recording, CSV", marks=pytest.mark.long),
)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_fault_table_passes_over_real_processes(name):
    fault = BY_NAME[name]
    assert record_of(fault, path_of(fault.law) if fault.moving else None).failures == ()


def test_the_watchdog_brakes_the_arm_of_a_killed_controller_and_a_next_one_takes_it_over():
    fault = BY_NAME["controller SIGKILL"]
    record = record_of(fault, path_of(fault.law))
    assert record.failures == ()
    assert record.rest_after is not None
    assert record.statuses["controller"] == -9
    assert record.statuses["controller again"] == record.statuses["watchdog"] == 0
    assert record.left == ()
