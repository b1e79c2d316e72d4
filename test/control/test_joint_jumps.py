"""Joints that seem to jump: each law goes on after one such sample, begins anew where they stay,
and believes the rest.

The arm is MuJoCo's.
"""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulator needs MuJoCo")

from robot_control_ros.control.command_watchdog import CommandWatchdog
from robot_control_ros.control.loop import ControlLoop
from robot_control_ros.core.errors import ConfigError
from robot_control_ros.core.types import Command, CommandMode, RobotState
from robot_control_ros.laws import law_names
from robot_control_ros.robot.configuration import load_robot
from robot_control_ros.robot.model import RobotModel
from robot_control_ros.simulation.mujoco_plant import MujocoPlant
from robot_control_ros.simulation.scene import load_scene

pytestmark = pytest.mark.sim

UR5 = load_robot("ur5")
MODEL = RobotModel.of(UR5)
LAWS = law_names(plugins=False)
ELBOW = np.eye(6)[2]
NOTHING = Command(CommandMode.EFFORT, np.zeros(6))


def shifted(state, joints):
    return replace(state, q=state.q + joints)


class Arm:
    """A simulated UR5 under a law, on its way to a goal 0.1 m away."""

    def __init__(self, law="impedance", scene=None):
        self.plant = MujocoPlant(UR5, scene=scene)
        self.loop = ControlLoop(UR5, law, model=MODEL)
        self.plant.open()
        self.command = None
        self.cycle()
        goal = self.loop.tip().copy()
        goal[:3, 3] += np.array([0.1, -0.05, 0.08])
        self.loop.motion.move_to(goal)

    def cycle(self, change=lambda state: state, zero=0.0):
        """One sample, which may be changed; the last command stays where it is refused. Returns
        whether it was.

        Position commands count from `zero` (n,) [rad].
        """
        state = self.plant.read()
        refused = False
        try:
            self.command = self.loop.tick(change(state))
        except ConfigError:
            refused = True
        moved = zero if self.command.mode is CommandMode.POSITION else 0.0
        self.plant.write(replace(self.command, values=self.command.values - moved))
        return refused

    def run(self, seconds):
        return sum(self.cycle() for _ in range(round(seconds / UR5.period)))


# Each law with one size, each size with one law of torques and one of positions: the jump is
# refused before the law.
JUMPS = [(law, 0.5) for law in LAWS] + [
    (law, jump) for law in ("impedance", "admittance") for jump in (0.1, -1.5)
]
OTHER_JUMPS = [(law, jump) for law in LAWS for jump in (0.1, -1.5) if (law, jump) not in JUMPS]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("law", "jump"), JUMPS + [pytest.param(*case, marks=pytest.mark.long) for case in OTHER_JUMPS]
)
def test_a_joint_that_jumps_for_one_sample_changes_nothing(law, jump):
    arm, twin = Arm(law), Arm(law)
    arm.run(0.4)
    twin.run(0.4)
    rates = {
        CommandMode.EFFORT: np.array(UR5.effort_rate),
        CommandMode.POSITION: MODEL.limits.velocity,
        CommandMode.VELOCITY: 4.0 * MODEL.limits.velocity,
    }
    rate = rates[arm.command.mode]
    for k in range(200):
        refused = arm.cycle(lambda state: shifted(state, jump * ELBOW)) if k == 0 else arm.cycle()
        twin.cycle()
        assert refused == (k == 0)
        assert np.all(np.abs(arm.command.values - twin.command.values) <= 0.5 * rate * UR5.period)
        assert arm.loop.tip()[:3, 3] == pytest.approx(twin.loop.tip()[:3, 3], abs=1e-3)
    assert arm.loop.fault == ""
    assert arm.loop.restarts == 0


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS)
def test_joints_that_jump_and_stay_make_the_loop_begin_anew_there(law):
    arm = Arm(law)
    arm.run(0.4)
    jump = 0.5 * ELBOW
    refused = []
    for _ in range(100):
        zero = jump if arm.loop.restarts else 0.0
        refused.append(arm.cycle(lambda state: shifted(state, jump), zero))
    assert 20 < sum(refused) < 30
    assert not any(refused[30:])
    assert arm.loop.restarts == 1
    assert "elbow_joint" in arm.loop.restart_reason
    assert arm.loop.fault == ""


def test_joints_that_jump_and_stay_are_told_of_an_arm_that_was_stopped_meanwhile():
    arm, last = Arm("impedance"), 0.0
    arm.run(0.2)
    for _ in range(60):
        if arm.cycle(lambda state: shifted(state, 0.5 * ELBOW)):
            last += UR5.period
            arm.command = arm.loop.stop(last)
    assert arm.loop.restarts == 1
    assert "elbow_joint" in arm.loop.restart_reason
    assert arm.loop.fault == ""


def test_joints_that_jump_to_and_fro_again_and_again_are_a_fault():
    arm, jump = Arm("joint_impedance"), 0.0
    for _ in range(4):
        jump = 0.5 - jump
        for _ in range(60):
            arm.cycle(lambda state, jump=jump: shifted(state, jump * ELBOW))
    assert "elbow_joint" in arm.loop.fault
    arm.run(1.5)
    assert arm.loop.fault == ""


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS)
def test_dropped_and_jittered_samples_of_a_moving_arm_are_believed(law, rng):
    arm, refused = Arm(law), 0
    arm.run(0.3)
    for k in range(300):
        if k % 60 < 25:  # 50 ms are missing
            arm.plant.read()
            arm.plant.write(arm.command)
        else:
            late = rng.uniform(-0.0009, 0.0009)
            refused += arm.cycle(lambda state, late=late: replace(state, time=state.time + late))
    assert refused == 0


@pytest.mark.parametrize("scene", [None, "table"])
def test_an_arm_that_falls_freely_and_hits_itself_or_the_table_is_believed(scene):
    arm, fastest, contacts = Arm(scene=scene and load_scene(scene)), 0.0, 0
    for k in range(500):
        state = arm.plant.read()
        if k % 100 >= 25:  # and 50 ms are missing here and there
            arm.loop.tick(state)
        fastest = max(fastest, (np.abs(state.v) / MODEL.limits.velocity).max())
        contacts += bool(arm.plant.contacts())
        arm.plant.write(NOTHING)
    assert fastest > (0.8 if scene is None else 0.4)
    assert contacts


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS)
def test_an_arm_that_is_hit_hard_is_believed(law):
    """20 N·s within 4 ms."""
    arm = Arm(law)
    arm.run(0.2)
    refused = 0
    for k in range(200):
        arm.plant.push(UR5.tip, np.array([0.0, 5000.0, 0.0]) * (k % 100 < 2), np.zeros(3))
        refused += arm.cycle()
    assert refused == 0


def test_the_watchdog_does_not_believe_a_joint_that_jumps_and_does_one_that_stays():
    watchdog = CommandWatchdog(UR5, MODEL, 0.04, 0.2, simulated=False)
    home = np.array(UR5.home)
    watchdog.on_command(Command(CommandMode.EFFORT, MODEL.at(home).gravity), 0.0)

    def braked(k, q):
        time = k * UR5.period
        return watchdog.on_state(RobotState(time, q, np.zeros(6), np.zeros(6)), time)

    commands = [braked(k, home) for k in range(100)]
    assert commands[-1] is not None
    assert braked(100, home + 0.5 * ELBOW) is None
    assert braked(101, home) is not None
    answered = [braked(k, home + 0.5 * ELBOW) is not None for k in range(102, 152)]
    assert not any(answered[:20])
    assert all(answered[30:])
