"""Robot on a field bus, without ROS: the bus's process with the law in it, and a driver of the
user's own.
"""

import os
import signal

import numpy as np
import pytest
from simulated_bus import DRIVER, EXAMPLES

from robot_control_ros import ConfigError, HardwareFault, Robot
from robot_control_ros.client.bus_backend import BusBackend
from robot_control_ros.fieldbus.process.client import BusSettings

pytestmark = pytest.mark.sim
pytest.importorskip("mujoco")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    path = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    return BusSettings(
        bus=DRIVER,
        address="simulated",
        robot="ur5",
        profile="sim",
        memory=str(tmp_path / "memory"),
        command_timeout=5.0,  # this machine may stall
    )


def test_a_robot_on_a_bus_is_led_as_any_other(settings):
    with Robot(backend=BusBackend(settings, "impedance")) as robot:
        assert robot.fault == ""
        with pytest.raises(ConfigError):
            robot.move_to(robot.pose)  # nobody has enabled the drives
        robot.request("enable")
        assert robot.diagnostics["bus"].level == 0
        goal = robot.pose[:3, 3] + (0.0, 0.0, 0.03)
        robot.move_to(goal)
        np.testing.assert_allclose(robot.pose[:3, 3], goal, atol=5e-3)
        assert np.isfinite(robot.wrench).all()  # the bus measures it
        robot.set_gains(stiffness=[300.0] * 3 + [30.0] * 3)
        assert robot.gains["stiffness"].tolist() == [300.0] * 3 + [30.0] * 3
        with pytest.raises(ConfigError) as caught:
            robot.set_gains(stiffness=-1.0)
        assert caught.value.name.startswith("stiffness")
        robot.set_law("joint_impedance")
        assert robot.law == "joint_impedance"
        robot.move_to(q=robot.q + 0.02)
        robot.request("quick_stop")
        with pytest.raises(HardwareFault):
            robot.wait_until(lambda state: False, timeout=30.0)
        assert robot.fault
        robot.request("enable")
        assert robot.fault == ""
        robot.wait(0.1)  # it goes on
    assert not os.path.exists(settings.memory)


def test_the_death_of_the_bus_s_process_ends_a_call_that_waits(settings):
    backend = BusBackend(settings, "impedance")
    with Robot(backend=backend) as robot:
        robot.request("enable")
        os.kill(backend.process_number, signal.SIGKILL)
        with pytest.raises(HardwareFault):
            robot.wait_until(lambda state: False, timeout=30.0)


def test_what_can_t_be_is_refused_and_leaves_no_process(settings):
    with pytest.raises(ConfigError):
        BusBackend(settings, "no_such_law")
    with pytest.raises(ConfigError) as caught:
        BusBackend(settings, "impedance", {"stiffness": -1.0})
    assert caught.value.name.startswith("stiffness")
    assert not os.path.exists(settings.memory)
