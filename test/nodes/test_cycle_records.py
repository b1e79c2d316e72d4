"""The controller's last minute in files: on request, at a fault, and as long as it is
wanted; in lockstep.
"""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")
pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")
pytest.importorskip("mcap")

from ros_support import Controller, FakeRobot
from std_srvs.srv import SetBool

from robot_control_ros.control.law_replay import Replay
from robot_control_ros.recording.cycle_file import CycleFile, whole_file
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel

pytestmark = [
    pytest.mark.ros,
    pytest.mark.sim,
    pytest.mark.starts("the thread that writes a record, whose end is waited for"),
]
UR5 = load_robot("ur5")


@pytest.fixture
def controller(ros, tmp_path):
    """An active controller of a simulated arm."""
    ros.start("simulator")
    made = Controller(
        ros,
        "/force_torque_sensor_broadcaster/wrench",
        use_sim_time=True,
        record_folder=str(tmp_path / "records"),
    )
    ros.until(lambda: made.state == "active", "an active controller")
    return made


def replayed(path):
    """The cycles of a file, which can all be computed again."""
    file = whole_file(path)
    (block,) = file.blocks(100_000)
    result = Replay(file.model()).run(block)
    assert result.difference().max() == 0.0
    return block, result


def test_on_request_the_last_minute_is_written_and_can_be_replayed(ros, controller, tmp_path):
    ros.wait(1.0)
    answer = ros.trigger("/controller/save_record")
    assert answer.success
    (path,) = (tmp_path / "records").glob("*.mcap")
    assert str(path) == answer.message
    block, result = replayed(path)
    assert block["time"][-1] - block["time"][0] > 0.9
    assert result.replayed.all()


def test_a_second_file_is_another_one(ros, controller, tmp_path):
    ros.wait(0.2)
    first = ros.trigger("/controller/save_record").message
    whole_file(tmp_path / first)
    ros.until(lambda: ros.trigger("/controller/save_record").success, "the end of the first file")
    assert len(list((tmp_path / "records").glob("*.mcap"))) == 2


def test_cycles_are_written_from_a_request_to_the_next(ros, controller):
    def record(on):
        return ros.call(SetBool, "/controller/record_cycles", data=on)

    assert not record(False).success  # nothing is being written
    begun = record(True)
    assert begun.success
    assert not record(True).success
    ros.wait(1.0)
    ended = record(False)
    assert ended.success
    assert ended.message == begun.message
    numbers = np.concatenate([block["number"] for block in CycleFile(ended.message).blocks()])
    np.testing.assert_array_equal(np.diff(numbers), 1.0)
    assert 450 <= len(numbers) <= 600


def test_the_last_minute_before_a_fault_is_kept_by_itself_once(ros, tmp_path):
    folder = tmp_path / "records"
    Controller(ros, record_folder=str(folder), save_faults=True)
    robot = FakeRobot(ros, UR5)
    robot.begin(lambda q: RobotModel.of(UR5).at(q).gravity)
    for _ in range(200):
        robot.exchange()
    ros.wait(1.0)  # no joint state comes any more
    assert not folder.exists()
    ros.until(lambda: list(folder.glob("*.mcap")), "a file of the fault")
    (path,) = folder.glob("fault_*.mcap")
    block, _ = replayed(path)
    assert block["fault"][0] == 0.0
    assert block["fault"][-1] == 1.0
    ros.wait(10.0)
    assert list(folder.glob("*.mcap")) == [path]
