"""A few rows of the fault table over real processes and DDS: what must happen, in its order, and
what is left behind.

The bounds are judged by the arm's own clock, which waits for the programs.
"""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulated arm needs MuJoCo")

from evidence.faults.bench import Bench
from evidence.faults.table import FAULTS, path_of, record_of
from evidence.faults.trial import Trial, failures, path_without_fault
from evidence.programs import Programs

# programs start one after the other
pytestmark = [pytest.mark.ros, pytest.mark.sim, pytest.mark.limit(330)]
BY_NAME = {fault.name: fault for fault in FAULTS}
LONG_ROWS = (
    "joint states: NaN in each number",
    "a second controller",
    "simulator ends",
    "full disk while recording, CSV",
)


@pytest.mark.long
@pytest.mark.parametrize("name", LONG_ROWS)
def test_a_row_of_the_fault_table_passes_over_real_processes(name):
    fault = BY_NAME[name]
    assert record_of(fault, path_of(fault.law) if fault.moving else None).failures == ()


def test_a_killed_watchdog_is_told_and_it_brakes_the_arm_of_a_killed_controller_which_a_next_one_takes_over():
    """One after the other over the same programs, and after the way of an arm to
    which nothing happens.
    """
    watchdog, controller = BY_NAME["watchdog SIGKILL"], BY_NAME["controller SIGKILL"]
    assert watchdog.law == controller.law
    with Programs() as programs:
        bench = Bench(programs, controller.law)
        bench.start()
        path = path_without_fault(bench)
        for fault in (watchdog, controller):
            bench.go_home()
            record = Trial(bench, fault, path).run()
            assert failures(fault, record) == []
        assert record.rest_after is not None
        statuses = {"watchdog": -9, "watchdog again": 0, "controller": -9, "controller again": 0}
        assert programs.end() == statuses
        assert programs.left_behind() == []
