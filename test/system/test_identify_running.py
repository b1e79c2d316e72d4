"""Identification in several processes and real time: the command and the page leave an arm as it
was.

What else ends it: test/nodes/test_identification_over_ros.py.
"""

import signal
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from identification_over_ros import SEEDS, System, trial
from identification_trials import wrong_figures
from served_pages import free_port

pytestmark = [pytest.mark.ros, pytest.mark.sim]
SLOW = 0.4  # real-time factor, so that a busy machine keeps up


@pytest.mark.long
def test_half_way_ctrl_c_leaves_law_gains_and_an_arm_that_holds(ros):
    system = System(ros, real_time_factor=SLOW)
    process = system.ask("--yes", "--joints", "elbow_joint")
    system.wait_for_motion(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "law and gains" in out
    assert "Traceback" not in err
    assert system.is_as_before()
    ros.until(system.rests, "an arm at rest")


@pytest.mark.long
def test_the_end_of_the_page_leaves_law_gains_and_an_arm_that_holds(ros):
    pytest.importorskip("viser", reason="the page needs viser")
    system = System(ros, real_time_factor=SLOW)
    parameters = ("-p", "robot:=ur5e", "-p", f"port:={free_port()}")
    program = Path(__file__).parents[1] / "support" / "identifying_page.py"
    process = system.run(str(program), "--ros-args", *parameters)
    system.wait_for_motion(process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert system.is_as_before()
    ros.until(system.rests, "an arm at rest")


@pytest.mark.long
@pytest.mark.limit(900)
def test_a_random_arm_is_found_over_ros_and_keeps_the_bounds_shown(tmp_path):
    """20 of them, and how many of their figures lie in the stated intervals:
    identification_over_ros.py.
    """
    found = trial(tmp_path, SEEDS[0])
    assert wrong_figures(found.figures) == []
    assert found.beyond <= 0.0


def test_a_signal_in_place_of_an_answer_ends_the_command_and_moves_nothing(ros):
    """What is refused, and the answer no: test/cli/test_identify.py."""
    system = System(ros, real_time_factor=0.05)  # nothing moves
    processes = {number: system.ask() for number in (signal.SIGINT, signal.SIGTERM)}
    for number, process in processes.items():
        asked = ""
        while not asked.endswith("[y/N] "):
            more = process.stdout.read(1)
            assert more, process.communicate()
            asked += more
        process.send_signal(number)
        _, err = process.communicate()
        assert (process.returncode, err) == (130, "")
    assert system.is_as_before()
