"""Simulated robots whose joint states are stamped as ros2_control stamps them in simulated time.

Some samples carry the stamp of the one before (:class:`LaggingClock`). The robot must do what it
does without that.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.spatial import pose_error
from robot_control_ros.core.types import Array
from robot_control_ros.laws import law_names
from robot_control_ros.nodes.simulator.lagging_clock import LaggingClock
from robot_control_ros.robot.configuration import load_robot

pytest.importorskip("mujoco")
from robot_control_ros.simulation.mujoco_plant import MujocoPlant

pytestmark = pytest.mark.sim

LAWS = law_names(plugins=False)
FORCE = np.array([20.0, 0.0, 0.0])  # N
FLOATING = "gravity_compensation"  # has no target
SHOWN = ("ur5", "admittance")  # integrates most
CASES = [
    pytest.param(name, law, marks=[] if (name, law) == SHOWN else pytest.mark.long)
    for name in ("ur5", "gen3", "planar_two_link")
    for law in LAWS
]


class Rig:
    """A loop on a simulated robot; `repeats` of the joint states carry the
    stamp of the one before.
    """

    def __init__(self, name, law, repeats):
        robot = load_robot(name)
        self.plant, self.loop = MujocoPlant(robot), ControlLoop(robot, law)
        self.clock = LaggingClock(robot.period, repeats)
        self.period, self.tip = robot.period, robot.tip
        self.state = None
        self.run(0.5)

    def run(self, seconds):
        for _ in range(round(seconds / self.period)):
            sample = self.plant.read()
            self.state = replace(sample, time=self.clock.stamp(sample.time))
            self.plant.write(self.loop.tick(self.state))
            assert self.loop.fault == ""

    def pose(self) -> Array:
        return self.loop.model.at(self.plant.sample().q).pose

    def push(self, force):
        self.plant.push(self.tip, force, np.zeros(3))


@dataclass
class Result:
    """Where the tip went (3,) [m]: under the force, after it, and from the target
    of a move afterwards.
    """

    displaced: Array
    back: Array
    missed: Array


def trial(name, law, repeats):
    rig = Rig(name, law, repeats)
    start = rig.pose()
    if law != FLOATING:
        rig.push(FORCE)
    rig.run(2.5)
    displaced = rig.pose()
    rig.push(np.zeros(3))
    rig.run(2.5)
    back = rig.pose()
    goal = start.copy()
    goal[:3, 3] += (
        start[:3, :3] @ [0.0, 0.03, -0.05] if rig.loop.robot.n > 2 else [-0.05, 0.0, 0.04]
    )
    if law != FLOATING:
        rig.loop.motion.move_to(goal)
        rig.run(4.0)  # an integral part takes its time
    assert rig.loop.restarts == 0
    assert rig.loop.times.missed <= 1
    missed = pose_error(goal, rig.pose())[:3] if law != FLOATING else np.zeros(3)
    return Result(displaced[:3, 3] - start[:3, 3], back[:3, 3] - start[:3, 3], missed)


@pytest.mark.parametrize(("name", "law"), CASES)
def test_a_robot_yields_comes_back_and_arrives_as_it_does_without_repeated_stamps(name, law):
    ideal, lagging = trial(name, law, 0.0), trial(name, law, 0.2)
    size = np.linalg.norm(ideal.displaced)
    assert lagging.displaced == pytest.approx(ideal.displaced, abs=max(0.01 * size, 1e-5))
    assert lagging.back == pytest.approx(ideal.back, abs=1e-4)
    assert lagging.missed == pytest.approx(ideal.missed, abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_a_robot_does_not_drift_in_ten_minutes(law):
    rig = Rig("ur5", law, 0.2)
    start = rig.pose()
    rig.run(600.0)
    assert pose_error(start, rig.pose()) == pytest.approx(np.zeros(6), abs=1e-5)
    assert rig.loop.restarts == 0
