"""The drives of the demonstration on EtherCAT, in lockstep. The demonstration:
test/system/test_ethercat_demo.py.
"""

import numpy as np
import pytest

from robot_control_ros.core.types import Command, CommandMode
from robot_control_ros.fieldbus.emulation.arm import LockstepDrives
from robot_control_ros.fieldbus.ethercat.topology import load_topology
from robot_control_ros.robot.configuration import load_robot


@pytest.mark.sim
def test_in_lockstep_a_torque_acts_one_cycle_after_its_sample_and_as_the_current_follows():
    pytest.importorskip("mujoco", reason="the emulated arm needs MuJoCo")
    drives = LockstepDrives(load_robot("ur5", "ethercat"), load_topology("ur5"))
    command = np.array([1.0, -60.0, 20.0, 1.0, 0.1, 0.0234])
    per_mille = np.array([0.07575] * 3 + [0.01515] * 3)
    quantised = np.round(command / per_mille) * per_mille
    drives.read()
    drives.write(Command(CommandMode.EFFORT, command))
    np.testing.assert_array_equal(drives.read().effort, 0.0)  # the command goes out with this frame
    drives.write(Command(CommandMode.EFFORT, command))
    for cycle in (1, 2, 3):
        share = 1.0 - np.exp(-cycle * 0.001 / 0.0005)
        np.testing.assert_allclose(drives.read().effort, share * quantised, rtol=1e-9)
