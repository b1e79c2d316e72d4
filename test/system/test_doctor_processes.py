"""The program `robot_control doctor` before a system that runs: what it sees over DDS."""

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (rclpy)")

from ros_support import Child, Controller
from std_msgs.msg import Float64MultiArray

pytestmark = [pytest.mark.ros, pytest.mark.sim, pytest.mark.long]

WRENCH = "/force_torque_sensor_broadcaster/wrench"


@pytest.mark.limit(240)
def test_a_running_simulation_is_well(ros, tmp_path):
    simulator = {"robot": "ur5", "pacing": "lockstep"}
    ros.start("simulator", simulator)
    ros.start("watchdog", {"robot": "ur5", "use_sim_time": True})
    controller = Controller(ros, WRENCH, robot="ur5", use_sim_time=True)
    states = ros.subscribe(Float64MultiArray, "/controller/state")

    def watched():
        said = {
            status.name: status.message
            for message in controller.diagnostics.messages
            for status in message.status
        }
        return said.get("watchdog: commands") == "watching" and len(states)

    ros.until(watched, "controller and watchdog")
    child = Child(["robot_control_ros.cli", "doctor"], tmp_path, ros.environment)
    ros.until(lambda: child.process.poll() is not None, "the doctor's end")
    assert child.err == ""
    for words in (
        "joint states on /joint_states, from simulator",
        "effort commands on /forward_effort_controller/commands are taken by simulator",
        f"wrench on {WRENCH}, from simulator",
        "joint states: all 6 joints",
        "effort looks like torques with gravity",
        "wrench: in frame ft_frame",
    ):
        assert f"  ok   {words}" in child.out
    assert "no controller" not in child.out
