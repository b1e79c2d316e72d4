"""Identification over ROS: a running arm is found as it is, and left as it was."""

import json
import signal

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from identification_over_ros import SEEDS, System, trial
from identification_trials import ROBOT, wrong_figures
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_control_ros.identification.running_arm import COARSE
from robot_control_ros.simulation.imperfect.imperfections import load_imperfections

pytestmark = [pytest.mark.ros, pytest.mark.sim]


@pytest.mark.long
def test_half_way_ctrl_c_or_a_stop_of_the_controller_leaves_law_gains_and_an_arm_that_holds(ros):
    system = System(ros, real_time_factor=0.4)  # so that a busy machine keeps up
    process = system.started("--joints", "elbow_joint")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "law and gains" in out
    assert system.is_as_before()
    ros.until(system.rests, "an arm at rest")

    process = system.started("--joints", "elbow_joint")
    deactivate = Transition(id=Transition.TRANSITION_DEACTIVATE)  # what STOP on the page does
    assert ros.call(ChangeState, "/controller/change_state", transition=deactivate).success
    _, err = process.communicate()
    assert process.returncode == 1
    assert "was the controller stopped?" in err
    assert "Traceback" not in err
    assert system.is_as_before()


@pytest.mark.long
def test_services_show_the_bounds_then_move_the_arm_and_stop_it(ros, tmp_path):
    ros.environment["XDG_STATE_HOME"] = str(tmp_path)
    system = System(ros, real_time_factor=0.4)
    system.states, steps = (
        ros.subscribe(JointState, "/joint_states"),
        ros.subscribe(String, "/controller/identification"),
    )

    def is_in(state):
        step = json.loads(steps.last.data) if len(steps) else {"state": ""}
        assert step["state"] != "failed", step
        return step["state"] == state

    refused = ros.trigger("/controller/identify")
    assert not refused.success
    assert "plan_identification" in refused.message
    assert ros.trigger("/controller/plan_identification").success
    ros.until(lambda: is_in("planned"), "the bounds")
    plan = json.loads(steps.last.data)
    assert len(plan["lower"]) == len(plan["upper"]) == len(plan["speed"]) == ROBOT.n
    assert not ros.trigger("/controller/plan_identification").success
    assert system.is_as_before()
    assert ros.trigger("/controller/identify").success
    ros.until(system.moves, "motion")
    assert ros.trigger("/controller/stop_identification").success
    ros.until(lambda: is_in("stopped"), "its end")
    assert system.is_as_before()
    ros.until(system.rests, "an arm at rest")
    assert ros.trigger("/controller/stop_identification").success  # nothing runs any more


@pytest.mark.long
@pytest.mark.limit(900)
def test_a_random_arm_is_found_over_ros_and_keeps_the_bounds_shown(tmp_path):
    """20 of them, and how many of their figures lie in the stated intervals: identification_over_ros.py."""
    found = trial(tmp_path, SEEDS[0])
    assert wrong_figures(found.figures) == []
    assert found.beyond <= 0.0


@pytest.mark.long
@pytest.mark.limit(900)
def test_the_file_and_the_figures_are_written_at_the_usual_rate_of_the_clock(ros, tmp_path):
    system, path = System(ros, pacing="lockstep"), tmp_path / "found.yaml"
    process = system.start("--json", "--joints", "wrist_3_joint", "--out", str(path))
    out, err = process.communicate()
    assert process.returncode == 0, err
    found = json.loads(out.splitlines()[-1])["figures"]
    delay, half_width = found["delay"]
    assert half_width > COARSE * ROBOT.period / 2.0  # that between two messages of /clock is in it
    assert delay >= -half_width
    assert load_imperfections(str(path)).commands.delay >= 0.0


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
