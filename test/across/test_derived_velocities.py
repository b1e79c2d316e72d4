"""Every law on an arm whose velocities are derived from its positions behaves as with measured
ones, a little late.
"""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.sensing.derived_velocity import DerivedVelocity
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim

UR5 = load_robot("ur5")
SHOWN = ("impedance", "joint_pid", "admittance")  # one of each mode: torques, velocities, positions
TIME_CONSTANT = 0.01  # s
FORCE = np.array([15.0, 0.0, 0.0])  # N, that pushes the tip for 0.2 s


def pushed(law, time_constant):
    """The fastest joint's speed [rad/s] in each cycle, and whether there was a fault."""
    robot = replace(UR5, profile=replace(UR5.profile, velocity_filter=time_constant))
    plant, loop = MujocoPlant(UR5), ControlLoop(robot, law)
    velocity = DerivedVelocity(time_constant, robot.period) if time_constant else None
    speeds = []
    plant.open()
    for cycle in range(1000):
        state = plant.read()
        speeds.append(np.abs(state.v).max())
        if velocity is not None:
            state = replace(state, v=velocity.update(state.time, state.q))
        plant.push(UR5.tip, FORCE if 100 <= cycle < 200 else np.zeros(3), np.zeros(3))
        plant.write(loop.tick(state))
        assert loop.fault == ""
    return np.array(speeds)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "law",
    [
        law if law in SHOWN else pytest.param(law, marks=pytest.mark.long)
        for law in law_names(plugins=False)
    ],
)
def test_a_pushed_arm_moves_and_rests_as_with_measured_velocities(law):
    measured, derived = pushed(law, 0.0), pushed(law, TIME_CONSTANT)
    assert derived.max() < 1.5 * measured.max() + 0.02
    assert derived[-50:].max() < measured[-50:].max() + 0.02
